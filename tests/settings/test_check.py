"""Settings against signatures: types, bounds, names, combinations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from gardenpath.settings.bounds import Fraction, NonNegativeFloat, PositiveInt
from gardenpath.settings.check import check_arguments, nearest, type_problem


@pytest.mark.parametrize(
    ("value", "annotation", "problem"),
    [
        (3, int, ""),
        (3.0, int, "must be a whole number"),
        (3.5, int, "must be a whole number"),
        ("3", int, "must be a whole number"),
        (True, int, "must be a whole number"),
        (3, float, ""),
        (0.5, float, ""),
        ("half", float, "must be a number"),
        (False, float, "must be a number"),
        (True, bool, ""),
        (1, bool, "must be true or false"),
        ("yes", bool, "must be true or false"),
        ("text", str, ""),
        (23, str, ""),
        (None, str, "must be text"),
        ([1], str, "must be text"),
        (None, int | None, ""),
        (2, int | None, ""),
        ("x", int | None, "must be a whole number"),
        ("x", int | float, "must be a whole number or must be a number"),
        (1, PositiveInt, ""),
        (0, PositiveInt, "must be at least 1"),
        (None, PositiveInt | None, ""),
        (0, PositiveInt | None, "must be at least 1"),
        ("one", PositiveInt, "must be a whole number"),
        (0.0, Fraction, ""),
        (1.0, Fraction, "must be from 0 up to but below 1"),
        (-0.1, NonNegativeFloat, "must be at least 0"),
        (float("nan"), NonNegativeFloat, "must be at least 0"),
        ("bpe", Literal["none", "bpe"], ""),
        ("bqe", Literal["none", "bpe"], "did you mean 'bpe'?"),
        ("xyz", Literal["none", "bpe"], "valid: none, bpe"),
        (None, Literal["none", "bpe"], "did you mean 'none'?"),
        (32, Literal["32", "64"], ""),
        (["a", "b"], Sequence[str], ""),
        ("ab", Sequence[str], "must be a list"),
        ([1.5], Sequence[str], "must be text"),
        ({"any": "thing"}, Any, ""),
    ],
)
def test_values_against_annotations(value: Any, annotation: Any, problem: str) -> None:
    assert type_problem(value, annotation) == problem


def test_the_nearest_name_or_all() -> None:
    assert nearest("learning_rat", ["learning_rate", "decay"]) == "did you mean 'learning_rate'?"
    assert nearest("zzz", ["learning_rate", "decay"]) == "valid: learning_rate, decay"
    assert nearest("zzz", ["a", "b"], otherwise=["c"]) == "valid: c"


@dataclass(frozen=True, kw_only=True)
class _Oven:
    temperature: PositiveInt
    fan: bool = False
    grill: bool = False

    def mistakes(self) -> list[str]:
        return ["fan and grill cannot run together"] if self.fan and self.grill else []


class _Kettle:
    def __init__(self, *, size: int, litres: float = 1.0) -> None:
        raise AssertionError("must not be built by a check")

    @staticmethod
    def mistakes(*, litres: float, **_: object) -> list[str]:
        return ["too large"] if litres > 2 else []


def test_right_settings_have_no_mistakes() -> None:
    assert check_arguments(_Oven, {"temperature": 200, "fan": True}, prefix="oven") == []


def test_all_mistakes_are_found() -> None:
    found = check_arguments(_Oven, {"fun": True, "grill": None}, prefix="oven")
    assert found == [
        "oven.fun is not a setting; did you mean 'fan'?",
        "oven.grill=null: must be true or false",
        "oven.temperature is missing",
    ]


def test_what_the_program_provides_is_not_missing() -> None:
    assert check_arguments(_Kettle, {}, prefix="kettle") == ["kettle.size is missing"]
    found = check_arguments(_Kettle, {"litres": 1.5}, prefix="kettle", provided=["size"])
    assert found == []


def test_combinations_are_checked_once_each_setting_is_right() -> None:
    both = {"temperature": 200, "fan": True, "grill": True}
    assert check_arguments(_Oven, both, prefix="oven") == [
        "oven: fan and grill cannot run together"
    ]
    wrong = check_arguments(_Oven, {**both, "temperature": 0}, prefix="oven")
    assert wrong == ["oven.temperature=0: must be at least 1"]


def test_static_checks_need_no_object_and_see_defaults() -> None:
    found = check_arguments(_Kettle, {"litres": 3.0}, prefix="kettle", provided=["size"])
    assert found == ["kettle: too large"]
