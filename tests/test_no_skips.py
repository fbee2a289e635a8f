"""Skipped tests are failures with GARDENPATH_NO_SKIPS."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import no_skips

ROOT = Path(__file__).parents[1]
TESTS = """
import pytest

@pytest.fixture(scope="session")
def missing():
    pytest.skip("needs R with lme4 and lmerTest")

def test_passes():
    pass

def test_skips():
    pytest.skip("needs Chromium")

def test_skips_in_a_fixture(missing):
    pass

@pytest.mark.skipif(True, reason="needs an oracle")
def test_is_marked():
    pass

@pytest.mark.skip(reason="needs a GPU")
def test_is_accepted():
    pass

@pytest.mark.xfail(reason="is known to fail")
def test_fails_as_expected():
    assert False
"""
OUTCOMES = ("passed", "skipped", "xfailed", "failed", "error")
MODULE = "import pytest\nwandb = pytest.importorskip('no_such_library_anywhere')\n"


def _outcomes(folder: Path, *arguments: str, **environment: str) -> tuple[dict[str, int], str]:
    """Run pytest in a folder with the plugin; counts by outcome, and the output."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "GARDENPATH"))}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.no_skips", "-ra", *arguments],
        cwd=folder,
        env={**clean, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    summary = done.stdout.strip().splitlines()[-1]
    counts = dict.fromkeys(OUTCOMES, 0)
    counts |= {name: int(n) for n, name in re.findall(rf"(\d+) ({'|'.join(OUTCOMES)})", summary)}
    return counts, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "two workers"])
def test_skips_are_failures_where_none_are_allowed(tmp_path: Path, workers: tuple[str]) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    found, output = _outcomes(tmp_path, *workers, GARDENPATH_NO_SKIPS="1")
    # pytest says "error" instead of "failed" where the body of the test is not reached.
    assert found == {"passed": 1, "skipped": 1, "xfailed": 1, "failed": 1, "error": 2}
    for reason in ("needs Chromium", "needs R with lme4 and lmerTest", "needs an oracle"):
        assert f"skipped, which GARDENPATH_NO_SKIPS forbids: {reason}" in output
    assert "forbids: needs a GPU" not in output


def test_skips_are_skips_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    found, output = _outcomes(tmp_path)
    assert found == {"passed": 1, "skipped": 4, "xfailed": 1, "failed": 0, "error": 0}
    (line,) = [line for line in output.splitlines() if line.startswith("Left out: ")]
    assert "1 (needs Chromium), 1 (needs R with lme4 and lmerTest)" in line


@pytest.mark.slow
def test_a_skipped_module_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(MODULE)
    assert _outcomes(tmp_path)[0]["skipped"] == 1
    found, output = _outcomes(tmp_path, GARDENPATH_NO_SKIPS="1")
    assert found["error"] == 1
    assert "no_such_library_anywhere" in output


SKIPS = {"pytest.skip", "pytest.importorskip", "pytest.mark.skip", "pytest.mark.skipif"}


def test_every_skip_has_a_reason_of_the_list() -> None:
    """The reasons in no_skips.py are all there are, so that the list of them stays complete."""
    reasons = {name: text for name, text in vars(no_skips).items() if name.startswith("NEEDS_")}
    calls = [
        (f"{path.relative_to(ROOT)}:{node.lineno}", ast.unparse(node))
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in SKIPS
    ]
    known = [*reasons, *map(repr, reasons.values())]
    assert [call for call in calls if not any(reason in call[1] for reason in known)] == []
    assert calls, "no skip was found"
