"""In which order things stand: models by family, modifiers from plain to complex.

What makes a modifier complex is said where analyses ask about it (a predictor that is looked up
from modifiers, or the levels of a coded factor); the report takes these orders over and adds only
what no analysis asks about.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from gardenpath.eval.perplexity.comparison import EXACT
from gardenpath.eval.statistics.questions.analysis import Analysis
from gardenpath.eval.statistics.questions.tidy import key

# Model families from plain to structured; models of other names come after them.
FAMILIES = ("unigram", "ngram", "lstm", "rnng", "transformer", "plm", "plm_mask")

Chain = Sequence[str]

# No analysis ranks these four.
MODIFIERS: Chain = ("none", "adjective", "subject_rc", "object_rc")


def family(model: str) -> str:
    """The family that a model's name speaks of, or the name itself: ``LSTM (3)`` is an lstm."""
    name = model.lower().replace("-", "").replace(" ", "_")
    if name.startswith("trans"):
        return "transformer"
    found = [known for known in FAMILIES if name.startswith(known)]
    return max(found, key=len) if found else model


def in_order(models: Sequence[str] | pd.Series) -> list[str]:
    """Different models: known families from plain to structured, others, the exact grammar."""

    def place(model: str) -> int:
        if model == EXACT:
            return len(FAMILIES) + 1
        known = family(model)
        return FAMILIES.index(known) if known in FAMILIES else len(FAMILIES)

    return sorted(dict.fromkeys(models), key=place)


def modifier_chains(analyses: Iterable[Analysis]) -> tuple[Chain, ...]:
    """The orders of modifiers that analyses know, each from plain to complex."""
    chains: list[Chain] = [MODIFIERS]
    for analysis in analyses:
        for rule in analysis.derive.values():
            values = rule["values"]
            if rule["from"] == "modifier" and all(
                isinstance(v, int | float) for v in values.values()
            ):
                chains.append(sorted(map(str, values), key=values.__getitem__))
        if levels := analysis.codings.get("modifier", {}).get("levels"):
            chains.append([str(level) for level in levels])
    return tuple(dict.fromkeys(tuple(chain) for chain in chains))


def ranked(values: Iterable[str], chains: Sequence[Chain]) -> list[str]:
    """Different values, each after all that a chain has before it, else as they first appear."""
    left = list(dict.fromkeys(values))
    before: dict[str, set[str]] = {}
    for chain in chains:
        names = [key(name) for name in chain]
        for place, name in enumerate(names):
            before.setdefault(name, set()).update(names[:place])
    found: list[str] = []
    while left:
        waiting = {key(value) for value in left}
        # Chains that contradict each other leave nobody free: then the first goes on.
        free = (one for one in left if not (before.get(key(one), set()) - {key(one)}) & waiting)
        found.append(next(free, left[0]))
        left.remove(found[-1])
    return found


def arranged(table: pd.DataFrame, by: Sequence[str], chains: Sequence[Chain]) -> pd.DataFrame:
    """The rows by these columns, each column in its own order; rows that agree keep theirs."""
    ranks = pd.DataFrame(index=range(len(table)))
    for column in by:
        values = table[column]
        if column == "model":
            order = in_order(values)
        elif column == "modifier":
            order = ranked(values, chains)
        else:
            order = list(dict.fromkeys(values))
        places = {value: place for place, value in enumerate(order)}
        ranks[column] = values.map(places).to_numpy()
    return table.iloc[ranks.sort_values(list(by), kind="stable").index] if by else table
