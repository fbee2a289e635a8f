"""Surprisals of one model on the sentences of test suites.

The model may be a run, any other model that implements the protocol :class:`Scorer`, or the exact
grammar of a toy corpus. :mod:`given_surprisals` reads tables of surprisals.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from gardenpath.data.arrays import Floats
from gardenpath.data.pcfg.prefix import ExactModel
from gardenpath.data.readers.toy import ToyTreebank
from gardenpath.errors import GardenpathError
from gardenpath.eval.display import EXACT
from gardenpath.eval.search.sampling.above_tolerance import not_converged, tolerance_note
from gardenpath.eval.suites.design.suite import Suite
from gardenpath.eval.suites.scoring.positions import positions_that_matter
from gardenpath.eval.suites.scoring.scored_items import RunName
from gardenpath.eval.suites.scoring.search_error import word_errors
from gardenpath.eval.word_scorer import OnWords, Scorer
from gardenpath.runs.run import Run
from gardenpath.store.surprisal_store import Parses, Stored
from gardenpath.store.tables import SURPRISAL_SE
from gardenpath.text import Words
from gardenpath.units import bits

# By how many bits a surprisal may lie below zero: models in half precision are as inexact.
_ROUNDING = 0.01


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Surprisal in bits of each word of sentences; NaN if undefined.

    ``language`` is None for a model that may be tested in any language. ``remedies`` maps each
    sentence without a surviving hypothesis to the setting to change. ``tokens`` returns the number
    of units that the model sees for a sentence. A search adds ``columns``: further numbers of the
    words, by name (``SEARCH_COLUMNS``), and ``deviations``: those of its replicates, in bits,
    ``(words, replicates)``. ``tolerance`` is the standard error (bits) that it should reach.
    ``is_searched``: the surprisals come from a search, whose error may not be known.
    """

    name: RunName
    language: str | None
    surprisal_bits: Mapping[Words, Sequence[float]]
    knows: Callable[[str], bool] = lambda _: True
    unigram_log_prob: Callable[[str], float] | None = None
    parses: Mapping[Words, Parses] = field(default_factory=dict)
    remedies: Mapping[Words, str] = field(default_factory=dict)
    tokens: Callable[[Words], int] = len
    columns: Mapping[Words, Mapping[str, Sequence[float]]] = field(default_factory=dict)
    deviations: Mapping[Words, Floats] = field(default_factory=dict)
    tolerance: float | None = None
    is_searched: bool = False

    def fits(self, language: str) -> bool:
        """Whether the model can be tested on suites in a language."""
        return self.language in (None, language)

    def word_errors(self, words: Words) -> Sequence[float]:
        """Return the standard error of the surprisal of each word; empty if it is not known."""
        columns = self.columns.get(words, {})
        if SURPRISAL_SE in columns:
            return columns[SURPRISAL_SE]
        deviations = self.deviations.get(words)
        return () if deviations is None else word_errors(deviations)

    def precision_notes(self, suites: Iterable[Suite]) -> list[str]:
        """Say for how many words that matter the standard error is above the tolerance."""
        if self.tolerance is None:
            return []
        matters = positions_that_matter(suite for suite in suites if self.fits(suite.language))
        above = [self._count_above(words, places) for words, places in matters.items()]
        of = f"{sum(map(len, matters.values()))} words that matter"
        note = tolerance_note(self.name.run, above, of, self.tolerance)
        return [] if note is None else [note]

    def _count_above(self, words: Words, places: Collection[int]) -> int:
        """Return how many words at ``places`` have a standard error above the tolerance."""
        errors = self.word_errors(words)
        return not_converged(errors, places, self.tolerance or 0.0) if len(errors) else 0


def measured_run(
    run: Run,
    sentences: Sequence[Words],
    *,
    parsed: Iterable[Words] = (),
    on_words: OnWords = lambda _: None,
    matters: Mapping[Words, Collection[int]] | None = None,
) -> Measured:
    """Return the surprisals of a run, with partial parses of ``parsed`` sentences.

    ``matters`` are the positions of the words on which results depend, from 0; a search with
    replicates measures these precisely (None: all words).
    """
    scored = run.scored(sentences, parsed=parsed, on_words=on_words, matters=matters)
    return Measured(
        name=run.name,
        language=run.language,
        surprisal_bits={w: one.surprisal_bits[: len(w)] for w, one in scored.items()},
        knows=run.knows,
        unigram_log_prob=run.unigram_log_prob,
        parses={w: one.parses for w, one in scored.items() if one.parses is not None},
        remedies={w: one.remedy for w, one in scored.items() if one.remedy is not None},
        tokens=_token_count(run),
        columns={w: _of_words(w, one) for w, one in scored.items() if one.columns},
        deviations={
            w: np.array(one.deviations, dtype=np.float64)[: len(w)]
            for w, one in scored.items()
            if one.deviations is not None
        },
        tolerance=getattr(run.search, "tolerance", None) if run.is_syntactic else None,
        is_searched=run.is_syntactic,
    )


