"""Means with 95 % bootstrap intervals over items, for tables and figures."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from gardenpath.console import FittedTable
from gardenpath.eval.display import models_in_order
from gardenpath.eval.means import (
    bootstrap_interval,
    item_outcomes,
    levels_of,
    mean_of_means,
    near_tied,
    nested,
    strata_of,
    summarise,
)
from gardenpath.eval.suites.outcomes import MIN_ITEMS, USABLE, is_enough, with_usable
from gardenpath.store.tables import EFFECT_MEANS, ERROR_COLUMNS, NEAR_TIE, NEAR_TIES
from gardenpath.util import spaced


def accuracies(
    items: pd.DataFrame, *, by: Sequence[str], min_items: int = MIN_ITEMS
) -> pd.DataFrame:
    """Return the summary of each group, with its accuracy in the column ``mean``."""
    return summarise(items, by=by, min_items=min_items).rename(columns={"accuracy": "mean"})


def accuracy_difference(
    items: pd.DataFrame, first: str, second: str, *, level: float = 0.95
) -> tuple[float, float]:
    """Return the interval of the difference in accuracy of two models of one corpus.

    Items are resampled, and each has its outcomes of both models; items without both are left out.
    """
    levels = levels_of(items, [])
    single = list(dict.fromkeys([*levels, "suite", "item"]))
    outcomes = item_outcomes(items[items["model"].isin([first, second])], ["model", *levels])
    means = outcomes.groupby([*single, "model"], sort=False, dropna=False)["outcome"].mean()
    wide = means.unstack("model")
    pairs = (wide[first] - wide[second]).dropna().rename("difference").reset_index()
    tree = nested(pairs, [], levels, value="difference")
    return bootstrap_interval(list(strata_of(tree[()])), level=level) if tree else (math.nan,) * 2


def in_numbers(row: Mapping[Any, Any]) -> str:
    """Return a mean with its interval, ``0.823 [0.75, 0.88]``, or alone if that has no width."""
    mean = f"{row['mean']:.3f}"
    is_known = math.isfinite(row["low"]) and math.isfinite(row["high"])
    # Resampling items that all have the same outcome says nothing about other items.
    is_known = is_known and row["low"] < row["high"]
    return f"{mean}  [{row['low']:.2f}, {row['high']:.2f}]" if is_known else mean


def bit_means(
    table: pd.DataFrame, *, value: str, by: Sequence[str], min_items: int = MIN_ITEMS
) -> pd.DataFrame:
    """Return one row per group: its columns, mean, low, high, items and excluded values.

    Every item has the same weight, regardless of seeds and predictions, and every suite has the
    same weight, regardless of its items. Values that are not finite are excluded: the exact grammar
    assigns zero probability to some words. Groups with fewer items than ``min_items``, counting
    only usable ones if the table marks them (``with_usable``), have no interval. If the table has
    standard errors, ``error`` is that of the mean; values without one count as exact.
    """
    by = list(by)
    finite = np.isfinite(table[value].astype("float64"))
    keys = list(dict.fromkeys([*by, "suite", "item"]))
    marked = table if USABLE in table.columns else table.assign(**{USABLE: True})
    of_items = marked[finite].groupby(keys, sort=False, dropna=False)
    per_item = of_items[value].mean().reset_index()
    usable = of_items[USABLE].all().groupby(by, sort=False, dropna=False).sum()
    lost = (~finite).groupby([table[key] for key in by], sort=False, dropna=False).sum()
    rows = []
    for group, suites in nested(per_item, by, ["suite"], value=value).items():
        name = group if len(by) > 1 else group[0]
        items = sum(map(len, suites.values()))
        is_known = is_enough(int(usable.loc[name]), items, min_items)
        strata = list(strata_of(suites)) if is_known else []
        out = int(lost.loc[name])
        rows.append((*group, mean_of_means(suites), *bootstrap_interval(strata), items, out))
    found = pd.DataFrame(rows, columns=[*by, "mean", "low", "high", "items", "infinite"])
    column = ERROR_COLUMNS.get(value)
    if column is None or column not in table.columns:
        return found
    return found.merge(_mean_errors(table[finite], column, by), on=by, how="left")


def _mean_errors(table: pd.DataFrame, column: str, by: list[str]) -> pd.DataFrame:
    """Return the standard error of the mean over suites of means over items; NaN if unknown.

    The errors of rows count as independent. A row has the weight 1 / (suites · items · rows of the
    item).
    """
    of_suite = list(dict.fromkeys([*by, "suite"]))
    of_item = [*of_suite, "item"]
    rows = table.groupby(of_item, sort=False, dropna=False)[column].transform("size")
    items = table.groupby(of_suite, sort=False, dropna=False)["item"].transform("nunique")
    suites = table.groupby(by, sort=False, dropna=False)["suite"].transform("nunique")
    squares = (table[column] / (rows * items * suites)) ** 2
    groups = table.assign(error=squares).groupby(by, sort=False, dropna=False)["error"]
    return np.sqrt(groups.sum(min_count=1)).reset_index()


# Mean effects in bits, with intervals over items: a file, and a table for the terminal.

_BY = ["model", "corpus", "suite", "class", "modifier", "effect"]
# Effects of a corpus that are printed; sets of many suites have hundreds.
_MOST_PRINTED = 10


def effect_means(
    effects: pd.DataFrame, items: pd.DataFrame, *, min_items: int = MIN_ITEMS
) -> pd.DataFrame:
    """Return the mean of each effect of each model and suite, over items and runs.

    Fewer usable items than ``min_items`` have no interval. Values too small to tell from zero are
    counted; the mean contains them as they are. Values that are not finite are left out, but if all
    of them are, so is the mean: the exact grammar has infinite effects.
    """
    if effects.empty:
        return EFFECT_MEANS.frame([])
    means = bit_means(
        with_usable(effects, items), value="value_bits", by=_BY, min_items=min_items
    ).rename(columns={"mean": "mean_bits"})
    marked = effects.assign(**{NEAR_TIES: near_tied(effects)})
    groups = marked.groupby(_BY, sort=False, dropna=False)
    every = pd.DataFrame(
        {
            "of_all": groups["value_bits"].mean(),
            "rows": groups.size(),
            NEAR_TIES: groups[NEAR_TIES].sum(),
        }
    ).reset_index()
    table = every.merge(means, on=_BY, how="left")
    table["mean_bits"] = table["mean_bits"].fillna(table["of_all"])
    table["infinite"] = table["infinite"].fillna(table["rows"])
    counts = dict.fromkeys(("items", "infinite", NEAR_TIES), "int64")
    return table.fillna({"items": 0}).astype(counts)[[*EFFECT_MEANS.names]]


def effect_tables(means: pd.DataFrame, *, title: str) -> Iterator[FittedTable]:
    """Yield a table per corpus with few effects: effects as rows, models as columns."""
    for corpus, rows in means.groupby("corpus", sort=False):
        cells = {
            (str(suite), str(effect), str(model)): _cell(mean, low, high)
            for suite, effect, model, mean, low, high in rows[
                ["suite", "effect", "model", "mean_bits", "low", "high"]
            ].itertuples(index=False)
        }
        rows_shown = list(dict.fromkeys((suite, effect) for suite, effect, _ in cells))
        if len(rows_shown) > _MOST_PRINTED:
            continue
        has_interval = bool(rows["low"].notna().any())
        note = "with 95 % intervals over items" if has_interval else "too few items for intervals"
        table = FittedTable(f"{title}: effects in bits, {note}" + (f" ({corpus})" * bool(corpus)))
        table.column("effect")
        models = models_in_order(rows["model"])
        for model in models:
            table.column(model, right=True)
        several = len({suite for suite, _ in rows_shown}) > 1
        for suite, effect in rows_shown:
            name = f"{suite}: {spaced(effect)}" if several else spaced(effect)
            table.add_row(name, *(cells.get((suite, effect, model), "") for model in models))
        if rows[NEAR_TIES].any():
            near = rows.groupby("model")[NEAR_TIES].sum()
            table.add_row(spaced(NEAR_TIES), *(str(near[model]) for model in models))
        yield table


def _cell(mean: float, low: float, high: float) -> str:
    if not math.isfinite(mean):
        return "–" if math.isnan(mean) else "∞" if mean > 0 else "−∞"
    return _two_places(mean) + (
        f" [{_two_places(low)},{_two_places(high)}]" if math.isfinite(low) else ""
    )


def _two_places(bits: float) -> str:
    # Adding zero turns -0.0 into 0.0.
    return f"{round(bits, 2) + 0.0:.2f}"


# How much near ties matter for what a figure shows, as columns beside its means.

# The accuracy if near ties counted as wrong, and if they counted as right.
IF_WRONG, IF_RIGHT = "near_ties_wrong", "near_ties_right"
# The share of near ties among the values of a mean in bits.
NEAR_SHARE = "near_tie_share"
# From this share on, a mean in bits is drawn as a near tie.
MOSTLY_NEAR = 0.5


def with_near_range(table: pd.DataFrame, items: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return accuracies with the columns ``IF_WRONG`` and ``IF_RIGHT``, if there are near ties."""
    near = near_tied(items)
    if not near.any():
        return table
    for column, credit in ((IF_WRONG, 0.0), (IF_RIGHT, 1.0)):
        counted = items.assign(outcome=items["outcome"].mask(near, credit))
        # No intervals: they take most of the time, and nobody looks at them.
        means = accuracies(counted, by=by, min_items=sys.maxsize)
        table = table.merge(means[[*by, "mean"]].rename(columns={"mean": column}), on=list(by))
    return table


def with_near_share(table: pd.DataFrame, rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return means in bits with the column ``NEAR_SHARE``, if there are near ties."""
    near = near_tied(rows)
    if not near.any():
        return table
    groups = rows.assign(**{NEAR_TIE: near}).groupby(list(by), sort=False, dropna=False)
    shares = groups[NEAR_TIE].mean().rename(NEAR_SHARE).reset_index()
    return table.merge(shares, on=list(by), how="left")
