"""Small tools for grammars: shipped files, scored sampling, brute force and slow oracles."""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from gardenpath.data.pcfg.exact import ExactModel
from gardenpath.data.pcfg.grammar import Grammar, Rule, parse_grammar
from gardenpath.data.trees.tree import Tree
from gardenpath.util import Words

SHIPPED = Path(__file__).parents[2] / "src" / "data" / "grammars"


def grammar_of(text: str) -> Grammar:
    """Read a grammar from a string."""
    return parse_grammar(text.splitlines(), path="test.pcfg")


def expected_length(grammar: Grammar) -> float:
    """The mean number of words of a sentence."""
    words = [
        sum(rule.probability for rule in rules if rule.is_lexical)
        for rules in grammar.rules.values()
    ]
    return grammar.total_over_derivation(np.array(words))


def subtrees(tree: Tree) -> Iterator[Tree]:
    """A tree and everything below it."""
    yield tree
    for child in tree.children:
        if isinstance(child, Tree):
            yield from subtrees(child)


def shape(tree: Tree) -> tuple[str, ...]:
    """The labels of a node's children."""
    return tuple(child.label for child in tree.children if isinstance(child, Tree))


def draw_with_log_prob(grammar: Grammar, generator: random.Random) -> tuple[list[str], float]:
    """Draw a sentence; also the log probability, in nats, of the tree that it came from."""
    words: list[str] = []
    log_prob = 0.0
    pending = [grammar.start]
    while pending:
        rules = grammar.rules[pending.pop()]
        rule = generator.choices(rules, [r.probability for r in rules])[0]
        log_prob += math.log(rule.probability)
        if rule.is_lexical:
            words.append(rule.right[0])
        else:
            pending.extend(reversed(rule.right))
    return words, log_prob


def assert_one_tree_each(grammar: Grammar, model: ExactModel, *, seed: int, count: int) -> None:
    """Sentences are as probable as the trees they were drawn with: they have no others."""
    generator = random.Random(seed)
    drawn = [draw_with_log_prob(grammar, generator) for _ in range(count)]
    of_sentences = model.log_probs([words for words, _ in drawn])
    np.testing.assert_allclose(of_sentences, [p for _, p in drawn], rtol=0.0, atol=1e-9)


def expected_word_counts(grammar: Grammar) -> dict[str, float]:
    """How often each word occurs in a sentence, on average."""
    size = len(grammar.categories)
    start = np.eye(size)[grammar.index[grammar.start]]
    visits = np.linalg.solve((np.eye(size) - grammar.expected_children).T, start)
    expected = dict.fromkeys(grammar.words, 0.0)
    for category, rules in grammar.rules.items():
        for rule in rules:
            if rule.is_lexical:
                expected[rule.right[0]] += visits[grammar.index[category]] * rule.probability
    return expected


def derivations(grammar: Grammar, *, depth: int) -> list[tuple[Words, float]]:
    """Words and probability of every derivation that is at most so deep: all, if it is finite."""

    def expand(category: str, left: int) -> list[tuple[Words, float]]:
        if left == 0:
            return []
        return [found for rule in grammar.rules[category] for found in apply(rule, left)]

    def apply(rule: Rule, left: int) -> Iterator[tuple[Words, float]]:
        if rule.is_lexical:
            yield rule.right, rule.probability
            return
        parts = [expand(child, left - 1) for child in rule.right]
        for chosen in itertools.product(*parts):
            words = tuple(word for part, _ in chosen for word in part)
            yield words, rule.probability * math.prod(p for _, p in chosen)

    return expand(grammar.start, depth)


def sentence_probabilities(grammar: Grammar, *, depth: int) -> dict[Words, float]:
    """The probability of every sentence, summed over its derivations."""
    totals: dict[Words, float] = defaultdict(float)
    for words, probability in derivations(grammar, depth=depth):
        totals[words] += probability
    return dict(totals)


def prefix_probability(sentences: Mapping[Words, float], prefix: Words) -> float:
    """The probability of all sentences that begin so."""
    return sum(p for words, p in sentences.items() if words[: len(prefix)] == prefix)


class SlowModel:
    """Inside and prefix probabilities by plain iteration of their equations.

    No matrix is inverted and no rule binarised: every equation is evaluated again and again,
    from zero, until nothing changes. Recursion of any kind is summed up that way.
    """

    def __init__(self, grammar: Grammar, words: Sequence[str]) -> None:
        self._grammar = grammar
        self._words = tuple(words)
        self._inside: dict[tuple[str, int, int], float] = defaultdict(float)
        self._prefix: dict[tuple[str, int], float] = defaultdict(float)
        self._iterate_inside()
        self._iterate_prefix()

    @property
    def sentence(self) -> float:
        """P(the sentence is exactly these words)."""
        return self._inside[self._grammar.start, 0, len(self._words)]

    @property
    def prefix(self) -> float:
        """P(the sentence begins with these words)."""
        return self._prefix[self._grammar.start, 0] if self._words else 1.0

    def _iterate_inside(self) -> None:
        spans = itertools.combinations(range(len(self._words) + 1), 2)
        for begin, end in sorted(spans, key=lambda span: span[1] - span[0]):
            self._repeat(partial(self._update_inside, begin, end))

    def _update_inside(self, begin: int, end: int) -> float:
        change = 0.0
        for category, rules in self._grammar.rules.items():
            value = sum(r.probability * self._covers(r, begin, end) for r in rules)
            change = max(change, abs(value - self._inside[category, begin, end]))
            self._inside[category, begin, end] = value
        return change

    def _covers(self, rule: Rule, begin: int, end: int) -> float:
        if rule.is_lexical:
            return float(rule.right == self._words[begin:end])
        return self._sequence(rule.right, begin, end)

    def _sequence(self, children: Words, begin: int, end: int) -> float:
        """P(the children yield exactly this span)."""
        if not children:
            return float(begin == end)
        first, rest = children[0], children[1:]
        return sum(
            self._inside[first, begin, middle] * self._sequence(rest, middle, end)
            for middle in range(begin + 1, end - len(rest) + 1)
        )

    def _iterate_prefix(self) -> None:
        for begin in reversed(range(len(self._words))):
            self._repeat(partial(self._update_prefix, begin))

    def _update_prefix(self, begin: int) -> float:
        change = 0.0
        for category, rules in self._grammar.rules.items():
            value = sum(r.probability * self._begins(r, begin) for r in rules)
            change = max(change, abs(value - self._prefix[category, begin]))
            self._prefix[category, begin] = value
        return change

    def _begins(self, rule: Rule, begin: int) -> float:
        """P(what the rule yields begins with the words from here to the last)."""
        if rule.is_lexical:
            return float(rule.right == self._words[begin:])
        last = len(self._words)
        return sum(
            self._sequence(rule.right[:number], begin, middle) * self._prefix[child, middle]
            for number, child in enumerate(rule.right)
            for middle in range(begin + number, last)
        )

    @staticmethod
    def _repeat(update: Callable[[], float]) -> None:
        for _ in range(3000):
            if update() < 1e-16:
                return
        raise AssertionError("the iteration does not converge")
