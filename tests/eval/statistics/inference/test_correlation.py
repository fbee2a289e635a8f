"""Tests of correlations with frequency."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from scipy.stats import t as student

from gardenpath.eval.statistics.corpora.patterns import Construction, ConstructionCount
from gardenpath.eval.statistics.inference.correlation import (
    frequency_correlations,
    licensing_by_frequency,
    pearson,
)
from gardenpath.eval.statistics.statistics_error import StatisticsError
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


def test_licensing_beside_frequency() -> None:
    constructions = _constructions("abcd")
    counts = [
        ConstructionCount(
            corpus="toy",
            construction=one.name,
            count=10 * (number + 1),
            sentences=1,
            total_sentences=1000,
            annotation="plain",
        )
        for number, one in enumerate(constructions)
    ]
    rows = [
        {
            "corpus": corpus,
            "model": "lstm",
            "modifier": f"{name}1",
            "effect": effect,
            "island": island,
            "value_bits": value if island == "no" else 99.0,
        }
        for corpus in ("toy", "other")
        for name, value in zip("abcd", (1.0, 2.5, 2.9, 4.0), strict=True)
        for effect in ("licensing_interaction", "wh_effect_gap")
        for island in ("no", "yes")
    ]
    table = licensing_by_frequency(pd.DataFrame(rows), counts, constructions)
    assert table["per_thousand"].tolist() == [10.0, 20.0, 30.0, 40.0]
    assert table["value_bits"].tolist() == [1.0, 2.5, 2.9, 4.0]
    found, sentences, skipped = frequency_correlations(table)
    expected = scipy.stats.pearsonr([10, 20, 30, 40], [1.0, 2.5, 2.9, 4.0])
    assert found["estimate"].tolist() == pytest.approx([expected.statistic])
    assert sentences[0].startswith(
        "The licensing interaction of LSTM trained on toy correlates with"
    )
    assert skipped == []
    assert frequency_correlations(table[:2])[2] == [
        "LSTM trained on toy: a correlation needs at least three pairs, not 2"
    ]
