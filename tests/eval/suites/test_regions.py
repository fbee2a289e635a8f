"""Tokens of word and subword models find their words and regions."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.arrays import Floats
from gardenpath.eval.published.files import read_token_table
from gardenpath.eval.search.replicates import pooled, standard_error, t_quantile
from gardenpath.eval.suites.effects import item_effects, sentence_measures
from gardenpath.eval.suites.formula import Formula
from gardenpath.eval.suites.outcomes import EXACT_TIES, score_table
from gardenpath.eval.suites.regions import (
    NO_ERROR,
    AlignmentError,
    Deviations,
    MissingSurprisalError,
    RegionTable,
    align_words,
    exact_mean,
    exact_sum,
    is_edge,
    is_unknown,
    quantity,
    region_tokens,
    region_value,
    token_spans,
    weighted_sum,
)
from gardenpath.eval.suites.suite import Item, Metric, Prediction, Suite, Variant
from gardenpath.eval.suites.syntaxgym import load_syntaxgym
from gardenpath.util import NATS_PER_BIT, bits
from tests.eval.suites.suite_samples import cats_suite, surprisals_of, table_of


def _suite(*regions: tuple[str, ...], spaced: bool = True) -> tuple[Suite, Item, Variant]:
    variant = Variant("match", regions)
    item = Item(7, (variant,))
    suite = Suite(
        name="cats",
        language="en",
        regions=tuple(f"r{n}" for n in range(len(regions))),
        conditions=("match",),
        predictions=(),
        items=(item,),
        spaced=spaced,
    )
    return suite, item, variant


ENGLISH = _suite(("The", "hungry"), ("cat",), ("meows", "."))
MANDARIN = _suite(("一", "只"), ("饥饿", "的"), ("猫", "。"), spaced=False)


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (["The", "hungry", "cat", "meows", "."], [0, 1, 2, 3, 4]),
        (["the", "HUNGRY", "cat", "meows", ".", "<eos>"], [0, 1, 2, 3, 4, None]),
        (["The", "Ġhung", "ry", "Ġcat", "Ġme", "ows", "."], [0, 1, 1, 2, 3, 3, 4]),
        (["▁The", "▁hungry", "▁", "cat", "▁meows", "▁."], [0, 1, 2, 2, 3, 4]),
        (["[CLS]", "the", "hung", "##ry", "cat", "meows", ".", "[SEP]"],
         [None, 0, 1, 1, 2, 3, 4, None]),
        (["The", "hung@@", "ry", "cat", "meows", "."], [0, 1, 1, 2, 3, 4]),
        (["The", "<unk>", "cat", "<unk>", "."], [0, 1, 2, 3, 4]),
        (["<unk>", "<unk-lc-y>", "<unk>", "<unk>", "<unk-punct>", "</s>"],
         [0, 1, 2, 3, 4, None]),
        (["The", "▁hun", "<unk>", "▁cat", "▁meows", "."], [0, 1, 1, 2, 3, 4]),
        (["<s>", "The ", " hungry", " cat", " meows", "."], [None, 0, 1, 2, 3, 4]),
    ],
)  # fmt: skip
def test_tokens_find_their_words(tokens: list[str], words: list[int | None]) -> None:
    expected = tuple(() if word is None else (word,) for word in words)
    assert align_words(*ENGLISH, tokens) == expected


@pytest.mark.parametrize(
    ("tokens", "regions"),
    [
        (["一", "只", "饥饿", "的", "猫", "。"], [[0, 1], [2, 3], [4, 5]]),
        (["一只", "饥", "饿的", "猫", "。"], [[0], [1, 2], [3, 4]]),
        (["▁", "一", "只", "<unk>", "的", "猫", "。", "</s>"], [[0, 1, 2], [3, 4], [5, 6, 7]]),
        (["一", "只", "饥饿的", "<unk>"], [[0, 1], [2], [3]]),
    ],
)
def test_tokens_find_regions_where_nothing_separates_words(
    tokens: list[str], regions: list[list[int]]
) -> None:
    surprisals = [float(number) for number in range(len(tokens))]
    found = region_tokens(*MANDARIN, tokens, surprisals)
    assert [[int(value) for value in region] for region in found] == regions


def test_the_end_belongs_to_the_last_region_and_the_beginning_to_none() -> None:
    tokens = ["<s>", "The", "hungry", "cat", "meows", ".", "<eos>"]
    values = [8, 1, 2, 3, 4, 5, 9.0]
    assert region_tokens(*ENGLISH, tokens, values) == ((1, 2), (3,), (4, 5, 9))


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["The", "hungry", "dog", "meows", "."], "token 3, 'dog', does not continue"),
        (["The", "hungry", "cat"], "do not cover the sentence"),
        (["The", "hungry", "cat", "meows", ".", "."], "token 6, '.'"),
        ([], "do not cover the sentence"),
        (["The", "hungrycat", "meows", "."], "'hungrycat' spans the regions 'r0' and 'r1'"),
    ],
)
def test_errors_name_item_condition_and_token(tokens: list[str], message: str) -> None:
    with pytest.raises(AlignmentError) as caught:
        region_tokens(*ENGLISH, tokens, [1.0] * len(tokens))
    assert message in str(caught.value)
    assert "suite cats, item 7, condition match" in str(caught.value)


def test_a_token_of_two_words_has_a_region() -> None:
    tokens = ["一只", "饥饿", "的", "猫", "。"]
    assert region_tokens(*MANDARIN, tokens, [1.0] * 5)[0] == (1.0,)


def test_characters_that_are_marks_elsewhere_are_kept() -> None:
    suite = _suite(("##",), ("Ġ", "x"))
    assert align_words(*suite, ["##", "Ġ", "x"]) == ((0,), (1,), (2,))


def test_spans_are_offsets_on_the_written_sentence() -> None:
    spans = token_spans("ab cd", ["▁ab", "▁c", "d", "</s>"], word_ends=[2, 5], place="here")
    assert [(span.start, span.end) if span else None for span in spans] == [
        (0, 2), (3, 4), (4, 5), None,
    ]  # fmt: skip


def test_special_tokens_are_told_apart() -> None:
    assert is_edge("<EOS>") and is_edge("</s>") and not is_edge("<unk>")
    assert is_unknown("▁<unk>") and is_unknown("<unk-caps>") and not is_unknown("unk")


words = st.text(alphabet="abC只猫", min_size=1, max_size=4)


@given(
    regions=st.lists(st.lists(words, max_size=3).map(tuple), min_size=1, max_size=4),
    spaced=st.booleans(),
    data=st.data(),
)
def test_any_cutting_of_words_is_undone(
    regions: list[tuple[str, ...]], spaced: bool, data: st.DataObject
) -> None:
    suite = _suite(*regions, spaced=spaced)
    tokens, expected = [], []
    for number, word in enumerate(suite[2].words):
        cut = data.draw(st.integers(0, len(word)))
        pieces = [piece for piece in (word[:cut], word[cut:]) if piece]
        tokens += [f"▁{pieces[0]}", *(piece.lower() for piece in pieces[1:])]
        expected += [(number,)] * len(pieces)
    assert align_words(*suite, tokens) == tuple(expected)


@given(
    regions=st.lists(st.lists(words, min_size=1, max_size=3).map(tuple), min_size=1, max_size=4),
    data=st.data(),
)
def test_unknown_words_keep_their_place(
    regions: list[tuple[str, ...]], data: st.DataObject
) -> None:
    suite = _suite(*regions, spaced=data.draw(st.booleans()))
    tokens = [data.draw(st.sampled_from([word, "<unk>"])) for word in suite[2].words]
    covered = align_words(*suite, tokens)
    assert len(covered) == len(tokens)
    if all(token == "<unk>" for token in tokens):
        assert covered == tuple((number,) for number in range(len(tokens)))


# ----------------------------------------------------------------------------
# Region surprisals by every metric, means over variants, and SyntaxGym's own numbers.


@pytest.mark.parametrize(
    ("metric", "normalised", "expected"),
    [
        ("sum", False, 9.0),
        ("mean", False, 3.0),
        ("max", False, 5.0),
        ("first", False, 3.0),
        ("sum", True, 3.0),
        ("max", True, 5 / 3),
    ],
)
def test_metrics(metric: Metric, normalised: bool, expected: float) -> None:
    assert region_value([3, 1, 5], metric=metric, normalised=normalised) == expected


def test_a_region_without_words_sums_to_nothing_and_has_no_mean() -> None:
    assert region_value([]) == 0
    for metric in ("mean", "max", "first"):
        assert math.isnan(region_value([], metric=metric))
    assert math.isnan(region_value([], normalised=True))


def test_gaps_and_infinities_are_not_lost() -> None:
    assert region_value([1, math.inf]) == math.inf
    assert math.isnan(region_value([1, math.nan]))
    assert math.isnan(region_value([math.nan, 1], metric="max"))
    assert math.isnan(region_value([1, math.nan], metric="max"))
    assert math.isnan(exact_sum([math.inf, -math.inf]))
    assert math.isnan(exact_mean([]))


@given(st.lists(st.floats(0, 40), min_size=1, max_size=8))
def test_sums_do_not_depend_on_the_order(values: list[float]) -> None:
    assert exact_sum(values) == exact_sum(values[::-1])
    assert exact_sum(values) == pytest.approx(sum(values))
    assert exact_mean(values) == exact_mean(sorted(values))


def test_values_by_name_number_and_whole_sentence() -> None:
    suite = cats_suite(items=2)
    table = table_of(suite, surprisals_of(suite, [(4, 7), (5, 6)]))
    assert table.value(1, "classifier", "match") == 3
    assert table.value(2, "noun", "mismatch") == 6
    assert table.value(2, "2", "mismatch") == 6
    assert table.value(1, "*", "match") == 7.5
    assert table.lookup(1)("noun", "match") == 4


def test_the_whole_sentence_has_its_own_metric() -> None:
    suite = replace(cats_suite(items=1), metric="max")
    table = table_of(suite, surprisals_of(suite, [(4, 7)]))
    assert table.value(1, "*", "mismatch") == 7
    suite = replace(cats_suite(items=1), normalised=True)
    table = table_of(suite, surprisals_of(suite, [(4, 7)]))
    assert table.value(1, "*", "match") == 7.5 / 4
    assert table.value(1, "classifier", "match") == 1.5


def test_variants_of_a_condition_are_averaged() -> None:
    item = Item(3, tuple(Variant("a", ((word,), ("x",))) for word in ("p", "q", "r")))
    suite = Suite("s", "en", ("one", "two"), ("a",), (), (item,))
    table = RegionTable.from_rows(suite, [(1, 10), (2, 20), (6, 60)])
    assert table.values == {(3, "a"): (3.0, 30.0, 33.0)}


def test_surprisals_that_do_not_fit_are_named() -> None:
    suite = cats_suite(items=1)
    values = surprisals_of(suite, [(4, 7)])
    with pytest.raises(MissingSurprisalError, match="condition mismatch: 3 surprisals for 4 words"):
        table_of(suite, values | {suite.items[0].variants[1].words: (1, 2, 3)})
    del values[suite.items[0].variants[0].words]
    with pytest.raises(MissingSurprisalError, match="condition match: no surprisals"):
        table_of(suite, values)
    with pytest.raises(MissingSurprisalError, match="for 1 sentences, but the suite has 2"):
        RegionTable.from_rows(suite, [(1, 2, 3, 4)])
    table = RegionTable.from_rows(suite, [(1, 2, 3, 4)] * 2)
    with pytest.raises(MissingSurprisalError, match="item 1: no condition other"):
        table.value(1, "noun", "other")


def test_tokens_and_words_agree_where_tokens_are_words() -> None:
    suite = cats_suite(items=2)
    values = surprisals_of(suite, [(4, 7), (5, 6)])
    for item in suite.items:
        for variant in item.variants:
            row = values[variant.words]
            tokens = region_tokens(suite, item, variant, (*variant.words, "</s>"), (*row, 9.0))
            assert tokens == (row[:2], row[2:3], (*row[3:], 9.0))


@pytest.mark.parametrize("metric", ["sum", "mean", "max"])
def test_syntaxgym_region_surprisals(reference_data: Path, metric: Metric) -> None:
    folder = reference_data / "published" / "syntaxgym"
    suite = replace(load_syntaxgym(folder / "test_in.json"), metric=metric)
    path = folder / "test_surp_grnn.txt"
    read = zip(suite.sentences, read_token_table(path), strict=True)
    tokens = {words: (one.tokens, one.values) for words, one in read}
    units = {
        (item.number, variant.condition): region_tokens(
            suite, item, variant, *tokens[variant.words]
        )
        for item in suite.items
        for variant in item.variants
    }
    expected = json.loads((folder / "test_out_grnn.json").read_text(encoding="utf-8"))
    compared = 0
    for item in expected["items"]:
        for condition in item["conditions"]:
            for region in condition["regions"]:
                own = units[item["item_number"], condition["condition_name"]]
                found = region_value(own[region["region_number"] - 1], metric=metric)
                assert found == pytest.approx(region["metric_value"][metric], abs=1e-9)
                compared += 1
    assert compared == 24


# ----------------------------------------------------------------------------
# Standard errors of regions and formulas, against formulas evaluated replicate by replicate.


CONDITIONS = ("a", "b", "c")
REGIONS = ("start", "middle", "end")
EFFECTS = {"x": "(middle;%a%) - (middle;%b%) + (end;%c%) - (*;%a%)", "y": "(start;%b%) + 2"}


def _suite_search_error(metric: Metric = "sum", *, normalised: bool = False) -> Suite:
    """One item; condition a has two variants, and a region of b is empty."""
    variants = (
        Variant("a", (("the",), ("old", "man"), ("left", "."))),
        Variant("a", (("the",), ("young", "man"), ("left", "."))),
        Variant("b", (("the",), (), ("left", "."))),
        Variant("c", (("a",), ("cat",), ("left", "at", "last"))),
    )
    claims = {"first": "(middle;%a%) > (middle;%c%)", "both": "(*;%a%) > (*;%b%) & (*;%c%) < 9"}
    return Suite(
        name="s",
        language="en",
        regions=REGIONS,
        conditions=CONDITIONS,
        predictions=tuple(Prediction(n, Formula.parse(text)) for n, text in claims.items()),
        items=(Item(1, variants),),
        metric=metric,
        normalised=normalised,
        critical=("end",),
    )


def _estimates(
    suite: Suite, counts: Sequence[int], *, seed: int = 1, noise: float = 0.3
) -> list[Floats]:
    """Log estimates (nats) of the prefixes of every variant, (words, replicates)."""
    dice = np.random.default_rng(seed)
    found = []
    for variant, count in zip(suite.items[0].variants, counts, strict=True):
        size = (len(variant.words), count)
        steps = dice.uniform(1.0, 3.0, size=(size[0], 1)) + noise * dice.normal(size=size)
        found.append(-np.cumsum(steps, axis=0))
    return found


def _rows(estimates: Sequence[Floats]) -> tuple[list[list[float]], list[Floats]]:
    """The reported surprisals of the words, and their deviations."""
    found = [pooled(one) for one in estimates]
    surprisals = [bits(np.diff(one.log_probs, prepend=0.0)).tolist() for one in found]
    return surprisals, [one.deviations_bits for one in found]


def _by_replicate(suite: Suite, rows: list[list[float]], deviations: list[Floats]) -> list[Floats]:
    """For each variant, its surprisals in each replicate to first order, (replicates, words)."""
    return [np.array(row) + one.T for row, one in zip(rows, deviations, strict=True)]


def _brute_force(
    suite: Suite, formula: Formula, rows: list[list[float]], deviations: list[Floats]
) -> float:
    """The standard error of a formula that is evaluated once per replicate."""
    count = deviations[0].shape[1]
    value = quantity(formula.quantity, RegionTable.from_rows(suite, rows).lookup(1))
    each = _by_replicate(suite, rows, deviations)
    tables = [RegionTable.from_rows(suite, [one[r].tolist() for one in each]) for r in range(count)]
    values = np.array([quantity(formula.quantity, table.lookup(1)) for table in tables])
    return float(np.sqrt(((values - value) ** 2).sum() / (count * (count - 1))))


def formula_error(formula: Formula, table: RegionTable, item: int) -> float:
    (effect,) = (one for one in item_effects(table, {"x": formula}) if one.item == item)
    return effect.value_se


def _formulas() -> st.SearchStrategy[str]:
    terms = [f"({region};%{name}%)" for region in (*REGIONS, "*") for name in CONDITIONS]
    term = st.sampled_from([*terms, "2.5"])
    more = st.tuples(st.sampled_from(["+", "-"]), term | st.tuples(term, term))
    return st.tuples(term, st.lists(more, max_size=5)).map(_written)


def _written(parts: tuple[str, list[tuple[str, str | tuple[str, str]]]]) -> str:
    first, more = parts
    texts = [(sign, one if isinstance(one, str) else f"[{' - '.join(one)}]") for sign, one in more]
    return " ".join([first, *(f"{sign} {text}" for sign, text in texts)])


@given(_formulas(), st.integers(2, 9), st.integers(0, 50))
def test_error_of_any_linear_formula(text: str, count: int, seed: int) -> None:
    suite, formula = _suite_search_error(), Formula.parse(text)
    rows, deviations = _rows(_estimates(suite, [count] * 4, seed=seed))
    table = RegionTable.from_rows(suite, rows, deviations)
    expected = _brute_force(suite, formula, rows, deviations)
    assert formula_error(formula, table, 1) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", ["sum", "mean", "first", "max"])
@pytest.mark.parametrize("normalised", [True, False])
def test_error_of_every_metric(metric: Metric, normalised: bool) -> None:
    suite = _suite_search_error(metric, normalised=normalised)
    rows, deviations = _rows(_estimates(suite, [6] * 4, noise=1e-3))
    table = RegionTable.from_rows(suite, rows, deviations)
    formula = Formula.parse("(middle;%a%) - (end;%c%) + (*;%b%)")
    expected = _brute_force(suite, formula, rows, deviations)
    assert formula_error(formula, table, 1) == pytest.approx(expected, rel=1e-9)


def test_to_first_order_the_error_is_that_of_estimates_of_the_formula() -> None:
    """With little noise, the deviations are those of the formula of each replicate's own logs."""
    suite, formula = _suite_search_error(), Formula.parse(EFFECTS["x"])
    estimates = _estimates(suite, [8] * 4, noise=1e-4)
    rows, deviations = _rows(estimates)
    each = [bits(np.diff(one, axis=0, prepend=0.0)) for one in estimates]
    tables = [RegionTable.from_rows(suite, [one[:, r].tolist() for one in each]) for r in range(8)]
    values = np.array([quantity(formula.quantity, table.lookup(1)) for table in tables])
    found = formula_error(formula, RegionTable.from_rows(suite, rows, deviations), 1)
    assert found == pytest.approx(values.std(ddof=1) / math.sqrt(8), rel=1e-3)


