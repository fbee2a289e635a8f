"""Tries hold each prefix once, and lead back to every sentence."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.sharing import Sharing
from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID
from gardenpath.models.sequential.shared_prefixes import PrefixTrie, prefix_tries
from tests.models.samples import SPECIAL_COUNT, make_split

SIZE = SPECIAL_COUNT + 3

# Few different tokens, so that much is shared.
JOBS = st.lists(
    st.lists(st.integers(SPECIAL_COUNT - 1, SIZE - 1), max_size=6), min_size=1, max_size=12
)


def _prefixes(trie: PrefixTrie) -> list[tuple[int, ...]]:
    """Each prefix, spelt out from the tokens of its ancestors."""
    found: list[tuple[int, ...]] = []
    for row, (parent, token) in enumerate(zip(trie.parents, trie.tokens, strict=True)):
        found.append((*found[parent], int(token)) if row else ())
    return found


def _all_prefixes(sentences: list[list[int]]) -> set[tuple[int, ...]]:
    return {tuple(tokens[:end]) for tokens in sentences for end in range(len(tokens) + 1)}


@given(JOBS)
def test_each_distinct_prefix_is_there_once_and_shorter_ones_come_first(
    sentences: list[list[int]],
) -> None:
    (trie,) = prefix_tries(make_split(sentences), most=1000)
    prefixes = _prefixes(trie)
    assert len(prefixes) == len(set(prefixes))
    assert set(prefixes) == _all_prefixes(sentences)
    assert trie.tokens[0] == BEGIN_ID
    assert trie.depths.tolist() == [len(prefix) for prefix in prefixes]
    assert trie.depths.tolist() == sorted(trie.depths)
    assert trie.batch().sizes == tuple(np.bincount(trie.depths))


@given(JOBS, st.integers(1, 20))
def test_predictions_lead_back_to_the_sentences(sentences: list[list[int]], most: int) -> None:
    seen = []
    for trie in prefix_tries(make_split(sentences), most=most):
        prefixes = _prefixes(trie)
        for number, rows in zip(trie.numbers, trie.predictions, strict=True):
            tokens = sentences[number]
            assert trie.targets[rows].tolist() == [*tokens, END_ID]
            found = [prefixes[row] for row in trie.contexts[rows]]
            assert found == [tuple(tokens[:end]) for end in range(len(tokens) + 1)]
        seen += trie.numbers
    assert sorted(seen) == list(range(len(sentences)))


@given(JOBS, st.integers(1, 20))
def test_tries_are_no_larger_than_asked_unless_one_sentence_is(
    sentences: list[list[int]], most: int
) -> None:
    for trie in prefix_tries(make_split(sentences), most=most):
        assert len(trie.tokens) <= most or len({tuple(sentences[n]) for n in trie.numbers}) == 1


@given(JOBS)
def test_ancestors_are_the_beginnings_of_a_prefix(sentences: list[list[int]]) -> None:
    (trie,) = prefix_tries(make_split(sentences), most=1000)
    prefixes = _prefixes(trie)
    expected = [[row[: len(column)] == column for column in prefixes] for row in prefixes]
    assert trie.batch().is_ancestor().tolist() == expected


@given(JOBS)
def test_what_is_computed_are_distinct_pairs_of_a_prefix_and_what_follows(
    sentences: list[list[int]],
) -> None:
    (trie,) = prefix_tries(make_split(sentences), most=1000)
    closed = [[*tokens, END_ID] for tokens in sentences]
    assert trie.sharing == Sharing(sum(map(len, closed)), len(_all_prefixes(closed)) - 1)
