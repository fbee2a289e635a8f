"""Perplexities of runs on a split of their own corpora, with the exact grammar for comparison."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gardenpath.console import show_progress, track_runs, words_progress
from gardenpath.data.arrays import Floats, Words
from gardenpath.data.data_settings import DataSettings
from gardenpath.data.pcfg.prefix import ExactModel
from gardenpath.data.preparation import PreparedCorpus
from gardenpath.data.readers.toy import ToyTreebank
from gardenpath.data.sentence import Split
from gardenpath.eval.perplexity.comparison import (
    JOINT,
    MARGINAL,
    PerplexityRow,
    compare,
    perplexity_frame,
)
from gardenpath.eval.perplexity.measure import Perplexity, measure
from gardenpath.models.scores import Totals
from gardenpath.runs.run import Run
from gardenpath.runs.split_scores import joint_with_gold_trees
from gardenpath.store.surprisal_store import Stored

if TYPE_CHECKING:
    import pandas as pd

Measured = tuple[str, int | None, Perplexity]

_CAPTIONS = {
    JOINT: "joint: of words together with their gold trees",
    MARGINAL: "marginal: of words alone, summed over the trees found by search",
}


@dataclass(frozen=True)
class CorpusPerplexities:
    """The rows of one corpus, and notes for the reader."""

    corpus: str
    rows: Sequence[PerplexityRow]
    caption: str


def perplexity_table(
    runs: Iterable[Run], *, split: Split = "test", marginal_sentences: int | None = None
) -> pd.DataFrame:
    """Return one row per run (two for syntactic models), and rows for exact grammars."""
    found = perplexities(runs, split=split, marginal_sentences=marginal_sentences)
    return perplexity_frame([row for corpus in found for row in corpus.rows])


def perplexities(
    runs: Iterable[Run],
    *,
    split: Split,
    marginal_sentences: int | None,
    cache: Path | None = None,
) -> Iterator[CorpusPerplexities]:
    """Yield the perplexities of runs, corpus by corpus.

    ``cache`` is the folder of prepared corpora; None uses the one that the runs were trained with.
    """
    by_corpus = itertools.groupby(
        sorted(runs, key=lambda run: str(run.settings.data)), key=lambda run: run.settings.data
    )
    for data, members in by_corpus:
        found = list(members)
        place = cache or Path(found[0].settings.paths.cache)
        yield _of_corpus(data, found, place, split, marginal_sentences)


def _of_corpus(
    data: DataSettings, runs: Sequence[Run], cache: Path, split: Split, limit: int | None
) -> CorpusPerplexities:
    preparation = data.preparation()
    corpus = preparation.prepare(cache, progress=show_progress)
    sentences = [one.words for one in preparation.sentences(split)]
    measured: list[Measured] = []
    for run in track_runs(runs, f"scoring {data.name}"):
        measured += _of_run(run, corpus, sentences, split, limit)
    measured.sort(key=lambda item: -item[2].with_end)
    captions = [
        text for mark, text in _CAPTIONS.items() if any(m[0].endswith(mark) for m in measured)
    ]
    captions += [
        f"{name}: {one.failed} sentences without a surviving hypothesis are excluded"
        for name, _, one in measured
        if one.failed
    ]
    reader = data.reader
    exact = None
    if isinstance(reader, ToyTreebank):
        model = ExactModel(reader.rules)
        sizes = {len(sentences), *(one.sentences for _, _, one in measured)}
        exact = {size: measure(model, sentences[:size]) for size in sizes}
        entropy = reader.rules.derivation_entropy_bits
        captions.insert(0, f"entropy of the grammar: {entropy:.2f} bits per sentence")
    return CorpusPerplexities(data.name, compare(data.name, measured, exact), "\n".join(captions))


def _of_run(
    run: Run,
    corpus: PreparedCorpus,
    sentences: Sequence[Words],
    split: Split,
    limit: int | None,
) -> list[Measured]:
    """Return one row or, for syntactic models, two: joint and marginal."""
    name, seed = run.settings.model.name, run.settings.seed
    if not run.is_syntactic:
        return [(name, seed, _measured(run, sentences))]
    joint = as_perplexity(joint_with_gold_trees(run, corpus, split))
    found: list[Measured] = [(name + JOINT, seed, joint)]
    if limit == 0:
        return found
    return [*found, (name + MARGINAL, seed, _measured(run, sentences[:limit]))]


def _measured(run: Run, sentences: Sequence[Words]) -> Perplexity:
    """Compute perplexity from log probabilities, which are stored for reuse."""
    with words_progress(f"scoring {run.path}", sum(map(len, sentences))) as on_words:
        return measure(_Kept(run.scored(sentences, on_words=on_words)), sentences)


@dataclass(frozen=True)
class _Kept:
    """A scorer that only looks up stored log probabilities."""

    scored: dict[Words, Stored]

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return the log probability (nats) of each word and, last, of the end of each sentence."""
        return [np.array(self.scored[tuple(words)].log_probs) for words in sentences]


def as_perplexity(totals: Totals) -> Perplexity:
    """Convert totals; in a joint model, the end of a sentence is part of its last action."""
    nats = {kind: -value for kind, value in totals.log_prob.items()}
    end_nats = nats.pop("end", None)
    return Perplexity(
        sentences=totals.sentences,
        words=totals.words,
        word_nats=sum(nats.values()),
        end_nats=end_nats,
    )
