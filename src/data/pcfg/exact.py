"""Exact word probabilities under a probabilistic grammar, for the best possible perplexity.

Called by scoring and perplexity on toy treebanks, and by tests as the truth.
The probability that a sentence begins with w1 … wi is a sum over all trees, of which there are
infinitely many if the grammar is left-recursive. Jelinek and Lafferty (1991) compute this sum in
closed form: with the left-corner probabilities collected in L = (I - P)^-1, prefix probabilities
follow from inside probabilities by a similar recursion (Stolcke 1995 gives an alternative)::

    inside(A, i, k) = sum over A -> B C and j   p · inside(B, i, j) · inside(C, j, k)
    prefix(A, i, k) = sum over D and D -> B C and j
                                L(A, D) · p · inside(B, i, j) · prefix(C, j, k)

Rules are binarised first; unary rules are summed in closed form by U = (I - P_unary)^-1.
All sentences of equal length are computed at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gardenpath.data.arrays import Floats, Ints
from gardenpath.data.pcfg.grammar import Grammar
from gardenpath.util import bits

# Limits the memory of the two charts of one batch.
_CHART_BYTES = 256 * 2**20

# Scaled charts stay below this value. The scaled probability of a span, times the probability that
# the span is expected in its position, is at most 1, so only nearly impossible spans come close.
_CEILING = 1e100


@dataclass(frozen=True, slots=True)
class _Binarised:
    """A grammar with rules of at most two children, as arrays; binary rules sorted by parent."""

    size: int
    start: int
    lexicon: dict[str, tuple[Ints, Floats]]
    left: Ints
    right: Ints
    probability: Floats
    parents: Ints  # the distinct parents of binary rules
    first_of_parent: Ints  # index of the first rule of each parent
    unary_closure: Floats  # transposed, for chart @ closure
    left_corner_closure: Floats


class ExactModel:
    """The grammar as a language model; no other model predicts its sentences better."""

    def __init__(self, grammar: Grammar) -> None:
        self._rules = _binarise(grammar)

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return the log probability (nats) of each word given its prefix and, last, of the end.

        A word that the grammar excludes has log probability minus infinity; after it, no
        distribution is defined, and the remaining values are NaN.
        """
        with np.errstate(invalid="ignore"):
            return [np.diff(log_prob) for log_prob in self.prefix_log_probs(sentences)]

    def surprisal_bits(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return surprisal in bits; infinite for the first word that the grammar excludes."""
        return [bits(log_prob) for log_prob in self.word_log_probs(sentences)]

    def log_probs(self, sentences: Sequence[Sequence[str]]) -> Floats:
        """Return the log probability (nats) of each whole sentence."""
        return np.array([log_prob[-1] for log_prob in self.prefix_log_probs(sentences)])

    def prefix_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return n + 2 values in nats for each sentence of n words.

        Entry i is log P(the sentence begins with its first i words); the last entry is
        log P(the sentence is exactly this one).
        """
        results: list[Floats] = [np.zeros(0)] * len(sentences)
        by_length: dict[int, list[int]] = defaultdict(list)
        for number, sentence in enumerate(sentences):
            by_length[len(sentence)].append(number)
        for length, numbers in by_length.items():
            chart_bytes = 2 * 8 * self._rules.size * (length + 1) ** 2
            step = max(1, _CHART_BYTES // max(1, chart_bytes))
            for begin in range(0, len(numbers), step):
                members = numbers[begin : begin + step]
                rows = self._same_length([sentences[number] for number in members])
                for number, row in zip(members, rows, strict=True):
                    results[number] = row
        return results

    def _same_length(self, sentences: list[Sequence[str]]) -> Floats:
        """``(sentences, words + 2)`` log probabilities of sentences of the same length."""
        count, length = len(sentences), len(sentences[0])
        if length == 0:
            return np.tile([0.0, -np.inf], (count, 1))
        words = np.zeros((count, length, self._rules.size))  # lexical probabilities
        for row, sentence in enumerate(sentences):
            for position, word in enumerate(sentence):
                if entry := self._rules.lexicon.get(word):
                    words[row, position, entry[0]] = entry[1]
        conditional, ends = self._charts(words)
        with np.errstate(divide="ignore"):
            begins = np.cumsum(np.log(conditional), axis=1)
            whole = begins[:, -1] + np.log(ends)
        return np.column_stack([np.zeros(count), begins, whole])

    def _charts(self, words: Floats) -> tuple[Floats, Floats]:
        """Return the probability of each word given its prefix, and of the end after the last one.

        Charts are ``[sentence, begin, end, category]``, filled from left to right. Each word is
        scaled by its probability in its position. A span is thus scaled by the product over its
        words, whatever its tree, and nothing underflows in long sentences.
        """
        count, length, size = words.shape
        start = self._rules.start
        inside = np.zeros((count, length + 1, length + 1, size))
        prefix = np.zeros_like(inside)
        conditional = np.zeros((count, length))
        for end in range(1, length + 1):
            self._fill_column(inside, prefix, words[:, end - 1], end)
            conditional[:, end - 1] = prefix[:, 0, end, start]
            scale = np.where(conditional[:, end - 1] > 0.0, conditional[:, end - 1], 1.0)
            inside[:, :end, end] /= scale[:, None, None]
            prefix[:, :end, end] /= scale[:, None, None]
        return conditional, inside[:, 0, length, start]

    def _fill_column(self, inside: Floats, prefix: Floats, word: Floats, end: int) -> None:
        """Compute all spans that end with a given word, from short to long."""
        rules = self._rules
        inside[:, end - 1, end] = word @ rules.unary_closure
        prefix[:, end - 1, end] = word @ rules.left_corner_closure
        # Before the closures are applied, only parents of binary rules have nonzero values.
        unary = rules.unary_closure[rules.parents]
        left_corner = rules.left_corner_closure[rules.parents]
        for begin in range(end - 2, -1, -1):
            left = inside[:, begin, begin + 1 : end][:, :, rules.left]
            inner = self._combine(left, inside[:, begin + 1 : end, end])
            open_ended = self._combine(left, prefix[:, begin + 1 : end, end])
            inside[:, begin, end] = np.minimum(inner @ unary, _CEILING)
            prefix[:, begin, end] = np.minimum(open_ended @ left_corner, _CEILING)

    def _combine(self, left: Floats, right: Floats) -> Floats:
        """Sum over splits and rules, per parent; ``left`` is per rule, ``right`` per category."""
        rules = self._rules
        per_rule = np.einsum("nsr,nsr->nr", left, right[:, :, rules.right]) * rules.probability
        if not rules.parents.size:
            return np.zeros((len(left), 0))
        return np.add.reduceat(per_rule, rules.first_of_parent, axis=1)


def _binarise(grammar: Grammar) -> _Binarised:
    index = dict(grammar.index)
    binary: dict[tuple[int, int, int], float] = defaultdict(float)
    unary: dict[tuple[int, int], float] = defaultdict(float)
    lexical: dict[str, list[tuple[int, float]]] = defaultdict(list)

    def rest(children: tuple[str, ...]) -> int:
        """Return the category of a sequence of children; rules with the same ending share it."""
        if len(children) == 1:
            return index[children[0]]
        name = f"<{' '.join(children)}>"
        if name not in index:
            index[name] = len(index)
            binary[index[name], index[children[0]], rest(children[1:])] = 1.0
        return index[name]

    for rules in grammar.rules.values():
        for rule in rules:
            parent = index[rule.left]
            if rule.is_lexical:
                lexical[rule.right[0]].append((parent, rule.probability))
            elif len(rule.right) == 1:
                unary[parent, index[rule.right[0]]] += rule.probability
            else:
                key = (parent, index[rule.right[0]], rest(rule.right[1:]))
                binary[key] += rule.probability
    return _as_arrays(len(index), index[grammar.start], binary, unary, lexical)


def _as_arrays(
    size: int,
    start: int,
    binary: dict[tuple[int, int, int], float],
    unary: dict[tuple[int, int], float],
    lexical: dict[str, list[tuple[int, float]]],
) -> _Binarised:
    keys = np.array(sorted(binary), dtype=np.int64).reshape(-1, 3)
    probability = np.array([binary[key] for key in sorted(binary)])
    parents, first = np.unique(keys[:, 0], return_index=True)
    one_step_unary = np.zeros((size, size))
    for (parent, child), value in unary.items():
        one_step_unary[parent, child] += value
    one_step_left = one_step_unary.copy()
    np.add.at(one_step_left, (keys[:, 0], keys[:, 1]), probability)
    return _Binarised(
        size=size,
        start=start,
        lexicon={
            word: (np.array([e[0] for e in entries]), np.array([e[1] for e in entries]))
            for word, entries in lexical.items()
        },
        left=keys[:, 1],
        right=keys[:, 2],
        probability=probability,
        parents=parents,
        first_of_parent=first,
        unary_closure=_closure(one_step_unary),
        left_corner_closure=_closure(one_step_left),
    )


def _closure(one_step: Floats) -> Floats:
    """Sum over chains of any length, transposed."""
    closure = np.linalg.inv(np.eye(len(one_step)) - one_step)
    return np.ascontiguousarray(closure.T, dtype=np.float64)
