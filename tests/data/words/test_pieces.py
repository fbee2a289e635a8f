"""Words become text, and the text of a prefix is a prefix of the text."""

from __future__ import annotations

import itertools
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.encoding import encode_sentences
from gardenpath.data.readers.treebanks import ToyTreebank
from gardenpath.data.words.pieces import (
    NEGATION,
    Spacing,
    Subwords,
    SubwordSettings,
    ending_beginnings,
    is_ending,
    joined_words,
    subword_vocabulary,
    train_subwords,
)
from gardenpath.data.words.vocabulary import SPECIALS, UNKNOWN_ID, Vocabulary
from gardenpath.errors import ConfigError, GardenpathError, InputError

SPACINGS: list[Spacing] = ["auto", "blanks", "natural", "none"]

_ENGLISH = """the king kings do is n't n’t 's ’s . , ? ... ( ) -LRB- -rrb- `` '' ` " ' $ % -- 3.5"""
_OTHERS = "“ ” …… —— 他 喜欢 书 。 ， Python A股 ３ 한국 3 well-known"
WORDS = st.lists(st.sampled_from(f"{_ENGLISH} {_OTHERS}".split()), max_size=12)


@pytest.mark.parametrize(
    ("words", "spacing", "text"),
    [
        ("the cat sat .", "auto", "the cat sat."),
        ("the cat sat .", "blanks", "the cat sat ."),
        ("他 喜欢 读书 。", "auto", "他喜欢读书。"),
        ("他 喜欢 读书 。", "natural", "他 喜欢 读书 。"),
        ("他 喜欢 读书 。", "blanks", "他 喜欢 读书 。"),
        ("他 用 Python 写 3 行 。", "auto", "他用Python写3行。"),
        ("a b", "none", "ab"),
        ("they do n't , she 's", "auto", "they don't, she's"),
        ("the cat n't", "auto", "the cat n't"),
        ("the king 's ( old ) friend", "natural", "the king's (old) friend"),
        ("-LRB- old -RRB- `` yes '' .", "auto", '(old) "yes".'),
        ('he said " yes " to " us "', "auto", 'he said "yes" to "us"'),
        ("$ 5 , 10 %", "auto", "$5, 10%"),
        ("'em -- .5 well-known", "auto", "'em -- .5 well-known"),
        ("한국 사람", "auto", "한국 사람"),
        ("", "auto", ""),
    ],
)
def test_words_are_written_as_text(words: str, spacing: Spacing, text: str) -> None:
    assert joined_words(words.split(), spacing).text == text


def test_the_place_of_each_word_is_known() -> None:
    found = joined_words(["the", "king", "'s", "-LRB-", "书", "-RRB-"], "auto")
    places = [found.text[a:b] for a, b in zip(found.starts, found.ends, strict=True)]
    assert places == ["the", "king", "'s", "(", "书", ")"]


@pytest.mark.parametrize("word", ["", "two words", "a\u3000b", "a\n"])
def test_words_without_letters_or_with_blanks_are_refused(word: str) -> None:
    with pytest.raises(GardenpathError, match="contains a blank"):
        joined_words(["the", word], "auto")


@pytest.mark.parametrize("spacing", SPACINGS)
@given(words=WORDS)
def test_the_text_of_a_prefix_is_a_prefix(spacing: Spacing, words: list[str]) -> None:
    whole = joined_words(words, spacing)
    for length in range(len(words) + 1):
        part = joined_words(words[:length], spacing)
        assert part.text == whole.text[: part.ends[-1] if part.ends else 0]
        assert part.ends == whole.ends[:length] and part.after == whole.after[:length]


@pytest.mark.parametrize("spacing", SPACINGS)
@given(words=WORDS)
def test_what_follows_a_word_is_what_may_follow_it(spacing: Spacing, words: list[str]) -> None:
    found = joined_words(words, spacing)
    for end, after in zip(found.ends, found.after, strict=True):
        rest = found.text[end:]
        allowed = after == "anything" or not rest or is_ending(rest[0], spacing)
        assert allowed or (after == "negation" and rest.startswith(NEGATION))


@pytest.mark.parametrize("spacing", SPACINGS)
def test_incomplete_codes_are_those_of_characters_that_end_words(spacing: Spacing) -> None:
    surrogates = range(0xD800, 0xE000)
    every = (chr(n) for n in itertools.chain(range(surrogates[0]), range(0xE000, 0x110000)))
    codes = {one.encode() for one in every if is_ending(one, spacing)}
    expected = {code[:length] for code in codes for length in range(1, len(code))}
    assert ending_beginnings(spacing) == expected


# ----------------------------------------------------------------------------
# Subwords: pieces make up their words, never more than one, and training is deterministic.


Algorithm = Literal["unigram", "bpe"]
BOTH = pytest.mark.parametrize("algorithm", ["unigram", "bpe"])
BOUNDARY = "▁"


@cache
def corpus() -> tuple[str, ...]:
    reader = ToyTreebank(grammar="english", train=400)
    return tuple(" ".join(sentence.words) for sentence in reader.read("train"))


@cache
def trained(algorithm: Algorithm) -> Subwords:
    return train_subwords(corpus(), SubwordSettings(algorithm=algorithm, pieces=120))


@cache
def vocabulary(algorithm: Algorithm) -> Vocabulary:
    subwords = trained(algorithm)
    counts = Counter(
        piece
        for sentence in corpus()
        for word in sentence.split()
        for piece in subwords.split(word)
    )
    return subword_vocabulary(subwords, counts, labels=["S", "NP"], language="en")


