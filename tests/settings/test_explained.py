"""Every setting of the commands has a line of explanation, which ``--help`` prints."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest

from gardenpath.playground.settings import PlaygroundSettings
from gardenpath.settings.command_line import explanations
from gardenpath.settings.evaluate import EvaluateSettings
from gardenpath.settings.schema import Tagged
from gardenpath.settings.train import TrainSettings


def _records(annotation: Any) -> Iterator[type]:
    """The dataclasses of an annotation, and of their fields."""
    if get_origin(annotation) is Annotated:
        for one in get_args(annotation)[1:]:
            if isinstance(one, Tagged):
                for record in one.classes.values():
                    yield from _records(record)
    for part in get_args(annotation):
        yield from _records(part)
    if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
        yield annotation
        for hint in get_type_hints(annotation, include_extras=True).values():
            yield from _records(hint)


def _unexplained(record: type) -> set[str]:
    """Fields without an explanation, except the one that tells the choices of a group apart."""
    keys = {"kind", "name"} if "name" not in explanations(record) else {"kind"}
    return {field.name for field in dataclasses.fields(record)} - {*explanations(record)} - keys


@pytest.mark.parametrize("root", [TrainSettings, EvaluateSettings, PlaygroundSettings])
def test_every_setting_is_explained(root: type) -> None:
    records = set(_records(root))
    assert len(records) >= 4
    assert {record: names for record in records if (names := _unexplained(record))} == {}


def test_a_setting_without_explanation_is_found() -> None:
    @dataclasses.dataclass
    class Bad:
        kind: str = "bad"
        said: int = 1
        """Has a line."""
        unsaid: int = 2

    assert _unexplained(Bad) == {"unsaid"}
