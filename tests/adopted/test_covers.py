"""Probabilities of prefixes equal those of slow enumeration, and what ends a word."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.adopted.covers import TextTokens, TokenBytes, ends_word
from gardenpath.adopted.hf import CausalScorer
from gardenpath.data.words.pieces import Boundary, is_ending
from gardenpath.errors import GardenpathError
from tests.adopted import tiny_models
from tests.adopted.tiny_models import KINDS, Kind

# The text of each token, None for special ones.
Vocabulary = Sequence[str | None]
Tokenise = Callable[[str], Sequence[int]]


class SlowCovers:
    """Enumerates covers; each context is read by the model on its own."""

    def __init__(self, network: Any, vocabulary: Vocabulary, *, begin: int) -> None:
        self._network = network
        self._vocabulary = vocabulary
        self._begin = begin
        self._known: dict[tuple[int, ...], list[float]] = {}

    def next_probs(self, context: tuple[int, ...]) -> list[float]:
        """Probabilities of all tokens after a context."""
        if context not in self._known:
            with torch.inference_mode():
                tokens = torch.tensor([[self._begin, *context]])
                logits = self._network(input_ids=tokens, use_cache=False).logits[0, -1]
            self._known[context] = logits.softmax(0).tolist()
        return self._known[context]

    def prefix_prob(self, text: str, tokenise: Tokenise | None = None) -> float:
        """Probability that a text begins so.

        With a tokeniser, only of sequences whose tokens before the last are those of their text.
        """
        if not text:
            return 1.0
        return self._rest((), "", text, 1.0, tokenise)

    def _rest(
        self, context: tuple[int, ...], done: str, rest: str, prob: float, tokenise: Tokenise | None
    ) -> float:
        if tokenise is not None and tuple(tokenise(done)) != context:
            return 0.0
        total = 0.0
        for token, text in enumerate(self._vocabulary):
            if not text:
                continue
            following = prob * self.next_probs(context)[token]
            if text.startswith(rest):
                total += following
            elif rest.startswith(text):
                more = (*context, token), done + text, rest[len(text) :]
                total += self._rest(*more, following, tokenise)
        return total

    def sequence_prob(self, tokens: Sequence[int]) -> float:
        """Probability of a sequence of tokens."""
        prob = 1.0
        for place, token in enumerate(tokens):
            prob *= self.next_probs(tuple(tokens[:place]))[token]
        return prob


# ----------------------------------------------------------------------------
# Probabilities of prefixes equal those of slow enumeration.


# "abc" is a bc, although "ab" is one token: tokens of a prefix are not always those of the text.
TOKENS = ("a", "b", "c", "▁", ".", "bc", "ab", "▁a", "▁ab", "c▁a", "b.")
MERGES = [("b", "c"), ("a", "b"), ("▁", "a"), ("▁a", "b"), ("c", "▁a"), ("b", ".")]
LETTERS = ("a", "b", "c", "▁", ".")

TEXTS = ["a", "ab", "abc", "abc ab", "ab. abc a", "cab ab.", "a b c", "ba", "ac ab"]
texts = st.text("abc .", min_size=1, max_size=6).map(lambda text: text.strip() or "a")


def _parts(tokens: Sequence[str], merges: Sequence[tuple[str, str]]) -> tuple[Any, Any]:
    tokeniser = tiny_models.small_tokeniser(tokens, merges)
    return tokeniser, tiny_models.model("gpt2", len(tokens) + 1)


def _scorer(parts: tuple[Any, Any], boundary: Boundary = "next", **settings: Any) -> CausalScorer:
    tokeniser, network = parts
    return tiny_models.scorer_of(network, tokeniser, boundary, **settings)


def _slow(parts: tuple[Any, Any], tokens: Sequence[str]) -> SlowCovers:
    vocabulary = [*(token.replace("▁", " ") for token in tokens), None]
    return SlowCovers(parts[1], vocabulary, begin=len(tokens))


PARTS = _parts(TOKENS, MERGES)
SCORER = _scorer(PARTS)
SLOW = _slow(PARTS, TOKENS)


def _tokens(text: str) -> list[int]:
    found: list[int] = PARTS[0](text, add_special_tokens=False).input_ids
    return found


def test_the_tokens_of_a_prefix_are_not_those_of_the_text() -> None:
    shown = {text: PARTS[0].convert_ids_to_tokens(_tokens(text)) for text in ("ab", "abc")}
    assert shown == {"ab": ["ab"], "abc": ["a", "bc"]}


@pytest.mark.parametrize("text", TEXTS)
def test_prefixes_equal_the_sum_over_canonical_covers(text: str) -> None:
    boundaries = range(len(text) + 1)
    found = SCORER.prefix_log_probs(text, boundaries)
    expected = [SLOW.prefix_prob(text[:b], _tokens) for b in boundaries]
    np.testing.assert_allclose(np.exp(found.log_probs), expected, rtol=1e-10)
    end = SLOW.sequence_prob([*_tokens(text), len(TOKENS)])
    assert math.exp(found.end) == pytest.approx(end, rel=1e-10)


@pytest.mark.parametrize("text", TEXTS)
def test_prefixes_are_at_most_as_probable_as_all_their_covers(text: str) -> None:
    found = np.exp(SCORER.prefix_log_probs(text, range(len(text) + 1)).log_probs)
    every = np.array([SLOW.prefix_prob(text[:b]) for b in range(len(text) + 1)])
    assert (found <= every * (1 + 1e-12)).all()
    assert found[0] == every[0] == 1.0
    if text == "abc ab":
        assert (found < every * 0.999).any()  # tokens that the tokeniser does not produce


@pytest.mark.parametrize("text", TEXTS)
def test_prefixes_have_their_whole_probability_if_there_is_one_way_to_write_them(text: str) -> None:
    parts = _parts(LETTERS, [])
    found = _scorer(parts).prefix_log_probs(text, range(len(text) + 1)).log_probs
    every = [_slow(parts, LETTERS).prefix_prob(text[:b]) for b in range(len(text) + 1)]
    np.testing.assert_allclose(np.exp(found), every, rtol=1e-10)


@given(text=texts)
def test_continuations_by_one_character_add_up_to_at_most_one(text: str) -> None:
    characters = "abc ."
    longer = [text + character for character in characters]
    found = SCORER.all_prefix_log_probs(
        [text, *longer], [[len(text)], *([len(one)] for one in longer)]
    )
    total = sum(math.exp(one.log_probs[0]) for one in found[1:]) + math.exp(found[0].end)
    assert total <= math.exp(found[0].log_probs[0]) * (1 + 1e-10)


@given(text=texts, more=texts)
def test_a_prefix_does_not_know_what_follows(text: str, more: str) -> None:
    (one,) = SCORER.prefix_log_probs(text, [len(text)]).log_probs
    (other,) = SCORER.prefix_log_probs(text + more, [len(text)]).log_probs
    assert one == pytest.approx(other, abs=1e-10)


def _ending(text: str) -> float:
    """Probability that a text begins so and that a word then ends: a blank, a stop or the end."""
    end = SLOW.sequence_prob([*_tokens(text), len(TOKENS)])
    return sum(SLOW.prefix_prob(text + mark, _tokens) for mark in " .") + end


SENTENCES = ["ab", "abc ab", "ab . abc a", "cab ab .", "a b c a", "ac ab"]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_next_is_the_probability_that_words_end(sentence: str) -> None:
    words = sentence.split()
    (found,) = SCORER.word_log_probs([words])
    written = [" ".join(words[:n]).replace(" .", ".") for n in range(1, len(words) + 1)]
    end = SLOW.sequence_prob([*_tokens(written[-1]), len(TOKENS)])
    expected = [1.0, *(_ending(text) for text in written), end]
    np.testing.assert_allclose(np.exp(np.cumsum(found)), expected[1:], rtol=1e-10)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_leading_is_the_probability_of_characters(sentence: str) -> None:
    words = sentence.split()
    (found,) = _scorer(PARTS, "leading").word_log_probs([words])
    written = [" ".join(words[:n]).replace(" .", ".") for n in range(1, len(words) + 1)]
    expected = [SLOW.prefix_prob(text, _tokens) for text in written]
    np.testing.assert_allclose(np.exp(np.cumsum(found[:-1])), expected, rtol=1e-10)


def test_none_is_the_product_over_tokens() -> None:
    words = ["ab", "abc", "b"]
    (found,) = _scorer(PARTS, "none").word_log_probs([words])
    tokens = _tokens("ab abc b")
    assert PARTS[0].convert_ids_to_tokens(tokens) == ["ab", "▁a", "bc", "▁", "b"]
    steps = [SLOW.sequence_prob(tokens[:n]) for n in (1, 3, 5)]
    np.testing.assert_allclose(np.exp(np.cumsum(found[:-1])), steps, rtol=1e-10)


def test_none_refuses_tokens_that_span_words() -> None:
    with pytest.raises(GardenpathError, match=r"'c▁a' of 'c a' spans the words 'c' and 'a'"):
        _scorer(PARTS, "none").word_log_probs([["c", "a"]])


def test_all_words_add_up_to_at_most_one_and_pieces_do_not() -> None:
    """All words of up to four letters; after two of them, longer ones have little probability."""
    words = ["".join(one) for n in (1, 2, 3, 4) for one in itertools.product("abc", repeat=n)]
    context = ["ab", "abc"]

    def total(boundary: Boundary) -> float:
        scorer = _scorer(PARTS, boundary, spacing="blanks")
        found = scorer.word_log_probs([[*context, word] for word in words])
        return float(np.exp([one[2] for one in found]).sum())

    (alone,) = _scorer(PARTS, spacing="blanks").word_log_probs([context])
    assert total("next") + math.exp(alone[-1]) <= 1.0
    assert total("leading") > 1.2 * total("next")


def test_a_tokeniser_that_changes_its_mind_is_refused() -> None:
    """Byte-pair encoding never does; a stop that joins only at the end of a text would."""
    from tokenizers import Regex, pre_tokenizers

    tokeniser = tiny_models.small_tokeniser(("a", "b", ".", "a."), [("a", ".")])
    pattern = Regex(r"a\.(?=b)|a|\.|b")
    tokeniser.backend_tokenizer.pre_tokenizer = pre_tokenizers.Split(pattern, "isolated")
    scorer = _scorer((tokeniser, tiny_models.model("gpt2", 5)))
    assert len(scorer.prefix_log_probs("a.", [1, 2]).log_probs) == 2
    with pytest.raises(GardenpathError, match=r"divides 'a\.' in another way if 'b' follows"):
        scorer.prefix_log_probs("a.b", [2, 3])


# ---- Tokens that are parts of characters: é is C3 A9, è is C3 A8.

_SHOWN = {0xC3: "Ã", 0xA9: "©", 0xA8: "¨", ord("e"): "e", ord("."): "."}
BYTE_TOKENS = (
    b"\xc3",
    b"\xa9",
    b"\xa8",
    b"e",
    b".",
    b"\xa9\xc3",
    b"\xc3\xa9",
    b"\xa9e",
    b"\xa8\xc3\xa9",
)
BYTE_MERGES = [(b"\xa9", b"\xc3"), (b"\xc3", b"\xa9"), (b"\xa9", b"e"), (b"\xa8", b"\xc3\xa9")]


def _shown(token: bytes) -> str:
    return "".join(_SHOWN[byte] for byte in token)


def _byte_level() -> tuple[Any, Any]:
    from tokenizers import decoders, pre_tokenizers

    merges = [(_shown(one), _shown(other)) for one, other in BYTE_MERGES]
    tokeniser = tiny_models.small_tokeniser([_shown(one) for one in BYTE_TOKENS] + ["a"], merges)
    backend = tokeniser.backend_tokenizer
    backend.normalizer = None
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    return tokeniser, tiny_models.model("llama", len(BYTE_TOKENS) + 2)


def _divided(data: bytes) -> list[bytes]:
    """Byte-pair encoding as it is defined: merge by merge, from the left."""
    parts = [bytes([byte]) for byte in data]
    for one, other in BYTE_MERGES:
        place = 0
        while place < len(parts) - 1:
            if (parts[place], parts[place + 1]) == (one, other):
                parts[place : place + 2] = [one + other]
            place += 1
    return parts


def _slow_bytes(slow: SlowCovers, data: bytes) -> float:
    """The sum over covers whose tokens before the last are those of their bytes."""
    total = 0.0
    for length in range(len(data)):
        if not _is_counted(data, length):
            continue
        context = [BYTE_TOKENS.index(one) for one in _divided(data[:length])]
        covering = [n for n, one in enumerate(BYTE_TOKENS) if one.startswith(data[length:])]
        after = slow.next_probs(tuple(context))
        total += slow.sequence_prob(context) * sum(after[token] for token in covering)
    return total


def _is_counted(data: bytes, length: int) -> bool:
    """Within a character: if it is divided there, or a token contains its rest and another one."""
    if length == 0 or data[length - 1] != 0xC3:
        return True
    whole = _divided(data[: length + 1])
    is_divided = b"".join(whole[:-1]) == data[:length]
    rest = data[length : length + 1]
    return is_divided or any(one.startswith((rest + b"\xc3", rest + b"e")) for one in BYTE_TOKENS)


BYTE_PARTS = _byte_level()
BYTES_SCORER = _scorer(BYTE_PARTS, "leading")
BYTES_SLOW = SlowCovers(BYTE_PARTS[1], ["?"] * (len(BYTE_TOKENS) + 2), begin=len(BYTE_TOKENS) + 1)


def test_a_character_is_divided_if_another_follows() -> None:
    ids = {one: BYTE_PARTS[0](one).input_ids for one in ("é", "éé", "éèée.")}
    found = {one: [BYTE_TOKENS[token] for token in tokens] for one, tokens in ids.items()}
    assert found["é"] == [b"\xc3\xa9"] and found["éé"] == [b"\xc3", b"\xa9\xc3", b"\xa9"]
    assert found == {one: _divided(one.encode()) for one in found}


@given(text=st.text("éèe.", min_size=1, max_size=7))
def test_parts_of_characters_are_counted(text: str) -> None:
    found = np.exp(BYTES_SCORER.prefix_log_probs(text, range(len(text) + 1)).log_probs)
    expected = [_slow_bytes(BYTES_SLOW, text[:b].encode()) for b in range(1, len(text) + 1)]
    np.testing.assert_allclose(found[1:], expected, rtol=1e-9)
    assert (np.diff(found) <= 1e-12).all()


@given(text=st.text("éèe.", max_size=5))
def test_characters_in_parts_add_up_to_at_most_one(text: str) -> None:
    longer = [text + character for character in "éèe."]
    places = [[len(text)], *([len(one)] for one in longer)]
    alone, *found = BYTES_SCORER.all_prefix_log_probs([text, *longer], places)
    total = sum(math.exp(one.log_probs[0]) for one in found) + math.exp(alone.end)
    assert total <= math.exp(alone.log_probs[0]) * (1 + 1e-10)


@given(text=texts)
def test_a_leading_blank_is_part_of_the_first_word(text: str) -> None:
    """The tokeniser puts a blank before each text; bc are one token, so that ▁abc is ▁a bc."""
    from tokenizers import normalizers

    tokeniser = tiny_models.small_tokeniser(TOKENS, MERGES)
    replaced = normalizers.Replace(" ", "▁")
    tokeniser.backend_tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), replaced]
    )

    def tokens(whole: str) -> list[int]:
        found: list[int] = tokeniser(whole[1:], add_special_tokens=False).input_ids
        return found or ([TOKENS.index("▁")] if whole else [])

    made = _scorer((tokeniser, PARTS[1]), "leading")
    found = made.prefix_log_probs(text, range(len(text) + 1)).log_probs
    expected = [SLOW.prefix_prob(f" {text[:b]}", tokens) for b in range(1, len(text) + 1)]
    np.testing.assert_allclose(np.exp(found[1:]), expected, rtol=1e-9)
    assert (np.diff(found) <= 1e-12).all()


# ----------------------------------------------------------------------------
# The bytes of tokens, sorted, and what ends a word.


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
