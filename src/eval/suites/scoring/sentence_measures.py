"""Measures of whole sentences: local surprisal, global surprisal per word, and SLOR.

Local surprisal is summed over the critical regions; it is NaN if the suite has none. In suites with
fillers and gaps, it is summed over the object that fills the gap or, in sentences with a gap, over
the words after the gap, never over both. Global surprisal is the surprisal of the clause that
follows the filler, without the final punctuation, divided by its number of words; in suites without
fillers, that of the sentence. SLOR (Pauls and Klein 2012, Lau et al. 2017) also controls for word
frequency::

    SLOR(s) = (log p(s) − log p_unigram(s)) / |s|

in nats per word; higher values mean more acceptable sentences. The definitions are those of Ozaki
et al. (2022).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from gardenpath.data.arrays import Floats
from gardenpath.errors import GardenpathError
from gardenpath.eval.suites.design.suite import Suite, Variant
from gardenpath.eval.suites.scoring.effects import has_wh_conditions
from gardenpath.eval.suites.scoring.regions import exact_sum
from gardenpath.eval.suites.scoring.search_error import error_of_sum
from gardenpath.text import Words
from gardenpath.units import NATS_PER_BIT, nats

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
