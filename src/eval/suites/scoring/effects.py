"""Effect sizes: differences of surprisal in bits, in addition to true or false predictions.

The *wh-effect* is the effect of a filler on surprisal, S(with filler) − S(without), in the critical
region: after a gap (``+gap``), where a filler should lower surprisal, and at an object in the gap
position (``−gap``), where a filler should raise it. The *licensing interaction* is the second minus
the first and should be positive (Wilcox et al. 2018). The *ordering effect* of centre embedding is
the additional surprisal of the wrong order of two verbs, summed over both verbs (Wilcox et al.
2019).

Two criteria test whether a model has learnt a construction (after Ozaki et al. 2022). *Flip*: the
wh-effect changes its sign with the gap, negative with a gap and positive without one. *Division*:
both effects are stronger outside islands than inside islands, where the gap is not accessible.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gardenpath.eval.suites.design.formula import Formula
from gardenpath.eval.suites.design.suite import Suite
from gardenpath.eval.suites.scoring.aggregation import (
    BOOTSTRAP_SAMPLES,
    Stratum,
    bootstrap_interval,
)
from gardenpath.eval.suites.scoring.outcome import quantity
from gardenpath.eval.suites.scoring.regions import RegionTable

WH_GAP = "wh_effect_gap"
WH_NO_GAP = "wh_effect_nogap"
LICENSING = "licensing_interaction"
ORDERING = "ordering_effect"

_WH_CONDITIONS = frozenset({"what_gap", "that_gap", "what_nogap", "that_nogap"})
_WH_REGIONS = frozenset({"object", "tail"})
_WH_FORMULAS = {
    WH_GAP: "(tail;%what_gap%) - (tail;%that_gap%)",
    WH_NO_GAP: "(object;%what_nogap%) - (object;%that_nogap%)",
    LICENSING: (
        "(object;%what_nogap%) - (object;%that_nogap%) - (tail;%what_gap%) + (tail;%that_gap%)"
    ),
}
_ORDERING_FORMULA = (
    "(verb1;%implausible{0}%) + (verb2;%implausible{0}%)"
    " - (verb1;%plausible{0}%) - (verb2;%plausible{0}%)"
)


@dataclass(frozen=True, slots=True)
class ItemEffect:
    """Size of an effect for one item, in bits."""

    suite: str
    kind: str
    modifier: str
    item: int
    labels: Mapping[str, str]
    effect: str
    value_bits: float


def suite_effects(suite: Suite) -> dict[str, Formula]:
    """Return the effects that a suite's conditions and regions support, by name."""
    found = {}
    if set(suite.conditions) >= _WH_CONDITIONS and set(suite.regions) >= _WH_REGIONS:
        found.update(_WH_FORMULAS)
    if {"verb1", "verb2"} <= set(suite.regions):
        for condition in suite.conditions:
            ending = condition.removeprefix("implausible")
            if ending != condition and f"plausible{ending}" in suite.conditions:
                found[f"{ORDERING}{ending}"] = _ORDERING_FORMULA.format(ending)
    return {name: Formula.parse(text) for name, text in found.items()}


def item_effects(
    table: RegionTable, effects: Mapping[str, Formula] | None = None
) -> list[ItemEffect]:
    """Return the effects of every item; by default, all effects that the suite supports.

    Values are infinite or NaN if surprisals are.
    """
    suite = table.suite
    formulas = suite_effects(suite) if effects is None else effects
    return [
        ItemEffect(
            suite=suite.name,
            kind=suite.kind,
            modifier=suite.modifier,
            item=item.number,
            labels=item.labels,
            effect=name,
            value_bits=formula_value(formula, table, item.number),
        )
        for item in suite.items
        for name, formula in formulas.items()
    ]


