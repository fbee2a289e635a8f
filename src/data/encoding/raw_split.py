"""Corpus splits as compact arrays, before the vocabulary is known.

Trees are large objects, and a news corpus contains millions of them. Sentences are therefore turned
into numbers as they are read, with words and labels numbered in order of first appearance. All of
them are renumbered at once when the vocabulary has been counted.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from gardenpath.data.arrays import Bools, Ints
from gardenpath.data.sentence import Sentence
from gardenpath.data.trees.actions import Kind, kind_of
from gardenpath.data.trees.tree import Open


@dataclass(slots=True)
class Inventory:
    """Numbers strings in the order of their first appearance."""

    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, item: str) -> int:
        """Return the number of an item; a new item gets the next number."""
        return self.numbers.setdefault(item, len(self.numbers))

    @property
    def items(self) -> list[str]:
        """Return all items, by number."""
        return list(self.numbers)


@dataclass(slots=True)
class RawSplit:
    """All sentences of a split: words, sentence ends, and top-down actions if it has trees."""

    words: Ints
    offsets: Ints
    actions: Ints
    action_offsets: Ints
    sources: list[str]

    @property
    def is_first(self) -> Bools:
        """Whether each word begins a sentence."""
        marks = np.zeros(len(self.words), dtype=bool)
        marks[self.offsets[:-1]] = True
        return marks

    def word_counts(self, items: Sequence[str]) -> Counter[tuple[str, bool]]:
        """Count each word at the beginning of a sentence (True) and elsewhere (False).

        ``items`` are the words by number.
        """
        counts: Counter[tuple[str, bool]] = Counter()
        for is_first in (True, False):
            chosen = self.words[self.is_first == is_first]
            for number, count in enumerate(np.bincount(chosen, minlength=len(items)).tolist()):
                if count:
                    counts[items[number], is_first] = count
        return counts


def collect(sentences: Iterable[Sentence], words: Inventory, labels: Inventory) -> RawSplit:
    """Read a split into arrays, numbering new words and labels along the way."""
    word_numbers, actions = array("q"), array("q")
    offsets, action_offsets = array("q", [0]), array("q", [0])
    sources = []
    for sentence in sentences:
        word_numbers.extend(words.number(word) for word in sentence.words)
        offsets.append(len(word_numbers))
        if sentence.tree is not None:
            for event in sentence.tree.events():
                if isinstance(event, Open):
                    actions.append(Kind.OPEN + labels.number(event.label))
                else:
                    actions.append(kind_of(event))
        action_offsets.append(len(actions))
        sources.append(str(sentence.source))
    return RawSplit(
        words=_int_array(word_numbers),
        offsets=_int_array(offsets),
        actions=_int_array(actions),
        action_offsets=_int_array(action_offsets),
        sources=sources,
    )


def _int_array(values: array[int]) -> Ints:
    return np.frombuffer(values, dtype=np.int64) if values else np.zeros(0, dtype=np.int64)
