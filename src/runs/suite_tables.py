"""Select the items to score, and build the tables of results."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING

import pandas as pd

from gardenpath.data.arrays import Floats
from gardenpath.errors import GardenpathError
from gardenpath.eval.published.importing import ImportedRun
from gardenpath.eval.report.content import Parse, ParseKey
from gardenpath.eval.suites.effects import (
    ItemEffect,
    SentenceMeasures,
    item_effects,
    sentence_measures,
)
from gardenpath.eval.suites.lint import lint_against
from gardenpath.eval.suites.outcomes import ItemOutcome, TieRule, score_table
from gardenpath.eval.suites.pairs import ScoredPairs, pair_accuracies
from gardenpath.eval.suites.regions import RegionTable, sum_deviations, variant_rows
from gardenpath.eval.suites.suite import Item, Suite
from gardenpath.eval.suites.summary import (
    RunName,
    effects_frame,
    items_frame,
    label_columns,
    word_rows,
)
from gardenpath.store.tables import AGGREGATE, ERROR_COLUMNS, SEARCH_COLUMNS, SENTENCES, SURPRISALS
from gardenpath.util import Words

if TYPE_CHECKING:
    from gardenpath.data.words.vocabulary import Vocabulary
    from gardenpath.runs.run import Run
    from gardenpath.runs.scoring import Measured

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
        suites = [
            replace(
                candidate,
                items=tuple(
                    i for i in candidate.items if _is_known(i, knowers[candidate.language])
                ),
            )
            for candidate in suites
        ]
    if items is not None:
        suites = [replace(candidate, items=candidate.items[:items]) for candidate in suites]
    kept = [suite for suite in suites if suite.items]
    if not kept:
        raise GardenpathError(
            "no item of these suites has only words that all models know; set "
            "suite.in_vocabulary=false"
        )
    return kept


def _is_known(item: Item, knowers: Sequence[Knows]) -> bool:
    words = {word for variant in item.variants for word in variant.words}
    return all(knows(word) for knows in knowers for word in words)


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

    @property
    def as_pairs(self) -> ScoredPairs:
        """The same, for the accuracies on published minimal pairs."""
        return ScoredPairs(
            name=self.name,
            suite=self.suite,
            rows=self.rows,
            tokens=self.tokens,
            errors=[
                None if deviation is None else sum_deviations(deviation)
                for deviation in self.deviations
            ],
            is_searched=self.is_searched,
        )


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
    scored = [*_measured_on(suites, models), *map(_imported_on, imported)]
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
            *_failure_notes(suites, models),
            *(note for model in models for note in model.precision_notes(suites)),
        ),
        aggregate=pair_accuracies((on_suite.as_pairs for on_suite in scored), ties),
    )


def _measured_on(suites: Sequence[Suite], models: Sequence[Measured]) -> Iterator[_OnSuite]:
    for model in models:
        for suite in (one for one in suites if model.fits(one.language)):
            sentences = [variant.words for item in suite.items for variant in item.variants]
            yield _OnSuite(
                name=model.name,
                suite=suite,
                rows=variant_rows(suite, model.surprisal_bits),
                unknown={w for s in suite.sentences for w in s if not model.knows(w)},
                unigram_log_prob=model.unigram_log_prob,
                tokens=model.tokens,
                deviations=[model.deviations.get(sentence) for sentence in sentences]
                if model.deviations
                else (),
                columns=[model.columns.get(one, {}) for one in sentences] if model.columns else (),
                is_searched=model.is_searched,
            )


def _imported_on(run: ImportedRun) -> _OnSuite:
    return _OnSuite(
        name=run.name, suite=run.suite, rows=run.rows, unknown=run.unknown,
        is_searched=run.is_searched,
    )  # fmt: skip


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
    columns_given = {
        name for on_suite in scored for columns in on_suite.columns for name in columns
    }
    names = [column.name for column in SEARCH_COLUMNS if column.name in columns_given]
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
    for each in measures:
        measured = {name: getattr(each, name) for name in names}
        levels = suite.factors.get(each.condition, {})
        yield {**who, **measured, **label_columns(each.labels), **levels}


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


def _failure_notes(suites: Sequence[Suite], models: Sequence[Measured]) -> tuple[str, ...]:
    """Return notes on the sentences of these suites without a surviving hypothesis."""
    return tuple(
        f"{model.name.run}: no hypothesis survived {' '.join(words)!r}; {remedy}"
        for model in models
        for words in sentences_in(suites, model.language)
        if (remedy := model.remedies.get(words)) is not None
    )


def word_pair_rows(suites: Sequence[Suite], runs: Iterable[Run]) -> list[dict[str, object]]:
    """Count paired critical words in the training corpora, with one row per vocabulary."""
    rows: list[dict[str, object]] = []
    counted = [run for run in runs if run.model.unigram_log_prob is not None]
    for run in {run.model.units.content_hash: run for run in counted}.values():
        vocabulary: Vocabulary = run.vocabulary
        counts = Counter(dict(zip(vocabulary.tokens, vocabulary.counts, strict=True)))
        for suite in (
            candidate for candidate in suites if candidate.language == vocabulary.language
        ):
            checked = lint_against(suite, vocabulary.knows, counts.__getitem__)
            corpus = run.corpus
            rows += [{"corpus": corpus, "suite": suite.name, **asdict(p)} for p in checked.pairs]
    return rows
