"""Rows of tables that show error and cost of a search together."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from rich.table import Table

from benchmarks.measured_search import Found
from benchmarks.surprisal_errors import Errors, LogProbs, Point, covered, errors_of
from gardenpath.util import Words


@dataclass(frozen=True)
class Row:
    """Error and cost of one search.

    ``table`` and ``size``: what grows, such as ``length`` and the number of words per sentence; the
    size is empty in the table of settings. ``series``: rows that a line of the figure joins.
    """

    table: str
    series: str
    setting: str
    size: str
    words: int
    mean_error_bits: float
    largest_error_bits: float
    error_share_at_marks: float
    undefined: int
    states_per_word: float
    cpu_ms_per_word: float
    # Share of the surprisals that are within their 95 % interval of the reference.
    covered: float = math.nan

    @property
    def point(self) -> Point:
        """Error, and CPU seconds per word."""
        return Point(self.mean_error_bits, self.cpu_ms_per_word / 1000)


def make_row(
    found: Found,
    reference: LogProbs,
    sentences: Sequence[Words],
    *,
    table: str,
    series: str,
    setting: str,
    size: str = "",
    with_ends: bool = True,
) -> Row:
    """Return the row of a search, compared with a reference."""
    errors: Errors = errors_of(found.log_probs, reference, sentences, with_ends=with_ends)
    states = found.states_per_word
    return Row(
        table, series, setting, size, found.words, errors.mean, errors.largest, errors.at_marks,
        errors.undefined, math.nan if states is None else states, 1000 * found.cost,
        math.nan if found.errors_bits is None
        else covered(found.log_probs, reference, found.errors_bits),
    )  # fmt: skip


def write_rows(rows: Sequence[Row], path: Path) -> None:
    """Write rows as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)])
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def rows_table(title: str, rows: Sequence[Row], *, size_name: str = "") -> Table:
    """Return a table for the terminal; ``size_name`` heads the column of sizes, if there is one."""
    table = Table(title=title)
    heads = ["search", *([size_name] if size_name else []), *_NUMBERS]
    for number, head in enumerate(heads):
        table.add_column(head, justify="right" if number else "left")
    for row in rows:
        table.add_row(row.setting, *([row.size] if size_name else []), *_numbers(row))
    return table


_NUMBERS = (
    "words", "mean error", "largest", "at marks", "undefined", "states/word", "CPU ms/word",
    "covered",
)  # fmt: skip


def _numbers(row: Row) -> tuple[str, ...]:
    states = "–" if math.isnan(row.states_per_word) else f"{row.states_per_word:,.0f}"
    return (
        f"{row.words}", f"{row.mean_error_bits:.4f}", f"{row.largest_error_bits:.3f}",
        f"{row.error_share_at_marks:.0%}", f"{row.undefined}", states,
        f"{row.cpu_ms_per_word:.1f}",
        "" if math.isnan(row.covered) else f"{row.covered:.0%}",
    )  # fmt: skip
