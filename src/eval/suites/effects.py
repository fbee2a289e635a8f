"""Effect sizes: differences of surprisal in bits, in addition to true or false predictions.

A *wh-effect* is the effect of a filler in the direction of grammar (Wilcox et al. 2019). With a gap
(``+gap``), a filler should lower the surprisal of the words after the gap:
S(without filler) − S(with filler). Without a gap (``−gap``), it should raise the surprisal of the
object in the gap position: S(with filler) − S(without filler). The *licensing interaction* is the
sum of both (Wilcox et al. 2018). The *ordering effect* of centre embedding is the additional
surprisal of verbs that do not match their subjects, summed over both verb positions, in simple
sentences, in embeddings and in long embeddings. All are positive in a model of the grammar.

The *distractor effect* and the *ungrammatical effect* of reflexives (Hu et al. 2020) are the
additional surprisal of the pronoun, compared with sentences in which both nouns agree with it, if
the noun that cannot license it disagrees, or the noun that should. In a model of the grammar the
second is positive and larger than the first.

Two criteria summarise wh-effects. *Flip* (after Ozaki et al. 2022): both mean wh-effects are
reliably positive. *Island contrast*: both effects are stronger outside islands than inside islands,
where the gap is not accessible.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gardenpath.data.arrays import Floats
from gardenpath.errors import GardenpathError
from gardenpath.eval.means import BOOTSTRAP_SAMPLES, Stratum, bootstrap_interval
from gardenpath.eval.suites.formula import WHOLE_SENTENCE, Formula
from gardenpath.eval.suites.outcomes import USUAL_TIES, TieRule, quantity
from gardenpath.eval.suites.regions import (
    Deviations,
    RegionTable,
    error_of_sum,
    exact_sum,
    quantity_error,
)
from gardenpath.eval.suites.suite import Item, Suite, Variant
from gardenpath.util import NATS_PER_BIT, Words, nats

WH_GAP = "wh_effect_gap"
WH_NO_GAP = "wh_effect_nogap"
LICENSING = "licensing_interaction"
ORDERING = "ordering_effect"
DISTRACTOR = "distractor_effect"
UNGRAMMATICAL = "ungrammatical_effect"

_WH_CONDITIONS = frozenset({"what_gap", "that_gap", "what_nogap", "that_nogap"})
_WH_REGIONS = frozenset({"object", "tail"})
_WH_FORMULAS = {
    WH_GAP: "(tail;%that_gap%) - (tail;%what_gap%)",
    WH_NO_GAP: "(object;%what_nogap%) - (object;%that_nogap%)",
    LICENSING: (
        "(object;%what_nogap%) - (object;%that_nogap%) + (tail;%that_gap%) - (tail;%what_gap%)"
    ),
}
# The conditions of a design of centre embedding: mismatch and match at the first and the second
# verb position. In simple sentences each position has its own sentences.
_ORDERING_DESIGNS = {
    "sentence": (("n2_v2", "n2_v1"), ("n1_v1", "n1_v2")),
    "embedding": (("mismatch", "match"), ("mismatch", "match")),
    "long": (("mismatch_long", "match_long"), ("mismatch_long", "match_long")),
}
_VERBS = ("verb1", "verb2")
# Effects at the critical region, compared with the condition ``baseline``, and their conditions.
_BASELINE = "baseline"
_AGAINST_BASELINE = {DISTRACTOR: "distractor", UNGRAMMATICAL: "ungrammatical"}


@dataclass(frozen=True, slots=True)
class ItemEffect:
    """Size of an effect for one item, in bits, with its standard error (NaN if not known).

    ``near_tie``: it is not zero, but too small to tell from zero.
    """

    suite: str
    kind: str
    modifier: str
    item: int
    labels: Mapping[str, str]
    effect: str
    value_bits: float
    value_se: float = math.nan
    near_tie: bool = False


def has_wh_conditions(suite: Suite) -> bool:
    """Whether a suite crosses fillers and gaps, with the regions in which they are measured."""
    return set(suite.conditions) >= _WH_CONDITIONS and set(suite.regions) >= _WH_REGIONS


def suite_effects(suite: Suite) -> dict[str, Formula]:
    """Return the effects that a suite's conditions and regions support, by name, and its own."""
    found = dict(_WH_FORMULAS) if has_wh_conditions(suite) else {}
    if set(suite.regions) >= set(_VERBS):
        found.update(_ordering_formulas(suite))
    found.update(_baseline_formulas(suite))
    own = {one.name: one.formula for one in suite.effects}
    return {**{name: Formula.parse(text) for name, text in found.items()}, **own}


