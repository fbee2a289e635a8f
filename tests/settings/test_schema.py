"""Ranges of settings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import pytest

from gardenpath.errors import ConfigError
from gardenpath.settings.schema import (
    MISSING,
    Bounds,
    Fraction,
    NonNegativeFloat,
    PositiveInt,
    Tagged,
    defaults,
    nearest,
    plain,
    read,
    type_problem,
)


@pytest.mark.parametrize(
    ("bounds", "inside", "outside"),
    [
        (Bounds(1), [1, 2, 10**9], [0, -1, math.nan]),
        (Bounds(0.0, 1.0), [0.0, 0.5, 1.0], [-1e-9, 1.0000001]),
        (Bounds(0.0, 1.0, high_is_open=True), [0.0, 0.999], [1.0, -0.1, math.nan]),
    ],
)
def test_values_inside_and_outside(
    bounds: Bounds, inside: list[float], outside: list[float]
) -> None:
    assert all(bounds.allow(value) for value in inside)
    assert not any(bounds.allow(value) for value in outside)


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        (Bounds(1), "at least 1"),
        (Bounds(0.0, 1.0), "in [0, 1]"),
        (Bounds(0.0, 1.0, high_is_open=True), "in [0, 1)"),
        (Bounds(0, 2**32 - 1), "in [0, 4294967295]"),
    ],
)
def test_bounds_describe_themselves(bounds: Bounds, text: str) -> None:
    assert str(bounds) == text


# ----------------------------------------------------------------------------
# Typed settings: types, bounds, names, kinds, combinations.


@pytest.mark.parametrize(
    ("value", "annotation", "problem"),
    [
        (3, int, ""),
        (3.0, int, "must be a whole number"),
        (3.5, int, "must be a whole number"),
        ("3", int, "must be a whole number"),
        (True, int, "must be a whole number"),
        (True, str, "must be text"),
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
        (1.0, Fraction, "must be in [0, 1)"),
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
class _Timer:
    kind: Literal["timer"] = "timer"
    minutes: PositiveInt = 10


@dataclass(frozen=True, kw_only=True)
class _Probe:
    kind: Literal["probe"] = "probe"
    degrees: float


@dataclass(frozen=True, kw_only=True)
class _Oven:
    REMEDIES: ClassVar[dict[str, str]] = {"temperature": "in degrees"}

    temperature: PositiveInt
    fan: bool = False
    grill: bool = False
    stop: Annotated[_Timer | _Probe, Tagged("kind", {"timer": _Timer, "probe": _Probe})] = _Timer()
    trays: Sequence[str] = ("middle",)

    def mistakes(self) -> list[str]:
        return ["fan and grill cannot run together"] if self.fan and self.grill else []

    def unavailable(self) -> list[str]:
        return ["this oven has no second tray"] if len(self.trays) > 2 else []


@dataclass(frozen=True, kw_only=True)
class _Kitchen:
    name: str
    oven: _Oven
    second: _Oven | None = None
    others: Mapping[str, _Oven] = field(default_factory=dict)


OVEN: dict[str, Any] = {"temperature": 200, "fan": True}


def _mistakes(content: dict[str, Any], **arguments: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(_Kitchen, content, **arguments)
    return caught.value.mistakes


def test_right_settings_become_a_record() -> None:
    content = {"name": 7, "oven": {**OVEN, "stop": {"kind": "probe", "degrees": 60}}}
    kitchen = read(_Kitchen, content)
    assert kitchen.name == "7"  # a number on the command line may be meant as text
    assert kitchen.oven.stop == _Probe(degrees=60.0)
    assert kitchen.oven.trays == ("middle",) and kitchen.second is None


def test_records_by_name() -> None:
    kitchen = read(_Kitchen, {"name": "a", "oven": OVEN, "others": {"old": OVEN}})
    assert kitchen.others == {"old": _Oven(temperature=200, fan=True)}
    assert read(_Kitchen, plain(kitchen)) == kitchen
    wrong = {"name": "a", "oven": OVEN, "others": {"old": {**OVEN, "fun": 1, "grill": 3}}}
    assert _mistakes(wrong) == [
        "others.old.fun is not a setting; did you mean 'fan'?",
        "others.old.grill=3: must be true or false",
    ]
    assert _mistakes({"name": "a", "oven": OVEN, "others": 3}) == [
        "others=3: must be a group of settings"
    ]


def test_plain_is_the_inverse_of_read() -> None:
    content = {"name": "mine", "oven": {**OVEN, "trays": ["top", "middle"]}, "second": OVEN}
    kitchen = read(_Kitchen, content)
    assert read(_Kitchen, plain(kitchen)) == kitchen
    assert plain(kitchen)["oven"]["trays"] == ["top", "middle"]


def test_defaults_mark_what_must_be_given() -> None:
    found = defaults(_Kitchen)
    assert found["name"] == MISSING and found["second"] is None
    assert found["oven"]["temperature"] == MISSING
    assert found["oven"]["stop"] == {"kind": "timer", "minutes": 10}


def test_all_mistakes_are_found() -> None:
    found = _mistakes(
        {"name": [1], "oven": {"fun": True, "grill": None, "stop": {"kind": "timer", "hours": 1}}}
    )
    assert found == [
        "name=[1]: must be text",
        "oven.fun is not a setting; did you mean 'fan'?",
        "oven.temperature is missing: in degrees",
        "oven.grill=null: must be true or false",
        "oven.stop.hours is not a setting; valid: kind, minutes",
    ]


def test_an_unknown_kind_is_a_mistake() -> None:
    (found,) = _mistakes({"name": "mine", "oven": {**OVEN, "stop": {"kind": "tmer"}}})
    assert found == "oven.stop.kind=tmer: did you mean 'timer'?"
    (found,) = _mistakes({"name": "mine", "oven": {**OVEN, "stop": 3}})
    assert found == "oven.stop=3: must be a group of settings"
    (found,) = _mistakes({"name": "mine", "oven": "hot"})
    assert found == "oven=hot: must be a group of settings"


def test_missing_values_and_nulls_where_none_may_be() -> None:
    assert _mistakes({"name": None, "oven": OVEN}) == ["name is missing"]
    assert _mistakes({"name": MISSING, "oven": OVEN}) == ["name is missing"]


def test_names_are_shown_as_users_write_them() -> None:
    found = _mistakes({"name": "mine", "oven": {"temperature": 0}}, short={"oven": "o"})
    assert found == ["o.temperature=0: must be at least 1"]


def test_combinations_are_checked_once_each_setting_is_right() -> None:
    both = {"temperature": 200, "fan": True, "grill": True}
    assert _mistakes({"name": "mine", "oven": both}) == ["oven: fan and grill cannot run together"]
    wrong = _mistakes({"name": "mine", "oven": {**both, "temperature": 0}})
    assert wrong == ["oven.temperature=0: must be at least 1"]


def test_what_a_machine_lacks_matters_only_where_settings_are_to_be_used() -> None:
    oven = {**OVEN, "trays": ["a", "b", "c"]}
    content: dict[str, Any] = {"name": "mine", "oven": oven}
    assert _mistakes(content) == ["oven: this oven has no second tray"]
    assert read(_Kitchen, content, is_for_here=False).oven.trays == ("a", "b", "c")
    both = {**content, "oven": {**oven, "grill": True}}
    assert _mistakes(both, is_for_here=False) == ["oven: fan and grill cannot run together"]
