"""The numbers of a file are surprisals, in the unit that is said, and belong to their words."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.readers.base import Unit
from gardenpath.errors import InputError
from gardenpath.eval.published.checks import (
    check_beginnings,
    check_values,
    in_bits,
    not_scored,
    unit_problem,
)
from gardenpath.eval.published.files import ScoredSentence, StatedUnit

PATH = Path("table.tsv")
PROBABILITIES = (0.5, 0.25, 0.1)


def _sentence(text: str, *values: float, line: int = 1) -> ScoredSentence:
    return ScoredSentence(tuple(text.split()), values, line)


@pytest.mark.parametrize(
    ("unit", "log", "sign"),
    [
        ("bits", math.log2, -1),
        ("nats", math.log, -1),
        ("log10", math.log10, -1),
        ("log_prob_nats", math.log, 1),
        ("log_prob_bits", math.log2, 1),
        ("log_prob_log10", math.log10, 1),
    ],
)
def test_all_units_become_bits(unit: Unit, log: object, sign: int) -> None:
    values = tuple(sign * log(p) for p in PROBABILITIES)  # type: ignore[operator]
    stated = StatedUnit(unit=unit, source="unit=")
    (found,) = in_bits([_sentence("a b c", *values)], stated, PATH)
    assert found.values == pytest.approx([-math.log2(p) for p in PROBABILITIES])
    wrong = replace(_sentence("a b c", *values), values=tuple(-value for value in values))
    with pytest.raises(InputError, match=rf"unit {unit}, from unit=.*unit="):
        in_bits([wrong], stated, PATH)


def test_sums_of_our_own_surprisals_may_not_be_negative() -> None:
    bits = StatedUnit(unit="bits", source="x")
    fine = [_sentence("a b", 3.0, -0.5)]
    assert in_bits(fine, bits, PATH, by_word=False) == fine
    with pytest.raises(InputError, match="negative surprisal"):
        in_bits(fine, bits, PATH)
    with pytest.raises(InputError, match="negative surprisal"):
        in_bits([_sentence("a b", 0.1, -0.5)], bits, PATH, by_word=False)


@pytest.mark.parametrize(
    ("sentence", "problem"),
    [
        (_sentence("a b", 0.0, -0.0, line=7), ":7: all surprisals of 'a b' are 0"),
        (_sentence("<unk> <UNK>", 1.0, 2.0, line=7), ":7: all words of '<unk> <UNK>' are unknown"),
        (_sentence("a b", math.nan, math.nan), "contains no surprisals, only NaN"),
        (_sentence("a " * 200, *[0.5] * 200), "are between 0 and 1: these are probabilities"),
    ],
)
def test_sentences_without_information(sentence: ScoredSentence, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        check_values([sentence], PATH)
    assert problem in str(caught.value)


def test_zeros_inside_all_sentences_show_a_shift() -> None:
    shifted = [_sentence("a b c d", 5.0, 0.0, 2.0, float(n)) for n in range(1, 5)]
    with pytest.raises(InputError, match="surprisal of word 2 is 0 in every sentence"):
        check_values(shifted, PATH)
    check_values([*shifted, _sentence("a b c d", 5.0, 1.0, 2.0, 3.0)], PATH)


def test_zeros_of_first_and_last_words_are_not_surprisals() -> None:
    found, count = not_scored([_sentence("a b", 0.0, 2.0), _sentence("a c", 1.0, 3.0)])
    assert math.isnan(found[0].values[0]) and found[0].values[1] == 2 and count == 1
    assert found[1].values == (1.0, 3.0)
    found, count = not_scored([_sentence("a b", 1.0, 0.0), _sentence("a c", 1.0, 0.0)])
    assert count == 2 and all(math.isnan(one.values[-1]) for one in found)
    kept = [_sentence("a b", 1.0, 0.0), _sentence("a c", 1.0, 2.0)]
    assert not_scored(kept) == (kept, 0)


def _tree(sentences: list[tuple[str, ...]]) -> list[ScoredSentence]:
    """Surprisals of a left-to-right model: a number for every beginning."""
    number: dict[tuple[str, ...], float] = {}
    found = []
    for line, words in enumerate(sentences, start=1):
        values = [number.setdefault(words[: n + 1], 1.0 + len(number)) for n in range(len(words))]
        found.append(ScoredSentence(words, tuple(values), line))
    return found


_WORDS = st.tuples(*[st.sampled_from("abc")] * 5)


@given(st.lists(_WORDS, min_size=30, max_size=40))
def test_left_to_right_models_pass_and_shifted_numbers_do_not(
    sentences: list[tuple[str, ...]],
) -> None:
    scored = _tree(sentences)
    check_beginnings(scored, PATH)
    later = [replace(one, values=(*one.values[1:], 0.5)) for one in scored]
    earlier = [replace(one, values=(0.5, *one.values[:-1])) for one in scored]
    distinct = len({words[:2] for words in sentences})
    if distinct >= 6:
        with pytest.raises(InputError, match="equal beginnings of sentences"):
            check_beginnings(later, PATH)
    if len({words[:4] for words in sentences}) >= 25:
        with pytest.raises(InputError, match="shifted by one word"):
            check_beginnings(earlier, PATH)


def test_small_grammars_may_have_equal_surprisals_of_different_words() -> None:
    same = [ScoredSentence((str(n), "x"), (2.0, 1.0), n) for n in range(40)]
    with pytest.raises(InputError, match="39 of 39 words that differ after equal words"):
        check_beginnings(same, PATH)
    check_beginnings(same, PATH, shifts=False)


def test_ratios_of_units_are_recognised() -> None:
    assert "nats" in unit_problem(math.log(2)) and "nats" in unit_problem(1 / math.log(2))
    assert "log10" in unit_problem(math.log10(2))
    assert unit_problem(1.0) == unit_problem(0.8) == ""