def _ordering_formulas(suite: Suite) -> dict[str, str]:
    """Return the ordering effects of a suite: at each verb, and summed over both."""
    found = {}
    for design, pairs in _ORDERING_DESIGNS.items():
        if not {name for pair in pairs for name in pair} <= set(suite.conditions):
            continue
        parts = [
            f"({verb};%{mismatch}%) - ({verb};%{match}%)"
            for verb, (mismatch, match) in zip(_VERBS, pairs, strict=True)
        ]
        found[f"{ORDERING}_{design}"] = " + ".join(parts)
        found.update({f"{verb}_{design}": part for verb, part in zip(_VERBS, parts, strict=True)})
    return found


def _baseline_formulas(suite: Suite) -> dict[str, str]:
    """Return the effects of a distractor and of a violation, at the suite's critical region."""
    wanted = {_BASELINE, *_AGAINST_BASELINE.values()}
    if not wanted <= set(suite.conditions) or len(suite.critical) != 1:
        return {}
    (region,) = suite.critical
    return {
        name: f"({region};%{condition}%) - ({region};%{_BASELINE}%)"
        for name, condition in _AGAINST_BASELINE.items()
    }


def item_effects(
    table: RegionTable,
    effects: Mapping[str, Formula] | None = None,
    *,
    ties: TieRule = USUAL_TIES,
    is_searched: bool = False,
) -> list[ItemEffect]:
    """Return the effects of every item; by default, all effects that the suite supports.

    Values are infinite or NaN if surprisals are. ``is_searched`` says whether the surprisals come
    from a search.
    """
    formulas = suite_effects(table.suite) if effects is None else effects
    return [
        _item_effect(table, item, name, formula, ties, is_searched)
        for item in table.suite.items
        for name, formula in formulas.items()
    ]


def _item_effect(
    table: RegionTable, item: Item, name: str, formula: Formula, ties: TieRule, is_searched: bool
) -> ItemEffect:
    suite = table.suite
    value = formula_value(formula, table, item.number)
    deviations = formula_deviations(formula, table, item.number)
    reach = None if deviations is None else deviations.reach
    threshold = ties.threshold_bits(reach, is_searched=is_searched)
    return ItemEffect(
        suite=suite.name,
        kind=suite.kind,
        modifier=suite.modifier,
        item=item.number,
        labels=item.labels,
        effect=name,
        value_bits=value,
        value_se=formula_error(formula, table, item.number),
        near_tie=0.0 < abs(value) <= threshold,
    )


def formula_value(formula: Formula, table: RegionTable, item: int) -> float:
    """Return the value of a quantity over region surprisals, in bits."""
    if formula.is_claim:
        return formula.value(table.lookup(item))  # raises FormulaError
    return quantity(formula.tree, table.lookup(item))  # type: ignore[arg-type]


def formula_error(formula: Formula, table: RegionTable, item: int) -> float:
    """Return the standard error of a quantity, in bits; NaN if its search error is not known."""
    found = formula_deviations(formula, table, item)
    return math.nan if found is None else found.standard_error


