"""Modified interpolated Kneser-Ney in the most obvious way: dictionaries and recursion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

BEGIN, END = 1, 2
NOT_PREDICTED = (0, BEGIN)

Gram = tuple[int, ...]


class SlowKneserNey:
    """The equations of Chen and Goodman (1998), one n-gram at a time."""

    def __init__(
        self, sentences: Sequence[Sequence[int]], *, order: int, vocabulary_size: int
    ) -> None:
        self._order = order
        self._size = vocabulary_size
        counts = [_count(sentences, length) for length in range(1, order + 1)]
        self._adjusted = [
            counts[-1] if length == order else _preceded(counts[length - 1], counts[length])
            for length in range(1, order + 1)
        ]
        for symbol in NOT_PREDICTED:
            self._adjusted[0].pop((symbol,), None)
        self._discounts = [discounts(list(level.values())) for level in self._adjusted]

    def probability(self, word: int, history: Sequence[int]) -> float:
        """Of a word after the begin symbol and a history."""
        padded = (BEGIN, *history)
        return self._interpolated(word, padded[-(self._order - 1) :] if self._order > 1 else ())

    def _interpolated(self, word: int, context: Gram) -> float:
        level = len(context)
        followers = {
            gram: count for gram, count in self._adjusted[level].items() if gram[:-1] == context
        }
        lower = self._lower(word, context)
        if not followers:
            return lower
        total = sum(followers.values())
        kept = sum(self._discount(level, count) for count in followers.values())
        count = followers.get((*context, word), 0)
        return (count - self._discount(level, count) + kept * lower) / total

    def _lower(self, word: int, context: Gram) -> float:
        if context:
            return self._interpolated(word, context[1:])
        return 0.0 if word in NOT_PREDICTED else 1.0 / (self._size - len(NOT_PREDICTED))

    def _discount(self, level: int, count: int) -> float:
        return 0.0 if count == 0 else self._discounts[level][min(count, 3) - 1]


def _count(sentences: Sequence[Sequence[int]], length: int) -> Counter[Gram]:
    counts: Counter[Gram] = Counter()
    for sentence in sentences:
        padded = (BEGIN, *sentence, END)
        for begin in range(len(padded) - length + 1):
            counts[padded[begin : begin + length]] += 1
    return counts


def _preceded(counts: Counter[Gram], longer: Counter[Gram]) -> Counter[Gram]:
    """How many different words precede each n-gram; counts where a sentence begins."""
    adjusted: Counter[Gram] = Counter()
    for gram, count in counts.items():
        precedes = sum(1 for candidate in longer if candidate[1:] == gram)
        adjusted[gram] = count if gram[0] == BEGIN else precedes
    return adjusted


def discounts(counts: Sequence[int]) -> tuple[float, float, float]:
    """D1, D2 and D3+ from counts of counts, or fixed ones where these do not allow it."""
    n1, n2, n3, n4 = (sum(1 for count in counts if count == k) for k in (1, 2, 3, 4))
    fallback = (0.5, 1.0, 1.5)
    if 0 in (n1, n2, n3, n4):
        return fallback
    y = n1 / (n1 + 2 * n2)
    d1, d2, d3 = 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3
    return (d1, d2, d3) if 0 < d1 <= 1 and 0 < d2 <= 2 and 0 < d3 <= 3 else fallback
