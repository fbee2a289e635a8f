"""Make an n-gram model of the n-grams that an ARPA file lists."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from gardenpath.data.arrays import Floats, Ints
from gardenpath.data.words.vocabulary import BEGIN_ID
from gardenpath.errors import InputError
from gardenpath.models.ngram.ngram import NgramModel
from gardenpath.models.ngram.ngram_trie import ABSENT, NgramTable
from gardenpath.units import NATS_PER_LOG10

# ARPA files write this value for a probability of zero, because the logarithm is infinite.
LOG10_ZERO = -99.0


@dataclass(eq=False)
class ArpaSection:
    """The n-grams of one order in the order of the file; compact, because there may be millions."""

    order: int
    ids: array[int] = field(default_factory=lambda: array("q"))
    """The words of all n-grams, one n-gram after the other."""
    log10: array[float] = field(default_factory=lambda: array("d"))
    """Probability and backoff weight of each n-gram."""
    lines: array[int] = field(default_factory=lambda: array("q"))
    """Line of each n-gram in the file."""

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def grams(self) -> Ints:
        """``(n-grams, order)`` ids of words."""
        return np.array(self.ids, dtype=np.int64).reshape(-1, self.order)

    @property
    def values(self) -> Floats:
        """``(n-grams, 2)`` log probabilities and log backoff weights, in nats."""
        found = np.array(self.log10).reshape(-1, 2)
        return np.where(found <= LOG10_ZERO, -np.inf, found * NATS_PER_LOG10)


def build_model(sections: Sequence[ArpaSection], tokens: Sequence[str], path: Path) -> NgramModel:
    """Return the model of the sections of a file; words are numbered as in ``tokens``.

    SRILM's pruning can remove an n-gram but keep a longer one that begins with it. Such an n-gram
    is inserted with the probability that it has by backing off, and with backoff weight one: no
    probability changes.
    """
    for section in sections:
        _require_distinct(section, tokens, path)
    nothing = [np.zeros((0, section.order), dtype=np.int64) for section in sections]
    # Files that are not pruned list all contexts, and finding missing ones takes longer.
    model = _built(sections, nothing, len(tokens))
    if model is None:
        missing = _missing_contexts([section.grams for section in sections])
        model = _built(sections, missing, len(tokens))
    assert model is not None
    return model


def _require_distinct(section: ArpaSection, tokens: Sequence[str], path: Path) -> None:
    grams = section.grams
    by_words = np.lexsort(grams.T)
    is_same = (grams[by_words[1:]] == grams[by_words[:-1]]).all(axis=1)
    if not is_same.any():
        return
    place = int(is_same.argmax())
    first, again = (section.lines[int(row)] for row in by_words[place : place + 2])
    spelled = " ".join(tokens[word] for word in grams[by_words[place]])
    raise InputError(
        f"{spelled!r} is listed twice, first in line {first}",
        path=path,
        line=again,
        remedy="remove one of the two lines and correct the number of n-grams; <UNK> is <unk>",
    )


def _missing_contexts(grams: Sequence[Ints]) -> list[Ints]:
    """Return, for each order, the beginnings of longer n-grams that are not listed."""
    missing = [np.zeros((0, order), dtype=np.int64) for order in range(1, len(grams) + 1)]
    for level in range(len(grams) - 1, 1, -1):
        longer = np.concatenate([grams[level], missing[level]])[:, :-1]
        listed = np.unique(grams[level - 1], axis=0)
        both, counts = np.unique(
            np.concatenate([listed, listed, np.unique(longer, axis=0)]), axis=0, return_counts=True
        )
        missing[level - 1] = both[counts == 1]  # not among those listed, which are counted twice
    return missing


def _built(
    sections: Sequence[ArpaSection], missing: Sequence[Ints], size: int
) -> NgramModel | None:
    """Return the model of listed and missing n-grams; None if others are missing."""
    model = _unigrams(sections[0], size)
    for section, absent in zip(sections[1:], missing[1:], strict=True):
        inserted = np.stack([_backed_off(model, absent), np.zeros(len(absent))], axis=1)
        grams = np.concatenate([section.grams, absent])
        contexts = _rows(model, grams[:, :-1])
        if (contexts == ABSENT).any():
            return None
        keys = contexts * size + grams[:, -1]
        by_key = np.argsort(keys)
        values = np.concatenate([section.values, inserted])
        model.tables.append(NgramTable(keys[by_key], size))
        model.log_probs.append(values[by_key, 0])
        model.log_backoffs.append(values[by_key, 1])
    return model


def _unigrams(section: ArpaSection, size: int) -> NgramModel:
    log_probs, log_backoffs = np.full(size, -np.inf), np.zeros(size)
    words, values = section.grams[:, 0], section.values
    log_probs[words], log_backoffs[words] = values[:, 0], values[:, 1]
    # The begin symbol is never predicted, whatever number a file gives it (KenLM writes 0).
    log_probs[BEGIN_ID] = -np.inf
    return NgramModel(
        tables=[NgramTable(np.arange(size), size)],
        log_probs=[log_probs],
        log_backoffs=[log_backoffs],
    )


def _rows(model: NgramModel, grams: Ints) -> Ints:
    """``(n-grams,)`` rows of n-grams of the highest order of a model, ``ABSENT`` if not listed."""
    rows = grams[:, 0]
    for level in range(1, grams.shape[1]):
        rows = model.tables[level].find(rows, grams[:, level])
    return rows


def _backed_off(model: NgramModel, grams: Ints) -> Floats:
    """``(n-grams,)`` log probabilities of n-grams that are one word longer than the order."""
    if not len(grams):
        return np.zeros(0)
    weights: Floats = model.log_backoffs[-1][_rows(model, grams[:, :-1])]
    return model.score_ngrams(grams) + weights
