"""Region surprisals: the aggregated surprisal of the words of a region, per item and condition."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gardenpath.errors import GardenpathError
from gardenpath.eval.suites.design.formula import WHOLE_SENTENCE, Lookup
from gardenpath.eval.suites.design.suite import Item, Metric, Suite, Variant
from gardenpath.eval.suites.scoring.alignment import place_of, region_tokens
from gardenpath.eval.suites.scoring.search_error import (
    Deviations,
    ErrorLookup,
    region_deviations,
    weighted_sum,
)
from gardenpath.text import Words

if TYPE_CHECKING:
    from gardenpath.data.arrays import Floats

ByRegion = tuple[tuple[float, ...], ...]


class MissingSurprisalError(GardenpathError):
    """Surprisals are missing or do not match the sentences of a suite."""


def exact_sum(values: Iterable[float]) -> float:
    """Return the sum, which does not depend on the order of the values.

    Exact ties must be detected, and a sum that depended on the order of counterbalanced rows would
    hide them. The sum of infinities of both signs is NaN.
    """
    listed = list(values)
    if math.inf in listed and -math.inf in listed:
        return math.nan
    return math.fsum(listed)


def exact_mean(values: Sequence[float]) -> float:
    """Return the mean, computed from an exact sum; NaN without values."""
    return exact_sum(values) / len(values) if values else math.nan


def region_value(
    surprisal_bits: Sequence[float], *, metric: Metric = "sum", normalised: bool = False, words: int
) -> float:
    """Return the surprisal of a region under a metric, in bits.

    ``normalised`` divides by the number of ``words``, which for subword models differs from the
    number of values. The sum over a region without words is 0; its mean, maximum and first value
    are NaN.
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


def variant_rows(
    suite: Suite, surprisals: Mapping[Words, Sequence[float]]
) -> list[Sequence[float]]:
    """Return the surprisals (bits) of the words of every variant of every item, in order."""
    rows = []
    for item in suite.items:
        for variant in item.variants:
            if variant.words not in surprisals:
                place = place_of(suite, item, variant)
                raise MissingSurprisalError(f"{place}: no surprisals for this sentence")
            rows.append(surprisals[variant.words])
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionTable:
    """The value of every region for every item and condition of a suite.

    ``values`` maps item number and condition to one value per region, followed by the value of the
    whole sentence; values are means over variants if a condition has several. ``deviations`` has
    the search errors of the same values, as far as they are known.
    """

    suite: Suite
    values: Mapping[tuple[int, str], tuple[float, ...]]
    deviations: Mapping[tuple[int, str], tuple[Deviations | None, ...]] = field(
        default_factory=dict
    )

    @classmethod
    def from_words(cls, suite: Suite, surprisals: Mapping[Words, Sequence[float]]) -> RegionTable:
        """Build the table from the surprisals (bits) of the words of every sentence."""
        return cls.from_rows(suite, variant_rows(suite, surprisals))

    @classmethod
    def from_rows(
        cls,
        suite: Suite,
        rows: Sequence[Sequence[float]],
        deviations: Sequence[Floats | None] = (),
    ) -> RegionTable:
        """Build the table from the surprisals (bits) of the words of every variant, in order.

        ``deviations`` are those of the words, ``(words, replicates)`` for each variant; None for a
        variant whose search error is not known, and empty if none is.
        """
        variants = [variant for item in suite.items for variant in item.variants]
        if len(rows) != len(variants):
            raise MissingSurprisalError(
                f"suite {suite.name}: surprisals for {len(rows)} sentences, but the suite has "
                f"{len(variants)}"
            )
        remaining = iter(rows)
        table = cls.build(
            suite,
            lambda item, variant: _cut(next(remaining), variant, place_of(suite, item, variant)),
        )
        if all(one is None for one in deviations):
            return table
        return replace(table, deviations=_region_errors(suite, rows, deviations))

    @classmethod
    def from_tokens(
        cls,
        suite: Suite,
        tokens: Mapping[Words, tuple[Sequence[str], Sequence[float]]],
        *,
        end_counts: bool = False,
    ) -> RegionTable:
        """Build the table from the tokens of any model and their surprisals (bits).

        Tokens are aligned with words by characters.
        """

        def by_region(item: Item, variant: Variant) -> ByRegion:
            if variant.words not in tokens:
                place = place_of(suite, item, variant)
                raise MissingSurprisalError(f"{place}: no surprisals for this sentence")
            names, surprisal_bits = tokens[variant.words]
            return region_tokens(suite, item, variant, names, surprisal_bits, end_counts=end_counts)

        return cls.build(suite, by_region)

    @classmethod
    def build(cls, suite: Suite, by_region: Callable[[Item, Variant], ByRegion]) -> RegionTable:
        """Build the table from a function that returns the surprisals of each region's units."""
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
        """Return the value of a region (name or number) or of the sentence (``*``), in bits."""
        if (item, condition) not in self.values:
            raise MissingSurprisalError(
                f"suite {self.suite.name}, item {item}: no condition {condition}"
            )
        return self.values[item, condition][self._index(region)]

    def error(self, item: int, region: str, condition: str) -> Deviations | None:
        """Return the search error of a value; None if it is not known."""
        found = self.deviations.get((item, condition))
        return None if found is None else found[self._index(region)]

    def _index(self, region: str) -> int:
        return -1 if region == WHOLE_SENTENCE else self.suite.region_index(region)

    def lookup(self, item: int) -> Lookup:
        """Return the lookup function that formulas use for an item."""
        return lambda region, condition: self.value(item, region, condition)

    def errors(self, item: int) -> ErrorLookup | None:
        """Return the lookup of the search errors of an item; None if the table has none."""
        if not self.deviations:
            return None
        return lambda region, condition: self.error(item, region, condition)


def _cut(surprisal_bits: Sequence[float], variant: Variant, place: str) -> ByRegion:
    """Return the surprisals of the words, grouped by region."""
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


def _region_errors(
    suite: Suite, rows: Sequence[Sequence[float]], deviations: Sequence[Floats | None]
) -> dict[tuple[int, str], tuple[Deviations | None, ...]]:
    """Return the search errors of the values of a table: means over variants, like the values."""
    given = iter(zip(rows, deviations, strict=True))
    found = {}
    for item in suite.items:
        by_condition: dict[str, list[tuple[Deviations | None, ...]]] = {}
        for variant in item.variants:
            row = _variant_errors(suite, variant, *next(given))
            by_condition.setdefault(variant.condition, []).append(row)
        for condition, variants in by_condition.items():
            share = 1.0 / len(variants)
            columns = zip(*variants, strict=True)
            found[item.number, condition] = tuple(
                weighted_sum((share, one) for one in column) for column in columns
            )
    return found


def _variant_errors(
    suite: Suite, variant: Variant, surprisal_bits: Sequence[float], deviations: Floats | None
) -> tuple[Deviations | None, ...]:
    """Return the search error of each region of a variant and, last, of the whole sentence."""
    if deviations is None:
        return (None,) * (len(variant.regions) + 1)
    ends = list(itertools.accumulate(len(region) for region in variant.regions))
    parts = [slice(begin, end) for begin, end in zip([0, *ends], ends, strict=False)]
    return tuple(
        region_deviations(
            deviations[part],
            surprisal_bits[part],
            metric=suite.metric,
            normalised=suite.normalised,
        )
        for part in (*parts, slice(None))
    )
