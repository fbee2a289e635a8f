"""Total probabilities of sets of pieces under an n-gram model (:mod:`piece_sets`).

The mass of a set after a context is that of the n-grams listed with the context, plus the backoff
weight times the mass after the shorter context of the tokens that are not listed. So the masses
after all listed contexts follow from those after shorter ones, and a sentence only looks them up.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gardenpath.data.arrays import Bools, Floats, Ints
from gardenpath.data.words.boundaries import Boundary
from gardenpath.data.words.piece_sets import PieceSets
from gardenpath.data.words.vocabulary import END_ID
from gardenpath.models.ngram.ngram import NgramModel, with_boundaries
from gardenpath.models.ngram.ngram_trie import ABSENT, find_all, suffix_rows


class NgramMasses:
    """Sums of the probabilities of pieces that a choice of boundaries needs."""

    def __init__(self, model: NgramModel, sets: PieceSets, boundary: Boundary) -> None:
        self._model = model
        self._sets = sets
        self._boundary = boundary
        self._after: list[Floats] | None = None

    def __call__(self, sentences: Sequence[Ints]) -> list[Floats]:
        """``(tokens + 1,)`` log masses for each sentence."""
        if self._boundary == "next":
            return self._that_follow_words(sentences)
        return [self._alike(sentence) for sentence in sentences]

    def _that_follow_words(self, sentences: Sequence[Ints]) -> list[Floats]:
        if not sentences:
            return []
        if self._after is None:
            self._after = masses_after(self._model, self._sets.follows_word)
        lengths = np.array([len(sentence) for sentence in sentences])
        text, is_begin = with_boundaries(np.concatenate(sentences), lengths)
        found = find_all(self._model.tables, text, is_begin)
        masses = np.full(len(text), self._after[0][0])
        for level in range(1, self._model.order):
            context = np.concatenate([[ABSENT], found[level - 1][:-1]])
            context[is_begin] = ABSENT
            known = context != ABSENT
            masses[known] = self._after[level][context[known]]
        return np.split(np.log(masses[~is_begin]), np.cumsum(lengths + 1)[:-1])

    def _alike(self, sentence: Ints) -> Floats:
        """Score each position with all pieces that begin with the piece at this position."""
        order = self._model.order
        tokens = [*sentence.tolist(), END_ID]
        histories: list[tuple[list[int], bool, int]] = []
        places: list[int] = []
        for place, token in enumerate(tokens):
            history = tokens[max(place - order + 1, 0) : place]
            # Shorter contexts than that of the model occur only at the beginning of a sentence.
            histories += [(history, place < order, int(one)) for one in self._sets.alike(token)]
            places += [place] * (len(histories) - len(places))
        log_probs = self._model.last_log_probs(histories)
        result = np.full(len(tokens), -np.inf)
        np.logaddexp.at(result, np.array(places), log_probs)
        return result


def masses_after(model: NgramModel, is_member: Bools) -> list[Floats]:
    """Return the mass of a set of tokens after each listed context, by length of the context."""
    probs = [np.exp(one) for one in model.log_probs]
    masses = [np.array([probs[0][is_member].sum()])]
    for level in range(1, model.order):
        table = model.tables[level]
        longer = np.flatnonzero(is_member[table.words])
        shorter = suffix_rows(model.tables, level + 1)[longer]
        contexts = table.contexts[longer]
        size = len(model.tables[level - 1])
        listed = np.bincount(contexts, weights=probs[level][longer], minlength=size)
        covered = np.bincount(contexts, weights=probs[level - 1][shorter], minlength=size)
        below = masses[level - 1][_shorter_contexts(model, level)]
        weight = np.exp(model.log_backoffs[level - 1])
        masses.append(listed + weight * np.maximum(below - covered, 0.0))
    return masses


def _shorter_contexts(model: NgramModel, level: int) -> Ints:
    """Return, for each context of ``level`` tokens, the row of the context without its first."""
    if level == 1:
        return np.zeros(len(model.tables[0]), dtype=np.int64)
    return suffix_rows(model.tables, level)
