"""Print surprisals as a table of words: a column per word, a line per run, coloured by bits."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from gardenpath.console import console
from gardenpath.eval.surprisal.stimuli import Stimulus
from gardenpath.eval.surprisal.surprisal_rows import SurprisalRow

# Upper ends of the ranges of bits, and their colours: text and background.
_COLOURS = (
    (2.0, "black on #fff7ec"),
    (5.0, "black on #fee8c8"),
    (8.0, "black on #fdbb84"),
    (12.0, "black on #fc8d59"),
    (16.0, "white on #b30000"),
    (math.inf, "white on #7f0000"),
)
_UNKNOWN = "*"
_LONGEST_LABEL = 24


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """The rows of a run, and the sentences that it read, in the same order."""

    name: str
    stimuli: Sequence[Stimulus]
    rows: Sequence[SurprisalRow]


def print_cells(runs: Sequence[ScoredRun], *, measure: str) -> None:
    """Print every sentence with the numbers of all runs, in bits; unknown words have a star."""
    labels = _labels([run.name for run in runs])
    tables = [_by_sentence(run.rows) for run in runs]
    for number, stimulus in enumerate(runs[0].stimuli):
        console.print()
        for line in _heading(number, stimulus, runs):
            console.print(line, soft_wrap=True)
        for line in _blocks(labels, [rows[number] for rows in tables], console.width):
            console.print(line, no_wrap=True, overflow="ignore", crop=False)
    has_unknown = any(not row.seen for run in runs for row in run.rows)
    star = f"; {_UNKNOWN} unknown word: the number is that of its class" if has_unknown else ""
    what = "surprisal" if measure == "surprisal" else "pseudo-log-likelihood"
    console.print(f"\n{what} in bits{star}", style="dim", highlight=False, soft_wrap=True)


def _by_sentence(rows: Sequence[SurprisalRow]) -> list[list[SurprisalRow]]:
    found: dict[int, list[SurprisalRow]] = {}
    for row in rows:
        found.setdefault(row.sentence_id, []).append(row)
    return list(found.values())


def _heading(number: int, first: Stimulus, runs: Sequence[ScoredRun]) -> Iterator[Text]:
    """Yield the sentence as written and, if models read other words, as they read it."""
    yield Text.assemble((f"{number + 1}  ", "bold"), first.written)
    readings: dict[str, list[str]] = {}
    for run in runs:
        readings.setdefault(" ".join(run.stimuli[number].sentence.words), []).append(run.name)
    for reading, names in readings.items():
        if reading != first.written:
            whose = "" if len(readings) == 1 else f" by {', '.join(names)}"
            yield Text(f"   read{whose} as: {reading}", style="dim")


def _labels(names: Sequence[str]) -> list[str]:
    """Return the names of runs without the folders that all have in common."""
    if len(names) == 1:
        return [""]
    shared = os.path.commonpath(names) if len(set(map(os.path.isabs, names))) == 1 else ""
    short = [os.path.relpath(name, shared) if shared else name for name in names]
    return [one if len(one) <= _LONGEST_LABEL else f"…{one[1 - _LONGEST_LABEL :]}" for one in short]


def _blocks(
    labels: Sequence[str], runs: Sequence[Sequence[SurprisalRow]], width: int
) -> Iterator[Text]:
    """Yield lines with as many words each as fit."""
    margin = max(map(cell_len, labels))
    cells = [[_number(row) for row in rows] for rows in runs]
    words = [row.word for row in runs[0]]
    widths = [
        max(cell_len(word), *(len(row[place]) for row in cells)) + 2
        for place, word in enumerate(words)
    ]
    start = 0
    while start < len(words):
        end, used = start, margin + 3
        while end < len(words) and (end == start or used + widths[end] <= width):
            used += widths[end]
            end += 1
        line = Text(" " * (margin + 3))
        for place in range(start, end):
            line.append(_right(words[place], widths[place] - 1) + " ", style="bold")
        yield line
        for label, rows, numbers in zip(labels, runs, cells, strict=True):
            line = Text(f"   {label}{' ' * (margin - cell_len(label))}")
            for place in range(start, end):
                style = _style(rows[place])
                line.append(_right(numbers[place], widths[place] - 1) + " ", style=style)
            yield line
        start = end


def _right(text: str, width: int) -> str:
    return " " * (width - cell_len(text)) + text


def _number(row: SurprisalRow) -> str:
    bits = row.surprisal_bits
    shown = f"{bits:.2f}" if math.isfinite(bits) else {"nan": "–"}.get(str(bits), "∞")
    return shown + ("" if row.seen else _UNKNOWN)


def _style(row: SurprisalRow) -> str:
    if math.isnan(row.surprisal_bits):
        return "dim"
    colour = next(colour for limit, colour in _COLOURS if row.surprisal_bits <= limit)
    return colour if row.seen else f"underline {colour}"
