"""Tests of predictors of unusual size."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gardenpath.eval.statistics.design import build_design, in_usual_units
from gardenpath.eval.statistics.formulas import Distribution
from gardenpath.eval.statistics.mixed import fit_mixed
from tests.eval.statistics.tables import slopes_table


@pytest.mark.parametrize("size", [1e-4, 1e4])
@pytest.mark.parametrize(
    ("formula", "family"),
    [
        ("y ~ x + (x | g) + (1 | h)", "gaussian"),
        ("y ~ x + (0 + x | g)", "gaussian"),
        ("o ~ x + (x | g)", "binomial"),
        ("o ~ x + (1 | g)", "binomial"),
    ],
)
def test_estimates_do_not_depend_on_the_size_of_a_predictor(
    formula: str, family: Distribution, size: float
) -> None:
    table = slopes_table()
    plain = fit_mixed(formula, table, family=family)
    other = fit_mixed(formula, table.assign(x=size * table["x"]), family=family)
    assert plain.converged and other.converged
    one, two = plain.effect("x"), other.effect("x")
    assert size * two.estimate == pytest.approx(one.estimate, rel=1e-5)
    assert size * two.standard_error == pytest.approx(one.standard_error, rel=1e-5)
    assert two.p == pytest.approx(one.p, rel=1e-4)
    for before, after in zip(plain.random, other.random, strict=True):
        scale = size**2 if after.name == "x" else 1.0
        assert scale * after.variance == pytest.approx(before.variance, rel=1e-4)
        assert after.correlations == pytest.approx(before.correlations, abs=1e-4)
    # The restricted likelihood changes with the units of fixed effects.
    shift = math.log(size) if family == "gaussian" else 0.0
    assert other.log_likelihood + shift == pytest.approx(plain.log_likelihood, abs=1e-7)


def test_a_shift_of_a_predictor_leaves_its_slope_as_it_is() -> None:
    table = slopes_table()
    plain = fit_mixed("y ~ x + (x | g)", table, family="gaussian").effect("x")
    table["x"] += 30.0
    shifted = fit_mixed("y ~ x + (x | g)", table, family="gaussian").effect("x")
    assert shifted.estimate == pytest.approx(plain.estimate, rel=1e-5)
    assert shifted.standard_error == pytest.approx(plain.standard_error, rel=1e-5)
    assert shifted.df == pytest.approx(plain.df, rel=1e-2)


def test_usual_predictors_stay_as_they_are() -> None:
    design = build_design("y ~ x + (x | g)", slopes_table())
    scaled, units = in_usual_units(design)
    assert (scaled.fixed == design.fixed).all()
    assert (scaled.random != design.random).nnz == 0
    assert units.fixed.tolist() == [1.0, 1.0] and units.theta.tolist() == [1.0, 1.0, 1.0]


def test_units_are_root_mean_squares() -> None:
    table = slopes_table()
    table["x"] *= 1000.0
    scaled, units = in_usual_units(build_design("y ~ x + (x | g)", table))
    size = float(np.sqrt(np.mean(table["x"] ** 2)))
    assert units.fixed == pytest.approx([1.0, size])
    # Intercept; slope by intercept, and slope, both in the row of the slope.
    assert units.theta == pytest.approx([1.0, size, size])
    assert np.mean(scaled.fixed[:, 1] ** 2) == pytest.approx(1.0)
