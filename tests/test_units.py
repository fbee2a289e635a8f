"""Nats, bits and log10: conversions against logarithms that Python computes itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.util import NATS_PER_LOG10, bits, nats, perplexity_of


@given(st.floats(min_value=1e-300, max_value=1.0))
def test_bits_are_logarithms_to_base_two(probability: float) -> None:
    expected = -math.log2(probability)
    assert bits(math.log(probability)) == pytest.approx(expected, rel=1e-14, abs=1e-15)
    assert math.log10(probability) * NATS_PER_LOG10 == pytest.approx(math.log(probability))


@given(st.lists(st.floats(min_value=-1e6, max_value=0.0), max_size=5))
def test_arrays_and_numbers_are_converted_alike_and_back(log_probs: list[float]) -> None:
    array = np.array(log_probs, dtype=np.float64)
    assert bits(array).tolist() == [bits(value) for value in log_probs]
    assert nats(array).tolist() == [nats(value) for value in log_probs]
    np.testing.assert_allclose(nats(bits(array)), array, rtol=1e-15, atol=0)


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_a_certain_event_has_a_surprisal_of_plus_zero(zero: float) -> None:
    for found in (bits(zero), float(bits(np.array([zero]))[0]), nats(zero)):
        assert found == 0.0
        assert math.copysign(1.0, found) == 1.0


def test_impossible_and_unknown_events() -> None:
    assert bits(-math.inf) == math.inf and nats(math.inf) == -math.inf
    assert math.isnan(bits(math.nan)) and math.isnan(nats(math.nan))
    np.testing.assert_array_equal(bits(np.array([-np.inf, np.nan])), [np.inf, np.nan])


def test_single_precision_is_converted_in_double() -> None:
    found = bits(np.array([-1.0], dtype=np.float32))
    assert found.dtype == np.float64
    assert found[0] == 1.0 / math.log(2.0)


def test_perplexity_does_not_overflow() -> None:
    assert perplexity_of(math.log(80.0)) == pytest.approx(80.0)
    assert perplexity_of(1e4) == math.inf
