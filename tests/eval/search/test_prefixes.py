"""Sentences as tries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gardenpath.eval.search.prefixes import Prefix, Unit, units

SENTENCES = st.lists(st.lists(st.integers(0, 2), max_size=4), max_size=12)


def spelled_out(prefix: Prefix, read: tuple[int, ...] = ()) -> dict[int, tuple[int, ...]]:
    """Each sentence of a trie, by number."""
    found = dict.fromkeys(prefix.sentences, read)
    for token, child in prefix.children.items():
        found |= spelled_out(child, (*read, token))
    return found


def different_prefixes(sentences: list[list[int]]) -> int:
    """Different beginnings, and different sentences for their ends."""
    beginnings = {tuple(t[:end]) for t in sentences for end in range(1, len(t) + 1)}
    return len(beginnings) + len({tuple(tokens) for tokens in sentences})


def prefix_count(unit: Unit) -> int:
    """Places of a trie at which a search has something to do: its tokens and its ends."""
    pending, count = [unit.root], 0
    while pending:
        prefix = pending.pop()
        count += len(prefix.children) + bool(prefix.sentences)
        pending += prefix.children.values()
    return count


@given(sentences=SENTENCES, is_shared=st.booleans(), most=st.integers(1, 5))
def test_every_sentence_is_in_one_unit(
    sentences: list[list[int]], is_shared: bool, most: int
) -> None:
    found = units(sentences, is_shared=is_shared, most=most)
    numbers = [number for unit in found for number in unit.root.all_sentences()]
    assert sorted(numbers) == list(range(len(sentences)))
    for unit in found:
        members = spelled_out(unit.root)
        assert members == {number: tuple(sentences[number]) for number in members}
        assert unit.length == max(map(len, members.values()))
        assert unit.root.leaves == len(set(members.values()))
        assert len(members) <= (most if is_shared else 1)
        assert len({words[:1] for words in members.values()}) == 1
    assert [unit.length for unit in found] == sorted((u.length for u in found), reverse=True)


@given(sentences=SENTENCES)
def test_what_is_searched_is_counted(sentences: list[list[int]]) -> None:
    shared = units(sentences, is_shared=True, most=100)
    apart = units(sentences, is_shared=False, most=100)
    assert sum(map(prefix_count, shared)) == different_prefixes(sentences)
    assert sum(map(prefix_count, apart)) == sum(len(tokens) + 1 for tokens in sentences)


def test_a_minimal_pair_is_searched_once_up_to_where_it_differs() -> None:
    (unit,) = units([[4, 5, 6, 7], [4, 5, 8, 7]], is_shared=True, most=10)
    fork = unit.root.children[4].children[5]
    assert sorted(fork.children) == [6, 8]
    assert (unit.root.leaves, fork.leaves, fork.children[6].leaves) == (2, 2, 1)
    assert prefix_count(unit) == 8


def test_a_sentence_that_occurs_twice_is_searched_once() -> None:
    (unit,) = units([[4, 5], [4], [4, 5]], is_shared=True, most=10)
    assert unit.root.children[4].sentences == [1]
    assert unit.root.children[4].children[5].sentences == [0, 2]
    assert unit.root.leaves == 2
