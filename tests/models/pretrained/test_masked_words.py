"""Tokens and words: every token belongs to the word that contains its characters."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.adopted.masked import word_tokens
from gardenpath.data.words.pieces import Spacing, joined_words
from gardenpath.errors import GardenpathError
from tests.models.pretrained import masked_samples

BERT, ROBERTA, XLM = (
    masked_samples.wordpiece(), masked_samples.byte_level(), masked_samples.sentencepiece(),
)  # fmt: skip

WORDS = st.lists(
    st.sampled_from(["the", "kings", "singing", ".", "国王", "我们", "的", "歌", "Ωé", "i'm"]),
    min_size=1, max_size=7,
)  # fmt: skip


def _pieces(tokenizer: Any, words: list[str], spacing: Spacing) -> list[list[str]]:
    found = word_tokens(tokenizer, words, spacing)
    names = tokenizer.convert_ids_to_tokens(list(found.ids))
    return [[names[place] for place in places] for places in found.positions]


def test_pieces_of_words() -> None:
    words = ["the", "kings", "Ωψ", "."]
    assert _pieces(BERT, words, "blanks") == [["the"], ["kings"], ["[UNK]"], ["."]]
    assert _pieces(ROBERTA, ["the", "kings", "."], "blanks") == [["the"], ["Ġkings"], ["Ġ."]]
    # A mark of the beginning of a word belongs to the word that follows.
    assert _pieces(XLM, ["king", "."], "blanks") == [["▁king"], ["▁", "."]]


def test_bytes_of_one_character_belong_to_its_word() -> None:
    assert _pieces(ROBERTA, ["a", "Ω", "b"], "blanks") == [["a"], ["Ġ", "Î", "©"], ["Ġ", "b"]]


def test_characters_of_chinese_words() -> None:
    found = word_tokens(BERT, ["国王", "看见", "了"], "none")
    assert found.positions == ((1, 2), (3, 4), (5,))


def test_a_token_of_two_words_is_named() -> None:
    found = word_tokens(XLM, ["国王", "听", "我们", "的", "歌"], "none")
    assert dict.fromkeys([2, 3], "the token '我们的' belongs to several words") == found.problems
    # At the beginning of a text, the token that marks it is the first of the word.
    assert _pieces(XLM, ["国王", "听"], "none") == [["▁", "国王"], ["听"]]
    found = word_tokens(ROBERTA, ["国王", "看见", "了", "。"], "none")
    assert sorted(found.problems) == [1, 2]
    assert "'见了' belongs to several words" in found.problems[1]


def test_a_word_that_the_tokeniser_drops_is_named() -> None:
    found = word_tokens(BERT, ["the", "\u200b", "king"], "blanks")
    assert dict(found.problems) == {1: "the tokeniser drops '\\u200b'"}


def test_words_that_look_like_special_tokens_are_text() -> None:
    for tokenizer in (BERT, ROBERTA):
        words = ["the", tokenizer.mask_token, tokenizer.sep_token]
        ids = list(word_tokens(tokenizer, words, "blanks").ids)
        assert tokenizer.mask_token_id not in ids
        assert ids.count(tokenizer.sep_token_id) == ids.count(tokenizer.cls_token_id) == 1


def test_words_that_are_special_tokens_all_the_same_are_refused() -> None:
    with pytest.raises(GardenpathError, match=r"'the \[MASK\]'.*is a special token"):
        word_tokens(XLM, ["the", "[MASK]"], "blanks")


@pytest.mark.parametrize("tokenizer", [BERT, ROBERTA, XLM], ids=["bert", "roberta", "xlm"])
@given(words=WORDS, spacing=st.sampled_from(["auto", "blanks", "none"]))
def test_every_token_between_the_special_ones_belongs_to_a_word(
    tokenizer: Any, words: list[str], spacing: Spacing
) -> None:
    found = word_tokens(tokenizer, words, spacing)
    assert sorted({place for places in found.positions for place in places}) == list(
        range(1, len(found.ids) - 1)
    )
    own = [place for n, places in enumerate(found.positions) for place in places
           if n not in found.problems]  # fmt: skip
    assert own == sorted(set(own))
    text = joined_words(words, spacing).text
    assert list(found.ids) == tokenizer(text)["input_ids"]
