"""Region surprisals: what the words of a region amount to, per item and condition."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from gardenpath.data.arrays import Words as Words
from gardenpath.errors import GardenpathError
from gardenpath.eval.suites.design.formula import WHOLE_SENTENCE, Lookup
from gardenpath.eval.suites.design.suite import Item, Metric, Suite, Variant
from gardenpath.eval.suites.scoring.alignment import place_of, region_tokens

ByRegion = tuple[tuple[float, ...], ...]


class MissingSurprisalError(GardenpathError):
    """Surprisals that do not fit the sentences of a suite."""


def exact_sum(values: Iterable[float]) -> float:
    """The sum, the same in whatever order the values come.

    Comparisons look for exact ties, and a sum that depended on the order of counterbalanced rows
    would hide them. Infinities of both signs have no sum.
    """
    listed = list(values)
    if math.inf in listed and -math.inf in listed:
        return math.nan
    return math.fsum(listed)


def exact_mean(values: Sequence[float]) -> float:
    """The mean by an exact sum; none of no values."""
    return exact_sum(values) / len(values) if values else math.nan


def region_value(
    surprisal_bits: Sequence[float], *, metric: Metric = "sum", normalised: bool = False, words: int
) -> float:
    """What a region amounts to, in bits.

    ``normalised`` divides by the number of ``words``, which for subword models is not the number of
    values. A region without words sums to 0 and has no mean, maximum or first word (NaN).
    """
    if metric == "sum":
        value = exact_sum(surprisal_bits)
    elif not surprisal_bits:
        return math.nan
    elif metric == "mean":
        value = exact_mean(surprisal_bits)
    elif metric == "max":
        has_gap = any(math.isnan(surprisal) for surprisal in surprisal_bits)
        value = math.nan if has_gap else max(surprisal_bits)
    else:
        value = surprisal_bits[0]
    if not normalised:
        return value
    return value / words if words else math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionTable:
    """The value of every region of every item and condition of a suite.

    ``values`` holds, by number of the item and condition, one value per region and a last one for
    the whole sentence; where a condition has several variants, these are means over them.
    """

    suite: Suite
    values: Mapping[tuple[int, str], tuple[float, ...]]

    @classmethod
    def from_words(cls, suite: Suite, surprisals: Mapping[Words, Sequence[float]]) -> RegionTable:
        """From the surprisal of every word (bits) of every sentence of the suite."""

        def by_region(item: Item, variant: Variant) -> ByRegion:
            place = place_of(suite, item, variant)
            if variant.words not in surprisals:
                raise MissingSurprisalError(f"{place}: there are no surprisals for this sentence")
            return _cut(surprisals[variant.words], variant, place)

        return cls.build(suite, by_region)

    @classmethod
    def from_rows(cls, suite: Suite, rows: Sequence[Sequence[float]]) -> RegionTable:
        """From the surprisal of every word (bits) of every variant of every item, in order."""
        variants = [variant for item in suite.items for variant in item.variants]
        if len(rows) != len(variants):
            raise MissingSurprisalError(
                f"suite {suite.name}: surprisals of {len(rows)} sentences for {len(variants)}"
            )
        remaining = iter(rows)
        return cls.build(
            suite,
            lambda item, variant: _cut(next(remaining), variant, place_of(suite, item, variant)),
        )

    @classmethod
    def from_tokens(
        cls,
        suite: Suite,
        tokens: Mapping[Words, tuple[Sequence[str], Sequence[float]]],
        *,
        end_counts: bool = False,
    ) -> RegionTable:
        """From the tokens of any model and their surprisals (bits), aligned by characters."""

        def by_region(item: Item, variant: Variant) -> ByRegion:
            if variant.words not in tokens:
                place = place_of(suite, item, variant)
                raise MissingSurprisalError(f"{place}: there are no surprisals for this sentence")
            names, surprisal_bits = tokens[variant.words]
            return region_tokens(suite, item, variant, names, surprisal_bits, end_counts=end_counts)

        return cls.build(suite, by_region)

    @classmethod
    def build(cls, suite: Suite, by_region: Callable[[Item, Variant], ByRegion]) -> RegionTable:
        """From a function that gives the surprisals of the units (words, tokens) of each region."""
        values = {}
        for item in suite.items:
            rows: dict[str, list[tuple[float, ...]]] = {}
            for variant in item.variants:
                row = _variant_values(suite, variant, by_region(item, variant))
                rows.setdefault(variant.condition, []).append(row)
            for condition, variants in rows.items():
                means = tuple(exact_mean(column) for column in zip(*variants, strict=True))
                values[item.number, condition] = means
        return cls(suite=suite, values=values)

    def value(self, item: int, region: str, condition: str) -> float:
        """The value of a region, by name or number, or of the whole sentence (``*``), in bits."""
        if (item, condition) not in self.values:
            raise MissingSurprisalError(
                f"suite {self.suite.name}, item {item}: has no condition {condition}"
            )
        index = -1 if region == WHOLE_SENTENCE else self.suite.region_index(region)
        return self.values[item, condition][index]

    def lookup(self, item: int) -> Lookup:
        """What formulas ask for the values of an item."""
        return lambda region, condition: self.value(item, region, condition)


def _cut(surprisal_bits: Sequence[float], variant: Variant, place: str) -> ByRegion:
    """The surprisals of the words, region by region."""
    if len(surprisal_bits) != len(variant.words):
        raise MissingSurprisalError(
            f"{place}: {len(surprisal_bits)} surprisals for {len(variant.words)} words"
        )
    cut, position = [], 0
    for region in variant.regions:
        cut.append(tuple(surprisal_bits[position : position + len(region)]))
        position += len(region)
    return tuple(cut)


def _variant_values(suite: Suite, variant: Variant, by_region: ByRegion) -> tuple[float, ...]:
    lengths = [len(region) for region in variant.regions]
    whole = tuple(value for region in by_region for value in region)
    return tuple(
        region_value(units, metric=suite.metric, normalised=suite.normalised, words=words)
        for units, words in zip((*by_region, whole), (*lengths, sum(lengths)), strict=True)
    )
