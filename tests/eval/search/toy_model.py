"""Transition systems given by tables: what a search needs of a model, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from gardenpath.data.trees.legality import Column
from gardenpath.eval.search.expansion import BeamExpansion
from gardenpath.eval.search.protocol import ROOT_NODE, TransitionModel, Work
from gardenpath.eval.search.result import SentenceResult
from gardenpath.eval.search.scorer import SentenceSearch
from gardenpath.eval.search.settings import Unbiased, WordSync
from gardenpath.eval.search.unbiased import UnbiasedExpansion


class ToyModel:
    """States with probabilities of columns and of words, and the states that follow.

    ``columns``: ``(states, columns)`` probabilities of WORD, END, CLOSE and the openings;
    ``words``: ``(states, words)`` probabilities of words; ``after_column`` and ``after_word``: the
    next states. A constituent can be closed only where one is open; otherwise the columns are as
    they stand.

    Nodes are rows of an arena, renumbered by :meth:`settle`, so that a node that was not kept
    cannot be used by mistake; ``bound_gap`` is by how much bounds of words are too large. Words
    that are ``continuations`` follow directly on a word: elsewhere the others are normalised
    without them.
    """

    device = torch.device("cpu")

    def __init__(
        self,
        *,
        columns: Tensor,
        words: Tensor,
        after_column: Tensor,
        after_word: Tensor,
        opens_at_end: bool = False,
        bound_gap: float | None = None,
        continuations: Sequence[int] = (),
    ) -> None:
        self._columns, self._words = columns.double().log(), words.double().log()
        self.is_continuation: Tensor | None = None
        if continuations:
            self.is_continuation = torch.zeros(words.shape[1], dtype=torch.bool)
            self.is_continuation[list(continuations)] = True
            begins = self._words.masked_fill(self.is_continuation, -torch.inf)
            self._begins = begins.log_softmax(1)
        self._after_column, self._after_word = after_column, after_word
        self.opens_at_end = opens_at_end
        self._bound_gap = bound_gap
        self.label_count = columns.shape[1] - Column.FIRST_OPEN
        self.settled: list[int] = []
        self.begin()

    def begin(self) -> None:
        """Only the root, at which nothing is open; its group may be any."""
        self._state = torch.zeros(1, dtype=torch.long)
        self._depth = torch.zeros(1, dtype=torch.long)
        self._group = torch.full((1,), -1)
        self._has_word = torch.zeros(1, dtype=torch.bool)

    def group_bytes(self, *, action_beam: int, word_beam: int, length: int) -> int:
        """So that budgets are easy to think of."""
        return length + 1

    def log_probs(self, nodes: Tensor) -> Tensor:
        """What comes next, by the state."""
        result = self._columns[self._state[nodes]].clone()
        result[self._depth[nodes] == 0, Column.CLOSE] = -torch.inf
        return result

    def word_log_prob(self, nodes: Tensor, words: Tensor) -> Tensor:
        """The probability of words, by the state."""
        state = self._state[nodes]
        if self.is_continuation is None:
            return self._words[state, words]
        return torch.where(
            self._has_word[nodes], self._words[state, words], self._begins[state, words]
        )

    def word_end_log_prob(self, nodes: Tensor) -> Tensor:
        """One minus the probability of all continuations."""
        assert self._has_word[nodes].all()
        words = self._words[self._state[nodes]][:, self.is_continuation].exp().sum(1)
        return (1 - self.log_probs(nodes)[:, Column.WORD].exp() * words).log()

    def word_bound(self, nodes: Tensor, words: Tensor) -> Tensor:
        """Nothing is known, or nearly everything."""
        exact = self.word_log_prob(nodes, words)
        if self._bound_gap is None:
            return torch.zeros_like(exact)
        return (exact + self._bound_gap).clamp(max=0.0)

    def advance(self, nodes: Tensor, columns: Tensor) -> Tensor:
        """The state that the column leads to."""
        change = (columns >= Column.FIRST_OPEN).long() - (columns == Column.CLOSE).long()
        return self._append(nodes, self._after_column[self._state[nodes], columns], change, False)

    def shift(self, nodes: Tensor, words: Tensor) -> Tensor:
        """The state that the word leads to."""
        return self._append(nodes, self._after_word[self._state[nodes], words], 0, True)

    def _append(self, nodes: Tensor, states: Tensor, change: Tensor | int, is_word: bool) -> Tensor:
        self._has_word = torch.cat([self._has_word, torch.full_like(nodes, is_word).bool()])
        first = len(self._state)
        depth = (self._depth[nodes] + change).clamp(min=0)
        self._state = torch.cat([self._state, states])
        self._depth = torch.cat([self._depth, depth])
        self._group = torch.cat([self._group, self._group[nodes]])
        return torch.arange(first, len(self._state))

    def settle(self, nodes: Tensor, is_alive: Tensor) -> Tensor:
        """Keep these nodes only; those of a group must come from one group."""
        for row, alive in zip(self._group[nodes], is_alive, strict=True):
            assert len(set(row[alive].tolist())) <= 1
        self.settled.append(len(nodes))
        number = {(-1, ROOT_NODE): ROOT_NODE}
        for group, row in enumerate(nodes.tolist()):
            for node in row:
                number.setdefault((group, node), len(number))
        kept = torch.tensor([node for _, node in number])
        self._state, self._depth = self._state[kept], self._depth[kept]
        self._has_word = self._has_word[kept]
        self._group = torch.tensor([group for group, _ in number])
        renumbered = [[number[group, n] for n in row] for group, row in enumerate(nodes.tolist())]
        return (
            torch.tensor(renumbered, dtype=torch.long)
            .view_as(nodes)
            .masked_fill(nodes == ROOT_NODE, ROOT_NODE)
        )


def random_model(
    seed: int,
    *,
    labels: int = 2,
    words: int = 3,
    states: int = 499,
    opens_at_end: bool = False,
    bound_gap: float | None = None,
    never: Sequence[int] = (),
    continuations: Sequence[int] = (),
) -> ToyModel:
    """A system with so many states that no two derivations are equally probable.

    Some words may ``never`` come.
    """
    random = np.random.default_rng(seed)
    columns = random.gamma(0.7, size=(states, Column.FIRST_OPEN + labels)) + 1e-3
    columns[:, Column.FIRST_OPEN :] *= random.random((states, labels)) > 0.2
    columns[:, Column.CLOSE] *= random.random(states) > 0.2
    columns[0, : Column.FIRST_OPEN] = 0.0
    columns[0, Column.FIRST_OPEN :] += random.random(labels) + 0.1
    word = random.gamma(0.7, size=(states, words)) + 1e-3
    word[:, list(never)] = 0.0
    return ToyModel(
        columns=torch.from_numpy(columns / columns.sum(1, keepdims=True)),
        words=torch.from_numpy(word / word.sum(1, keepdims=True)),
        after_column=torch.from_numpy(random.integers(1, states, columns.shape)),
        after_word=torch.from_numpy(random.integers(1, states, word.shape)),
        opens_at_end=opens_at_end,
        bound_gap=bound_gap,
        continuations=continuations,
    )


def search(
    model: TransitionModel,
    sentences: Sequence[Sequence[int]],
    settings: WordSync | Unbiased,
    *,
    budget: float = 1e9,
    is_packed: bool = True,
    keeps_history: bool = False,
    finds_word_ends: bool = False,
    work: Work | None = None,
) -> list[SentenceResult]:
    """Results in the order of the sentences."""
    work = work or Work()
    expansion = (
        BeamExpansion(model, settings, is_packed=is_packed, work=work)
        if isinstance(settings, WordSync)
        else UnbiasedExpansion(model, settings, work=work, is_packed=is_packed)
    )
    results: dict[int, SentenceResult] = {}

    def keep(number: int, result: SentenceResult) -> None:
        assert number not in results
        results[number] = result

    SentenceSearch(
        model=model, expansion=expansion, budget=budget, is_packed=is_packed, work=work,
        share_prefixes=settings.share_prefixes, keeps_history=keeps_history,
        finds_word_ends=finds_word_ends,
    ).run(sentences, keep)  # fmt: skip
    return [results[number] for number in range(len(sentences))]


# ----------------------------------------------------------------------------
# A transition system of six states, small enough to be searched by hand.
#
# Probabilities of columns, and of the words x, y, z::
#
#     state   columns                        x     y     z     after a word
#     0       A 0.6 -> 1   B 0.4 -> 2        (no word)
#     1       WORD 0.5   A 0.2 -> 1          0.5   0.5   0     5
#                        B 0.3 -> 3
#     2       WORD 0.6   B 0.4 -> 4          0.1   0.9   0     5
#     3       WORD 1                         0.25  0.75  0     5
#     4       WORD 1                         0.9   0     0.1   1
#     5       WORD 0.3   END 0.2             0.4   0.6   0     5
#                        CLOSE 0.5 -> 2
#
# A and B open a constituent. The derivations of the word x, with at most two openings before it,
# are
#
#     A x    0.6 * 0.5 * 0.5         = 0.15       then in state 5
#     BB x   0.4 * 0.4 * 1 * 0.9     = 0.144      then in state 1
#     AB x   0.6 * 0.3 * 1 * 0.25    = 0.045      then in state 5
#     AA x   0.6 * 0.2 * 0.5 * 0.5   = 0.03       then in state 5
#     B x    0.4 * 0.6 * 0.1         = 0.024      then in state 5
#                                sum = 0.393
#
# and a derivation of probability p goes on to the word y, and then to the end (factor 0.2), by
#
#     from state 5:   y        p * 0.3 * 0.6             = 0.18 p
#                     CLOSE y  p * 0.5 * 0.6 * 0.9       = 0.27 p      (CLOSE B y: 4 has no y)
#     from state 1:   y        p * 0.5 * 0.5             = 0.25 p
#                     B y      p * 0.3 * 1 * 0.75        = 0.225 p
#                     A y      p * 0.2 * 0.5 * 0.5       = 0.05 p
#                     AB y     p * 0.2 * 0.3 * 1 * 0.75  = 0.045 p
#                     AA y     p * 0.2 * 0.2 * 0.5 * 0.5 = 0.01 p
#
# after which all stand in state 5.


X, Y, Z = 0, 1, 2
A, B = Column.FIRST_OPEN, Column.FIRST_OPEN + 1
C = Column.CLOSE


def six_states(*, bound_gap: float | None = None) -> ToyModel:
    """The system above."""
    return ToyModel(
        #                      WORD END CLOSE A   B
        columns=torch.tensor(
            [
                [0.0, 0.0, 0.0, 0.6, 0.4],
                [0.5, 0.0, 0.0, 0.2, 0.3],
                [0.6, 0.0, 0.0, 0.0, 0.4],
                [1.0, 0.0, 0.0, 0.0, 0.0],
                [1.0, 0.0, 0.0, 0.0, 0.0],
                [0.3, 0.2, 0.5, 0.0, 0.0],
            ],
            dtype=torch.float64,
        ),
        words=torch.tensor(
            [
                [0.0, 0.0, 0.0],
                [0.5, 0.5, 0.0],
                [0.1, 0.9, 0.0],
                [0.25, 0.75, 0.0],
                [0.9, 0.0, 0.1],
                [0.4, 0.6, 0.0],
            ],
            dtype=torch.float64,
        ),
        after_column=torch.tensor(
            [
                [0, 0, 0, 1, 2],
                [0, 0, 0, 1, 3],
                [0, 0, 0, 0, 4],
                [0, 0, 0, 0, 0],
                [0, 0, 0, 0, 0],
                [0, 0, 2, 0, 0],
            ]
        ),
        after_word=torch.tensor([[0] * 3, [5] * 3, [5] * 3, [5] * 3, [1] * 3, [5] * 3]),
        bound_gap=bound_gap,
    )
