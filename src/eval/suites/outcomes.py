"""The margin by which a prediction holds, its search error, and whether the outcome could flip.

The margin of a comparison is the difference of its sides in the predicted direction; with ``&`` the
smallest margin counts, with ``|`` the largest. A comparison is undecided if its margin lies within
the 95 % interval of its search error. An outcome could flip if undecided comparisons decide it:
``a > b & a > c`` with an undecided first comparison could flip, unless the second is certainly
false.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, assert_never, get_args

from gardenpath.errors import GardenpathError
from gardenpath.eval.suites.formula import (
    WHOLE_SENTENCE,
    And,
    Arithmetic,
    Claim,
    Comparison,
    Formula,
    FormulaError,
    Lookup,
    Number,
    Or,
    Term,
    Value,
    equality_tolerance,
)
from gardenpath.eval.suites.regions import (
    Deviations,
    ErrorLookup,
    RegionTable,
    exact_sum,
    quantity_error,
    weighted_sum,
)
from gardenpath.eval.suites.suite import (
    CountedTies,
    Item,
    Prediction,
    Ranks,
    Suite,
    agrees,
    holds_in_order,
    share_of_orders,
)
from gardenpath.util import Words, spaced

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Margin:
    """A margin in bits, and the comparison that determines it; NaN if infinities cancel."""

    bits: float
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class MarginError:
    """Standard error of a margin in bits, and whether the outcome could flip (None: unknown)."""

    standard_error: float = math.nan
    could_flip: bool | None = None


UNKNOWN_ERROR = MarginError()


def margin(claim: Claim, values: Mapping[Value, float]) -> Margin:
    """Return the margin of a claim, given the values of the compared quantities."""
    match claim:
        case Comparison():
            return Margin(_margin_bits(claim, values), claim)
        case And():
            return min(_all_or_nan(claim.parts, values), key=lambda one: one.bits)
        case Or():
            return max(_all_or_nan(claim.parts, values), key=lambda one: one.bits)
        case _:
            assert_never(claim)


def _margin_bits(comparison: Comparison, values: Mapping[Value, float]) -> float:
    difference = values[comparison.left] - values[comparison.right]
    if comparison.operator == "=":
        return -abs(difference)
    return difference if comparison.operator == ">" else -difference


def _all_or_nan(parts: Sequence[Claim], values: Mapping[Value, float]) -> list[Margin]:
    found = [margin(part, values) for part in parts]
    undefined = [one for one in found if math.isnan(one.bits)]
    return undefined[:1] or found


def margin_error(
    claim: Claim, values: Mapping[Value, float], found: Margin, errors: ErrorLookup
) -> MarginError:
    """Return the error of a margin; unknown if it is not finite, or a quantity has no error."""
    spread = _spread(found.comparison, errors)
    if spread is None or not math.isfinite(found.bits) or math.isnan(spread.standard_error):
        return UNKNOWN_ERROR
    return MarginError(spread.standard_error, _could_flip(claim, values, errors))


def comparison_reach(comparison: Comparison, errors: ErrorLookup | None) -> float | None:
    """Return half the 95 % interval of the difference of two sides; None if it is not known."""
    spread = None if errors is None else _spread(comparison, errors)
    return None if spread is None else spread.reach


def is_open(
    claim: Claim, values: Mapping[Value, float], reaches: Mapping[Comparison, float]
) -> bool:
    """Whether a claim depends on comparisons whose sides differ by no more than their reach.

    Comparisons without a reach are decided by the values of their sides.
    """
    return _verdict(claim, values, reaches) is None


def _spread(comparison: Comparison, errors: ErrorLookup) -> Deviations | None:
    """Return the deviations of the difference of two sides."""
    left, right = quantity_error(comparison.left, errors), quantity_error(comparison.right, errors)
    return weighted_sum([(1.0, left), (-1.0, right)])


def _could_flip(claim: Claim, values: Mapping[Value, float], errors: ErrorLookup) -> bool | None:
    comparisons = _comparisons(claim)
    reaches: dict[Comparison, float] = {}
    for one in comparisons:
        spread = _spread(one, errors)
        if spread is None or math.isnan(spread.reach):
            return None
        reaches[one] = spread.reach
    return is_open(claim, values, reaches)


def _comparisons(claim: Claim) -> list[Comparison]:
    if isinstance(claim, Comparison):
        return [claim]
    return [one for part in claim.parts for one in _comparisons(part)]


def _distance(comparison: Comparison, values: Mapping[Value, float]) -> float:
    """Return by how many bits a comparison holds; ``=`` holds within a tolerance."""
    bits = _margin_bits(comparison, values)
    is_equality = comparison.operator == "="
    return bits + equality_tolerance(values[comparison.right]) if is_equality else bits


def _verdict(
    claim: Claim, values: Mapping[Value, float], reaches: Mapping[Comparison, float]
) -> float | None:
    """Return 1 for true, 0 for false, 1/2 for a tie without error; None if undecided."""
    if isinstance(claim, Comparison):
        distance = _distance(claim, values)
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


# ----------------------------------------------------------------------------
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


# ----------------------------------------------------------------------------
# The comparisons of a prediction that are tied: exactly, or nearly (:mod:`tie_rule`).
#
# Nearly equal is not transitive: a and c may differ where both are nearly equal to b. Quantities
# that ties connect are one group, whose orders are equally probable as far as they agree with
# those comparisons within the group that are not tied.


Threshold = Callable[[Comparison], float]
"""The largest difference of a comparison's sides, in bits, that is a near tie; 0 if none is."""


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

    @property
    def comparisons(self) -> frozenset[Comparison]:
        """All tied comparisons."""
        return self.exact | self.near


