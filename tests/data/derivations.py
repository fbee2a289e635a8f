"""The obvious way back from actions to trees, and all trees of a small size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gardenpath.data.trees.legality import Action, Finish, Kind, Strategy, kind_of
from gardenpath.data.trees.tree import Event, Open, Tree, Word, from_events


def kinds(actions: Iterable[Action]) -> list[Kind]:
    """The kinds of a sequence of actions."""
    return [kind_of(action) for action in actions]


def rebuild(actions: Iterable[Action], strategy: Strategy) -> Tree:
    """The tree of a complete derivation."""
    events = [action for action in actions if not isinstance(action, Finish)]
    return from_events(events) if strategy == "top_down" else _from_in_order(events)


def _from_in_order(events: Iterable[Event]) -> Tree:
    stack: list[Tree | str | Open] = []
    for event in events:
        if isinstance(event, Word):
            stack.append(event.form)
        elif isinstance(event, Open):
            if not stack or isinstance(stack[-1], Open):
                raise ValueError(f"NT({event.label}) has no first child")
            first = stack.pop()
            stack.extend([event, first])
        else:
            _reduce(stack)
    if len(stack) != 1 or not isinstance(stack[0], Tree):
        raise ValueError("the actions do not make exactly one tree")
    return stack[0]


def _reduce(stack: list[Tree | str | Open]) -> None:
    children: list[Tree | str] = []
    while stack:
        item = stack.pop()
        if isinstance(item, Open):
            stack.append(Tree(item.label, tuple(reversed(children))))
            return
        children.append(item)
    raise ValueError("REDUCE without an open constituent")


def _forests(words: int, constituents: int) -> Iterator[tuple[Tree | str, ...]]:
    """All sequences of words and trees with exactly so many words and constituents."""
    if words == 0:
        if constituents == 0:
            yield ()
        return
    for rest in _forests(words - 1, constituents):
        yield ("w", *rest)
    for inner_words in range(1, words + 1):
        for inner in range(constituents):
            for children in _forests(inner_words, inner):
                for rest in _forests(words - inner_words, constituents - inner - 1):
                    yield (Tree("X", children), *rest)


def all_trees(words: int, constituents: int) -> Iterator[Tree]:
    """All unlabelled trees with so many words and at most so many constituents."""
    for count in range(constituents):
        yield from (Tree("X", children) for children in _forests(words, count))
