"""Pairs of words that alternate between the variants of an item, with their corpus frequencies.

If one of two nouns, verbs or reflexives is far more frequent than the other, a model may prefer it
for that reason alone.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gardenpath.eval.suites.design.suite import Item, Suite


@dataclass(frozen=True, slots=True)
class WordPair:
    """Two words that alternate in a region, their counts, and the number of such items."""

    region: str
    first: str
    second: str
    first_count: int
    second_count: int
    items: int

    @property
    def ratio(self) -> float:
        """Ratio of the higher to the lower count; infinite if only one word was seen."""
        rare, frequent = sorted((self.first_count, self.second_count))
        if frequent == 0:
            return 1.0
        return frequent / rare if rare else math.inf


def word_pairs(suite: Suite, count: Callable[[str], int]) -> tuple[WordPair, ...]:
    """Return all pairs with their counts, in descending order of ratio."""
    pairs: Counter[tuple[str, str, str]] = Counter()
    for item in suite.items:
        # Count each pair once per item, regardless of the order of the two words.
        pairs.update({(region, min(a, b), max(a, b)) for region, a, b in _pairs(suite, item)})
    rows = [
        WordPair(region, first, second, count(first), count(second), items)
        for (region, first, second), items in pairs.items()
    ]
    rows.sort(key=lambda pair: (-pair.ratio, -pair.items, pair.region, pair.first, pair.second))
    return tuple(rows)


def _pairs(suite: Suite, item: Item) -> Iterator[tuple[str, str, str]]:
    """Yield region and words, for the critical and differing regions of two variants of an item.

    Regions with different numbers of words are skipped because their words cannot be paired.
    """
    regions = [*suite.critical, *suite.differing] or list(suite.regions)
    for region in dict.fromkeys(regions):
        place = suite.region_index(region)
        for one, other in itertools.combinations(item.variants, 2):
            left, right = one.regions[place], other.regions[place]
            if len(left) == len(right):
                pairs = zip(left, right, strict=True)
                yield from ((region, a, b) for a, b in pairs if a != b)
