"""The command line of the playground."""

from __future__ import annotations

import dataclasses

import pytest

from gardenpath.errors import ConfigError
from gardenpath.eval.search.settings import SEARCHES, Unbiased, WordSync
from gardenpath.playground.settings import (
    PlaygroundLimits,
    PlaygroundSettings,
    help_of,
    playground_settings_of,
)
from gardenpath.settings.command_line import explanations


def test_without_arguments_the_defaults_hold() -> None:
    assert playground_settings_of([]) == PlaygroundSettings()


def test_settings_are_read() -> None:
    found = playground_settings_of(
        ["run=runs/a,hf:gpt2", "port=0", "browser=false", "limits.seconds=5"]
    )
    assert (found.run, found.port, found.browser) == (("runs/a", "hf:gpt2"), 0, False)
    assert found.limits == PlaygroundLimits(seconds=5.0)


@pytest.mark.parametrize(
    "arguments",
    [["search=unbiased", "search.action_beam=7"], ["search.action_beam=7", "search=unbiased"]],
)
def test_a_search_is_chosen_and_set(arguments: list[str]) -> None:
    assert playground_settings_of(arguments).search == Unbiased(action_beam=7)


def test_a_setting_of_the_usual_search() -> None:
    assert playground_settings_of(["search.word_beam=7"]).search == WordSync(word_beam=7)


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("prot=9000", "did you mean 'port'?"),
        ("port=70000", "65535"),
        ("--port", "write settings as name=value"),
        ("runs", "write settings as name=value"),
        ("browser=maybe", "browser"),
        ("limits.words=0", "at least 1"),
        ("search=wide", "unbiased"),
        ("port=[", "port=["),
    ],
)
def test_mistakes_are_explained(argument: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        playground_settings_of([argument])
    assert said in str(caught.value)


def test_help_explains_every_setting() -> None:
    text = help_of("python playground.py")
    for record, prefix in (PlaygroundSettings, ""), (PlaygroundLimits, "limits."):
        for field in dataclasses.fields(record):
            if field.name not in ("limits", "search"):
                assert f"  {prefix}{field.name}=" in text
    searches: list[type] = [*SEARCHES.values()]
    for texts in map(explanations, searches):
        assert all(f"  search.{name}=" in text and texts[name] in text for name in texts)
    assert "browser=true" in text
    assert "python playground.py run=" in text