def tied_comparisons(
    comparisons: Sequence[Comparison], values: Mapping[Value, float], threshold: Threshold
) -> Tied:
    """Find the ties among comparisons, given the values of the compared quantities."""
    open_ones = [one for one in comparisons if one.operator != "="]
    exact = [one for one in open_ones if values[one.left] == values[one.right]]
    near = [
        one
        for one in open_ones
        if 0.0 < abs(values[one.left] - values[one.right]) <= threshold(one)
    ]
    groups = _groups(exact, near, values)
    tied = {*exact, *near}
    decided = [
        one
        for one in open_ones
        if one not in tied and any(one.left in group and one.right in group for group in groups)
    ]
    return Tied(frozenset(exact), frozenset(near), groups, tuple(decided))


def _groups(
    exact: Sequence[Comparison], near: Sequence[Comparison], values: Mapping[Value, float]
) -> tuple[tuple[Value, ...], ...]:
    """Group the quantities of equal value that are compared; near ties join groups."""
    equal: dict[float, dict[Value, None]] = {}
    for one in exact:
        equal.setdefault(values[one.left], {}).update({one.left: None, one.right: None})
    groups = list(equal.values())
    for one in near:
        sides: dict[Value, None] = {one.left: None, one.right: None}
        joined = [group for group in groups if group.keys() & sides.keys()]
        groups = [group for group in groups if not group.keys() & sides.keys()]
        groups.append({node: None for group in (*joined, sides) for node in group})
    return tuple(map(tuple, groups))


# ----------------------------------------------------------------------------
# Outcome of a prediction for an item; ties count as their expectation under random order.
#
# If two compared surprisals are equal, or nearly (:mod:`tie_rule`), the outcome is the probability
# that the prediction is true when tied quantities are in random order: 1/2 for ``a > b``, 1/3 for
# ``a > b & a > c`` if all three are equal, 1/2 if only ``b`` equals ``a`` and ``c`` is smaller.
# The probability is exact, computed over all orders of the tied quantities. Alternatively, ties
# can be broken by a seeded coin flip per item. ``=`` claims equality and is never a tie.
#
# Suites may count only complete ties: if some but not all comparisons of a prediction are tied,
# its outcome is 0.


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of a prediction: between 0 and 1, or NaN if a surprisal is missing.

    ``is_tie``: some compared quantities are equal. ``is_near_tie``: the outcome depends on
    quantities that differ by less than can be told apart. ``difference_bits`` is the difference of
    the two sides in the predicted direction, the smallest over ``&`` and the largest over ``|``.
    ``error`` is its search error.
    """

    value: float
    is_tie: bool
    is_near_tie: bool
    difference_bits: float
    error: MarginError = UNKNOWN_ERROR

    @property
    def is_missing(self) -> bool:
        """Whether the outcome is undefined because a surprisal is NaN."""
        return math.isnan(self.value)


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
    operands = [side for one in formula.comparisons for side in (one.left, one.right)]
    values = {operand: quantity(operand, lookup) for operand in operands}
    if any(math.isnan(value) for value in values.values()):
        return Outcome(math.nan, False, False, math.nan)
    found = margin(claim, values)
    error = UNKNOWN_ERROR if errors is None else margin_error(claim, values, found, errors)

    def threshold(one: Comparison) -> float:
        return ties.threshold_bits(comparison_reach(one, errors), is_searched=is_searched)

    tied = tied_comparisons(formula.comparisons, values, threshold)
    if not tied.comparisons:
        value = float(holds_in_order(claim, values, {}))
    elif counted == "complete" and not _is_complete(formula.comparisons, values, tied):
        value = 0.0
    elif ties.credit == "coin":
        dice = random.Random(coin)  # a string seeds the same on every machine
        value = float(holds_in_order(claim, values, _thrown(tied, values, dice), tied.near))
    else:
        value = share_of_orders(claim, values, tied.groups, tied=tied.near, decided=tied.decided)
    is_near = bool(tied.near) and is_open(claim, values, dict.fromkeys(tied.near, math.inf))
    return Outcome(value, bool(tied.exact), is_near, found.bits, error)


def quantity(node: Value, lookup: Lookup) -> float:
    """Return the value of one side of a comparison, rounded only once.

    An infinite term makes the sum infinite; infinities of opposite sign make it NaN.
    """
    return exact_sum(sign * value for sign, value in _signed_terms(node, lookup, 1))


def _signed_terms(node: Value, lookup: Lookup, sign: int) -> Iterator[tuple[int, float]]:
    match node:
        case Term():
            yield sign, lookup(node.region, node.condition)
        case Number():
            yield sign, node.value
        case Arithmetic():
            yield from _signed_terms(node.left, lookup, sign)
            yield from _signed_terms(node.right, lookup, sign if node.operator == "+" else -sign)
        case _:
            assert_never(node)


def _is_complete(
    comparisons: Sequence[Comparison], values: Mapping[Value, float], tied: Tied
) -> bool:
    """Whether all comparisons are tied; those that claim equality need equal values."""
    return all(one in tied.near or values[one.left] == values[one.right] for one in comparisons)


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


# ----------------------------------------------------------------------------
# Scoring of a suite: one outcome for every item and prediction.


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """Outcome of one prediction for one item.

    ``outcome`` is between 0 and 1, or NaN if a surprisal is missing; ``tie`` and ``near_tie`` say
    whether quantities are equal, or too close to tell apart; ``difference_bits`` is the
    difference in the predicted direction; ``unknown`` are the distinct critical words that are out
    of vocabulary. ``difference_se`` is the standard error of the difference in bits, and
    ``could_flip`` whether the outcome is undecided within its error; NaN and None if the search
    error is not known.
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