@pytest.mark.parametrize(("few", "many"), [(4, 4), (4, 8), (8, 16), (5, 7)])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_first_replicates_correspond(few: int, many: int, sign: float) -> None:
    """Sentences share a prefix, and one was searched in more replicates.

    The variance of the combination of the two means is what it is in many repetitions.
    """
    dice = np.random.default_rng(3)
    repetitions = 4000
    shared = dice.normal(size=(repetitions, many))
    one = shared + 0.3 * dice.normal(size=shared.shape)
    other = shared[:, :few] + 0.3 * dice.normal(size=(repetitions, few))
    actual = (one.mean(axis=1) + sign * other.mean(axis=1)).var()

    def centred(values: Floats) -> Deviations:
        return Deviations({len(values): values - values.mean()})

    found = []
    for first, second in zip(one, other, strict=True):
        total = weighted_sum([(1.0, centred(first)), (sign, centred(second))])
        assert total is not None
        found.append(total.standard_error**2)
        assert total.reach == pytest.approx(t_quantile(few) * total.standard_error)
    # The correspondence of unequal numbers is slightly underestimated.
    assert np.mean(found) == pytest.approx(actual, rel=0.2 if few < many else 0.07)


def test_what_differs_in_the_number_of_replicates_only_has_little_error() -> None:
    """Independent errors would add up to more than that of either sentence."""
    shared = np.random.default_rng(5).normal(size=8)
    few, many = shared[:4] - shared[:4].mean(), shared - shared.mean()
    found = weighted_sum([(1.0, Deviations({8: many})), (-1.0, Deviations({4: few}))])
    assert found is not None
    assert found.standard_error < Deviations({4: few}).standard_error


