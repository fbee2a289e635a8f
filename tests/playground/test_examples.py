"""The sentences to start from, and for which models they are offered."""

from __future__ import annotations

from pathlib import Path

import pytest

from gardenpath.data.pcfg.grammar import read_grammar
from gardenpath.data.readers.files import GRAMMARS
from gardenpath.playground.models import all_examples, examples_for
from tests.toy_runs import run_of

GENERAL = "(general English)"


def test_garden_paths_come_first() -> None:
    first, second, *_ = all_examples()
    assert "raced past the barn" in first.first and "hunted the deer" in second.first
    for one in all_examples():
        assert one.language in ("en", "zh") and one.first != one.second and one.note


def test_words_are_those_of_a_toy_corpus() -> None:
    words = {"en": set(read_grammar(GRAMMARS / "english.pcfg").words)}
    for one in all_examples():
        if one.language in words and GENERAL not in one.title:
            assert set(f"{one.first} {one.second}".split()) <= words[one.language], one.title


@pytest.mark.parametrize("family", ["lstm", "rnng"])
def test_examples_whose_words_a_model_knows_come_first(folder: Path, family: str) -> None:
    run = run_of(folder, family)
    found = examples_for([run])
    assert len(found) == len(all_examples())
    for one in found:
        texts = f"{one['first']} {one['second']}".split()
        if one["language"] != "en":
            assert one["unknown"] is None
        elif GENERAL not in one["title"]:
            assert one["unknown"] == sum(not run.knows(word) for word in texts)
    ranks = [1_000 if one["unknown"] is None else one["unknown"] for one in found]
    assert ranks == sorted(ranks) and len(set(ranks)) > 1


def test_without_models_the_order_is_that_of_the_file() -> None:
    assert [one["title"] for one in examples_for([])] == [one.title for one in all_examples()]
