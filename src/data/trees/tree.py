"""Immutable constituency trees.

The running example of this package is the tree of *the hungry cat meows*::

    (S (NP (DT the) (JJ hungry) (NN cat)) (VP (VBZ meows)))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

Folded = TypeVar("Folded")


@dataclass(frozen=True, slots=True)
class Open:
    """Traversal event: a constituent begins."""

    label: str


@dataclass(frozen=True, slots=True)
class Word:
    """Traversal event: a word."""

    form: str


@dataclass(frozen=True, slots=True)
class Close:
    """Traversal event: the innermost open constituent ends."""


CLOSE = Close()
Event = Open | Word | Close


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A labelled node; its children are trees or words (plain strings).

    All traversals are iterative, so the depth of a tree is limited only by memory.
    """

    label: str
    children: tuple[Tree | str, ...]

    def __post_init__(self) -> None:
        if not self.children:
            raise ValueError(f"the constituent {self.label!r} has no children")

    @property
    def is_preterminal(self) -> bool:
        """Whether this node covers exactly one word and nothing else."""
        return len(self.children) == 1 and isinstance(self.children[0], str)

    def events(self) -> Iterator[Event]:
        """Traverse the tree from left to right, yielding Open, Word and Close events."""
        pending: list[Tree | str | Close] = [self]
        while pending:
            item = pending.pop()
            if isinstance(item, Close):
                yield item
            elif isinstance(item, str):
                yield Word(item)
            else:
                yield Open(item.label)
                pending.append(CLOSE)
                pending.extend(reversed(item.children))

    def words(self) -> tuple[str, ...]:
        """Return the leaves from left to right."""
        words: list[str] = []
        self.fold(_nothing, words.append)
        return tuple(words)

    def labels(self) -> Iterator[str]:
        """Yield the labels of all nodes, parents before children."""
        return (event.label for event in self.events() if isinstance(event, Open))

    def fold(
        self,
        node: Callable[[str, tuple[Folded, ...]], Folded],
        leaf: Callable[[str], Folded],
    ) -> Folded:
        """Compute a value bottom-up: ``leaf`` of each word, ``node`` of a label and its parts."""
        label, rest, parts = self.label, iter(self.children), []
        outer: list[tuple[str, Iterator[Tree | str], list[Folded]]] = []
        while True:
            for child in rest:
                if isinstance(child, str):
                    parts.append(leaf(child))
                else:  # descend, and return to the rest later
                    outer.append((label, rest, parts))
                    label, rest, parts = child.label, iter(child.children), []
                    break
            else:
                value = node(label, tuple(parts))
                if not outer:
                    return value
                label, rest, parts = outer.pop()
                parts.append(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and tuple(self.events()) == tuple(other.events())

    def __hash__(self) -> int:
        return hash(tuple(self.events()))

    def __str__(self) -> str:
        pieces = []
        for event in self.events():
            if isinstance(event, Open):
                pieces.append(f" ({event.label}")
            elif isinstance(event, Word):
                pieces.append(f" {event.form}")
            else:
                pieces.append(")")
        return "".join(pieces).lstrip()


def _nothing(_label: str, _parts: tuple[None, ...]) -> None:
    return None


def from_events(events: Iterable[Event]) -> Tree:
    """Rebuild a tree from the events of :meth:`Tree.events`."""
    labels: list[str] = []
    children: list[list[Tree | str]] = [[]]
    for event in events:
        if isinstance(event, Open):
            labels.append(event.label)
            children.append([])
        elif isinstance(event, Word):
            children[-1].append(event.form)
        else:
            if not labels:
                raise ValueError("a constituent is closed that was never opened")
            closed = Tree(labels.pop(), tuple(children.pop()))
            children[-1].append(closed)
    if labels or len(children[0]) != 1 or not isinstance(children[0][0], Tree):
        raise ValueError("the events do not form exactly one tree")
    return children[0][0]
