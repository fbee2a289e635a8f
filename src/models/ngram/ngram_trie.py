"""N-grams of a corpus as sorted integer arrays, looked up by binary search.

An n-gram is a row in the table of its order. Its key combines the row of the (n-1)-gram it extends
with its last word, so that any order fits into 64 bits and all n-grams of a text are looked up with
one vectorised search per order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gardenpath.data.arrays import Bools, Ints

ABSENT = -1


@dataclass(frozen=True, slots=True)
class NgramTable:
    """The n-grams of one order, sorted by key = (row of the shorter n-gram) · vocabulary + word."""

    keys: Ints
    vocabulary_size: int

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def contexts(self) -> Ints:
        """For each n-gram, the row of its context in the table of the next lower order."""
        return self.keys // self.vocabulary_size

    @property
    def words(self) -> Ints:
        """The last word of each n-gram."""
        return self.keys % self.vocabulary_size

    def find(self, contexts: Ints, words: Ints) -> Ints:
        """Return the rows of n-grams; ``ABSENT`` if an n-gram or its context is not listed."""
        keys = contexts * self.vocabulary_size + words
        rows = np.searchsorted(self.keys, keys)
        rows[rows == len(self.keys)] = 0
        found = (contexts != ABSENT) & (len(self.keys) > 0)
        if len(self.keys):
            found &= self.keys[rows] == keys
        return np.where(found, rows, ABSENT)


def find_all(tables: list[NgramTable], words: Ints, is_begin: Bools) -> list[Ints]:
    """Return, for each order, the row of the n-gram that ends at each position of a text.

    ``is_begin`` marks the begin symbol of each sentence; no n-gram crosses it.
    """
    found = []
    previous = np.zeros(len(words), dtype=np.int64)  # the empty context has row 0
    for table in tables:
        rows = table.find(previous, words)
        found.append(rows)
        previous = _shift(rows, is_begin)
    return found


def _shift(rows: Ints, is_begin: Bools) -> Ints:
    """Return the rows at the previous position; nothing precedes a sentence."""
    shifted = np.concatenate([[ABSENT], rows[:-1]])
    shifted[is_begin] = ABSENT
    return shifted


def count_ngrams(
    words: Ints, is_begin: Bools, *, order: int, vocabulary_size: int
) -> tuple[list[NgramTable], list[Ints]]:
    """Return all n-grams of a text up to an order, and their frequencies.

    The table of order 1 lists the whole vocabulary, seen or not, in the order of ids.
    """
    tables = [NgramTable(np.arange(vocabulary_size), vocabulary_size)]
    counts = [np.bincount(words, minlength=vocabulary_size)]
    rows = words
    for _ in range(1, order):
        contexts = _shift(rows, is_begin)
        exists = contexts != ABSENT
        keys, inverse, occurrences = np.unique(
            contexts[exists] * vocabulary_size + words[exists],
            return_inverse=True,
            return_counts=True,
        )
        rows = np.full(len(words), ABSENT)
        rows[exists] = inverse
        tables.append(NgramTable(keys, vocabulary_size))
        counts.append(occurrences)
    return tables, counts


def suffix_rows(tables: list[NgramTable], order: int) -> Ints:
    """Return, for each n-gram of an order, the row of the n-gram without its first word.

    The row is ``ABSENT`` if the suffix is not listed, which happens only in pruned models.
    """
    if order == 2:
        return tables[1].words
    shorter = suffix_rows(tables, order - 1)
    table = tables[order - 1]
    return tables[order - 2].find(shorter[table.contexts], table.words)
