"""Parses that searches over real models find, against all derivations there are."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from gardenpath.data.arrays import Floats
from gardenpath.data.trees.legality import Action, Strategy
from gardenpath.data.trees.tree import Open, Tree, Word, escape, parse_tree
from gardenpath.data.words.pieces import SubwordSettings, subword_vocabulary, train_subwords
from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.eval.parsing import (
    Conventions,
    best_shares_of,
    bracketing,
    convergence,
    k_best,
    mass_rows,
    partial_parses,
)
from gardenpath.eval.search.result import SentenceResult
from gardenpath.eval.search.scorer import StructuredScorer
from gardenpath.eval.search.settings import Unbiased, WordSync
from gardenpath.models.syntactic.networks import RnngNetwork
from tests.data.derivations import rebuild
from tests.eval.search.exhaustive import derivations
from tests.integration.searching import (
    as_searched,
    make_network,
    search,
    strategy_of,
    tiny_vocabulary,
)
from tests.models.slow_plm import SlowPlm
from tests.models.stepwise_rnng import StepwiseRnng

WORDS = ["a", "b", "c"]
LIMITS: dict[str, dict[str, Any]] = {
    "rnng": {"max_open": 2, "max_consecutive": 2},
    "rnng_in_order": {"max_open": 2, "max_consecutive": 1},
    "plm": {"max_open": 2, "max_consecutive": 2},
}
MODELS = pytest.mark.parametrize("name", LIMITS)


@cache
def everything(name: str) -> tuple[Vocabulary, Strategy, SentenceResult]:
    """A search with a beam that nothing falls off."""
    vocabulary = tiny_vocabulary()
    network = make_network(name, vocabulary)
    settings = WordSync(action_beam=400, word_beam=200, **LIMITS[name])
    (result,) = search(network, [vocabulary.encode(WORDS)], settings, keeps_history=True)
    return vocabulary, strategy_of(network), result


@cache
def enumerated(name: str) -> list[list[tuple[float, list[Action]]]]:
    """For each word and the end, all derivations up to there with their probabilities."""
    vocabulary = tiny_vocabulary()
    network = make_network(name, vocabulary)
    slow: StepwiseRnng | SlowPlm
    if isinstance(network, RnngNetwork):
        slow = StepwiseRnng(network, vocabulary)
    else:
        slow = SlowPlm(network, vocabulary)
    found: list[list[tuple[float, list[Action]]]] = [[] for _ in range(len(WORDS) + 1)]
    with torch.inference_mode():
        for number, actions in derivations(
            WORDS, vocabulary.labels, strategy_of(network), **LIMITS[name]
        ):
            log_prob = float(sum(slow.log_prob(actions)))
            found[number - 1].append((math.exp(log_prob), actions))
    return found


def written(actions: Sequence[Action], strategy: Strategy) -> str:
    """The slow way to write a partial derivation: one string that grows and is cut."""
    elements: list[str] = []
    for action in actions:
        if isinstance(action, Word):
            elements.append(escape(action.form))
        elif isinstance(action, Open) and strategy == "top_down":
            elements.append(f"({action.label}")
        elif isinstance(action, Open):
            elements.insert(len(elements) - 1, f"({action.label}")
        else:
            label = max(n for n, e in enumerate(elements) if e.count("(") > e.count(")"))
            elements[label:] = [" ".join(elements[label:]) + ")"]
    return " ".join(elements)


@MODELS
def test_shares_are_joint_probabilities_over_their_sum(name: str) -> None:
    vocabulary, strategy, result = everything(name)
    expected: dict[Tree, float] = defaultdict(float)
    for prob, actions in enumerated(name)[-1]:
        expected[rebuild(actions, strategy)] += prob
    total = sum(expected.values())
    found = k_best(result, WORDS, labels=vocabulary.labels, strategy=strategy, k=1000)
    assert len(found) == len(expected)
    for share, tree in found:
        assert share == pytest.approx(expected[tree] / total, abs=1e-9)
    best = max(expected, key=lambda tree: expected[tree])
    assert found[0][1] == best
    shares = [share for share, _ in found]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1, abs=1e-9)
    assert found[0][0] == pytest.approx(result.best_share[-1], abs=1e-9)


@MODELS
def test_partial_parses_are_those_of_all_partial_derivations(name: str) -> None:
    vocabulary, strategy, result = everything(name)
    found = partial_parses(result, WORDS, labels=vocabulary.labels, strategy=strategy, k=1000)
    assert len(found) == len(WORDS)
    for parses, probs, best_share in zip(found, enumerated(name), result.best_share, strict=False):
        expected = {written(actions, strategy): prob for prob, actions in probs}
        assert len(expected) == len(probs)
        total = sum(expected.values())
        assert {text for _, text in parses} == set(expected)
        for share, text in parses:
            assert share == pytest.approx(expected[text] / total, abs=1e-9)
        assert parses[0][0] == pytest.approx(best_share, abs=1e-9)


@MODELS
def test_a_narrow_beam_has_some_of_the_trees(name: str) -> None:
    vocabulary, strategy, result = everything(name)
    network = make_network(name, vocabulary)
    settings = WordSync(action_beam=8, word_beam=3, **LIMITS[name])
    (narrow,) = search(network, [vocabulary.encode(WORDS)], settings, keeps_history=True)
    some = k_best(narrow, WORDS, labels=vocabulary.labels, strategy=strategy, k=10)
    found = k_best(result, WORDS, labels=vocabulary.labels, strategy=strategy, k=1000)
    whole = {tree: share for share, tree in found}
    assert 0 < len(some) <= 3
    # The same probabilities, normalised over fewer.
    ratios = [share / whole[tree] for share, tree in some]
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-9)
    assert ratios[0] > 1


@MODELS
def test_sampled_hypotheses_have_the_shares_of_the_trees(name: str) -> None:
    vocabulary, strategy, result = everything(name)
    network = make_network(name, vocabulary)
    settings = Unbiased(action_beam=400, word_beam=120, roulette=1e-3, **LIMITS[name])
    (sampled,) = search(network, [vocabulary.encode(WORDS)], settings, keeps_history=True)
    options: dict[str, Any] = {"labels": vocabulary.labels, "strategy": strategy, "k": 1000}
    exact = {tree: share for share, tree in k_best(result, WORDS, **options)}
    found = {tree: share for share, tree in k_best(sampled, WORDS, **options)}
    assert set(found) <= set(exact)
    # The rest belongs to trees that were left to chance.
    assert 0.99 < sum(found.values()) <= 1 + 1e-9
    distance = sum(abs(exact[tree] - found.get(tree, 0.0)) for tree in exact) / 2
    assert distance < 0.3


def subword_scorer() -> tuple[StructuredScorer, Vocabulary]:
    corpus = ["hungry cats meow", "hungrier cats meowed", "a cat mewed"] * 3
    subwords = train_subwords(corpus, SubwordSettings(algorithm="bpe", pieces=24))
    vocabulary = subword_vocabulary(subwords, {}, labels=["S", "NP"], language="en")
    network = make_network("rnng", vocabulary)
    scorer = StructuredScorer(
        model=as_searched(network), vocabulary=vocabulary, subwords=subwords,
        settings=WordSync(action_beam=30, word_beam=8), is_packed=True,
    )  # fmt: skip
    return scorer, vocabulary


def test_pieces_come_back_as_words() -> None:
    scorer, vocabulary = subword_scorer()
    sentences = [["hungry", "cats", "mewed"], ["meow"]]
    results, split = scorer.search(sentences, keeps_history=True)
    assert split.lengths[0] > 3
    trees = []
    for number, (result, words) in enumerate(zip(results, sentences, strict=True)):
        options: dict[str, Any] = {
            "labels": vocabulary.labels, "strategy": "top_down",
            "starts_word": split.begins_word(number),
        }  # fmt: skip
        parses = k_best(result, words, k=8, **options)
        assert all(tree.words() == tuple(words) for _, tree in parses)
        assert sum(share for share, _ in parses) == pytest.approx(1)
        trees.append(parses[0][1])
        partial = partial_parses(result, words, k=8, **options)
        shares = best_shares_of(result, split, number)
        assert len(partial) == len(words) == len(shares) - 1
        for place, found in enumerate(partial):
            assert found[0][0] >= shares[place] - 1e-9  # equal derivations are one
            assert sum(share for share, _ in found) == pytest.approx(1)
            assert words[place] in found[0][1]
    assert bracketing(trees, trees, Conventions()).exact_match == 1
    of_all = [best_shares_of(one, split, n).tolist() for n, one in enumerate(results)]
    assert len(mass_rows(sentences, of_all)) == 6


@MODELS
def test_surprisals_settle_when_the_beam_holds_everything(name: str) -> None:
    vocabulary = tiny_vocabulary()
    network = make_network(name, vocabulary)
    tokens = [vocabulary.encode(WORDS), vocabulary.encode(["c"])]

    def score(settings: WordSync) -> list[Floats]:
        found = search(network, tokens, settings)
        return [r.token_log_probs(len(t)) for r, t in zip(found, tokens, strict=True)]

    small = WordSync(action_beam=4, word_beam=1, fast_track=0, **LIMITS[name])
    rows = convergence(score, small, factors=(1, 100, 200))
    assert rows[1].max_change_bits is not None
    assert rows[2].max_change_bits is not None
    assert rows[1].max_change_bits > 0.01
    assert rows[2].max_change_bits < 1e-9
    assert rows[0].events == 6


def test_the_slow_writer_is_right() -> None:
    """The running example, up to its last word."""
    tree = parse_tree("(S (NP the hungry cat) (VP meows))")
    events = list(tree.events())[:-2]
    assert written(events, "top_down") == "(S (NP the hungry cat) (VP meows"
