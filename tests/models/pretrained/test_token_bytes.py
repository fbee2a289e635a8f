"""The bytes of tokens, sorted, and what ends a word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.adopted.covers import TextTokens, TokenBytes, ends_word
from gardenpath.data.words.pieces import is_ending
from gardenpath.errors import GardenpathError
from tests.models.pretrained import tiny_models
from tests.models.pretrained.tiny_models import KINDS, Kind

contents = st.lists(st.none() | st.binary(max_size=4), min_size=1, max_size=30)


@given(content=contents, prefix=st.binary(min_size=1, max_size=3))
def test_the_tokens_that_begin_with_a_prefix_are_a_range(
    content: list[bytes | None], prefix: bytes
) -> None:
    vocabulary = TokenBytes(content)
    first, last = vocabulary.beginning_with(prefix)
    expected = {n for n, one in enumerate(content) if one and one.startswith(prefix)}
    assert {*vocabulary.order[first:last].tolist()} == expected
    for rank, token in enumerate(vocabulary.order.tolist()):
        assert vocabulary.rank[token] == rank


@given(content=contents, text=st.binary(min_size=1, max_size=6))
def test_no_token_contains_what_is_too_long(content: list[bytes | None], text: bytes) -> None:
    vocabulary = TokenBytes(content)
    if vocabulary.is_too_long(text):
        assert not any(one and text in one for one in content)


@pytest.mark.parametrize("kind", KINDS)
def test_the_bytes_of_tokens_are_the_text(kind: Kind) -> None:
    tokens = TextTokens(tiny_models.tokeniser(kind).backend_tokenizer)
    assert tokens.lead == (b" " if kind == "llama" else b"")
    texts = [*tiny_models.TEXTS[:50], "  two  blanks", "tab\tand\nline", "𠮷野家 e\u0301"[:4], ""]
    for text, found in zip(texts, tokens.encode(texts), strict=True):
        assert tokens.bytes.text(found) == tokens.data(text)


@pytest.mark.parametrize("kind", KINDS)
def test_special_tokens_have_no_bytes(kind: Kind) -> None:
    tokeniser = tiny_models.tokeniser(kind)
    vocabulary = TokenBytes.of(tokeniser.backend_tokenizer)
    assert vocabulary.content[tokeniser.eos_token_id] is None
    assert vocabulary.rank[tokeniser.eos_token_id] == -1
    assert {bytes([byte]) for byte in range(256)} <= {one for one in vocabulary.content if one}


@pytest.mark.parametrize("spacing", ["auto", "natural", "blanks"])
@given(text=st.text(min_size=1, max_size=3), cut=st.integers(1, 12))
def test_a_character_that_ends_words_is_known_by_its_first_bytes(
    spacing: str, text: str, cut: int
) -> None:
    data = text.encode("utf-8", "surrogatepass")[:cut]
    first = text[0].encode("utf-8", "surrogatepass")
    if len(data) >= len(first):
        is_text = not 0xD800 <= ord(text[0]) < 0xE000
        assert ends_word(data, spacing) == (is_text and is_ending(text[0], spacing))  # type: ignore[arg-type]
    elif is_ending(text[0], spacing):  # type: ignore[arg-type]
        assert ends_word(data, spacing)  # type: ignore[arg-type]


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff", b"\xc0\x80", b"\xe4\x41\x41", b"a", b"9"])
def test_what_is_no_character_ends_no_word(data: bytes) -> None:
    assert not ends_word(data, "auto")


def test_tokenisers_that_change_text_are_refused() -> None:
    from tokenizers import normalizers

    backend = tiny_models.small_tokeniser(("A", "b"), []).backend_tokenizer
    backend.normalizer = normalizers.Replace("a", "A")
    with pytest.raises(GardenpathError, match="the tokeniser changes texts"):
        TextTokens(backend)
