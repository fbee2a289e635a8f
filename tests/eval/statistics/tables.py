"""Small tables with known structure, for the tests of statistics."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import scipy.linalg

from gardenpath.data.arrays import Floats
from gardenpath.eval.statistics.design import Design


def random_matrix(design: Design) -> Floats:
    """The whole matrix Z of a design."""
    loadings = design.loadings
    whole = np.zeros((design.rows, loadings.size))
    np.put_along_axis(whole, loadings.columns, loadings.values, axis=1)
    return whole


def loaded_matrix(design: Design, theta: Floats) -> Floats:
    """The whole matrix ZΛ(θ) of a design: Λ has one block per level of a grouping factor."""
    blocks, start = [], 0
    for term in design.terms:
        block = np.zeros((len(term.names), len(term.names)))
        block[np.tril_indices(len(term.names))] = theta[start : start + len(term.places)]
        start += len(term.places)
        blocks += [block] * term.levels
    return np.asarray(random_matrix(design) @ scipy.linalg.block_diag(*blocks))


def item_table(
    accuracies: Mapping[str, float],
    *,
    classes: tuple[str, ...] = ("verb_noun",),
    modifiers: tuple[str, ...] = ("none", "adjective"),
    seeds: tuple[int, ...] = (1, 2),
    items: int = 20,
) -> pd.DataFrame:
    """Outcomes drawn with given accuracies of models; items differ in difficulty."""
    dice = np.random.default_rng(7)
    ease = dice.normal(size=items)
    rows = []
    for model, accuracy in accuracies.items():
        for name in classes:
            for modifier in modifiers:
                for seed in seeds:
                    for item in range(items):
                        odds = np.log(accuracy / (1 - accuracy)) + ease[item]
                        difference = odds + dice.logistic()
                        rows.append(
                            {
                                "run": f"{model}/{seed}",
                                "model": model,
                                "corpus": "toy",
                                "seed": seed,
                                "suite": f"{name}_{modifier}",
                                "class": name,
                                "modifier": modifier,
                                "item": item,
                                "prediction": "p",
                                "outcome": float(difference > 0),
                                "tie": False,
                                "difference_bits": difference,
                                "unknown": 0,
                            }
                        )
    return pd.DataFrame(rows)


def effect_table(*, seeds: tuple[int, ...] = (1, 2), items: int = 12) -> pd.DataFrame:
    """Wh-effects of one model on all the suites with fillers: islands halve them."""
    dice = np.random.default_rng(11)
    cells = [("filler_gap", "embwhq", "0", "no")]
    cells += [("filler_gap", "embwhq", d, i) for d in "123" for i in ("no", "yes")]
    islands = ("object", "adjunct", "over_adjunct", "complex_np", "over_complex_np")
    cells += [
        ("islands", m, "", "yes" if m in ("adjunct", "complex_np") else "no") for m in islands
    ]
    discharges = ("subject", "adjunct_discharge", "cnp_discharge")
    cells += [("wh_discharge", m, "", "no") for m in discharges]
    rows = []
    for number, (kind, modifier, depth, island) in enumerate(cells):
        for item in range(items):
            strength = (1.0 if island == "yes" else 2.0) - 0.1 * int(depth or 0)
            own = dice.normal(scale=0.3)
            for seed in seeds:
                gap = -strength + own + dice.normal(scale=0.3)
                nogap = strength + own + dice.normal(scale=0.3)
                effects = {
                    "wh_effect_gap": gap,
                    "wh_effect_nogap": nogap,
                    "licensing_interaction": nogap - gap,
                }
                for effect, value in effects.items():
                    place = {"class": kind, "modifier": modifier, "suite": f"{kind}/{modifier}"}
                    labels = {"depth": depth, "island": island}
                    # Items of islands and discharge share their words across conditions.
                    unique = 100 * number + item if kind == "filler_gap" else item
                    what = {"item": unique, "effect": effect, "value_bits": value}
                    run = {"run": f"lstm/{seed}", "model": "lstm", "corpus": "toy", "seed": seed}
                    rows.append({**run, **place, **what, **labels})
        if kind == "islands":
            rows += _ordering_rows(dice, seeds, number)
    more = np.random.default_rng(8)
    rows += [row for item in range(100, 106) for row in _ordering_rows(more, seeds, item)]
    return pd.DataFrame(rows)


def _ordering_rows(
    dice: np.random.Generator, seeds: tuple[int, ...], item: int
) -> list[dict[str, object]]:
    return [
        {
            "run": f"lstm/{seed}",
            "model": "lstm",
            "corpus": "toy",
            "seed": seed,
            "suite": "center_embedding/verb_order",
            "class": "center_embedding",
            "modifier": "",
            "item": item,
            "effect": f"ordering_effect{ending}",
            "value_bits": 1.5 + dice.normal(scale=0.5),
            "depth": "",
            "island": "",
        }
        for seed in seeds
        for ending in ("", "_long", "_sentence")
    ]


def slopes_table(*, groups: int = 15, rows: int = 8) -> pd.DataFrame:
    """Responses y, right or wrong outcomes o: groups differ in their mean and in the slope of x."""
    dice = np.random.default_rng(3)
    group = np.repeat(np.arange(groups), rows)
    table = pd.DataFrame({"g": group, "h": np.tile(np.arange(rows), groups)})
    table["x"] = dice.normal(size=len(table))
    means, slopes = dice.normal(size=(2, groups))
    expected = 0.4 + means[group] + (0.7 + slopes[group]) * table["x"]
    expected += dice.normal(scale=0.6, size=rows)[table["h"]]
    table["y"] = expected + dice.normal(size=len(table))
    table["o"] = (expected + dice.logistic(size=len(table)) > 0).astype(float)
    return table
