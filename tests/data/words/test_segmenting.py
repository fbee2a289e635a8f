"""NLTK's words, and segmenters whose models are installed by the user."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gardenpath.data.words import segmenting as jieba_segmenter
from gardenpath.data.words.segmenting import (
    SEGMENTERS,
    restored,
    segmenter_label,
    segmenter_named,
    segmenter_problem,
    treebank_quotes,
)
from gardenpath.errors import GardenpathError


@pytest.fixture
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


@pytest.mark.usefixtures("_forgotten")
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


@pytest.mark.usefixtures("_forgotten")
def test_text_that_tokens_do_not_cover_is_kept() -> None:
    assert list(restored("ab cd ef", ["ab", "x", "ef"])) == ["ab", "cd", "ef"]
    assert list(restored("ab cd", ["ab"])) == ["ab", "cd"]


@pytest.mark.usefixtures("_forgotten")
def test_quotes_of_the_treebank() -> None:
    text = 'He said "no ("never")" and “yes”.'
    words = segmenter_named("nltk").segment(text)
    assert (
        " ".join(treebank_quotes(text, words)) == "He said `` no ( `` never '' ) '' and `` yes '' ."
    )


@pytest.mark.usefixtures("_forgotten")
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


@pytest.mark.usefixtures("_forgotten")
@pytest.mark.parametrize("name", ["spacy:/tmp/model", "spacy:../x", "pkuseg:/tmp", "pkuseg:a/b"])
def test_models_are_not_paths(name: str) -> None:
    assert "name a" in segmenter_problem(name)


@pytest.mark.usefixtures("_forgotten")
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


@pytest.mark.usefixtures("_forgotten")
def test_unknown_names() -> None:
    assert "did you mean 'jieba'" in segmenter_problem("jiba")
    assert segmenter_problem("nltk:x") != ""


# ----------------------------------------------------------------------------
# Segmenters: they divide text and never change it.


ALL = pytest.mark.parametrize("name", SEGMENTERS)
TEXTS = st.text(alphabet=st.sampled_from("他有一本书。了，A b1.%+?\n\t　𠮷ｗ-é"), max_size=30)


@ALL
@settings(max_examples=200, deadline=None)
@given(text=st.one_of(TEXTS, st.text(max_size=20)))
def test_words_joined_are_the_text_without_its_blanks(name: str, text: str) -> None:
    words = segmenter_named(name).segment(text)
    assert "".join(words) == "".join(text.split())
    assert all(words)
    assert not any(character.isspace() for word in words for character in word)


def test_every_character_is_a_word_but_latin_letters_and_digits_stay_together() -> None:
    found = segmenter_named("characters").segment("他买了2张CD。")
    assert found == ["他", "买", "了", "2", "张", "CD", "。"]
    found = segmenter_named("characters").segment("发e-mail给Ph.D. 2.5-3天...")
    assert found == ["发", "e-mail", "给", "Ph.D", ".", "2.5-3", "天", ".", ".", "."]


def test_words_between_blanks() -> None:
    assert segmenter_named("whitespace").segment(" 他 买了\t书 \n") == ["他", "买了", "书"]


def test_words_of_jieba() -> None:
    found = segmenter_named("jieba").segment("我们在图书馆看书。")
    assert found == ["我们", "在", "图书馆", "看书", "。"]


def test_labels_have_a_version_where_a_program_decides() -> None:
    assert segmenter_label(segmenter_named("characters")) == "characters"
    assert segmenter_label(segmenter_named("jieba")).startswith("jieba 0.")


def test_jieba_reads_and_writes_no_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jieba.cache").write_bytes(b"anything that others may write")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert SEGMENTERS["jieba"]().segment("图书馆") == ["图书馆"]
    assert [path.name for path in tmp_path.iterdir()] == ["jieba.cache"]
    assert (tmp_path / "jieba.cache").read_bytes() == b"anything that others may write"


@pytest.mark.usefixtures("_forgotten")
def test_unknown_names_and_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(GardenpathError, match="did you mean 'characters'"):
        segmenter_named("character")
    monkeypatch.setattr(jieba_segmenter, "find_spec", lambda name: None)
    with pytest.raises(GardenpathError, match=r"pip install 'gardenpath\[annotate\]'"):
        segmenter_named("jieba")
