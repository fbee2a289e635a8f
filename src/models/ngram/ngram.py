"""Backoff n-gram language models, estimated from counts or read from an ARPA file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gardenpath.data.arrays import Bools, Floats, Ints
from gardenpath.data.encoding.encoded import EncodedSplit
from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID
from gardenpath.errors import DamagedRunError
from gardenpath.models.ngram import kneser_ney
from gardenpath.models.ngram.ngram_trie import ABSENT, NgramTable, find_all
from gardenpath.models.tensor_files import load_arrays, save_arrays
from gardenpath.settings.bounds import PositiveInt


class NgramModel:
    """An n-gram model over a vocabulary of ids; log probabilities are in nats.

    If an n-gram is not listed, its probability is that of the n-gram without its first word, times
    the backoff weight of its context.
    """

    def __init__(
        self, *, tables: list[NgramTable], log_probs: list[Floats], log_backoffs: list[Floats]
    ) -> None:
        self.tables = tables
        self.log_probs = log_probs
        self.log_backoffs = log_backoffs

    @property
    def order(self) -> int:
        """Length of the longest n-grams."""
        return len(self.tables)

    @property
    def vocabulary_size(self) -> int:
        """Number of ids, including those of special symbols."""
        return len(self.tables[0])

    def score(self, sentences: Sequence[Ints]) -> list[Floats]:
        """Return the log probability of each token and, last, of the end of the sentence."""
        if not sentences:
            return []
        lengths = np.array([len(sentence) for sentence in sentences])
        text, is_begin = with_boundaries(np.concatenate(sentences), lengths)
        scores = self._score_text(text, is_begin)[~is_begin]
        return np.split(scores, np.cumsum(lengths + 1)[:-1])

    def next_log_probs(self, context: Sequence[int]) -> Floats:
        """Return the log probability of every token of the vocabulary after a prefix."""
        history = np.array([BEGIN_ID, *context], dtype=np.int64)
        size = self.vocabulary_size
        grams = np.concatenate([np.tile(history, (size, 1)), np.arange(size)[:, None]], axis=1)
        return self.score_ngrams(grams)

    def score_ngrams(self, grams: Ints) -> Floats:
        """``(n-grams,)`` log probabilities of the last words of n-grams after the other words."""
        is_begin = np.arange(grams.size) % grams.shape[1] == 0
        return self._score_text(grams.ravel(), is_begin).reshape(grams.shape)[:, -1]

    def last_log_probs(self, grams: Sequence[tuple[Sequence[int], bool, int]]) -> Floats:
        """Return the log probability of a token after a history, for each of ``grams``.

        A gram is a history, whether it begins a sentence, and a token.
        """
        lengths = np.array([len(history) + is_first + 1 for history, is_first, _ in grams])
        text = np.array(
            [
                token
                for history, is_first, last in grams
                for token in (*((BEGIN_ID,) if is_first else ()), *history, last)
            ],
            dtype=np.int64,
        )
        starts = np.zeros(len(text), dtype=bool)
        starts[np.cumsum(lengths) - lengths] = True
        scores: Floats = self._score_text(text, starts)[np.cumsum(lengths) - 1]
        return scores

    def _score_text(self, text: Ints, is_begin: Bools) -> Floats:
        found = find_all(self.tables, text, is_begin)
        scores = self.log_probs[0][found[0]]
        for level in range(1, self.order):
            # Backing off costs the weight of the context; an unlisted context has weight one.
            context = np.concatenate([[ABSENT], found[level - 1][:-1]])
            context[is_begin] = ABSENT
            backed_off = scores + _look_up(self.log_backoffs[level - 1], context, 0.0)
            scores = _look_up(self.log_probs[level], found[level], backed_off)
        return scores

    def save(self, path: Path) -> None:
        """Write all arrays as safetensors."""
        arrays: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]] = {}
        for level in range(self.order):
            arrays[f"keys.{level + 1}"] = self.tables[level].keys
            arrays[f"log_prob.{level + 1}"] = self.log_probs[level]
            arrays[f"log_backoff.{level + 1}"] = self.log_backoffs[level]
        save_arrays(arrays, path)

    @staticmethod
    def load(path: Path) -> NgramModel:
        """Read a model written by :meth:`save`."""
        arrays = load_arrays(path)
        try:
            order = len(arrays) // 3
            size = len(arrays["keys.1"])
            levels = range(1, order + 1)
            return NgramModel(
                tables=[NgramTable(arrays[f"keys.{level}"], size) for level in levels],
                log_probs=[arrays[f"log_prob.{level}"] for level in levels],
                log_backoffs=[arrays[f"log_backoff.{level}"] for level in levels],
            )
        except (KeyError, IndexError, ValueError) as error:
            raise DamagedRunError(f"{path}: is not an n-gram model ({error})") from error


def _look_up(values: Floats, rows: Ints, otherwise: Floats | float) -> Floats:
    """Return the values of rows, and ``otherwise`` for ``ABSENT`` rows; tables may be empty."""
    return np.where(rows == ABSENT, otherwise, np.append(values, 0.0)[rows])


def with_boundaries(tokens: Ints, lengths: Ints) -> tuple[Ints, Bools]:
    """Add a begin and an end symbol to each sentence; also mark the begin symbols."""
    ends = np.cumsum(lengths + 2)
    text = np.empty(int(ends[-1]), dtype=np.int64)
    is_begin = np.zeros(len(text), dtype=bool)
    is_begin[ends - (lengths + 2)] = True
    is_end = np.zeros(len(text), dtype=bool)
    is_end[ends - 1] = True
    text[is_begin] = BEGIN_ID
    text[is_end] = END_ID
    text[~(is_begin | is_end)] = tokens
    return text, is_begin


def train_ngram(split: EncodedSplit, *, vocabulary_size: int, order: PositiveInt = 5) -> NgramModel:
    """Estimate a Kneser-Ney model from a split."""
    text, is_begin = with_boundaries(split.tokens.astype(np.int64), split.lengths)
    tables, log_probs, log_backoffs = kneser_ney.estimate(
        text, is_begin, order=order, vocabulary_size=vocabulary_size
    )
    return NgramModel(tables=tables, log_probs=log_probs, log_backoffs=log_backoffs)


def train_unigram(split: EncodedSplit, *, vocabulary_size: int) -> NgramModel:
    """Estimate a unigram model with add-one smoothing."""
    text, _ = with_boundaries(split.tokens.astype(np.int64), split.lengths)
    counts = np.bincount(text, minlength=vocabulary_size) + 1.0
    counts[list(kneser_ney.NOT_PREDICTED)] = 0.0
    with np.errstate(divide="ignore"):
        log_probs = np.log(counts / counts.sum())
    return NgramModel(
        tables=[NgramTable(np.arange(vocabulary_size), vocabulary_size)],
        log_probs=[log_probs],
        log_backoffs=[np.zeros(vocabulary_size)],
    )
