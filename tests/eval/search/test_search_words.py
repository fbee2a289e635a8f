"""Searches in words."""

from __future__ import annotations

import re
from typing import Any

from gardenpath.eval.search.search_words import search_in_words
from gardenpath.settings.check import plain
from gardenpath.settings.compose import load_settings
from gardenpath.settings.evaluate_settings import EvaluateSettings


def _search(setting: str) -> dict[str, Any]:
    settings = load_settings("evaluate", [setting])
    assert isinstance(settings, EvaluateSettings)
    return dict(plain(settings.search))


def test_searches_read_well() -> None:
    search = _search("search.action_beam=30")
    assert search_in_words(search) == (
        "word-synchronous beam search, action beam 30, word beam 10, fast track 1, summed over "
        "survivors, at most 100 open constituents, at most 8 opened between two words, until no "
        "open hypothesis is left"
    )
    slow = {**search, "bounded": False, "stop": "beam_full"}
    assert search_in_words(slow).endswith("until the action beam is full, without bounds")
    particle = _search("search=particle")
    said = search_in_words(particle)
    assert said.startswith("particle filter, 100 particles, random seed 1, at most 100 open")
    for words in (search_in_words(search), said):
        assert not re.search(r"_|True|None|memory", words)
    assert search_in_words({"kind": "new", "some_width": 3}) == "new, some width 3"
