"""Continuous integration runs every test: a skipped test is a failure there.

This is a pytest plugin (``tests/conftest.py`` loads it). With the environment variable
``GARDENPATH_NO_SKIPS`` set, a test or module that is skipped is reported as failed, unless the
reason is one that a machine for continuous integration cannot remedy. Elsewhere the last line of a
test run says what was left out, and why.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest

NO_SKIPS = "GARDENPATH_NO_SKIPS"

# What selects the fast tier, see tests/tiers.py.
FAST = "not slow"

# The reasons for which tests are skipped. Every skip in the tests uses one of these.
NEEDS_BROWSER = "needs Chromium"
NEEDS_EXCHANGE = "this system cannot exchange folders"
NEEDS_GPU = "needs a GPU"
NEEDS_KENLM = "needs KenLM: pip install kenlm"
NEEDS_PROC = "needs Linux's /proc"
NEEDS_R = "needs R with lme4, lmerTest and readr"
NEEDS_SLURM = "needs SLURM: install slurm-wlm and munge"
NEEDS_REAL_MODEL = (
    "needs a pretrained model: set GARDENPATH_REAL_MODEL to a folder that "
    "python -m tests.real_model made"
)
NEEDS_REFERENCE_DATA = "needs reference corpora: set GARDENPATH_REFERENCE_DATA to their folder"

# The reasons that are accepted with GARDENPATH_NO_SKIPS: they depend on the machine alone, and
# nothing that could be installed would remove them; or the model is large and has its own licence.
ACCEPTED = (NEEDS_GPU, NEEDS_PROC, NEEDS_REAL_MODEL)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn the report of a skipped test into that of a failed one."""
    report = yield
    if not hasattr(report, "wasxfail"):
        _fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Do the same for modules that are skipped as a whole."""
    report = yield
    _fail_if_skipped(report)
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say in one line which tests were left out."""
    reasons = Counter(_reason(one.longrepr) for one in terminalreporter.stats.get("skipped", ()))
    left_out = [f"{count} ({reason})" for reason, count in reasons.most_common()]
    if terminalreporter.config.option.markexpr == FAST:
        left_out.append("slow tests (run them with make test-all)")
    if left_out:
        terminalreporter.write_line(f"Left out: {', '.join(left_out)}")


def _fail_if_skipped(report: Any) -> None:
    if not os.environ.get(NO_SKIPS) or report.outcome != "skipped":
        return
    reason = _reason(report.longrepr)
    if reason not in ACCEPTED:
        report.outcome = "failed"
        report.longrepr = f"skipped, which {NO_SKIPS} forbids: {reason}"


def _reason(longrepr: object) -> str:
    """The reason in the report of a skip, which is a tuple of file, line and message."""
    message = longrepr[2] if isinstance(longrepr, tuple) else longrepr
    return str(message).removeprefix("Skipped: ")
