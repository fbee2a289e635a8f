"""Every reader gives a result or a message for damaged, odd and random input.

This is the short version; ``python -m tests.fuzz`` tries as many inputs as one likes.
"""

from __future__ import annotations

import functools
import json
import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz import campaign
from tests.fuzz.campaign import ODD, READERS, Findings, run_campaign, try_input
from tests.fuzz.hostile import CASES
from tests.fuzz.reader import Reader, is_refused
from tests.security.test_security import payloads

# Inputs per reader; a nightly job may set more.
_INPUTS = int(os.environ.get("GARDENPATH_FUZZ_INPUTS", "150"))


@pytest.fixture
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    logging.disable(logging.NOTSET)


def _shown(findings: Findings) -> str:
    return "\n".join(f"{name}: {found}" for name, found in findings.found.items())


@pytest.mark.usefixtures("_quiet")
@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_a_reader(reader: Reader, tmp_path: Path) -> None:
    """Seeds are valid, what would run code runs nothing, changed inputs are read or refused."""
    for seed in reader.seeds:
        assert not is_refused(reader, seed)
    canary = tmp_path / "canary"
    for payload in payloads(canary):
        is_refused(reader, payload)
        assert not canary.exists()
    findings = run_campaign(reader, max(5, int(_INPUTS * reader.share)), number=14)
    assert not findings.found, _shown(findings)
    assert findings.inputs > 0


_SLOW = {name for name, reader in READERS.items() if reader.share < 0.3}


@pytest.mark.usefixtures("_quiet")
@settings(max_examples=60, deadline=None, derandomize=True, database=None,
          suppress_health_check=list(HealthCheck))  # fmt: skip
@given(content=st.binary(max_size=200) | st.lists(st.sampled_from(ODD)).map(
    lambda parts: "".join(parts).encode("utf-8", "surrogatepass")))  # fmt: skip
def test_any_input_is_read_or_refused(content: bytes) -> None:
    for name, reader in READERS.items():
        if name not in _SLOW:
            findings = Findings(name)
            try_input(reader, content, findings)
            assert not findings.found, _shown(findings)


@pytest.mark.usefixtures("_quiet")
def test_a_failing_reader_is_found() -> None:
    def fails_for_brackets(content: bytes) -> None:
        if b"[[" in content:
            raise KeyError("brackets")

    findings = run_campaign(Reader("fails", (b"a b [c]",), fails_for_brackets), 500)
    (failure,) = findings.found
    assert failure.startswith("KeyError at ") and b"[[" in findings.found[failure][1]


@pytest.mark.usefixtures("_quiet")
def test_a_reader_that_hangs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def hangs(_content: bytes) -> None:
        while True:
            pass

    monkeypatch.setattr(campaign, "MOST_SECONDS", 0.1)
    findings = run_campaign(Reader("hangs", (b"a",), hangs), 1)
    assert [one.partition(" ")[0] for one in findings.found] == ["TookTooLongError"]


# ----------------------------------------------------------------------------
# Inputs that once crashed, hung or filled the memory give a result or one short message.


# Cases that are valid, however odd; all others are refused.
_READ = {
    *("formula_blanks", "model_formula_blanks", "tree_deep"),
    *("surprisal_number", "words", "suggestion"),
}


@functools.cache
def _outcomes() -> dict[str, Any]:
    """Run all cases in one process of limited CPU time and memory; a crash ends its output."""
    command = [sys.executable, "-m", "tests.fuzz.hostile"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines, done.stderr
    return {one["case"]: one["found"] for one in lines}


@pytest.mark.parametrize("case", CASES)
def test_hostile_input(case: str) -> None:
    found = _outcomes().get(case, "the process died or failed here or earlier")
    if case in _READ:
        assert found == "read"
    else:
        assert found != "read" and "died" not in found
        assert len(found) < 600 and "\n" not in found
