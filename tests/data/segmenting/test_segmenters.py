"""Segmenters: they divide text and never change it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gardenpath.data.words import segmenting as jieba_segmenter
from gardenpath.data.words.segmenting import SEGMENTERS, segmenter_label, segmenter_named
from gardenpath.errors import GardenpathError

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
    assert jieba_segmenter.JiebaSegmenter().segment("图书馆") == ["图书馆"]
    assert [path.name for path in tmp_path.iterdir()] == ["jieba.cache"]
    assert (tmp_path / "jieba.cache").read_bytes() == b"anything that others may write"


def test_unknown_names_and_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(GardenpathError, match="did you mean 'characters'"):
        segmenter_named("character")
    monkeypatch.setattr(jieba_segmenter, "find_spec", lambda name: None)
    with pytest.raises(GardenpathError, match=r"pip install 'gardenpath\[annotate\]'"):
        jieba_segmenter.JiebaSegmenter()
