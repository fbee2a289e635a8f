"""Means in bits, against plain arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from src.eval.report.means import bit_means

ROWS = [
    ("m", 1, "s", 1, 2.0),
    ("m", 2, "s", 1, 4.0),  # the same item with another seed: 3 together
    ("m", 1, "s", 2, 5.0),
    ("m", 1, "t", 1, 10.0),  # a suite of one item weighs as much as one of two
    ("m", 1, "t", 2, math.inf),
    ("n", 1, "s", 1, -1.0),
]
TABLE = pd.DataFrame(ROWS, columns=["model", "seed", "suite", "item", "bits"])


def test_items_count_once_and_suites_count_once() -> None:
    found = bit_means(TABLE, value="bits", by=["model"]).set_index("model")
    assert found["mean"].to_dict() == {"m": pytest.approx((4.0 + 10.0) / 2), "n": -1.0}
    assert found["items"].to_dict() == {"m": 3, "n": 1}
    assert found["infinite"].to_dict() == {"m": 1, "n": 0}


def test_intervals_hold_the_mean_and_shrink_with_items() -> None:
    noise = np.random.default_rng(0).normal(3.0, 1.0, size=400)
    widths = []
    for size in (25, 400):
        rows = [("m", 1, "s", item, noise[item]) for item in range(size)]
        (row,) = bit_means(
            pd.DataFrame(rows, columns=TABLE.columns), value="bits", by=["model"]
        ).to_dict("records")
        assert row["low"] < row["mean"] < row["high"]
        widths.append(row["high"] - row["low"])
        # Near the normal approximation, 1.96 standard errors to each side.
        error = noise[:size].std() / math.sqrt(size)
        assert widths[-1] == pytest.approx(2 * 1.96 * error, rel=0.15)
    assert widths[1] < widths[0] / 2


def test_nothing_finite_gives_no_rows() -> None:
    table = TABLE.assign(bits=math.nan)
    assert len(bit_means(table, value="bits", by=["model"])) == 0
