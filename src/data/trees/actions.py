"""Trees as sequences of actions.

Three linearisations of the running example ``(S (NP the hungry cat) (VP meows))``:

- top-down:  NT(S) NT(NP) the hungry cat REDUCE NT(VP) meows REDUCE REDUCE
- in-order:  the NT(NP) hungry cat REDUCE NT(S) meows NT(VP) REDUCE REDUCE FINISH
- bracket tokens, one vocabulary for all:  (S (NP the hungry cat ) (VP meows ) )

Actions are the events of :mod:`tree` (``Open``: NT, ``Word``: SHIFT, ``Close``: REDUCE)
and ``FINISH``, with which an in-order derivation ends: after its root is complete, another
constituent could still be put on top of it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from gardenpath.data.trees.brackets import escape, unescape
from gardenpath.data.trees.tree import CLOSE, Close, Event, Open, Tree, Word, from_events


@dataclass(frozen=True, slots=True)
class Finish:
    """The derivation is complete."""


FINISH = Finish()
Action = Event | Finish

# The order in which a parser builds a tree.
Strategy = Literal["top_down", "in_order"]


class Kind(enum.IntEnum):
    """Kinds of actions; the values are the ids of encoded actions, NT(X) being OPEN + X's id."""

    SHIFT = 0
    REDUCE = 1
    FINISH = 2
    OPEN = 3


class Column(enum.IntEnum):
    """What may come next at a node of a search, as columns of log probabilities.

    The next event is a word (whichever), the end of the derivation, the closing of a constituent,
    or the opening of one: column ``FIRST_OPEN + X`` opens label X.
    """

    WORD = 0
    END = 1
    CLOSE = 2
    FIRST_OPEN = 3


def kind_of(action: Action) -> Kind:
    """The kind of an action."""
    match action:
        case Word():
            return Kind.SHIFT
        case Close():
            return Kind.REDUCE
        case Finish():
            return Kind.FINISH
        case Open():
            return Kind.OPEN


def top_down(tree: Tree) -> list[Action]:
    """Parents before children."""
    return list(tree.events())


def from_top_down(actions: Iterable[Action]) -> Tree:
    """The tree of a top-down sequence."""
    return from_events(_without_finish(actions))


def in_order(tree: Tree) -> list[Action]:
    """The first child, then its parent, then the other children."""
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


def from_in_order(actions: Iterable[Action]) -> Tree:
    """The tree of an in-order sequence."""
    stack: list[Tree | str | Open] = []
    for action in _without_finish(actions):
        if isinstance(action, Word):
            stack.append(action.form)
        elif isinstance(action, Open):
            if not stack or isinstance(stack[-1], Open):
                raise ValueError(f"NT({action.label}) has no first child")
            first = stack.pop()
            stack.extend([action, first])
        else:
            _reduce(stack)
    if len(stack) != 1 or not isinstance(stack[0], Tree):
        raise ValueError("the actions do not make exactly one tree")
    return stack[0]


def bracket_tokens(tree: Tree) -> list[str]:
    """Opening labels, words and closing brackets as tokens of one vocabulary."""
    tokens = []
    for event in tree.events():
        match event:
            case Open(label):
                tokens.append(f"({label}")
            case Word(form):
                tokens.append(escape(form))
            case Close():
                tokens.append(")")
    return tokens


def from_bracket_tokens(tokens: Iterable[str]) -> Tree:
    """The tree of a sequence of bracket tokens."""
    return from_events(map(_event_of_token, tokens))


def _event_of_token(token: str) -> Event:
    if token == ")":
        return CLOSE
    return Open(token[1:]) if token.startswith("(") else Word(unescape(token))


def _without_finish(actions: Iterable[Action]) -> list[Event]:
    return [action for action in actions if not isinstance(action, Finish)]


def _reduce(stack: list[Tree | str | Open]) -> None:
    children: list[Tree | str] = []
    while stack:
        item = stack.pop()
        if isinstance(item, Open):
            stack.append(Tree(item.label, tuple(reversed(children))))
            return
        children.append(item)
    raise ValueError("REDUCE without an open constituent")


def kinds(actions: Sequence[Action]) -> list[Kind]:
    """The kinds of a sequence of actions."""
    return [kind_of(action) for action in actions]
