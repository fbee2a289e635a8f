"""Words become text, and the text of a prefix is a prefix of the text."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.words.pieces import (
    NEGATION,
    Spacing,
    ending_beginnings,
    is_ending,
    joined_words,
)
from gardenpath.errors import GardenpathError

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
