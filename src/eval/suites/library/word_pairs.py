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

from rich.table import Table
from rich.text import Text

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


def pair_table(pairs: tuple[WordPair, ...], *, most: int = 20) -> Table:
    """The pairs with the most unequal frequencies, for the terminal."""
    title = f"Paired words, {min(most, len(pairs))} most unequal of {len(pairs)}"
    table = Table(title=title, title_justify="left")
    for heading in ("region", "word", "word"):
        table.add_column(heading)
    for heading in ("count", "count", "ratio", "items"):
        table.add_column(heading, justify="right")
    for pair in pairs[:most]:
        ratio = "unseen" if math.isinf(pair.ratio) else f"{pair.ratio:.1f}"
        counts = (f"{pair.first_count:,}", f"{pair.second_count:,}")
        cells = (pair.region, pair.first, pair.second, *counts, ratio, str(pair.items))
        table.add_row(*map(Text, cells))
    return table
