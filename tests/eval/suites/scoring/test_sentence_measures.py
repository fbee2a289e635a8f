"""Local and global surprisal and SLOR."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from gardenpath.errors import GardenpathError
from gardenpath.eval.suites.effects import sentence_measures, slor
from gardenpath.eval.suites.suite import Item, Suite, Variant
from tests.eval.suites.samples import cats_suite, surprisals_of


def test_local_and_global_surprisal() -> None:
    suite = cats_suite(items=1)
    rows = sentence_measures(suite, _rows(suite, [(4, 7)]))
    assert [(row.condition, row.variant, row.words) for row in rows] == [
        ("match", 1, 4),
        ("mismatch", 1, 4),
    ]
    assert [row.local_bits for row in rows] == [4, 7]
    assert [row.global_bits_per_word for row in rows] == [7.5 / 4, 10.5 / 4]
    assert [row.slor for row in rows] == [None, None]
    bare = sentence_measures(replace(suite, critical=()), _rows(suite, [(4, 7)]))
    assert math.isnan(bare[0].local_bits)


def test_fillers_and_gaps_are_measured_in_one_region_and_in_the_clause() -> None:
    """−gap: the object; +gap: the words after it; globally, what follows the filler."""
    regions = ("matrix", "filler", "context", "object", "tail", "end")
    conditions = ("what_gap", "that_gap", "what_nogap", "that_nogap")
    items = tuple(
        Variant(name, (("I",), ("what",), ("she", "saw"), _object(name), ("at", "noon"), (".",)))
        for name in conditions
    )
    suite = Suite("wh", "en", regions, conditions, (), (Item(1, items),), critical=("tail",))
    bits = [[float(2**n) for n in range(len(variant.words))] for variant in items]
    rows = {one.condition: one for one in sentence_measures(suite, bits)}
    # Words: I what she saw | at noon | . and I what she saw | the cat | at noon | .
    assert rows["what_gap"].local_bits == 16 + 32
    assert rows["that_nogap"].local_bits == 16 + 32
    assert rows["that_nogap"].global_bits_per_word == (4 + 8 + 16 + 32 + 64 + 128) / 6
    assert rows["that_gap"].global_bits_per_word == (4 + 8 + 16 + 32) / 4


def _rows(suite: Suite, noun_bits: list[tuple[float, float]]) -> list[Sequence[float]]:
    """Surprisals by variant."""
    values = surprisals_of(suite, noun_bits)
    return [values[variant.words] for item in suite.items for variant in item.variants]


def _object(condition: str) -> tuple[str, ...]:
    return ("the", "cat") if condition.endswith("_nogap") else ()


def test_slor_takes_frequency_away() -> None:
    """A model that is the unigram model itself explains nothing beyond frequency."""
    probabilities = {"a": 0.5, "b": 0.125}
    bits = [-math.log2(probabilities[word]) for word in ("a", "b", "a")]
    log_prob = {word: math.log(p) for word, p in probabilities.items()}
    assert slor(bits, ("a", "b", "a"), log_prob.__getitem__) == pytest.approx(0)
    # One bit less than by frequency in three words: log(2) / 3 nats per word.
    assert slor([1, 2, 1], ("a", "b", "a"), log_prob.__getitem__) == pytest.approx(math.log(2) / 3)
    assert math.isnan(slor([], (), log_prob.__getitem__))
    with pytest.raises(GardenpathError, match="1 surprisals for 2 words"):
        slor([1], ("a", "b"), log_prob.__getitem__)


def test_slor_of_every_variant() -> None:
    suite = cats_suite(items=1)
    rows = sentence_measures(suite, _rows(suite, [(4, 7)]), unigram_log_prob=lambda _: -math.log(2))
    assert [row.slor for row in rows] == [
        pytest.approx((4 - 7.5) / 4 * math.log(2)),
        pytest.approx((4 - 10.5) / 4 * math.log(2)),
    ]
