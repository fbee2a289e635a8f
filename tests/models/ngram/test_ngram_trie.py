"""N-gram tables against counting with dictionaries."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from gardenpath.data.arrays import Bools, Ints
from gardenpath.models.ngram.model import (
    ABSENT,
    NgramTable,
    count_ngrams,
    find_all,
    suffix_rows,
    with_boundaries,
)
from tests.models.samples import random_sentences

SIZE = 9
BEGIN, END = 1, 2


def _text(sentences: list[list[int]]) -> tuple[Ints, Bools]:
    flat = np.array([token for sentence in sentences for token in sentence], dtype=np.int64)
    return with_boundaries(flat, np.array([len(sentence) for sentence in sentences]))


def _spell(tables: list[NgramTable], level: int, row: int) -> tuple[int, ...]:
    table = tables[level]
    word = int(table.words[row])
    return (word,) if level == 0 else (*_spell(tables, level - 1, int(table.contexts[row])), word)


def test_boundaries_stand_around_each_sentence() -> None:
    text, is_begin = _text([[4, 5], [], [6]])
    assert text.tolist() == [BEGIN, 4, 5, END, BEGIN, END, BEGIN, 6, END]
    assert np.flatnonzero(is_begin).tolist() == [0, 4, 6]


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_counts_equal_those_of_a_dictionary(order: int) -> None:
    sentences = random_sentences(order, count=40, vocabulary_size=SIZE)
    text, is_begin = _text(sentences)
    tables, counts = count_ngrams(text, is_begin, order=order, vocabulary_size=SIZE)
    for level in range(1, order):
        expected = Counter(
            tuple(padded[i : i + level + 1])
            for padded in ([BEGIN, *sentence, END] for sentence in sentences)
            for i in range(len(padded) - level)
        )
        found = {_spell(tables, level, row): int(n) for row, n in enumerate(counts[level])}
        assert found == dict(expected)


def test_first_table_lists_the_whole_vocabulary() -> None:
    text, is_begin = _text([[4]])
    tables, counts = count_ngrams(text, is_begin, order=2, vocabulary_size=SIZE)
    assert len(tables[0]) == SIZE
    assert counts[0].tolist() == [0, 1, 1, 0, 1, 0, 0, 0, 0]


def test_no_ngram_reaches_across_sentences() -> None:
    text, is_begin = _text([[4], [5]])
    tables, _ = count_ngrams(text, is_begin, order=3, vocabulary_size=SIZE)
    grams = {_spell(tables, 2, row) for row in range(len(tables[2]))}
    assert grams == {(BEGIN, 4, END), (BEGIN, 5, END)}


def test_find_gives_rows_and_marks_what_is_absent() -> None:
    table = NgramTable(np.array([4 * SIZE + 5, 4 * SIZE + 7]), SIZE)
    rows = table.find(np.array([4, 4, 4, ABSENT, 8]), np.array([5, 6, 7, 5, 8]))
    assert rows.tolist() == [0, ABSENT, 1, ABSENT, ABSENT]


def test_find_in_an_empty_table_finds_nothing() -> None:
    table = NgramTable(np.zeros(0, dtype=np.int64), SIZE)
    assert table.find(np.array([0, 1]), np.array([2, 3])).tolist() == [ABSENT, ABSENT]


def test_find_all_finds_every_ngram_of_the_text_it_was_counted_on() -> None:
    text, is_begin = _text(random_sentences(7, count=20, vocabulary_size=SIZE))
    tables, _ = count_ngrams(text, is_begin, order=3, vocabulary_size=SIZE)
    for level, rows in enumerate(find_all(tables, text, is_begin)):
        since_begin = np.arange(len(text)) - np.maximum.accumulate(
            np.where(is_begin, np.arange(len(text)), 0)
        )
        assert ((rows != ABSENT) == (since_begin >= level)).all()
        position = int(np.flatnonzero(since_begin >= level)[-1])
        expected = tuple(text[position - level : position + 1].tolist())
        assert _spell(tables, level, int(rows[position])) == expected


def test_suffixes_lose_the_first_word() -> None:
    text, is_begin = _text(random_sentences(3, count=20, vocabulary_size=SIZE))
    tables, _ = count_ngrams(text, is_begin, order=4, vocabulary_size=SIZE)
    for order in (2, 3, 4):
        for row, suffix in enumerate(suffix_rows(tables, order).tolist()):
            assert _spell(tables, order - 2, suffix) == _spell(tables, order - 1, row)[1:]
