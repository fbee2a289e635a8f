"""Parses through the store: what is stored is what was found."""

from __future__ import annotations

from pathlib import Path

import gardenpath
from gardenpath.eval.search.settings import WordSync
from gardenpath.runs.computing import parsed
from tests.toy_runs import run_of

NARROW = WordSync(action_beam=10, word_beam=3)
SENTENCES = [("the", "author", "sleeps", "."), ("(", "-LRB-", "the", ")")]


def test_stored_parses_are_those_that_were_found(folder: Path, tmp_path: Path) -> None:
    path = run_of(folder, "rnng").path
    fresh = parsed(gardenpath.load(path, search=NARROW), SENTENCES, k=3)
    cached = gardenpath.load(path, search=NARROW, cache=tmp_path / "store.sqlite")
    for _ in range(2):  # computed, then looked up
        assert parsed(cached, SENTENCES, k=3) == fresh
    for words, one in zip(SENTENCES, fresh, strict=True):
        assert 1 <= len(one.trees) <= 3 and len(one.best_shares) == len(words) + 1
        # The brackets of text do not change words: -LRB- stays what it is.
        assert all(tree.words() == words for _, tree in one.trees)
    assert len(parsed(cached, SENTENCES, k=1)[0].trees) == 1
