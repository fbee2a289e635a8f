"""Suites are scored item by item."""

from __future__ import annotations

import itertools
import math
import operator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gardenpath.eval.means import summarise
from gardenpath.eval.report.content import ReportContent, run_analyses, write_analyses
from gardenpath.eval.report.explorer import ExplorerLimits
from gardenpath.eval.report.means import accuracies, bit_means, in_numbers
from gardenpath.eval.report.page import page
from gardenpath.eval.search.replicates import t_quantile
from gardenpath.eval.suites.formula import (
    And,
    Claim,
    Comparison,
    Formula,
    FormulaError,
    Or,
    Term,
    Value,
)
from gardenpath.eval.suites.outcomes import (
    MIN_ITEMS,
    USABLE,
    ItemCount,
    Outcome,
    TieRule,
    critical_words,
    margin,
    margin_error,
    outcome,
    spreads_of,
    too_few,
    unusable_items,
    usable_counts,
    usable_items,
    with_usable,
)
from gardenpath.eval.suites.regions import NO_ERROR, Deviations
from gardenpath.eval.suites.summary import ScoredItems
from gardenpath.store.tables import ITEMS, read_table
from tests.eval.suites.suite_samples import cats_suite, score_suite, surprisals_of


def test_one_row_per_item_and_prediction() -> None:
    suite = cats_suite(
        {
            "fits": "(noun;%mismatch%) > (noun;%match%)",
            "whole": "(*;%mismatch%) > (*;%match%)",
        },
        items=3,
    )
    rows = score_suite(suite, surprisals_of(suite, [(4, 7), (5, 5), (6, 2)]))
    assert [(row.item, row.prediction) for row in rows] == [
        (1, "fits"), (1, "whole"), (2, "fits"), (2, "whole"), (3, "fits"), (3, "whole"),
    ]  # fmt: skip
    assert [row.outcome for row in rows] == [1, 1, 0.5, 0.5, 0, 0]
    assert [row.tie for row in rows] == [False, False, True, True, False, False]
    assert [row.difference_bits for row in rows] == [3, 3, 0, 0, -4, -4]
    first = rows[0]
    assert (first.suite, first.kind, first.modifier) == ("cats", "classifier_noun", "none")
    assert first.labels == {"animal": "cat"}


def test_missing_surprisals_are_rows_too() -> None:
    suite = cats_suite(items=2)
    rows = score_suite(suite, surprisals_of(suite, [(4, math.nan), (1, 2)]))
    assert len(rows) == 2
    assert math.isnan(rows[0].outcome) and rows[1].outcome == 1


def test_unknown_words_count_where_the_prediction_looks() -> None:
    suite = cats_suite(items=1)
    values = surprisals_of(suite, [(1, 2)])
    assert score_suite(suite, values, unknown={"猫1", "本", "马"})[0].unknown == ("猫1",)
    assert score_suite(suite, values)[0].unknown == ()
    whole = Formula.parse("(*;%mismatch%) > (noun;%match%)")
    assert critical_words(suite, suite.items[0], whole) == ("猫1", "一", "本", "。")


def test_the_coin_does_not_depend_on_what_else_is_scored() -> None:
    suite, fewer = cats_suite(items=40), cats_suite(items=20)
    throws = score_suite(
        suite, surprisals_of(suite, [(1, 1)] * 40), ties=TieRule(credit="coin", seed=3)
    )
    alone = score_suite(
        fewer, surprisals_of(fewer, [(1, 1)] * 20), ties=TieRule(credit="coin", seed=3)
    )
    assert [row.outcome for row in throws[:20]] == [row.outcome for row in alone]
    assert {row.outcome for row in throws} == {0.0, 1.0}
    other = score_suite(
        suite, surprisals_of(suite, [(1, 1)] * 40), ties=TieRule(credit="coin", seed=4)
    )
    assert [row.outcome for row in throws] != [row.outcome for row in other]


# ----------------------------------------------------------------------------
# Which outcomes could flip, against all ways in which undecided comparisons can turn out.


COUNT = 5
# Standard error of the deviations below, and how far the interval reaches.
UNIT = Deviations({COUNT: np.array([1.0, -1.0, 2.0, -2.0, 0.0])})
REACH = t_quantile(COUNT) * UNIT.standard_error
COMPARISON = "(r;%a%) > (r;%b%)"


def _scaled(error: float) -> Deviations:
    """Deviations whose interval reaches ``error`` bits."""
    return Deviations({COUNT: UNIT.by_count[COUNT] * error / REACH})


