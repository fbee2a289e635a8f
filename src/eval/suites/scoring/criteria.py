"""Flip and island contrast, criteria for filler-gap constructions, as columns of the summary.

They are computed from the wh-effects of items (see ``effects``) and the items' label ``island``:
``no`` if the gap is accessible to a filler, ``yes`` if it is inside an island. Rows without such
items have no criteria.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from gardenpath.eval.suites.scoring.aggregation import near_tied
from gardenpath.eval.suites.scoring.effects import (
    WH_GAP,
    WH_NO_GAP,
    Criterion,
    WhEffects,
    flip,
    flip_rate,
    island_contrast,
)
from gardenpath.eval.usable import MIN_ITEMS, is_enough

CRITERIA = ("flip_rate", "flip", "island_contrast")

_OUTSIDE, _INSIDE = "no", "yes"


def with_criteria(
    summary: pd.DataFrame,
    effects: pd.DataFrame,
    keys: Sequence[str],
    *,
    min_items: int = MIN_ITEMS,
) -> pd.DataFrame:
    """Return the summary, one row per combination of ``keys``, with the columns ``CRITERIA``.

    ``effects`` is a table of effects (see ``results``). A criterion is empty if it cannot be
    decided, as with fewer usable items than ``min_items``. If no row has a criterion, the summary
    is returned unchanged.
    """
    if "island" not in effects.columns:
        return summary
    keys = list(keys)
    # An effect that cannot be told from zero has no direction.
    directed = effects.assign(value_bits=effects["value_bits"].where(~near_tied(effects), 0.0))
    items, signs = _wh_items(effects, keys), _wh_items(directed, keys)
    rows = [
        {**dict(zip(keys, key, strict=True)), **_criteria(group, signs.loc[group.index])}
        for key, group in items.groupby(keys, sort=False)
        if (group["island"] == _OUTSIDE).any()
    ]
    if not rows:
        return summary
    found = summary.merge(pd.DataFrame(rows), on=keys, how="left", validate="one_to_one")
    found = found.astype({"flip": "boolean", "island_contrast": "boolean"})
    if "usable" in found.columns:
        counts = zip(found["usable"], found["items"], strict=True)
        few = [not is_enough(usable, items, min_items) for usable, items in counts]
        found.loc[few, ["flip", "island_contrast"]] = pd.NA
    return found


def _wh_items(effects: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Return one row per run and item, with both wh-effects as columns."""
    of_items = ("run", "suite", "item", "island", "depth")
    lacking = {name: "" for name in (*keys, *of_items) if name not in effects.columns}
    chosen = effects.assign(**lacking)
    chosen = chosen[
        chosen["effect"].isin([WH_GAP, WH_NO_GAP]) & chosen["island"].isin([_OUTSIDE, _INSIDE])
    ]
    index = list(dict.fromkeys([*keys, *of_items]))
    wide = chosen.set_index([*index, "effect"])["value_bits"].unstack("effect", sort=False)
    return wide.reindex(columns=[WH_GAP, WH_NO_GAP]).reset_index()


def _criteria(items: pd.DataFrame, signs: pd.DataFrame) -> dict[str, object]:
    """Return the criteria; ``signs`` are the same items, with near ties as zero."""
    outside = items[items["island"] == _OUTSIDE]
    inside = items[items["island"] == _INSIDE]
    directed = signs[signs["island"] == _OUTSIDE]
    rates = [flip_rate(_pairs(run)) for _, run in directed.groupby("run", sort=False)]
    # Effects decrease with depth, so only items of the same depths are compared.
    depths = set(outside["depth"]) & set(inside["depth"])
    near, far = (_effects_over_runs(part[part["depth"].isin(depths)]) for part in (outside, inside))
    return {
        "flip_rate": pd.Series(rates, dtype="float64").mean(),
        "flip": _is_met(flip(_effects_over_runs(outside))),
        "island_contrast": _is_met(island_contrast(near, far)) if near and far else None,
    }


def _effects_over_runs(items: pd.DataFrame) -> list[WhEffects]:
    """Return the effects of each item, averaged over runs."""
    means = items.groupby(["suite", "item"], sort=False)[[WH_GAP, WH_NO_GAP]].mean()
    return _pairs(means)


def _pairs(items: pd.DataFrame) -> list[WhEffects]:
    return [
        WhEffects(float(gap), float(nogap))
        for gap, nogap in zip(items[WH_GAP], items[WH_NO_GAP], strict=True)
    ]


def _is_met(criterion: Criterion) -> bool | None:
    """Whether a criterion is met; None if no value is finite, as with the exact grammar."""
    is_open = math.isnan(criterion.gap) or math.isnan(criterion.nogap)
    return None if is_open else criterion.is_met
