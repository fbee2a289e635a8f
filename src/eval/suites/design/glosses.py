"""Glosses of all variants of an item, from that of its first variant and those of the suite."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from gardenpath.eval.suites.design.suite import Item, Suite
from gardenpath.text import Words


class Glosses:
    """Glosses of every word of a suite.

    The words of a first variant have the gloss of the item. A word of another variant has that of
    the same word in the same region of the first variant, else anywhere in the first variant, else
    that of ``Suite.glosses``, else the only one that it has in the first variants of the suite. A
    word without any has an empty text.
    """

    def __init__(self, suite: Suite) -> None:
        self.suite = suite
        found: dict[str, set[str]] = {}
        for item in suite.items:
            for _, word, gloss in _aligned(suite, item):
                found.setdefault(word, set()).add(gloss)
        only = {word: min(texts) for word, texts in found.items() if len(texts) == 1}
        self._known = {**only, **suite.glosses}

    def of(self, item: Item) -> dict[tuple[str, int], Words]:
        """Return the glosses by condition and number of the variant; none without a gloss."""
        if not item.gloss:
            return {}
        in_region = {(region, word): text for region, word, text in _aligned(self.suite, item)}
        known = self._known | {word: text for (_, word), text in in_region.items()}
        found: dict[tuple[str, int], Words] = {}
        for number, variant in item.numbered_variants():
            given = () if found else item.gloss
            glossed: list[str] = []
            for region, words, own in zip_longest(self.suite.regions, variant.regions, given):
                if own is not None and len(own) == len(words):
                    glossed += own
                else:
                    glossed += (in_region.get((region, one), known.get(one, "")) for one in words)
            found[variant.condition, number] = tuple(glossed)
        return found


def _aligned(suite: Suite, item: Item) -> Iterator[tuple[str, str, str]]:
    """Yield region, word and gloss of the first variant, where they have the same length."""
    for region, words, gloss in zip(
        suite.regions, item.variants[0].regions, item.gloss, strict=False
    ):
        if len(words) == len(gloss):
            yield from ((region, word, text) for word, text in zip(words, gloss, strict=True))
