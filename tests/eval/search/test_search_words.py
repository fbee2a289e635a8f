"""Searches in words."""

from __future__ import annotations

import re
from typing import Any

from gardenpath.eval.search.settings import search_in_words
from gardenpath.settings.compose import load_settings
from gardenpath.settings.evaluate import EvaluateSettings
from gardenpath.settings.schema import plain


def _search(setting: str) -> dict[str, Any]:
    settings = load_settings("evaluate", [setting])
    assert isinstance(settings, EvaluateSettings)
    return dict(plain(settings.search))


def test_searches_read_well() -> None:
    search = _search("search.action_beam=30")
    assert search_in_words(search) == (
        "word-synchronous beam search, action beam 30, word beam 10, words need no place in "
        "the action beam, summed over survivors, at most 100 open constituents, at most 8 opened "
        "between two words, until no open hypothesis is left"
    )
    slow = {**search, "bounded": False, "stop": "beam_full"}
    assert search_in_words(slow).endswith("until the action beam is full, without bounds")
    unbiased = _search("search=unbiased")
    said = search_in_words(unbiased)
    assert said.startswith("unbiased search, action beam 100, word beam 10, 4 replicates")
    # Without a tolerance, no search has more replicates.
    assert "at most 64 replicates" not in said
    tolerant = search_in_words({**unbiased, "tolerance": 0.05})
    assert "tolerance 0.05 bits, at most 64 replicates" in tolerant
    for words in (search_in_words(search), said):
        assert not re.search(r"_|True|None|memory", words)
    assert search_in_words({"kind": "new", "some_width": 3}) == "new, some width 3"
