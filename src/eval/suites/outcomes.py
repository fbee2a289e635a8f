"""Outcomes of predictions for the items of a suite: margins, their errors, ties, usable items.

``runs`` scores suites here, from tables of region surprisals; the reports and statistics ask which
items are usable. Nothing is read, written or printed. Settings take their constants from this
module, so that it may not import pandas.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from gardenpath.errors import GardenpathError
from gardenpath.eval.suites.formula import (
    And,
    Claim,
    Comparison,
    Formula,
    FormulaError,
    Lookup,
    Or,
    Value,
    equality_tolerance,
)
from gardenpath.eval.suites.regions import (
    Deviations,
    ErrorLookup,
    RegionTable,
    quantity,
    quantity_error,
    weighted_sum,
)
from gardenpath.eval.suites.suite import (
    CountedTies,
    Item,
    Ranks,
    Suite,
    agrees,
    holds_in_order,
    share_of_orders,
)
from gardenpath.util import spaced

if TYPE_CHECKING:
    import pandas as pd


# The margin by which a prediction holds, its search error, and whether the outcome could flip.
#
# The margin of a comparison is the difference of its sides in the predicted direction; with ``&``
# the smallest margin counts, with ``|`` the largest. A comparison is undecided if its margin lies
# within the 95 % interval of its search error. An outcome could flip if undecided comparisons
# decide it: ``a > b & a > c`` with an undecided first comparison could flip, unless the second is
# certainly false.


@dataclass(frozen=True, slots=True)
class Margin:
    """A margin in bits, and the comparison that determines it; NaN if infinities cancel."""

    bits: float
    comparison: Comparison


def margin(claim: Claim, values: Mapping[Value, float]) -> Margin:
    """Return the margin of a claim, given the values of the compared quantities."""
    if isinstance(claim, Comparison):
        return Margin(_margin_bits(claim, values), claim)
    margins = [margin(part, values) for part in claim.parts]
    for part in margins:
        if math.isnan(part.bits):
            return part
    decisive = min if isinstance(claim, And) else max
    return decisive(margins, key=lambda part: part.bits)


def _margin_bits(comparison: Comparison, values: Mapping[Value, float]) -> float:
    difference = values[comparison.left] - values[comparison.right]
    if comparison.operator == "=":
        return -abs(difference)
    return difference if comparison.operator == ">" else -difference


def spreads_of(
    comparisons: Sequence[Comparison], errors: ErrorLookup | None
) -> dict[Comparison, Deviations | None]:
    """Return the deviations of the difference of the two sides; None if they are not known."""
    if errors is None:
        return dict.fromkeys(comparisons)
    return {
        pair: weighted_sum(
            [(1.0, quantity_error(pair.left, errors)), (-1.0, quantity_error(pair.right, errors))]
        )
        for pair in comparisons
    }


def margin_error(
    claim: Claim,
    values: Mapping[Value, float],
    own: Margin,
    spreads: Mapping[Comparison, Deviations | None],
) -> tuple[float, bool | None]:
    """Return the standard error of a margin in bits, and whether the outcome could flip.

    NaN and None if the margin is not finite, or a quantity has no error.
    """
    spread = spreads[own.comparison]
    if spread is None or not math.isfinite(own.bits) or math.isnan(spread.standard_error):
        return math.nan, None
    reaches = {pair: math.nan if each is None else each.reach for pair, each in spreads.items()}
    if any(map(math.isnan, reaches.values())):
        return spread.standard_error, None
    return spread.standard_error, _verdict(claim, values, reaches) is None


def _verdict(
    claim: Claim, values: Mapping[Value, float], reaches: Mapping[Comparison, float]
) -> float | None:
    """Return 1 for true, 0 for false, 1/2 for a tie without error; None if undecided.

    A claim is undecided if it depends on comparisons whose sides differ by no more than their
    reach; those without a reach are decided by the values of their sides.
    """
    if isinstance(claim, Comparison):
        distance = _margin_bits(claim, values)
        if claim.operator == "=":  # holds within a tolerance
            distance += equality_tolerance(values[claim.right])
        reach = reaches.get(claim, 0.0)
        if reach > 0.0 and abs(distance) <= reach:
            return None
        return 0.5 if distance == 0.0 else float(distance > 0.0)
    parts = [_verdict(part, values, reaches) for part in claim.parts]
    decisive = 0.0 if isinstance(claim, And) else 1.0
    if decisive in parts:
        return decisive
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return min(known) if isinstance(claim, And) else max(known)


# Which differences of surprisal are ties, and what a tie counts.
#
# A difference that the computation cannot tell from zero says nothing about a model. Two
# quantities are a *near tie* if they are not equal, but differ by no more than
#
# - ``near_tie_bits``, above what rounding changes (float32, batches, threads, processes);
# - for models that are searched, if the search estimates its error, half the 95 % interval of the
#   difference;
# - for models that are searched without such an estimate, ``search_near_tie_bits``.
#
# A near tie has the outcome of an exact tie.

Ties = Literal["near", "exact"]
TieCredit = Literal["expectation", "coin"]

# Both are measured by ``python -m benchmarks.near_ties`` (docs/scoring.md#near-ties).
NEAR_TIE_BITS = 1e-4
SEARCH_NEAR_TIE_BITS = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class TieRule:
    """Which differences are ties, and what a tie counts.

    ``ties`` says whether near ties count as ties, or exactly equal quantities only. The outcome of
    a tie is its expected value in random order, or that of one order drawn with ``seed``.
    """

    ties: Ties = "near"
    near_tie_bits: float = NEAR_TIE_BITS
    search_near_tie_bits: float = SEARCH_NEAR_TIE_BITS
    credit: TieCredit = "expectation"
    seed: int = 0

    def threshold_bits(
        self, reach: float | None, *, is_searched: bool, share: float = 1.0
    ) -> float:
        """Return the largest difference (bits) that is a near tie; 0 if there are none.

        ``reach`` is half the 95 % interval of the difference, None or NaN if it is not known;
        ``is_searched`` says whether the surprisals come from a search. Floors are multiplied by
        ``share``, for surprisals that are divided by a number of words.
        """
        if self.ties == "exact":
            return 0.0
        if reach is not None and not math.isnan(reach):
            return max(share * self.near_tie_bits, reach)
        searched = self.search_near_tie_bits if is_searched else 0.0
        return share * max(self.near_tie_bits, searched)

    def __str__(self) -> str:
        """Say in words which differences are ties."""
        if self.ties == "exact":
            return "exactly equal surprisals"
        return (
            f"differences up to {self.near_tie_bits:g} bits, of searched models up to the 95 % "
            f"interval of the search error or, if it is not known, {self.search_near_tie_bits:g} "
            "bits"
        )


USUAL_TIES = TieRule()
EXACT_TIES = TieRule(ties="exact")


def tie_rule(ties: Ties | TieRule) -> TieRule:
    """Return the rule that a name stands for."""
    if isinstance(ties, TieRule):
        return ties
    if ties not in get_args(Ties):
        raise GardenpathError(
            f"ties={ties!r} is not one of {', '.join(get_args(Ties))}; a coin toss is "
            "TieRule(credit='coin'), on the command line task.tie_credit=coin"
        )
    return TieRule(ties=ties)


# The comparisons of a prediction that are tied. Nearly equal is not transitive: a and c may differ
# where both are nearly equal to b. Quantities that ties connect are one group, whose orders are
# equally probable as far as they agree with those comparisons within the group that are not tied.


@dataclass(frozen=True, slots=True)
class Tied:
    """The tied comparisons of a prediction; ``=`` claims equality and is never tied.

    ``exact`` have equal sides, ``near`` have sides that differ by no more than the threshold.
    ``groups`` are the quantities that these ties connect, ``decided`` the comparisons of two
    quantities of one group that are not tied.
    """

    exact: frozenset[Comparison]
    near: frozenset[Comparison]
    groups: tuple[tuple[Value, ...], ...]
    decided: tuple[Comparison, ...]


def _tied(
    comparisons: Sequence[Comparison],
    values: Mapping[Value, float],
    thresholds: Mapping[Comparison, float],
) -> Tied:
    comparisons = [pair for pair in comparisons if pair.operator != "="]
    exact = [pair for pair in comparisons if values[pair.left] == values[pair.right]]
    near = [
        pair
        for pair in comparisons
        if 0.0 < abs(values[pair.left] - values[pair.right]) <= thresholds[pair]
    ]
    # Quantities of equal value that are compared are a group; near ties join groups.
    equal: dict[float, dict[Value, None]] = {}
    for pair in exact:
        equal.setdefault(values[pair.left], {}).update({pair.left: None, pair.right: None})
    groups = list(equal.values())
    for pair in near:
        sides: dict[Value, None] = {pair.left: None, pair.right: None}
        joined = [group for group in groups if group.keys() & sides.keys()]
        groups = [group for group in groups if not group.keys() & sides.keys()]
        groups.append({node: None for group in (*joined, sides) for node in group})
    tied = {*exact, *near}
    decided = [
        pair
        for pair in comparisons
        if pair not in tied and any(pair.left in group and pair.right in group for group in groups)
    ]
    return Tied(frozenset(exact), frozenset(near), tuple(map(tuple, groups)), tuple(decided))


# Outcome of a prediction for an item; ties count as their expectation under random order.
#
# If two compared surprisals are equal, or nearly, the outcome is the exact probability that the
# prediction is true when tied quantities are in random order: 1/2 for ``a > b``, 1/3 for
# ``a > b & a > c`` if all three are equal, 1/2 if only ``b`` equals ``a`` and ``c`` is smaller.
# Alternatively, a seeded coin flip per item breaks ties. ``=`` claims equality and is never a tie.
#
# Suites may count only complete ties: if some but not all comparisons of a prediction are tied,
# its outcome is 0.


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of a prediction: between 0 and 1, or NaN if a surprisal is missing.

    ``is_tie``: some compared quantities are equal. ``is_near_tie``: the outcome depends on
    quantities that differ by less than can be told apart. ``difference_bits`` is the difference of
    the two sides in the predicted direction, the smallest over ``&`` and the largest over ``|``.
    ``difference_se`` is its standard error, and ``could_flip`` whether the search error leaves the
    outcome undecided; NaN and None if the error is not known.
    """

    value: float
    is_tie: bool
    is_near_tie: bool
    difference_bits: float
    difference_se: float = math.nan
    could_flip: bool | None = None