def formula_value(formula: Formula, table: RegionTable, item: int) -> float:
    """Return the value of a quantity over region surprisals, in bits."""
    if formula.is_claim:
        return formula.value(table.lookup(item))  # raises FormulaError
    return quantity(formula.tree, table.lookup(item))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class WhEffects:
    """The wh-effects of one item, in bits."""

    gap: float
    nogap: float

    @property
    def licensing(self) -> float:
        """The licensing interaction: positive if a filler licenses a gap."""
        return self.nogap - self.gap

    @property
    def is_flipped(self) -> bool:
        """Whether a filler lowers surprisal with a gap and raises it without one."""
        return self.gap < 0 < self.nogap


def wh_effects(effects: Iterable[ItemEffect]) -> list[WhEffects]:
    """Return both wh-effects of each item; items without both are skipped."""
    by_item: dict[tuple[str, int], dict[str, float]] = {}
    for one in effects:
        by_item.setdefault((one.suite, one.item), {})[one.effect] = one.value_bits
    return [
        WhEffects(found[WH_GAP], found[WH_NO_GAP])
        for found in by_item.values()
        if WH_GAP in found and WH_NO_GAP in found
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """Values of a criterion, which is met if ``gap`` is below and ``nogap`` above 0.

    Means and 95 % bootstrap intervals over items, in bits; ``left_out`` is the number of items with
    a value that is not finite.
    """

    gap: float
    gap_interval: tuple[float, float]
    nogap: float
    nogap_interval: tuple[float, float]
    left_out: int

    @property
    def is_met(self) -> bool:
        """Whether both intervals are on the predicted side of 0."""
        return self.gap_interval[1] < 0 < self.nogap_interval[0]


def flip_rate(effects: Sequence[WhEffects]) -> float:
    """Return the proportion of items whose wh-effect changes its sign with the gap.

    NaN without items.
    """
    known = [one for one in effects if not math.isnan(one.licensing)]
    return sum(one.is_flipped for one in known) / len(known) if known else math.nan


def flip(
    effects: Sequence[WhEffects], *, samples: int = BOOTSTRAP_SAMPLES, seed: int = 0
) -> Criterion:
    """Return the criterion *flip*: the mean wh-effects with and without a gap."""
    return _criterion(effects, (), samples, seed)


def division(
    outside: Sequence[WhEffects],
    inside: Sequence[WhEffects],
    *,
    samples: int = BOOTSTRAP_SAMPLES,
    seed: int = 0,
) -> Criterion:
    """Return the criterion *division*: mean wh-effects outside islands minus those inside."""
    return _criterion(outside, inside, samples, seed)


def _criterion(
    outside: Sequence[WhEffects], inside: Sequence[WhEffects], samples: int, seed: int
) -> Criterion:
    gap = _difference([one.gap for one in outside], [one.gap for one in inside], samples, seed)
    nogap = _difference(
        [one.nogap for one in outside], [one.nogap for one in inside], samples, seed
    )
    everything = [*outside, *inside]
    finite = [one for one in everything if math.isfinite(one.gap) and math.isfinite(one.nogap)]
    return Criterion(
        gap=gap[0],
        gap_interval=gap[1],
        nogap=nogap[0],
        nogap_interval=nogap[1],
        left_out=len(everything) - len(finite),
    )


def _difference(
    plus: Sequence[float], minus: Sequence[float], samples: int, seed: int
) -> tuple[float, tuple[float, float]]:
    """Return the mean of ``plus``, minus that of ``minus`` if not empty, with its interval."""
    first, second = _finite(plus), _finite(minus)
    if not len(first) or (minus and not len(second)):
        return math.nan, (math.nan, math.nan)
    if not minus:
        return float(first.mean()), bootstrap_interval([Stratum(first)], samples=samples, seed=seed)
    # The mean over two strata of x and −y is half the difference of their means.
    low, high = bootstrap_interval([Stratum(first), Stratum(-second)], samples=samples, seed=seed)
    return float(first.mean() - second.mean()), (2 * low, 2 * high)


def _finite(values: Sequence[float]) -> NDArray[np.float64]:
    listed = np.asarray(values, dtype=np.float64)
    return listed[np.isfinite(listed)]
