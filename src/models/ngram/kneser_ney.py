"""Modified interpolated Kneser-Ney smoothing (Chen and Goodman 1998), in vectorised form.

The highest order uses counts. Lower orders use the number of different words that precede an
n-gram, except that n-grams at the beginning of a sentence, which no word precedes, keep their
counts. With discounts D1, D2, D3+ estimated for each order from the counts of counts::

    p(w | context) = (a(context w) - D(a)) / sum_x a(context x)
                     + backoff(context) · p(w | shorter context)

and the empty context backs off to the uniform distribution.
"""

from __future__ import annotations

import numpy as np

from gardenpath.data.arrays import Bools, Floats, Ints
from gardenpath.data.words.vocabulary import BEGIN_ID, PAD_ID
from gardenpath.models.ngram.ngram_trie import NgramTable, count_ngrams, suffix_rows

# Used if a corpus is too small to estimate discounts.
FALLBACK_DISCOUNTS = (0.5, 1.0, 1.5)

# Symbols that are never predicted.
NOT_PREDICTED = (PAD_ID, BEGIN_ID)


def estimate(
    words: Ints, is_begin: Bools, *, order: int, vocabulary_size: int
) -> tuple[list[NgramTable], list[Floats], list[Floats]]:
    """Return tables, log probabilities and log backoff weights (nats) of each order.

    ``words`` is the text with a begin and an end symbol around each sentence. Probabilities are
    already interpolated, so that scoring only has to back off.
    """
    tables, counts = count_ngrams(words, is_begin, order=order, vocabulary_size=vocabulary_size)
    begins = _begins_sentence(tables)
    adjusted = _adjusted_counts(tables, counts, begins)
    adjusted[0][list(NOT_PREDICTED)] = 0

    probabilities: list[Floats] = []
    backoffs: list[Floats] = []
    for level in range(order):
        size = len(tables[level - 1]) if level else 1
        contexts = tables[level].contexts
        direct, weight = _discounted(adjusted[level], contexts, size)
        if level == 0:
            lower = np.full(vocabulary_size, 1.0 / (vocabulary_size - len(NOT_PREDICTED)))
            lower[list(NOT_PREDICTED)] = 0.0
        else:
            lower = probabilities[-1][suffix_rows(tables, level + 1)]
            backoffs.append(weight)
        probabilities.append(direct + weight[contexts] * lower)
    backoffs.append(np.ones(len(tables[-1])))
    with np.errstate(divide="ignore"):
        return tables, [np.log(p) for p in probabilities], [np.log(b) for b in backoffs]


def _begins_sentence(tables: list[NgramTable]) -> list[Bools]:
    marks = [np.arange(len(tables[0])) == BEGIN_ID]
    for table in tables[1:]:
        marks.append(marks[-1][table.contexts])
    return marks


def _adjusted_counts(
    tables: list[NgramTable], counts: list[Ints], begins: list[Bools]
) -> list[Ints]:
    adjusted = []
    for level, count in enumerate(counts):
        if level == len(tables) - 1:
            adjusted.append(count.copy())
            continue
        # Each distinct longer n-gram adds one to the count of its suffix.
        preceded = np.bincount(suffix_rows(tables, level + 2), minlength=len(count))
        adjusted.append(np.where(begins[level], count, preceded))
    return adjusted


def _discounted(adjusted: Ints, contexts: Ints, context_count: int) -> tuple[Floats, Floats]:
    """Return discounted relative frequencies, and the mass that each context keeps for backing off.

    A context that is never followed by a word keeps all of its mass.
    """
    discounts = np.concatenate([[0.0], estimate_discounts(adjusted)])
    discount = discounts[np.minimum(adjusted, 3)]
    totals = np.bincount(contexts, weights=adjusted, minlength=context_count)
    kept = np.bincount(contexts, weights=discount, minlength=context_count)
    seen = totals > 0
    totals[~seen] = 1.0
    direct = (adjusted - discount) / totals[contexts]
    return direct, np.where(seen, kept / totals, 1.0)


def estimate_discounts(adjusted: Ints) -> tuple[float, float, float]:
    """Estimate D1, D2 and D3+ from the numbers of n-grams with counts 1, 2, 3 and 4."""
    n1, n2, n3, n4 = (int((adjusted == k).sum()) for k in range(1, 5))
    if min(n1, n2, n3, n4) == 0:
        return FALLBACK_DISCOUNTS
    y = n1 / (n1 + 2 * n2)
    found = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
    # A discount of zero would leave no mass for words never seen after a context.
    if any(not 0.0 < value <= k for k, value in enumerate(found, start=1)):
        return FALLBACK_DISCOUNTS
    return found
