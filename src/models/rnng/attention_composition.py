"""Gated attention composition (Kuncoro et al. 2017), which reads the stack.

The children, read by a bidirectional LSTM, are weighted by their match with the label and the state
u in which the constituent is closed; a gate mixes their weighted mean with the label's vector::

    a_i ∝ exp(h_i · V [o_label; u])        m = Σ a_i h_i
    g = σ(G [t_label; m] + b)              vector = ReLU(W (g ⊙ t_label + (1 - g) ⊙ m) + c)

The stack cannot be read before the constituents on it are composed, and these cannot be composed
before the stack is read, so states are computed step by step (:mod:`timed_tree_batches`).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import PackedSequence

from gardenpath.data.batches.timed_tree_batches import TimedTreeBatch
from gardenpath.models.rnng.lstm_levels import bounds


class AttentionComposition(nn.Module):
    """Weights: ``lstm`` over children; ``label_query`` (o), ``label_vector`` (t), ``match`` (V),
    ``gate`` (G, b) and ``output`` (W, c).
    """

    def __init__(self, *, size: int, label_count: int, dropout: float) -> None:
        super().__init__()
        self.size = size
        self.lstm = nn.LSTM(size, size, bidirectional=True)
        self.label_query = nn.Embedding(label_count, size)
        self.label_vector = nn.Embedding(label_count, 2 * size)
        self.match = nn.Linear(2 * size, 2 * size, bias=False)
        self.gate = nn.Linear(4 * size, 2 * size)
        self.output = nn.Linear(2 * size, size)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        children: Tensor,
        constituent: Tensor,
        steps: tuple[int, ...],
        labels: Tensor,
        state: Tensor,
    ) -> Tensor:
        """``(constituents, size)`` from children in packed order and the output states u."""
        packed = PackedSequence(children, torch.tensor(steps, device="cpu"))
        read = self.lstm(packed)[0].data  # (children, 2 · size)
        query = torch.cat([self.label_query(labels), state], dim=1)
        fit = (self.match(read) * query[constituent]).sum(1)
        weight = _softmax_within(fit, constituent, len(labels))
        mean = read.new_zeros(len(labels), 2 * self.size).index_add(
            0, constituent, read * weight.unsqueeze(1)
        )
        mean = self.dropout(mean)
        own = self.dropout(self.label_vector(labels))
        gate = self.gate(torch.cat([own, mean], dim=1)).sigmoid()
        return functional.relu(self.output(gate * own + (1 - gate) * mean))


def _softmax_within(scores: Tensor, group: Tensor, groups: int) -> Tensor:
    """Compute a softmax over the members of each group."""
    largest = scores.new_full((groups,), -torch.inf).scatter_reduce(0, group, scores, "amax")
    exponential = (scores - largest.detach()[group]).exp()
    total = scores.new_zeros(groups).index_add(0, group, exponential)
    return exponential / total[group]


def timed_states(
    vectors: Tensor,
    batch: TimedTreeBatch,
    *,
    first_constituent: int,
    push: Callable[[Tensor, Tensor], Tensor],
    state_size: int,
    compose: Callable[..., Tensor],
    output: Callable[[Tensor], Tensor],
) -> Tensor:
    """``(rows, state_size)`` states of all stack elements, moment by moment.

    ``vectors`` has a row for each vector of the batch; rows of constituents are still empty.
    ``push`` returns the states of vectors on top of states; ``output`` returns u of states.
    """
    vectors = vectors.clone()  # constituents are written into it as they are composed
    states = vectors.new_zeros(len(batch.stack_vector), state_size)
    child = 0
    moments = zip(
        bounds(batch.stack_sizes), bounds(batch.constituent_sizes), batch.child_steps, strict=True
    )
    for (begin, end), (first, last), steps in moments:
        if first < last:
            children = slice(child, child + sum(steps))
            child = children.stop
            vectors[first_constituent + first : first_constituent + last] = compose(
                functional.embedding(batch.child_vector[children], vectors),
                batch.child_constituent[children],
                steps,
                batch.constituent_label[first:last],
                output(functional.embedding(batch.constituent_top[first:last], states)),
            )
        pushed = functional.embedding(batch.stack_vector[begin:end], vectors)
        below = functional.embedding(batch.stack_below[begin:end], states)
        # Nothing lies below the start.
        states[begin:end] = push(pushed, torch.zeros_like(below) if begin == 0 else below)
    return states
