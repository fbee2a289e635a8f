"""Surprisals of models on the sentences of suites, and the tables of results made of them.

A model may be a run, any object with ``word_log_probs`` (:class:`Scorer`), the exact grammar of a
toy corpus, or a table of surprisals that a user gives. ``runs.evaluation`` and :class:`Results`
call this. Runs score sentences, ``eval.suites`` decides what is right: neither is done here.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from gardenpath.data.arrays import Floats
from gardenpath.data.pcfg import ExactModel
from gardenpath.data.readers.treebanks import ToyTreebank
from gardenpath.data.sentence import OnWords, Scorer
from gardenpath.data.words.vocabulary import END
from gardenpath.errors import GardenpathError
from gardenpath.eval.display import EXACT
from gardenpath.eval.published.importing import ImportedRun
from gardenpath.eval.report.content import Parse, ParseKey
from gardenpath.eval.search.replicates import not_converged, tolerance_note
from gardenpath.eval.suites.effects import (
    ItemEffect,
    SentenceMeasures,
    critical_positions,
    item_effects,
    sentence_measures,
)
from gardenpath.eval.suites.lint import lint_against
from gardenpath.eval.suites.outcomes import ItemOutcome, TieRule, score_table
from gardenpath.eval.suites.pairs import ScoredPairs, pair_accuracies
from gardenpath.eval.suites.regions import RegionTable, sum_deviations, variant_rows, word_errors
from gardenpath.eval.suites.suite import Item, Suite
from gardenpath.eval.suites.summary import (
    RunName,
    effects_frame,
    items_frame,
    label_columns,
    word_rows,
)
from gardenpath.runs.run import HowScored, Run
from gardenpath.store.surprisals import Parses
from gardenpath.store.tables import (
    AGGREGATE,
    BOUNDARY_COLUMN,
    ERROR_COLUMNS,
    PLL_BITS,
    SEARCH_COLUMN_NAMES,
    SEARCH_COLUMNS,
    SENTENCES,
    SURPRISAL_BITS,
    SURPRISAL_SE,
    SURPRISALS,
)
from gardenpath.util import Words, bits

if TYPE_CHECKING:
    from gardenpath.data.words.vocabulary import Vocabulary

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
        errors = [(self.word_errors(words), places) for words, places in matters.items()]
        above = [not_converged(of, at, self.tolerance) if len(of) else 0 for of, at in errors]
        of = f"{sum(map(len, matters.values()))} words that matter"
        note = tolerance_note(self.name.run, above, of, self.tolerance)
        return [] if note is None else [note]


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
        # Without the numbers of the ends of sentences.
        columns={
            w: {name: values[: len(w)] for name, values in stored.columns.items()}
            for w, stored in scored.items()
            if stored.columns
        },
        deviations={
            w: np.array(stored.deviations, dtype=np.float64)[: len(w)]
            for w, stored in scored.items()
            if stored.deviations is not None
        },
        tolerance=getattr(run.search, "tolerance", None) if run.is_syntactic else None,
        is_searched=run.is_syntactic,
    )


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
    values: dict[Words, list[float]] = {}
    for words, scores in zip(sentences, log_probs, strict=True):
        nats = np.asarray(scores, dtype=np.float64)
        if nats.shape not in ((len(words),), (len(words) + 1,)):
            raise GardenpathError(
                f"{name}: {nats.size} log probabilities for the {len(words)} words of "
                f"{' '.join(words)!r}; word_log_probs must return one per word and, last, one for "
                "the end"
            )
        values[words] = bits(nats[: len(words)]).tolist()
        require_possible(name, words, values[words])
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
            name=model.name,
            language=None,
            surprisal_bits={words: model.values[words] for words in sentences},
            is_searched=model.is_searched,
        )
        for model in models
    ]


@dataclass(frozen=True)
class _GivenSurprisals:
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
        if not np.allclose(before, values, rtol=_SAME, atol=_SAME, equal_nan=True):
            raise GardenpathError(
                f"{self.name.run}: two different surprisals for {' '.join(words)!r}; give each "
                "sentence once, and tell models apart by the columns model, run or seed"
            )


def _from_mapping(surprisals: Mapping[Any, Any]) -> list[_GivenSurprisals]:
    models = []
    for model, scored in surprisals.items():
        if not isinstance(scored, Mapping):
            raise GardenpathError(
                f"{model}: not a mapping from sentences to surprisals; give "
                "{model: {sentence: [bits, …]}}"
            )
        of_model = _GivenSurprisals(RunName(run=str(model), model=str(model)))
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


def _from(table: pd.DataFrame) -> list[_GivenSurprisals]:
    if not hasattr(table, "columns"):
        raise TypeError("surprisals are a DataFrame, or a mapping {model: {sentence: [bits, …]}}")
    if missing := [column for column in _COLUMNS if column not in table.columns]:
        raise GardenpathError(
            f"the table of surprisals has no column {', '.join(missing)}; it needs "
            f"{', '.join(_COLUMNS)}, and model or run for several models"
        )
    who = [column for column in ("run", "model", "seed") if column in table.columns]
    models: dict[str, _GivenSurprisals] = {}
    groups = table.groupby(who, sort=False, dropna=False) if who else [((), table)]
    for key, rows in groups:
        name = _name_from(dict(zip(who, key, strict=True)))
        if name.run in models:
            raise GardenpathError(
                f"{name.run}: the rows of this run are of several models or seeds "
                f"({models[name.run].name.model} and {name.model}); give each a run of its own"
            )
        # Whether the table has numbers that only a search knows.
        is_searched = any(rows[c].notna().any() for c in SEARCH_COLUMN_NAMES if c in rows.columns)
        models[name.run] = _GivenSurprisals(name, is_searched=is_searched)
        _add_sentences(rows, models[name.run])
    return list(models.values())


def _name_from(named: Mapping[str, Any]) -> RunName:
    model = str(named.get("model", named.get("run", "model")))
    seed = named.get("seed")
    try:
        seed = None if seed is None or seed != seed else int(seed)  # a missing seed may be NaN
    except ValueError as error:
        raise GardenpathError(f"column seed: {seed!r} is not a whole number") from error
    run = str(named.get("run", model if seed is None else f"{model}/seed{seed}"))
    return RunName(run=run, model=model, seed=seed)


def _add_sentences(rows: pd.DataFrame, model: _GivenSurprisals) -> None:
    """Add the sentences of a table; those of which words are missing or given twice are refused."""
    rows = rows[rows["word"] != END]
    is_numbered = "word_id" in rows.columns
    if is_numbered:
        rows = rows.sort_values(["sentence_id", "word_id"], kind="stable")
    for _, group in rows.groupby("sentence_id", sort=False):
        words = tuple(map(str, group["word"]))
        numbers = group["word_id"].tolist() if is_numbered else []
        if any(after != before + 1 for before, after in itertools.pairwise(numbers)):
            raise GardenpathError(
                f"{model.name.run}: the words of {' '.join(words)!r} are numbered "
                f"{', '.join(map(str, numbers))}; give each word of a sentence once"
            )
        model.add(words, group["surprisal_bits"])


# ----------------------------------------------------------------------------
# The tables of results.


Knows = Callable[[str], bool]


@dataclass(frozen=True)
class SuiteTables:
    """Tables of the results of models on suites."""

    items: pd.DataFrame
    effects: pd.DataFrame
    surprisals: pd.DataFrame
    sentences: pd.DataFrame
    parses: Mapping[ParseKey, Sequence[Parse]]
    notes: tuple[str, ...]
    aggregate: pd.DataFrame = field(default_factory=lambda: AGGREGATE.frame([]))


def selected(
    suites: Sequence[Suite],
    knowers: Mapping[str, Sequence[Knows]],
    *,
    in_vocabulary: bool,
    items: int | None,
) -> list[Suite]:
    """Return the requested items; with ``in_vocabulary``, those whose words all models know.

    ``knowers`` contains, for each language, the functions that say whether a model knows a word.
    """
    if in_vocabulary:

        def is_known(item: Item, language: str) -> bool:
            words = {word for variant in item.variants for word in variant.words}
            return all(knows(word) for knows in knowers[language] for word in words)

        suites = [
            replace(suite, items=tuple(i for i in suite.items if is_known(i, suite.language)))
            for suite in suites
        ]
    if items is not None:
        suites = [replace(suite, items=suite.items[:items]) for suite in suites]
    kept = [suite for suite in suites if suite.items]
    if not kept:
        raise GardenpathError(
            "no item of these suites has only words that all models know; set "
            "suite.in_vocabulary=false"
        )
    return kept


def sentences_in(suites: Iterable[Suite], language: str | None) -> list[Words]:
    """Return the distinct sentences of the suites in a language, or of all."""
    return list(
        dict.fromkeys(
            words
            for suite in suites
            if language in (None, suite.language)
            for words in suite.sentences
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _OnSuite:
    """The surprisals (bits) of one run on one suite: a row for every variant of every item.

    ``deviations`` (of replicates, in bits, ``(words, replicates)``) and ``columns`` (further
    numbers of the words) are those of a search, for the same rows; empty if there are none.
    ``is_searched``: the surprisals come from a search, with or without such numbers.
    """

    name: RunName
    suite: Suite
    rows: Sequence[Sequence[float]]
    unknown: Collection[str]
    unigram_log_prob: Callable[[str], float] | None = None
    tokens: Callable[[Words], int] = len
    deviations: Sequence[Floats | None] = ()
    columns: Sequence[Mapping[str, Sequence[float]]] = ()
    is_searched: bool = False


def suite_tables(
    suites: Sequence[Suite],
    models: Sequence[Measured],
    *,
    imported: Sequence[ImportedRun] = (),
    ties: TieRule,
) -> SuiteTables:
    """Return outcomes, effects and surprisals of models on the suites in their languages.

    ``imported`` are runs whose surprisals come from files, each on a suite of its own; they get the
    same tables as ``models``.
    """
    scored = [
        *_measured_on(suites, models),
        *(
            _OnSuite(
                name=run.name, suite=run.suite, rows=run.rows, unknown=run.unknown,
                is_searched=run.is_searched,
            )
            for run in imported
        ),
    ]  # fmt: skip
    outcomes: list[tuple[RunName, list[ItemOutcome]]] = []
    effects: list[tuple[RunName, list[ItemEffect]]] = []
    measures: list[dict[str, object]] = []
    for on_suite in scored:
        table = RegionTable.from_rows(on_suite.suite, on_suite.rows, on_suite.deviations)
        scores = score_table(
            table, unknown=on_suite.unknown, ties=ties, is_searched=on_suite.is_searched
        )
        outcomes.append((on_suite.name, scores))
        measured = item_effects(table, ties=ties, is_searched=on_suite.is_searched)
        effects.append((on_suite.name, measured))
        measures += _measures(on_suite)
    return SuiteTables(
        items=items_frame(outcomes),
        effects=effects_frame(effects),
        surprisals=_surprisals(scored),
        sentences=SENTENCES.frame(measures),
        parses=parse_table(suites, models),
        notes=(
            *(
                f"{model.name.run}: no hypothesis survived {' '.join(words)!r}; {remedy}"
                for model in models
                for words in sentences_in(suites, model.language)
                if (remedy := model.remedies.get(words)) is not None
            ),
            *(note for model in models for note in model.precision_notes(suites)),
        ),
        aggregate=pair_accuracies(
            (
                ScoredPairs(
                    name=on_suite.name,
                    suite=on_suite.suite,
                    rows=on_suite.rows,
                    tokens=on_suite.tokens,
                    errors=[d if d is None else sum_deviations(d) for d in on_suite.deviations],
                    is_searched=on_suite.is_searched,
                )
                for on_suite in scored
            ),
            ties,
        ),
    )


def _measured_on(suites: Sequence[Suite], models: Sequence[Measured]) -> Iterator[_OnSuite]:
    for model in models:
        for suite in (suite for suite in suites if model.fits(suite.language)):
            sentences = [variant.words for item in suite.items for variant in item.variants]
            of_rows = sentences if model.columns else []
            deviations = sentences if model.deviations else []
            yield _OnSuite(
                name=model.name,
                suite=suite,
                rows=variant_rows(suite, model.surprisal_bits),
                unknown={w for s in suite.sentences for w in s if not model.knows(w)},
                unigram_log_prob=model.unigram_log_prob,
                tokens=model.tokens,
                deviations=[model.deviations.get(words) for words in deviations],
                columns=[model.columns.get(words, {}) for words in of_rows],
                is_searched=model.is_searched,
            )


def _surprisals(scored: Sequence[_OnSuite]) -> pd.DataFrame:
    """Return every word of every variant with its region and surprisal, in bits.

    The numbers of searches are further columns, if there are any.
    """
    frame = SURPRISALS.frame(
        [
            row
            for on_suite in scored
            for row in word_rows(
                on_suite.name, on_suite.suite, on_suite.rows, unknown=on_suite.unknown
            )
        ]
    )
    present = {name for on_suite in scored for columns in on_suite.columns for name in columns}
    names = [column.name for column in SEARCH_COLUMNS if column.name in present]
    return frame.assign(**{name: list(_word_numbers(scored, name)) for name in names})


def _word_numbers(scored: Iterable[_OnSuite], name: str) -> Iterator[float]:
    """Yield the numbers in a column of a search, for every word; NaN where there are none."""
    for on_suite in scored:
        by_row = on_suite.columns or [{}] * len(on_suite.rows)
        for row, columns in zip(on_suite.rows, by_row, strict=True):
            yield from columns.get(name) or itertools.repeat(math.nan, len(row))


def _measures(on_suite: _OnSuite) -> Iterator[dict[str, object]]:
    """Yield local and global surprisal and SLOR of every sentence; each label becomes a column."""
    suite = on_suite.suite
    who = {
        **asdict(on_suite.name),
        "suite": suite.name,
        "class": suite.kind,
        "modifier": suite.modifier,
    }
    # Not asdict, which copies every value and takes most of the time for large suites.
    errors = set(ERROR_COLUMNS.values()) if not on_suite.deviations else set()
    hidden = {"labels", *errors}
    names = [part.name for part in fields(SentenceMeasures) if part.name not in hidden]
    measures = sentence_measures(
        suite,
        on_suite.rows,
        unigram_log_prob=on_suite.unigram_log_prob,
        deviations=on_suite.deviations,
    )
    for sentence in measures:
        measured = {name: getattr(sentence, name) for name in names}
        levels = suite.factors.get(sentence.condition, {})
        yield {**who, **measured, **label_columns(sentence.labels), **levels}


def parse_table(
    suites: Sequence[Suite], models: Sequence[Measured]
) -> dict[ParseKey, Sequence[Parse]]:
    """Return the partial parses of the words of all variants that have them."""
    parses_found: dict[ParseKey, Sequence[Parse]] = {}
    for model in models:
        for suite in suites:
            for item in suite.items:
                counts: Counter[str] = Counter()
                for variant in item.variants:
                    counts[variant.condition] += 1
                    number = counts[variant.condition]
                    parses = model.parses.get(variant.words, ())
                    for place, best in enumerate(parses[: len(variant.words)]):
                        key = (model.name.run, suite.name, item.number, variant.condition, number)
                        parses_found[(*key, place + 1)] = best
    return parses_found


def word_pair_rows(suites: Sequence[Suite], runs: Iterable[Run]) -> list[dict[str, object]]:
    """Count paired critical words in the training corpora, with one row per vocabulary."""
    rows: list[dict[str, object]] = []
    counted = [run for run in runs if run.model.unigram_log_prob is not None]
    for run in {run.model.units.content_hash: run for run in counted}.values():
        vocabulary: Vocabulary = run.vocabulary
        counts = Counter(dict(zip(vocabulary.tokens, vocabulary.counts, strict=True)))
        for suite in suites:
            if suite.language == vocabulary.language:
                pairs = lint_against(suite, vocabulary.knows, counts.__getitem__).pairs
                rows += [{"corpus": run.corpus, "suite": suite.name, **asdict(p)} for p in pairs]
    return rows


def with_boundary_column(tables: SuiteTables, how: Mapping[str, HowScored]) -> SuiteTables:
    """Add a column ``boundary`` to all tables, if a run has pieces of words."""
    choices = {name: scoring.boundary or "" for name, scoring in how.items()}
    if not any(choices.values()):
        return tables
    changed = {}
    for name in ("items", "effects", "surprisals", "sentences"):
        table: pd.DataFrame = getattr(tables, name)
        column = table["run"].map(choices).fillna("")
        changed[name] = table.assign(**{BOUNDARY_COLUMN: column})
    return replace(tables, **changed)


def with_own_columns(table: pd.DataFrame, how: Mapping[str, HowScored]) -> pd.DataFrame:
    """Move the values of masked models from ``surprisal_bits`` to a column ``pll_bits``."""
    masked = [name for name, scoring in how.items() if scoring.measure == "pll"]
    if not masked:
        return table
    is_pll = table["run"].isin(masked)
    values = table[SURPRISAL_BITS]
    return table.assign(**{SURPRISAL_BITS: values.mask(is_pll), PLL_BITS: values.where(is_pll)})
