"""The sentences of a job as tries, so that a prefix they share is searched once.

Sentences are sorted, so that those with a common beginning stand together; each unit of work is a
trie of sentences that begin with the same token. Units are independent and any number of them can
be under way at a time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field


@dataclass
class Prefix:
    """A prefix of sentences: how it goes on, and which sentences end here.

    ``leaves`` is the number of different sentences that begin with it.
    """

    leaves: int = 0
    children: dict[int, Prefix] = field(default_factory=dict)
    sentences: list[int] = field(default_factory=list)

    def all_sentences(self) -> list[int]:
        """The sentences that begin with this prefix."""
        found, pending = list[int](), [self]
        while pending:
            prefix = pending.pop()
            found += prefix.sentences
            pending += prefix.children.values()
        return found


@dataclass(frozen=True)
class Unit:
    """A trie, and the length of its longest sentence."""

    root: Prefix
    length: int


def units(sentences: Sequence[Sequence[int]], *, is_shared: bool, most: int) -> list[Unit]:
    """Divide a job into tries of at most ``most`` sentences, the longest first.

    Without sharing each sentence is a unit of its own. Long units come first so that none is left
    alone at the end.
    """
    order = sorted(range(len(sentences)), key=lambda number: tuple(sentences[number]))
    found = [_unit(members, sentences) for members in _clusters(order, sentences, is_shared, most)]
    return sorted(found, key=lambda unit: -unit.length)


def _clusters(
    order: list[int], sentences: Sequence[Sequence[int]], is_shared: bool, most: int
) -> Iterator[list[int]]:
    if not is_shared:
        yield from ([number] for number in order)
        return
    for _, same_start in itertools.groupby(order, key=lambda n: tuple(sentences[n][:1])):
        members = list(same_start)
        for begin in range(0, len(members), most):
            yield members[begin : begin + most]


def _unit(members: list[int], sentences: Sequence[Sequence[int]]) -> Unit:
    root = Prefix()
    for number in members:
        path = [root]
        for token in sentences[number]:
            path.append(path[-1].children.setdefault(token, Prefix()))
        is_new = not path[-1].sentences
        path[-1].sentences.append(number)
        for prefix in path:
            prefix.leaves += is_new
    return Unit(root, max(len(sentences[number]) for number in members))
