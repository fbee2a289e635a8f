"""Numbers of tokens are added up to words, or refused."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from gardenpath.errors import InputError
from gardenpath.eval.published.files import ScoredSentence
from gardenpath.eval.published.words import (
    byte_alphabet,
    is_byte_level,
    merged_words,
    readable,
    readable_sentences,
    words_by_marks,
)

PATH = Path("tokens.tsv")
_words = st.lists(st.text("abé猫", min_size=1, max_size=4), min_size=1, max_size=5)


def _scored(*tokens: str) -> ScoredSentence:
    """Powers of two: every sum is exact and says which tokens are in it."""
    return ScoredSentence(tokens, tuple(2.0**n for n in range(len(tokens))), 7)


def _pieces(data: st.DataObject, word: str) -> list[str]:
    cuts = data.draw(st.sets(st.integers(1, len(word)), max_size=3))
    ends = [*sorted(cut for cut in cuts if cut < len(word)), len(word)]
    return [word[start:end] for start, end in itertools.pairwise([0, *ends])]


_STYLES = {
    "leading": lambda parts, first: [("▁" if n == 0 else "") + p for n, p in enumerate(parts)],
    "bytes": lambda parts, first: [
        ("" if first or n else " ") + p for n, p in enumerate(parts)
    ],
    "wordpiece": lambda parts, first: [("" if n == 0 else "##") + p for n, p in enumerate(parts)],
    "subword_nmt": lambda parts, first: [*(f"{p}@@" for p in parts[:-1]), parts[-1]],
    "ends": lambda parts, first: [*parts[:-1], f"{parts[-1]}</w>"],
}  # fmt: skip


@pytest.mark.parametrize("style", _STYLES)
@given(st.data())
def test_pieces_of_every_style_make_the_words(style: str, data: st.DataObject) -> None:
    """An obvious sum over the pieces of each word, whatever marks they have."""
    words = tuple(data.draw(_words))
    divided = [_pieces(data, word) for word in words]
    tokens = [token for n, parts in enumerate(divided) for token in _STYLES[style](parts, n == 0)]
    scored = _scored(*tokens)
    values = iter(scored.values)
    expected = tuple(math.fsum(next(values) for _ in parts) for parts in divided)
    found = merged_words(scored, words, PATH, 7)
    assert found.tokens == words and found.values == expected
    # A sentence alone may have no piece that goes on; files have.
    example = _scored(*_STYLES[style](["x", "y"], True), *_STYLES[style](["z"], False))
    assert words_by_marks([scored, example], PATH) == [words, ("xy", "z")]


@given(st.data())
def test_tokens_across_words_are_refused_and_no_others(data: st.DataObject) -> None:
    words = tuple(data.draw(_words))
    text = "".join(words)
    cuts = data.draw(st.sets(st.integers(1, len(text)), max_size=6))
    ends = [*sorted(cut for cut in cuts if cut < len(text)), len(text)]
    tokens = [text[start:end] for start, end in itertools.pairwise([0, *ends])]
    borders = set(itertools.accumulate(map(len, words)))
    if borders <= set(ends):
        assert merged_words(_scored(*tokens), words, PATH, 7).tokens == words
    else:
        with pytest.raises(InputError, match=r"tsv:7: sentence 7: token '.*' has characters"):
            merged_words(_scored(*tokens), words, PATH, 7)


def test_edges_unknown_words_and_marks_alone() -> None:
    scored = _scored("<s>", "▁", "the", "<unk>", "▁", ".", "</s>")
    found = merged_words(scored, ("The", "zyzzyva", "."), PATH, 7)
    assert found.values == (2.0 + 4.0, 8.0, 16.0 + 32.0)


def test_a_word_without_a_number_for_one_token_has_none() -> None:
    scored = ScoredSentence(("Th", "e", " cat"), (math.nan, 1.0, 2.0), 1)
    found = merged_words(scored, ("The", "cat"), PATH, 7)
    assert math.isnan(found.values[0]) and found.values[1] == 2.0


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (("The", "dog"), r"sentence 7: token 2, 'dog', does not continue the sentence 'The cat'"),
        (("The",), r"sentence 7: the 1 tokens, the last of them 'The', do not cover"),
        (("The", "cat", "s"), r"sentence 7: token 3, 's', does not continue"),
    ],
)
def test_other_characters_are_refused_with_sentence_and_token(
    tokens: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InputError, match=f"tokens.tsv:7: {message}"):
        merged_words(_scored(*tokens), ("The", "cat"), PATH, 7)


def test_words_that_a_file_does_not_contain() -> None:
    with pytest.raises(InputError, match=r"'<unk>' stands for a word.*sentences=FILE"):
        words_by_marks([_scored("the", "<unk>")], PATH)
    one = replace(_scored("the", "cat"), text="the  cat.")
    assert words_by_marks([one], PATH) == [("the", "cat.")]
    plain = _scored("the", "cat", "</s>")
    assert words_by_marks([plain], PATH) == [("the", "cat")]


# ----------------------------------------------------------------------------
# Tokens are read as the characters that they spell, whatever bytes they end with.

SPELT = {byte: char for char, byte in byte_alphabet().items()}


def _as_bytes(text: str) -> str:
    return "".join(SPELT[byte] for byte in text.encode("utf-8"))


def test_the_alphabet_is_that_of_byte_level_tokenisers() -> None:
    assert set(byte_alphabet()) == set(pre_tokenizers.ByteLevel.alphabet())
    splitter = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    for text in ("é", " the cats", "猫が好き。", "\n\t", "“naïve”"):
        ((spelt, _),) = splitter.pre_tokenize_str(text)
        assert spelt == _as_bytes(text)


@given(st.data())
def test_tokens_that_end_within_characters_are_joined(data: st.DataObject) -> None:
    """Wherever the bytes of a text are divided, the parts spell it, and their sum is the same."""
    text = data.draw(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12))
    spelt = _as_bytes(text)
    cuts = data.draw(st.sets(st.integers(1, max(1, len(spelt) - 1)), max_size=6))
    ends = [*sorted(cut for cut in cuts if cut < len(spelt)), len(spelt)]
    tokens = [spelt[start:end] for start, end in itertools.pairwise([0, *ends])]
    values = [2.0**-n for n in range(len(tokens))]
    found = readable(tokens, values, byte_level=True)
    assert found is not None
    assert "".join(found[0]) == text and math.fsum(found[1]) == math.fsum(values)
    # Every part ends with a character, and no part could be divided further.
    borders = set(itertools.accumulate(len(part.encode("utf-8")) for part in found[0]))
    whole = set(itertools.accumulate(len(char.encode("utf-8")) for char in text))
    assert borders == whole & set(ends)


def test_bytes_of_fallback_and_of_servers() -> None:
    tokens = ["▁", "<0xE7>", "<0x8C>", "<0xAB>", "bytes:\\xe3\\x81", "bytes:\\x8c", "<0x41>"]
    found = readable(tokens, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0], byte_level=False)
    assert found == (("▁", "猫", "が", "A"), (1.0, 14.0, 48.0, 64.0))


@pytest.mark.parametrize(
    "tokens", [["<0xE7>"], ["<0xE7>", "a"], ["<0xFF>"], ["<0xE7>", "<s>", "<0x8C>", "<0xAB>"]]
)
def test_bytes_that_are_no_text(tokens: list[str]) -> None:
    assert readable(tokens, [1.0] * len(tokens), byte_level=False) is None


def test_what_is_byte_level() -> None:
    assert is_byte_level([["The", "Ġcat"], ["<|endoftext|>", "ĠcafÃ©"]])
    assert not is_byte_level([["The", "cat"]])  # no mark: plain words
    assert not is_byte_level([["The", "Ġcat", "猫"]])


def _third(*tokens: str) -> list[ScoredSentence]:
    good = ScoredSentence(("a",), (1.0,), 1)
    return [good, good, ScoredSentence(tokens, (1.0,) * len(tokens), 9)]


def test_what_cannot_be_read_is_refused_with_its_place() -> None:
    with pytest.raises(InputError, match=r"tokens.tsv:9: sentence 3: token ' \ufffd' is a part"):
        readable_sentences(_third("a", " \ufffd"), PATH)
    with pytest.raises(InputError, match=r"sentence 3: 'a <0xE7>' … does not end with a character"):
        readable_sentences(_third("a", "<0xE7>"), PATH)
    *_, found = readable_sentences(_third("The", "ĠcafÃ", "©"), PATH)
    assert found.tokens == ("The", " café") and found.values == (1.0, 2.0)
