"""The search over real models, of words and of pieces, against everything there is to find."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from gardenpath.data.arrays import Floats
from gardenpath.data.encoding import EncodedSplit
from gardenpath.data.trees.legality import Action, Kind, Strategy, top_down
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
from gardenpath.models.family import FAMILIES, NeuralFamily
from gardenpath.models.syntactic.attention_composition import AttentionComposition
from gardenpath.models.syntactic.networks import PlmNetwork, RnngNetwork
from tests.eval.search.slow_search import derivations
from tests.integration.searching import (
    MODELS,
    as_searched,
    enumerated,
    log_probs,
    make_network,
    piece_vocabulary,
    search,
    strategy_of,
    tiny_vocabulary,
)
from tests.models.slow_models import SlowPlm, StepwiseRnng
from tests.tiers import in_turn, pairwise
from tests.tree_samples import rebuild

# In-order derivations may go on above a complete root, so there are many more of them.
LIMITS: dict[str, Any] = {"max_open": 2, "max_consecutive": 2}
IN_ORDER_LIMITS: dict[str, Any] = {"max_open": 2, "max_consecutive": 1}
SENTENCES = (["a", "b", "c"], ["c"], ["a", "b", "a"], ["a", "b"])
EVERYTHING = WordSync(action_beam=400, word_beam=100, **LIMITS)
NARROW = WordSync(action_beam=9, word_beam=3, **LIMITS)


@pytest.mark.parametrize("name", MODELS)
def test_a_beam_that_holds_everything_finds_the_sum_over_all_derivations(name: str) -> None:
    vocabulary = tiny_vocabulary()
    network = make_network(name, vocabulary)
    tokens = [vocabulary.encode(words) for words in SENTENCES]
    limits = IN_ORDER_LIMITS if name == "rnng_in_order" else LIMITS
    results = search(network, tokens, replace(EVERYTHING, **limits))
    for words, found in zip(SENTENCES, log_probs(results), strict=True):
        expected = enumerated(network, vocabulary, words, **limits)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def changed(**changes: Any) -> WordSync:
    return replace(NARROW, **changes)


SAVINGS = [
    changed(bounded=False),
    changed(lazy_words=False),
    changed(shared_compositions=False),
    changed(share_prefixes=False),
    changed(bounded=False, lazy_words=False, shared_compositions=False, share_prefixes=False),
    changed(fast_track=0),
    changed(fast_track=3, bounded=False),
    changed(stop="beam_full", bounded=False, lazy_words=False),
    changed(marginal="candidates", bounded=False, lazy_words=False),
]


@pytest.mark.parametrize(("name", "settings"), in_turn([*MODELS], SAVINGS, each=4))
def test_savings_change_nothing(name: str, settings: WordSync) -> None:
    vocabulary = tiny_vocabulary()
    network = make_network(name, vocabulary)
    tokens = [vocabulary.encode(words) for words in SENTENCES]
    reference = replace(
        settings, bounded=True, lazy_words=True, shared_compositions=True, share_prefixes=True
    )
    expected = log_probs(search(network, tokens, reference))
    for one, other in zip(log_probs(search(network, tokens, settings)), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "is_packed", "groups"), pairwise([*MODELS], [True, False], [1, 2, 64])
)
def test_batches_order_and_shapes_change_nothing(name: str, is_packed: bool, groups: int) -> None:
    vocabulary = tiny_vocabulary()
    network = make_network(name, vocabulary)
    tokens = [vocabulary.encode(words) for words in SENTENCES]
    alone = [log_probs(search(network, [one], NARROW))[0] for one in tokens]
    turned = search(network, tokens[::-1], NARROW, groups=groups, is_packed=is_packed)[::-1]
    for one, other in zip(log_probs(turned), alone, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_later_words_never_change_earlier_ones(name: str) -> None:
    vocabulary = tiny_vocabulary()
    network = make_network(name, vocabulary)
    long, short = (vocabulary.encode(words) for words in (["a", "b", "c", "a"], ["a", "b"]))
    first = log_probs(search(network, [long], NARROW))[0]
    second = log_probs(search(network, [short], NARROW))[0]
    np.testing.assert_allclose(first[:2], second[:2], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["rnng", "plm"])
def test_candidates_are_at_least_the_survivors(name: str) -> None:
    vocabulary = tiny_vocabulary()
    network = make_network(name, vocabulary)
    tokens = [vocabulary.encode(SENTENCES[0])]
    survivors = log_probs(search(network, tokens, NARROW))[0]
    candidates = log_probs(search(network, tokens, changed(marginal="candidates")))[0]
    everything = log_probs(search(network, tokens, EVERYTHING))[0]
    assert (candidates >= survivors - 1e-12).all()
    assert (candidates > survivors).any()
    assert (candidates <= everything + 1e-12).all()


@pytest.mark.parametrize("name", ["rnng", "rnng_in_order", "plm"])
def test_an_unbiased_search_estimates_the_sum_over_all_derivations(name: str) -> None:
    vocabulary = tiny_vocabulary()
    network = make_network(name, vocabulary)
    tokens = [vocabulary.encode(words) for words in SENTENCES]
    limits = IN_ORDER_LIMITS if name == "rnng_in_order" else LIMITS
    found = log_probs(
        search(network, tokens, Unbiased(action_beam=10, word_beam=6, replicates=32, **limits))
    )
    for words, one in zip(SENTENCES, found, strict=True):
        expected = enumerated(network, vocabulary, words, **limits)
        np.testing.assert_allclose(one, expected, rtol=0, atol=0.3)


@pytest.mark.parametrize("name", ["rnng", "plm"])
def test_random_numbers_depend_on_the_prefix_and_the_seed_alone(name: str) -> None:
    vocabulary = tiny_vocabulary()
    network = make_network(name, vocabulary)
    tokens = [vocabulary.encode(words) for words in SENTENCES]
    settings = Unbiased(action_beam=5, word_beam=3, **LIMITS)
    together = log_probs(search(network, tokens, settings))
    alone = [log_probs(search(network, [one], settings))[0] for one in tokens]
    apart = log_probs(search(network, tokens, replace(settings, share_prefixes=False)))
    other_seed = log_probs(search(network, tokens, replace(settings, seed=2)))
    for one, two, three in zip(together, alone, apart, strict=True):
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-9)
        np.testing.assert_allclose(one, three, rtol=0, atol=1e-9)
    assert any(abs(one[-1] - two[-1]) > 1e-6 for one, two in zip(together, other_seed, strict=True))


# ----------------------------------------------------------------------------
# Words of several pieces in the search over real models, against everything there is to find.


EVERYTHING_OF_PIECES = WordSync(action_beam=600, word_beam=600, **LIMITS)

VOCABULARY = piece_vocabulary()
A, B, C = (VOCABULARY.ids[piece] for piece in ("▁a", "▁b", "c"))
# Words of one, two and three pieces, at the beginning, in the middle and at the end.
SENTENCES_OF_PIECES = [[A, C, B], [A, B], [B, C, C], [A, C], [A, C, B, C]]


def pieces_of(tokens: list[int]) -> list[str]:
    return [VOCABULARY.tokens[token] for token in tokens]


def limits_of(name: str) -> dict[str, Any]:
    return IN_ORDER_LIMITS if name == "rnng_in_order" else LIMITS


# Classes of words are for words.
OVER_PIECES = [name for name in MODELS if "factored" not in name]


@pytest.mark.parametrize("name", OVER_PIECES)
def test_so_it_does_if_words_have_several_pieces(name: str) -> None:
    network = make_network(name, VOCABULARY)
    limits = limits_of(name)
    sentences = SENTENCES_OF_PIECES[:4]
    results = search(network, sentences, replace(EVERYTHING_OF_PIECES, **limits))
    for tokens, found in zip(sentences, log_probs(results), strict=True):
        expected = enumerated(network, VOCABULARY, pieces_of(tokens), **limits)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", OVER_PIECES)
def test_that_a_word_ends_is_that_no_piece_continues_it(name: str) -> None:
    # One step of each survivor against the search for all words that begin with these pieces.
    network = make_network(name, VOCABULARY)
    how = replace(EVERYTHING_OF_PIECES, **limits_of(name))
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


@pytest.mark.parametrize(
    ("name", "prefix"),
    in_turn(
        ["rnng", "rnng_in_order", "rnng_attention", "plm", "plm_mask"],
        [[], [A], [A, C], [B, C, C]],
        each=3,
    ),
)
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


@pytest.mark.parametrize(
    ("name", "is_packed", "groups"), pairwise(OVER_PIECES, [True, False], [1, 64])
)
def test_batches_order_sharing_and_shapes_change_nothing(
    name: str, is_packed: bool, groups: int
) -> None:
    network = make_network(name, VOCABULARY)
    alone = [
        all_numbers(search(network, [one], NARROW, finds_word_ends=True))[0]
        for one in SENTENCES_OF_PIECES
    ]
    for how in (NARROW, replace(NARROW, share_prefixes=False, bounded=False, lazy_words=False)):
        turned = search(
            network,
            SENTENCES_OF_PIECES[::-1],
            how,
            groups=groups,
            is_packed=is_packed,
            finds_word_ends=True,
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
    (exact,) = search(network, job, replace(EVERYTHING_OF_PIECES, **limits), finds_word_ends=True)
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
    alone = [
        all_numbers(search(network, [one], how, finds_word_ends=True))[0]
        for one in SENTENCES_OF_PIECES
    ]
    for settings in (how, replace(how, share_prefixes=False)):
        together = search(
            network, SENTENCES_OF_PIECES, settings, is_packed=is_packed, finds_word_ends=True
        )
        for one, other in zip(all_numbers(together), alone, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)


# ----------------------------------------------------------------------------
# Parses that searches over real models find, against all derivations there are.


WORDS = ["a", "b", "c"]
PARSE_LIMITS: dict[str, dict[str, Any]] = {
    "rnng": {"max_open": 2, "max_consecutive": 2},
    "rnng_in_order": {"max_open": 2, "max_consecutive": 1},
    "plm": {"max_open": 2, "max_consecutive": 2},
}
PARSING_MODELS = pytest.mark.parametrize("name", PARSE_LIMITS)


@cache
def everything(name: str) -> tuple[Vocabulary, Strategy, SentenceResult]:
    """A search with a beam that nothing falls off."""
    vocabulary = tiny_vocabulary()
    network = make_network(name, vocabulary)
    settings = WordSync(action_beam=400, word_beam=200, **PARSE_LIMITS[name])
    (result,) = search(network, [vocabulary.encode(WORDS)], settings, keeps_history=True)
    return vocabulary, strategy_of(network), result


@cache
def enumerated_trees(name: str) -> list[list[tuple[float, list[Action]]]]:
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
            WORDS, vocabulary.labels, strategy_of(network), **PARSE_LIMITS[name]
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


@PARSING_MODELS
def test_shares_are_joint_probabilities_over_their_sum(name: str) -> None:
    vocabulary, strategy, result = everything(name)
    expected: dict[Tree, float] = defaultdict(float)
    for prob, actions in enumerated_trees(name)[-1]:
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


@PARSING_MODELS
def test_partial_parses_are_those_of_all_partial_derivations(name: str) -> None:
    vocabulary, strategy, result = everything(name)
    found = partial_parses(result, WORDS, labels=vocabulary.labels, strategy=strategy, k=1000)
    assert len(found) == len(WORDS)
    for parses, probs, best_share in zip(
        found, enumerated_trees(name), result.best_share, strict=False
    ):
        expected = {written(actions, strategy): prob for prob, actions in probs}
        assert len(expected) == len(probs)
        total = sum(expected.values())
        assert {text for _, text in parses} == set(expected)
        for share, text in parses:
            assert share == pytest.approx(expected[text] / total, abs=1e-9)
        assert parses[0][0] == pytest.approx(best_share, abs=1e-9)


@PARSING_MODELS
def test_a_narrow_beam_has_some_of_the_trees(name: str) -> None:
    vocabulary, strategy, result = everything(name)
    network = make_network(name, vocabulary)
    settings = WordSync(action_beam=8, word_beam=3, **PARSE_LIMITS[name])
    (narrow,) = search(network, [vocabulary.encode(WORDS)], settings, keeps_history=True)
    some = k_best(narrow, WORDS, labels=vocabulary.labels, strategy=strategy, k=10)
    found = k_best(result, WORDS, labels=vocabulary.labels, strategy=strategy, k=1000)
    whole = {tree: share for share, tree in found}
    assert 0 < len(some) <= 3
    # The same probabilities, normalised over fewer.
    ratios = [share / whole[tree] for share, tree in some]
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-9)
    assert ratios[0] > 1


@PARSING_MODELS
def test_sampled_hypotheses_have_the_shares_of_the_trees(name: str) -> None:
    vocabulary, strategy, result = everything(name)
    network = make_network(name, vocabulary)
    settings = Unbiased(action_beam=400, word_beam=120, roulette=1e-3, **PARSE_LIMITS[name])
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


@PARSING_MODELS
def test_surprisals_settle_when_the_beam_holds_everything(name: str) -> None:
    vocabulary = tiny_vocabulary()
    network = make_network(name, vocabulary)
    tokens = [vocabulary.encode(WORDS), vocabulary.encode(["c"])]

    def score(settings: WordSync) -> list[Floats]:
        found = search(network, tokens, settings)
        return [r.token_log_probs(len(t)) for r, t in zip(found, tokens, strict=True)]

    small = WordSync(action_beam=4, word_beam=1, fast_track=0, **PARSE_LIMITS[name])
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
