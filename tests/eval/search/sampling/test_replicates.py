"""Replicates: their mean, deviations and standard errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gardenpath.eval.search.replicates import pooled, standard_error, t_quantile


def test_the_mean_is_one_of_probabilities() -> None:
    found = pooled(np.log([[0.1, 0.3], [0.01, 0.03]]))
    np.testing.assert_allclose(np.exp(found.log_probs), [0.2, 0.02])
    np.testing.assert_allclose(found.relative, [[0.5, 1.5], [0.5, 1.5]])
    # The second word follows with 0.1 in both replicates: nothing deviates.
    np.testing.assert_allclose(found.deviations_bits[1], 0, atol=1e-15)
    np.testing.assert_allclose(found.deviations_bits[0], np.array([0.5, -0.5]) / math.log(2))


def test_a_replicate_without_survivors_counts_as_zero() -> None:
    found = pooled(np.array([[math.log(0.4), -np.inf]]))
    np.testing.assert_allclose(np.exp(found.log_probs), [0.2])
    np.testing.assert_allclose(found.relative, [[2.0, 0.0]])


def test_standard_errors_agree_with_a_simulation() -> None:
    # The spread of the reported surprisal over many repetitions of sixteen replicates.
    random = np.random.default_rng(0)
    repeats, replicates = 4000, 16
    one = random.gamma(20, 1 / 20, (repeats, replicates))
    other = 0.3 * one * random.gamma(30, 1 / 30, (repeats, replicates))
    surprisals, errors = [], []
    for first, second in zip(one, other, strict=True):
        found = pooled(np.log(np.stack([first, second])))
        surprisals.append((found.log_probs[0] - found.log_probs[1]) / math.log(2))
        errors.append(standard_error(found.deviations_bits)[1])
    assert np.std(surprisals) == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=0.05)
    truth = -math.log2(0.3)
    inside = np.abs(np.array(surprisals) - truth) <= t_quantile(replicates) * np.array(errors)
    assert inside.mean() == pytest.approx(0.95, abs=0.02)


def test_quantiles_of_few_replicates_are_large() -> None:
    assert t_quantile(4) == pytest.approx(3.182, abs=1e-3)
    assert t_quantile(1000) == pytest.approx(1.962, abs=1e-3)
