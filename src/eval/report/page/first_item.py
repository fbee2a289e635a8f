"""The item on which the explorer opens: where models disagree most, or with the largest effect."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pandas as pd

from gardenpath.eval.display import EXACT
from gardenpath.eval.report.study import Study
from gardenpath.eval.usable import USABLE, with_usable
from gardenpath.text import spaced


class Opening(NamedTuple):
    """An item, the run with the largest difference in it, and the reason in words."""

    suite: str
    item: int | str
    run: str
    reason: str


def opening(study: Study) -> Opening | None:
    """Return the item on which the models of a corpus disagree most; None if nothing is known.

    Compared are the differences of a prediction in bits, averaged over random seeds. The exact
    grammar is no model. With a single model, it is the item with the largest difference. Items with
    out-of-vocabulary critical words do not count, and if some items have parses, only those do.
    """
    rows = _candidates(study)
    if not len(rows):
        return None
    keys = ["suite", "item", "corpus", "prediction"]
    means = rows.groupby([*keys, "model"], sort=False)["difference_bits"].mean().reset_index()
    groups = means.groupby(keys, sort=False)["difference_bits"]
    sizes = pd.DataFrame({"models": groups.size(), "range": groups.max() - groups.min()})
    sizes["largest"] = groups.apply(lambda bits: float(bits.abs().max()))
    is_compared = bool((sizes["models"] > 1).any())
    column = "range" if is_compared else "largest"
    best = sizes[column].idxmax()
    size = float(sizes.loc[best, column])
    part = rows[(rows[keys] == list(best)).all(axis="columns")]
    of_models = means[(means[keys] == list(best)).all(axis="columns")]
    reason = (
        f"the item on which the models disagree most: {_extremes(of_models, best[-1])}"
        if is_compared
        else f"the item with the largest effect ({size:.1f} bits)"
    )
    return Opening(str(best[0]), best[1], _run(study, part), reason)


def _extremes(means: pd.DataFrame, prediction: object) -> str:
    """Name the models with the largest and the smallest difference in a prediction."""
    bits = means.set_index("model")["difference_bits"]
    high, low = (
        f"{bits[model]:+.1f}".replace("-", "−") + f" bits in {model}"
        for model in (bits.idxmax(), bits.idxmin())
    )
    return f"{high}, {low} ({spaced(str(prediction))})"


def _candidates(study: Study) -> pd.DataFrame:
    """Return the rows of models with a known difference, of items that can be shown in full."""
    if not len(study.items):
        return study.items
    items = with_usable(study.items, study.items)
    shown = set(zip(study.surprisals["suite"], study.surprisals["item"], strict=True))
    parsed = {(suite, item) for _, suite, item, *_ in study.parses} & shown
    is_known = np.isfinite(items["difference_bits"].astype("float64"))
    rows = items[is_known & (items["model"] != EXACT)]
    for wanted in (shown, parsed):
        is_in = [one in wanted for one in zip(rows["suite"], rows["item"], strict=True)]
        rows = rows[np.array(is_in, dtype=bool)] if any(is_in) or wanted is shown else rows
    usable = rows[rows[USABLE].astype(bool)]
    return usable if len(usable) else rows


def _run(study: Study, rows: pd.DataFrame) -> str:
    """Return the run with the largest difference, one with parses if there is any."""
    parsed = {run for run, *_ in study.parses}
    with_parses = rows[rows["run"].isin(parsed)]
    chosen = with_parses if len(with_parses) else rows
    sizes = chosen["difference_bits"].abs()
    assert not math.isnan(float(sizes.max()))
    return str(chosen.loc[sizes.idxmax(), "run"])
