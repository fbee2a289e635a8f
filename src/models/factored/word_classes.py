"""Classes of words that occur in similar contexts, from the words before and after them.

A class is predictable if its words are preceded and followed by the same words. The classes are
therefore chosen such that contexts tell as much as possible about the class: they maximise
Σ_w Σ_f N(w, f) log q(f | class of w), where N(w, f) counts how often word w has context f (a word
to the left, or one to the right), and q is the distribution of contexts in a class
(information-theoretic clustering; Dhillon et al. 2003). With contexts on the left alone, this is
the likelihood of p(class | word before) p(word | class). As in k-means, words move to the best
class and classes are estimated anew, in turn. Classes have a maximum size; frequent words choose
first.

Everything is computed in one order, with the same result for the same corpus.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np
import scipy.sparse

from gardenpath.data.arrays import Floats, Ints
from gardenpath.data.encoding.encoded import EncodedSplit
from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID

# The class of symbols that never come next.
NO_CLASS = -1

# Contexts are the most frequent words on each side; all others count as one.
_CONTEXTS = 2000
# Tokens that are read: of a larger corpus, blocks of sentences at equal distances.
_MOST_TOKENS = 30_000_000
_BLOCK_SENTENCES = 20_000
_ROUNDS = 12
# Expected occurrences of contexts, in proportion to their frequency, that are added to each class.
_SMOOTHING = 10.0
# A context that no class has is added to all of them, so that logarithms are finite.
_LEAST = 1e-9
# Words that are assigned at a time; limits memory.
_ROWS = 4096


def class_count(vocabulary_size: int) -> int:
    """Return the number of classes: that of the words of a class is of the same order."""
    return max(1, math.ceil(math.sqrt(vocabulary_size)))


def most_in_class(vocabulary_size: int) -> int:
    """Return the maximum number of words of a class."""
    return math.ceil(1.5 * vocabulary_size / class_count(vocabulary_size))


def classes_by_frequency(vocabulary_size: int, never: Iterable[int]) -> Ints:
    """``(vocabulary,)`` classes of equal size from the order of ids, which is that of frequency."""
    words = _words(vocabulary_size, never)
    found = np.full(vocabulary_size, NO_CLASS, dtype=np.int64)
    found[words] = np.arange(len(words)) * class_count(vocabulary_size) // max(len(words), 1)
    return found


def classes_by_context(split: EncodedSplit, vocabulary_size: int, never: Iterable[int]) -> Ints:
    """``(vocabulary,)`` classes of words with similar contexts; ``NO_CLASS`` for ``never``."""
    words = _words(vocabulary_size, never)
    counts = _context_counts(split, vocabulary_size)[words]
    found = np.full(vocabulary_size, NO_CLASS, dtype=np.int64)
    found[words] = _clustered(counts, class_count(vocabulary_size), most_in_class(vocabulary_size))
    return found


def _words(vocabulary_size: int, never: Iterable[int]) -> Ints:
    return np.setdiff1d(np.arange(vocabulary_size), np.array(list(never), dtype=np.int64))


def _context_counts(split: EncodedSplit, vocabulary_size: int) -> scipy.sparse.csr_array:
    """``(vocabulary, contexts)`` numbers of words to the left and, in other columns, the right."""
    frequency = np.zeros(vocabulary_size, dtype=np.int64)
    for before, _ in _neighbours(split):
        frequency += np.bincount(before, minlength=vocabulary_size)
    contexts = np.lexsort((np.arange(vocabulary_size), -frequency))[:_CONTEXTS]
    column = np.full(vocabulary_size, len(contexts), dtype=np.int64)
    column[contexts] = np.arange(len(contexts))
    width = len(contexts) + 1
    total = scipy.sparse.csr_array((vocabulary_size, 2 * width), dtype=np.float64)
    for before, after in _neighbours(split):
        rows = np.concatenate([after, before])
        columns = np.concatenate([column[before], column[after] + width])
        ones = np.ones(len(rows))
        total = total + scipy.sparse.csr_array((ones, (rows, columns)), shape=total.shape)
    return total


def _neighbours(split: EncodedSplit) -> Iterator[tuple[Ints, Ints]]:
    """Yield words and the words after them, with the begin and the end of each sentence."""
    starts = range(0, len(split), _BLOCK_SENTENCES)
    for start in starts[:: math.ceil(len(split.tokens) / _MOST_TOKENS) or 1]:
        block = split.take(np.arange(start, min(start + _BLOCK_SENTENCES, len(split))))
        tokens = block.tokens.astype(np.int64)
        before = np.insert(tokens, block.offsets[:-1], BEGIN_ID)
        after = np.insert(tokens, block.offsets[1:], END_ID)
        yield before, after


def _clustered(counts: scipy.sparse.csr_array, classes: int, most: int) -> Ints:
    """``(words,)`` classes, each of at most ``most`` words."""
    frequency = counts.sum(axis=1)
    order = np.lexsort((np.arange(len(frequency)), -frequency))
    sorted_counts = counts[order]
    # At first, each of the most frequent words is a class.
    seeds = min(classes, len(order))
    found = np.arange(seeds)
    for _ in range(_ROUNDS):
        log_contexts = _log_contexts(sorted_counts[: len(found)], found, classes)
        before, found = found, _assigned(sorted_counts, log_contexts, most)
        if np.array_equal(before, found):
            break
    result = np.empty_like(found)
    result[order] = found
    return result


def _log_contexts(counts: scipy.sparse.csr_array, found: Ints, classes: int) -> Floats:
    """``(contexts, classes)`` log probabilities of contexts, given the classes of words."""
    rows = np.arange(len(found))
    is_member = scipy.sparse.csr_array(
        (np.ones(len(found)), (found, rows)), shape=(classes, len(found))
    )
    sums = (is_member @ counts).toarray() + _LEAST
    sums += _SMOOTHING * sums.sum(axis=0) / sums.sum()
    log_contexts: Floats = np.log(sums / sums.sum(axis=1, keepdims=True)).T
    return np.ascontiguousarray(log_contexts)


def _assigned(counts: scipy.sparse.csr_array, log_contexts: Floats, most: int) -> Ints:
    """``(words,)`` best classes that still have room, word after word."""
    found = np.empty(counts.shape[0], dtype=np.int64)
    room = np.full(log_contexts.shape[1], most)
    penalty = np.zeros(log_contexts.shape[1])
    for start in range(0, len(found), _ROWS):
        scores = counts[start : start + _ROWS] @ log_contexts
        for place, row in enumerate(scores, start):
            best = int(np.argmax(row + penalty))
            found[place] = best
            room[best] -= 1
            if not room[best]:
                penalty[best] = -np.inf
    return found
