"""Gated attention in rounds against one row after the other, with the same dropout masks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from gardenpath.data.batches.trees import TimedTreeBatch, timed_tree_collate
from gardenpath.data.trees.legality import Strategy
from gardenpath.models.syntactic import networks
from gardenpath.models.syntactic.attention_composition import AttentionInputs, attention_states
from tests.models.slow_models import lstm_cell
from tests.models.syntactic.test_rnng import make_network
from tests.tree_samples import SHAPES, STRATEGIES, encode_letters, encode_trees


class SlowStates:
    """Computes one stack row after the other from what the batch says that it depends on."""

    def __init__(self, given: AttentionInputs, batch: TimedTreeBatch, vectors: Tensor) -> None:
        self._given, self._batch = given, batch
        self._types = len(given.projected.forward)
        self._first = len(given.projected.stack) - 1
        self._vectors = vectors  # of words, labels and the start
        self._states: dict[int, list[tuple[Tensor, Tensor]]] = {}
        self._composed: dict[int, Tensor] = {}
        owners = np.cumsum([0, *batch.constituent_sizes])
        level = np.repeat(np.arange(len(batch.child_sizes)), batch.child_sizes)
        self._owner = batch.child_constituent.numpy() + owners[level]

    def all(self) -> Tensor:
        rows = range(len(self._batch.stack_vector))
        return torch.stack([self._state(row)[-1][0] for row in rows])

    def _state(self, row: int) -> list[tuple[Tensor, Tensor]]:
        if row not in self._states:
            given, batch = self._given, self._batch
            lowest, *upper = self._below(row)
            vector = self._vector(int(batch.stack_vector[row]))
            weights = given.stack
            states = [lstm_cell(vector, lowest, weights.inputs, weights.recurrent, weights.bias)]
            for layer, below in zip(given.upper, upper, strict=True):
                read = states[-1][0] if layer.mask is None else states[-1][0] * layer.mask[row]
                states.append(lstm_cell(read, below, layer.inputs, layer.recurrent, layer.bias))
            self._states[row] = states
        return self._states[row]

    def _below(self, row: int) -> list[tuple[Tensor, Tensor]]:
        if row >= self._batch.stack_sizes[0]:
            return self._state(int(self._batch.stack_below[row]))
        zero = self._vectors.new_zeros(self._given.stack.recurrent.shape[1])
        return [(zero, zero)] * (1 + len(self._given.upper))

    def _vector(self, number: int) -> Tensor:
        if number < self._first:
            return self._vectors[number]
        if number == self._first + len(self._batch.constituent_label):
            return self._vectors[-1]
        return self._constituent(number - self._first)

    def _child(self, number: int) -> Tensor:
        is_word = number < self._types
        return self._vectors[number] if is_word else self._constituent(number - self._types)

    def _constituent(self, number: int) -> Tensor:
        if number not in self._composed:
            self._composed[number] = self._compose(number)
        return self._composed[number]

    def _compose(self, number: int) -> Tensor:
        given, batch = self._given, self._batch
        weights, prepared, masks = given.attention, given.prepared, given.masks
        cells = batch.child_forward[self._owner == number]
        vectors = [self._child(vector) for vector in batch.forward_vector[cells].tolist()]
        ahead = _chain(vectors, given.forward)
        back = _chain(vectors[::-1], given.backward)[::-1]
        read = torch.cat([torch.stack(ahead), torch.stack(back)], dim=1)
        hidden = self._state(int(batch.constituent_top[number]))[-1][0]
        if masks.hidden is not None:
            hidden = hidden * masks.hidden[number]
        state = functional.relu(weights.to_state @ hidden + weights.state_bias)
        query = prepared.query[number] + state @ weights.match
        mean = (read @ query).softmax(0) @ read
        if masks.mean is not None:
            mean = mean * masks.mean[number]
        gate = (prepared.gate[number] + weights.gate @ mean).sigmoid()
        mixed = gate * prepared.own[number] + (1 - gate) * mean
        return functional.relu(weights.output @ mixed + weights.bias)


def _chain(vectors: list[Tensor], weights: Any) -> list[Tensor]:
    zero = torch.zeros_like(vectors[0])
    state, hidden = (zero, zero), []
    for vector in vectors:
        state = lstm_cell(vector, state, weights.inputs, weights.recurrent, weights.bias)
        hidden.append(state[0])
    return hidden


@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("has_pieces", [False, True])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_states_and_gradients_are_those_of_one_row_after_the_other(
    strategy: Strategy,
    has_pieces: bool,
    layers: int,
    dropout: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    split, vocabulary = (encode_letters if has_pieces else encode_trees)(SHAPES)
    network = make_network(
        vocabulary, strategy=strategy, layers=layers, dropout=dropout, composition="attention"
    )
    batch = timed_tree_collate(
        split, strategy=strategy, label_count=len(vocabulary.labels),
        is_continuation=vocabulary.continuations,
    )(np.arange(len(split)))  # fmt: skip
    words = network.word_embedding(batch.word_types)
    labels = network.label_embedding.weight

    def fast_and_slow(given: AttentionInputs, batch: TimedTreeBatch) -> Tensor:
        masks = [*given.masks, *(layer.mask for layer in given.upper)]
        assert all((mask is None) == (dropout == 0) for mask in masks)
        vectors = torch.cat([words, labels, network.start.unsqueeze(0)])
        slow = SlowStates(given, batch, vectors).all()
        return torch.stack([attention_states(given, batch), slow])

    monkeypatch.setattr(networks, "attention_states", fast_and_slow)
    fast, slow = network._hidden_with_attention(words, labels, batch)
    torch.testing.assert_close(fast, slow, rtol=0, atol=1e-12)
    weight = torch.randn_like(fast)
    used = [
        value
        for name, value in network.named_parameters()
        if not name.startswith(("action_output", "word_output"))
    ]
    one, other = (
        torch.autograd.grad((states * weight).sum(), used, retain_graph=True)
        for states in (fast, slow)
    )
    for left, right in zip(one, other, strict=True):
        torch.testing.assert_close(left, right, rtol=0, atol=1e-10 * float(right.abs().max() + 1))


def test_a_graph_can_be_differentiated_twice() -> None:
    """Nothing that the backward pass needs is overwritten."""
    split, vocabulary = encode_trees(SHAPES)
    network = make_network(vocabulary, composition="attention", dropout=0.3)
    batch = timed_tree_collate(split, strategy="top_down", label_count=len(vocabulary.labels))(
        np.arange(len(split))
    )
    loss = network.score(batch).loss()
    weights = list(network.parameters())
    one, other = (torch.autograd.grad(loss, weights, retain_graph=True) for _ in range(2))
    for left, right in zip(one, other, strict=True):
        assert torch.equal(left, right)


def test_mixed_precision_computes_states_in_full() -> None:
    split, vocabulary = encode_trees(SHAPES)
    network = make_network(vocabulary, composition="attention", hidden=8, embedding=8).float()
    batch = timed_tree_collate(split, strategy="top_down", label_count=len(vocabulary.labels))(
        np.arange(len(split))
    )
    full = network.score(batch).loss()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        words, labels = network.word_embedding(batch.word_types), network.label_embedding.weight
        assert network._hidden_with_attention(words, labels, batch).dtype == torch.float32
        mixed = network.score(batch).loss()
    mixed.backward()
    assert mixed.item() == pytest.approx(full.item(), rel=0.05)
    assert all(weight.grad is not None for weight in network.parameters())
