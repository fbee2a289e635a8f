"""Tokenisers of shared runs give the ids of the run."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.words.pieces import SubwordSettings, subword_vocabulary, train_subwords
from gardenpath.data.words.vocabulary import build_vocabulary
from gardenpath.errors import GardenpathError
from gardenpath.sharing.transformers_folder import invented_words, shared_tokenizer

TEXT = [
    "the king hears the kings and the singer sings .",
    "an old queen that the kings see is singing kindly .",
    "the queens were older , and the king was kinder than the singers .",
    "国王 看见 了 我们 的 歌 。",
    "3 . 5 % of it 's 1,000 don't well-known",
]
SUBWORDS = {
    "unigram": train_subwords(TEXT * 3, SubwordSettings(algorithm="unigram", pieces=60)),
    "bpe": train_subwords(TEXT * 3, SubwordSettings(algorithm="bpe", pieces=90)),
}
VOCABULARIES = {
    name: subword_vocabulary(one, Counter(), labels=[], language="en")
    for name, one in SUBWORDS.items()
}
TOKENIZERS = {
    name: shared_tokenizer(VOCABULARIES[name], SUBWORDS[name], lowercase=False, most=None)[0]
    for name in SUBWORDS
}


@given(
    words=st.lists(
        st.text(alphabet="thekingsqurodl,.'1国王的Ωß\u00a0", min_size=1, max_size=12), max_size=5
    )
)
def test_pieces_are_those_of_sentencepiece(words: list[str]) -> None:
    subwords, vocabulary = SUBWORDS["bpe"], VOCABULARIES["bpe"]
    expected = [number for word in words for number in subwords.encode(word, vocabulary)]
    found = TOKENIZERS["bpe"](" ".join(words), add_special_tokens=False)["input_ids"]
    assert found == expected


@given(word=st.text(alphabet="thekingsqurodl,.'10国王的Ωß\u00a0", min_size=1, max_size=12))
def test_unigram_pieces_are_those_of_sentencepiece_or_equally_good(word: str) -> None:
    subwords, vocabulary = SUBWORDS["unigram"], VOCABULARIES["unigram"]
    expected = subwords.encode(word, vocabulary)
    found = TOKENIZERS["unigram"](word, add_special_tokens=False)["input_ids"]
    assert found == expected or sorted(found) == sorted(expected)


def test_words_that_can_be_divided_in_two_ways_are_counted() -> None:
    """*000* is *0 00* and *00 0*; BPE has no such words."""
    for algorithm, expected in (("unigram", True), ("bpe", False)):
        vocabulary, subwords = VOCABULARIES[algorithm], SUBWORDS[algorithm]
        _, ties = shared_tokenizer(vocabulary, subwords, lowercase=False, most=None)
        assert (0 < ties < 0.2) == expected and (ties == 0) != expected


@pytest.mark.parametrize("algorithm", ["unigram", "bpe"])
def test_sentences_begin_with_one_symbol_and_can_be_read_again(algorithm: str) -> None:
    tokenizer = TOKENIZERS[algorithm]
    for text in TEXT:
        ids = tokenizer(text)["input_ids"]
        assert ids[0] == 1 and ids.count(1) == 1
        assert tokenizer.decode(ids, skip_special_tokens=True) == text


def test_words_of_the_vocabulary_keep_their_ids() -> None:
    counts = {(word, False): 2 for text in TEXT for word in text.split()}
    vocabulary = build_vocabulary(
        {**counts, ("o\u00a0k", False): 2, ("zebra", False): 1},
        labels=[], language="en", min_count=2,
    )  # fmt: skip
    tokenizer, ties = shared_tokenizer(vocabulary, None, lowercase=False, most=40)
    assert ties == 0
    for text in [*TEXT, "the o\u00a0k king"]:
        ids = tokenizer(text)["input_ids"]
        assert ids == [1, *vocabulary.encode(text.split(" "))]
    assert tokenizer.model_max_length == 40
    assert tokenizer("<unk-lc> king").tokens() == ["<s>", "<unk-lc>", "king"]


def test_a_word_that_the_tokeniser_would_divide_is_refused() -> None:
    vocabulary = build_vocabulary({("a b", False): 1}, labels=[], language="en", min_count=1)
    with pytest.raises(GardenpathError, match="the word 'a b' has the ids"):
        shared_tokenizer(vocabulary, None, lowercase=False, most=None)


def test_invented_words_are_the_same_every_time() -> None:
    subwords, vocabulary = SUBWORDS["bpe"], VOCABULARIES["bpe"]
    words = invented_words(vocabulary, subwords, 50)
    assert words == invented_words(vocabulary, subwords, 50)
    assert len(set(words)) > 40 and all(word and "▁" not in word for word in words)
