"""Inputs that once crashed, hung or filled the memory give a result or one short message."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from typing import Any

import pytest

from tests.fuzz.hostile import CASES

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
