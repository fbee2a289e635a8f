"""Sentences of a file are found by their characters, each once, or refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.errors import InputError
from gardenpath.eval.published.checks import StatedUnit
from gardenpath.eval.published.files import ScoredSentence
from gardenpath.eval.published.tables import find_sentences
from gardenpath.eval.published.token_tables import ForeignFile, ForeignSentence

UNIT = StatedUnit(unit="bits", source="unit=")


def _file(*sentences: ForeignSentence) -> ForeignFile:
    return ForeignFile(path=Path("f.json"), form="vllm", unit=UNIT, sentences=sentences)


def _one(
    *tokens: str, hidden: bool = False, text: str = "", line: int = 1, start: float = 1.0
) -> ForeignSentence:
    values = tuple(start + n for n in range(len(tokens)))
    scored = ScoredSentence(tokens, values, line)
    return ForeignSentence(number=line, scored=scored, is_first_hidden=hidden, text=text)


def _asked(*texts: str) -> list[tuple[str, ...]]:
    return [tuple(text.split()) for text in texts]


@given(st.permutations(["the cat sleeps", "a dog", "猫 が 好き"]), st.booleans())
def test_the_order_of_a_file_does_not_matter(texts: Sequence[str], more: bool) -> None:
    others = [_one("another")] if more else []
    found = find_sentences(
        _file(*(_one(*text, start=len(text)) for text in texts), *others), _asked(*texts)
    )
    assert found.others == more
    for text in texts:
        one = found.of(tuple(text.split()))
        assert one is not None and one.values[0] == len(text)
    assert found.of(("the", "cat")) is None


def test_the_mark_of_the_beginning_has_no_place() -> None:
    file = _file(_one("The", " cat", hidden=True), _one("A", " cat", hidden=True, line=2))
    found = find_sentences(file, _asked("The cat", "A cat"))
    one = found.of(("A", "cat"))
    assert one is not None and (one.tokens, one.values) == (("A", " cat"), (1.0, 2.0))


def test_a_first_token_that_is_not_there_has_no_number() -> None:
    found = find_sentences(_file(_one("e", " cat", hidden=True)), _asked("The cat", "A dog"))
    one = found.of(("The", "cat"))
    assert one is not None and one.tokens == ("Th", "e", " cat")
    assert math.isnan(one.values[0]) and one.values[1:] == (1.0, 2.0)


def test_sentences_that_differ_in_their_first_words_only_need_their_prompts() -> None:
    asked = _asked("The cat", "A cat")
    with pytest.raises(InputError, match=r"sentence 1: ' cat' may be the end of 2 .*'prompt'"):
        find_sentences(_file(_one(" cat", hidden=True)), asked)
    file = _file(
        _one(" cat", hidden=True, text="The cat"), _one(" cat", hidden=True, text="A cat", start=5)
    )
    found = find_sentences(file, asked)
    one = found.of(("A", "cat"))
    assert one is not None and one.tokens == ("A", " cat") and one.values[1] == 5.0


def test_first_tokens_are_all_marks_or_all_words() -> None:
    """Otherwise the numbers of another sentence would fit: p(cat) for p(cat | the)."""
    file = _file(_one("A", " dog", hidden=True), _one(" cat", hidden=True, line=2))
    with pytest.raises(InputError, match="some sentences have a number for their first word"):
        find_sentences(file, _asked("A dog", "The cat"))
    # Where all could be marks, they are: every sentence is there as a whole.
    both = _file(_one(" cat", " sleeps", hidden=True))
    found = find_sentences(both, _asked("cat sleeps", "The cat sleeps"))
    assert found.of(("The", "cat", "sleeps")) is None
    assert found.of(("cat", "sleeps")) is not None


def test_a_prompt_must_be_spelt_by_the_tokens() -> None:
    for one in (_one("a", " dog", text="a cat"), _one(" dog", hidden=True, text="a cat")):
        with pytest.raises(InputError, match=r"sentence 1: the tokens .* do not spell 'a cat'"):
            find_sentences(_file(one), _asked("a cat"))


def test_sentences_occur_as_often_as_they_are_asked_for() -> None:
    twice = _file(_one("a", " cat"), _one("a", " cat", line=2))
    with pytest.raises(InputError, match=r"f.json:2: 'a  cat' occurs 2 times of 1 sentence"):
        find_sentences(twice, _asked("a cat"))
    assert find_sentences(twice, _asked("a cat", "a cat")).of(("a", "cat")) is not None
    differing = _file(_one("a", " cat"), _one("a", " cat", line=2, start=3.0))
    with pytest.raises(InputError, match="occurs 2 times with different numbers"):
        find_sentences(differing, _asked("a cat", "a cat"))
