"""Ranges of settings."""

from __future__ import annotations

import math

import pytest

from gardenpath.settings.schema import Bounds


@pytest.mark.parametrize(
    ("bounds", "inside", "outside"),
    [
        (Bounds(1), [1, 2, 10**9], [0, -1, math.nan]),
        (Bounds(0.0, 1.0), [0.0, 0.5, 1.0], [-1e-9, 1.0000001]),
        (Bounds(0.0, 1.0, high_is_open=True), [0.0, 0.999], [1.0, -0.1, math.nan]),
    ],
)
def test_values_inside_and_outside(
    bounds: Bounds, inside: list[float], outside: list[float]
) -> None:
    assert all(bounds.allow(value) for value in inside)
    assert not any(bounds.allow(value) for value in outside)


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        (Bounds(1), "at least 1"),
        (Bounds(0.0, 1.0), "in [0, 1]"),
        (Bounds(0.0, 1.0, high_is_open=True), "in [0, 1)"),
        (Bounds(0, 2**32 - 1), "in [0, 4294967295]"),
    ],
)
def test_bounds_describe_themselves(bounds: Bounds, text: str) -> None:
    assert str(bounds) == text
