"""Words of several pieces in the search over real models, against everything there is to find."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from gardenpath.data.encoding import EncodedSplit
from gardenpath.data.trees.legality import Kind, top_down
from gardenpath.data.trees.tree import Open, Tree, Word, parse_tree
from gardenpath.eval.parsing import k_best
from gardenpath.eval.search.settings import Unbiased, WordSync
from gardenpath.models.family import FAMILIES, NeuralFamily
from gardenpath.models.syntactic.attention_composition import AttentionComposition
from gardenpath.models.syntactic.networks import PlmNetwork, RnngNetwork
from tests.integration.searching import (
    MODELS,
    enumerated,
    log_probs,
    make_network,
    piece_vocabulary,
    search,
    strategy_of,
)

LIMITS: dict[str, Any] = {"max_open": 2, "max_consecutive": 2}
IN_ORDER_LIMITS: dict[str, Any] = {"max_open": 2, "max_consecutive": 1}
EVERYTHING = WordSync(action_beam=600, word_beam=600, **LIMITS)
NARROW = WordSync(action_beam=9, word_beam=3, **LIMITS)
VOCABULARY = piece_vocabulary()
A, B, C = (VOCABULARY.ids[piece] for piece in ("▁a", "▁b", "c"))
# Words of one, two and three pieces, at the beginning, in the middle and at the end.
SENTENCES = [[A, C, B], [A, B], [B, C, C], [A, C], [A, C, B, C]]


def pieces_of(tokens: list[int]) -> list[str]:
    return [VOCABULARY.tokens[token] for token in tokens]


def limits_of(name: str) -> dict[str, Any]:
    return IN_ORDER_LIMITS if name == "rnng_in_order" else LIMITS


# Classes of words are for words.
OVER_PIECES = [name for name in MODELS if "factored" not in name]


@pytest.mark.parametrize("name", OVER_PIECES)
def test_a_beam_that_holds_everything_finds_the_sum_over_all_derivations(name: str) -> None:
    network = make_network(name, VOCABULARY)
    limits = limits_of(name)
    sentences = SENTENCES[:4]
    results = search(network, sentences, replace(EVERYTHING, **limits))
    for tokens, found in zip(sentences, log_probs(results), strict=True):
        expected = enumerated(network, VOCABULARY, pieces_of(tokens), **limits)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", OVER_PIECES)
def test_that_a_word_ends_is_that_no_piece_continues_it(name: str) -> None:
    # One step of each survivor against the search for all words that begin with these pieces.
    network = make_network(name, VOCABULARY)
    how = replace(EVERYTHING, **limits_of(name))
    prefixes = [[A], [A, C], [B, A, C], [A, C, B]]
    found = search(network, [*prefixes, *([*p, C] for p in prefixes)], how, finds_word_ends=True)
    count = len(prefixes)
    for tokens, ended, longer in zip(prefixes, found[:count], found[count:], strict=True):
        place = len(tokens) - 1
        plain = np.exp(ended.prefix_log_probs[place])
        with_end = plain * np.exp(ended.word_end_log_probs[place])
        assert with_end == pytest.approx(plain - np.exp(longer.prefix_log_probs[place + 1]))
        assert 0 < with_end < plain
        # Inside the word, nothing ends, nor behind the end.
        assert longer.word_end_log_probs[place] == ended.word_end_log_probs[-1] == 0.0


def rarely_opening(name: str) -> RnngNetwork | PlmNetwork:
    """A network that opens constituents only if it must, so that limits exclude nothing."""
    network = make_network(name, VOCABULARY)
    labels = len(VOCABULARY.labels)
    with torch.no_grad():
        if isinstance(network, RnngNetwork):
            network.action_output.bias[-labels:] -= 60
        else:
            # States are normalised; where nothing else may come, opening is still certain.
            network.decoder.final_norm.bias[0] = 60
            network.output.linear.weight[:, 0] = 0
            network.output.linear.weight[-labels:, 0] = -1
    return network


@pytest.mark.parametrize("name", ["rnng", "rnng_in_order", "rnng_attention", "plm", "plm_mask"])
@pytest.mark.parametrize("prefix", [[], [A], [A, C], [B, C, C]])
def test_words_and_the_end_add_up_to_one(name: str, prefix: list[int]) -> None:
    network = rarely_opening(name)
    how = WordSync(action_beam=200, word_beam=200, max_open=3, max_consecutive=2)
    begins = [3, A, B]  # an unknown word is one piece here
    longest = 3
    words = [[begin, *[C] * more] for begin in begins for more in range(longest)]
    longer = [[begin, *[C] * longest] for begin in begins]
    job = [prefix, *([*prefix, *word] for word in [*words, *longer])]
    found = search(network, job, how, finds_word_ends=True)
    place = len(prefix)
    before = 0.0
    if prefix:
        before = found[0].prefix_log_probs[place - 1] + found[0].word_end_log_probs[place - 1]
    total, plain = 0.0, 0.0
    for word, result in zip(words, found[1 : 1 + len(words)], strict=True):
        last = place + len(word) - 1
        log_prob = result.prefix_log_probs[last] + result.word_end_log_probs[last] - before
        total += np.exp(log_prob)
        plain += np.exp(result.prefix_log_probs[last])
    rest = sum(
        np.exp(result.prefix_log_probs[place + longest] - before)
        for result in found[1 + len(words) :]
    )
    end = np.exp(found[0].prefix_log_probs[place] - before) if found[0].failure is None else 0.0
    assert total < 1
    assert total + rest + end == pytest.approx(1, abs=1e-9)
    # The products of pieces are no probabilities of words.
    assert plain + end > 1.01 or prefix


GOLD = ("(S ▁ac (A ▁b))", "(A (S ▁ac) ▁bcc)", "(S ▁a (A ▁acc))", "(S (A ▁bc ▁a))")


@pytest.mark.parametrize("name", OVER_PIECES)
def test_the_joint_probability_of_a_tree_is_that_of_its_derivation(name: str) -> None:
    # Training and search: the loss of a gold tree, and the hypothesis that is this tree.
    network = make_network(name, VOCABULARY)
    strategy = strategy_of(network)
    labels = list(VOCABULARY.labels)
    for text in GOLD:
        tree = parse_tree(text)
        spelled = [[word[:2], *word[2:]] for word in tree.words()]
        tokens = [VOCABULARY.ids[piece] for word in spelled for piece in word]
        how = WordSync(action_beam=2000, word_beam=2000, max_open=2, max_consecutive=2)
        (result,) = search(network, [tokens], how, keeps_history=True)
        found = k_best(
            result, tree.words(), labels=labels, strategy=strategy, k=5000,
            starts_word=[piece.startswith("▁") for word in spelled for piece in word],
        )  # fmt: skip
        share = next(share for share, one in found if one == tree)
        joint = np.log(share) + result.prefix_log_probs[-1]
        assert gold_log_prob(network, tree, tokens) == pytest.approx(joint, abs=1e-9)


def gold_log_prob(network: RnngNetwork | PlmNetwork, tree: Tree, tokens: list[int]) -> float:
    """The score of a training batch with one tree."""
    actions = [
        action
        for event in top_down(tree)
        for action in (
            [0] * len(event.form.removeprefix("▁")) if isinstance(event, Word)
            else [Kind.OPEN + VOCABULARY.label_ids[event.label]] if isinstance(event, Open)
            else [int(Kind.REDUCE)]
        )
    ]  # fmt: skip
    starts = [not VOCABULARY.is_continuation[token] for token in tokens]
    split = EncodedSplit(
        np.array(tokens, dtype=np.int32), np.array(starts), np.array([0, len(tokens)]),
        np.array(actions, dtype=np.int32), np.array([0, len(actions)]),
    )  # fmt: skip
    family = FAMILIES["plm" if isinstance(network, PlmNetwork) else "rnng"]
    assert isinstance(family, NeuralFamily)
    kind: Any = family.settings
    options: dict[str, Any] = {}
    if isinstance(network, RnngNetwork):
        options["strategy"] = network.strategy
    if isinstance(network, RnngNetwork) and isinstance(network.composition, AttentionComposition):
        options["composition"] = "attention"
    settings = kind(name="gold", network=type(kind(name="gold").network)(**options))
    batch = family.make_collate(settings, split, VOCABULARY)(np.arange(1))
    with torch.no_grad():
        return float(sum(network.score(batch).log_prob.values()))


def all_numbers(results: list[Any]) -> list[np.ndarray[Any, Any]]:
    assert all(result.failure is None for result in results)
    return [np.array([r.prefix_log_probs, r.word_end_log_probs, r.best_share]) for r in results]


@pytest.mark.parametrize("name", OVER_PIECES)
@pytest.mark.parametrize("is_packed", [True, False])
@pytest.mark.parametrize("groups", [1, 64])
def test_batches_order_sharing_and_shapes_change_nothing(
    name: str, is_packed: bool, groups: int
) -> None:
    network = make_network(name, VOCABULARY)
    alone = [
        all_numbers(search(network, [one], NARROW, finds_word_ends=True))[0] for one in SENTENCES
    ]
    for how in (NARROW, replace(NARROW, share_prefixes=False, bounded=False, lazy_words=False)):
        turned = search(
            network, SENTENCES[::-1], how, groups=groups, is_packed=is_packed, finds_word_ends=True
        )
        for one, other in zip(all_numbers(turned[::-1]), alone, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "name, is_packed", [("rnng", True), ("rnng_in_order", False), ("plm", True)]
)
def test_an_unbiased_search_estimates_prefixes_and_ends_of_words_without_bias(
    name: str, is_packed: bool
) -> None:
    network = make_network(name, VOCABULARY)
    limits = limits_of(name)
    job = [[A, C, B]]
    (exact,) = search(network, job, replace(EVERYTHING, **limits), finds_word_ends=True)
    runs = 40
    found = np.zeros((runs, len(exact.prefix_log_probs)))
    for seed in range(runs):
        how = Unbiased(action_beam=6, word_beam=4, replicates=1, seed=seed, **limits)
        (result,) = search(network, job, how, is_packed=is_packed, finds_word_ends=True)
        # Where no hypothesis survives, the estimate is zero.
        estimate = np.exp(np.add(result.prefix_log_probs, result.word_end_log_probs))
        found[seed, : len(estimate)] = estimate
    expected = np.exp(np.add(exact.prefix_log_probs, exact.word_end_log_probs))
    error = found.std(0) / np.sqrt(runs)
    # What happens in nearly all runs has no spread in a few of them.
    assert (np.abs(found.mean(0) - expected) < 4 * error + 2e-3 * expected).all()
    assert (error < 0.25 * expected).all()


@pytest.mark.parametrize("name", ["rnng", "rnng_in_order", "plm"])
@pytest.mark.parametrize("is_packed", [True, False])
def test_random_numbers_over_pieces_depend_on_the_prefix_and_the_seed_alone(
    name: str, is_packed: bool
) -> None:
    """Whether a word goes on in another sentence does not matter."""
    network = make_network(name, VOCABULARY)
    how = Unbiased(action_beam=8, word_beam=2, roulette=0.01, seed=3, **limits_of(name))
    alone = [all_numbers(search(network, [one], how, finds_word_ends=True))[0] for one in SENTENCES]
    for settings in (how, replace(how, share_prefixes=False)):
        together = search(network, SENTENCES, settings, is_packed=is_packed, finds_word_ends=True)
        for one, other in zip(all_numbers(together), alone, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)
