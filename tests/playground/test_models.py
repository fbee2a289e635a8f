"""The sentences to start from, and for which models they are offered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gardenpath.data.pcfg import read_grammar
from gardenpath.data.readers.treebanks import GRAMMARS
from gardenpath.errors import GardenpathError
from gardenpath.playground.models import (
    LoadedModel,
    ModelShelf,
    all_examples,
    beginnings_of,
    examples_for,
)
from gardenpath.store.surprisals import Stored
from gardenpath.util import Words
from tests.playground.serving import settings_for
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


# ----------------------------------------------------------------------------
# Models that stay loaded, and the beginnings of sentences.


FIRST = ("the", "author", "knows", "the", "senator", ".")
SECOND = ("the", "author", "knows", "a", "senator", ".")
FAMILIES = ("ngram", "lstm", "rnng", "plm")


class _StoppedError(GardenpathError):
    pass


def _scored(
    model: LoadedModel, *sentences: Words, check: Callable[[], None] = lambda: None
) -> tuple[dict[Words, Stored], list[Words]]:
    order: list[Words] = []
    found = model.scored(sentences, on_stored=lambda words, _: order.append(words), check=check)
    return found, order


def test_beginnings_are_short_ones_first_and_each_once() -> None:
    assert beginnings_of([("a", "b"), ("a", "c")]) == [("a",), ("a", "b"), ("a", "c")]


@pytest.mark.parametrize("family", FAMILIES)
def test_scores_are_those_of_the_run(folder: Path, family: str) -> None:
    model = LoadedModel(run_of(folder, family))
    found, _ = _scored(model, FIRST, SECOND)
    expected = run_of(folder, family).word_log_probs([FIRST, SECOND])
    for words, scores in zip((FIRST, SECOND), expected, strict=True):
        assert list(found[words].log_probs) == pytest.approx(scores.tolist(), abs=1e-4)


@pytest.mark.parametrize("family", ["rnng", "plm"])
def test_beginnings_are_reported_as_they_are_reached(folder: Path, family: str) -> None:
    model = LoadedModel(run_of(folder, family))
    entries: dict[Words, Stored] = {}
    found = model.scored([FIRST], on_stored=entries.__setitem__, check=lambda: None)
    assert list(entries) == beginnings_of([FIRST])
    for words, stored in entries.items():
        place = len(words) - 1
        assert stored.log_probs[place] == pytest.approx(found[FIRST].log_probs[place], abs=1e-9)
        whole = found[FIRST].parses
        assert stored.parses is not None and whole is not None
        shares = [share for share, _ in stored.parses[place]]
        assert shares == pytest.approx([share for share, _ in whole[place]])


def test_common_beginnings_come_from_the_store(folder: Path, tmp_path: Path) -> None:
    model = LoadedModel(run_of(folder, "rnng", store=tmp_path / "store.sqlite"))
    _scored(model, FIRST)
    searched: list[int] = []

    def check() -> None:
        searched.append(1)

    _, order = _scored(model, SECOND, check=check)
    assert order == beginnings_of([SECOND])
    # Three beginnings are known; the first check is before the search.
    assert len(searched) == 1 + 2 * 3
    searched.clear()
    _, order = _scored(model, FIRST, SECOND, check=check)
    assert set(order) == {*beginnings_of([FIRST, SECOND])} and len(searched) == 1


def test_what_was_computed_before_a_stop_is_kept(folder: Path, tmp_path: Path) -> None:
    run = run_of(folder, "rnng", store=tmp_path / "store.sqlite")
    model = LoadedModel(run)
    reached: list[Words] = []

    def check() -> None:
        if len(reached) == 3:
            raise _StoppedError("enough")

    with pytest.raises(_StoppedError):
        model.scored([FIRST], on_stored=lambda words, _: reached.append(words), check=check)
    assert run.store is not None
    assert set(run.store.get(run.model_key, beginnings_of([FIRST]))) == set(reached[:3])


def test_a_model_is_loaded_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(folder, "lstm")
    opened: list[str] = []
    original = run.trained.network

    def network() -> object:
        opened.append("lstm")
        return original()

    monkeypatch.setattr(run.trained, "network", network)
    model = LoadedModel(run)
    assert not model.is_loaded
    for words in (FIRST, SECOND, FIRST):
        _scored(model, words)
    assert model.is_loaded and opened == ["lstm"]


def test_models_used_least_recently_are_dropped(folder: Path, tmp_path: Path) -> None:
    shelf = ModelShelf(settings_for(folder, tmp_path / "store.sqlite", loaded=2))
    names = list(shelf.models)
    assert len(names) == len(FAMILIES)
    for name in (names[0], names[1], names[0], names[2]):
        shelf.used(name).load()
    assert [name for name, one in shelf.models.items() if one.is_loaded] == [names[0], names[2]]


def test_the_weights_in_memory_are_limited(folder: Path, tmp_path: Path) -> None:
    settings = settings_for(folder, tmp_path / "store.sqlite")
    names = list(ModelShelf(settings).models)
    sizes = {name: run_of(folder, name.split("/")[-2]).model.weight_bytes for name in names}
    largest = max(sizes.values()) / 1e9
    shelf = ModelShelf(settings_for(folder, tmp_path / "store.sqlite", loaded_gb=largest))
    for name in names:
        shelf.used(name).load()
        loaded = [one for one, model in shelf.models.items() if model.is_loaded]
        assert name in loaded and sum(sizes[one] for one in loaded) <= largest * 1e9
    # A single model may be larger than the limit.
    tight = ModelShelf(settings_for(folder, tmp_path / "store.sqlite", loaded_gb=0.0))
    for name in names:
        tight.used(name).load()
        assert [one for one, model in tight.models.items() if model.is_loaded] == [name]


def test_a_model_is_added_by_its_folder(folder: Path, tmp_path: Path) -> None:
    shelf = ModelShelf(settings_for(folder, tmp_path / "store.sqlite"))
    path = str(run_of(folder, "lstm").path)
    assert shelf.add(path) == [path] and len(shelf.models) == len(FAMILIES)
    assert sorted(shelf.add(str(folder / "runs"))) == sorted(shelf.models)
    with pytest.raises(GardenpathError):
        shelf.add(str(tmp_path / "nothing"))
    with pytest.raises(GardenpathError, match="reload the page"):
        shelf.used("another")
