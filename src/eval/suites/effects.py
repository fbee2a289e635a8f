"""Effect sizes in bits, measures of whole sentences, and the words on which results depend.

``runs`` computes effects and measures for every run and suite, and ``summary`` their criteria.
Nothing is read, written or printed here.

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
from gardenpath.eval.means import Stratum, bootstrap_interval
from gardenpath.eval.suites.formula import Formula
from gardenpath.eval.suites.outcomes import USUAL_TIES, TieRule
from gardenpath.eval.suites.regions import (
    RegionTable,
    error_of_sum,
    exact_sum,
    quantity,
    quantity_error,
)
from gardenpath.eval.suites.suite import Suite, Variant
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
    conditions = set(suite.conditions)
    texts = dict(_WH_FORMULAS) if has_wh_conditions(suite) else {}
    if set(suite.regions) >= set(_VERBS):
        for design, pairs in _ORDERING_DESIGNS.items():
            if {name for pair in pairs for name in pair} <= conditions:
                parts = {
                    f"{verb}_{design}": f"({verb};%{mismatch}%) - ({verb};%{match}%)"
                    for verb, (mismatch, match) in zip(_VERBS, pairs, strict=True)
                }
                texts |= {f"{ORDERING}_{design}": " + ".join(parts.values()), **parts}
    if conditions >= {_BASELINE, *_AGAINST_BASELINE.values()} and len(suite.critical) == 1:
        (region,) = suite.critical
        for name, condition in _AGAINST_BASELINE.items():
            texts[name] = f"({region};%{condition}%) - ({region};%{_BASELINE}%)"
    own = {effect.name: effect.formula for effect in suite.effects}
    return {**{name: Formula.parse(text) for name, text in texts.items()}, **own}


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
    suite = table.suite
    formulas = suite_effects(suite) if effects is None else effects
    rows = []
    for item, (name, formula) in itertools.product(suite.items, formulas.items()):
        value = quantity(formula.quantity, table.lookup(item.number))
        errors = table.errors(item.number)
        deviations = None if errors is None else quantity_error(formula.quantity, errors)
        reach = None if deviations is None else deviations.reach
        threshold = ties.threshold_bits(reach, is_searched=is_searched)
        rows.append(
            ItemEffect(
                suite=suite.name,
                kind=suite.kind,
                modifier=suite.modifier,
                item=item.number,
                labels=item.labels,
                effect=name,
                value_bits=value,
                value_se=math.nan if deviations is None else deviations.standard_error,
                near_tie=0.0 < abs(value) <= threshold,
            )
        )
    return rows


@dataclass(frozen=True, slots=True)
class WhEffects:
    """The wh-effects of one item, in bits."""

    gap: float
    nogap: float

    @property
    def licensing(self) -> float:
        """The licensing interaction: positive if a filler licenses a gap."""
        return self.nogap + self.gap


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
    known = [item for item in effects if not math.isnan(item.licensing)]
    flipped = sum(item.gap > 0 and item.nogap > 0 for item in known)
    return flipped / len(known) if known else math.nan


def criterion(outside: Sequence[WhEffects], inside: Sequence[WhEffects] = ()) -> Criterion:
    """Return the criterion *flip*, of mean wh-effects; with ``inside``, *island contrast*.

    The contrast is the difference of mean wh-effects outside and inside islands.
    """
    gap, gap_interval = _difference([item.gap for item in outside], [item.gap for item in inside])
    nogap, nogap_interval = _difference(
        [item.nogap for item in outside], [item.nogap for item in inside]
    )
    return Criterion(
        gap=gap,
        gap_interval=gap_interval,
        nogap=nogap,
        nogap_interval=nogap_interval,
        left_out=sum(
            not (math.isfinite(item.gap) and math.isfinite(item.nogap))
            for item in (*outside, *inside)
        ),
    )


def _difference(plus: Sequence[float], minus: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """Return the mean of ``plus``, minus that of ``minus`` if not empty, with its interval."""
    first, second = _finite(plus), _finite(minus)
    if not len(first) or (minus and not len(second)):
        return math.nan, (math.nan, math.nan)
    if not minus:
        return float(first.mean()), bootstrap_interval([Stratum(first)])
    # The mean over two strata of x and −y is half the difference of their means.
    low, high = bootstrap_interval([Stratum(first), Stratum(-second)])
    return float(first.mean() - second.mean()), (2 * low, 2 * high)


def _finite(values: Sequence[float]) -> NDArray[np.float64]:
    listed = np.asarray(values, dtype=np.float64)
    return listed[np.isfinite(listed)]


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
    remaining = itertools.zip_longest(surprisals, deviations)
    rows = []
    for item in suite.items:
        for number, variant in item.numbered_variants():
            words, (values, spread) = variant.words, next(remaining)
            clause = _values_in(values, variant, _clause_regions(suite))
            local = _local_regions(suite, variant)
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
                    local_bits=exact_sum(_values_in(values, variant, local)) if local else math.nan,
                    global_bits_per_word=exact_sum(clause) / len(clause) if clause else math.nan,
                    slor=None
                    if unigram_log_prob is None
                    else slor(values, words, unigram_log_prob),
                )
            )
    return rows


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
    words, errors = list(deviations), {}
    if regions := _local_regions(suite, variant):
        errors["local_se"] = error_of_sum(_values_in(words, variant, regions))
    if clause := _values_in(words, variant, _clause_regions(suite)):
        errors["global_se_per_word"] = error_of_sum(clause) / len(clause)
    if words:
        errors["slor_se"] = error_of_sum(words) * NATS_PER_BIT / len(words)
    return errors


def _values_in(values: Sequence[_T], variant: Variant, regions: Collection[int]) -> list[_T]:
    region_of = [n for n, region in enumerate(variant.regions) for _ in region]
    return [value for n, value in zip(region_of, values, strict=True) if n in regions]


# The words of a suite on which its results depend.


def critical_positions(suites: Iterable[Suite]) -> dict[Words, frozenset[int]]:
    """Return, for each sentence, the positions (from 0) of the words on which results depend.

    These are the words of the regions in predictions and effects, in the conditions that they name,
    and of the critical regions. A sentence in several items or suites has the positions of all. The
    end of a sentence belongs to no region, and ``*`` sums over the words, so that it never matters.
    """
    positions: dict[Words, frozenset[int]] = {}
    for suite in suites:
        formulas = [*(each.formula for each in suite.predictions), *suite_effects(suite).values()]
        regions = suite.regions_of(
            suite.conditions, [term for formula in formulas for term in formula.terms]
        )
        for item in suite.items:
            for variant in item.variants:
                own = regions.get(variant.condition, set())
                here = _values_in(range(len(variant.words)), variant, own)
                positions[variant.words] = positions.get(variant.words, frozenset()) | {*here}
    return positions