def _outcome(text: str, values: dict[str, float], errors: dict[str, float]) -> Outcome:
    return outcome(
        Formula.parse(text),
        lambda _, condition: values[condition],
        errors=lambda _, condition: _scaled(errors.get(condition, 0.0)),
    )


@pytest.mark.parametrize(
    ("difference", "error", "expected"),
    [(1.0, 0.9, False), (1.0, 1.1, True), (-1.0, 1.1, True), (-1.0, 0.9, False), (0.0, 0.1, True)],
)
def test_a_difference_within_its_error_could_flip(
    difference: float, error: float, expected: bool
) -> None:
    found = _outcome(COMPARISON, {"a": 3.0 + difference, "b": 3.0}, {"a": error})
    assert found.could_flip is expected
    assert found.difference_se == pytest.approx(error / REACH * UNIT.standard_error)


def test_a_tie_without_error_stays_a_tie() -> None:
    found = _outcome(COMPARISON, {"a": 3.0, "b": 3.0}, {})
    assert (found.value, found.could_flip) == (0.5, False)
    # Errors of rounding are no errors.
    assert _outcome(COMPARISON, {"a": 3.0, "b": 3.0}, {"a": 1e-15}).could_flip is False


@pytest.mark.parametrize(("difference", "expected"), [(0.0, True), (0.3, True), (0.7, False)])
def test_equality_holds_within_a_tolerance(difference: float, expected: bool) -> None:
    found = _outcome("(r;%a%) = (r;%b%)", {"a": 3.0 + difference, "b": 3.0}, {"a": 0.5})
    assert found.could_flip is expected
    sure = _outcome("(r;%a%) = (r;%b%)", {"a": 3.0, "b": 3.0}, {"a": 1e-4})
    assert sure.value == 1.0 and sure.could_flip is False


def test_the_error_is_that_of_the_comparison_that_determines_the_difference() -> None:
    values = {"a": 5.0, "b": 4.0, "c": 2.0}
    both = "(r;%a%) > (r;%b%) & (r;%a%) > (r;%c%)"
    errors = {"b": 0.5, "c": 0.2}
    found = _outcome(both, values, errors)
    assert found.difference_bits == 1.0
    assert found.difference_se == pytest.approx(_scaled(0.5).standard_error)
    one = _outcome(both.replace("&", "|"), values, errors)
    assert one.difference_bits == 3.0
    assert one.difference_se == pytest.approx(_scaled(0.2).standard_error)


@pytest.mark.parametrize(
    ("text", "values", "errors", "expected"),
    [
        # Certainly false, whatever the other comparison is.
        ("&", {"a": 5.0, "b": 6.0, "c": 5.1}, {"c": 1.0}, False),
        ("&", {"a": 5.0, "b": 4.0, "c": 4.9}, {"c": 1.0}, True),
        # The smallest difference is certain, but a larger one is not.
        ("&", {"a": 5.0, "b": 4.0, "c": 2.0}, {"c": 4.0}, True),
        ("|", {"a": 5.0, "b": 4.0, "c": 5.1}, {"c": 1.0}, False),
        ("|", {"a": 5.0, "b": 6.0, "c": 5.1}, {"c": 1.0}, True),
        # A tie without error, and a comparison that decides or not.
        ("&", {"a": 5.0, "b": 5.0, "c": 5.1}, {"c": 1.0}, True),
        ("&", {"a": 5.0, "b": 5.0, "c": 7.0}, {"c": 1.0}, False),
        ("|", {"a": 5.0, "b": 5.0, "c": 3.0}, {"c": 1.0}, False),
    ],
)
def test_joined_claims(
    text: str, values: dict[str, float], errors: dict[str, float], expected: bool
) -> None:
    formula = f"(r;%a%) > (r;%b%) {text} (r;%a%) > (r;%c%)"
    assert _outcome(formula, values, errors).could_flip is expected


def test_infinite_differences_have_no_error() -> None:
    found = _outcome(COMPARISON, {"a": math.inf, "b": 3.0}, {"a": 1.0})
    assert math.isnan(found.difference_se) and found.could_flip is None


NAMES = [f"q{number}" for number in range(6)]


