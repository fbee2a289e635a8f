"""Outcomes of predictions, with ties counted out by brute force."""

from __future__ import annotations

import itertools
import math
import operator
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.eval.suites.formula import Formula, FormulaError
from gardenpath.eval.suites.outcomes import Outcome, TieRule, outcome

THREE_WAY = "(r;%u%) > (r;%b%) & (r;%u%) > (r;%d%)"


def _outcome(text: str, **values: float) -> Outcome:
    return outcome(Formula.parse(text), lambda _, condition: values[condition])


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("(r;%a%) > (r;%b%)", {"a": 2, "b": 1}, 1),
        ("(r;%a%) > (r;%b%)", {"a": 1, "b": 2}, 0),
        ("(r;%a%) > (r;%b%)", {"a": 2, "b": 2}, 1 / 2),
        ("(r;%a%) < (r;%b%)", {"a": 2, "b": 2}, 1 / 2),
        ("(r;%a%) - (r;%b%) > 0", {"a": 2, "b": 2}, 1 / 2),
        ("(r;%a%) = (r;%b%)", {"a": 2, "b": 2}, 1),
        (THREE_WAY, {"u": 3, "b": 1, "d": 2}, 1),
        (THREE_WAY, {"u": 3, "b": 4, "d": 2}, 0),
        (THREE_WAY, {"u": 3, "b": 3, "d": 3}, 1 / 3),
        (THREE_WAY, {"u": 3, "b": 3, "d": 2}, 1 / 2),
        (THREE_WAY, {"u": 3, "b": 3, "d": 4}, 0),
        (THREE_WAY, {"u": 3, "b": 1, "d": 1}, 1),
        ("(r;%a%) > (r;%b%) | (r;%b%) > (r;%a%)", {"a": 1, "b": 1}, 1),
        ("(r;%a%) > (r;%b%) & (r;%b%) > (r;%a%)", {"a": 1, "b": 1}, 0),
        ("(r;%a%) > (r;%b%) & (r;%c%) > (r;%d%)", {"a": 1, "b": 1, "c": 2, "d": 2}, 1 / 4),
        ("(r;%a%) < (r;%b%) & (r;%b%) < (r;%c%)", {"a": 1, "b": 1, "c": 1}, 1 / 6),
    ],
)
def test_outcomes(text: str, values: dict[str, float], expected: float) -> None:
    assert _outcome(text, **values).value == pytest.approx(expected)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"u": 3, "b": 3, "d": 3}, 1 / 3),
        ({"u": 3, "b": 3, "d": 2}, 0),
        ({"u": 3, "b": 2, "d": 3}, 0),
        ({"u": 3, "b": 2, "d": 2}, 1),
        ({"u": 3, "b": 4, "d": 3}, 0),
    ],
)
def test_only_complete_ties_may_count(values: dict[str, float], expected: float) -> None:
    formula = Formula.parse(THREE_WAY)
    found = outcome(formula, lambda _, condition: values[condition], counted="complete")
    assert found.value == pytest.approx(expected)
    assert found.is_tie == (3 in (values["b"], values["d"]))


def test_ties_are_marked_where_a_comparison_is_tied() -> None:
    assert _outcome("(r;%a%) > (r;%b%)", a=2, b=2).is_tie
    assert not _outcome("(r;%a%) > (r;%b%)", a=2, b=1).is_tie
    # b and d are equal, but nobody compares them.
    assert not _outcome(THREE_WAY, u=3, b=1, d=1).is_tie
    assert not _outcome("(r;%a%) = (r;%b%)", a=2, b=2).is_tie


