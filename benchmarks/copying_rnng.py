"""A baseline RNNG search in which each hypothesis owns its stack, a fixed-size tensor to copy.

This is how batched RNNGs are usually searched. As is common, stacks have room for two and a half
times the length of the sentence and at most 104 elements; they grow if a hypothesis needs more.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.peer_search import Begin
from gardenpath.data.trees.legality import MOST_OPEN, Column, Kind
from gardenpath.models.search_states import START_STATE, STATES_PER_KIND, state_bits
from gardenpath.models.syntactic.networks import RnngNetwork, StackLstm
from gardenpath.models.syntactic.rnng_stack import Children, Compose, make_composer

_MOST_ROOM = 104

# The tensors of all stacks, with one row per stack.
_TENSORS = ("_hidden_and_cell", "_vector", "_label", "_label_place", "_labels", "_top")


def copied_stacks(network: RnngNetwork) -> Begin:
    """Return the function that begins a search with a top-down RNNG."""
    assert network.strategy == "top_down" and network.action_norm == "legal"
    composer = make_composer(network)

    def begin(groups: int, words: int) -> CopiedStacks:
        room = min(_MOST_ROOM, -(-5 * words // 16) * 8)
        return CopiedStacks(network, composer, groups, max(room, 8))

    return begin


def stack_step(stack: StackLstm, vectors: Tensor, below: Tensor) -> Tensor:
    """``(rows, state_size)`` states of vectors pushed on top of the states ``below``."""
    states: list[Tensor] = []
    inputs = vectors
    for layer, before in enumerate(below.chunk(len(stack.input), dim=1)):
        hidden, cell = before.chunk(2, dim=1)
        gates = functional.linear(inputs, stack.input[layer], stack.bias[layer])
        gates = gates + functional.linear(hidden, stack.recurrent[layer])
        into, forget, new, out = gates.chunk(4, dim=1)
        cell = forget.sigmoid() * cell + into.sigmoid() * new.tanh()
        hidden = out.sigmoid() * cell.tanh()
        states += [hidden, cell]
        inputs = stack.dropout(hidden)
    return torch.cat(states, dim=1)


def stack_top(stack: StackLstm, states: Tensor) -> Tensor:
    """Return the hidden state of the top layer."""
    return states.chunk(2 * len(stack.input), dim=1)[-2]


class CopiedStacks:
    """Stacks, one per row.

    Each position has the state of the stack LSTM (hidden, cell) and a vector. Open constituents, by
    number, have a label and its position. The start of the stack is at position zero.
    """

    def __init__(self, network: RnngNetwork, composer: Compose, rows: int, room: int) -> None:
        self._network = network
        self._composer = composer
        self._bits = state_bits(network.strategy, network.start.device, has_pieces=False)
        start = network.start
        self._hidden_and_cell = start.new_zeros(rows, room, network.stack.state_size)
        self._vector = start.new_zeros(rows, room, len(start))
        self._label = torch.zeros(rows, room, dtype=torch.long)
        self._label_place = torch.zeros(rows, room, dtype=torch.long)
        self._labels = torch.zeros(rows, dtype=torch.long)
        self._top = torch.full((rows,), -1)
        everything = torch.arange(rows)
        self._push(everything, start.expand(rows, -1))

    def select(self, rows: Tensor) -> Self:
        """Copy the stacks of some rows."""
        result = copy.copy(self)
        for name in _TENSORS:
            setattr(result, name, getattr(self, name).index_select(0, rows))
        return result

    def join(self, others: Sequence[Self]) -> Self:
        """Concatenate stacks, all with room for the highest."""
        room = max(stacks._vector.shape[1] for stacks in (self, *others))
        everything = [stacks._with_room(room) for stacks in (self, *others)]
        result = copy.copy(self)
        for name in _TENSORS:
            setattr(result, name, torch.cat([getattr(stacks, name) for stacks in everything]))
        return result

    def _with_room(self, room: int) -> Self:
        missing = room - self._vector.shape[1]
        if not missing:
            return self
        result = copy.copy(self)
        for name in ("_hidden_and_cell", "_vector"):
            setattr(result, name, functional.pad(getattr(self, name), (0, 0, 0, missing)))
        for name in ("_label", "_label_place"):
            setattr(result, name, functional.pad(getattr(self, name), (0, missing)))
        return result

    def log_probs(self, words: Tensor, depth: Tensor) -> Tensor:
        """See :class:`benchmarks.peer_search.Memories`."""
        network = self._network
        output = self._output(torch.arange(len(self._top)))
        scores = network.action_output(output) + network.legal_bias[self._legal()]
        log_probs = scores.log_softmax(1)
        word = -functional.cross_entropy(
            network.word_output.logits(output), words, reduction="none"
        )
        is_root = depth == 1
        shift, reduce = log_probs[:, 0] + word, log_probs[:, 1]
        special = torch.stack(
            [
                shift,
                reduce.masked_fill(~is_root, -torch.inf),
                reduce.masked_fill(is_root, -torch.inf),
            ],
            dim=1,
        )
        return torch.cat([special, log_probs[:, 2:]], dim=1)

    def _output(self, rows: Tensor) -> Tensor:
        network = self._network
        hidden = stack_top(network.stack, self._hidden_and_cell[rows, self._top[rows]])
        return functional.relu(network.to_output(hidden))

    def _legal(self) -> Tensor:
        label = self._innermost(torch.arange(len(self._top)))
        # A constituent counts like a word.
        last = torch.where(label == self._top, int(Kind.OPEN), int(Kind.SHIFT))
        state = STATES_PER_KIND * last + self._labels.clamp(max=MOST_OPEN)
        return self._bits[torch.where(self._labels == 0, START_STATE, state)]

    def _innermost(self, rows: Tensor) -> Tensor:
        """Return the position of the innermost open label."""
        return self._label_place[rows, (self._labels[rows] - 1).clamp(min=0)]

    def advance(self, columns: Tensor, words: Tensor) -> None:
        """Shift words, and open and close constituents."""
        network = self._network
        shifts = (columns == Column.WORD).nonzero().squeeze(1)
        opens = (columns >= Column.FIRST_OPEN).nonzero().squeeze(1)
        closes = (columns == Column.CLOSE).nonzero().squeeze(1)
        labels = columns[opens] - Column.FIRST_OPEN
        vectors = [
            network.word_embedding.weight[words[shifts]],
            network.label_embedding.weight[labels],
        ]
        if len(closes):
            vectors.append(self._close(closes))
        rows = torch.cat([shifts, opens, closes])
        if not len(rows):
            return
        self._push(rows, torch.cat(vectors))
        self._label[opens, self._labels[opens]] = labels
        self._label_place[opens, self._labels[opens]] = self._top[opens]
        self._labels[opens] += 1

    def _push(self, rows: Tensor, vectors: Tensor) -> None:
        if int(self._top[rows].max()) + 2 > self._vector.shape[1]:
            self.__dict__.update(self._with_room(2 * self._vector.shape[1]).__dict__)
        below = self._hidden_and_cell[rows, self._top[rows].clamp(min=0)]
        below = below * (self._top[rows] >= 0).unsqueeze(1)
        self._top[rows] += 1
        self._hidden_and_cell[rows, self._top[rows]] = stack_step(
            self._network.stack, vectors, below
        )
        self._vector[rows, self._top[rows]] = vectors

    def _close(self, rows: Tensor) -> Tensor:
        """Pop constituents from the stacks; return the composed vectors."""
        room, top, label = self._vector.shape[1], self._top[rows], self._innermost(rows)
        count = top - label
        back = torch.arange(int(count.max()))
        places = rows.unsqueeze(1) * room + (top.unsqueeze(1) - back).clamp(min=0)
        vectors = self._composer(
            Children(
                vector=self._vector.flatten(0, 1),
                place=places.t(),
                count=count,
                label=self._label[rows, self._labels[rows] - 1],
                output=self._output(rows),
            )
        )
        self._top[rows] = label - 1
        self._labels[rows] -= 1
        return vectors