def _of_words(words: Words, scores: Stored) -> dict[str, Sequence[float]]:
    """Return the further numbers of the words, without those of the end."""
    return {name: values[: len(words)] for name, values in scores.columns.items()}


def _token_count(run: Run) -> Callable[[Words], int]:
    """Return a function that counts the units that a run sees for a sentence."""
    if (count := getattr(run, "token_count", None)) is not None:
        return cast(Callable[[Words], int], count)
    if (subwords := run.subwords) is None:
        return len
    pieces = functools.cache(lambda word: len(subwords.split(word)))
    return lambda words: sum(map(pieces, words))


def measured_scorer(scorer: Scorer, sentences: Sequence[Words]) -> Measured:
    """Return the surprisals of any other model.

    Its attributes ``name``, ``language``, ``knows`` and ``token_count`` are used if present.
    """
    name = scorer_name(scorer)
    log_probs = scorer.word_log_probs(sentences)
    if len(log_probs) != len(sentences):
        raise GardenpathError(
            f"{name}: word_log_probs returned scores of {len(log_probs)} sentences for "
            f"{len(sentences)}; it must return one array for each"
        )
    values = {
        words: _surprisals(name, words, np.asarray(scores, dtype=np.float64))
        for words, scores in zip(sentences, log_probs, strict=True)
    }
    return Measured(
        name=RunName(run=name, model=name),
        language=getattr(scorer, "language", None),
        surprisal_bits=values,
        knows=getattr(scorer, "knows", lambda _: True),
        tokens=getattr(scorer, "token_count", len),
    )


def scorer_name(scorer: Scorer) -> str:
    """Return the name of a model: its attribute ``name``, or the name of its class."""
    return str(getattr(scorer, "name", type(scorer).__name__))


def _surprisals(name: str, words: Words, log_probs: Floats) -> list[float]:
    if log_probs.shape not in ((len(words),), (len(words) + 1,)):
        raise GardenpathError(
            f"{name}: {log_probs.size} log probabilities for the {len(words)} words of "
            f"{' '.join(words)!r}; word_log_probs must return one per word and, last, one for "
            "the end"
        )
    found: list[float] = bits(log_probs[: len(words)]).tolist()
    require_possible(name, words, found)
    return found


def require_possible(name: str, words: Words, surprisal_bits: Sequence[float]) -> None:
    """Refuse surprisals that are log probabilities with the wrong sign.

    A single word may have a negative surprisal if a beam search found more of the probability of
    the longer prefix. Their sum, the negative log probability of a prefix, is never negative.
    """
    sums = itertools.accumulate(value for value in surprisal_bits if not math.isnan(value))
    if any(total < -_ROUNDING * number for number, total in enumerate(sums, start=1)):
        raise GardenpathError(
            f"{name}: negative surprisals for {' '.join(words)!r}; surprisal is -log2 p, and a log "
            "probability is at most zero"
        )


def exact_grammars(runs: Iterable[Run], sentences: Callable[[str], list[Words]]) -> list[Measured]:
    """Return the surprisals of the grammars of toy corpora, each once, as if they were models.

    ``sentences`` returns the sentences in a language.
    """
    found: dict[str, Measured] = {}
    for run in runs:
        data = run.settings.data
        if data.name in found or not isinstance(data.reader, ToyTreebank):
            continue
        asked = sentences(data.language)
        log_probs = ExactModel(data.reader.rules).word_log_probs(asked)
        found[data.name] = Measured(
            name=RunName(run=f"exact/{data.name}", model=EXACT, corpus=data.name),
            language=data.language,
            # After an impossible word, all following words are impossible.
            surprisal_bits={
                words: np.nan_to_num(bits(scores[:-1]), nan=np.inf, posinf=np.inf).tolist()
                for words, scores in zip(asked, log_probs, strict=True)
            },
            knows=run.knows,
            unigram_log_prob=run.unigram_log_prob,
        )
    return list(found.values())
