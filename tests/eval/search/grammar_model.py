"""A probabilistic grammar as a transition system, for searches whose exact results are known."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from gardenpath.data.pcfg.grammar import Grammar
from gardenpath.data.trees.legality import Column

# An open category, and its children so far.
Frame = tuple[str, tuple[str, ...]]
# The frames from the start category down, and whether a sentence has begun.
State = tuple[tuple[Frame, ...], bool]


class GrammarModel:
    """Derivations from left to right, in which each category is opened, filled and closed.

    The probability of a child is that of all rules with these children so far. Words are numbered
    in the order of ``grammar.words``; a category with words has nothing else.
    """

    device = torch.device("cpu")
    dtype = torch.float64
    is_continuation: Tensor | None = None
    opens_at_end = False

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._number = {word: number for number, word in enumerate(grammar.words)}
        self.label_count = len(grammar.categories)
        self.begin()

    def encoded(self, sentence: Sequence[str]) -> list[int]:
        """The words as numbers."""
        return [self._number[word] for word in sentence]

    def begin(self) -> None:
        """Only the root."""
        self._states: list[State] = [((), False)]

    def group_bytes(self, *, action_beam: int, word_beam: int, length: int) -> int:
        """Small."""
        return length + 1

    def _rules(self, frame: Frame) -> dict[str | None, float]:
        """The weights of what may follow the children of a frame; None is its end."""
        category, children = frame
        found: dict[str | None, float] = {}
        for rule in self._grammar.rules[category]:
            size = len(children)
            if rule.right[:size] == children:
                child = rule.right[size] if len(rule.right) > size else None
                found[child] = found.get(child, 0.0) + rule.probability
        return found

    def _awaits_word(self, state: State) -> bool:
        frames, _ = state
        return bool(frames) and not frames[-1][1] and self._is_lexical(frames[-1][0])

    def _is_lexical(self, category: str) -> bool:
        return self._grammar.rules[category][0].is_lexical

    def _columns(self, state: State) -> dict[int, float]:
        """The probabilities of columns."""
        frames, has_begun = state
        if not frames:
            start = Column.FIRST_OPEN + self._grammar.index[self._grammar.start]
            return {int(Column.END): 1.0} if has_begun else {start: 1.0}
        if self._awaits_word(state):
            return {int(Column.WORD): 1.0}
        follows = self._rules(frames[-1])
        total = sum(follows.values())
        return {
            int(Column.CLOSE)
            if child is None
            else Column.FIRST_OPEN + self._grammar.index[child]: weight / total
            for child, weight in follows.items()
        }

    def log_probs(self, nodes: Tensor) -> Tensor:
        """By the rules."""
        result = torch.full(
            (len(nodes), Column.FIRST_OPEN + self.label_count), -torch.inf, dtype=self.dtype
        )
        for row, node in enumerate(nodes.tolist()):
            for column, probability in self._columns(self._states[node]).items():
                result[row, column] = math.log(probability)
        return result

    def word_log_prob(self, nodes: Tensor, words: Tensor) -> Tensor:
        """By the lexical rules; with fixed shapes, anything is asked."""
        found = []
        for node, word in zip(nodes.tolist(), words.tolist(), strict=True):
            state = self._states[node]
            follows = self._rules(state[0][-1]) if self._awaits_word(state) else {}
            probability = follows.get(self._grammar.words[word], 0.0)
            found.append(math.log(probability) if probability else -math.inf)
        return torch.tensor(found, dtype=self.dtype)

    def word_bound(self, nodes: Tensor, words: Tensor) -> Tensor:
        """The value itself."""
        return self.word_log_prob(nodes, words)

    def word_end_log_prob(self, nodes: Tensor) -> Tensor:
        """Not asked: words have no pieces."""
        raise AssertionError("words have no pieces")

    def advance(self, nodes: Tensor, columns: Tensor) -> Tensor:
        """Open or close a category."""
        found: list[State] = []
        for node, column in zip(nodes.tolist(), columns.tolist(), strict=True):
            frames, _ = self._states[node]
            if column == Column.CLOSE and frames:
                found.append((_with_child(frames[:-1], frames[-1][0]), True))
            else:  # with fixed shapes, anything is asked
                category = self._grammar.categories[max(column - Column.FIRST_OPEN, 0)]
                found.append(((*frames, (category, ())), True))
        return self._append(found)

    def shift(self, nodes: Tensor, words: Tensor) -> Tensor:
        """Read a word."""
        return self._append(
            [
                (_with_child(self._states[node][0], self._grammar.words[word]), True)
                for node, word in zip(nodes.tolist(), words.tolist(), strict=True)
            ]
        )

    def _append(self, states: Sequence[State]) -> Tensor:
        first = len(self._states)
        self._states += states
        return torch.arange(first, len(self._states))

    def settle(self, nodes: Tensor, is_alive: Tensor) -> Tensor:
        """Keep everything."""
        return nodes


def _with_child(frames: tuple[Frame, ...], child: str) -> tuple[Frame, ...]:
    if not frames:
        return frames
    category, children = frames[-1]
    return (*frames[:-1], (category, (*children, child)))
