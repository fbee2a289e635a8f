"""Trees as sequences of actions.

Two linearisations of the running example ``(S (NP the hungry cat) (VP meows))``:

- top-down:  NT(S) NT(NP) the hungry cat REDUCE NT(VP) meows REDUCE REDUCE
- in-order:  the NT(NP) hungry cat REDUCE NT(S) meows NT(VP) REDUCE REDUCE FINISH

Actions are the events of :mod:`tree` (``Open``: NT, ``Word``: SHIFT, ``Close``: REDUCE) and
``FINISH``, which ends an in-order derivation: after the root is complete, another constituent could
still be put on top of it. :mod:`legality` decides which actions are legal.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from gardenpath.data.trees.tree import CLOSE, Close, Event, Open, Tree, Word


@dataclass(frozen=True, slots=True)
class Finish:
    """The derivation is complete."""


FINISH = Finish()
Action = Event | Finish

# The order in which a parser builds a tree.
Strategy = Literal["top_down", "in_order"]


class Kind(enum.IntEnum):
    """Kinds of actions; the values are the ids of encoded actions (NT(X) is OPEN + the id of X)."""

    SHIFT = 0
    REDUCE = 1
    FINISH = 2
    OPEN = 3


class Column(enum.IntEnum):
    """Possible next events at a node of a search, as columns of log probabilities.

    The next event is a word (any), the end of the derivation, the closing of a constituent, or the
    opening of one: column ``FIRST_OPEN + X`` opens label X.
    """

    WORD = 0
    END = 1
    CLOSE = 2
    FIRST_OPEN = 3


_KIND_OF: Mapping[type[Action], Kind] = {
    Word: Kind.SHIFT,
    Close: Kind.REDUCE,
    Finish: Kind.FINISH,
    Open: Kind.OPEN,
}


def kind_of(action: Action) -> Kind:
    """Return the kind of an action."""
    return _KIND_OF[type(action)]


def top_down(tree: Tree) -> list[Action]:
    """List the actions of a tree, parents before children."""
    return list(tree.events())


def in_order(tree: Tree) -> list[Action]:
    """List the actions of a tree: first child, parent, remaining children."""
    actions: list[Action] = []
    pending: list[Tree | str | Action] = [tree]
    while pending:
        item = pending.pop()
        if isinstance(item, Tree):
            first, *others = item.children
            pending.append(CLOSE)
            pending.extend(reversed(others))
            pending.append(Open(item.label))
            pending.append(first)
        else:
            actions.append(Word(item) if isinstance(item, str) else item)
    return [*actions, FINISH]
