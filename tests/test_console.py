"""Sentences on the terminal."""

from __future__ import annotations

import itertools
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.box import SIMPLE_HEAD
from rich.console import Console

from gardenpath.console import FittedTable, console, say_wrapped, words_progress

SENTENCE = (
    "RNNG is less accurate than LSTM on garden path object [all]: b = −3.06, SE 0.68, "
    "z = −4.53, p < .001; intervals within items"
)


@pytest.mark.parametrize("width", range(30, 90, 7))
def test_numbers_stay_with_their_names(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "_width", width)
    with console.capture() as capture:
        say_wrapped(SENTENCE)
    lines = capture.get().splitlines()
    assert " ".join(capture.get().split()) == SENTENCE
    assert all(len(line) <= width and line.startswith("  ") for line in lines)
    for part in ("b = −3.06,", "SE 0.68,", "z = −4.53,", "p < .001;"):
        assert sum(part in line for line in lines) == 1


@given(st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1), min_size=1))
def test_nothing_is_lost(words: list[str]) -> None:
    with console.capture() as capture:
        say_wrapped(" ".join(words))
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


# ----------------------------------------------------------------------------
# Tables that fit the terminal.


WORDS = ["parenthetical", "extraordinarily", "characteristically"]


def printed(table: FittedTable, width: int = 80) -> list[str]:
    out = StringIO()
    Console(file=out, width=width).print(table)
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    return lines


def models(count: int, *, needed: bool = True) -> FittedTable:
    table = FittedTable("Accuracy of models", "a note", elsewhere="all.csv")
    table.column("class")
    for number in range(count):
        table.column(f"transformer {number}", right=True, needed=needed)
    table.add_row(" ".join(WORDS), *(f"0.{number:03d}" for number in range(count)))
    return table


@pytest.mark.parametrize("width", [50, 60, 80, 120])
def test_words_stay_whole(width: int) -> None:
    text = "\n".join(printed(models(9), width))
    assert all(word in text for word in WORDS)
    assert text.count("transformer") == 9
    assert all(f"0.{number:03d}" in text for number in range(9))


def test_headings_are_wrapped_before_cells() -> None:
    lines = printed(models(4), 110)
    assert any(" ".join(WORDS) in line for line in lines)
    assert sum("transformer" in line for line in lines) == 1


def test_columns_that_do_not_fit_follow_below() -> None:
    lines = printed(models(9), 60)
    assert sum(line.startswith("┃ class") for line in lines) > 1
    assert lines[0] == "Accuracy of models" and lines[-1] == "a note"


def test_columns_that_are_not_needed_are_left_out_and_named() -> None:
    text = " ".join(" ".join(printed(models(9, needed=False), 60)).split())
    assert "0.000" in text and "0.008" not in text
    assert "transformer 8; all.csv has all columns" in text
    assert "not shown" not in " ".join(printed(models(9, needed=False), 200))


def test_names_are_broken_at_their_joints_and_numbers_never() -> None:
    table = FittedTable(box=SIMPLE_HEAD)
    table.column("run")
    table.column("value", right=True)
    table.add_row("runs/toy_english/transformer-grammar_seed1", "1e-05 -12,345.6")
    lines = [line.split() for line in printed(table, 25)]
    assert ["runs/toy_", "1e-05"] in lines and ["english/", "-12,345.6"] in lines


def test_only_a_word_wider_than_the_terminal_is_broken() -> None:
    table = FittedTable()
    table.column("word")
    table.add_row("x" * 100)
    assert "".join(printed(table, 40)).count("x") == 100


def test_cells_are_no_markup() -> None:
    table = FittedTable("a [bold]title")
    table.column("[red]x")
    table.add_row("[b]y")
    text = "\n".join(printed(table))
    assert all(part in text for part in ("a [bold]title", "[red]x", "[b]y"))
