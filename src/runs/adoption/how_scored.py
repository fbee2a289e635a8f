"""How words were scored, in the tables of suites: boundaries of pieces, pseudo-log-likelihoods.

Numbers of different choices of ``boundary`` are not comparable and are never mixed. Pseudo-log-
likelihoods of masked models are no surprisals, and no column with that name contains them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pandas as pd

from gardenpath.data.words.boundaries import Boundary
from gardenpath.errors import GardenpathError
from gardenpath.models.family import Measure
from gardenpath.runs.run import Run
from gardenpath.store.tables import BOUNDARY_COLUMN, PLL_BITS, SURPRISAL_BITS

if TYPE_CHECKING:
    from gardenpath.runs.suite_tables import SuiteTables


@dataclass(frozen=True, slots=True)
class HowScored:
    """How the words of a run were scored; ``boundary`` is None if its units are words."""

    boundary: Boundary | None = None
    measure: Measure = "surprisal"


def how_scored(runs: Iterable[Run]) -> dict[str, HowScored]:
    """Return, by the names of runs, how they score words; different boundaries are refused."""
    found = {run.name.run: HowScored(run.boundary, run.measure) for run in runs}
    by_choice = {one.boundary: name for name, one in found.items() if one.boundary is not None}
    if len(by_choice) > 1:
        listed = ", ".join(f"{name} has boundary={choice}" for choice, name in by_choice.items())
        raise GardenpathError(
            f"words of several pieces were scored in different ways, which cannot be compared: "
            f"{listed}; set boundary= for all, or evaluate these runs apart"
        )
    return found


def require_one_measure(runs: Sequence[Run]) -> None:
    """Refuse runs whose numbers cannot stand in one column, or in one table."""
    how_scored(runs)
    by_measure = {run.measure: run.name.run for run in runs}
    if len(by_measure) > 1:
        raise GardenpathError(
            f"{by_measure['pll']} gives pseudo-log-likelihoods and {by_measure['surprisal']} "
            "surprisals, which cannot stand in one table; name them in different commands (run=)"
        )


def marked(tables: SuiteTables, how: Mapping[str, HowScored]) -> SuiteTables:
    """Add a column ``boundary`` to all tables, if a run has pieces of words."""
    choices = {name: one.boundary or "" for name, one in how.items()}
    if not any(choices.values()):
        return tables
    names = ("items", "effects", "surprisals", "sentences")
    return replace(tables, **{name: _with(getattr(tables, name), choices) for name in names})


def _with(table: pd.DataFrame, choices: Mapping[str, str]) -> pd.DataFrame:
    return table.assign(**{BOUNDARY_COLUMN: table["run"].map(choices).fillna("")})


def with_own_columns(table: pd.DataFrame, how: Mapping[str, HowScored]) -> pd.DataFrame:
    """Move the values of masked models from ``surprisal_bits`` to a column ``pll_bits``."""
    masked = [name for name, one in how.items() if one.measure == "pll"]
    if not masked:
        return table
    is_pll = table["run"].isin(masked)
    values = table[SURPRISAL_BITS]
    return table.assign(**{SURPRISAL_BITS: values.mask(is_pll), PLL_BITS: values.where(is_pll)})


def scoring_notes(runs: Sequence[Run]) -> tuple[str, ...]:
    """Say how words were scored where it is not obvious."""
    found = [note for run in runs for note in run.notes]
    masked = [run.name.model for run in runs if run.measure == "pll"]
    if masked:
        names = ", ".join(dict.fromkeys(masked))
        found.append(f"{names}: pseudo-log-likelihoods of masked words, no surprisals")
    pieces = {run.name.model: run.boundary for run in runs if run.boundary is not None}
    if pieces:
        choice = next(iter(pieces.values()))
        found.append(f"words of several pieces: boundary={choice} ({', '.join(pieces)})")
    return tuple(dict.fromkeys(found))
