"""Standard errors of regions and formulas, against formulas evaluated replicate by replicate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.arrays import Floats
from gardenpath.eval.search.replicates import pooled, standard_error, t_quantile
from gardenpath.eval.suites.effects import formula_error, item_effects, sentence_measures
from gardenpath.eval.suites.formula import Formula
from gardenpath.eval.suites.outcomes import EXACT_TIES, score_table
from gardenpath.eval.suites.regions import NO_ERROR, Deviations, RegionTable, weighted_sum
from gardenpath.eval.suites.suite import Item, Metric, Prediction, Suite, Variant
from gardenpath.util import NATS_PER_BIT, bits

CONDITIONS = ("a", "b", "c")
REGIONS = ("start", "middle", "end")
EFFECTS = {"x": "(middle;%a%) - (middle;%b%) + (end;%c%) - (*;%a%)", "y": "(start;%b%) + 2"}


def _suite(metric: Metric = "sum", *, normalised: bool = False) -> Suite:
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
    value = formula.value(RegionTable.from_rows(suite, rows).lookup(1))
    each = _by_replicate(suite, rows, deviations)
    tables = [RegionTable.from_rows(suite, [one[r].tolist() for one in each]) for r in range(count)]
    values = np.array([formula.value(table.lookup(1)) for table in tables])
    return float(np.sqrt(((values - value) ** 2).sum() / (count * (count - 1))))


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
    suite, formula = _suite(), Formula.parse(text)
    rows, deviations = _rows(_estimates(suite, [count] * 4, seed=seed))
    table = RegionTable.from_rows(suite, rows, deviations)
    expected = _brute_force(suite, formula, rows, deviations)
    assert formula_error(formula, table, 1) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", ["sum", "mean", "first", "max"])
@pytest.mark.parametrize("normalised", [True, False])
def test_error_of_every_metric(metric: Metric, normalised: bool) -> None:
    suite = _suite(metric, normalised=normalised)
    rows, deviations = _rows(_estimates(suite, [6] * 4, noise=1e-3))
    table = RegionTable.from_rows(suite, rows, deviations)
    formula = Formula.parse("(middle;%a%) - (end;%c%) + (*;%b%)")
    expected = _brute_force(suite, formula, rows, deviations)
    assert formula_error(formula, table, 1) == pytest.approx(expected, rel=1e-9)


def test_to_first_order_the_error_is_that_of_estimates_of_the_formula() -> None:
    """With little noise, the deviations are those of the formula of each replicate's own logs."""
    suite, formula = _suite(), Formula.parse(EFFECTS["x"])
    estimates = _estimates(suite, [8] * 4, noise=1e-4)
    rows, deviations = _rows(estimates)
    each = [bits(np.diff(one, axis=0, prepend=0.0)) for one in estimates]
    tables = [RegionTable.from_rows(suite, [one[:, r].tolist() for one in each]) for r in range(8)]
    values = np.array([formula.value(table.lookup(1)) for table in tables])
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
    suite = _suite()
    rows, deviations = _rows(_estimates(suite, [6] * 4))
    # Both variants of condition a begin with the same words, and so does that of b.
    rows[1][:1], rows[2][:1] = rows[0][:1], rows[0][:1]
    for other in deviations[1:3]:
        other[0] = deviations[0][0]
    table = RegionTable.from_rows(suite, rows, deviations)
    assert formula_error(Formula.parse("(start;%a%) - (start;%b%)"), table, 1) == 0.0
    assert formula_error(Formula.parse("(start;%a%)"), table, 1) > 0.0


def test_unknown_errors_stay_unknown() -> None:
    suite = _suite()
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
    suite = _suite()
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
    suite = _suite()
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