def test_infinite_surprisals_tie_with_each_other_and_decide_against_finite_ones() -> None:
    both = _outcome("(r;%a%) > (r;%b%)", a=math.inf, b=math.inf)
    assert (both.value, both.is_tie) == (1 / 2, True)
    assert math.isnan(both.difference_bits)
    assert _outcome("(r;%a%) > (r;%b%)", a=math.inf, b=9).value == 1
    assert _outcome("(r;%a%) > (r;%b%)", a=9, b=math.inf).value == 0
    assert _outcome(THREE_WAY, u=math.inf, b=math.inf, d=math.inf).value == pytest.approx(1 / 3)
    sums = "(r;%a%) + (r;%b%) > (r;%c%) + (r;%d%)"
    assert _outcome(sums, a=math.inf, b=1, c=2, d=3).value == 1
    assert _outcome(sums, a=math.inf, b=1, c=2, d=math.inf).value == 1 / 2


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("(r;%a%) > (r;%b%)", {"a": math.nan, "b": 1}),
        ("(r;%a%) - (r;%b%) > 0", {"a": math.inf, "b": math.inf}),
        (THREE_WAY, {"u": 1, "b": 2, "d": math.nan}),
    ],
)
def test_what_is_not_a_number_leaves_the_outcome_open(text: str, values: dict[str, float]) -> None:
    found = _outcome(text, **values)
    assert found.is_missing and not found.is_tie
    assert math.isnan(found.difference_bits)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(r;%a%) > (r;%b%)", 4.0),
        ("(r;%b%) > (r;%a%)", -4.0),
        ("(r;%b%) < (r;%a%)", 4.0),
        ("(r;%a%) > (r;%b%) & (r;%a%) > (r;%c%)", 2.0),
        ("(r;%b%) > (r;%a%) | (r;%c%) > (r;%b%)", 2.0),
        ("(r;%a%) = (r;%b%)", -4.0),
        ("(r;%a%) - (r;%b%) > (r;%c%) - (r;%b%)", 2.0),
    ],
)
def test_differences_are_in_the_direction_predicted(text: str, expected: float) -> None:
    assert _outcome(text, a=7, b=3, c=5).difference_bits == expected


def test_sums_tie_however_they_are_grouped() -> None:
    text = "(r;%a%) + (r;%b%) + (r;%c%) > (r;%c%) + [(r;%b%) + (r;%a%)]"
    assert (0.1 + 0.2) + 0.3 != 0.3 + 0.2 + 0.1  # what a plain sum would compare
    assert _outcome(text, a=0.1, b=0.2, c=0.3).value == 1 / 2


def test_a_coin_is_thrown_by_its_seed_and_is_fair() -> None:
    formula = Formula.parse(THREE_WAY)
    throws = [
        outcome(formula, lambda *_: 1.0, ties=TieRule(credit="coin"), coin=str(n))
        for n in range(900)
    ]
    assert {throw.value for throw in throws} == {0.0, 1.0}
    assert all(throw.is_tie for throw in throws)
    assert 0.28 < sum(throw.value for throw in throws) / 900 < 0.39
    again = outcome(formula, lambda *_: 1.0, ties=TieRule(credit="coin"), coin="5")
    assert again == throws[5]


def test_a_quantity_predicts_nothing() -> None:
    with pytest.raises(FormulaError, match="is not a claim"):
        _outcome("(r;%a%) - (r;%b%)", a=1, b=2)


_OPERATORS = {"<": operator.lt, ">": operator.gt}
names = st.sampled_from("abcd")
comparisons = st.tuples(names, st.sampled_from("<>"), names).filter(lambda c: c[0] != c[2])


def _by_perturbation(
    chosen: list[tuple[str, str, str]], joint: str, values: dict[str, int]
) -> Fraction:
    """Every order of all four quantities moves them apart by less than any true difference."""
    held = 0
    orders = list(itertools.permutations("abcd"))
    for order in orders:
        moved = {name: values[name] + order.index(name) / 100 for name in values}
        parts = [_OPERATORS[sign](moved[one], moved[other]) for one, sign, other in chosen]
        held += all(parts) if joint == "&" else any(parts)
    return Fraction(held, len(orders))


@given(
    chosen=st.lists(comparisons, min_size=1, max_size=4),
    joint=st.sampled_from("&|"),
    numbers=st.lists(st.integers(0, 2), min_size=4, max_size=4),
)
def test_ties_are_the_expectation_over_random_orders(
    chosen: list[tuple[str, str, str]], joint: str, numbers: list[int]
) -> None:
    values = dict(zip("abcd", numbers, strict=True))
    text = f" {joint} ".join(f"[(r;%{one}%) {sign} (r;%{two}%)]" for one, sign, two in chosen)
    found = _outcome(text, **{name: float(value) for name, value in values.items()})
    assert found.value == pytest.approx(float(_by_perturbation(chosen, joint, values)))
    assert found.is_tie == any(values[one] == values[two] for one, _, two in chosen)
