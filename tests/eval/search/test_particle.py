"""Particle filtering over small systems."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from gardenpath.eval.search.beam import Beam
from gardenpath.eval.search.particle import _drawn_anew
from gardenpath.eval.search.search_settings import Particle, WordSync
from gardenpath.eval.search.work import Work
from tests.eval.search.six_states import X, Y, Z, six_states
from tests.eval.search.toy_model import random_model, search

LIMITS: dict[str, Any] = {"max_open": 2, "max_consecutive": 2}


def exact(job: list[list[int]]) -> list[tuple[float, ...]]:
    how = WordSync(action_beam=200, word_beam=200, **LIMITS)
    return [result.prefix_log_probs for result in search(six_states(), job, how)]


def test_the_mean_of_many_estimates_is_the_probability() -> None:
    # Each estimate of each prefix is unbiased, whatever the number of particles; here there are
    # few, so that drawing anew matters.
    job = [[X, Y], [Y, X]]
    runs = 150
    found = np.zeros((runs, len(job), 3))
    for seed in range(runs):
        how = Particle(particles=5, seed=seed, **LIMITS)
        for number, result in enumerate(search(six_states(), job, how)):
            found[seed, number, : len(result.prefix_log_probs)] = np.exp(result.prefix_log_probs)
    error = found.std(0) / math.sqrt(runs)
    expected = np.exp(np.array(exact(job)))
    assert (np.abs(found.mean(0) - expected) < 4 * error).all()
    assert (error < 0.1 * expected).all()


def test_many_particles_are_close_to_the_sum() -> None:
    job = [[X, Y], [Y, X], [X]]
    found = search(six_states(), job, Particle(particles=4000, **LIMITS))
    for result, expected in zip(found, exact(job), strict=False):
        np.testing.assert_allclose(result.prefix_log_probs, expected, rtol=0, atol=0.15)


def test_particles_that_are_the_same_hypothesis_are_advanced_once() -> None:
    how = Particle(particles=200, **LIMITS)
    shared, apart, fixed = Work(), Work(), Work()
    (found,) = search(six_states(), [[X, Y]], how, work=shared)
    (alone,) = search(six_states(), [[X, Y]], replace(how, share_prefixes=False), work=apart)
    (expected,) = search(six_states(), [[X, Y]], how, work=fixed, is_packed=False)
    assert found.prefix_log_probs == alone.prefix_log_probs == expected.prefix_log_probs
    # Some two dozen derivations are there, and all of them are met more than once.
    assert shared.expanded < 40 < apart.expanded / 5 <= fixed.expanded / 5
    assert shared.word_scores < 40 < apart.word_scores / 5 <= fixed.word_scores / 5


def test_random_numbers_belong_to_the_seed_and_the_prefix() -> None:
    model = random_model(0)
    job = [[0, 1, 2], [0, 1], [2], [0, 1, 1]]
    how = Particle(particles=7, max_open=4, max_consecutive=3)
    together = search(model, job, how)
    for variant in (
        search(model, job, replace(how, share_prefixes=False)),
        search(model, job, how, budget=1),
        [search(model, [sentence], how)[0] for sentence in job],
        search(model, job[::-1], how)[::-1],
    ):
        for one, other in zip(together, variant, strict=True):
            np.testing.assert_allclose(one.prefix_log_probs, other.prefix_log_probs, atol=1e-12)
    # The prefix 0 1 is the same in all three sentences that begin with it.
    assert together[0].prefix_log_probs[:2] == together[1].prefix_log_probs[:2]
    changed = search(model, job, replace(how, seed=2))
    assert changed[0].prefix_log_probs != together[0].prefix_log_probs


def test_particles_know_their_derivations() -> None:
    # Every particle that survives "x" stands for a derivation that can generate it.
    (result,) = search(six_states(), [[X]], Particle(particles=50, **LIMITS), keeps_history=True)
    assert result.last is not None and result.last.before is not None
    first = result.last.before
    seen = {
        tuple(first.columns(place)[0]) for place in range(50) if np.isfinite(first.score[place])
    }
    assert seen <= {(3,), (4,), (3, 3), (3, 4), (4, 4)}
    assert len(seen) > 1
    assert (np.diff(first.score[np.isfinite(first.score)]) <= 0).all()


def test_a_failure_names_a_remedy_that_particles_have() -> None:
    # z comes from BB alone; a single particle is not likely to meet it.
    how = Particle(particles=1, **LIMITS)
    failures = [
        search(six_states(), [[Z]], replace(how, seed=seed))[0].failure for seed in range(20)
    ]
    remedies = {failure.remedy for failure in failures if failure is not None}
    assert remedies
    assert remedies <= {
        "raise search.particles", "raise search.max_open", "raise search.max_consecutive",
    }  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_no_dead_particle_is_drawn(dtype: torch.dtype) -> None:
    # Shares may add up to a little less than one; what is missing belongs to the living.
    count, living = 100, 61
    number = torch.arange(count).unsqueeze(0)
    for seed in range(50):
        score = torch.full((1, count), -math.inf, dtype=dtype)
        random = np.random.default_rng(seed).normal(size=living)
        score[0, :living] = torch.from_numpy(np.sort(random)[::-1].copy())
        beam = Beam(
            score=score, node=number, depth=number, opened=number, origin=number,
            trail=torch.zeros((1, count, 0), dtype=torch.int16),
        )  # fmt: skip
        for uniform in (0.0, 0.5, 1 - 2**-24):
            found = _drawn_anew(beam, torch.tensor([uniform], dtype=dtype))
            assert (found.node < living).all()
            total, before = found.score.logsumexp(1), score.logsumexp(1)
            torch.testing.assert_close(total, before, rtol=0, atol=1e-5)
