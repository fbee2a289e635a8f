"""Score the sentences of a corpus with the model of a run."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gardenpath.data.arrays import Floats
from gardenpath.data.batches.batch_settings import BatchSettings
from gardenpath.data.encoding.encoded import EncodedSplit
from gardenpath.data.preparation import Preparation, PreparedCorpus
from gardenpath.data.sentence import Sentence, Split
from gardenpath.errors import RunError
from gardenpath.models.family import SyntacticFamily
from gardenpath.models.scores import Totals
from gardenpath.runs.run import Run

if TYPE_CHECKING:
    from gardenpath.models.sequential.sequential_scorer import SequentialScorer

_BATCHES = BatchSettings(max_tokens=4096, max_sentences=64)
# Number of sentences whose scores are held in memory.
SCORED_AT_ONCE = 20_000


def score_split(run: Run, preparation: Preparation, corpus: PreparedCorpus, split: Split) -> Totals:
    """Score the words of a split or, for syntactic models, its words with their gold trees."""
    if run.is_syntactic:
        return joint_with_gold_trees(run, corpus, split)
    from gardenpath.models.sequential.sequential_scorer import SequentialScorer

    scorer = run.scorer()
    assert isinstance(scorer, SequentialScorer)
    if run.vocabulary.content_hash == corpus.vocabulary.content_hash:
        log_probs = _encoded_log_probs(scorer, corpus.split(split))
    else:
        # A model from an ARPA file has its own vocabulary, and words that are rare in the corpus
        # are not part of the prepared corpus; only then the corpus is read again.
        log_probs = _word_log_probs(scorer, preparation.sentences(split))
    return _totals(log_probs)


def _encoded_log_probs(scorer: SequentialScorer, encoded: EncodedSplit) -> Iterator[Floats]:
    for begin in range(0, len(encoded), SCORED_AT_ONCE):
        end = min(begin + SCORED_AT_ONCE, len(encoded))
        yield from scorer.split_log_probs(encoded.take(np.arange(begin, end)))


def _word_log_probs(scorer: SequentialScorer, sentences: Iterator[Sentence]) -> Iterator[Floats]:
    while words := [one.words for one in itertools.islice(sentences, SCORED_AT_ONCE)]:
        yield from scorer.word_log_probs(words)


def _totals(log_probs: Iterator[Floats]) -> Totals:
    word, end = 0.0, 0.0
    words = sentences = 0
    for scores in log_probs:
        word += float(scores[:-1].sum())
        end += float(scores[-1])
        words += len(scores) - 1
        sentences += 1
    return Totals(log_prob={"word": word, "end": end}, words=words, sentences=sentences)


def joint_with_gold_trees(run: Run, corpus: PreparedCorpus, split: Split) -> Totals:
    """Return the joint probability of the sentences of a split and their gold trees."""
    if run.vocabulary.content_hash != corpus.vocabulary.content_hash:
        raise RunError(
            f"{run.path}: the vocabulary of the corpus has changed since the model was trained; "
            "restore the corpus, or train again"
        )
    return joint_of(run, corpus.split(split))


def joint_of(run: Run, encoded: EncodedSplit) -> Totals:
    """Return the joint probability of sentences and trees, encoded with the run's vocabulary."""
    from gardenpath.data.batches.batch_loader import BatchLoader
    from gardenpath.models.scores import joint_totals

    family = run.family
    assert isinstance(family, SyntacticFamily)
    collate = family.make_collate(run.settings.model, encoded, run.vocabulary)
    batches = BatchLoader(encoded.lengths, collate=collate, settings=_BATCHES)
    return joint_totals(run.network(), batches)
