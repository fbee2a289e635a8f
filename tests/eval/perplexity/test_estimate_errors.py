"""Errors of the log probability of a corpus, against sums over all pairs and against samples."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.arrays import Floats
from gardenpath.eval.perplexity import Perplexity, estimate_errors
from gardenpath.eval.search.replicates import pooled, standard_error
from gardenpath.util import NATS_PER_BIT, Words

REPLICATES = 8
_words = st.lists(st.sampled_from("ab"), max_size=4).map(tuple)


def _log_estimates(
    sentences: list[Words], generator: np.random.Generator, spread: float, replicates: int
) -> list[Floats]:
    """Log estimates of all prefixes; those of a common prefix are the same in all sentences."""
    factors: dict[tuple[str, ...], Floats] = {}
    found = []
    for words in sentences:
        path = (*words, "</s>")
        logs = []
        for length in range(1, len(path) + 1):
            if path[:length] not in factors:
                normal = generator.normal(size=replicates)
                # The mean of the factor is 1/2.
                factors[path[:length]] = math.log(0.5) + spread * normal - spread**2 / 2
            logs.append(factors[path[:length]])
        found.append(np.cumsum(logs, axis=0))
    return found


def _deviations(estimates: list[Floats]) -> list[Floats]:
    return [pooled(one).deviations_bits for one in estimates]


@given(st.lists(_words, min_size=1, max_size=6), st.integers(0, 2**32 - 1))
def test_the_variance_is_the_sum_over_all_pairs(sentences: list[Words], seed: int) -> None:
    generator = np.random.default_rng(seed)
    deviations = _deviations(_log_estimates(sentences, generator, 0.3, REPLICATES))
    ended = [(*words, "</s>") for words in sentences]
    expected = 0.0
    for one, other in itertools.product(range(len(sentences)), repeat=2):
        pairs = zip(ended[one], ended[other], strict=False)
        common = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
        prefix = deviations[one][:common].sum(0)
        expected += (float(standard_error(prefix)) * NATS_PER_BIT) ** 2
    found = estimate_errors(sentences, deviations)
    assert found.error_nats**2 == pytest.approx(expected, abs=1e-12)


def test_sentences_with_nothing_in_common_are_independent() -> None:
    sentences: list[Words] = [("a", "b"), ("c",), ("d", "a")]
    estimates = _log_estimates(sentences, np.random.default_rng(3), 0.2, REPLICATES)
    deviations = _deviations(estimates)
    errors = [float(standard_error(one.sum(0))) * NATS_PER_BIT for one in deviations]
    found = estimate_errors(sentences, deviations)
    assert found.error_nats == pytest.approx(math.hypot(*errors))
    assert found.bias_nats == pytest.approx(sum(error**2 for error in errors) / 2)
    twice = estimate_errors([sentences[0]] * 2, [deviations[0]] * 2)
    assert twice.error_nats == pytest.approx(2 * errors[0]), "one estimate, counted twice"
    assert twice.bias_nats == pytest.approx(errors[0] ** 2)


def test_errors_and_bias_are_those_of_repeated_estimates() -> None:
    """The same corpus, estimated many times: some sentences begin alike, and one occurs twice."""
    sentences: list[Words] = [("a", "b"), ("a", "b", "c"), ("a", "c"), ("d",), ("d",)]
    truth = -math.log(2) * sum(len(words) + 1 for words in sentences)
    generator = np.random.default_rng(11)
    totals, errors, biases = [], [], []
    for _ in range(3000):
        estimates = _log_estimates(sentences, generator, 0.25, REPLICATES)
        totals.append(sum(float(pooled(one).log_probs[-1]) for one in estimates))
        found = estimate_errors(sentences, _deviations(estimates))
        errors.append(found.error_nats)
        biases.append(found.bias_nats)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(totals), rel=0.08)
    # Surprisals are too large on average.
    sampling = float(np.std(totals)) / math.sqrt(len(totals))
    assert truth - np.mean(totals) == pytest.approx(np.mean(biases), abs=3 * sampling)
    assert np.mean(biases) > 5 * sampling


def test_errors_of_perplexity_and_bits_are_its_derivatives() -> None:
    exact = Perplexity(sentences=2, words=6, word_nats=9.0, end_nats=3.0)
    assert exact.with_end_se is exact.bits_per_word_se is exact.bias_bits_per_word is None
    found = Perplexity(
        sentences=2, words=6, word_nats=9.0, end_nats=3.0, error_nats=0.4, bias_nats=0.08
    )
    step = 1e-6
    more = Perplexity(sentences=2, words=6, word_nats=9.0 + step, end_nats=3.0)
    assert found.with_end_se == pytest.approx(0.4 * (more.with_end - found.with_end) / step)
    assert found.bits_per_word_se == pytest.approx(0.4 / 8 / math.log(2))
    assert found.bias_bits_per_word == pytest.approx(0.01 / math.log(2))
    nothing = Perplexity(sentences=0, words=0, word_nats=0.0, end_nats=0.0, error_nats=0.0)
    assert nothing.with_end_se is None
