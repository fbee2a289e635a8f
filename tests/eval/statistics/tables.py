"""Tables for the tests of statistics, small and study-sized, and the analyses that are shipped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.linalg

from gardenpath.data.arrays import Floats
from gardenpath.eval.statistics.analysis import load_analyses
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


# ----------------------------------------------------------------------------
# Tables as a study leaves them, so large that most models of the analyses are not singular.
#
# Items, seeds, modifiers and classes differ, and so do the slopes of items. Some outcomes are
# ties, and one model is always right on one class.


SEEDS = (1, 2, 3, 4)
ITEMS = 12
_SKILLS = {"lstm": 0.0, "rnng": 0.5, "transformer": 0.2, "plm": 0.6}
_CLASSES = (
    *("verb_noun", "missing_object", "classifier_noun", "garden_path_object", "subordination"),
)
_MODIFIERS = ("none", "subject_rc", "coordinated_rc", "embedded_rc")
_SHARES = (0.5, 1 / 3)


def study_items() -> pd.DataFrame:
    """Outcomes of four models; the recurrent ones were trained on two corpora."""
    dice = np.random.default_rng(21)
    seeds = dict(zip(SEEDS, dice.normal(scale=0.6, size=len(SEEDS)), strict=True))
    modifiers = dict(zip(_MODIFIERS, (0.9, 0.3, -0.2, -0.8), strict=True))
    classes = dict(zip(_CLASSES, (0.6, -0.4, 0.1, 0.8, 0.3), strict=True))
    # In classifier-noun, two comparisons of an item differ as much as two items.
    sizes = {name: 2 if name == "classifier_noun" else 1 for name in _CLASSES}
    ease = {name: dice.normal(scale=0.9, size=ITEMS * sizes[name]) for name in _CLASSES}
    rows = []
    for model, corpus, seed, name, modifier in _cells():
        expected = _SKILLS[model] + seeds[seed] + modifiers[modifier] + classes[name]
        expected += 0.4 * (corpus == "xinhua")
        noise = dice.logistic(size=ITEMS * sizes[name])
        for number in range(ITEMS * sizes[name]):
            difference = float(expected + ease[name][number] + noise[number])
            rows.append(
                {
                    "run": f"{corpus}/{model}/{seed}",
                    "model": model,
                    "corpus": corpus,
                    "seed": seed,
                    "suite": f"mandarin/{name}/{modifier}",
                    "class": name,
                    "modifier": modifier,
                    "item": number // sizes[name],
                    "prediction": "ab"[number % sizes[name]],
                    "outcome": float(difference > 0),
                    "difference_bits": difference,
                }
            )
    table = pd.DataFrame(rows)
    ties = dice.choice(np.flatnonzero(table["model"] == "transformer"), size=40, replace=False)
    table.loc[ties, "outcome"] = dice.choice(_SHARES, size=40)
    always = table[(table["class"] == "verb_noun") & (table["corpus"] == "ctb")].copy()
    always["class"] = "reflexives"
    always.loc[always["model"] == "plm", "outcome"] = 1.0
    return pd.concat([table, always], ignore_index=True)


def _cells() -> Iterator[tuple[str, str, int, str, str]]:
    for model in _SKILLS:
        for corpus in ("ctb", "xinhua") if model in ("lstm", "rnng") else ("ctb",):
            for seed in SEEDS:
                for name in _CLASSES:
                    for modifier in _MODIFIERS:
                        yield model, corpus, seed, name, modifier


# Class, modifier, depth of embedding and island of each suite with fillers and gaps.
_SUITES = (
    *(("filler_gap", "embwhq", depth, "no") for depth in "0123"),
    *(("filler_gap", "embwhq", depth, "yes") for depth in "123"),
    *(("islands", name, "", "no") for name in ("object", "over_adjunct", "over_complex_np")),
    *(("islands", name, "", "yes") for name in ("adjunct", "complex_np")),
    *(("wh_discharge", name, "", "no") for name in ("subject", "adjunct_discharge")),
    ("wh_discharge", "cnp_discharge", "", "no"),
)


def study_effects() -> pd.DataFrame:
    """Effects of fillers on two models; islands and embedding weaken them."""
    dice = np.random.default_rng(22)
    rows = []
    for model in ("lstm", "rnng"):
        seeds = dice.normal(scale=0.4, size=(len(SEEDS), 2))
        items = dice.normal(scale=0.6, size=(ITEMS, 2))  # by gap: intercepts and slopes differ
        for kind, modifier, depth, island in _SUITES:
            strength = (1.0 if island == "yes" else 2.0) - 0.2 * int(depth or 0)
            own = items if kind == "filler_gap" else dice.normal(scale=0.6, size=(ITEMS, 2))
            for number, seed in enumerate(SEEDS):
                noise = dice.normal(scale=0.5, size=(ITEMS, 2))
                signed = np.array([-strength, strength]) + own + seeds[number] + noise
                place = {"class": kind, "modifier": modifier, "depth": depth, "island": island}
                rows += list(_effect_rows(signed, {"model": model, "seed": seed, **place}))
        rows += _ordering_table(dice, model)
    return pd.DataFrame(rows).assign(corpus="toy")


def _effect_rows(values: Floats, common: dict[str, object]) -> Iterator[dict[str, object]]:
    suite = f"{common['class']}/{common['modifier']}"
    for item, (gap, nogap) in enumerate(values.tolist()):
        effects = {"wh_effect_gap": gap, "wh_effect_nogap": nogap}
        for effect, value in {**effects, "licensing_interaction": nogap - gap}.items():
            yield {**common, "suite": suite, "item": item, "effect": effect, "value_bits": value}


def _ordering_table(dice: np.random.Generator, model: str) -> list[dict[str, object]]:
    suite = {"class": "center_embedding", "modifier": "", "depth": "", "island": ""}
    return [
        {
            **{"model": model, "seed": seed, **suite, "suite": "center_embedding/verb_order"},
            **{"item": item, "effect": f"ordering_effect{ending}"},
            "value_bits": float(1.5 + dice.normal(scale=0.8)),
        }
        for seed in SEEDS
        for item in range(ITEMS)
        for ending in ("", "_long", "_sentence")
    ]


_METRICS = ("local_bits", "global_bits_per_word", "slor")
_VARIANTS = {"what_gap": (1, 1), "that_gap": (-1, 1), "what_nogap": (1, -1), "that_nogap": (-1, -1)}


def study_sentences() -> pd.DataFrame:
    """Measures of sentences of one model: fillers and gaps interact, less so in islands.

    Items share their means and their slopes of fillers across suites of a class, and differ in the
    slope of each position.
    """
    dice = np.random.default_rng(23)
    seeds = dice.normal(scale=0.3, size=len(SEEDS))
    kinds = sorted({kind for kind, *_ in _SUITES})
    items = {kind: dice.normal(size=(ITEMS, 2)) for kind in kinds}
    rows: list[dict[str, object]] = []
    for kind, modifier, depth, island in _SUITES:
        strength = (0.3 if island == "yes" else 0.8) - 0.1 * int(depth or 0)
        own = dice.normal(scale=0.7, size=ITEMS)
        suite = (
            f"{kind}/{modifier}" if kind != "filler_gap" else f"{kind}/{modifier}{depth}{island}"
        )
        for number, seed in enumerate(SEEDS):
            for item in range(ITEMS):
                for condition, (filler, gap) in _VARIANTS.items():
                    mean = items[kind][item, 0] + own[item] + items[kind][item, 1] * filler
                    mean += seeds[number] - strength * filler * gap
                    noise = dice.normal(scale=0.5, size=len(_METRICS))
                    rows.append(
                        {
                            **{"run": f"lstm/{seed}", "model": "lstm", "corpus": "toy"},
                            **{"seed": seed, "suite": suite, "class": kind, "modifier": modifier},
                            **{"item": item, "condition": condition, "variant": 1, "words": 9},
                            **dict(zip(_METRICS, mean + noise, strict=True)),
                            **{"depth": depth, "island": island},
                        }
                    )
    return pd.DataFrame(rows)


# ----------------------------------------------------------------------------
# The analyses that are shipped, and tables on which they can be run.


FOLDER = Path(__file__).parents[3] / "conf" / "analysis"
ANALYSES = {analysis.name: analysis for analysis in load_analyses(FOLDER)}
