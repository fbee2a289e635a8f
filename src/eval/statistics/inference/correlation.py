"""Correlation of licensing interactions with the frequency of constructions in training data."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import pearsonr

from gardenpath.eval.statistics.corpora.patterns import Construction, ConstructionCount
from gardenpath.eval.statistics.questions import wording
from gardenpath.eval.statistics.statistics_error import StatisticsError
from gardenpath.eval.suites.scoring.effects import LICENSING
from gardenpath.store.tables import CORRELATIONS, LICENSING_BY_FREQUENCY


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """Pearson's r with Fisher's z interval, which is NaN for fewer than four pairs."""

    r: float
    n: int
    df: int
    p: float
    low: float
    high: float

    def in_words(self) -> str:
        """Format as ``r(4) = 0.62, 95 % interval −0.37 to 0.95, p = .190``."""
        interval = (
            f", 95 % interval {wording.rounded(self.low)} to {wording.rounded(self.high)}"
            if math.isfinite(self.low)
            else ""
        )
        return f"r({self.df}) = {wording.rounded(self.r)}{interval}, {wording.p_value(self.p)}"


def pearson(first: ArrayLike, second: ArrayLike, *, level: float = 0.95) -> Correlation:
    """Compute Pearson's correlation; pairs with a missing value are dropped."""
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    finite = np.isfinite(x) & np.isfinite(y)
    x, y = x[finite], y[finite]
    if len(x) < 3:
        raise StatisticsError(f"a correlation needs at least three pairs, not {len(x)}")
    if np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        raise StatisticsError("one of the two variables is the same in every pair")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nearly constant values
        found = pearsonr(x, y)
    r, df = float(found.statistic), len(x) - 2
    low = high = math.nan
    if len(x) > 3 and abs(r) < 1.0:
        low, high = map(float, found.confidence_interval(level))
    return Correlation(r=r, n=len(x), df=df, p=float(found.pvalue), low=low, high=high)


def licensing_by_frequency(
    effects: pd.DataFrame,
    counts: Iterable[ConstructionCount],
    constructions: Sequence[Construction],
) -> pd.DataFrame:
    """Return mean licensing interactions (bits) and frequencies by model, corpus and suite.

    Items with islands are excluded, because gaps are not licensed there. The frequency is that of
    the construction in the corpus on which the model was trained.
    """
    wanted = effects[effects["effect"] == LICENSING]
    if "island" in wanted.columns:
        wanted = wanted[wanted["island"].astype(str) != "yes"]
    names = {modifier: one.name for one in constructions for modifier in one.modifiers}
    frequency = {(one.corpus, one.construction): one for one in counts}
    rows = []
    for key, group in wanted.groupby(["corpus", "model", "modifier"], sort=True):
        corpus, model, modifier = map(str, key)
        count = frequency.get((corpus, names.get(modifier, "")))
        if count is not None:
            rows.append(
                {
                    "corpus": corpus,
                    "model": model,
                    "modifier": modifier,
                    "construction": count.construction,
                    "count": count.count,
                    "per_thousand": count.per_thousand,
                    "value_bits": float(group["value_bits"].mean()),
                }
            )
    return LICENSING_BY_FREQUENCY.frame(rows)


def frequency_correlations(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Correlate licensing with frequency for each model; return rows, sentences, skipped."""
    rows, sentences, skipped = [], [], []
    for key, group in table.groupby(["corpus", "model"], sort=True):
        corpus, model = map(str, key)
        who = f"{wording.prose_name(model)} trained on {wording.prose_name(corpus)}"
        try:
            found = pearson(group["per_thousand"], group["value_bits"])
        except StatisticsError as error:
            skipped.append(f"{who}: {error}")
            continue
        row = {"estimate": found.r, "low": found.low, "high": found.high, "n": found.n}
        rows.append(
            {"corpus": corpus, "model": model, "term": who, **row, "df": found.df, "p": found.p}
        )
        verb = "correlates" if found.p < wording.ALPHA else "does not correlate significantly"
        sentences.append(
            f"The licensing interaction of {who} {verb} with the frequency of constructions: "
            f"{found.in_words()}"
        )
    return CORRELATIONS.frame(rows), sentences, skipped