def outcome(
    formula: Formula,
    lookup: Lookup,
    *,
    ties: TieRule = USUAL_TIES,
    coin: str = "",
    counted: CountedTies = "any",
    errors: ErrorLookup | None = None,
    is_searched: bool = False,
) -> Outcome:
    """Return the outcome of a prediction for one item.

    ``coin`` seeds the coin flip for ties; ``counted`` are the ties that do not count 0. ``errors``
    looks up the search errors of region surprisals; without them, that of the outcome is unknown.
    ``is_searched`` says whether the surprisals come from a search.
    """
    claim = formula.tree
    if not isinstance(claim, Comparison | And | Or):
        raise FormulaError("a quantity without a comparison is not a claim", text=str(formula))
    comparisons = formula.comparisons
    operands = [side for pair in comparisons for side in (pair.left, pair.right)]
    values = {operand: quantity(operand, lookup) for operand in operands}
    if any(map(math.isnan, values.values())):
        return Outcome(math.nan, False, False, math.nan)
    spreads = spreads_of(comparisons, errors)
    own = margin(claim, values)
    error = margin_error(claim, values, own, spreads)
    thresholds = {
        pair: ties.threshold_bits(None if each is None else each.reach, is_searched=is_searched)
        for pair, each in spreads.items()
    }
    tied = _tied(comparisons, values, thresholds)
    # Those that claim equality are tied only if their values are equal.
    is_complete = all(
        pair in tied.near or values[pair.left] == values[pair.right] for pair in comparisons
    )
    if not tied.exact and not tied.near:
        value = float(holds_in_order(claim, values, {}))
    elif counted == "complete" and not is_complete:
        value = 0.0
    elif ties.credit == "coin":
        dice = random.Random(coin)  # a string seeds the same on every machine
        value = float(holds_in_order(claim, values, _thrown(tied, values, dice), tied.near))
    else:
        value = share_of_orders(claim, values, tied.groups, tied=tied.near, decided=tied.decided)
    near = dict.fromkeys(tied.near, math.inf)
    is_near = bool(near) and _verdict(claim, values, near) is None
    return Outcome(value, bool(tied.exact), is_near, own.bits, *error)


