"""What all tests share: reference data, small runs, settings of property tests, rule on skips."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.no_skips import (
    NEEDS_REFERENCE_DATA,
    pytest_make_collect_report,
    pytest_runtest_makereport,
    pytest_terminal_summary,
)

# Hooks: pytest finds them by their names.
__all__ = [
    "pytest_make_collect_report",
    "pytest_runtest_makereport",
    "pytest_terminal_summary",
]

REFERENCE_DATA = "GARDENPATH_REFERENCE_DATA"

# What a script starts in the background ignores Ctrl-C, and so would all that tests start from
# here: those that interrupt a process would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run: a failure on one machine is a failure on all.
settings.register_profile(
    "repeatable",
    deadline=None,
    max_examples=50,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def reference_data() -> Path:
    """The folder of reference corpora; tests that need it are skipped where it is not given."""
    folder = os.environ.get(REFERENCE_DATA)
    if not folder:
        pytest.skip(NEEDS_REFERENCE_DATA)
    if not Path(folder).is_dir():
        pytest.fail(f"{REFERENCE_DATA}={folder} is not a folder")
    return Path(folder)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of four small runs on one toy corpus, which are trained once."""
    from tests import toy_runs

    return toy_runs.trained(tmp_path_factory)


@pytest.fixture(scope="session")
def nltk_root(reference_data: Path) -> str:
    """The folder in which NLTK finds the reference treebanks."""
    return str(reference_data / "nltk_data")