def letters() -> list[str]:
    return sorted(set("".join(corpus())) - {" "})


@BOTH
@given(word=st.text(st.sampled_from(letters()), min_size=1, max_size=12))
def test_pieces_make_up_the_word(algorithm: Algorithm, word: str) -> None:
    pieces = trained(algorithm).split(word)
    assert "".join(pieces) == BOUNDARY + word
    assert not any(BOUNDARY in piece for piece in pieces[1:])
    ids = trained(algorithm).encode(word, vocabulary(algorithm))
    assert [vocabulary(algorithm).tokens[number] for number in ids] == pieces


@BOTH
def test_some_words_are_cut(algorithm: Algorithm) -> None:
    lengths = {len(trained(algorithm).split(word)) for word in corpus()[0].split()}
    assert max(lengths) > 1


@BOTH
def test_training_is_deterministic(algorithm: Algorithm) -> None:
    again = train_subwords(corpus(), SubwordSettings(algorithm=algorithm, pieces=120))
    assert again.model == trained(algorithm).model
    assert again.content_hash == trained(algorithm).content_hash


def test_algorithms_differ() -> None:
    assert trained("bpe").content_hash != trained("unigram").content_hash


@BOTH
def test_unknown_characters(algorithm: Algorithm) -> None:
    pieces = trained(algorithm).split("猫")
    assert "".join(pieces) == BOUNDARY + "猫"
    assert trained(algorithm).encode("猫", vocabulary(algorithm))[-1] == UNKNOWN_ID


@BOTH
def test_word_boundaries_in_sentences(algorithm: Algorithm) -> None:
    """Pieces between two marks are those of one word: word surprisal sums over them."""
    sentences = [["the", "queen", "laughs"], ["themselves"]]
    encoded = encode_sentences(sentences, vocabulary(algorithm), trained(algorithm))
    tokens = vocabulary(algorithm).tokens
    assert encoded.word_count == 4
    for number, words in enumerate(sentences):
        begin, end = encoded.offsets[number : number + 2]
        text = ""
        for token, starts in zip(
            encoded.tokens[begin:end], encoded.starts_word[begin:end], strict=True
        ):
            assert tokens[token].startswith(BOUNDARY) == bool(starts)
            text += tokens[token]
        assert text.split(BOUNDARY)[1:] == words


def test_vocabulary_of_pieces() -> None:
    result = vocabulary("unigram")
    assert result.tokens[:4] == SPECIALS
    assert len(result) == 4 + 119, "the pieces without SentencePiece's own unknown piece"
    assert len(set(result.tokens)) == len(result)
    assert result.labels == ("NP", "S")
    assert result.subword_hash == trained("unigram").content_hash
    assert sum(result.counts) == sum(
        len(trained("unigram").split(word)) for text in corpus() for word in text.split()
    )


def test_text_is_not_normalised() -> None:
    """Full-width and composed characters stay what they are."""
    sentences = ["Ａ A ① é e\u0301"] * 20
    subwords = train_subwords(sentences, SubwordSettings(algorithm="bpe", pieces=14))
    for word in sentences[0].split():
        assert "".join(subwords.split(word)) == BOUNDARY + word


def test_file_round_trip(tmp_path: Path) -> None:
    trained("bpe").save(tmp_path / "subwords.model")
    loaded = Subwords.load(tmp_path / "subwords.model")
    assert loaded.content_hash == trained("bpe").content_hash
    assert loaded.pieces == trained("bpe").pieces
    assert loaded.split("themselves") == trained("bpe").split("themselves")


def test_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "subwords.model"
    with pytest.raises(InputError, match="No such file"):
        Subwords.load(path)
    path.write_bytes(b"no model")
    with pytest.raises(InputError, match="is not a SentencePiece model") as caught:
        Subwords.load(path)
    assert caught.value.path == str(path)


@BOTH
@pytest.mark.parametrize("pieces", [5, 100_000])
def test_wrong_number_of_pieces(algorithm: Algorithm, pieces: int) -> None:
    with pytest.raises(ConfigError, match=f"data.subwords.pieces={pieces}"):
        train_subwords(corpus(), SubwordSettings(algorithm=algorithm, pieces=pieces))


@BOTH
@given(word=st.text(min_size=1, max_size=8))
def test_one_piece_begins_a_word_and_the_others_continue_it(
    algorithm: Algorithm, word: str
) -> None:
    subwords = trained(algorithm)
    vocabulary = subword_vocabulary(subwords, {}, labels=[], language="en")
    first, *others = subwords.encode(word, vocabulary)
    assert not vocabulary.is_continuation[first]
    assert vocabulary.is_continuation[others].all()


@BOTH
@pytest.mark.parametrize("word", ["", " ", "▁", "▁▁", "▁the", "the▁cat", "a b", "漢字", "the漢"])
def test_words_with_the_mark_are_still_one_word(algorithm: Algorithm, word: str) -> None:
    subwords = trained(algorithm)
    vocabulary = subword_vocabulary(subwords, {}, labels=[], language="en")
    first, *others = subwords.encode(word, vocabulary)
    assert not vocabulary.is_continuation[first]
    assert vocabulary.is_continuation[others].all()
    assert vocabulary.tokens[first].startswith(BOUNDARY)
