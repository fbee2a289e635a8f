"""Sentences on the terminal."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.console import console, say, words_progress

SENTENCE = (
    "RNNG is less accurate than LSTM on garden path object [all]: b = −3.06, SE 0.68, "
    "z = −4.53, p < .001; intervals within items"
)


@pytest.mark.parametrize("width", range(30, 90, 7))
def test_numbers_stay_with_their_names(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "_width", width)
    with console.capture() as capture:
        say(SENTENCE)
    lines = capture.get().splitlines()
    assert " ".join(capture.get().split()) == SENTENCE
    assert all(len(line) <= width and line.startswith("  ") for line in lines)
    for part in ("b = −3.06,", "SE 0.68,", "z = −4.53,", "p < .001;"):
        assert sum(part in line for line in lines) == 1


@given(st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1), min_size=1))
def test_nothing_is_lost(words: list[str]) -> None:
    with console.capture() as capture:
        say(" ".join(words))
    assert capture.get().split() == words


def test_scoring_prints_lines_if_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(step=60)
    monkeypatch.setattr("gardenpath.console.time.monotonic", lambda: float(next(clock)))
    monkeypatch.setenv("CI", "1")
    with console.capture() as capture, words_progress("runs/a/[rnng]", 4000) as advance:
        advance(1200)
        advance(1200)
    lines = [line for line in capture.get().splitlines() if "words/s" in line]
    assert lines[0].startswith("runs/a/[rnng]: 1,200 of 4,000 words, ")
    assert lines[1].startswith("runs/a/[rnng]: 2,400 of 4,000 words, ")
