"""Effects in bits, and the criteria built on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from gardenpath.errors import GardenpathError
from gardenpath.eval.suites.effects import (
    WhEffects,
    criterion,
    flip_rate,
    item_effects,
    sentence_measures,
    slor,
    suite_effects,
    wh_effects,
)
from gardenpath.eval.suites.formula import Formula, FormulaError
from gardenpath.eval.suites.regions import RegionTable
from gardenpath.eval.suites.suite import Item, Suite, Variant
from tests.eval.suites.suite_samples import cats_suite, surprisals_of

WH = ("what_gap", "that_gap", "what_nogap", "that_nogap")


def _wh_table(*items: tuple[float, float, float, float]) -> RegionTable:
    """Surprisals of tail, tail, object, object in the four conditions."""
    made = tuple(
        Item(number, tuple(Variant(name, ((name,), ("tail",))) for name in WH))
        for number in range(1, len(items) + 1)
    )
    suite = Suite("wh", "en", ("object", "tail"), WH, (), made, kind="islands", modifier="object")
    rows = [
        (0.0, value) if name.endswith("_gap") else (value, 0.0)
        for item in items
        for name, value in zip(WH, item, strict=True)
    ]
    return RegionTable.from_rows(suite, rows)


def test_wh_effects_and_licensing_interaction() -> None:
    table = _wh_table((2, 10, 9, 4), (5, 5, 1, 4))
    effects = item_effects(table)
    assert [(one.item, one.effect, one.value_bits) for one in effects] == [
        (1, "wh_effect_gap", 8), (1, "wh_effect_nogap", 5), (1, "licensing_interaction", 13),
        (2, "wh_effect_gap", 0), (2, "wh_effect_nogap", -3), (2, "licensing_interaction", -3),
    ]  # fmt: skip
    pairs = wh_effects(effects)
    assert pairs == [WhEffects(8, 5), WhEffects(0, -3)]
    assert [pair.licensing for pair in pairs] == [13, -3]
    assert [flip_rate([pair]) for pair in pairs] == [1.0, 0.0]
    assert flip_rate(pairs) == 0.5


def test_the_ordering_effect_sums_both_verbs() -> None:
    conditions = ("n1_v2", "n2_v1", "n1_v1", "n2_v2", "match", "mismatch")
    items = (Item(1, tuple(Variant(name, (("v",), ("w",))) for name in conditions)),)
    suite = Suite("order", "en", ("verb1", "verb2"), conditions, (), items)
    rows = [(90, 2), (3, 80), (70, 7), (9, 60), (1, 2), (5, 1)]
    found = {one.effect: one.value_bits for one in item_effects(RegionTable.from_rows(suite, rows))}
    assert found == {
        # Simple sentences count at the one verb that they have.
        "ordering_effect_sentence": (9 - 3) + (7 - 2), "verb1_sentence": 6, "verb2_sentence": 5,
        "ordering_effect_embedding": (5 - 1) + (1 - 2), "verb1_embedding": 4, "verb2_embedding": -1,
    }  # fmt: skip


@pytest.mark.parametrize("region", ["reflexive", "pronoun"])
def test_distractors_and_violations_are_compared_with_the_baseline(region: str) -> None:
    conditions = ("baseline", "distractor", "ungrammatical")
    # Two variants of each condition, which are averaged.
    variants = tuple(Variant(name, (("c",), ("p",))) for name in conditions for _ in range(2))
    suite = Suite(
        "r", "en", ("context", region), conditions, (), (Item(1, variants, {"pronoun": "x"}),),
        critical=(region,),
    )  # fmt: skip
    rows = [(50, 3), (60, 5), (70, 4), (80, 5), (90, 9), (95, 14)]
    found = item_effects(RegionTable.from_rows(suite, rows))
    assert {one.effect: one.value_bits for one in found} == {
        "distractor_effect": 4.5 - 4, "ungrammatical_effect": 11.5 - 4,
    }  # fmt: skip
    assert {one.labels["pronoun"] for one in found} == {"x"}
    # Without one critical region there is no place to measure at.
    for critical in ((), ("context", region)):
        assert suite_effects(replace(suite, critical=critical)) == {}
    assert suite_effects(replace(suite, conditions=conditions[:2])) == {}


def test_suites_without_these_conditions_have_no_such_effects() -> None:
    suite = Suite("s", "en", ("a",), ("x", "y"), (), (Item(1, (Variant("x", (("w",),)),)),))
    assert suite_effects(suite) == {}
    table = RegionTable.from_rows(suite, [(3.0,)])
    chosen = {"twice": Formula.parse("(a;%x%) + (a;%x%)")}
    assert [one.value_bits for one in item_effects(table, chosen)] == [6.0]
    with pytest.raises(FormulaError):
        item_effects(table, {"claim": Formula.parse("(a;%x%) > 1")})


def test_flip_asks_for_both_signs_beyond_chance() -> None:
    learnt = [WhEffects(2 + n / 10, 3 + n / 10) for n in range(10)]
    met = criterion(learnt)
    assert met.is_met and met.gap == pytest.approx(2.45) and met.nogap == pytest.approx(3.45)
    assert met.gap_interval[0] < met.gap < met.gap_interval[1]
    assert not criterion([WhEffects(2, -3)] * 10).is_met
    uncertain = [WhEffects(2, 3 * (-1) ** n) for n in range(10)]
    assert not criterion(uncertain).is_met


def test_island_contrast_compares_islands_with_the_rest() -> None:
    outside = [WhEffects(4 + n / 10, 4 + n / 10) for n in range(10)]
    inside = [WhEffects(1 + n / 10, 1 + n / 10) for n in range(10)]
    met = criterion(outside, inside)
    assert met.is_met and met.gap == pytest.approx(3) and met.nogap == pytest.approx(3)
    assert 2 < met.gap_interval[0] < 3 < met.gap_interval[1]
    assert not criterion(inside, outside).is_met
    assert not criterion(outside, outside).is_met


def test_values_that_are_not_finite_are_left_out_and_counted() -> None:
    effects = [WhEffects(1, 1), WhEffects(-math.inf, 1), WhEffects(math.nan, math.nan)]
    found = criterion(effects)
    assert (found.gap, found.nogap, found.left_out) == (1, 1, 2)
    assert flip_rate(effects) == 0.5  # infinite is a sign, NaN is none
    assert math.isnan(flip_rate([]))
    empty = criterion(effects, [WhEffects(math.nan, math.nan)])
    assert math.isnan(empty.gap) and not empty.is_met


# ----------------------------------------------------------------------------
# Local and global surprisal and SLOR.


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