def _claims() -> st.SearchStrategy[Claim]:
    """Claims in which every quantity is compared once, so that comparisons are independent."""

    def leaf(number: int) -> Claim:
        left, right = (Term("r", name) for name in NAMES[2 * number : 2 * number + 2])
        return Comparison(left, ">", right)

    shapes = [
        lambda x, y, z: And((x, y, z)),
        lambda x, y, z: Or((x, y, z)),
        lambda x, y, z: And((x, Or((y, z)))),
        lambda x, y, z: Or((x, And((y, z)))),
        lambda x, y, z: And((Or((x, y)), z)),
    ]
    return st.sampled_from(shapes).map(lambda shape: shape(leaf(0), leaf(1), leaf(2)))


def _holds(claim: Claim, truths: dict[Comparison, bool]) -> bool:
    if isinstance(claim, Comparison):
        return truths[claim]
    joined = all if isinstance(claim, And) else any
    return joined(_holds(part, truths) for part in claim.parts)


@given(
    _claims(),
    st.lists(st.sampled_from([1.0, 2.0, 4.0, 7.0]), min_size=6, max_size=6),
    st.lists(st.sampled_from([0.0, 0.3, 1.5, 5.0]), min_size=3, max_size=3),
)
def test_an_outcome_could_flip_if_undecided_comparisons_decide_it(
    claim: Claim, values: list[float], errors: list[float]
) -> None:
    given_values: dict[Value, float] = {
        # No ties, whose outcome is neither true nor false.
        Term("r", name): value + 0.1 * number
        for number, (name, value) in enumerate(zip(NAMES, values, strict=True))
    }
    spread = {f"q{2 * number}": _scaled(error) for number, error in enumerate(errors)}
    options: dict[Comparison, list[bool]] = {}
    for number, error in enumerate(errors):
        left, right = (Term("r", name) for name in NAMES[2 * number : 2 * number + 2])
        difference = given_values[left] - given_values[right]
        truth = difference > 0.0
        sides = [truth, not truth] if 0.0 < error >= abs(difference) else [truth]
        options[Comparison(left, ">", right)] = sides
    outcomes = {
        _holds(claim, dict(zip(options, chosen, strict=True)))
        for chosen in itertools.product(*options.values())
    }
    _, could_flip = margin_error(
        claim,
        given_values,
        margin(claim, given_values),
        spreads_of(Formula(claim).comparisons, lambda _, name: spread.get(name, NO_ERROR)),
    )
    assert could_flip == (len(outcomes) == 2)


# ----------------------------------------------------------------------------
# Outcomes of predictions, with ties counted out by brute force.


THREE_WAY = "(r;%u%) > (r;%b%) & (r;%u%) > (r;%d%)"


def _outcome_outcome(text: str, **values: float) -> Outcome:
    return outcome(Formula.parse(text), lambda _, condition: values[condition])


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("(r;%a%) > (r;%b%)", {"a": 2, "b": 1}, 1),
        ("(r;%a%) > (r;%b%)", {"a": 1, "b": 2}, 0),
        ("(r;%a%) > (r;%b%)", {"a": 2, "b": 2}, 1 / 2),
        ("(r;%a%) < (r;%b%)", {"a": 2, "b": 2}, 1 / 2),
        ("(r;%a%) - (r;%b%) > 0", {"a": 2, "b": 2}, 1 / 2),
        ("(r;%a%) = (r;%b%)", {"a": 2, "b": 2}, 1),
        (THREE_WAY, {"u": 3, "b": 1, "d": 2}, 1),
        (THREE_WAY, {"u": 3, "b": 4, "d": 2}, 0),
        (THREE_WAY, {"u": 3, "b": 3, "d": 3}, 1 / 3),
        (THREE_WAY, {"u": 3, "b": 3, "d": 2}, 1 / 2),
        (THREE_WAY, {"u": 3, "b": 3, "d": 4}, 0),
        (THREE_WAY, {"u": 3, "b": 1, "d": 1}, 1),
        ("(r;%a%) > (r;%b%) | (r;%b%) > (r;%a%)", {"a": 1, "b": 1}, 1),
        ("(r;%a%) > (r;%b%) & (r;%b%) > (r;%a%)", {"a": 1, "b": 1}, 0),
        ("(r;%a%) > (r;%b%) & (r;%c%) > (r;%d%)", {"a": 1, "b": 1, "c": 2, "d": 2}, 1 / 4),
        ("(r;%a%) < (r;%b%) & (r;%b%) < (r;%c%)", {"a": 1, "b": 1, "c": 1}, 1 / 6),
    ],
)
def test_outcomes(text: str, values: dict[str, float], expected: float) -> None:
    assert _outcome_outcome(text, **values).value == pytest.approx(expected)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"u": 3, "b": 3, "d": 3}, 1 / 3),
        ({"u": 3, "b": 3, "d": 2}, 0),
        ({"u": 3, "b": 2, "d": 3}, 0),
        ({"u": 3, "b": 2, "d": 2}, 1),
        ({"u": 3, "b": 4, "d": 3}, 0),
    ],
)
def test_only_complete_ties_may_count(values: dict[str, float], expected: float) -> None:
    formula = Formula.parse(THREE_WAY)
    found = outcome(formula, lambda _, condition: values[condition], counted="complete")
    assert found.value == pytest.approx(expected)
    assert found.is_tie == (3 in (values["b"], values["d"]))


