"""Mean effects in bits, with intervals over items: a file, and a table for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd

from gardenpath.eval.display import models_in_order
from gardenpath.eval.report.means import bit_means
from gardenpath.eval.suites.scoring.aggregation import near_tied
from gardenpath.eval.usable import MIN_ITEMS, with_usable
from gardenpath.fitted_table import FittedTable
from gardenpath.store.tables import EFFECT_MEANS, NEAR_TIES
from gardenpath.text import spaced

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
    found = bit_means(
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
    table = every.merge(found, on=_BY, how="left")
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
        asked = list(dict.fromkeys((suite, effect) for suite, effect, _ in cells))
        if len(asked) > _MOST_PRINTED:
            continue
        has_interval = bool(rows["low"].notna().any())
        note = "with 95 % intervals over items" if has_interval else "too few items for intervals"
        table = FittedTable(f"{title}: effects in bits, {note}" + (f" ({corpus})" * bool(corpus)))
        table.column("effect")
        models = models_in_order(rows["model"])
        for model in models:
            table.column(model, right=True)
        several = len({suite for suite, _ in asked}) > 1
        for suite, effect in asked:
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
