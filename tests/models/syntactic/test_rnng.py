"""The RNNG that is computed by level against one that plays action by action."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from gardenpath.data.batches.tokens import Collate
from gardenpath.data.batches.trees import timed_tree_collate, tree_collate
from gardenpath.data.encoding import EncodedSplit
from gardenpath.data.readers.treebanks import ToyTreebank
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.trees.legality import RULES, Action, Finish, Kind, ParserState, Strategy
from gardenpath.data.trees.tree import CLOSE, Open, Tree, Word, parse_tree
from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.models.syntactic.family import RnngSettings
from gardenpath.models.syntactic.networks import RnngNetwork
from tests.data.strategies import bare_trees
from tests.models.slow_models import StepwiseRnng
from tests.tree_samples import (
    SHAPES,
    STRATEGIES,
    actions_of,
    encode_letters,
    encode_trees,
    piece_actions,
)
from tests.tree_samples import sentences as reference_sentences

Composition = Literal["lstm", "attention"]
COMPOSITIONS: tuple[Composition, ...] = ("lstm", "attention")


def make_network(vocabulary: Vocabulary, seed: int = 0, **settings: Any) -> RnngNetwork:
    """A small network in double precision with weights large enough to matter."""
    torch.manual_seed(seed)
    sizes = {"hidden": 5, "embedding": 4, "dropout": 0.0, **settings}
    network = RnngNetwork(
        RnngSettings(**sizes),
        vocabulary_size=len(vocabulary),
        label_count=len(vocabulary.labels),
        is_continuation=vocabulary.continuations,
    )
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.5)
    return network.double()


def make_collate(
    split: EncodedSplit, vocabulary: Vocabulary, strategy: Strategy, composition: Composition
) -> Collate[Any]:
    make = tree_collate if composition == "lstm" else timed_tree_collate
    return make(
        split, strategy=strategy, label_count=len(vocabulary.labels),
        is_continuation=vocabulary.continuations,
    )  # fmt: skip


def assert_agrees_with_stepwise(
    trees: Sequence[Tree],
    strategy: Strategy,
    composition: Composition = "lstm",
    *,
    letters: bool = False,
    **settings: Any,
) -> None:
    """Losses and gradients agree to 1e-9 of their size."""
    split, vocabulary = (encode_letters if letters else encode_trees)(trees)
    derivation = piece_actions if letters else actions_of
    network = make_network(vocabulary, strategy=strategy, composition=composition, **settings)
    batch = make_collate(split, vocabulary, strategy, composition)(np.arange(len(trees)))
    scores = network.score(batch)
    parts = [
        StepwiseRnng(network, vocabulary).log_prob(derivation(tree, strategy)) for tree in trees
    ]
    action, word = (torch.stack(column).sum() for column in zip(*parts, strict=True))
    torch.testing.assert_close(scores.log_prob["action"], action, rtol=1e-9, atol=0)
    torch.testing.assert_close(scores.log_prob["word"], word, rtol=1e-9, atol=0)
    weights = list(network.parameters())
    fast = torch.autograd.grad(scores.log_prob["action"] + scores.log_prob["word"], weights)
    slow = torch.autograd.grad(action + word, weights)
    for one, other in zip(fast, slow, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9 * float(other.abs().max()))
    assert int(scores.words) == sum(len(tree.words()) for tree in trees)


@pytest.mark.parametrize("action_norm", ["legal", "full"])
@pytest.mark.parametrize("composition", COMPOSITIONS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_trees_of_all_shapes(
    strategy: Strategy, composition: Composition, action_norm: str
) -> None:
    assert_agrees_with_stepwise(SHAPES, strategy, composition, action_norm=action_norm)


@pytest.mark.parametrize("composition", COMPOSITIONS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_words_of_several_pieces(strategy: Strategy, composition: Composition) -> None:
    assert_agrees_with_stepwise(SHAPES, strategy, composition, letters=True)
    # Words of several pieces in all places, alone, first, last and in between.
    trees = [
        parse_tree(text)
        for text in (
            "(S ab)", "(S (A abc) d)", "(S (A (B ab)) (C a bc))", "(S a (A bcd (B ef)) gh)",
            "(A (A (A ab) (B b)) (C (B c de) f (A (B (C gh)))))",
        )
    ]  # fmt: skip
    assert_agrees_with_stepwise(trees, strategy, composition, letters=True)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(max_examples=15)
@given(tree=bare_trees())
def test_random_trees_of_letters(strategy: Strategy, tree: Tree) -> None:
    assert_agrees_with_stepwise([SHAPES[0], tree], strategy, letters=True)


@pytest.mark.parametrize("layers", [1, 3])
def test_other_numbers_of_layers_and_untied_words(layers: int) -> None:
    assert_agrees_with_stepwise(SHAPES, "top_down", layers=layers, tied=False)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_classes_of_words(strategy: Strategy, tied: bool) -> None:
    assert_agrees_with_stepwise(SHAPES, strategy, tied=tied, output="factored")


@pytest.mark.parametrize("composition", COMPOSITIONS)
@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(max_examples=15)
@given(tree=bare_trees())
def test_random_trees(strategy: Strategy, composition: Composition, tree: Tree) -> None:
    assert_agrees_with_stepwise([SHAPES[6], tree], strategy, composition)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("grammar", ["english", "mandarin"])
def test_toy_trees(grammar: str, strategy: Strategy) -> None:
    toy = ToyTreebank(grammar=grammar, train=12)
    cleaned = Cleaning(pos_in_source="present").apply(toy.read("train"))
    assert_agrees_with_stepwise([s.tree for s in cleaned if s.tree], strategy)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("treebank", ["ptb_sample", "dickens"])
def test_real_trees(treebank: str, strategy: Strategy, reference_data: Path) -> None:
    cleaned = Cleaning().apply(reference_sentences(treebank, reference_data))
    trees = [sentence.tree for sentence, _ in zip(cleaned, range(400), strict=False)]
    assert_agrees_with_stepwise([tree for tree in trees[::80] if tree is not None], strategy)


@pytest.mark.parametrize("composition", COMPOSITIONS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_batch_is_the_sum_of_its_sentences_in_any_order(
    strategy: Strategy, composition: Composition
) -> None:
    split, vocabulary = encode_trees(SHAPES)
    network = make_network(vocabulary, strategy=strategy, composition=composition)
    collate = make_collate(split, vocabulary, strategy, composition)
    numbers = np.arange(len(SHAPES))
    with torch.no_grad():
        together = network.score(collate(numbers[::-1].copy()))
        alone = [network.score(collate(numbers[i : i + 1])) for i in numbers]
    for kind in ("action", "word"):
        total = sum(float(scores.log_prob[kind]) for scores in alone)
        assert float(together.log_prob[kind]) == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_dropout_acts_in_training_only(composition: Composition) -> None:
    split, vocabulary = encode_trees(SHAPES)
    network = make_network(vocabulary, dropout=0.5, composition=composition)
    batch = make_collate(split, vocabulary, "top_down", composition)(np.arange(len(SHAPES)))
    first, second = (network.score(batch).loss().detach() for _ in range(2))
    assert first != second
    network.eval()
    first, second = (network.score(batch).loss().detach() for _ in range(2))
    assert first == second


def extend(
    prefix: list[Action], state: ParserState, vocabulary: Vocabulary, strategy: Strategy
) -> list[tuple[list[Action], ParserState]]:
    """All legal continuations by one action, words and labels spelled out."""
    legal = RULES[strategy](state)
    words = [token for token in vocabulary.tokens if token not in ("<pad>", "<s>", "</s>")]
    choices: dict[Kind, list[Action]] = {
        Kind.SHIFT: [Word(word) for word in words],
        Kind.REDUCE: [CLOSE],
        Kind.FINISH: [Finish()],
        Kind.OPEN: [Open(label) for label in vocabulary.labels],
    }
    return [
        ([*prefix, action], state.apply(kind)) for kind in sorted(legal) for action in choices[kind]
    ]


def is_complete(prefix: list[Action], state: ParserState, strategy: Strategy) -> bool:
    if strategy == "in_order":
        return isinstance(prefix[-1], Finish)
    return state.open_constituents == 0


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_all_derivations_together_have_probability_one(strategy: Strategy) -> None:
    """What has ended within five actions and what has not share all of the probability."""
    _, vocabulary = encode_trees([Tree("S", ("a",))])
    network = make_network(vocabulary, strategy=strategy)
    model = StepwiseRnng(network, vocabulary)

    def mass(prefix: list[Action]) -> float:
        with torch.no_grad():
            return float(torch.stack(model.log_prob(prefix)).sum().exp())

    ended, frontier = 0.0, [(list[Action](), ParserState())]
    for _ in range(5):
        grown = [
            g for prefix, state in frontier for g in extend(prefix, state, vocabulary, strategy)
        ]
        ended += sum(mass(p) for p, state in grown if is_complete(p, state, strategy))
        frontier = [(p, state) for p, state in grown if not is_complete(p, state, strategy)]
    assert 0.0 < ended < 1.0
    assert ended + sum(mass(prefix) for prefix, _ in frontier) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_trees_over_short_strings_sum_to_one_in_the_limit(strategy: Strategy) -> None:
    """With a network that likes to close, short trees already hold nearly everything."""
    labels, words = ("S",), ("a", "b")
    trees = [Tree(label, children) for label in labels for children in _children(words, depth=3)]
    split, vocabulary = encode_trees(trees)
    network = make_network(vocabulary, strategy=strategy)
    with torch.no_grad():
        network.action_output.weight.mul_(0.1)
        network.action_output.bias.zero_()
        network.action_output.bias[int(Kind.SHIFT)] = 3.0
        network.action_output.bias[int(Kind.REDUCE)] = 8.0
        if strategy == "in_order":
            network.action_output.bias[int(Kind.FINISH)] = 8.0
        network.word_output.linear.bias[3] = -50.0  # the unknown word, which the trees do not have
    collate = make_collate(split, vocabulary, strategy, "lstm")
    previous = 0.0
    for longest in (1, 2, 3):
        chosen = [n for n, tree in enumerate(trees) if len(tree.words()) <= longest]
        total = sum(_joint(network, collate, number) for number in chosen)
        assert previous < total < 1.0
        previous = total
    assert previous > 0.98


def _joint(network: RnngNetwork, collate: Collate[Any], number: int) -> float:
    with torch.no_grad():
        scores = network.score(collate(np.array([number])))
    return float(torch.stack(list(scores.log_prob.values())).sum().exp())


def _children(words: tuple[str, ...], depth: int) -> list[tuple[Tree | str, ...]]:
    """All lists of one to three children with at most three words and bounded depth."""
    items: list[Tree | str] = list(words)
    if depth > 1:
        items += [Tree("S", inner) for inner in _children(words, depth - 1)]
    found: list[tuple[Tree | str, ...]] = []
    grown: list[tuple[Tree | str, ...]] = [()]
    for _ in range(3):
        grown = [(*g, item) for g in grown for item in items if _word_count((*g, item)) <= 3]
        found += grown
    return found


def _word_count(children: tuple[Tree | str, ...]) -> int:
    return sum(1 if isinstance(child, str) else len(child.words()) for child in children)


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_no_tensor_is_made_without_a_device(composition: Composition) -> None:
    split, vocabulary = encode_trees(SHAPES)
    network = make_network(vocabulary, composition=composition)
    batch = make_collate(split, vocabulary, "top_down", composition)(np.arange(len(SHAPES)))
    expected = network.score(batch).loss().detach()
    torch.set_default_device("meta")
    try:
        loss = network.score(batch).loss()
        loss.backward()
    finally:
        torch.set_default_device(None)
    assert loss.detach() == expected


def test_defaults_are_two_layers_of_256() -> None:
    network = RnngNetwork(RnngSettings(), vocabulary_size=10, label_count=3)
    assert [tuple(weight.shape) for weight in network.stack.input] == [(1024, 256), (1024, 256)]
    assert network.word_embedding.weight.shape[1] == 256
    assert network.word_output.linear.weight is network.word_embedding.weight


def test_weights_have_stable_names() -> None:
    network = RnngNetwork(RnngSettings(size="tiny"), vocabulary_size=10, label_count=3)
    assert [name for name, _ in network.named_parameters()] == [
        "start",
        "word_embedding.weight",
        "label_embedding.weight",
        *(f"stack.{kind}.{layer}" for kind in ("input", "recurrent", "bias") for layer in (0, 1)),
        "composition.forward_input",
        "composition.forward_recurrent",
        "composition.backward_input",
        "composition.backward_recurrent",
        "composition.forward_bias",
        "composition.backward_bias",
        "composition.output.weight",
        "composition.output.bias",
        "to_output.weight",
        "to_output.bias",
        "action_output.weight",
        "action_output.bias",
        "word_output.linear.bias",
    ]
