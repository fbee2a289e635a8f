"""Accuracies on published minimal pairs as tables for readers, and what they must know of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

import pandas as pd

from gardenpath.eval.display import models_in_order
from gardenpath.eval.suites.design.suite import Suite
from gardenpath.eval.suites.pairs.pair_accuracy import OVERALL, PHENOMENON
from gardenpath.eval.suites.pairs.pair_sets import PAIR_SETS, PairScore, PairSet
from gardenpath.eval.suites.pairs.pair_suites import WORDS_ENTRY, pair_set_of
from gardenpath.fitted_table import FittedTable
from gardenpath.text import spaced

_SCORE_IN_WORDS: dict[PairScore, str] = {
    "log_prob": "log probability of the sentence",
    "mean_log_prob": "log probability per token (perplexity)",
    "sublinear_log_prob": "log probability divided by the square root of the number of tokens",
}


def pair_words(suites: Iterable[Suite]) -> dict[str, str]:
    """Return, for each published set among the suites, what made its words."""
    found: dict[str, dict[str, None]] = {}
    for suite in suites:
        which = pair_set_of(suite)
        if which is not None:
            found.setdefault(which.name, {})[str(suite.meta[WORDS_ENTRY])] = None
    return {name: ", ".join(words) for name, words in found.items()}


def phenomenon_frames(aggregate: pd.DataFrame) -> Iterator[tuple[PairSet, pd.DataFrame]]:
    """Yield each set with the accuracies of its phenomena and the overall means, by its own score.

    Models are columns, and their accuracies means over runs.
    """
    for name, rows in aggregate.groupby("set", sort=False):
        which = PAIR_SETS[str(name)]
        shown = rows[(rows["score"] == which.score) & rows["level"].isin((PHENOMENON, OVERALL))]
        keys = ["level", "name"]
        means = shown.groupby([*keys, "model"], sort=False)["accuracy"].mean()
        yield which, means.unstack("model", sort=False).reset_index()


def pairs_in_words(which: PairSet, aggregate: pd.DataFrame) -> str:
    """Say what was compared, and whether the numbers are those that the authors would compute."""
    rows = aggregate[(aggregate["set"] == which.name) & (aggregate["score"] == which.score)]
    ties = "correct" if which.tie_is_correct else "wrong"
    said = f"{_SCORE_IN_WORDS[which.score]}; ties count as {ties}"
    said += f"; words: {', '.join(dict.fromkeys(rows['words']))}"
    if rows["official"].all():
        return f"{said}; all pairs, as in {which.reference}"
    whole = f"{which.paradigms} paradigms of {which.pairs:,} pairs"
    return f"{said}; not all of the {whole} were scored: not comparable with {which.reference}"


def pair_tables(aggregate: pd.DataFrame) -> list[FittedTable]:
    """Return a table for the terminal for each set: phenomena as rows, models as columns."""
    return [_table(which, frame, aggregate) for which, frame in phenomenon_frames(aggregate)]


def _table(which: PairSet, frame: pd.DataFrame, aggregate: pd.DataFrame) -> FittedTable:
    table = FittedTable(f"{which.title}: accuracy", pairs_in_words(which, aggregate))
    table.column(PHENOMENON)
    models = models_in_order(name for name in frame.columns if name not in ("level", "name"))
    for name in models:
        table.column(name, right=True)
    is_overall = cast("pd.Series[bool]", frame["level"] == OVERALL)
    for part in (frame[~is_overall], frame[is_overall]):
        for row in part.to_dict("records"):
            values = (row[name] for name in models)
            cells = ("" if pd.isna(value) else f"{value:.3f}" for value in values)
            table.add_row(spaced(row["name"]), *cells)
        table.add_section()
    return table
