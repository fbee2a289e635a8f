"""The PLM in batches against one that reads sentence by sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from gardenpath.data.batches.tokens import BracketBatch, bracket_collate, innermost_open, symbols_of
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.trees.legality import Action, Kind, ParserState, legal_top_down, top_down
from gardenpath.data.trees.tree import CLOSE, Open, Tree, Word
from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.models.syntactic.family import PlmSettings
from gardenpath.models.syntactic.networks import PlmNetwork
from tests.data.strategies import bare_trees
from tests.models.slow_models import SlowPlm
from tests.tree_samples import SHAPES, encode_letters, encode_trees, piece_actions
from tests.tree_samples import sentences as reference_sentences


def make_network(vocabulary: Vocabulary, seed: int = 0, **changes: Any) -> PlmNetwork:
    """A small network in double precision with weights large enough to matter."""
    torch.manual_seed(seed)
    arguments = {"layers": 2, "hidden": 12, "heads": 3, "dropout": 0.0, **changes}
    network = PlmNetwork(
        PlmSettings(**arguments),
        vocabulary_size=len(vocabulary),
        label_count=len(vocabulary.labels),
        is_continuation=vocabulary.continuations,
    )
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.4)
    return network.double()


def make_batch(trees: list[Tree], *, letters: bool = False) -> tuple[BracketBatch, Vocabulary]:
    split, vocabulary = (encode_letters if letters else encode_trees)(trees)
    collate = bracket_collate(split, vocabulary_size=len(vocabulary), has_pieces=letters)
    return collate(np.arange(len(trees))), vocabulary


def assert_agrees_with_slow(trees: list[Tree], *, letters: bool = False, **changes: Any) -> None:
    batch, vocabulary = make_batch(trees, letters=letters)
    network = make_network(vocabulary, **changes)
    scores = network.score(batch)
    slowly = SlowPlm(network, vocabulary)
    parts = [
        slowly.log_prob(piece_actions(tree, "top_down") if letters else top_down(tree))
        for tree in trees
    ]
    action, word = (torch.stack(column).sum() for column in zip(*parts, strict=True))
    torch.testing.assert_close(scores.log_prob["action"], action, rtol=1e-9, atol=0)
    torch.testing.assert_close(scores.log_prob["word"], word, rtol=1e-9, atol=0)
    weights = list(network.parameters())
    fast = torch.autograd.grad(scores.log_prob["action"] + scores.log_prob["word"], weights)
    slow = torch.autograd.grad(action + word, weights)
    for one, other in zip(fast, slow, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9 * float(other.abs().max()))


@pytest.mark.parametrize("action_norm", ["legal", "full"])
@pytest.mark.parametrize("structured_heads", [False, True])
def test_words_of_several_pieces(structured_heads: bool, action_norm: str) -> None:
    assert_agrees_with_slow(
        list(SHAPES), letters=True, structured_heads=structured_heads, action_norm=action_norm
    )


@pytest.mark.parametrize("action_norm", ["legal", "full"])
@pytest.mark.parametrize("structured_heads", [False, True])
def test_trees_of_all_shapes(structured_heads: bool, action_norm: str) -> None:
    assert_agrees_with_slow(
        list(SHAPES), structured_heads=structured_heads, action_norm=action_norm
    )


@pytest.mark.parametrize("action_norm", ["legal", "full"])
@pytest.mark.parametrize("structured_heads", [False, True])
def test_classes_of_words(structured_heads: bool, action_norm: str) -> None:
    assert_agrees_with_slow(
        list(SHAPES), structured_heads=structured_heads, action_norm=action_norm, output="factored"
    )


@pytest.mark.parametrize("structured_heads", [False, True])
@settings(max_examples=15)
@given(tree=bare_trees())
def test_random_trees(structured_heads: bool, tree: Tree) -> None:
    assert_agrees_with_slow([SHAPES[6], tree], structured_heads=structured_heads)


def test_real_trees(reference_data: Path) -> None:
    cleaned = Cleaning().apply(reference_sentences("ptb_sample", reference_data))
    trees = [sentence.tree for sentence, _ in zip(cleaned, range(300), strict=False)]
    chosen = [tree for tree in trees[::100] if tree is not None]
    assert_agrees_with_slow(chosen, structured_heads=True)


def test_symbols_of_the_running_example() -> None:
    split, vocabulary = encode_trees([SHAPES[0]])
    size, label, word = len(vocabulary), vocabulary.label_ids, vocabulary.ids
    assert symbols_of(split, size).tolist() == [
        size + 1 + label["S"],
        size + 1 + label["NP"],
        word["the"],
        word["hungry"],
        word["cat"],
        size,
        size + 1 + label["VP"],
        word["meows"],
        size,
        size,
    ]


@given(tree=bare_trees())
def test_innermost_open_bracket_is_the_top_of_a_stack(tree: Tree) -> None:
    split, _ = encode_trees([SHAPES[5], tree, SHAPES[2]])
    opened: list[int] = []
    expected = []
    for place, action in enumerate(split.actions.tolist()):
        if action >= Kind.OPEN:
            opened.append(place)
        elif action == Kind.REDUCE:
            opened.pop()
        expected.append(opened[-1] if opened else -1)
    assert innermost_open(np.asarray(split.actions, dtype=np.int64)).tolist() == expected


def test_padding_and_neighbours_change_nothing() -> None:
    batch, vocabulary = make_batch(list(SHAPES))
    split, _ = encode_trees(list(SHAPES))
    collate = bracket_collate(split, vocabulary_size=len(vocabulary))
    network = make_network(vocabulary, structured_heads=True)
    with torch.no_grad():
        together = network.log_prob(batch)
        for number in range(len(SHAPES)):
            alone = network.log_prob(collate(np.array([number])))[0]
            torch.testing.assert_close(together[number, : len(alone)], alone)
            assert (together[number, len(alone) :] == 0).all()


def test_all_derivations_together_have_probability_one() -> None:
    """What has ended within five symbols and what has not share all of the probability."""
    _, vocabulary = encode_trees([Tree("S", ("a",)), Tree("T", ("a",))])
    network = make_network(vocabulary, structured_heads=True)
    model = SlowPlm(network, vocabulary)
    choices: dict[Kind, list[Action]] = {
        Kind.SHIFT: [Word("<unk>"), Word("a")],
        Kind.REDUCE: [CLOSE],
        Kind.OPEN: [Open("S"), Open("T")],
    }

    def mass(prefix: list[Action]) -> float:
        with torch.no_grad():
            return float(torch.stack(model.log_prob(prefix)).sum().exp())

    ended, frontier = 0.0, [(list[Action](), ParserState())]
    for _ in range(5):
        grown = [
            ([*prefix, action], state.apply(kind))
            for prefix, state in frontier
            for kind in legal_top_down(state)
            for action in choices[kind]
        ]
        ended += sum(mass(prefix) for prefix, state in grown if state.open_constituents == 0)
        frontier = [(p, state) for p, state in grown if state.open_constituents > 0]
    assert 0.0 < ended < 1.0
    assert ended + sum(mass(prefix) for prefix, _ in frontier) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("structured_heads", [False, True])
def test_no_tensor_is_made_without_a_device(structured_heads: bool) -> None:
    batch, vocabulary = make_batch(list(SHAPES))
    network = make_network(vocabulary, structured_heads=structured_heads)
    expected = network.score(batch).loss().detach()
    torch.set_default_device("meta")
    try:
        loss = network.score(batch).loss()
        loss.backward()
    finally:
        torch.set_default_device(None)
    assert loss.detach() == expected


def test_structured_heads_need_two_heads() -> None:
    small = PlmSettings(size="tiny", layers=1, hidden=4, heads=1, structured_heads=True)
    assert small.mistakes() == ["structured_heads=true needs at least two heads"]
    assert replace(small, heads=2).mistakes() == []
    assert replace(small, structured_heads=False).mistakes() == []
    assert len(replace(small, hidden=5, heads=3).mistakes()) == 1
