"""Searches in words."""

from __future__ import annotations

import re

from gardenpath.eval.search.search_words import search_in_words
from gardenpath.settings.compose import load_settings


def test_searches_read_well() -> None:
    search = load_settings("evaluate", ["search.action_beam=30"])["search"]
    assert search_in_words(search) == (
        "word-synchronous beam search, action beam 30, word beam 10, fast track 1, summed over "
        "survivors, at most 100 open constituents, at most 8 opened between two words, until no "
        "open hypothesis is left"
    )
    slow = {**search, "bounded": False, "stop": "beam_full"}
    assert search_in_words(slow).endswith("until the action beam is full, without bounds")
    particle = load_settings("evaluate", ["search=particle"])["search"]
    said = search_in_words(particle)
    assert said.startswith("particle filter, 100 particles, random seed 1, ")
    for words in (search_in_words(search), said):
        assert not re.search(r"_|True|None|memory", words)
    assert search_in_words({"kind": "new", "some_width": 3}) == "new, some width 3"
