"""What the survivors say about a word, against sums in plain lists."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from gardenpath.eval.search.result import BEST_JOINT, FACTOR, MEASURED, token_measures
from gardenpath.eval.search.settings import Unbiased, WordSync
from tests.eval.search.naive_search import Hypothesis, NaiveSearch
from tests.eval.search.toy_model import ToyModel, random_model, search

LIMITS: dict[str, Any] = {"max_open": 2, "max_consecutive": 2}
EVERYTHING = WordSync(action_beam=1000, word_beam=1000, **LIMITS)
NARROW = WordSync(action_beam=8, word_beam=4, **LIMITS)
SENTENCE = [1, 2, 0]


def log_sum(values: list[float]) -> float:
    top = max(values)
    return top + math.log(sum(math.exp(value - top) for value in values))


def by_hand(survivors: list[Hypothesis], before: list[Hypothesis]) -> dict[str, float]:
    """The measures of one word, analysis by analysis."""
    total = log_sum([one.log_prob for one in survivors])
    shares = [math.exp(one.log_prob - total) for one in survivors]
    best = max(survivors, key=lambda one: one.log_prob)
    best_before = max(before, key=lambda one: one.log_prob)
    continues = [one.taken[:-1] == best_before.taken for one in survivors]
    if best_before.taken == ((),):  # nothing has been read yet
        continues = [True] * len(survivors)
    return {
        "entropy_bits": -sum(p * math.log2(p) for p in shares if p > 0),
        "open_constituents": sum(p * one.depth for p, one in zip(shares, survivors, strict=True)),
        "analyses": sum(one.log_prob >= best.log_prob - math.log(FACTOR) for one in survivors),
        "best_share": math.exp(best.log_prob - total),
        "best_kept_share": sum(p for p, yes in zip(shares, continues, strict=True) if yes),
        "reanalysis": float(not continues[survivors.index(best)]),
    }


@pytest.mark.parametrize("how", [EVERYTHING, NARROW])
@pytest.mark.parametrize("is_packed", [True, False])
def test_measures_are_those_of_the_survivors(how: WordSync, is_packed: bool) -> None:
    for seed in range(4):
        model = random_model(seed)
        (found,) = search(model, [SENTENCE], how, is_packed=is_packed)
        words = NaiveSearch(model, how).run(SENTENCE)
        before = [Hypothesis()]
        for place, word in enumerate(words):
            expected = by_hand(word.survivors, before)
            for name, value in expected.items():
                assert getattr(found.measures, name)[place] == pytest.approx(value, abs=1e-9), name
            before = word.survivors


def lexical_and_structural(model: ToyModel) -> tuple[list[float], list[float]]:
    """Both parts of surprisal by their definition, from all derivations."""
    words = NaiveSearch(model, EVERYTHING).run(SENTENCE)
    total_before = 0.0
    lexical, structural = [], []
    for place, word in enumerate(words):
        total = log_sum([one.log_prob for one in word.survivors])
        parts = [0.0, 0.0]
        for one in word.survivors:
            share = math.exp(one.log_prob - total)
            # The node is the one at which the word was generated.
            given = 0.0
            if place < len(SENTENCE):
                token = torch.tensor([SENTENCE[place]])
                given = float(model.word_log_prob(torch.tensor([one.node]), token))
            prior = one.log_prob - given - total_before
            parts[0] -= share * given
            parts[1] += share * (math.log(share) - prior)
        lexical.append(parts[0] / math.log(2))
        structural.append(parts[1] / math.log(2))
        total_before = total
    return lexical, structural


def test_surprisal_is_structure_and_word() -> None:
    for seed in range(5):
        model = random_model(seed)
        lexical, structural = lexical_and_structural(model)
        (found,) = search(model, [SENTENCE], EVERYTHING)
        surprisal = -found.token_log_probs(len(SENTENCE)) / math.log(2)
        np.testing.assert_allclose(found.measures.word_bits, lexical, rtol=0, atol=1e-9)
        np.testing.assert_allclose(
            surprisal - found.measures.word_bits, structural, rtol=0, atol=1e-9
        )
        assert min(structural) > -1e-9  # a divergence


def test_sampled_hypotheses_estimate_the_same() -> None:
    model = random_model(4)
    (exact,) = search(model, [SENTENCE], EVERYTHING)
    settings = Unbiased(action_beam=20, word_beam=12, replicates=64, roulette=0.01, **LIMITS)
    (found,) = search(model, [SENTENCE], settings)
    for name in ("entropy_bits", "open_constituents", "word_bits", "best_share"):
        np.testing.assert_allclose(
            getattr(found.measures, name), getattr(exact.measures, name), rtol=0.1, atol=0.1
        )


def test_a_share_is_at_most_one() -> None:
    """The best analysis may be in one of the replicates only, and their mean is below it."""
    found = np.full((1, 4, MEASURED), 0.0)
    lost = np.log(0.001)
    # In one replicate, the best analysis survived by chance and weighs twice what it is worth.
    found[0, :, -1] = [np.log(2 * 0.1), lost, lost, lost]
    found[0, :, BEST_JOINT] = [np.log(0.1), lost, lost, lost]
    measures = token_measures(found)
    assert measures.best_share[0] == 1.0
    assert measures.entropy_bits[0] >= 0.0
