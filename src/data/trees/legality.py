"""Trees as sequences of actions, and which actions are legal: the one place that says so.

Used by encoding, batches, models and the search. Two linearisations of the running example
``(S (NP the hungry cat) (VP meows))``:

- top-down:  NT(S) NT(NP) the hungry cat REDUCE NT(VP) meows REDUCE REDUCE
- in-order:  the NT(NP) hungry cat REDUCE NT(S) meows NT(VP) REDUCE REDUCE FINISH

Actions are the events of `tree` (``Open``: NT, ``Word``: SHIFT, ``Close``: REDUCE) and ``FINISH``,
which ends an in-order derivation: after the root is complete, another constituent could still be
put on top of it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from gardenpath.data.arrays import Ints
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


# ----------------------------------------------------------------------------
# Legal actions of a derivation: one set of rules, and one lookup table built from it.
#
# :func:`legal_top_down` and :func:`legal_in_order` state the rules for one parser. The result
# depends only on the last action and on the number of open constituents (none, one, or more), so
# :data:`LEGAL` tabulates it for the models, which look up many hypotheses at once.


@dataclass(frozen=True, slots=True)
class ParserState:
    """The part of a parser's state that determines which actions are legal.

    ``words_left`` is the number of words still to come if the sentence is given, and ``None`` if
    the model generates it. ``has_pieces`` says whether a word may consist of several pieces, each
    of them shifted.
    """

    open_constituents: int = 0
    last: Kind | None = None
    words_left: int | None = None
    has_pieces: bool = False

    def apply(self, kind: Kind) -> ParserState:
        """Return the state after a legal action."""
        change = {Kind.OPEN: 1, Kind.REDUCE: -1}.get(kind, 0)
        left = self.words_left
        if left is not None and kind is Kind.SHIFT:
            left -= 1
        return replace(
            self, open_constituents=self.open_constituents + change, last=kind, words_left=left
        )

    @property
    def has_word(self) -> bool:
        """Whether another word may come."""
        return self.words_left is None or self.words_left > 0

    @property
    def may_end(self) -> bool:
        """Whether the sentence may end here."""
        return self.words_left is None or self.words_left == 0


def legal_top_down(state: ParserState) -> frozenset[Kind]:
    """Return the kinds of action that may come next in a top-down derivation; none at its end.

    The root must be a constituent, a constituent must not be empty, and the root closes only after
    all words are read.
    """
    if state.last is None:
        return frozenset({Kind.OPEN})
    if state.open_constituents == 0:
        return frozenset()
    legal = {Kind.OPEN, Kind.SHIFT} if state.has_word else set()
    if state.last is not Kind.OPEN and (state.open_constituents > 1 or state.may_end):
        legal.add(Kind.REDUCE)
    return frozenset(legal)


def legal_in_order(state: ParserState) -> frozenset[Kind]:
    """Return the kinds of action that may come next in an in-order derivation; none at its end.

    NT(X) needs a complete first child on top of the stack, REDUCE an open constituent; FINISH
    needs a complete root, which must be a constituent, alone on the stack. The first child may be
    a word of several pieces.
    """
    if state.last is None:
        return frozenset({Kind.SHIFT})
    if state.last is Kind.FINISH:
        return frozenset()
    legal = set()
    if state.last is not Kind.OPEN:
        legal.add(Kind.OPEN)
    if state.open_constituents > 0:
        legal.add(Kind.REDUCE)
        if state.has_word:
            legal.add(Kind.SHIFT)
    elif state.last is Kind.SHIFT and state.has_pieces and state.has_word:
        legal.add(Kind.SHIFT)
    elif state.last is Kind.REDUCE and state.may_end:
        legal.add(Kind.FINISH)
    return frozenset(legal)


Rules = Callable[[ParserState], frozenset[Kind]]

RULES: Mapping[Strategy, Rules] = {"top_down": legal_top_down, "in_order": legal_in_order}

# One bit for each kind of action.
LEGAL_BIT: Mapping[Kind, int] = {kind: 1 << int(kind) for kind in Kind}

# Two more bits for models over pieces: a SHIFT may begin a word; it may continue one.
BEGINS_BIT, CONTINUES_BIT = (1 << len(Kind), 2 << len(Kind))

# Number of combinations of bits.
BIT_SETS = 4 << len(Kind)

# The last "action" before the first one: index of the last row of the table.
NO_ACTION_YET = -1

# More than two open constituents are treated as two.
MOST_OPEN = 2


def _bits(kinds: Iterable[Kind]) -> int:
    return sum(LEGAL_BIT[kind] for kind in kinds)


def _table(rules: Rules, bits: Callable[[ParserState, Rules], int]) -> Ints:
    return np.array(
        [
            [bits(ParserState(opened, last), rules) for opened in range(MOST_OPEN + 1)]
            for last in (*Kind, None)
        ],
        dtype=np.int64,
    )


def shifts(state: ParserState, rules: Rules) -> tuple[bool, bool]:
    """Return whether a piece may be shifted that begins a word, and one that continues a word.

    The pieces of a word follow directly on each other: there is no action inside a word.
    """
    begins = Kind.SHIFT in rules(replace(state, has_pieces=False))
    return begins, state.last is Kind.SHIFT and Kind.SHIFT in rules(replace(state, has_pieces=True))


def _bits_of_pieces(state: ParserState, rules: Rules) -> int:
    begins, continues = shifts(state, rules)
    kinds = rules(replace(state, has_pieces=True))
    return _bits(kinds) | begins * BEGINS_BIT | continues * CONTINUES_BIT


# ``LEGAL[strategy][last kind, min(open constituents, 2)]``: the bits of the kinds of action that
# may come next while a sentence is generated.
LEGAL: Mapping[Strategy, Ints] = {
    strategy: _table(rules, lambda state, rules: _bits(rules(state)))
    for strategy, rules in RULES.items()
}

# The same for models over pieces, with the bits of the pieces that may be shifted.
LEGAL_PIECES: Mapping[Strategy, Ints] = {
    strategy: _table(rules, _bits_of_pieces) for strategy, rules in RULES.items()
}


def legal_table(strategy: Strategy, *, has_pieces: bool) -> Ints:
    """Return :data:`LEGAL` or :data:`LEGAL_PIECES` of a strategy."""
    return (LEGAL_PIECES if has_pieces else LEGAL)[strategy]


# The kinds of actions that a strategy uses, in the order of their values.
KINDS: Mapping[Strategy, tuple[Kind, ...]] = {
    strategy: tuple(kind for kind in Kind if (table & LEGAL_BIT[kind]).any())
    for strategy, table in LEGAL.items()
}


# Whether a constituent may still be opened after the last word of the sentence.
OPENS_AT_END: Mapping[Strategy, bool] = {
    strategy: any(
        Kind.OPEN in rules(ParserState(opened, last, words_left=0))
        for opened in range(MOST_OPEN + 1)
        for last in (Kind.SHIFT, Kind.REDUCE)
    )
    for strategy, rules in RULES.items()
}

# Number of open constituents at which REDUCE ends the derivation; None if it never does.
REDUCE_ENDS_AT: Mapping[Strategy, int | None] = {
    strategy: next(
        (
            opened
            for opened in range(1, MOST_OPEN + 1)
            if not rules(ParserState(opened, Kind.SHIFT).apply(Kind.REDUCE))
        ),
        None,
    )
    for strategy, rules in RULES.items()
}
