"""Which outcomes could flip, against all ways in which undecided comparisons can turn out."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.eval.search.replicates import t_quantile
from gardenpath.eval.suites.formula import And, Claim, Comparison, Formula, Or, Term, Value
from gardenpath.eval.suites.outcomes import Outcome, margin, margin_error, outcome
from gardenpath.eval.suites.regions import NO_ERROR, Deviations

COUNT = 5
# Standard error of the deviations below, and how far the interval reaches.
UNIT = Deviations({COUNT: np.array([1.0, -1.0, 2.0, -2.0, 0.0])})
REACH = t_quantile(COUNT) * UNIT.standard_error
COMPARISON = "(r;%a%) > (r;%b%)"


def _scaled(error: float) -> Deviations:
    """Deviations whose interval reaches ``error`` bits."""
    return Deviations({COUNT: UNIT.by_count[COUNT] * error / REACH})


def _outcome(text: str, values: dict[str, float], errors: dict[str, float]) -> Outcome:
    return outcome(
        Formula.parse(text),
        lambda _, condition: values[condition],
        errors=lambda _, condition: _scaled(errors.get(condition, 0.0)),
    )


@pytest.mark.parametrize(
    ("difference", "error", "expected"),
    [(1.0, 0.9, False), (1.0, 1.1, True), (-1.0, 1.1, True), (-1.0, 0.9, False), (0.0, 0.1, True)],
)
def test_a_difference_within_its_error_could_flip(
    difference: float, error: float, expected: bool
) -> None:
    found = _outcome(COMPARISON, {"a": 3.0 + difference, "b": 3.0}, {"a": error})
    assert found.error.could_flip is expected
    assert found.error.standard_error == pytest.approx(error / REACH * UNIT.standard_error)


def test_a_tie_without_error_stays_a_tie() -> None:
    found = _outcome(COMPARISON, {"a": 3.0, "b": 3.0}, {})
    assert (found.value, found.error.could_flip) == (0.5, False)
    # Errors of rounding are no errors.
    assert _outcome(COMPARISON, {"a": 3.0, "b": 3.0}, {"a": 1e-15}).error.could_flip is False


@pytest.mark.parametrize(("difference", "expected"), [(0.0, True), (0.3, True), (0.7, False)])
def test_equality_holds_within_a_tolerance(difference: float, expected: bool) -> None:
    found = _outcome("(r;%a%) = (r;%b%)", {"a": 3.0 + difference, "b": 3.0}, {"a": 0.5})
    assert found.error.could_flip is expected
    sure = _outcome("(r;%a%) = (r;%b%)", {"a": 3.0, "b": 3.0}, {"a": 1e-4})
    assert sure.value == 1.0 and sure.error.could_flip is False


def test_the_error_is_that_of_the_comparison_that_determines_the_difference() -> None:
    values = {"a": 5.0, "b": 4.0, "c": 2.0}
    both = "(r;%a%) > (r;%b%) & (r;%a%) > (r;%c%)"
    errors = {"b": 0.5, "c": 0.2}
    found = _outcome(both, values, errors)
    assert found.difference_bits == 1.0
    assert found.error.standard_error == pytest.approx(_scaled(0.5).standard_error)
    one = _outcome(both.replace("&", "|"), values, errors)
    assert one.difference_bits == 3.0
    assert one.error.standard_error == pytest.approx(_scaled(0.2).standard_error)


@pytest.mark.parametrize(
    ("text", "values", "errors", "expected"),
    [
        # Certainly false, whatever the other comparison is.
        ("&", {"a": 5.0, "b": 6.0, "c": 5.1}, {"c": 1.0}, False),
        ("&", {"a": 5.0, "b": 4.0, "c": 4.9}, {"c": 1.0}, True),
        # The smallest difference is certain, but a larger one is not.
        ("&", {"a": 5.0, "b": 4.0, "c": 2.0}, {"c": 4.0}, True),
        ("|", {"a": 5.0, "b": 4.0, "c": 5.1}, {"c": 1.0}, False),
        ("|", {"a": 5.0, "b": 6.0, "c": 5.1}, {"c": 1.0}, True),
        # A tie without error, and a comparison that decides or not.
        ("&", {"a": 5.0, "b": 5.0, "c": 5.1}, {"c": 1.0}, True),
        ("&", {"a": 5.0, "b": 5.0, "c": 7.0}, {"c": 1.0}, False),
        ("|", {"a": 5.0, "b": 5.0, "c": 3.0}, {"c": 1.0}, False),
    ],
)
def test_joined_claims(
    text: str, values: dict[str, float], errors: dict[str, float], expected: bool
) -> None:
    formula = f"(r;%a%) > (r;%b%) {text} (r;%a%) > (r;%c%)"
    assert _outcome(formula, values, errors).error.could_flip is expected


def test_infinite_differences_have_no_error() -> None:
    found = _outcome(COMPARISON, {"a": math.inf, "b": 3.0}, {"a": 1.0})
    assert math.isnan(found.error.standard_error) and found.error.could_flip is None


NAMES = [f"q{number}" for number in range(6)]


def _claims() -> st.SearchStrategy[Claim]:
    """Claims in which every quantity is compared once, so that comparisons are independent."""

    def leaf(number: int) -> Claim:
        left, right = (Term("r", name) for name in NAMES[2 * number : 2 * number + 2])
        return Comparison(left, ">", right)

    shapes = [
        lambda x, y, z: And((x, y, z)),
        lambda x, y, z: Or((x, y, z)),
        lambda x, y, z: And((x, Or((y, z)))),
        lambda x, y, z: Or((x, And((y, z)))),
        lambda x, y, z: And((Or((x, y)), z)),
    ]
    return st.sampled_from(shapes).map(lambda shape: shape(leaf(0), leaf(1), leaf(2)))


def _holds(claim: Claim, truths: dict[Comparison, bool]) -> bool:
    if isinstance(claim, Comparison):
        return truths[claim]
    joined = all if isinstance(claim, And) else any
    return joined(_holds(part, truths) for part in claim.parts)


@given(
    _claims(),
    st.lists(st.sampled_from([1.0, 2.0, 4.0, 7.0]), min_size=6, max_size=6),
    st.lists(st.sampled_from([0.0, 0.3, 1.5, 5.0]), min_size=3, max_size=3),
)
def test_an_outcome_could_flip_if_undecided_comparisons_decide_it(
    claim: Claim, values: list[float], errors: list[float]
) -> None:
    given_values: dict[Value, float] = {
        # No ties, whose outcome is neither true nor false.
        Term("r", name): value + 0.1 * number
        for number, (name, value) in enumerate(zip(NAMES, values, strict=True))
    }
    spread = {f"q{2 * number}": _scaled(error) for number, error in enumerate(errors)}
    options: dict[Comparison, list[bool]] = {}
    for number, error in enumerate(errors):
        left, right = (Term("r", name) for name in NAMES[2 * number : 2 * number + 2])
        difference = given_values[left] - given_values[right]
        truth = difference > 0.0
        sides = [truth, not truth] if 0.0 < error >= abs(difference) else [truth]
        options[Comparison(left, ">", right)] = sides
    outcomes = {
        _holds(claim, dict(zip(options, chosen, strict=True)))
        for chosen in itertools.product(*options.values())
    }
    found = margin_error(
        claim,
        given_values,
        margin(claim, given_values),
        lambda _, condition: spread.get(condition, NO_ERROR),
    )
    assert found.could_flip == (len(outcomes) == 2)