def test_ties_are_marked_where_a_comparison_is_tied() -> None:
    assert _outcome_outcome("(r;%a%) > (r;%b%)", a=2, b=2).is_tie
    assert not _outcome_outcome("(r;%a%) > (r;%b%)", a=2, b=1).is_tie
    # b and d are equal, but nobody compares them.
    assert not _outcome_outcome(THREE_WAY, u=3, b=1, d=1).is_tie
    assert not _outcome_outcome("(r;%a%) = (r;%b%)", a=2, b=2).is_tie


def test_infinite_surprisals_tie_with_each_other_and_decide_against_finite_ones() -> None:
    both = _outcome_outcome("(r;%a%) > (r;%b%)", a=math.inf, b=math.inf)
    assert (both.value, both.is_tie) == (1 / 2, True)
    assert math.isnan(both.difference_bits)
    assert _outcome_outcome("(r;%a%) > (r;%b%)", a=math.inf, b=9).value == 1
    assert _outcome_outcome("(r;%a%) > (r;%b%)", a=9, b=math.inf).value == 0
    assert _outcome_outcome(THREE_WAY, u=math.inf, b=math.inf, d=math.inf).value == pytest.approx(
        1 / 3
    )
    sums = "(r;%a%) + (r;%b%) > (r;%c%) + (r;%d%)"
    assert _outcome_outcome(sums, a=math.inf, b=1, c=2, d=3).value == 1
    assert _outcome_outcome(sums, a=math.inf, b=1, c=2, d=math.inf).value == 1 / 2


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("(r;%a%) > (r;%b%)", {"a": math.nan, "b": 1}),
        ("(r;%a%) - (r;%b%) > 0", {"a": math.inf, "b": math.inf}),
        (THREE_WAY, {"u": 1, "b": 2, "d": math.nan}),
    ],
)
def test_what_is_not_a_number_leaves_the_outcome_open(text: str, values: dict[str, float]) -> None:
    found = _outcome_outcome(text, **values)
    assert math.isnan(found.value) and not found.is_tie
    assert math.isnan(found.difference_bits)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(r;%a%) > (r;%b%)", 4.0),
        ("(r;%b%) > (r;%a%)", -4.0),
        ("(r;%b%) < (r;%a%)", 4.0),
        ("(r;%a%) > (r;%b%) & (r;%a%) > (r;%c%)", 2.0),
        ("(r;%b%) > (r;%a%) | (r;%c%) > (r;%b%)", 2.0),
        ("(r;%a%) = (r;%b%)", -4.0),
        ("(r;%a%) - (r;%b%) > (r;%c%) - (r;%b%)", 2.0),
    ],
)
def test_differences_are_in_the_direction_predicted(text: str, expected: float) -> None:
    assert _outcome_outcome(text, a=7, b=3, c=5).difference_bits == expected


def test_sums_tie_however_they_are_grouped() -> None:
    text = "(r;%a%) + (r;%b%) + (r;%c%) > (r;%c%) + [(r;%b%) + (r;%a%)]"
    assert (0.1 + 0.2) + 0.3 != 0.3 + 0.2 + 0.1  # what a plain sum would compare
    assert _outcome_outcome(text, a=0.1, b=0.2, c=0.3).value == 1 / 2


def test_a_coin_is_thrown_by_its_seed_and_is_fair() -> None:
    formula = Formula.parse(THREE_WAY)
    throws = [
        outcome(formula, lambda *_: 1.0, ties=TieRule(credit="coin"), coin=str(n))
        for n in range(900)
    ]
    assert {throw.value for throw in throws} == {0.0, 1.0}
    assert all(throw.is_tie for throw in throws)
    assert 0.28 < sum(throw.value for throw in throws) / 900 < 0.39
    again = outcome(formula, lambda *_: 1.0, ties=TieRule(credit="coin"), coin="5")
    assert again == throws[5]


