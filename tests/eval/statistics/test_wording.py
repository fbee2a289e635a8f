"""Tests of statistics in words."""

from __future__ import annotations

import math

import pytest

from gardenpath.eval.statistics import answers as wording

CASES = {"more": "$a is better than $b", "less": "$a is worse than $b", "none": "no difference"}


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0101, "p = .010"), (0.0004, "p < .001"), (0.5, "p = .500"), (0.9999, "p > .999")],
)
def test_p_values(value: float, text: str) -> None:
    assert wording.p_value(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.507, "0.51"), (-1.5, "−1.50"), (0.0412, "0.041"), (-0.00001, "0.000"), (12.0, "12.00")],
)
def test_numbers(value: float, text: str) -> None:
    assert wording.rounded(value) == text


def test_coefficients() -> None:
    assert wording.coefficient(0.507, 0.1972, 2.571, None, 0.0101) == (
        "b = 0.51, SE 0.20, z = 2.57, p = .010"
    )
    assert "t(17.0) = 6.77" in wording.coefficient(10.47, 1.55, 6.77, 17.0, 1e-6)


@pytest.mark.parametrize(
    ("estimate", "p", "said"),
    [
        (1.0, 0.01, "RNNG is better than LSTM: n"),
        (-1.0, 0.01, "RNNG is worse than LSTM: n"),
        (-1.0, 0.06, "No difference: n"),
        (math.nan, 0.01, "No difference: n"),
    ],
)
def test_the_case_that_fits_is_said(estimate: float, p: float, said: str) -> None:
    values = {"a": wording.prose_name("rnng"), "b": wording.prose_name("LSTM")}
    assert wording.stated(CASES, values, estimate=estimate, p=p, numbers="n") == said


def test_without_a_case_for_it_nothing_is_claimed() -> None:
    said = wording.stated({"more": "x"}, {}, estimate=-1.0, p=0.001, numbers="n")
    assert said == "No evidence that x: n"


def test_without_a_test_only_the_question_is_said() -> None:
    values = {"a": "RNNG", "b": "LSTM"}
    said = wording.undecided(CASES, values, numbers="n")
    assert said == "The analysis cannot determine whether RNNG is better than LSTM: n"


@pytest.mark.parametrize(
    ("groups", "text"),
    [
        (
            [("LSTM", 30.0, 30), ("RNNG", 23.0, 30)],
            "right in all 30 comparisons (LSTM), in 23 of 30 (RNNG)",
        ),
        (
            [("LSTM", 22.5, 30), ("RNNG", 0.0, 30)],
            "right in 22.5 of 30 comparisons (LSTM), in none of 30 (RNNG)",
        ),
    ],
)
def test_counts(groups: list[tuple[str, float, int]], text: str) -> None:
    assert wording.counts(groups) == text


def test_means_and_lists() -> None:
    assert (
        wording.stated_means([("CTB", 0.412), ("xinhua", -0.5)])
        == "mean 0.41 (CTB), −0.50 (xinhua)"
    )
    names = ("item", "modifier", "seed")
    assert [wording.joined_names(names[:count]) for count in range(4)] == [
        "",
        "item",
        "item and modifier",
        "item, modifier and seed",
    ]


def test_names() -> None:
    assert [wording.prose_name(name) for name in ("rnng", "verb_noun", "missing_object", "")] == [
        "RNNG",
        "verb-noun",
        "missing object",
        "none",
    ]
