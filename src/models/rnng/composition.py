"""Compose constituent vectors from the vectors of children, for all trees of a batch at once.

A bidirectional LSTM reads label, children, label. With f the forward state after the last child and
b the backward state after the first, a constituent's vector is ReLU(W [f; b] + c). The steps over
the label itself are the same wherever it occurs and are computed once per label.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from gardenpath.data.batches.tree_batches import TreeBatch
from gardenpath.models.rnng.lstm_chains import CellChain, CellChainBackward
from gardenpath.models.rnng.lstm_levels import apply_in_full_precision, bounds, dropout_mask


class LstmComposition(nn.Module):
    """The composition function of Dyer et al. (2016).

    Weights: ``forward_input``, ``forward_recurrent``, ``forward_bias`` and the same for
    ``backward``, with gates in the order of :class:`torch.nn.LSTM`; ``output`` is W and c.
    """

    def __init__(self, *, size: int, dropout: float) -> None:
        super().__init__()
        self.size = size
        bound = size**-0.5

        def weight() -> nn.Parameter:
            return nn.Parameter(torch.empty(4 * size, size).uniform_(-bound, bound))

        self.forward_input, self.forward_recurrent = weight(), weight()
        self.backward_input, self.backward_recurrent = weight(), weight()
        self.forward_bias = nn.Parameter(torch.zeros(4 * size))
        self.backward_bias = nn.Parameter(torch.zeros(4 * size))
        self.output = nn.Linear(2 * size, size)
        self.dropout = nn.Dropout(dropout)

    def label_states(self, labels: Tensor) -> tuple[Tensor, Tensor]:
        """``(labels, 2 · size)`` states of both directions after reading a label."""
        return (
            _first_state(functional.linear(labels, self.forward_input, self.forward_bias)),
            _first_state(functional.linear(labels, self.backward_input, self.backward_bias)),
        )

    def forward(self, words: Tensor, labels: Tensor, batch: TreeBatch) -> Tensor:
        """``(constituents, size)`` vectors in the order of the batch.

        ``words`` are the vectors of its word types, ``labels`` those of all labels.
        """
        forward_labels, backward_labels = self.label_states(labels)
        mask = dropout_mask(self.dropout, words, len(batch.constituent_label), 2 * self.size)
        return apply_in_full_precision(
            _ComposeLevels,
            functional.linear(words, self.forward_input, self.forward_bias),
            functional.linear(words, self.backward_input, self.backward_bias),
            forward_labels,
            backward_labels,
            self.forward_input,
            self.backward_input,
            self.forward_bias,
            self.backward_bias,
            self.forward_recurrent,
            self.backward_recurrent,
            self.output.weight,
            self.output.bias,
            mask,
            batch,
        )


def _first_state(gates: Tensor) -> Tensor:
    """Return the LSTM state after one step from zero, as ``[hidden, cell]``."""
    into, _, new, out = gates.chunk(4, dim=1)
    cell = into.sigmoid() * new.tanh()
    return torch.cat([out.sigmoid() * cell.tanh(), cell], dim=1)


class _ComposeLevels(torch.autograd.Function):
    """Both chains and the output layer, level by level over the whole batch."""

    @staticmethod
    def forward(
        ctx: Any,
        forward_words: Tensor,
        backward_words: Tensor,
        forward_labels: Tensor,
        backward_labels: Tensor,
        forward_input: Tensor,
        backward_input: Tensor,
        forward_bias: Tensor,
        backward_bias: Tensor,
        forward_recurrent: Tensor,
        backward_recurrent: Tensor,
        output_weight: Tensor,
        output_bias: Tensor,
        mask: Tensor | None,
        batch: TreeBatch,
    ) -> Tensor:
        count, types = len(batch.constituent_label), len(forward_words)
        ahead = _labelled(
            forward_words, forward_labels, batch.forward_vector, batch.forward_previous, count
        )
        back = _labelled(
            backward_words, backward_labels, batch.backward_vector, batch.backward_previous, count
        )
        size = ahead.size
        both = forward_words.new_empty(count, 2 * size)
        vectors = forward_words.new_empty(count, size)
        for (fb, fe), (bb, be), (cb, ce) in _levels(batch):
            ahead.advance(fb, fe, forward_recurrent.t())
            back.advance(bb, be, backward_recurrent.t())
            if cb == ce:
                continue
            level, ends = vectors[cb:ce], both[cb:ce]
            ends[:, :size] = ahead.state.index_select(0, batch.last_forward[cb:ce])[:, :size]
            ends[:, size:] = back.state.index_select(0, batch.last_backward[cb:ce])[:, :size]
            if mask is not None:
                ends.mul_(mask[cb:ce])
            torch.addmm(output_bias, ends, output_weight.t(), out=level)
            level.relu_()
            rows = slice(types + cb, types + ce)
            torch.addmm(forward_bias, level, forward_input.t(), out=ahead.inputs[rows])
            torch.addmm(backward_bias, level, backward_input.t(), out=back.inputs[rows])
        ctx.save_for_backward(
            forward_input, backward_input, forward_recurrent, backward_recurrent, output_weight,
            both, vectors,
        )  # fmt: skip
        ctx.chains, ctx.batch, ctx.types, ctx.mask = (ahead, back), batch, types, mask
        return vectors

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (forward_input, backward_input, forward_recurrent, backward_recurrent, output_weight, both,
         vectors) = ctx.saved_tensors  # fmt: skip
        batch, types, size = ctx.batch, ctx.types, vectors.shape[1]
        ahead = CellChainBackward(ctx.chains[0], forward_recurrent)
        back = CellChainBackward(ctx.chains[1], backward_recurrent)
        before_relu = torch.empty_like(vectors)
        for (fb, fe), (bb, be), (cb, ce) in reversed(_levels(batch)):
            if cb < ce:
                rows = slice(types + cb, types + ce)
                total = torch.addmm(gradients[0][cb:ce], ahead.inputs[rows], forward_input)
                total.addmm_(back.inputs[rows], backward_input)
                level = before_relu[cb:ce]
                torch.mul(total, vectors[cb:ce] > 0, out=level)
                ends = level @ output_weight
                if ctx.mask is not None:
                    ends.mul_(ctx.mask[cb:ce])
                _add_hidden_(ahead.state, batch.last_forward[cb:ce], ends[:, :size])
                _add_hidden_(back.state, batch.last_backward[cb:ce], ends[:, size:])
            ahead.advance(fb, fe)
            back.advance(bb, be)
        labels = ctx.chains[0].firsts
        return (
            ahead.inputs[:types],
            back.inputs[:types],
            ahead.state[:labels],
            back.state[:labels],
            ahead.inputs[types:].t() @ vectors,
            back.inputs[types:].t() @ vectors,
            ahead.inputs[types:].sum(0),
            back.inputs[types:].sum(0),
            ahead.weight_gradient,
            back.weight_gradient,
            before_relu.t() @ both,
            before_relu.sum(0),
            None,
            None,
        )


def _labelled(
    word_inputs: Tensor, label_states: Tensor, vector: Tensor, previous: Tensor, extra: int
) -> CellChain:
    """Return a chain whose first states are those after reading a label."""
    chain = CellChain(word_inputs, vector, previous, firsts=len(label_states), extra=extra)
    chain.state[: chain.firsts] = label_states
    return chain


def _levels(
    batch: TreeBatch,
) -> list[tuple[tuple[int, int], tuple[int, int], tuple[int, int]]]:
    return list(
        zip(
            bounds(batch.forward_sizes),
            bounds(batch.backward_sizes),
            bounds(batch.constituent_sizes),
            strict=True,
        )
    )


def _add_hidden_(state: Tensor, rows: Tensor, values: Tensor) -> None:
    """Add to the hidden half of states; each chain has one end, so rows are never repeated."""
    hidden = state[:, : values.shape[1]]
    hidden.scatter_add_(0, rows.unsqueeze(1).expand_as(values), values)
