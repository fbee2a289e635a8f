"""Models that are estimated in one go rather than trained in epochs."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from gardenpath.data.preparation import PreparedCorpus
from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.models.ngram.arpa import read_arpa
from gardenpath.models.ngram.ngram import NgramModel, train_ngram, train_unigram
from gardenpath.settings.bounds import PositiveInt


class Estimator(Protocol):
    """Makes an n-gram model of a corpus."""

    def estimate(self, corpus: PreparedCorpus) -> tuple[NgramModel, Vocabulary]:
        """The model, and the vocabulary that it is over."""


class KneserNeyEstimator:
    """Modified interpolated Kneser-Ney of a given order.

    With ``arpa`` nothing is estimated: the model is read from that file and keeps its own
    vocabulary.
    """

    def __init__(self, *, order: PositiveInt = 5, arpa: str | None = None) -> None:
        self._order = order
        self._arpa = arpa

    def estimate(self, corpus: PreparedCorpus) -> tuple[NgramModel, Vocabulary]:
        """Count and smooth the training split, or read the ARPA file."""
        vocabulary = corpus.vocabulary
        if self._arpa is not None:
            return read_arpa(Path(self._arpa), language=vocabulary.language)
        split = corpus.split("train")
        model = train_ngram(split, vocabulary_size=len(vocabulary), order=self._order)
        return model, vocabulary


class UnigramEstimator:
    """Relative frequencies, with one added to each count."""

    def estimate(self, corpus: PreparedCorpus) -> tuple[NgramModel, Vocabulary]:
        """Count the training split."""
        vocabulary = corpus.vocabulary
        return train_unigram(corpus.split("train"), vocabulary_size=len(vocabulary)), vocabulary