def formula_deviations(formula: Formula, table: RegionTable, item: int) -> Deviations | None:
    """Return the search error of a quantity; None if it is not known."""
    errors = table.errors(item)
    if errors is None or formula.is_claim:
        return None
    return quantity_error(formula.tree, errors)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class WhEffects:
    """The wh-effects of one item, in bits."""

    gap: float
    nogap: float

    @property
    def licensing(self) -> float:
        """The licensing interaction: positive if a filler licenses a gap."""
        return self.nogap + self.gap

    @property
    def is_flipped(self) -> bool:
        """Whether a filler lowers surprisal with a gap and raises it without one."""
        return self.gap > 0 and self.nogap > 0


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
    """Values of a criterion, which is met if ``gap`` and ``nogap`` are above 0.

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
        """Whether both intervals are above 0."""
        return self.gap_interval[0] > 0 and self.nogap_interval[0] > 0


def flip_rate(effects: Sequence[WhEffects]) -> float:
    """Return the proportion of items with positive wh-effects both with and without a gap.

    NaN without items.
    """
    known = [one for one in effects if not math.isnan(one.licensing)]
    return sum(one.is_flipped for one in known) / len(known) if known else math.nan


def flip(
    effects: Sequence[WhEffects], *, samples: int = BOOTSTRAP_SAMPLES, seed: int = 0
) -> Criterion:
    """Return the criterion *flip*: the mean wh-effects with and without a gap."""
    return _criterion(effects, (), samples, seed)


def island_contrast(
    outside: Sequence[WhEffects],
    inside: Sequence[WhEffects],
    *,
    samples: int = BOOTSTRAP_SAMPLES,
    seed: int = 0,
) -> Criterion:
    """Return the criterion *island contrast*: mean wh-effects outside minus inside islands."""
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


# ----------------------------------------------------------------------------
# Measures of whole sentences: local surprisal, global surprisal per word, and SLOR.
#
# Local surprisal is summed over the critical regions; it is NaN if the suite has none. In suites
# with fillers and gaps, it is summed over the object that fills the gap or, in sentences with a
# gap, over the words after the gap, never over both. Global surprisal is the surprisal of the
# clause that follows the filler, without the final punctuation, divided by its number of words; in
# suites without fillers, that of the sentence. SLOR (Pauls and Klein 2012, Lau et al. 2017) also
# controls for word frequency::
#
#     SLOR(s) = (log p(s) − log p_unigram(s)) / |s|
#
# in nats per word; higher values mean more acceptable sentences. The definitions are those of
# Ozaki et al. (2022).


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceMeasures:
    """Measures of one variant; ``variant`` counts the variants of a condition from 1.

    ``labels`` are those of the item. ``…_se`` are the standard errors of the measures; None if the
    search error is not known.
    """

    item: int
    labels: Mapping[str, str]
    condition: str
    variant: int
    words: int
    local_bits: float
    global_bits_per_word: float
    slor: float | None
    local_se: float | None = None
    global_se_per_word: float | None = None
    slor_se: float | None = None


def slor(
    surprisal_bits: Sequence[float], words: Words, unigram_log_prob: Callable[[str], float]
) -> float:
    """Return the syntactic log-odds ratio of a sentence, in nats per word; NaN without words."""
    if len(surprisal_bits) != len(words):
        raise GardenpathError(f"{len(surprisal_bits)} surprisals for {len(words)} words")
    if not words:
        return math.nan
    log_prob = nats(exact_sum(surprisal_bits))
    return (log_prob - exact_sum(unigram_log_prob(word) for word in words)) / len(words)


def sentence_measures(
    suite: Suite,
    surprisals: Sequence[Sequence[float]],
    *,
    unigram_log_prob: Callable[[str], float] | None = None,
    deviations: Sequence[Floats | None] = (),
) -> list[SentenceMeasures]:
    """Return the measures of every variant of a suite from the surprisals (bits) of its words.

    ``surprisals`` has a row for every variant of every item, in order. ``unigram_log_prob`` returns
    the unigram log probability (nats) of a word in the model's training corpus; without it, SLOR is
    None. ``deviations`` are those of the words, ``(words, replicates)`` for each row, or None.
    """
    given = itertools.zip_longest(surprisals, deviations)
    rows = []
    for item in suite.items:
        for number, variant in item.numbered_variants():
            words, (values, spread) = variant.words, next(given)
            clause = _values_in(values, variant, _clause_regions(suite))
            errors = {} if spread is None else _errors(suite, variant, spread)
            if unigram_log_prob is None:
                errors.pop("slor_se", None)
            rows.append(
                SentenceMeasures(
                    **errors,
                    item=item.number,
                    labels=item.labels,
                    condition=variant.condition,
                    variant=number,
                    words=len(words),
                    local_bits=_local(suite, variant, values),
                    global_bits_per_word=exact_sum(clause) / len(clause) if clause else math.nan,
                    slor=None
                    if unigram_log_prob is None
                    else slor(values, words, unigram_log_prob),
                )
            )
    return rows


def _local(suite: Suite, variant: Variant, values: Sequence[float]) -> float:
    """Return the surprisal of the regions in which a variant is measured, in bits."""
    regions = _local_regions(suite, variant)
    return exact_sum(_values_in(values, variant, regions)) if regions else math.nan


def _local_regions(suite: Suite, variant: Variant) -> set[int]:
    names = suite.critical
    if has_wh_conditions(suite):
        names = ("object",) if variant.condition.endswith("_nogap") else ("tail",)
    return {suite.region_index(name) for name in names}


def _clause_regions(suite: Suite) -> set[int]:
    """Return the regions after the filler, without final punctuation; all without a filler."""
    everything = range(len(suite.regions))
    if not has_wh_conditions(suite) or "filler" not in suite.regions:
        return set(everything)
    return {n for n in everything if n > suite.region_index("filler") and suite.regions[n] != "end"}


def _errors(suite: Suite, variant: Variant, deviations: Floats) -> dict[str, float]:
    """Return the standard errors of all measures from ``(words, replicates)`` deviations."""
    words, found = list(deviations), {}
    if regions := _local_regions(suite, variant):
        found["local_se"] = error_of_sum(_values_in(words, variant, regions))
    if clause := _values_in(words, variant, _clause_regions(suite)):
        found["global_se_per_word"] = error_of_sum(clause) / len(clause)
    if words:
        found["slor_se"] = error_of_sum(words) * NATS_PER_BIT / len(words)
    return found


def _values_in(values: Sequence[_T], variant: Variant, regions: Collection[int]) -> list[_T]:
    """Return the values of the words in some regions of a variant."""
    region_of = [n for n, region in enumerate(variant.regions) for _ in region]
    return [value for n, value in zip(region_of, values, strict=True) if n in regions]


# ----------------------------------------------------------------------------
# The words of a suite on which its results depend.


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
