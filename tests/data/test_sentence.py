"""Tries hold each prefix once, lead back to every sentence, and can be walked as dictionaries."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.arrays import Tokens
from gardenpath.data.sentence import Prefix, PrefixTrie, Sharing, tries_by_size, tries_by_start
from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID

# Few different tokens, so that much is shared.
SENTENCES = st.lists(st.lists(st.integers(3, 5), max_size=5), max_size=12)
JOBS = st.lists(st.lists(st.integers(3, 6), max_size=6), min_size=1, max_size=12)


def as_tokens(sentences: list[list[int]]) -> list[Tokens]:
    return [np.array(tokens, dtype=np.int32) for tokens in sentences]


def one_trie(sentences: list[list[int]]) -> PrefixTrie:
    (trie,) = tries_by_size(as_tokens(sentences), most=1000)
    return trie


@dataclass
class DictTrie:
    """The obvious trie: a dictionary of children at each prefix."""

    children: dict[int, DictTrie] = field(default_factory=dict)
    sentences: list[int] = field(default_factory=list)

    def insert(self, number: int, tokens: list[int]) -> None:
        place = self
        for token in tokens:
            place = place.children.setdefault(token, DictTrie())
        place.sentences.append(number)

    @property
    def all_sentences(self) -> list[int]:
        below = [child.all_sentences for child in self.children.values()]
        return sum(below, list(self.sentences))

    @property
    def leaves(self) -> int:
        return bool(self.sentences) + sum(child.leaves for child in self.children.values())


def assert_same(found: Prefix, expected: DictTrie) -> None:
    assert found.sentences == sorted(expected.sentences)
    assert sorted(found.all_sentences) == sorted(expected.all_sentences)
    assert found.leaves == expected.leaves
    assert list(found.children) == sorted(expected.children)
    for token, child in found.children.items():
        assert_same(child, expected.children[token])


# ---- Prefix by prefix


@given(sentences=SENTENCES, is_shared=st.booleans(), most=st.integers(1, 5))
def test_every_trie_is_that_of_its_sentences(
    sentences: list[list[int]], is_shared: bool, most: int
) -> None:
    found = tries_by_start(as_tokens(sentences), is_shared=is_shared, most=most)
    assert sorted(number for trie in found for number in trie.numbers) == [*range(len(sentences))]
    for trie in found:
        expected = DictTrie()
        for number in trie.numbers:
            expected.insert(number, sentences[number])
        assert_same(trie.root, expected)
        members = [tuple(sentences[number]) for number in trie.numbers]
        assert trie.length == max(map(len, members))
        assert len(members) <= (most if is_shared else 1)
        assert len({tokens[:1] for tokens in members}) == 1
    assert [trie.length for trie in found] == sorted((t.length for t in found), reverse=True)


def prefix_count(prefix: Prefix) -> int:
    """Places of a trie at which a search has something to do: its tokens and its ends."""
    children = prefix.children
    return len(children) + bool(prefix.sentences) + sum(map(prefix_count, children.values()))


@given(sentences=SENTENCES)
def test_what_is_searched_is_counted(sentences: list[list[int]]) -> None:
    shared = tries_by_start(as_tokens(sentences), is_shared=True, most=100)
    apart = tries_by_start(as_tokens(sentences), is_shared=False, most=100)
    beginnings = {tuple(t[:end]) for t in sentences for end in range(1, len(t) + 1)}
    different = len(beginnings) + len({tuple(tokens) for tokens in sentences})
    assert sum(prefix_count(trie.root) for trie in shared) == different
    assert sum(prefix_count(trie.root) for trie in apart) == sum(len(t) + 1 for t in sentences)


def test_a_minimal_pair_is_searched_once_up_to_where_it_differs() -> None:
    pair = as_tokens([[4, 5, 6, 7], [4, 5, 8, 7]])
    (trie,) = tries_by_start(pair, is_shared=True, most=10)
    fork = trie.root.children[4].children[5]
    assert sorted(fork.children) == [6, 8]
    assert (trie.root.leaves, fork.leaves, fork.children[6].leaves) == (2, 2, 1)
    assert prefix_count(trie.root) == 8


def test_a_sentence_that_occurs_twice_is_searched_once() -> None:
    (trie,) = tries_by_start(as_tokens([[4, 5], [4], [4, 5]]), is_shared=True, most=10)
    assert trie.root.children[4].sentences == [1]
    assert trie.root.children[4].children[5].sentences == [0, 2]
    assert trie.root.leaves == 2


# ---- As arrays


def prefixes_of(trie: PrefixTrie) -> list[tuple[int, ...]]:
    """Each prefix, spelt out from the tokens of its ancestors."""
    found: list[tuple[int, ...]] = []
    for row, (parent, token) in enumerate(zip(trie.parents, trie.tokens, strict=True)):
        found.append((*found[parent], int(token)) if row else ())
    return found


def all_prefixes(sentences: list[list[int]]) -> set[tuple[int, ...]]:
    return {tuple(tokens[:end]) for tokens in sentences for end in range(len(tokens) + 1)}


@given(JOBS)
def test_each_distinct_prefix_is_there_once_and_shorter_ones_come_first(
    sentences: list[list[int]],
) -> None:
    trie = one_trie(sentences)
    prefixes = prefixes_of(trie)
    assert len(prefixes) == len(set(prefixes))
    assert set(prefixes) == all_prefixes(sentences)
    assert trie.tokens[0] == BEGIN_ID
    assert trie.depths.tolist() == [len(prefix) for prefix in prefixes]
    assert trie.depths.tolist() == sorted(trie.depths)


@given(JOBS)
def test_first_and_last_are_the_sentences_that_begin_with_a_prefix(
    sentences: list[list[int]],
) -> None:
    trie = one_trie(sentences)
    in_order = [tuple(sentences[number]) for number in trie.numbers]
    assert in_order == sorted(in_order)
    for prefix, first, last in zip(prefixes_of(trie), trie.first, trie.last, strict=True):
        found = [n for n, tokens in enumerate(in_order) if tokens[: len(prefix)] == prefix]
        assert found == [*range(first, last + 1)]


@given(JOBS, st.integers(1, 20))
def test_predictions_lead_back_to_the_sentences(sentences: list[list[int]], most: int) -> None:
    seen = []
    for trie in tries_by_size(as_tokens(sentences), most=most):
        prefixes = prefixes_of(trie)
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
    for trie in tries_by_size(as_tokens(sentences), most=most):
        assert len(trie.tokens) <= most or len({tuple(sentences[n]) for n in trie.numbers}) == 1


@given(JOBS)
def test_what_is_computed_are_distinct_pairs_of_a_prefix_and_what_follows(
    sentences: list[list[int]],
) -> None:
    closed = [[*tokens, END_ID] for tokens in sentences]
    expected = Sharing(sum(map(len, closed)), len(all_prefixes(closed)) - 1)
    assert one_trie(sentences).sharing == expected


# ---- What sharing saves


def test_what_was_not_computed_was_saved() -> None:
    assert Sharing(10, 4).saved == pytest.approx(0.6)
    assert Sharing(10, 10).saved == 0.0


def test_nothing_is_saved_of_nothing() -> None:
    assert Sharing(0, 0).saved == 0.0
    assert list(tries_by_size([], most=5)) == tries_by_start([], is_shared=True, most=5) == []