def _thrown(tied: Tied, values: Mapping[Value, float], dice: random.Random) -> Ranks:
    """Draw an order of the tied quantities, until it agrees with what is decided among them."""
    while True:
        ranks = {}
        for group in tied.groups:
            order = list(group)
            dice.shuffle(order)
            ranks.update({node: rank for rank, node in enumerate(order)})
        if agrees(ranks, values, tied.decided):
            return ranks


# Scoring of a suite: one outcome for every item and prediction.


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """Outcome of one prediction for one item, as :class:`Outcome` explains it.

    ``unknown`` are the distinct critical words that are out of vocabulary.
    """

    suite: str
    kind: str
    modifier: str
    item: int
    labels: Mapping[str, str]
    prediction: str
    outcome: float
    tie: bool
    difference_bits: float
    unknown: tuple[str, ...] = ()
    near_tie: bool = False
    difference_se: float = math.nan
    could_flip: bool | None = None


def score_table(
    table: RegionTable,
    *,
    unknown: Collection[str] = (),
    ties: TieRule = USUAL_TIES,
    is_searched: bool = False,
) -> list[ItemOutcome]:
    """Score a suite from its region surprisals.

    ``unknown`` are the out-of-vocabulary words; ``is_searched`` says whether the surprisals come
    from a search.
    """
    suite = table.suite
    rows = []
    for item, prediction in itertools.product(suite.items, suite.predictions):
        own = outcome(
            prediction.formula,
            table.lookup(item.number),
            ties=ties,
            # The coin depends only on seed, item and prediction, not on the order of scoring.
            coin=f"{ties.seed}/{suite.name}/{item.number}/{prediction.name}",
            counted=suite.ties,
            errors=table.errors(item.number),
            is_searched=is_searched,
        )
        words = critical_words(suite, item, prediction.formula)
        rows.append(
            ItemOutcome(
                suite=suite.name,
                kind=suite.kind,
                modifier=suite.modifier,
                item=item.number,
                labels=item.labels,
                prediction=prediction.name,
                outcome=own.value,
                tie=own.is_tie,
                difference_bits=own.difference_bits,
                unknown=tuple(word for word in words if word in unknown),
                near_tie=own.is_near_tie,
                difference_se=own.difference_se,
                could_flip=own.could_flip,
            )
        )
    return rows


