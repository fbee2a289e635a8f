"""Test suites: items in several conditions, each divided into the same named regions.

Everything that reads, writes, scores or reports suites uses these classes; they know no file format
and no model. The running example has the regions ``classifier``, ``noun`` and ``end`` and the
conditions ``match`` and ``mismatch``; the classifier agrees with the noun only in ``match``::

    match:     一 只 | 猫 | 。
    mismatch:  一 本 | 猫 | 。

The suite predicts ``(noun;%mismatch%) > (noun;%match%)``: the surprisal of the noun is higher if
the classifier does not agree.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import zip_longest
from statistics import fmean
from typing import Any, Literal, assert_never

from gardenpath.errors import GardenpathError
from gardenpath.eval.suites.formula import (
    WHOLE_SENTENCE,
    And,
    Arithmetic,
    Claim,
    Comparison,
    Formula,
    Number,
    Or,
    Term,
    Value,
    are_equal,
    walk,
)
from gardenpath.settings.schema import nearest
from gardenpath.util import Words, is_count

# The chance level of predictions for which it cannot be computed.
USUAL_CHANCE = 0.5

# Chance level of a claim: its probability if the compared quantities are in random order, 1/2 for
# ``a > b`` and 1/3 for ``a > b & a > c``. Scoring treats ties in the same way, so a model that
# assigns the same surprisal to all conditions scores at chance.

# Formulas with more orders than this have no computed chance level.
_MOST_ORDERS = 50_000

Ranks = Mapping[Value, int]


def chance_level(formula: Formula) -> float | None:
    """Return the probability that a prediction holds if all quantities are in random order.

    None if it cannot be computed: for quantities, for ``=``, for comparisons with a number, and
    for formulas that compare too many quantities.
    """
    claim = formula.tree
    if not isinstance(claim, Comparison | And | Or):
        return None
    for comparison in formula.comparisons:
        left, right = comparison.left, comparison.right
        # A side without a surprisal says nothing of a model; equal sides are never ordered.
        says = all(any(isinstance(node, Term) for node in walk(side)) for side in (left, right))
        if comparison.operator == "=" or left == right or not says:
            return None
    groups = _connected(formula.comparisons)
    if math.prod(math.factorial(len(group)) for group in groups) > _MOST_ORDERS:
        return None
    values = {value: 0.0 for group in groups for value in group}
    return share_of_orders(claim, values, groups)


def _connected(comparisons: Sequence[Comparison]) -> list[list[Value]]:
    """Group quantities that are compared with each other, directly or through others."""
    groups: list[dict[Value, None]] = []
    for comparison in comparisons:
        joined = {comparison.left: None, comparison.right: None}
        apart = []
        for group in groups:
            if group.keys() & joined.keys():
                joined = {**group, **joined}
            else:
                apart.append(group)
        groups = [*apart, joined]
    return [list(group) for group in groups]


def share_of_orders(
    claim: Claim,
    values: Mapping[Value, float],
    groups: Sequence[Sequence[Value]],
    *,
    tied: Collection[Comparison] = (),
    decided: Sequence[Comparison] = (),
) -> float:
    """Return the proportion of all orders of the tied quantities in which a claim is true.

    Each of the ``groups`` contains quantities of equal value, or of values that count as equal in
    the comparisons ``tied``; all other quantities are ordered by value. Orders that contradict
    the values of a comparison in ``decided``, of two quantities of one group, are left out.
    """
    held = []
    for orders in itertools.product(*(itertools.permutations(group) for group in groups)):
        ranks = {node: rank for order in orders for rank, node in enumerate(order)}
        if agrees(ranks, values, decided):
            held.append(holds_in_order(claim, values, ranks, tied))
    return sum(held) / len(held)


def agrees(ranks: Ranks, values: Mapping[Value, float], decided: Sequence[Comparison]) -> bool:
    """Whether ranks order the two sides of each comparison as their values do."""
    return all(
        (ranks[pair.left] < ranks[pair.right]) == (values[pair.left] < values[pair.right])
        for pair in decided
    )


def holds_in_order(
    claim: Claim, values: Mapping[Value, float], ranks: Ranks, tied: Collection[Comparison] = ()
) -> bool:
    """Whether a claim is true if equal values, and the sides of ``tied``, are ordered by rank."""
    match claim:
        case Comparison():
            left, right = values[claim.left], values[claim.right]
            if claim.operator == "=":
                return left == right or are_equal(left, right)  # infinities have no difference
            if claim in tied:
                left = right = 0.0
            ranked_left = left, ranks.get(claim.left, 0)
            ranked_right = right, ranks.get(claim.right, 0)
            return (
                ranked_left < ranked_right if claim.operator == "<" else ranked_left > ranked_right
            )
        case And():
            return all(holds_in_order(part, values, ranks, tied) for part in claim.parts)
        case Or():
            return any(holds_in_order(part, values, ranks, tied) for part in claim.parts)
        case _:
            assert_never(claim)


# Suites.

Metric = Literal["sum", "mean", "max", "first"]

# Which ties of a prediction with several comparisons count as their expectation: those of any
# comparisons, or only if all comparisons are tied, else 0.
CountedTies = Literal["any", "complete"]

_BLANKS = re.compile(r"[ \t\n\r]+")


class SuiteError(GardenpathError):
    """A suite that cannot be used, or cannot be written in the requested format."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One sentence of an item: its condition and the words of each region, in order.

    Regions may be empty. An item may have several variants of one condition (for example, with
    counterbalanced nouns); their surprisals are averaged before conditions are compared.
    ``written`` is the sentence as its file writes it, if that is not its words with blanks.
    """

    condition: str
    regions: tuple[tuple[str, ...], ...]
    written: str = field(default="", compare=False)

    @property
    def words(self) -> tuple[str, ...]:
        """The whole sentence."""
        return tuple(word for region in self.regions for word in region)


@dataclass(frozen=True, slots=True)
class Item:
    """A set of variants that differ only in the tested property.

    ``labels`` are properties by which results can be grouped, such as the pronoun or the depth of
    embedding. ``gloss`` has one English word for each word of the first variant, region by region;
    ``translation`` is its meaning in English. Both may be empty.
    """

    number: int
    variants: tuple[Variant, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    gloss: tuple[tuple[str, ...], ...] = ()
    translation: str = ""

    def numbered_variants(self) -> Iterator[tuple[int, Variant]]:
        """Yield the variants, each with its number within its condition, counted from 1."""
        counts: Counter[str] = Counter()
        for variant in self.variants:
            counts[variant.condition] += 1
            yield counts[variant.condition], variant

    def of_condition(self, condition: str) -> tuple[Variant, ...]:
        """Return the variants of a condition, in most cases one."""
        return tuple(variant for variant in self.variants if variant.condition == condition)


@dataclass(frozen=True, slots=True)
class Prediction:
    """A prediction for a model that has learnt the grammar: a formula over region surprisals."""

    name: str
    formula: Formula


@dataclass(frozen=True)
class Suite:
    """A test suite.

    ``kind`` is the class of phenomenon (``classifier_noun``), ``modifier`` the type of the material
    between the dependent words; both may be empty. ``spaced``: whether words are written with
    spaces between them. ``critical``: the critical regions; variants may differ only in these and
    in the regions listed in ``differing``. ``chance``: the chance level, if the suite specifies it.
    ``ties``: ``complete`` if a prediction counts 0 where only some of its comparisons are tied.
    ``effects``: quantities in bits, by name, such as a difference or an interaction. ``factors``:
    the levels of factors by condition (``{a: {number: singular}}``), columns of the results.
    ``glosses``: glosses of words that no first variant has, by word (``{歌: song}``).
    ``meta``: further entries of the file, such as author and tags, which are kept but not used.
    """

    name: str
    language: str
    regions: tuple[str, ...]
    conditions: tuple[str, ...]
    predictions: tuple[Prediction, ...]
    items: tuple[Item, ...]
    kind: str = ""
    modifier: str = ""
    version: str = "1"
    metric: Metric = "sum"
    normalised: bool = False
    spaced: bool = True
    critical: tuple[str, ...] = ()
    differing: tuple[str, ...] = ()
    chance: float | None = None
    ties: CountedTies = "any"
    description: str = ""
    reference: str = ""
    effects: tuple[Prediction, ...] = ()
    factors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    glosses: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def sentences(self) -> tuple[tuple[str, ...], ...]:
        """The distinct sentences of the suite, in order of first appearance."""
        words = (variant.words for item in self.items for variant in item.variants)
        return tuple(dict.fromkeys(words))

    @cached_property
    def chance_level(self) -> float:
        """The chance level: ``chance`` if given, else the mean over the predictions."""
        if self.chance is not None:
            return self.chance
        levels = [chance_level(prediction.formula) for prediction in self.predictions]
        known = [USUAL_CHANCE if level is None else level for level in levels]
        return fmean(known) if known else USUAL_CHANCE

    def region_index(self, name: str) -> int:
        """Return the index of a region, given by name or by number from 1."""
        if name in self.regions:
            return self.regions.index(name)
        if is_count(name) and 1 <= int(name) <= len(self.regions):
            return int(name) - 1
        raise SuiteError(f"suite {self.name} has no region {name!r}; {nearest(name, self.regions)}")

    def regions_of(self, conditions: Iterable[str], terms: Iterable[Term]) -> dict[str, set[int]]:
        """Return the indices of the critical regions and of those of the terms, by condition."""
        critical = {self.region_index(name) for name in self.critical}
        regions = {condition: set(critical) for condition in conditions}
        for term in terms:
            own = regions.setdefault(term.condition, set(critical))
            if term.region == WHOLE_SENTENCE:
                own.update(range(len(self.regions)))
            else:
                own.add(self.region_index(term.region))
        return regions

    def text(self, variant: Variant) -> str:
        """Return the sentence as text."""
        return (" " if self.spaced else "").join(variant.words)


def chance_of(text: object) -> float:
    """Parse a chance level such as ``0.25`` or ``1/3``; raise ValueError if it is invalid."""
    problem = f"{text} is not a number in [0, 1], such as 0.25 or 1/3"
    try:
        level = float(Fraction(str(text)))
    except (ValueError, ZeroDivisionError):
        raise ValueError(problem) from None
    if not 0.0 <= level <= 1.0:
        raise ValueError(problem)
    return level


def chance_by_class(suites: Iterable[Suite]) -> dict[str, float]:
    """Return the chance level of each class: the mean over its suites."""
    levels: dict[str, list[float]] = {}
    for suite in suites:
        levels.setdefault(suite.kind, []).append(suite.chance_level)
    return {kind: fmean(own) for kind, own in levels.items()}


def split_words(text: str) -> tuple[str, ...]:
    """Return the words of a region, which are separated by spaces.

    Other characters that look like spaces, such as the full-width space, are kept so that the
    linter can report them.
    """
    return tuple(word for word in _BLANKS.split(text) if word)


def named(formula: Formula, regions: Sequence[str]) -> Formula:
    """Return the formula with the numbers of regions replaced by their names."""

    def name(leaf: Term | Number) -> Term | Number:
        if isinstance(leaf, Number) or leaf.region in regions or not is_count(leaf.region):
            return leaf
        place = int(leaf.region)
        return Term(regions[place - 1], leaf.condition) if 1 <= place <= len(regions) else leaf

    return formula.replace(name)


# Glosses of all variants of an item, from that of its first variant and those of the suite.


class Glosses:
    """Glosses of every word of a suite.

    The words of a first variant have the gloss of the item. A word of another variant has that of
    the same word in the same region of the first variant, else anywhere in the first variant, else
    that of ``Suite.glosses``, else the only one that it has in the first variants of the suite. A
    word without any has an empty text.
    """

    def __init__(self, suite: Suite) -> None:
        self.suite = suite
        glosses: dict[str, set[str]] = {}
        for item in suite.items:
            for _, word, gloss in _aligned(suite, item):
                glosses.setdefault(word, set()).add(gloss)
        only = {word: min(texts) for word, texts in glosses.items() if len(texts) == 1}
        self._known = {**only, **suite.glosses}

    def of(self, item: Item) -> dict[tuple[str, int], Words]:
        """Return the glosses by condition and number of the variant; none without a gloss."""
        if not item.gloss:
            return {}
        in_region = {(region, word): text for region, word, text in _aligned(self.suite, item)}
        known = self._known | {word: text for (_, word), text in in_region.items()}
        glosses: dict[tuple[str, int], Words] = {}
        for number, variant in item.numbered_variants():
            first = () if glosses else item.gloss
            texts: list[str] = []
            for region, words, own in zip_longest(self.suite.regions, variant.regions, first):
                if own is not None and len(own) == len(words):
                    texts += own
                else:
                    texts += (in_region.get((region, word), known.get(word, "")) for word in words)
            glosses[variant.condition, number] = tuple(texts)
        return glosses


def _aligned(suite: Suite, item: Item) -> Iterator[tuple[str, str, str]]:
    """Yield region, word and gloss of the first variant, where they have the same length."""
    for region, words, gloss in zip(
        suite.regions, item.variants[0].regions, item.gloss, strict=False
    ):
        if len(words) == len(gloss):
            yield from ((region, word, text) for word, text in zip(words, gloss, strict=True))


# Suites with several variants per condition as suites with one variant each. Formulas have no
# division, so means are compared as sums: with two variants of ``a`` and three of ``b``, ``a > b``
# becomes three times the sum over ``a`` against twice the sum over ``b``.


def with_single_variants(suite: Suite) -> Suite:
    """Return the suite with conditions ``a_1``, ``a_2`` instead of two variants of ``a``.

    Predictions are true in the new suite if and only if they are true in the old one; quantities
    are multiplied by the least common multiple of the numbers of variants.
    """
    counts = {condition: _count(suite, condition) for condition in suite.conditions}
    if all(count == 1 for count in counts.values()):
        return suite
    names = {
        condition: [condition if n == 1 else f"{condition}_{k}" for k in range(1, n + 1)]
        for condition, n in counts.items()
    }
    conditions = tuple(name for group in names.values() for name in group)
    if len(set(conditions)) < len(conditions):
        raise SuiteError(
            f"{suite.name}: the names of numbered variants clash with those of other conditions"
        )
    predictions = tuple(Prediction(p.name, _with_sums(p.formula, names)) for p in suite.predictions)
    items = []
    for item in suite.items:
        rest = {condition: iter(group) for condition, group in names.items()}
        variants = tuple(Variant(next(rest[v.condition]), v.regions) for v in item.variants)
        items.append(replace(item, variants=variants))
    return replace(suite, conditions=conditions, predictions=predictions, items=tuple(items))


def _count(suite: Suite, condition: str) -> int:
    counts = {len(item.of_condition(condition)) for item in suite.items} - {0}
    if len(counts) > 1:
        raise SuiteError(
            f"{suite.name}: items have {' or '.join(map(str, sorted(counts)))} variants of "
            f"{condition!r}; means can be written as sums only if all items have equally many"
        )
    return counts.pop() if counts else 1


def _with_sums(formula: Formula, names: dict[str, list[str]]) -> Formula:
    used = {term.condition for term in formula.terms if term.condition in names}
    factor = math.lcm(*(len(names[condition]) for condition in used))

    def change(leaf: Term | Number) -> Value:
        if isinstance(leaf, Number):
            return Number(leaf.value * factor)
        group = names.get(leaf.condition, [leaf.condition])
        terms = [Term(leaf.region, name) for name in group] * (factor // len(group))
        total: Value = terms[0]
        for term in terms[1:]:
            total = Arithmetic(total, "+", term)
        return total

    return formula.replace(change)
