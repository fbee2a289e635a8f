"""What is only listed or described needs none of the slow libraries."""

from __future__ import annotations

import subprocess
import sys

import pytest

SLOW = ("torch", "scipy", "matplotlib")


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("gardenpath.tasks.suites", (*SLOW, "pandas", "numpy")),
        ("gardenpath.eval.display", (*SLOW, "pandas", "numpy")),
        ("gardenpath.eval.report.content", SLOW),
        ("gardenpath.eval.report.page", SLOW),
        ("gardenpath.eval.report.content", ("torch", "matplotlib")),
        ("gardenpath.studies.layouts", SLOW),
        ("gardenpath.runs.suite_tables", ("torch", "matplotlib")),
    ],
)
def test_slow_libraries_are_not_imported(module: str, unwanted: tuple[str, ...]) -> None:
    code = f"import sys; import {module}; print(*(n for n in {unwanted!r} if n in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
