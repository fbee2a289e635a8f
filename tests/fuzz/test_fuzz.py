"""Every reader gives a result or a message for damaged, odd and random input.

This is the short version; ``python -m tests.fuzz`` tries as many inputs as one likes.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz import campaign
from tests.fuzz.all_readers import READERS
from tests.fuzz.campaign import Findings, run_campaign, try_input
from tests.fuzz.mutation import ODD
from tests.fuzz.reader import Reader, is_refused
from tests.security.test_canaries import payloads

# Inputs per reader; a nightly job may set more.
_INPUTS = int(os.environ.get("GARDENPATH_FUZZ_INPUTS", "150"))


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    logging.disable(logging.NOTSET)


def _shown(findings: Findings) -> str:
    return "\n".join(f"{name}: {found}" for name, found in findings.found.items())


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


def test_a_failing_reader_is_found() -> None:
    def fails_for_brackets(content: bytes) -> None:
        if b"[[" in content:
            raise KeyError("brackets")

    findings = run_campaign(Reader("fails", (b"a b [c]",), fails_for_brackets), 500)
    (failure,) = findings.found
    assert failure.startswith("KeyError at ") and b"[[" in findings.found[failure][1]


def test_a_reader_that_hangs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def hangs(_content: bytes) -> None:
        while True:
            pass

    monkeypatch.setattr(campaign, "MOST_SECONDS", 0.1)
    findings = run_campaign(Reader("hangs", (b"a",), hangs), 1)
    assert [one.partition(" ")[0] for one in findings.found] == ["TookTooLongError"]
