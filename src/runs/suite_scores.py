"""Runs on suites: surprisals, outcomes and effects as tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gardenpath.data.encoding.encoded import EncodedSplit
from gardenpath.data.pcfg.prefix import ExactModel
from gardenpath.data.readers.toy import ToyTreebank
from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.errors import GardenpathError
from gardenpath.eval import surprisal_cache
from gardenpath.eval.parsing.parses import partial_parses, starts_of
from gardenpath.eval.perplexity.comparison import EXACT
from gardenpath.eval.search.result import SentenceResult
from gardenpath.eval.search.structured_scorer import StructuredScorer, word_log_probs_of
from gardenpath.eval.suites.design.suite import Item, Suite
from gardenpath.eval.suites.scoring.effects import ItemEffect, item_effects
from gardenpath.eval.suites.scoring.item_scoring import ItemOutcome, score_table
from gardenpath.eval.suites.scoring.regions import RegionTable
from gardenpath.eval.suites.scoring.results import (
    RunName,
    effects_frame,
    items_frame,
    surprisal_rows,
)
from gardenpath.eval.suites.scoring.sentence_measures import sentence_measures
from gardenpath.eval.surprisal_cache import Parses, ScoredSentences, Words
from gardenpath.models.sequential.sequential_scorer import SequentialScorer
from gardenpath.runs.run import content_hash, language_of, make_scorer, name_of
from gardenpath.runs.split_scores import is_structured
from gardenpath.settings.compose import make_reader
from gardenpath.store.run_folder import RunFolder
from gardenpath.store.tables import SENTENCES

Settings = Mapping[str, Any]
BITS_PER_NAT = 1 / math.log(2)

# How many partial parses are kept for each word.
_KEPT_PARSES = 3


@dataclass(frozen=True)
class Scores:
    """What runs did on suites."""

    items: pd.DataFrame
    effects: pd.DataFrame
    surprisals: pd.DataFrame
    sentences: pd.DataFrame
    parses: Mapping[tuple[str, str, int | str, str, int | str, int], Sequence[tuple[float, str]]]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ScoredRun:
    """A run, or the exact grammar of a corpus, with its surprisals."""

    name: RunName
    language: str
    sentences: ScoredSentences
    vocabulary: Vocabulary

    def knows(self, word: str) -> bool:
        """Whether the model has seen a word."""
        return _knows(self.vocabulary, word)

    @cached_property
    def unigram_log_prob(self) -> Callable[[str], float] | None:
        """Log probability (nats) of a word alone: its frequency in training, one added."""
        if self.vocabulary.subword_hash is not None:
            return None
        counts = dict(zip(self.vocabulary.tokens, self.vocabulary.counts, strict=True))
        total = sum(counts.values()) + len(counts)
        return lambda word: math.log((counts.get(word, 0) + 1) / total)


def suitable(runs: Sequence[RunFolder], suites: Sequence[Suite]) -> list[RunFolder]:
    """The runs that have a suite in their language."""
    languages = {suite.language for suite in suites}
    found = [run for run in runs if language_of(run) in languages]
    if not found:
        known = ", ".join(sorted({language_of(run) for run in runs}))
        raise GardenpathError(
            f"the suites are in {', '.join(sorted(languages))}, but all runs in {known}; train one "
            "with 'python train.py data=…', or choose another suite="
        )
    return found


def selected(suites: Sequence[Suite], runs: Sequence[RunFolder], suite: Settings) -> list[Suite]:
    """The items that the settings ask for; with ``in_vocabulary`` those that all runs know."""
    languages = {language_of(run) for run in runs}
    suites = [one for one in suites if one.language in languages]
    if suite["in_vocabulary"]:
        suites = [_in_vocabulary(one, runs) for one in suites]
    if suite["items"] is not None:
        suites = [replace(one, items=one.items[: suite["items"]]) for one in suites]
    found = [one for one in suites if one.items]
    if not found:
        raise GardenpathError(
            f"suite={suite['name']}: no item has only words that all runs know; set "
            "suite.in_vocabulary=false"
        )
    return found


def _in_vocabulary(suite: Suite, runs: Sequence[RunFolder]) -> Suite:
    """The items of a suite that all runs of its language know."""
    known = [run.vocabulary() for run in runs if language_of(run) == suite.language]
    return replace(suite, items=tuple(item for item in suite.items if _is_known(item, known)))


def _knows(vocabulary: Vocabulary, word: str) -> bool:
    """Whether a model has seen a word; with pieces of words, none is unknown."""
    return vocabulary.subword_hash is not None or vocabulary.knows(word)


def _is_known(item: Item, vocabularies: Sequence[Vocabulary]) -> bool:
    words = {word for variant in item.variants for word in variant.words}
    return all(_knows(vocabulary, word) for vocabulary in vocabularies for word in words)


def sentences_of(suites: Sequence[Suite], language: str) -> list[Words]:
    """The different sentences of the suites in a language."""
    return list(
        dict.fromkeys(w for suite in suites if suite.language == language for w in suite.sentences)
    )


def score_run(
    run: RunFolder,
    sentences: Sequence[Words],
    parsed: Sequence[Words],
    settings: Settings,
    on_words: Callable[[int], None],
) -> ScoredRun:
    """Surprisals of a run, from the cache as far as they are there."""
    identity = {"run": content_hash(run), "search": settings["search"]}
    path = surprisal_cache.cache_path(Path(settings["paths"]["surprisals"]), identity)
    found = surprisal_cache.load(path)
    if not is_structured(run):
        parsed = ()
    if lacking := found.lacking(sentences, parsed):
        scorer = make_scorer(run, settings, on_words=on_words)
        found.update(_computed(scorer, lacking, set(parsed), run))
        surprisal_cache.save(path, found)
    return ScoredRun(name_of(run), language_of(run), found, run.vocabulary())


def _computed(
    scorer: SequentialScorer | StructuredScorer,
    sentences: Sequence[Words],
    parsed: set[Words],
    run: RunFolder,
) -> ScoredSentences:
    if isinstance(scorer, SequentialScorer):
        log_probs = scorer.word_log_probs(sentences)
        return ScoredSentences(
            {w: _bits(values) for w, values in zip(sentences, log_probs, strict=True)}
        )
    results, split = scorer.search(sentences, keeps_history=bool(parsed))
    found = ScoredSentences()
    for number, (words, result) in enumerate(zip(sentences, results, strict=True)):
        found.surprisal_bits[words] = _bits(word_log_probs_of(result, split, number))
        if words in parsed:
            found.parses[words] = _parses(result, words, split, number, run)
        if result.failure is not None:
            found.failures[words] = result.failure.remedy
    return found


def _bits(log_probs: np.ndarray[Any, Any]) -> list[float]:
    return [float(value) for value in -log_probs * BITS_PER_NAT]


def _parses(
    result: SentenceResult, words: Words, split: EncodedSplit, number: int, run: RunFolder
) -> Parses:
    return partial_parses(
        result,
        words,
        labels=run.vocabulary().labels,
        strategy=run.config()["model"]["network"].get("strategy", "top_down"),
        k=_KEPT_PARSES,
        starts_word=starts_of(split, number),
    )


def exact_runs(runs: Sequence[RunFolder], suites: Sequence[Suite]) -> list[ScoredRun]:
    """The grammars behind toy corpora, each once, as if they were models."""
    found = {}
    for run in runs:
        data = run.config()["data"]
        reader = make_reader(data)
        if data["name"] in found or not isinstance(reader, ToyTreebank):
            continue
        sentences = sentences_of(suites, data["language"])
        bits = ExactModel(reader.grammar).surprisal_bits(sentences)
        scored = ScoredSentences(
            {
                # What comes after an impossible word is as impossible.
                words: [float(v) for v in np.nan_to_num(values, nan=np.inf, posinf=np.inf)]
                for words, values in zip(sentences, bits, strict=True)
            }
        )
        name = RunName(run=f"exact/{data['name']}", model=EXACT, corpus=data["name"])
        found[data["name"]] = ScoredRun(name, data["language"], scored, run.vocabulary())
    return list(found.values())


def tables(suites: Sequence[Suite], runs: Sequence[ScoredRun], settings: Settings) -> Scores:
    """Outcomes, effects and surprisals of all runs on all suites."""
    outcomes: list[tuple[RunName, list[ItemOutcome]]] = []
    effects: list[tuple[RunName, list[ItemEffect]]] = []
    surprisals = []
    measured: list[dict[str, object]] = []
    for run in runs:
        values = {w: bits[: len(w)] for w, bits in run.sentences.surprisal_bits.items()}
        for suite in (one for one in suites if one.language == run.language):
            unknown = {w for s in suite.sentences for w in s if not run.knows(w)}
            table = RegionTable.from_words(suite, values)
            ties, seed = settings["task"]["ties"], settings["task"]["tie_seed"]
            outcomes.append((run.name, score_table(table, unknown=unknown, ties=ties, seed=seed)))
            effects.append((run.name, item_effects(table)))
            surprisals.append(surprisal_rows(run.name, suite, values, unknown=unknown))
            measured += _measures(run, suite, values)
    return Scores(
        items=items_frame(outcomes),
        effects=effects_frame(effects),
        surprisals=pd.concat(surprisals, ignore_index=True),
        sentences=SENTENCES.frame(measured),
        parses=_parse_table(suites, runs),
        notes=_failure_notes(suites, runs),
    )


def _measures(
    run: ScoredRun, suite: Suite, surprisals: Mapping[Words, Sequence[float]]
) -> list[dict[str, object]]:
    """Local and global surprisal and SLOR of every sentence."""
    found = sentence_measures(suite, surprisals, unigram_log_prob=run.unigram_log_prob)
    who = {**asdict(run.name), "suite": suite.name, "class": suite.kind, "modifier": suite.modifier}
    return [{**who, **asdict(one)} for one in found]


def _parse_table(
    suites: Sequence[Suite], runs: Sequence[ScoredRun]
) -> dict[tuple[str, str, int | str, str, int | str, int], Sequence[tuple[float, str]]]:
    found: dict[tuple[str, str, int | str, str, int | str, int], Sequence[tuple[float, str]]] = {}
    for run in runs:
        for suite in suites:
            for item in suite.items:
                counts: dict[str, int] = {}
                for variant in item.variants:
                    number = counts[variant.condition] = counts.get(variant.condition, 0) + 1
                    parses = run.sentences.parses.get(variant.words, [])
                    for place, best in enumerate(parses[: len(variant.words)]):
                        key = (run.name.run, suite.name, item.number, variant.condition, number)
                        found[(*key, place + 1)] = best
    return found


def _failure_notes(suites: Sequence[Suite], runs: Sequence[ScoredRun]) -> tuple[str, ...]:
    """Sentences of these suites that no hypothesis survived, by name."""
    return tuple(
        f"{run.name.run}: no hypothesis survived {' '.join(words)!r}; {remedy}"
        for run in runs
        for words in sentences_of(suites, run.language)
        if (remedy := run.sentences.failures.get(words)) is not None
    )
