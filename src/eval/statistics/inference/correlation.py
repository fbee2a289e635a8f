"""Correlation of what models have learnt with how often they could have learnt it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import norm
from scipy.stats import t as student

from gardenpath.eval.statistics.corpora.patterns import Construction, ConstructionCount
from gardenpath.eval.statistics.mixed.coding import StatisticsError
from gardenpath.eval.statistics.questions import wording
from gardenpath.eval.suites.scoring.effects import LICENSING
from gardenpath.store.tables import CORRELATIONS, LICENSING_BY_FREQUENCY


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """Pearson's r; its interval (Fisher's z) is unknown with fewer than four pairs."""

    r: float
    n: int
    statistic: float
    df: int
    p: float
    low: float
    high: float

    def in_words(self) -> str:
        """``r(4) = .62, 95 % interval −.37 to .95, p = .190``."""
        interval = (
            f", 95 % interval {wording.number(self.low)} to {wording.number(self.high)}"
            if math.isfinite(self.low)
            else ""
        )
        return f"r({self.df}) = {wording.number(self.r)}{interval}, {wording.p_value(self.p)}"


def pearson(first: ArrayLike, second: ArrayLike, *, level: float = 0.95) -> Correlation:
    """The correlation of pairs; pairs with a missing value are left out."""
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    finite = np.isfinite(x) & np.isfinite(y)
    x, y = x[finite], y[finite]
    if len(x) < 3:
        raise StatisticsError(f"a correlation needs at least three pairs, not {len(x)}")
    x, y = x - x.mean(), y - y.mean()
    norms = float(np.sqrt((x @ x) * (y @ y)))
    if norms == 0.0:
        raise StatisticsError("one of the two is the same in every pair")
    r = float(np.clip(x @ y / norms, -1.0, 1.0))
    df = len(x) - 2
    statistic = r * math.sqrt(df / (1.0 - r * r)) if abs(r) < 1.0 else math.copysign(math.inf, r)
    low = high = math.nan
    if len(x) > 3 and abs(r) < 1.0:
        reach = float(norm.ppf((1.0 + level) / 2.0)) / math.sqrt(len(x) - 3)
        low, high = math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach)
    return Correlation(
        r=r,
        n=len(x),
        statistic=statistic,
        df=df,
        p=float(2.0 * student.sf(abs(statistic), df)),
        low=low,
        high=high,
    )


def licensing_by_frequency(
    effects: pd.DataFrame,
    counts: Iterable[ConstructionCount],
    constructions: Sequence[Construction],
) -> pd.DataFrame:
    """Mean licensing interaction (bits) beside frequency, by model, corpus and suite.

    Items in islands are left out, for no frequency teaches a model to look for gaps there. The
    frequency is that of the construction in the corpus that the model was trained on.
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
    """For each model, the correlation of licensing with frequency: rows, sentences, skipped."""
    rows, sentences, skipped = [], [], []
    for key, group in table.groupby(["corpus", "model"], sort=True):
        corpus, model = map(str, key)
        who = f"{wording.readable(model)} trained on {wording.readable(corpus)}"
        try:
            found = pearson(group["per_thousand"], group["value_bits"])
        except StatisticsError as error:
            skipped.append(f"{who}: {error}")
            continue
        row = {"estimate": found.r, "low": found.low, "high": found.high, "n": found.n}
        rows.append(
            {"corpus": corpus, "model": model, "term": who, **row, "df": found.df, "p": found.p}
        )
        verb = "goes" if found.p < wording.ALPHA else "could not be shown to go"
        sentences.append(
            f"The licensing interaction of {who} {verb} with the frequency of constructions: "
            f"{found.in_words()}"
        )
    return CORRELATIONS.frame(rows), sentences, skipped