def test_a_quantity_predicts_nothing() -> None:
    with pytest.raises(FormulaError, match="is not a claim"):
        _outcome_outcome("(r;%a%) - (r;%b%)", a=1, b=2)


_OPERATORS = {"<": operator.lt, ">": operator.gt}
names = st.sampled_from("abcd")
comparisons = st.tuples(names, st.sampled_from("<>"), names).filter(lambda c: c[0] != c[2])


def _by_perturbation(
    chosen: list[tuple[str, str, str]], joint: str, values: dict[str, int]
) -> Fraction:
    """Every order of all four quantities moves them apart by less than any true difference."""
    held = 0
    orders = list(itertools.permutations("abcd"))
    for order in orders:
        moved = {name: values[name] + order.index(name) / 100 for name in values}
        parts = [_OPERATORS[sign](moved[one], moved[other]) for one, sign, other in chosen]
        held += all(parts) if joint == "&" else any(parts)
    return Fraction(held, len(orders))


@given(
    chosen=st.lists(comparisons, min_size=1, max_size=4),
    joint=st.sampled_from("&|"),
    numbers=st.lists(st.integers(0, 2), min_size=4, max_size=4),
)
def test_ties_are_the_expectation_over_random_orders(
    chosen: list[tuple[str, str, str]], joint: str, numbers: list[int]
) -> None:
    values = dict(zip("abcd", numbers, strict=True))
    text = f" {joint} ".join(f"[(r;%{one}%) {sign} (r;%{two}%)]" for one, sign, two in chosen)
    found = _outcome_outcome(text, **{name: float(value) for name, value in values.items()})
    assert found.value == pytest.approx(float(_by_perturbation(chosen, joint, values)))
    assert found.is_tie == any(values[one] == values[two] for one, _, two in chosen)


# ----------------------------------------------------------------------------
# Usable items: which they are, what is said of the others, and what is left out without them.


def items_table(
    *, known: int, unknown: int, missing: int = 0, models: int = 1, seeds: int = 1
) -> pd.DataFrame:
    """Outcomes of a class of garden paths; the last items are not usable."""
    dice = np.random.default_rng(4)
    flags = [(0, False)] * known + [(1, False)] * unknown + [(0, True)] * missing
    rows = [
        {
            "run": f"runs/ctb/model{model}/seed{seed}",
            "model": f"model{model}",
            "corpus": "ctb",
            "seed": seed,
            "suite": "mandarin/garden_path_object",
            "class": "garden_path_object",
            "modifier": "none",
            "item": number,
            "prediction": "p",
            "outcome": math.nan if is_missing else float(dice.integers(0, 2)),
            "tie": False,
            "difference_bits": math.nan if is_missing else float(dice.normal(1.0)),
            "unknown": count,
            "unknown_words": "wug" * count,
        }
        for model in range(models)
        for seed in range(seeds)
        for number, (count, is_missing) in enumerate(flags)
    ]
    return ITEMS.frame(rows)


def test_counts_and_what_is_said() -> None:
    items = items_table(known=4, unknown=36)
    (found,) = unusable_items(items)
    assert (found.items, found.unknown, found.missing) == (40, 36, 0)
    assert str(found) == (
        "model0 (ctb): 36 of 40 items have unknown critical words (90%); its accuracies say little"
    )
    (found,) = unusable_items(items_table(known=38, unknown=1, missing=1))
    assert not found.is_large
    assert str(found) == (
        "model0 (ctb): 1 of 40 items have unknown critical words, and 1 of 40 items lack a "
        "surprisal (5%)"
    )
    assert unusable_items(items_table(known=5, unknown=0)) == []
    assert unusable_items(ITEMS.frame([])) == []
    assert ItemCount(name="m", items=0, unknown=0, missing=0).share == 0.0


def test_the_worst_suites_are_named_and_the_worst_model_is_first() -> None:
    one = items_table(known=2, unknown=8)
    other = items_table(known=10, unknown=1).assign(suite="other", model="model1", run="r1")
    both = items_table(known=9, unknown=1).assign(suite="other")
    found = unusable_items(pd.concat([other, one, both]))
    assert [count.name for count in found] == ["model0 (ctb)", "model1 (ctb)"]
    assert found[0].suites == ("mandarin/garden path object: 8 of 10",)


def test_seeds_do_not_add_items() -> None:
    items = items_table(known=3, unknown=2, seeds=4)
    row = usable_counts(items, ["model"]).iloc[0]
    assert (row["items"], row["usable"], row["unknown"]) == (5, 3, 2)
    assert math.isnan(summarise(items)["low"].iloc[0])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 14), st.integers(0, 4), st.integers(0, 4), st.integers(1, 3))