def test_a_part_without_error_does_not_widen_the_interval() -> None:
    noisy = Deviations({9: np.linspace(-1.0, 1.0, 9)})
    exact = Deviations({4: np.zeros(4)})
    found = weighted_sum([(1.0, noisy), (1.0, exact)])
    assert found is not None and found.reach == noisy.reach > 0.0
    assert exact.reach == exact.standard_error == NO_ERROR.reach == 0.0


def test_shared_prefixes_cancel() -> None:
    suite = _suite_search_error()
    rows, deviations = _rows(_estimates(suite, [6] * 4))
    # Both variants of condition a begin with the same words, and so does that of b.
    rows[1][:1], rows[2][:1] = rows[0][:1], rows[0][:1]
    for other in deviations[1:3]:
        other[0] = deviations[0][0]
    table = RegionTable.from_rows(suite, rows, deviations)
    assert formula_error(Formula.parse("(start;%a%) - (start;%b%)"), table, 1) == 0.0
    assert formula_error(Formula.parse("(start;%a%)"), table, 1) > 0.0


def test_unknown_errors_stay_unknown() -> None:
    suite = _suite_search_error()
    rows, deviations = _rows(_estimates(suite, [6] * 4))
    partly = RegionTable.from_rows(suite, rows, [None, *deviations[1:]])
    effects = {name: Formula.parse(text) for name, text in EFFECTS.items()}
    found = {one.effect: one.value_se for one in item_effects(partly, effects)}
    assert math.isnan(found["x"]) and found["y"] > 0.0
    without = RegionTable.from_rows(suite, rows)
    assert all(math.isnan(one.value_se) for one in item_effects(without, effects))
    for one in score_table(without):
        assert math.isnan(one.difference_se) and one.could_flip is None
    # No search error is known, and it is none.
    exact = RegionTable.from_rows(suite, rows, [np.zeros_like(one) for one in deviations])
    assert [one.difference_se for one in score_table(exact)] == [0.0, 0.0]
    assert [one.could_flip for one in score_table(exact)] == [False, False]
    # A search that failed.
    lost = RegionTable.from_rows(suite, rows, [one * math.nan for one in deviations])
    assert [one.could_flip for one in score_table(lost)] == [None, None]


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_outcomes_flip_within_their_error(factor: float) -> None:
    suite = _suite_search_error()
    rows, deviations = _rows(_estimates(suite, [6] * 4))
    table = RegionTable.from_rows(suite, rows, [factor * one for one in deviations])
    first = score_table(table, ties=EXACT_TIES)[0]
    expected = _brute_force(
        suite,
        Formula.parse("(middle;%a%) - (middle;%c%)"),
        rows,
        [factor * one for one in deviations],
    )
    assert first.difference_se == pytest.approx(expected)
    assert first.could_flip == (abs(first.difference_bits) <= t_quantile(6) * expected)
    plain = score_table(RegionTable.from_rows(suite, rows))[0]
    known = {"difference_se", "could_flip"}
    for one in fields(plain):
        assert one.name in known or getattr(first, one.name) == getattr(plain, one.name)
    near = score_table(table)[0]
    assert near.near_tie == first.could_flip
    assert near.outcome == (0.5 if near.near_tie else first.outcome)


def test_errors_of_sentences() -> None:
    suite = _suite_search_error()
    rows, deviations = _rows(_estimates(suite, [5] * 4))
    unigrams: Mapping[str, float] = {}
    found = sentence_measures(
        suite, rows, unigram_log_prob=lambda word: unigrams.get(word, -5.0), deviations=deviations
    )
    for one, spread in zip(found, deviations, strict=True):
        ends = {"a": 2, "b": 2, "c": 3}[one.condition]
        whole = float(standard_error(spread.sum(axis=0)))
        assert one.local_se == pytest.approx(float(standard_error(spread[-ends:].sum(axis=0))))
        assert one.global_se_per_word == pytest.approx(whole / len(spread))
        assert one.slor_se == pytest.approx(whole * NATS_PER_BIT / len(spread))
    unknown = sentence_measures(suite, rows)[0]
    assert unknown.local_se is unknown.global_se_per_word is unknown.slor_se is None
    assert sentence_measures(suite, rows, deviations=deviations)[0].slor_se is None
