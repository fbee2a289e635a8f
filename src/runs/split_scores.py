"""The final numbers of a run: how well its model predicts a split of its own corpus."""

from __future__ import annotations

from gardenpath.data.batches.batch_loader import BatchLoader, BatchSettings
from gardenpath.data.preparation import Preparation, PreparedCorpus
from gardenpath.errors import RunError
from gardenpath.models.families import FAMILIES
from gardenpath.models.scores import Network, Totals, joint_totals
from gardenpath.models.sequential.sequential_scorer import SequentialScorer
from gardenpath.store.run_folder import RunFolder

_BATCHES = BatchSettings(max_tokens=4096, max_sentences=64)


def is_structured(run: RunFolder) -> bool:
    """Whether the model of a run predicts trees together with words."""
    return FAMILIES[run.config()["model"]["family"]].needs_trees


def score_split(
    run: RunFolder, preparation: Preparation, corpus: PreparedCorpus, split: str
) -> Totals:
    """Score the words of a split or, for structured models, its words with their gold trees."""
    if is_structured(run):
        return joint_with_gold_trees(run, corpus, split)
    sentences = [sentence.words for sentence in preparation.sentences(split)]
    log_probs = SequentialScorer.load(run).word_log_probs(sentences)
    return Totals(
        log_prob={
            "word": float(sum(scores[:-1].sum() for scores in log_probs)),
            "end": float(sum(scores[-1] for scores in log_probs)),
        },
        words=sum(len(words) for words in sentences),
        sentences=len(sentences),
    )


def joint_with_gold_trees(run: RunFolder, corpus: PreparedCorpus, split: str) -> Totals:
    """The joint probability of the sentences of a split and their gold trees."""
    config, vocabulary = run.config(), run.vocabulary()
    if vocabulary.content_hash != corpus.vocabulary.content_hash:
        raise RunError(
            f"{run.path}: trained with another vocabulary than that of the corpus as it is now; "
            "restore the corpus, or train again"
        )
    network: Network = run.load_model()  # type: ignore[assignment]
    encoded = corpus.split(split)
    collate = FAMILIES[config["model"]["family"]].make_collate(
        encoded, vocabulary=vocabulary, settings=config["model"]["network"]
    )
    return joint_totals(network, BatchLoader(encoded.lengths, collate=collate, settings=_BATCHES))
