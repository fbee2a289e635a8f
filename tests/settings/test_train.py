"""Settings of older versions: resume and overwrite, on command lines and in files."""

from __future__ import annotations

from typing import Any

import pytest

from gardenpath.settings.compose import load_settings
from gardenpath.settings.train import in_new_words, with_existing


@pytest.mark.parametrize(
    ("arguments", "translated"),
    [
        (["seed=1"], ["seed=1"]),
        (["resume=true", "seed=1"], ["seed=1", "existing=resume"]),
        (["overwrite=True"], ["existing=overwrite"]),
        (["overwrite=true", "resume=true"], ["existing=overwrite"]),
        (["resume=true", "overwrite=false"], ["existing=resume"]),
        (["resume=false"], []),
        (["resume=maybe"], ["existing=maybe"]),
    ],
)
def test_arguments(arguments: list[str], translated: list[str]) -> None:
    assert in_new_words(arguments) == translated


@pytest.mark.parametrize(
    ("content", "existing"),
    [
        ({}, None),
        ({"resume": True, "overwrite": False}, "resume"),
        ({"resume": True, "overwrite": True}, "overwrite"),
        ({"resume": False, "overwrite": False}, None),
        ({"resume": True, "existing": "refuse"}, "refuse"),
        ({"resume": "yes", "overwrite": False}, "yes"),
    ],
)
def test_contents_of_files(content: dict[str, Any], existing: str | None) -> None:
    found = with_existing({"seed": 1, **content})
    assert found.get("existing") == existing
    assert not {"resume", "overwrite"} & set(found) and found["seed"] == 1


def test_the_command_line_takes_both() -> None:
    assert load_settings("train", ["resume=true"]).existing == "resume"
    assert load_settings("train", ["overwrite=true"]).existing == "overwrite"
    assert load_settings("train", ["existing=skip"]).existing == "skip"
    assert load_settings("train").existing is None
