"""Select the items to score, and build the tables of results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import pandas as pd

from gardenpath.data.arrays import Words
from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.errors import GardenpathError
from gardenpath.eval.report.study import Parse, ParseKey
from gardenpath.eval.suites.design.suite import Item, Suite
from gardenpath.eval.suites.library.lint import lint_against
from gardenpath.eval.suites.scoring.effects import ItemEffect, item_effects
from gardenpath.eval.suites.scoring.item_scoring import ItemOutcome, score_table
from gardenpath.eval.suites.scoring.outcome import TieRule
from gardenpath.eval.suites.scoring.regions import RegionTable
from gardenpath.eval.suites.scoring.results import (
    RunName,
    effects_frame,
    items_frame,
    surprisal_rows,
)
from gardenpath.eval.suites.scoring.sentence_measures import sentence_measures
from gardenpath.runs.measured import Measured
from gardenpath.runs.run import Run

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
            replace(one, items=tuple(i for i in one.items if _is_known(i, knowers[one.language])))
            for one in suites
        ]
    if items is not None:
        suites = [replace(one, items=one.items[:items]) for one in suites]
    found = [one for one in suites if one.items]
    if not found:
        raise GardenpathError(
            "no item of these suites has only words that all models know; set "
            "suite.in_vocabulary=false"
        )
    return found


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


def suite_tables(
    suites: Sequence[Suite], models: Sequence[Measured], *, ties: TieRule, tie_seed: int
) -> SuiteTables:
    """Return outcomes, effects and surprisals of all models on all suites in their languages."""
    outcomes: list[tuple[RunName, list[ItemOutcome]]] = []
    effects: list[tuple[RunName, list[ItemEffect]]] = []
    surprisals = []
    measures: list[dict[str, object]] = []
    for model in models:
        values = model.surprisal_bits
        for suite in (one for one in suites if model.fits(one.language)):
            unknown = {w for s in suite.sentences for w in s if not model.knows(w)}
            table = RegionTable.from_words(suite, values)
            scored = score_table(table, unknown=unknown, ties=ties, seed=tie_seed)
            outcomes.append((model.name, scored))
            effects.append((model.name, item_effects(table)))
            surprisals.append(surprisal_rows(model.name, suite, values, unknown=unknown))
            measures += _measures(model, suite)
    return SuiteTables(
        items=items_frame(outcomes),
        effects=effects_frame(effects),
        surprisals=pd.concat(surprisals, ignore_index=True),
        sentences=pd.DataFrame(measures),
        parses=_parse_table(suites, models),
        notes=_failure_notes(suites, models),
    )


def _measures(model: Measured, suite: Suite) -> list[dict[str, object]]:
    """Return local and global surprisal and SLOR of every sentence."""
    found = sentence_measures(suite, model.surprisal_bits, unigram_log_prob=model.unigram_log_prob)
    who = {
        **asdict(model.name), "suite": suite.name, "class": suite.kind, "modifier": suite.modifier
    }  # fmt: skip
    return [{**who, **asdict(one)} for one in found]


def _parse_table(
    suites: Sequence[Suite], models: Sequence[Measured]
) -> dict[ParseKey, Sequence[Parse]]:
    found: dict[ParseKey, Sequence[Parse]] = {}
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
                        found[(*key, place + 1)] = best
    return found


def _failure_notes(suites: Sequence[Suite], models: Sequence[Measured]) -> tuple[str, ...]:
    """Return notes on the sentences of these suites without a surviving hypothesis."""
    return tuple(
        f"{model.name.run}: no hypothesis survived {' '.join(words)!r}; {remedy}"
        for model in models
        for words in sentences_in(suites, model.language)
        if (remedy := model.remedies.get(words)) is not None
    )


def word_pairs(suites: Sequence[Suite], runs: Iterable[Run]) -> list[dict[str, object]]:
    """Count paired critical words in the training corpora, with one row per vocabulary."""
    rows: list[dict[str, object]] = []
    for run in {run.vocabulary.content_hash: run for run in runs}.values():
        vocabulary: Vocabulary = run.vocabulary
        counts = Counter(dict(zip(vocabulary.tokens, vocabulary.counts, strict=True)))
        for suite in (one for one in suites if one.language == vocabulary.language):
            checked = lint_against(suite, vocabulary.knows, counts.__getitem__)
            corpus = run.settings.data.name
            rows += [{"corpus": corpus, "suite": suite.name, **asdict(p)} for p in checked.pairs]
    return rows
