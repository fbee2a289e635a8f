"""Surprisals of one model on the sentences of test suites.

The model may be a run, any other model that implements the protocol :class:`Scorer`, or the exact
grammar of a toy corpus.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from gardenpath.data.arrays import Floats
from gardenpath.data.pcfg.exact import ExactModel
from gardenpath.data.readers.files import ToyTreebank
from gardenpath.data.sentence import OnWords, Scorer
from gardenpath.data.words.pieces import Boundary
from gardenpath.data.words.vocabulary import END
from gardenpath.errors import GardenpathError
from gardenpath.eval.display import EXACT
from gardenpath.eval.search.replicates import not_converged, tolerance_note
from gardenpath.eval.suites.effects import critical_positions
from gardenpath.eval.suites.regions import word_errors
from gardenpath.eval.suites.suite import Suite
from gardenpath.eval.suites.summary import RunName
from gardenpath.models.family import Measure
from gardenpath.runs.run import Run
from gardenpath.store.surprisals import Parses, Stored
from gardenpath.store.tables import (
    BOUNDARY_COLUMN,
    PLL_BITS,
    SEARCH_COLUMN_NAMES,
    SURPRISAL_BITS,
    SURPRISAL_SE,
)
from gardenpath.util import Words, bits

if TYPE_CHECKING:
    from gardenpath.runs.suite_tables import SuiteTables

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
        matters = critical_positions(suite for suite in suites if self.fits(suite.language))
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
        surprisal_bits={w: stored.surprisal_bits[: len(w)] for w, stored in scored.items()},
        knows=run.knows,
        unigram_log_prob=run.model.unigram_log_prob,
        parses={w: stored.parses for w, stored in scored.items() if stored.parses is not None},
        remedies={w: stored.remedy for w, stored in scored.items() if stored.remedy is not None},
        tokens=run.model.units.count,
        columns={w: _of_words(w, stored) for w, stored in scored.items() if stored.columns},
        deviations={
            w: np.array(stored.deviations, dtype=np.float64)[: len(w)]
            for w, stored in scored.items()
            if stored.deviations is not None
        },
        tolerance=getattr(run.search, "tolerance", None) if run.is_syntactic else None,
        is_searched=run.is_syntactic,
    )


def _of_words(words: Words, scores: Stored) -> dict[str, Sequence[float]]:
    """Return the further numbers of the words, without those of the end."""
    return {name: values[: len(words)] for name, values in scores.columns.items()}


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
    surprisal_bits: list[float] = bits(log_probs[: len(words)]).tolist()
    require_possible(name, words, surprisal_bits)
    return surprisal_bits


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
    grammars: dict[str, Measured] = {}
    for run in runs:
        if run.is_adopted:
            continue
        data = run.data
        if data.name in grammars or not isinstance(data.reader, ToyTreebank):
            continue
        wanted = sentences(data.language)
        log_probs = ExactModel(data.reader.rules).word_log_probs(wanted)
        grammars[data.name] = Measured(
            name=RunName(run=f"exact/{data.name}", model=EXACT, corpus=data.name),
            language=data.language,
            # After an impossible word, all following words are impossible.
            surprisal_bits={
                words: np.nan_to_num(bits(scores[:-1]), nan=np.inf, posinf=np.inf).tolist()
                for words, scores in zip(wanted, log_probs, strict=True)
            },
            knows=run.knows,
            unigram_log_prob=run.model.unigram_log_prob,
        )
    return list(grammars.values())


# ----------------------------------------------------------------------------
# Surprisals that a user gives: a table of words, or a mapping from sentences.


_COLUMNS = ("sentence_id", "word", "surprisal_bits")

# Surprisals (bits) of one sentence that differ by less came from the same computation.
_SAME = 1e-5


def measured_table(surprisals: Any, sentences: Sequence[Words]) -> list[Measured]:
    """Surprisals from a table, one model for each value of its columns ``model`` and ``run``.

    The table has the columns ``sentence_id``, ``word`` and ``surprisal_bits``, words in their
    order, as :meth:`Run.surprisal` gives them; rows ``</s>`` are left out. Or it is a mapping from
    models to mappings from sentences, as strings or tuples of words, to surprisals in bits. Every
    sentence of the suites must be there; what is not complete, or says two things of one sentence,
    is an error.
    """
    models = _from_mapping(surprisals) if isinstance(surprisals, Mapping) else _from(surprisals)
    for model in models:
        lacking = [words for words in sentences if words not in model.values]
        if lacking:
            raise GardenpathError(
                f"{model.name.run}: no surprisals for {len(lacking)} of {len(sentences)} "
                f"sentences, such as {' '.join(lacking[0])!r}; score the sentences of the suites "
                "word by word"
            )
    return [
        Measured(
            name=given_model.name,
            language=None,
            surprisal_bits={words: given_model.values[words] for words in sentences},
            is_searched=given_model.is_searched,
        )
        for given_model in models
    ]


@dataclass(frozen=True)
class _Given:
    """The surprisals of one model; ``is_searched``: they come from a search."""

    name: RunName
    values: dict[Words, list[float]] = field(default_factory=dict)
    is_searched: bool = False

    def add(self, words: Words, surprisals: Iterable[Any]) -> None:
        """Add a sentence; one that is there already must have the same surprisals."""
        values = [float(value) for value in surprisals]
        require_possible(self.name.run, words, values)
        if values and not any(values):
            raise GardenpathError(
                f"{self.name.run}: all surprisals of {' '.join(words)!r} are 0; give each word the "
                "surprisal that a model computed"
            )
        before = self.values.setdefault(words, values)
        if not all(map(_is_same, before, values)):
            raise GardenpathError(
                f"{self.name.run}: two different surprisals for {' '.join(words)!r}; give each "
                "sentence once, and tell models apart by the columns model, run or seed"
            )


def _is_same(one: float, other: float) -> bool:
    both_undefined = math.isnan(one) and math.isnan(other)
    return both_undefined or math.isclose(one, other, rel_tol=_SAME, abs_tol=_SAME)


def _from_mapping(surprisals: Mapping[Any, Any]) -> list[_Given]:
    models = []
    for model, scored in surprisals.items():
        if not isinstance(scored, Mapping):
            raise GardenpathError(
                f"{model}: not a mapping from sentences to surprisals; give "
                "{model: {sentence: [bits, …]}}"
            )
        of_model = _Given(RunName(run=str(model), model=str(model)))
        for sentence, values in scored.items():
            words = tuple(sentence.split()) if isinstance(sentence, str) else tuple(sentence)
            if len(values) not in (len(words), len(words) + 1):
                raise GardenpathError(
                    f"{model}: {len(values)} surprisals for the {len(words)} words of "
                    f"{' '.join(words)!r}; give one for each word"
                )
            of_model.add(words, list(values)[: len(words)])
        models.append(of_model)
    return models


def _from(table: pd.DataFrame) -> list[_Given]:
    if not hasattr(table, "columns"):
        raise TypeError("surprisals are a DataFrame, or a mapping {model: {sentence: [bits, …]}}")
    if missing := [column for column in _COLUMNS if column not in table.columns]:
        raise GardenpathError(
            f"the table of surprisals has no column {', '.join(missing)}; it needs "
            f"{', '.join(_COLUMNS)}, and model or run for several models"
        )
    who = [column for column in ("run", "model", "seed") if column in table.columns]
    models: dict[str, _Given] = {}
    groups = table.groupby(who, sort=False, dropna=False) if who else [((), table)]
    for key, rows in groups:
        name = _name_from(dict(zip(who, key, strict=True)))
        if name.run in models:
            raise GardenpathError(
                f"{name.run}: the rows of this run are of several models or seeds "
                f"({models[name.run].name.model} and {name.model}); give each a run of its own"
            )
        of_model = _Given(name, is_searched=_is_searched(rows))
        models[name.run] = _sentences_from(rows, of_model)
    return list(models.values())


def _is_searched(rows: pd.DataFrame) -> bool:
    """Whether a table has numbers that only a search knows."""
    return any(rows[name].notna().any() for name in SEARCH_COLUMN_NAMES if name in rows.columns)


def _name_from(named: Mapping[str, Any]) -> RunName:
    model = str(named.get("model", named.get("run", "model")))
    seed = _seed_from(named.get("seed"))
    run = str(named.get("run", model if seed is None else f"{model}/seed{seed}"))
    return RunName(run=run, model=model, seed=seed)


def _seed_from(value: Any) -> int | None:
    if value is None or value != value:  # a missing seed may be NaN
        return None
    try:
        return int(value)
    except ValueError as error:
        raise GardenpathError(f"column seed: {value!r} is not a whole number") from error


def _sentences_from(rows: pd.DataFrame, of_model: _Given) -> _Given:
    rows = rows[rows["word"] != END]
    is_numbered = "word_id" in rows.columns
    if is_numbered:
        rows = rows.sort_values(["sentence_id", "word_id"], kind="stable")
    for _, group in rows.groupby("sentence_id", sort=False):
        words = tuple(map(str, group["word"]))
        if is_numbered:
            _require_numbered(of_model.name.run, words, group["word_id"].tolist())
        of_model.add(words, group["surprisal_bits"])
    return of_model


def _require_numbered(run: str, words: Words, numbers: Sequence[Any]) -> None:
    """Refuse sentences of which words are missing or given twice."""
    if any(after != before + 1 for before, after in itertools.pairwise(numbers)):
        raise GardenpathError(
            f"{run}: the words of {' '.join(words)!r} are numbered "
            f"{', '.join(map(str, numbers))}; give each word of a sentence once"
        )


# ----------------------------------------------------------------------------
# How words were scored, in the tables of suites: boundaries of pieces, pseudo-log-likelihoods.
#
# Numbers of different choices of ``boundary`` are not comparable and are never mixed. Pseudo-log-
# likelihoods of masked models are no surprisals, and no column with that name contains them.


@dataclass(frozen=True, slots=True)
class HowScored:
    """How the words of a run were scored; ``boundary`` is None if its units are words."""

    boundary: Boundary | None = None
    measure: Measure = "surprisal"


def how_scored(runs: Iterable[Run]) -> dict[str, HowScored]:
    """Return, by the names of runs, how they score words; different boundaries are refused."""
    how = {run.name.run: HowScored(run.boundary, run.measure) for run in runs}
    by_choice = {
        scoring.boundary: name for name, scoring in how.items() if scoring.boundary is not None
    }
    if len(by_choice) > 1:
        listed = ", ".join(f"{name} has boundary={choice}" for choice, name in by_choice.items())
        raise GardenpathError(
            f"words of several pieces were scored in different ways, which cannot be compared: "
            f"{listed}; set boundary= for all, or evaluate these runs apart"
        )
    return how


def require_one_measure(runs: Sequence[Run]) -> None:
    """Refuse runs whose numbers cannot stand in one column, or in one table."""
    how_scored(runs)
    by_measure = {run.measure: run.name.run for run in runs}
    if len(by_measure) > 1:
        raise GardenpathError(
            f"{by_measure['pll']} gives pseudo-log-likelihoods and {by_measure['surprisal']} "
            "surprisals, which cannot stand in one table; name them in different commands (run=)"
        )


def marked(tables: SuiteTables, how: Mapping[str, HowScored]) -> SuiteTables:
    """Add a column ``boundary`` to all tables, if a run has pieces of words."""
    choices = {name: scoring.boundary or "" for name, scoring in how.items()}
    if not any(choices.values()):
        return tables
    names = ("items", "effects", "surprisals", "sentences")
    return replace(tables, **{name: _with(getattr(tables, name), choices) for name in names})


def _with(table: pd.DataFrame, choices: Mapping[str, str]) -> pd.DataFrame:
    return table.assign(**{BOUNDARY_COLUMN: table["run"].map(choices).fillna("")})


def with_own_columns(table: pd.DataFrame, how: Mapping[str, HowScored]) -> pd.DataFrame:
    """Move the values of masked models from ``surprisal_bits`` to a column ``pll_bits``."""
    masked = [name for name, scoring in how.items() if scoring.measure == "pll"]
    if not masked:
        return table
    is_pll = table["run"].isin(masked)
    values = table[SURPRISAL_BITS]
    return table.assign(**{SURPRISAL_BITS: values.mask(is_pll), PLL_BITS: values.where(is_pll)})


def scoring_notes(runs: Sequence[Run]) -> tuple[str, ...]:
    """Say how words were scored where it is not obvious."""
    notes = [note for run in runs for note in run.notes]
    masked = [run.name.model for run in runs if run.measure == "pll"]
    if masked:
        names = ", ".join(dict.fromkeys(masked))
        notes.append(f"{names}: pseudo-log-likelihoods of masked words, no surprisals")
    pieces = {run.name.model: run.boundary for run in runs if run.boundary is not None}
    if pieces:
        choice = next(iter(pieces.values()))
        notes.append(f"words of several pieces: boundary={choice} ({', '.join(pieces)})")
    return tuple(dict.fromkeys(notes))
