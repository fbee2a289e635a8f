"""NLTK's words, and segmenters whose models are installed by the user."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from gardenpath.data.words.segmenting import (
    restored,
    segmenter_label,
    segmenter_named,
    segmenter_problem,
    treebank_quotes,
)
from gardenpath.errors import GardenpathError


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    segmenter_named.cache_clear()
    yield
    segmenter_named.cache_clear()


def module(monkeypatch: pytest.MonkeyPatch, name: str, **content: Any) -> None:
    made = ModuleType(name)
    made.__spec__ = ModuleSpec(name, None)
    for key, value in content.items():
        setattr(made, key, value)
    monkeypatch.setitem(sys.modules, name, made)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The cat's here, isn't it?", "The cat 's here , is n't it ?"),
        ('He said "no" twice.', 'He said " no " twice .'),
        ("It cost $3.50 (about 5%).", "It cost $ 3.50 ( about 5 % ) ."),
        ("Mr. Smith cannot go.", "Mr. Smith can not go ."),
        ("''Well''  --  no", "'' Well '' -- no"),
    ],
)
def test_words_of_the_treebank(text: str, words: str) -> None:
    assert segmenter_named("nltk").segment(text) == words.split()


def test_text_that_tokens_do_not_cover_is_kept() -> None:
    assert list(restored("ab cd ef", ["ab", "x", "ef"])) == ["ab", "cd", "ef"]
    assert list(restored("ab cd", ["ab"])) == ["ab", "cd"]


def test_quotes_of_the_treebank() -> None:
    text = 'He said "no ("never")" and “yes”.'
    words = segmenter_named("nltk").segment(text)
    assert (
        " ".join(treebank_quotes(text, words)) == "He said `` no ( `` never '' ) '' and `` yes '' ."
    )


def test_spacy(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = []

    def load(name: str) -> Any:
        loaded.append(name)
        tokens = [SimpleNamespace(text=text) for text in ("我们", " ", "看书", "。")]
        return SimpleNamespace(make_doc=lambda text: tokens)

    assert "pip install spacy" in segmenter_problem("spacy")
    module(monkeypatch, "spacy", load=load)
    assert "spacy download zh_core_web_sm" in segmenter_problem("spacy")
    with pytest.raises(GardenpathError, match="spacy download zh_core_web_trf"):
        segmenter_named("spacy:zh_core_web_trf")
    module(monkeypatch, "zh_core_web_sm")
    segmenter = segmenter_named("spacy")
    assert segmenter.segment("我们 看书。") == ["我们", "看书", "。"]
    assert loaded == ["zh_core_web_sm"]
    assert segmenter_label(segmenter) == "spacy:zh_core_web_sm unknown, model unknown"


@pytest.mark.parametrize("name", ["spacy:/tmp/model", "spacy:../x", "pkuseg:/tmp", "pkuseg:a/b"])
def test_models_are_not_paths(name: str) -> None:
    assert "name a" in segmenter_problem(name)


def test_pkuseg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PKUSEG_HOME", str(tmp_path))
    assert "pip install spacy-pkuseg" in segmenter_problem("pkuseg")

    def pkuseg(model_name: str) -> Any:
        assert model_name == str(tmp_path / "spacy_ontonotes")
        return SimpleNamespace(cut=list)

    module(monkeypatch, "spacy_pkuseg", pkuseg=pkuseg)
    assert str(tmp_path / "spacy_ontonotes") in segmenter_problem("pkuseg")
    (tmp_path / "spacy_ontonotes").mkdir()
    assert segmenter_named("pkuseg").segment("看书 了") == ["看", "书", "了"]


def test_unknown_names() -> None:
    assert "did you mean 'jieba'" in segmenter_problem("jiba")
    assert segmenter_problem("nltk:x") != ""
