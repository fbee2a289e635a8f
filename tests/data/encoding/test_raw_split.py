"""Splits as numbers, before the vocabulary is known."""

from __future__ import annotations

from gardenpath.data.encoding import Inventory, collect
from gardenpath.data.sentence import Sentence, Source
from gardenpath.data.trees.legality import Kind
from gardenpath.data.trees.tree import parse_tree


def sentence(text: str, line: int = 1) -> Sentence:
    tree = parse_tree(text)
    return Sentence(tree.words(), Source("cats.mrg", line), tree)


def test_inventory_numbers_in_order_of_appearance() -> None:
    inventory = Inventory()
    assert [inventory.number(item) for item in ("b", "a", "b", "c")] == [0, 1, 0, 2]
    assert inventory.items == ["b", "a", "c"]


def test_trees() -> None:
    words, labels = Inventory(), Inventory()
    raw = collect(
        [sentence("(S (NP the cat) meows)", 3), sentence("(NP the dog)", 8)], words, labels
    )
    assert words.items == ["the", "cat", "meows", "dog"]
    assert labels.items == ["S", "NP"]
    assert raw.words.tolist() == [0, 1, 2, 0, 3]
    assert raw.offsets.tolist() == [0, 3, 5]
    opens = [Kind.OPEN + 0, Kind.OPEN + 1]
    assert raw.actions.tolist() == [
        *[opens[0], opens[1], Kind.SHIFT, Kind.SHIFT, Kind.REDUCE, Kind.SHIFT, Kind.REDUCE],
        *[opens[1], Kind.SHIFT, Kind.SHIFT, Kind.REDUCE],
    ]
    assert raw.action_offsets.tolist() == [0, 7, 11]
    assert raw.sources == ["cats.mrg:3", "cats.mrg:8"]
    assert raw.is_first.tolist() == [True, False, False, True, False]


def test_inventories_are_shared_between_splits() -> None:
    words, labels = Inventory(), Inventory()
    collect([sentence("(NP the cat)")], words, labels)
    raw = collect([sentence("(VP the dog)")], words, labels)
    assert raw.words.tolist() == [0, 2]
    assert raw.actions.tolist()[0] == Kind.OPEN + 1


def test_text_has_no_actions() -> None:
    plain = Sentence(("the", "cat"), Source("cats.txt", 1))
    raw = collect([plain, plain], Inventory(), Inventory())
    assert raw.actions.tolist() == []
    assert raw.action_offsets.tolist() == [0, 0, 0]


def test_no_sentences() -> None:
    raw = collect([], Inventory(), Inventory())
    assert (raw.words.tolist(), raw.offsets.tolist(), raw.sources) == ([], [0], [])


def test_word_counts_by_place() -> None:
    words = Inventory()
    words.number("never")
    raw = collect([sentence("(S the the cat)"), sentence("(S cat)")], words, Inventory())
    assert raw.word_counts(words.items) == {
        ("the", True): 1,
        ("the", False): 1,
        ("cat", True): 1,
        ("cat", False): 1,
    }
