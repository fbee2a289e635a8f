"""task=perplexity: how well models predict a split of their own corpora."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gardenpath.console import console, show_progress, track_runs, words_progress
from gardenpath.data.pcfg.prefix import ExactModel
from gardenpath.data.preparation import PreparedCorpus
from gardenpath.data.readers.toy import ToyTreebank
from gardenpath.eval.perplexity.comparison import (
    JOINT,
    MARGINAL,
    PerplexityRow,
    as_table,
    compare,
    perplexity_frame,
)
from gardenpath.eval.perplexity.measure import Floats, Perplexity, measure
from gardenpath.models.scores import Totals
from gardenpath.runs.run import finished_runs
from gardenpath.runs.split_scores import is_structured, joint_with_gold_trees
from gardenpath.runs.suite_scores import BITS_PER_NAT, ScoredRun, score_run
from gardenpath.settings.compose import make_preparation, make_reader
from gardenpath.store.run_folder import RunFolder
from gardenpath.store.tables import PERPLEXITY, write_table

Settings = Mapping[str, Any]
Words = tuple[str, ...]
Measured = tuple[str, int | None, Perplexity]

_CAPTIONS = {
    JOINT: "joint: of words together with their gold trees",
    MARGINAL: "marginal: of words alone, summed over the trees that search finds",
}


def run(settings: Settings) -> None:
    """Perplexity of every run on a split of its own corpus, as a table and a CSV file."""
    rows = perplexity_rows(finished_runs(settings), settings)
    path = Path(settings["output"]) / PERPLEXITY.file
    write_table(path, perplexity_frame(rows))
    console.print(f"Written to {path}")


def perplexity_rows(runs: Sequence[RunFolder], settings: Settings) -> list[PerplexityRow]:
    """The table of all corpora; each is printed as it is done."""
    by_corpus = itertools.groupby(
        sorted(runs, key=lambda run: str(run.config()["data"])),
        key=lambda run: run.config()["data"],
    )
    split = settings["task"]["split"]
    rows = []
    for data, members in by_corpus:
        found, caption = _of_corpus(data, list(members), settings)
        title = f"{data['name']}: perplexity per word ({split} split)"
        console.print(as_table(found, title=title, caption=caption))
        rows += found
    return rows


def _of_corpus(
    data: Settings, runs: Sequence[RunFolder], settings: Settings
) -> tuple[list[PerplexityRow], str]:
    preparation = make_preparation(data)
    corpus = preparation.prepare(Path(settings["paths"]["cache"]), progress=show_progress)
    sentences = [s.words for s in preparation.sentences(settings["task"]["split"])]
    measured: list[Measured] = []
    for one in track_runs(runs, f"scoring {data['name']}"):
        measured += _of_run(one, corpus, sentences, settings)
    measured.sort(key=lambda item: -item[2].with_end)
    captions = [
        text for mark, text in _CAPTIONS.items() if any(m[0].endswith(mark) for m in measured)
    ]
    captions += [
        f"{name}: {one.failed} sentences without a surviving hypothesis are left out"
        for name, _, one in measured
        if one.failed
    ]
    reader = make_reader(data)
    if not isinstance(reader, ToyTreebank):
        return compare(data["name"], measured, None), "\n".join(captions)
    model = ExactModel(reader.grammar)
    sizes = {len(sentences), *(one.sentences for _, _, one in measured)}
    exact = {size: measure(model, sentences[:size]) for size in sizes}
    entropy = reader.grammar.derivation_entropy_bits
    known = f"entropy of the grammar: {entropy:.2f} bits per sentence"
    return compare(data["name"], measured, exact), "\n".join([known, *captions])


def _of_run(
    run: RunFolder, corpus: PreparedCorpus, sentences: Sequence[Words], settings: Settings
) -> list[Measured]:
    """A row, or for models of trees two: joint and marginal."""
    config, split = run.config(), settings["task"]["split"]
    name, seed = config["model"]["name"], config["seed"]
    if not is_structured(run):
        return [(name, seed, _measured(run, sentences, settings))]
    joint = as_perplexity(joint_with_gold_trees(run, corpus, split))
    found: list[Measured] = [(name + JOINT, seed, joint)]
    limit = settings["task"]["marginal_sentences"]
    if limit == 0:
        return found
    chosen = sentences if limit is None else sentences[:limit]
    return [*found, (name + MARGINAL, seed, _measured(run, chosen, settings))]


def _measured(run: RunFolder, sentences: Sequence[Words], settings: Settings) -> Perplexity:
    """Perplexity from surprisals, which are kept for the next time."""
    with words_progress(f"scoring {run.path}", sum(map(len, sentences))) as on_words:
        scored = score_run(run, sentences, (), settings, on_words)
    return measure(_Kept(scored), sentences)


@dataclass(frozen=True)
class _Kept:
    """A scorer that only looks up."""

    run: ScoredRun

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """For each sentence, the log probability (nats) of each word and, last, of its end."""
        bits = self.run.sentences.surprisal_bits
        return [-np.array(bits[tuple(words)]) / BITS_PER_NAT for words in sentences]


def as_perplexity(totals: Totals) -> Perplexity:
    """A joint model has no end of sentence apart from its last action."""
    nats = {kind: -value for kind, value in totals.log_prob.items()}
    end_nats = nats.pop("end", None)
    return Perplexity(
        sentences=totals.sentences,
        words=totals.words,
        word_nats=sum(nats.values()),
        end_nats=end_nats,
    )
