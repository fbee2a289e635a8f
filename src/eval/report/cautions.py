"""What a reader has to know before the numbers, each of it once and in one sentence."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from gardenpath.eval.display import EXACT
from gardenpath.eval.report.headline import near_tie_note
from gardenpath.eval.report.study import Study
from gardenpath.eval.usable import ItemCount, is_enough, usable_counts
from gardenpath.store.tables import COULD_FLIP
from gardenpath.text import enumeration, spaced

# Number of models or classes that a sentence names.
_MOST_NAMES = 4


def cautions(study: Study) -> Iterator[str]:
    """Yield warnings: unusable items, few items, near ties, outcomes within the search error."""
    if not len(study.items):
        return
    if study.unusable:
        yield _unusable(study.unusable)
    if note := _few_items(study):
        yield note
    yield from outcome_cautions(study.items)


def outcome_cautions(items: pd.DataFrame) -> Iterator[str]:
    """Yield how many outcomes are near ties, and how many are within the search error."""
    yield from filter(None, (near_tie_note(items), _search_error(items)))


def _named(names: list[str]) -> str:
    """List names, the first few of them."""
    more = len(names) - _MOST_NAMES
    shown = names[:_MOST_NAMES] if more > 1 else names
    return enumeration(shown) + (f" and {more} others" if more > 1 else "")


def _unusable(counts: list[ItemCount]) -> str:
    """Say how many items of which models have unknown critical words or lack a surprisal."""
    reasons = [
        said
        for said, is_so in (
            ("unknown critical words", any(one.unknown for one in counts)),
            ("no surprisal", any(one.missing for one in counts)),
        )
        if is_so
    ]
    each = [f"{one.name} {one.unusable} of {one.items}" for one in counts]
    text = f"Items with {' or '.join(reasons)}: {_named(each)}."
    worst = [one.name for one in counts if one.is_large]
    if not worst:
        return text
    whose = "these models" if len(worst) == len(counts) else _named(worst)
    return f"{text} Accuracies of {whose} say little."


def _few_items(study: Study) -> str:
    """Name the classes that have too few usable items for intervals and tests in some model."""
    models = study.items[study.items["model"] != EXACT]
    few = [
        spaced(row["class"]) or "all items"
        for row in usable_counts(models, ["model", "corpus", "class"]).to_dict("records")
        if not is_enough(row["usable"], row["items"], study.min_items)
    ]
    if not few:
        return ""
    return (
        "Too few usable items for intervals and tests of some models in "
        f"{_named(list(dict.fromkeys(few)))}: {study.min_items} are needed, and half of all items."
    )


def _search_error(items: pd.DataFrame) -> str:
    """Say how many outcomes are within the search error; empty if it is not known."""
    if COULD_FLIP not in items.columns:
        return ""
    known = items.dropna(subset=COULD_FLIP)
    counts = known.groupby("model", sort=False)[COULD_FLIP].agg(["sum", "size"])
    if not counts["sum"].any():
        return ""
    each = [f"{model} {int(row['sum'])} of {int(row['size'])}" for model, row in counts.iterrows()]
    total = f"{int(counts['sum'].sum())} of {int(counts['size'].sum())}"
    more = f" ({', '.join(each)})" if len(each) > 1 else ""
    return f"{total} outcomes could flip within the 95 % interval of the search error{more}."
