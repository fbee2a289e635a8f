"""The words of a suite on which its results depend."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from gardenpath.eval.suites.design.formula import WHOLE_SENTENCE
from gardenpath.eval.suites.design.suite import Suite, Variant
from gardenpath.eval.suites.scoring.effects import suite_effects
from gardenpath.text import Words


def positions_that_matter(suites: Iterable[Suite]) -> dict[Words, frozenset[int]]:
    """Return, for each sentence, the positions (from 0) of the words on which results depend.

    These are the words of the regions in predictions and effects, in the conditions that they name,
    and of the critical regions. A sentence in several items or suites has the positions of all. The
    end of a sentence belongs to no region, and ``*`` sums over the words, so that it never matters.
    """
    found: dict[Words, frozenset[int]] = {}
    for suite in suites:
        regions = _regions_that_matter(suite)
        for item in suite.items:
            for variant in item.variants:
                here = _positions(variant, regions.get(variant.condition, frozenset()))
                found[variant.words] = found.get(variant.words, frozenset()) | here
    return found


def _regions_that_matter(suite: Suite) -> dict[str, frozenset[int]]:
    """Return the indices of the regions on which results depend, by condition."""
    critical = {suite.region_index(name) for name in suite.critical}
    found = {condition: set(critical) for condition in suite.conditions}
    formulas = [*(one.formula for one in suite.predictions), *suite_effects(suite).values()]
    for term in (term for formula in formulas for term in formula.terms):
        wanted = found.setdefault(term.condition, set(critical))
        if term.region == WHOLE_SENTENCE:
            wanted.update(range(len(suite.regions)))
        else:
            wanted.add(suite.region_index(term.region))
    return {condition: frozenset(regions) for condition, regions in found.items()}


def _positions(variant: Variant, regions: Collection[int]) -> frozenset[int]:
    region_of = [number for number, region in enumerate(variant.regions) for _ in region]
    return frozenset(place for place, number in enumerate(region_of) if number in regions)
