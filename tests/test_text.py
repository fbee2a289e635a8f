"""Names and sentences as people read them."""

from __future__ import annotations

import pytest

from gardenpath.util import enumeration, heading, key, plural, spaced, unbroken


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("t(4) = −0.57, p = .061", "t(4)~=~−0.57, p~=~.061"),
        ("mean −0.029 bits (SD 0.17), p < .001", "mean~−0.029~bits (SD~0.17), p~<~.001"),
        ("b = 0.51, SE 0.20, z = 2.57", "b~=~0.51, SE~0.20, z~=~2.57"),
        ("bars 95 % intervals", "bars 95~% intervals"),
        ("a mean of some words", "a mean of some words"),
    ],
)
def test_numbers_never_break(said: str, expected: str) -> None:
    assert unbroken(said) == expected.replace("~", "\N{NO-BREAK SPACE}")


def test_enumerations_have_each_value_once() -> None:
    assert enumeration([1, 2, 1]) == "1, 2"
    assert enumeration(["a", "b", "c"], last=" and ") == "a, b and c"
    assert enumeration(["a"], last=" and ") == "a" and enumeration([]) == ""


def test_names() -> None:
    assert spaced("classifier_noun") == "classifier noun"
    assert heading("wh_discharge") == "Wh discharge" and heading("") == ""
    assert key(" Verb-Noun x") == "verb_noun_x"
    assert plural(1, "model") == "1 model" and plural(0, "model") == "0 models"
