"""Sample trees from a grammar, reproducibly for a given random seed."""

from __future__ import annotations

import bisect
import itertools
import random

from gardenpath.data.pcfg.grammar import Grammar, Rule, tree_label
from gardenpath.data.trees.tree import CLOSE, Event, Open, Tree, Word, from_events


class Sampler:
    """An endless stream of independent trees.

    The generator is Python's Mersenne Twister, which produces the same stream on every platform
    and in every version.
    """

    def __init__(self, grammar: Grammar, *, seed: int) -> None:
        self._grammar = grammar
        self._random = random.Random(seed)
        self._cumulative = {
            left: list(itertools.accumulate(rule.probability for rule in rules))
            for left, rules in grammar.rules.items()
        }

    def draw(self) -> Tree:
        """Draw one tree, expanding the leftmost category first."""
        events: list[Event] = []
        pending: list[str | None] = [self._grammar.start]  # None closes a constituent
        while pending:
            category = pending.pop()
            if category is None:
                events.append(CLOSE)
                continue
            rule = self._choose(category)
            if label := tree_label(category):
                events.append(Open(label))
                pending.append(None)
            if rule.is_lexical:
                events.append(Word(rule.right[0]))
            else:
                pending.extend(reversed(rule.right))
        return from_events(events)

    def _choose(self, category: str) -> Rule:
        cumulative = self._cumulative[category]
        point = self._random.random() * cumulative[-1]
        return self._grammar.rules[category][bisect.bisect_right(cumulative, point)]
