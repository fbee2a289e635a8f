"""Tokens are read as the characters that they spell, whatever bytes they end with."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from gardenpath.errors import InputError
from gardenpath.eval.published.files import ScoredSentence
from gardenpath.eval.published.token_tables import (
    ForeignSentence,
    byte_alphabet,
    is_byte_level,
    readable,
    readable_sentences,
)

PATH = Path("tokens.tsv")
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


def _one(*tokens: str) -> ForeignSentence:
    return ForeignSentence(number=3, scored=ScoredSentence(tokens, (1.0,) * len(tokens), 9))


def test_what_cannot_be_read_is_refused_with_its_place() -> None:
    with pytest.raises(InputError, match=r"tokens.tsv:9: sentence 3: token ' \ufffd' is a part"):
        readable_sentences([_one("a", " \ufffd")], PATH)
    with pytest.raises(InputError, match=r"sentence 3: 'a <0xE7>' … does not end with a character"):
        readable_sentences([_one("a", "<0xE7>")], PATH)
    (found,) = readable_sentences([_one("The", "ĠcafÃ", "©")], PATH)
    assert found.scored.tokens == ("The", " café") and found.scored.values == (1.0, 2.0)