def critical_words(suite: Suite, item: Item, formula: Formula) -> tuple[str, ...]:
    """Return the distinct words on which a prediction for an item depends.

    These are the words of the regions in the formula and of the suite's critical regions, in the
    conditions of the formula.
    """
    regions = suite.regions_of((), formula.terms)
    return tuple(
        dict.fromkeys(
            word
            for variant in item.variants
            for number, region in enumerate(variant.regions)
            if number in regions.get(variant.condition, ())
            for word in region
        )
    )


# Usable items: those whose critical words a model knows and whose surprisals are present.
#
# An unknown critical word has the surprisal of its class, so an item with one says little about
# the word. Such items stay in accuracies and analyses, as in the published studies, but they are
# counted: a statistic needs enough usable items, and the share of the others is the first thing
# that is said.

# Least number of usable items behind a statistic: a test, an interval, a correlation, a verdict.
# Items are the independent units of a suite; seeds and conditions of an item do not add to them.
# Below 6 items no sign test can reach p < .05, and a bootstrap interval repeats the values; the
# published designs have more. Ten leaves room for suites that lose some.
MIN_ITEMS = 10
# Column that marks the rows of usable items; analyses count them and drop it.
USABLE = "_usable"
# Above this share of unusable items an accuracy says little about a model.
LARGE_SHARE = 0.25

# What a reason for a statistic that was not computed contains.
TOO_FEW = "statistics need at least"

