"""The main result in a few sentences: the models that cannot be told apart from the best.

The model with the highest mean accuracy is compared with every other model of its corpus, item by
item. A model belongs to the best group if the bootstrap interval over items of the difference
includes zero. The intervals have the level 1 − .05 / k for k other models (Bonferroni), because one
of several models is the highest by chance.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from gardenpath.eval.display import EXACT, models_in_order
from gardenpath.eval.report.means import accuracies, accuracy_difference, in_numbers
from gardenpath.eval.suites.scoring.aggregation import near_tied
from gardenpath.eval.usable import MIN_ITEMS, is_enough
from gardenpath.text import enumeration, plural

_ALPHA = 0.05


def findings(items: pd.DataFrame, *, min_items: int = MIN_ITEMS) -> Iterator[str]:
    """Yield, for each corpus, a sentence on the best models and on the exact grammar."""
    if not len(items):
        return
    table = accuracies(items, by=["model", "corpus"], min_items=min_items)
    for corpus, rows in table.groupby("corpus", sort=False):
        models = rows[rows["model"] != EXACT].dropna(subset="mean")
        if not len(models):
            continue
        said = _best_models(items[items["corpus"] == corpus], models, min_items)
        sentence = f"On {corpus or 'the given surprisals'}, {said}"
        for ceiling in rows[rows["model"] == EXACT]["mean"]:
            sentence += f"; the exact grammar reaches {ceiling:.3f}"
        yield sentence + "."


def _best_models(items: pd.DataFrame, models: pd.DataFrame, min_items: int) -> str:
    """Say which models of one corpus are the best."""
    order = {model: place for place, model in enumerate(models_in_order(models["model"]))}
    ranked = models.assign(place=models["model"].map(order)).sort_values(
        ["mean", "place"], ascending=[False, True]
    )
    records = ranked.to_dict("records")
    best, others = records[0], records[1:]
    numbers = {row["model"]: " ".join(in_numbers(row).split()) for row in records}
    if not others:
        return f"{best['model']} has a mean accuracy of {numbers[best['model']]}"
    few = [row for row in records if not is_enough(row["usable"], row["items"], min_items)]
    if few:
        return (
            f"too few items are usable to say which of {plural(len(records), 'model')} is the best "
            f"({few[0]['model']}: {few[0]['usable']} of {few[0]['items']}); the highest mean "
            f"accuracy is {numbers[best['model']]} ({best['model']})"
        )
    level = 1.0 - _ALPHA / len(others)
    group = [best["model"]]
    for row in others:
        low, high = accuracy_difference(items, best["model"], row["model"], level=level)
        if not (low > 0.0 or high < 0.0):
            group.append(row["model"])
    if len(group) == 1:
        return (
            f"{best['model']} has the highest mean accuracy of {plural(len(records), 'model')}: "
            f"{numbers[best['model']]}"
        )
    return _group_in_words(group, numbers, len(records))


def _group_in_words(group: list[str], numbers: dict[str, str], count: int) -> str:
    if len(group) == count and len(set(numbers.values())) == 1:
        return f"the {count} models have the same mean accuracy, {numbers[group[0]]}"
    named = enumeration([f"{model} ({numbers[model]})" for model in group], last=" and ")
    if len(group) == count:
        return f"the mean accuracies of the {count} models cannot be told apart: {named}"
    return (
        f"{len(group)} of {count} models cannot be told apart from the best by their mean "
        f"accuracy: {named}"
    )


def near_tie_note(items: pd.DataFrame) -> str:
    """Say how many outcomes of which models are near ties; empty if none is."""
    models = items[items["model"] != EXACT]
    marked = models.assign(near=near_tied(models))
    counts = marked.groupby("model", sort=False)["near"].agg(["sum", "size"])
    counts = counts[counts["sum"] > 0]
    if not len(counts):
        return ""
    each = [f"{name} {int(row['sum'])} of {int(row['size'])}" for name, row in counts.iterrows()]
    return (
        "Differences too small to tell from zero count as ties (near ties, of all outcomes): "
        f"{', '.join(each)}."
    )