def test_intervals_exist_if_and_only_if_items_suffice(
    known: int, unknown: int, missing: int, seeds: int
) -> None:
    items = items_table(known=known, unknown=unknown, missing=missing, seeds=seeds)
    if items.empty:
        return
    summary = summarise(items, samples=20)
    is_most = 2 * known >= len(items) // seeds
    assert summary["usable"].tolist() == [known]
    assert summary["low"].notna().tolist() == [known >= MIN_ITEMS and is_most]
    pd.testing.assert_series_equal(
        accuracies(items, by=["model"])["low"].notna(), summary["low"].notna()
    )
    means = bit_means(with_usable(items, items), value="difference_bits", by=["model"])
    assert means["low"].notna().tolist() == [known >= MIN_ITEMS] * len(means)
    lowered = summarise(items, samples=20, min_items=1)["low"]
    assert lowered.notna().tolist() == [known >= 1 and is_most]


def test_flags_of_items_are_carried_to_other_tables() -> None:
    items = items_table(known=2, unknown=1)
    effects = items[["run", "suite", "item"]].assign(value_bits=1.0)
    assert with_usable(effects, items)[USABLE].tolist() == [True, True, False]
    assert usable_items(items)[USABLE].tolist() == [True, True, False]
    other = effects.assign(suite="without predictions")
    assert with_usable(other, items)[USABLE].all()
    assert USABLE not in with_usable(effects, ITEMS.frame([])).columns


def test_means_without_an_interval_are_alone() -> None:
    assert in_numbers({"mean": 0.5, "low": 0.25, "high": 0.75}) == "0.500  [0.25, 0.75]"
    assert in_numbers({"mean": 0.5, "low": math.nan, "high": math.nan}) == "0.500"


@pytest.mark.parametrize(("known", "unknown"), [(2, 0), (2, 18), (9, 31), (40, 41)])
def test_no_statistic_from_few_usable_items(tmp_path: Path, known: int, unknown: int) -> None:
    items = items_table(known=known, unknown=unknown, seeds=3)
    results = run_analyses(items)
    assert all(result.is_empty for result in results)
    reasons = {result.analysis.name: result.skipped for result in results}
    expected = too_few(known, known + unknown, MIN_ITEMS)
    assert f"{known} of {known + unknown} items are usable; statistics need at least" in expected
    assert ("task.min_items" in expected) == (known < MIN_ITEMS)
    for name in ("garden_path", "garden_path_by_item"):
        assert reasons[name] == (f"CTB · model0 · garden path object: {expected}",)
    write_analyses(tmp_path, results)
    assert [path.name for path in tmp_path.iterdir()] == ["skipped.txt"]
    assert expected in (tmp_path / "skipped.txt").read_text(encoding="utf-8")
    # The usable items alone give statistics if the user lowers the minimum.
    usable = items[items["unknown"] == 0]
    lowered = {one.analysis.name: one for one in run_analyses(usable, min_items=2)}
    assert not lowered["garden_path_by_item"].is_empty


def test_enough_usable_items_are_tested_with_all_items() -> None:
    items = items_table(known=10, unknown=10)
    found = {one.analysis.name: one for one in run_analyses(items)}["garden_path"]
    assert found.estimates["n"].tolist() == [20], "as in the published studies"
    assert USABLE not in found.data.columns


def test_the_summary_file_has_the_counts(tmp_path: Path) -> None:
    ScoredItems(items=items_table(known=2, unknown=18)).write(tmp_path)
    summary = pd.read_csv(tmp_path / "summary.csv")
    assert summary[["items", "unknown", "usable"]].to_numpy().tolist() == [[20, 18, 2]]
    assert summary[["low", "high"]].isna().all(axis=None)
    assert len(read_table(tmp_path / "items.csv", ITEMS)) == 20


def test_the_unusable_items_stand_beside_the_answer() -> None:
    items = items_table(known=2, unknown=18)
    study = ReportContent(title="t", items=items, summary=summarise(items))
    html = page(study, {}, ExplorerLimits())
    warning = "Items with unknown critical words: model0 (ctb) 18 of 20. Accuracies of"
    places = [html.index(one) for one in ("a mean accuracy", warning, "<h2>Accuracy")]
    assert places == sorted(places)
    assert "nan" not in html[html.index("a mean accuracy") :][:200]
