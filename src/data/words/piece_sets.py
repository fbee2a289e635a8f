"""Sets of pieces whose total probability makes word probabilities from those of pieces.

See :mod:`boundaries`. The pieces that begin a word carry a mark, and the pieces that begin with
given characters are neighbours in sorted order.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gardenpath.data.arrays import Bools, Floats, Ints
from gardenpath.data.encoding.encoded import EncodedSplit
from gardenpath.data.words.boundaries import Boundary
from gardenpath.data.words.vocabulary import SPECIALS, Vocabulary

# Comes after any character of a piece in sorted order.
_AFTER_ALL = "\U0010ffff"


@dataclass(frozen=True)
class PieceSets:
    """The pieces of a vocabulary: which of them can follow a word, and which begin alike."""

    vocabulary: Vocabulary

    @cached_property
    def follows_word(self) -> Bools:
        """``(vocabulary,)``: whether a token begins a word or ends the sentence."""
        return ~self.vocabulary.is_continuation

    @cached_property
    def sorted_ids(self) -> Ints:
        """The ids of all pieces, sorted by their characters."""
        tokens = self.vocabulary.tokens
        return np.array(sorted(range(len(SPECIALS), len(tokens)), key=tokens.__getitem__))

    @cached_property
    def ranges(self) -> Ints:
        """``(vocabulary, 2)``: for each piece, the range of ``sorted_ids`` that begin with it.

        Special symbols have empty ranges: nothing but themselves begins with them.
        """
        tokens = self.vocabulary.tokens
        in_order = [tokens[number] for number in self.sorted_ids.tolist()]
        result = np.zeros((len(tokens), 2), dtype=np.int64)
        for number in self.sorted_ids.tolist():
            begin = bisect.bisect_left(in_order, tokens[number])
            end = bisect.bisect_right(in_order, tokens[number] + _AFTER_ALL)
            result[number] = begin, end
        return result

    def alike(self, token: int) -> Ints:
        """Return the ids of all pieces that begin with the characters of a piece."""
        begin, end = self.ranges[token]
        return self.sorted_ids[begin:end] if end > begin else np.array([token])


def words_of_pieces(
    split: EncodedSplit, number: int, log_probs: Floats, masses: Floats | None, boundary: Boundary
) -> Floats:
    """``(words + 1,)`` log probabilities of the words of a sentence and of its end.

    ``log_probs`` are ``(tokens + 1,)`` log probabilities of pieces and end. ``masses`` are, for
    ``next``, those of all tokens that can follow a word, in place of each piece; for ``leading``,
    those of all pieces that begin with it; for ``none``, there are none.
    """
    if boundary == "none" or masses is None:
        return split.sum_to_words(number, log_probs)
    if boundary == "next":
        begins = masses[split.word_starts(number)]
        words = split.sum_to_words(number, log_probs) - begins
        words[:-1] += begins[1:]
        return words
    last = split.last_pieces(number)[:-1]
    before = np.cumsum(log_probs) - log_probs
    prefixes = np.append(before[last] + masses[last], log_probs.sum())
    return np.diff(prefixes, prepend=0.0)
