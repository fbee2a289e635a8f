"""The words of suites on which results depend, and how precisely a search measured them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from gardenpath.eval.suites.design.formula import WHOLE_SENTENCE
from gardenpath.eval.suites.design.suite import Suite, Variant
from gardenpath.eval.suites.scoring.effects import suite_effects
from gardenpath.eval.suites.scoring.search_error import word_errors
from gardenpath.store.tables import SURPRISAL_SE
from gardenpath.text import Words, plural

if TYPE_CHECKING:
    from gardenpath.runs.measured import Measured


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


def precision_notes(suites: Sequence[Suite], models: Iterable[Measured]) -> tuple[str, ...]:
    """Say for how many words that matter the standard error is above ``search.tolerance``."""
    found = []
    for model in models:
        if model.tolerance is None:
            continue
        fitting = [suite for suite in suites if model.fits(suite.language)]
        matters = positions_that_matter(fitting)
        above = {
            words: count
            for words, places in matters.items()
            if (count := _count_above(model, words, places, model.tolerance))
        }
        if above:
            total = sum(len(places) for places in matters.values())
            found.append(
                f"{model.name.run}: the standard error of {sum(above.values())} of {total} words "
                f"that matter, in {plural(len(above), 'sentence')}, is above "
                f"search.tolerance={model.tolerance:g} bits; give the search more work, or expect "
                "less precise differences (difference_se)"
            )
    return tuple(found)


def _count_above(model: Measured, words: Words, places: Collection[int], tolerance: float) -> int:
    """Return how many words at ``places`` have a standard error above the tolerance."""
    errors = word_errors_of(model, words)
    return sum(errors[place] > tolerance for place in places) if errors else 0


def word_errors_of(model: Measured, words: Words) -> Sequence[float]:
    """Return the standard error of the surprisal of each word; empty if it is not known."""
    columns: Mapping[str, Sequence[float]] = model.columns.get(words, {})
    if SURPRISAL_SE in columns:
        return columns[SURPRISAL_SE]
    deviations = model.deviations.get(words)
    return () if deviations is None else word_errors(deviations)
