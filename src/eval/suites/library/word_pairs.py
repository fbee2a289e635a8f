"""Words that take each other's place in a suite, and how often a corpus has each of them.

Where one of two nouns, verbs or reflexives is far more frequent than the other, a model may prefer
it for that alone.
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
    """Two words that alternate in a region, their counts, and in how many items they do so."""

    region: str
    first: str
    second: str
    first_count: int
    second_count: int
    items: int

    @property
    def ratio(self) -> float:
        """How many times as frequent the more frequent word is; infinite where one is unseen."""
        rare, frequent = sorted((self.first_count, self.second_count))
        if frequent == 0:
            return 1.0
        return frequent / rare if rare else math.inf


def word_pairs(suite: Suite, count: Callable[[str], int]) -> tuple[WordPair, ...]:
    """All pairs with their counts, those of the largest ratio first."""
    pairs: Counter[tuple[str, str, str]] = Counter()
    for item in suite.items:
        # Once per item, whichever of the two words comes first.
        pairs.update({(region, min(a, b), max(a, b)) for region, a, b in _pairs(suite, item)})
    rows = [
        WordPair(region, first, second, count(first), count(second), items)
        for (region, first, second), items in pairs.items()
    ]
    rows.sort(key=lambda pair: (-pair.ratio, -pair.items, pair.region, pair.first, pair.second))
    return tuple(rows)


def _pairs(suite: Suite, item: Item) -> Iterator[tuple[str, str, str]]:
    """Region and words, at the critical and differing regions of two variants of an item.

    Only where both have equally many words there: otherwise nothing says which stands for which.
    """
    regions = [*suite.critical, *suite.differing] or list(suite.regions)
    for region in dict.fromkeys(regions):
        place = suite.region_index(region)
        for one, other in itertools.combinations(item.variants, 2):
            left, right = one.regions[place], other.regions[place]
            if len(left) == len(right):
                pairs = zip(left, right, strict=True)
                yield from ((region, a, b) for a, b in pairs if a != b)