_ITEM = ["run", "suite", "item"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemCount:
    """The usable items of a model among all, and why others are not usable."""

    name: str
    items: int
    unknown: int
    missing: int
    suites: tuple[str, ...] = ()

    @property
    def unusable(self) -> int:
        """Number of items with unknown critical words or without surprisals."""
        return self.unknown + self.missing

    @property
    def share(self) -> float:
        """The share of unusable items."""
        return self.unusable / self.items if self.items else 0.0

    @property
    def is_large(self) -> bool:
        """Whether so many items are unusable that accuracies say little."""
        return self.share > LARGE_SHARE

    def __str__(self) -> str:
        said = []
        if self.unknown:
            said.append(f"{self.unknown} of {self.items} items have unknown critical words")
        if self.missing:
            said.append(f"{self.missing} of {self.items} items lack a surprisal")
        text = f"{self.name}: {', and '.join(said)} ({self.share:.0%})"
        if self.is_large:
            text += "; its accuracies say little"
        if self.suites:
            text += f" (most in {', '.join(self.suites)})"
        return text


def usable_items(items: pd.DataFrame) -> pd.DataFrame:
    """Return one row per run, suite and item of a table of items, with the flag ``USABLE``."""
    marked = items[_ITEM].assign(**{USABLE: (items["unknown"] == 0) & items["outcome"].notna()})
    return marked.groupby(_ITEM, sort=False, dropna=False)[USABLE].all().reset_index()


def with_usable(table: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """Return a table of items, effects or sentences with the flag ``USABLE`` of each item.

    Items of suites without predictions have no outcomes and count as usable.
    """
    if table.empty or items.empty or not {*_ITEM} <= set(table.columns):
        return table
    known = usable_items(items)
    flags = dict(zip(known[_ITEM].itertuples(index=False, name=None), known[USABLE], strict=True))
    rows = table[_ITEM].itertuples(index=False, name=None)
    return table.assign(**{USABLE: [flags.get(row, True) for row in rows]})


def usable_counts(items: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return the numbers of items, of usable, unknown and missing ones, in order of appearance.

    An item is counted once, and is usable if it is for every run; ``unknown`` are items with
    unknown critical words, ``missing`` others without a surprisal.
    """
    import pandas as pd  # here, because settings need only the constants of this module

    keys = list(by)
    marked = items.assign(_unknown=items["unknown"] > 0, _missing=items["outcome"].isna())
    single = list(dict.fromkeys([*keys, "suite", "item"]))
    flags = marked.groupby(single, dropna=False, sort=False)[["_unknown", "_missing"]].any()
    flags["_missing"] &= ~flags["_unknown"]
    groups = flags.reset_index().groupby(keys, dropna=False, sort=False)
    counts = pd.DataFrame(
        {
            "items": groups.size(),
            "unknown": groups["_unknown"].sum(),
            "missing": groups["_missing"].sum(),
        }
    ).astype("int64")
    counts["usable"] = counts["items"] - counts["unknown"] - counts["missing"]
    return counts.reset_index()


def unusable_items(items: pd.DataFrame) -> list[ItemCount]:
    """Return the models with unusable items, those with the largest share first."""
    if items.empty:
        return []
    by = ["model", "corpus"]
    of_suites = usable_counts(items, [*by, "suite"])
    counts = []
    for row in usable_counts(items, by).to_dict("records"):
        if row["usable"] == row["items"]:
            continue
        own = of_suites[(of_suites[by] == [row["model"], row["corpus"]]).all(axis=1)]
        name = f"{row['model']} ({row['corpus']})" if row["corpus"] else str(row["model"])
        counts.append(
            ItemCount(
                name=name,
                items=row["items"],
                unknown=row["unknown"],
                missing=row["missing"],
                suites=_worst_suites(own) if len(own) > 1 else (),
            )
        )
    return sorted(counts, key=lambda count: -count.share)


def _worst_suites(suites: pd.DataFrame) -> tuple[str, ...]:
    unusable = suites["items"] - suites["usable"]
    worst = suites.assign(_unusable=unusable, _share=unusable / suites["items"])
    worst = worst[worst["_share"] > LARGE_SHARE].sort_values("_share", ascending=False)
    rows = worst.head(3).to_dict("records")
    return tuple(f"{spaced(row['suite'])}: {row['_unusable']} of {row['items']}" for row in rows)


def is_enough(usable: int, items: int, least: int) -> bool:
    """Whether a statistic may be computed: usable items are enough, and not the smaller part."""
    return usable >= least and 2 * usable >= items


def too_few(usable: int, items: int, least: int, *, whose: str = "") -> str:
    """Say that a statistic is not computed: ``7 of 40 items are usable; …``."""
    verb = "is" if usable == 1 else "are"
    said = f"{usable} of {items} items {verb} usable" + (f" ({whose})" if whose else "")
    if usable < least:
        return f"{said}; {TOO_FEW} {least} (task.min_items)"
    return f"{said}; {TOO_FEW} half of the items (suite.in_vocabulary=true uses only these)"


def counted_with(items: pd.DataFrame, by: Sequence[str], least: int) -> Iterator[tuple[str, str]]:
    """Yield the groups with too few usable items, each with its name and the reason."""
    for row in usable_counts(items, by).to_dict("records"):
        if not is_enough(row["usable"], row["items"], least):
            name = ", ".join(spaced(row[key]) for key in by if row[key] not in ("", None))
            yield name, too_few(row["usable"], row["items"], least)
