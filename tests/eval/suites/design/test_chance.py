"""The accuracy of guessing, from the formulas of predictions."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.eval.suites.formula import Formula
from gardenpath.eval.suites.library import load_suites
from gardenpath.eval.suites.outcomes import outcome
from gardenpath.eval.suites.suite import Prediction, chance_by_class, chance_level, chance_of
from tests.eval.suites.suite_samples import small_suite


def _term(name: str) -> str:
    return f"(r;%{name}%)"


def _claim(text: str) -> Formula:
    """``a>b & a>c`` as a formula about one region in the conditions a, b and c."""
    return Formula.parse("".join(_term(sign) if sign.isalpha() else sign for sign in text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a>b", 1 / 2),
        ("a<b", 1 / 2),
        ("a>b & a>c", 1 / 3),
        ("a>b & b>c", 1 / 6),
        ("a>b | a>c", 2 / 3),
        ("[a>b] & [c>d]", 1 / 4),
        ("a+b > c+d", 1 / 2),
        ("[a<b] & [c<d] & [e<f] & [g<h] & [i<j] & [k<l] & [m<n]", 1 / 128),
    ],
)
def test_chance_is_the_share_of_all_orders(text: str, expected: float) -> None:
    assert chance_level(_claim(text)) == expected


@pytest.mark.parametrize("text", ["a=b", "a-b", "a>2.5", "a>a", "a>b & a=c"])
def test_other_formulas_have_no_known_chance(text: str) -> None:
    assert chance_level(_claim(text)) is None


def test_too_many_orders_are_not_counted() -> None:
    chain = " & ".join(f"{one}>{other}" for one, other in itertools.pairwise("abcdefghij"))
    assert chance_level(_claim(chain)) is None


COMPARISONS = st.tuples(st.sampled_from("abcd"), st.sampled_from("<>"), st.sampled_from("abcd"))


@given(
    st.lists(COMPARISONS.filter(lambda one: one[0] != one[2]), min_size=1, max_size=4),
    st.sampled_from("&|"),
)
def test_ties_score_at_chance(comparisons: list[tuple[str, str, str]], operator: str) -> None:
    """A model to which all conditions are equally surprising; and an oracle over all orders."""
    claim = _claim(f" {operator} ".join(f"[{''.join(one)}]" for one in comparisons))
    level = chance_level(claim)
    assert level == outcome(claim, lambda region, condition: 3.5).value
    held = []
    for order in itertools.permutations("abcd"):
        holds = [(order.index(a) > order.index(b)) == (sign == ">") for a, sign, b in comparisons]
        held.append(all(holds) if operator == "&" else any(holds))
    assert level == sum(held) / len(held)


def test_a_suite_may_give_its_chance_and_else_has_the_mean_of_its_predictions() -> None:
    suite = small_suite()
    assert suite.chance is None and suite.chance_level == 0.5
    strict = Prediction("strict", _claim("a>b & a>c"))
    both = replace(suite, predictions=(*suite.predictions, strict))
    assert both.chance_level == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert replace(both, chance=0.25).chance_level == 0.25
    unknown = Prediction("unknown", _claim("a=b"))
    assert replace(suite, predictions=(unknown,)).chance_level == 0.5
    assert replace(suite, predictions=()).chance_level == 0.5


def test_classes_of_the_materials() -> None:
    suites = load_suites(["reflexives", "mandarin", "islands", "center_embedding/toy"])
    chances = chance_by_class(suites)
    assert chances.pop("reflexives") == 1 / 3
    assert set(chances.values()) == {0.5} and len(chances) == 8


def test_a_class_has_the_mean_of_its_suites() -> None:
    suite = small_suite()
    given_ = [replace(suite, chance=0.25), suite, replace(suite, kind="other", chance=0.0)]
    assert chance_by_class(given_) == {suite.kind: 0.375, "other": 0.0}


def test_chances_are_read_as_numbers_and_as_fractions() -> None:
    assert chance_of("1/3") == 1 / 3 and chance_of("0.25") == chance_of(0.25) == 0.25
    for wrong in ("1/0", "often", "-0.1", "1.5", "", math.inf):
        with pytest.raises(ValueError, match=r"not a number in \[0, 1\]"):
            chance_of(wrong)
