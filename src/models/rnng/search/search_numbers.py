"""The integers of stack elements during a search, written for all kinds of pushes at once.

What is pushed is an *event*: a :class:`Column` (a word, a closed constituent, or an opened label),
or ``again`` for a first child that is pushed on top of its label. Each integer of a new element is
one of the integers of the element below it, or its number, plus a constant that depends on the
event, so that two lookups and one addition write all of them.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gardenpath.data.trees.actions import Column, Kind
from gardenpath.data.trees.legality import MOST_OPEN
from gardenpath.models.states.transitions import legal_state

# Odd multipliers with well-mixed bits.
_MIX = (-7046029254386353131, -4658895280553007687, -7723592293110705685)


def number_columns(*, has_keys: bool, has_contents: bool, has_pieces: bool) -> dict[str, int]:
    """Return the columns of stack elements.

    ``below``: the element below. ``base``: the element below the label of the innermost open
    constituent; ``label`` of it; ``children`` that it has so far. ``depth``: number of open
    constituents, at most :data:`MOST_OPEN`; ``legal``: the state that determines the legal actions
    (:mod:`transitions`). ``height``: number of elements below. ``nothing``: zero. ``key`` of label
    and children of the innermost open constituent; ``content``: key of the element itself.
    ``pieces`` of the word on top, one for other elements.
    """
    names = ["below", "base", "label", "depth", "legal", "height", "nothing", "children"]
    names += ["key"] * has_keys + ["content"] * has_contents + ["pieces"] * has_pieces
    return dict.fromkeys(names, 1)


class PushedNumbers:
    """Writes the integers of new elements."""

    def __init__(self, columns: dict[str, int], label_count: int, device: torch.device) -> None:
        self._names = list(columns)
        self.again = Column.FIRST_OPEN + label_count
        kinds = {Column.WORD: Kind.SHIFT, Column.CLOSE: Kind.REDUCE, self.again: Kind.OPEN}
        seeds = label_keys(label_count).tolist()
        rows = []
        for event in range(self.again + 1):
            label = event - Column.FIRST_OPEN
            if 0 <= label < label_count:
                rows.append(self._opened(label, seeds[label]))
            else:
                rows.append(self._child(kinds.get(event, Kind.FINISH)))
        self._table = torch.tensor(rows, dtype=torch.long, device=device)

    def _opened(self, label: int, key: int) -> list[int]:
        return self._row(
            below=("below", 0), base=("below", 0), label=("nothing", label),
            children=("nothing", 0), depth=("depth", 1), height=("height", 1),
            legal=("depth", legal_state(Kind.OPEN) + 1), key=("nothing", key),
        )  # fmt: skip

    def _child(self, kind: Kind) -> list[int]:
        """Return the row of an element that is the next child of the open constituent."""
        return self._row(
            below=("below", 0), base=("base", 0), label=("label", 0), children=("children", 1),
            depth=("depth", 0), height=("height", 1), legal=("depth", legal_state(kind)),
            key=("key", 0),
        )  # fmt: skip

    def _row(self, **origin: tuple[str, int]) -> list[int]:
        """Return, for each column, the number of the column it comes from, then what is added."""
        found = [
            origin.get(name, ("nothing", 1 if name == "pieces" else 0)) for name in self._names
        ]
        return [self._names.index(source) for source, _ in found] + [added for _, added in found]

    def write(self, numbers: Tensor, below: Tensor, events: Tensor, new: Tensor) -> None:
        """Write the ``new`` numbers of events pushed onto the elements ``below``.

        ``key`` is that of the element below and still lacks the new child; ``content`` is missing.
        """
        under = numbers.index_select(0, below)
        under[:, self._names.index("below")] = below
        source, added = self._table.index_select(0, events).chunk(2, dim=1)
        torch.add(under.gather(1, source), added, out=new)
        new[:, self._names.index("depth")].clamp_(max=MOST_OPEN)


def with_child(key: Tensor, content: Tensor) -> Tensor:
    """Return the keys of constituents after a child was added, given their keys before.

    Two different contents have the same key with a probability of about 10⁻¹⁹.
    """
    mixed = (key + content).mul_(_MIX[0])
    return mixed.bitwise_xor_(mixed >> 32)


def word_contents(count: int) -> Tensor:
    """``(count,)`` contents of words."""
    return _mixed((torch.arange(count, device="cpu") + 1) * _MIX[1])


def label_keys(count: int) -> Tensor:
    """``(count,)`` keys of constituents without children, by label."""
    return _mixed((torch.arange(count, device="cpu") + 1) * _MIX[2])


def _mixed(values: Tensor) -> Tensor:
    """Mix the bits of each number (the finaliser of splitmix64)."""
    values = (values ^ (values >> 30)) * _MIX[1]
    values = (values ^ (values >> 27)) * _MIX[2]
    return values ^ (values >> 31)
