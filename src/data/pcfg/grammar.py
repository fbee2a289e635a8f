"""Probabilistic grammars with features, and quantities in closed form.

A grammar file is expanded (:mod:`grammar_file`) into plain rules over categories such as
``NP[sg,f]``. In a tree, a category shows only its name, ``NP``. A category whose name begins with
``_`` is auxiliary and does not appear in trees: its children take its place.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gardenpath.data.arrays import Floats
from gardenpath.errors import GrammarError

# The check of consistency takes time that is cubic in the number of categories.
_MOST_CATEGORIES = 1500


@dataclass(frozen=True, slots=True)
class Rule:
    """``left -> right`` with its probability given ``left``; a lexical rule has one word."""

    left: str
    right: tuple[str, ...]
    probability: float
    is_lexical: bool
    line: int


def tree_label(category: str) -> str:
    """Return the label that a category shows in a tree; empty for auxiliary categories."""
    name = category.split("[", 1)[0]
    return "" if name.startswith("_") else name


class Grammar:
    """A proper and consistent probabilistic context-free grammar without empty rules."""

    def __init__(self, *, start: str, rules: Iterable[Rule], path: str) -> None:
        self.start = start
        self.path = path
        by_left: dict[str, list[Rule]] = defaultdict(list)
        for rule in rules:
            by_left[rule.left].append(rule)
        self._require_defined(by_left)
        reachable = self._reachable(by_left)
        if len(reachable) > _MOST_CATEGORIES:
            raise GrammarError(
                f"has {len(reachable):,} categories; at most {_MOST_CATEGORIES:,} are possible",
                path=path,
                remedy="use fewer features, or features with fewer values",
            )
        self.rules: Mapping[str, tuple[Rule, ...]] = {
            left: tuple(by_left[left]) for left in reachable
        }
        self._require_consistent()

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """All categories reachable from the start category, in a fixed order."""
        return tuple(self.rules)

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Maps each category to its position in :attr:`categories`."""
        return {category: number for number, category in enumerate(self.categories)}

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All words, sorted."""
        return tuple(sorted({rule.right[0] for rule in self._all_rules() if rule.is_lexical}))

    @cached_property
    def expected_children(self) -> Floats:
        """``[A, B]``: mean number of children ``B`` in one expansion of ``A``."""
        matrix = np.zeros((len(self.categories), len(self.categories)))
        for rule in self._all_rules():
            if not rule.is_lexical:
                for child, count in Counter(rule.right).items():
                    matrix[self.index[rule.left], self.index[child]] += rule.probability * count
        return matrix

    @cached_property
    def expected_length(self) -> float:
        """Mean number of words of a sentence."""
        words = np.array(
            [
                sum(rule.probability for rule in self.rules[category] if rule.is_lexical)
                for category in self.categories
            ]
        )
        return self._total_over_derivation(words)

    @cached_property
    def derivation_entropy_bits(self) -> float:
        """The entropy in bits of a derivation, that is, of a sentence together with its tree.

        For an unambiguous grammar, this is the entropy of a sentence; otherwise it exceeds that
        entropy by the mean uncertainty about the tree of a given sentence. A derivation's
        information adds up over its rules, so the mean solves a linear system: H = h + M H.
        """
        local = np.array(
            [
                -sum(rule.probability * math.log2(rule.probability) for rule in rules)
                for rules in self.rules.values()
            ]
        )
        return self._total_over_derivation(local)

    def _total_over_derivation(self, per_category: Floats) -> float:
        identity = np.eye(len(self.categories))
        totals = np.linalg.solve(identity - self.expected_children, per_category)
        return float(totals[self.index[self.start]])

    def _all_rules(self) -> Iterable[Rule]:
        return (rule for rules in self.rules.values() for rule in rules)

    def _require_defined(self, by_left: Mapping[str, list[Rule]]) -> None:
        if self.start not in by_left:
            raise GrammarError(f"the start category {self.start} has no rule", path=self.path)
        for rules in by_left.values():
            for rule in rules:
                missing = [] if rule.is_lexical else [c for c in rule.right if c not in by_left]
                if missing:
                    raise GrammarError(
                        f"{missing[0]} has no rule",
                        path=self.path,
                        line=rule.line,
                        remedy="add one, or restrict the features of this rule",
                    )

    def _reachable(self, by_left: Mapping[str, list[Rule]]) -> list[str]:
        seen = {self.start: None}  # a dict keeps the order of discovery
        pending = deque([self.start])
        while pending:
            for rule in by_left[pending.popleft()]:
                for child in () if rule.is_lexical else rule.right:
                    if child not in seen:
                        seen[child] = None
                        pending.append(child)
        return list(seen)

    def _require_consistent(self) -> None:
        """Require spectral radius of M < 1, so that infinite trees have probability zero."""
        radius = float(np.abs(np.linalg.eigvals(self.expected_children)).max())
        if radius >= 1.0 - 1e-9:
            raise GrammarError(
                f"recursion does not terminate (spectral radius {radius:.3f}, must be below 1)",
                path=self.path,
                remedy="lower the weights of recursive rules",
            )
