"""LSTM cells over many rows, level by level, with hand-written backward passes; LSTM composition.

Rows of one level depend only on rows of earlier levels, so each level is one matrix product.
Everything that is not recurrent (input projections, weight gradients) is computed for all levels at
once. Gates are in the order of :class:`torch.nn.LSTM`: input, forget, cell, output. States are
stored as one matrix ``[hidden, cell]``, so that gathering and scattering take one operation. Used
by the RNNG in training, and for shared prefixes by the LSTM.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from gardenpath.data.batches.trees import Sizes, TreeBatch


def bounds(sizes: Sizes) -> list[tuple[int, int]]:
    """Return the begin and end of each level."""
    result, begin = [], 0
    for size in sizes:
        result.append((begin, begin + size))
        begin += size
    return result


def cell_(gates: Tensor, cell_before: Tensor | None, state: Tensor, cell_tanh: Tensor) -> None:
    """Perform one LSTM step in place: activate ``gates``, write ``state`` and tanh of its cell."""
    hidden = gates.shape[1] // 4
    gates[:, : 2 * hidden].sigmoid_()
    gates[:, 3 * hidden :].sigmoid_()
    into, forget, new, out = gates.chunk(4, dim=1)
    torch.tanh(new, out=new)
    cell = state[:, hidden:]
    torch.mul(into, new, out=cell)
    if cell_before is not None:
        cell.addcmul_(forget, cell_before)
    torch.tanh(cell, out=cell_tanh)
    torch.mul(out, cell_tanh, out=state[:, :hidden])


def cell_backward_(
    saved: tuple[Tensor, Tensor, Tensor | None],
    state_gradient: Tensor,
    gates: Tensor,
    cell_before: Tensor | None,
) -> None:
    """Write the gradients of ``gates`` before activation and of ``cell_before``, for one level.

    ``saved`` are the activated gates, the tanh of the cell and the previous cell, which is missing
    if it is zero. With dh and dc the gradients of hidden state and cell, the full gradient of the
    cell is d = dc + dh · out · (1 - tanh²).
    """
    activated, cell_tanh, before = saved
    hidden = cell_tanh.shape[1]
    into, forget, new, out = activated.chunk(4, dim=1)
    hidden_gradient, cell_gradient = state_gradient[:, :hidden], state_gradient[:, hidden:]
    to_into, to_forget, to_new, to_out = gates.chunk(4, dim=1)
    by_out = hidden_gradient * out
    full = torch.addcmul(cell_gradient, by_out, cell_tanh * cell_tanh, value=-1).add_(by_out)
    torch.mul(full, new, out=to_into)
    torch.mul(full, into, out=to_new)
    to_new.addcmul_(to_new * new, new, value=-1)
    torch.mul(hidden_gradient, cell_tanh, out=to_out)
    if before is None:
        to_forget.zero_()
    else:
        torch.mul(full, before, out=to_forget)
    if cell_before is not None:
        torch.mul(full, forget, out=cell_before)
    # The derivative of the sigmoid is s · (1 - s).
    slope = torch.addcmul(activated, activated, activated, value=-1)
    gates[:, : 2 * hidden].mul_(slope[:, : 2 * hidden])
    to_out.mul_(slope[:, 3 * hidden :])


def add_rows_(target: Tensor, rows: Tensor, values: Tensor) -> None:
    """Compute ``target[rows] += values``, with repeated rows accumulated."""
    target.scatter_add_(0, rows.unsqueeze(1).expand_as(values), values)


class Cells:
    """LSTM cells, one per row: buffers for their gates and for the tanh of their cells.

    Cell k goes on from row ``previous[k]`` of ``state``, a row of an earlier level, and writes row
    ``first + k``; the first ``starts`` cells start from a zero state.
    """

    def __init__(
        self, state: Tensor, count: int, previous: Tensor | None, *, first: int = 0, starts: int = 0
    ) -> None:
        self.state, self.previous, self.first, self.starts = state, previous, first, starts
        self.size = state.shape[1] // 2
        self.gates = state.new_empty(count, 4 * self.size)
        self.cell_tanh = state.new_empty(count, self.size)

    def advance(self, begin: int, end: int, inputs: Tensor, transposed: Tensor) -> None:
        """Compute the cells of a level from their input projections with bias."""
        gates, cell_tanh = self.gates[begin:end], self.cell_tanh[begin:end]
        state = self.state[self.first + begin : self.first + end]
        if self.previous is None or begin < self.starts:
            cell_(gates.copy_(inputs), None, state, cell_tanh)
            return
        before = self.state.index_select(0, self.previous[begin:end])
        torch.addmm(inputs, before[:, : self.size], transposed, out=gates)
        cell_(gates, before[:, self.size :], state, cell_tanh)


class CellsBackward:
    """The backward pass of cells; ``state`` collects the gradients of states."""

    def __init__(self, cells: Cells, weight: Tensor, state: Tensor | None = None) -> None:
        self._cells, self._weight = cells, weight
        self.state = torch.zeros_like(cells.state) if state is None else state
        self.gates = torch.empty_like(cells.gates)

    def advance(self, begin: int, end: int) -> None:
        """Propagate the gradients of a level to its gates and to the states before."""
        cells, gates, size = self._cells, self.gates[begin:end], self._cells.size
        saved = cells.gates[begin:end], cells.cell_tanh[begin:end]
        state = self.state[cells.first + begin : cells.first + end]
        if cells.previous is None or begin < cells.starts:
            cell_backward_((*saved, None), state, gates, None)
            return
        rows = cells.previous[begin:end]
        before = cells.state[:, size:].index_select(0, rows)
        passed = gates.new_empty(end - begin, 2 * size)
        cell_backward_((*saved, before), state, gates, passed[:, size:])
        torch.mm(gates, self._weight, out=passed[:, :size])
        add_rows_(self.state, rows, passed)

    @property
    def weight_gradient(self) -> Tensor:
        """``(4 · size, size)``, after all levels."""
        cells, starts = self._cells, self._cells.starts
        assert cells.previous is not None
        before = cells.state[:, : cells.size].index_select(0, cells.previous[starts:])
        return self.gates[starts:].t() @ before


def stack_layer(like: Tensor, below: Tensor, hidden: int, *, starts: int) -> Cells:
    """Return one layer of the stack LSTM, of which ``below`` is the row below each row."""
    return Cells(like.new_empty(len(below), 2 * hidden), len(below), below, starts=starts)


class StackRecurrence(torch.autograd.Function):
    """Hidden states of all stack elements of a batch, for one layer.

    ``inputs`` are the input projections with bias, ``(rows, 4 · hidden)``.
    """

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, below: Tensor, sizes: Sizes) -> Tensor:
        layer = stack_layer(inputs, below, weight.shape[1], starts=sizes[0])
        for begin, end in bounds(sizes):
            layer.advance(begin, end, inputs[begin:end], weight.t())
        ctx.save_for_backward(weight)
        ctx.layer, ctx.sizes = layer, sizes
        return layer.state[:, : layer.size].contiguous()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        (weight,) = ctx.saved_tensors
        layer = CellsBackward(ctx.layer, weight)
        layer.state[:, : ctx.layer.size] = gradients[0]
        for begin, end in reversed(bounds(ctx.sizes)):
            layer.advance(begin, end)
        return layer.gates, layer.weight_gradient, None, None


def stack_states(inputs: Tensor, weight: Tensor, below: Tensor, sizes: Sizes) -> Tensor:
    """``(rows, hidden)``: see :class:`StackRecurrence`."""
    return apply_in_full_precision(StackRecurrence, inputs, weight, below, sizes)


def dropout_mask(dropout: nn.Dropout, like: Tensor, rows: int, columns: int) -> Tensor | None:
    """Draw a mask beforehand, for a layer that is computed level by level."""
    if not dropout.training or dropout.p == 0:
        return None
    kept = 1 - dropout.p
    # Several times faster than dropout of a matrix of ones.
    return like.new_empty(rows, columns).uniform_().lt_(kept).div_(kept)


def apply_in_full_precision(function: type[torch.autograd.Function], *arguments: Any) -> Tensor:
    """Apply a function outside of mixed precision, because states accumulate over many steps."""
    device = next(a.device.type for a in arguments if isinstance(a, Tensor))
    with torch.autocast(device_type=device, enabled=False):
        is_half = [getattr(a, "dtype", None) in (torch.float16, torch.bfloat16) for a in arguments]
        widened = (a.float() if h else a for a, h in zip(arguments, is_half, strict=True))
        result: Tensor = function.apply(*widened)
    return result


# ----------------------------------------------------------------------------
# Chains of LSTM cells over the children of constituents, level by level.


class CellChain(Cells):
    """Cells of a composition LSTM in one direction: cell k reads row ``vector[k]`` of the inputs.

    ``inputs`` are the input projections of word types, then of constituents as they are completed.
    """

    def __init__(
        self,
        inputs: Tensor,
        state: Tensor,
        vector: Tensor,
        previous: Tensor | None = None,
        *,
        first: int = 0,
    ) -> None:
        super().__init__(state, len(vector), previous, first=first)
        self.inputs, self.vector = inputs, vector

    def read(self, begin: int, end: int, transposed: Tensor) -> None:
        if begin < end:
            inputs = self.inputs.index_select(0, self.vector[begin:end])
            self.advance(begin, end, inputs, transposed)


def cell_chain(
    words: Tensor, vector: Tensor, previous: Tensor, *, firsts: int, extra: int
) -> CellChain:
    """Return a chain that goes on from the first ``firsts`` states; ``extra`` constituents."""
    count, width = words.shape
    inputs = words.new_empty(count + extra, width)
    inputs[:count] = words
    state = words.new_empty(firsts + len(vector), width // 2)
    return CellChain(inputs, state, vector, previous, first=firsts)


class CellChainBackward(CellsBackward):
    """The backward pass of one direction; ``inputs`` collects the gradients of inputs."""

    def __init__(
        self, chain: CellChain, weight: Tensor, after: CellChainBackward | None = None
    ) -> None:
        super().__init__(chain, weight, None if after is None else after.state)
        self.inputs: Tensor = torch.zeros_like(chain.inputs) if after is None else after.inputs
        self._vector = chain.vector

    def read(self, begin: int, end: int) -> None:
        if begin < end:
            self.advance(begin, end)
            add_rows_(self.inputs, self._vector[begin:end], self.gates[begin:end])


# ----------------------------------------------------------------------------
# Compose constituent vectors from the vectors of children, for all trees of a batch at once.
#
# A bidirectional LSTM reads label, children, label. With f the forward state after the last child
# and b the backward state after the first, a constituent's vector is ReLU(W [f; b] + c). The steps
# over the label itself are the same wherever it occurs and are computed once per label.


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
            _ComposeLevels, mask, batch,
            functional.linear(words, self.forward_input, self.forward_bias),
            functional.linear(words, self.backward_input, self.backward_bias),
            forward_labels, backward_labels, self.forward_input, self.backward_input,
            self.forward_bias, self.backward_bias, self.forward_recurrent, self.backward_recurrent,
            self.output.weight, self.output.bias,
        )  # fmt: skip


def _first_state(gates: Tensor) -> Tensor:
    """Return the LSTM state after one step from zero, as ``[hidden, cell]``."""
    into, _, new, out = gates.chunk(4, dim=1)
    cell = into.sigmoid() * new.tanh()
    return torch.cat([out.sigmoid() * cell.tanh(), cell], dim=1)


class _ComposeLevels(torch.autograd.Function):
    """Both chains and the output layer, level by level over the whole batch."""

    @staticmethod
    def forward(ctx: Any, mask: Tensor | None, batch: TreeBatch, *tensors: Tensor) -> Tensor:
        (forward_words, backward_words, forward_labels, backward_labels, forward_input,
         backward_input, forward_bias, backward_bias, forward_recurrent, backward_recurrent,
         output_weight, output_bias) = tensors  # fmt: skip
        count, types = len(batch.constituent_label), len(forward_words)
        ahead, back = (
            cell_chain(words, vector, previous, firsts=len(labels), extra=count)
            for words, labels, vector, previous in (
                (forward_words, forward_labels, batch.forward_vector, batch.forward_previous),
                (backward_words, backward_labels, batch.backward_vector, batch.backward_previous),
            )
        )
        # Chains go on from the states after the label.
        ahead.state[: ahead.first], back.state[: back.first] = forward_labels, backward_labels
        size = ahead.size
        both = forward_words.new_empty(count, 2 * size)
        vectors = forward_words.new_empty(count, size)
        for (fb, fe), (bb, be), (cb, ce) in _levels(batch):
            ahead.read(fb, fe, forward_recurrent.t())
            back.read(bb, be, backward_recurrent.t())
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
                add_rows_(ahead.state[:, :size], batch.last_forward[cb:ce], ends[:, :size])
                add_rows_(back.state[:, :size], batch.last_backward[cb:ce], ends[:, size:])
            ahead.read(fb, fe)
            back.read(bb, be)
        labels = ctx.chains[0].first
        return (
            None, None, ahead.inputs[:types], back.inputs[:types],
            ahead.state[:labels], back.state[:labels],
            ahead.inputs[types:].t() @ vectors, back.inputs[types:].t() @ vectors,
            ahead.inputs[types:].sum(0), back.inputs[types:].sum(0),
            ahead.weight_gradient, back.weight_gradient,
            before_relu.t() @ both, before_relu.sum(0),
        )  # fmt: skip


def _levels(batch: TreeBatch) -> list[tuple[tuple[int, int], ...]]:
    sizes = (batch.forward_sizes, batch.backward_sizes, batch.constituent_sizes)
    return list(zip(*map(bounds, sizes), strict=True))
