"""Tests of correlations."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from scipy.stats import t as student

from gardenpath.errors import StatisticsError
from gardenpath.eval.statistics.corpora import Construction
from gardenpath.eval.statistics.inference import pearson
from tests.eval.statistics.r_program import r_table

PAIRS = st.lists(st.tuples(st.floats(-10, 10), st.floats(-10, 10)), min_size=5, max_size=20)


@given(PAIRS)
def test_pearson_by_its_definition(pairs: list[tuple[float, float]]) -> None:
    x, y = np.array(pairs).T
    if np.std(x) < 1e-3 or np.std(y) < 1e-3:
        return
    found = pearson(x, y)
    r = float(np.mean((x - x.mean()) * (y - y.mean())) / (x.std() * y.std()))
    assert found.r == pytest.approx(r, abs=1e-9)
    if abs(r) < 0.999:
        statistic = r * math.sqrt(found.df / (1.0 - r * r))
        assert found.p == pytest.approx(2.0 * student.sf(abs(statistic), len(x) - 2), abs=1e-9)
        reach = norm.ppf(0.975) / math.sqrt(len(x) - 3)
        ends = (math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach))
        assert (found.low, found.high) == pytest.approx(ends, abs=1e-9)


def test_pearson_is_that_of_r(tmp_path: Path) -> None:
    x, y = np.random.default_rng(4).normal(size=(2, 12)).round(4)
    y = y + 0.8 * x
    code = """
    test <- cor.test(d$x, d$y)
    found <- data.frame(r = test$estimate, df = test$parameter, p = test$p.value,
                        low = test$conf.int[1], high = test$conf.int[2])
    """
    found = r_table(tmp_path, code, "found", d=pd.DataFrame({"x": x, "y": y}))
    ours = pearson(x, y)
    assert [ours.r, ours.df, ours.p, ours.low, ours.high] == pytest.approx(
        found.iloc[0].tolist(), rel=1e-6
    )


def test_too_few_or_equal_values_are_refused() -> None:
    with pytest.raises(StatisticsError, match="not 2"):
        pearson([1.0, 2.0, math.nan], [1.0, 3.0, 4.0])
    with pytest.raises(StatisticsError, match="the same in every pair"):
        pearson([1.0, 1.0, 1.0], [1.0, 3.0, 4.0])


def test_perfect_correlation() -> None:
    found = pearson([1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 6.0, 8.0])
    assert (found.r, found.p) == (1.0, 0.0)
    assert math.isnan(found.low)


def _constructions(names: str) -> list[Construction]:
    return [Construction(name=n, annotated="S", plain="S", modifiers=(f"{n}1",)) for n in names]
