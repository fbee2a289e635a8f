"""The search over real models, against everything there is to find."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gardenpath.eval.search.settings import Unbiased, WordSync
from tests.integration.searching import (
    MODELS,
    enumerated,
    log_probs,
    make_network,
    search,
    tiny_vocabulary,
)
from tests.tiers import in_turn, pairwise

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