def score_suite(
    suite: Suite,
    surprisals: Mapping[Words, Sequence[float]],
    *,
    unknown: Collection[str] = (),
    ties: TieRule = USUAL_TIES,
    is_searched: bool = False,
) -> list[ItemOutcome]:
    """Score a suite from the surprisals (bits) of the words of its sentences.

    ``unknown`` are the out-of-vocabulary words; ``is_searched`` says whether the surprisals come
    from a search.
    """
    table = RegionTable.from_words(suite, surprisals)
    return score_table(table, unknown=unknown, ties=ties, is_searched=is_searched)


def score_table(
    table: RegionTable,
    *,
    unknown: Collection[str] = (),
    ties: TieRule = USUAL_TIES,
    is_searched: bool = False,
) -> list[ItemOutcome]:
    """Score a suite from its region surprisals."""
    suite = table.suite
    return [
        _item_outcome(table, item, prediction, unknown, ties, is_searched)
        for item in suite.items
        for prediction in suite.predictions
    ]


def _item_outcome(
    table: RegionTable,
    item: Item,
    prediction: Prediction,
    unknown: Collection[str],
    ties: TieRule,
    is_searched: bool,
) -> ItemOutcome:
    suite = table.suite
    found = outcome(
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
    return ItemOutcome(
        suite=suite.name,
        kind=suite.kind,
        modifier=suite.modifier,
        item=item.number,
        labels=item.labels,
        prediction=prediction.name,
        outcome=found.value,
        tie=found.is_tie,
        difference_bits=found.difference_bits,
        unknown=tuple(word for word in words if word in unknown),
        near_tie=found.is_near_tie,
        difference_se=found.error.standard_error,
        could_flip=found.error.could_flip,
    )


def critical_words(suite: Suite, item: Item, formula: Formula) -> tuple[str, ...]:
    """Return the distinct words on which a prediction for an item depends.

    These are the words of the regions in the formula and of the suite's critical regions, in the
    conditions of the formula.
    """
    regions: dict[str, set[int]] = {}
    for term in formula.terms:
        wanted = regions.setdefault(
            term.condition, {suite.region_index(name) for name in suite.critical}
        )
        if term.region == WHOLE_SENTENCE:
            wanted.update(range(len(suite.regions)))
        else:
            wanted.add(suite.region_index(term.region))
    return tuple(
        dict.fromkeys(
            word
            for variant in item.variants
            for number, region in enumerate(variant.regions)
            if number in regions.get(variant.condition, ())
            for word in region
        )
    )


# ----------------------------------------------------------------------------
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
# Number of suites that a warning names.
_MOST_SUITES = 3


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
    found = []
    for row in usable_counts(items, by).to_dict("records"):
        if row["usable"] == row["items"]:
            continue
        own = of_suites[(of_suites[by] == [row["model"], row["corpus"]]).all(axis=1)]
        name = f"{row['model']} ({row['corpus']})" if row["corpus"] else str(row["model"])
        found.append(
            ItemCount(
                name=name,
                items=row["items"],
                unknown=row["unknown"],
                missing=row["missing"],
                suites=_worst(own),
            )
        )
    return sorted(found, key=lambda one: -one.share)


def _worst(suites: pd.DataFrame) -> tuple[str, ...]:
    """Return the suites with the largest shares of unusable items; none if there is only one."""
    if len(suites) < 2:
        return ()
    unusable = suites["items"] - suites["usable"]
    worst = suites.assign(_unusable=unusable, _share=unusable / suites["items"])
    worst = worst[worst["_share"] > LARGE_SHARE].sort_values("_share", ascending=False)
    rows = worst.head(_MOST_SUITES).to_dict("records")
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
