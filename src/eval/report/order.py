"""Display order: models by family, modifiers from simple to complex."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gardenpath.eval.display import models_in_order
from gardenpath.eval.suites.library.modifiers import Chain
from gardenpath.text import key

if TYPE_CHECKING:
    import pandas as pd


def ranked(values: Iterable[str], chains: Sequence[Chain]) -> list[str]:
    """Return distinct values in an order consistent with the chains, else of first appearance."""
    left = list(dict.fromkeys(values))
    before: dict[str, set[str]] = {}
    for chain in chains:
        names = [key(name) for name in chain]
        for place, name in enumerate(names):
            before.setdefault(name, set()).update(names[:place])
    found: list[str] = []
    while left:
        waiting = {key(value) for value in left}
        # If chains contradict each other, no value is free; then take the first one.
        free = (one for one in left if not (before.get(key(one), set()) - {key(one)}) & waiting)
        found.append(next(free, left[0]))
        left.remove(found[-1])
    return found


def arranged(table: pd.DataFrame, by: Sequence[str], chains: Sequence[Chain]) -> pd.DataFrame:
    """Sort the rows by the given columns, each in its display order; the sort is stable."""
    import pandas as pd

    ranks = pd.DataFrame(index=range(len(table)))
    for column in by:
        values = table[column]
        if column == "model":
            order = models_in_order(values)
        elif column == "modifier":
            order = ranked(values, chains)
        else:
            order = list(dict.fromkeys(values))
        places = {value: place for place, value in enumerate(order)}
        ranks[column] = values.map(places).to_numpy()
    return table.iloc[ranks.sort_values(list(by), kind="stable").index] if by else table
