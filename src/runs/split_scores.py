"""Score the sentences of a corpus with the model of a run."""

from __future__ import annotations

from gardenpath.data.batches.batch_settings import BatchSettings
from gardenpath.data.encoding.encoded import EncodedSplit
from gardenpath.data.preparation import Preparation, PreparedCorpus
from gardenpath.data.sentence import Split
from gardenpath.errors import RunError
from gardenpath.models.family import SyntacticFamily
from gardenpath.models.scores import Totals
from gardenpath.runs.run import Run

_BATCHES = BatchSettings(max_tokens=4096, max_sentences=64)


def score_split(run: Run, preparation: Preparation, corpus: PreparedCorpus, split: Split) -> Totals:
    """Score the words of a split or, for syntactic models, its words with their gold trees."""
    if run.is_syntactic:
        return joint_with_gold_trees(run, corpus, split)
    from gardenpath.models.sequential.sequential_scorer import SequentialScorer

    scorer = run.scorer()
    assert isinstance(scorer, SequentialScorer)
    if run.vocabulary.content_hash == corpus.vocabulary.content_hash:
        log_probs = scorer.split_log_probs(corpus.split(split))
    else:  # a model from an ARPA file has its own vocabulary
        log_probs = scorer.word_log_probs([one.words for one in preparation.sentences(split)])
    return Totals(
        log_prob={
            "word": float(sum(scores[:-1].sum() for scores in log_probs)),
            "end": float(sum(scores[-1] for scores in log_probs)),
        },
        words=sum(len(scores) - 1 for scores in log_probs),
        sentences=len(log_probs),
    )


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
