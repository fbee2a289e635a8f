"""Baseline RNNG training: all sentences of a batch in step, one action at a time.

Stacks are tensors of fixed size, and sentences are padded to the longest. The schedule by level is
compared with this one; the loss is the same.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from benchmarks.copying_rnng import stack_step, stack_top
from gardenpath.data.arrays import Ints
from gardenpath.data.batches.stack_plan import StackPlan
from gardenpath.data.encoding import EncodedSplit
from gardenpath.data.trees.legality import Kind
from gardenpath.data.words.vocabulary import PAD_ID
from gardenpath.models.syntactic.attention_composition import AttentionComposition
from gardenpath.models.syntactic.composition import LstmComposition
from gardenpath.models.syntactic.networks import RnngNetwork, action_column

_PADDING = -1
_NO_LABEL = -1


class StepwiseBatch:
    """Padded words, actions and legal bits, and the maximum stack size."""

    def __init__(self, split: EncodedSplit, plan: StackPlan, sentences: Ints) -> None:
        words = [torch.from_numpy(split.sentence(n).astype("int64")) for n in sentences]
        actions = [
            torch.from_numpy(
                split.actions[split.action_offsets[n] : split.action_offsets[n + 1]].astype("int64")
            )
            for n in sentences
        ]
        self.words: Tensor = nn.utils.rnn.pad_sequence(
            words, batch_first=True, padding_value=PAD_ID
        )
        self.actions = nn.utils.rnn.pad_sequence(actions, batch_first=True, padding_value=_PADDING)
        rows = [
            plan.depth[plan.element_offsets[n] : plan.element_offsets[n + 1]] for n in sentences
        ]
        self.room = max(int(depth.max()) for depth in rows) + 2


class StepwiseRnng(nn.Module):
    """A top-down RNNG with the weights of a given network, without dropout."""

    def __init__(self, network: RnngNetwork) -> None:
        super().__init__()
        self.network = network
        # PyTorch's LSTM reads the children, as in other implementations.
        self.lstm = _child_lstm(network.composition)

    def log_prob(self, batch: StepwiseBatch) -> Tensor:
        """Return the joint log probability of the batch."""
        network, count = self.network, len(batch.words)
        rows = torch.arange(count)
        words = network.word_embedding(batch.words)
        stack = Stacks(network, count, batch.room)
        stack.push(rows, network.start.expand(count, -1), torch.full((count,), _NO_LABEL))
        position = torch.zeros(count, dtype=torch.long)
        last = torch.full((count,), _PADDING)
        total: Tensor = words.new_zeros(())
        for actions in batch.actions.unbind(1):
            active = rows[actions != _PADDING]
            total = total + self._step_log_prob(stack, actions, last, batch, position, active)
            self._advance(stack, actions, words, position)
            last = torch.where(actions == _PADDING, last, actions)
        return total

    def _step_log_prob(
        self,
        stack: Stacks,
        actions: Tensor,
        last: Tensor,
        batch: StepwiseBatch,
        position: Tensor,
        active: Tensor,
    ) -> Tensor:
        network = self.network
        output = functional.relu(network.to_output(stack.top_hidden()))
        legal = torch.where(last == _PADDING, 8, torch.where(last >= Kind.OPEN, 9, 11))
        scores = network.action_output(output) + network.legal_bias[legal]
        columns = action_column(actions, network.strategy)
        log_prob = -functional.cross_entropy(scores[active], columns[active], reduction="sum")
        shifts = (actions == Kind.SHIFT).nonzero().squeeze(1)
        if len(shifts):
            logits = network.word_output.logits(output[shifts])
            targets = batch.words[shifts, position[shifts]]
            log_prob = log_prob - functional.cross_entropy(logits, targets, reduction="sum")
        return log_prob

    def _advance(self, stack: Stacks, actions: Tensor, words: Tensor, position: Tensor) -> None:
        shifts = (actions == Kind.SHIFT).nonzero().squeeze(1)
        opens = (actions >= Kind.OPEN).nonzero().squeeze(1)
        reduces = (actions == Kind.REDUCE).nonzero().squeeze(1)
        vectors, rows, labels = [], [], []
        if len(shifts):
            vectors.append(words[shifts, position[shifts]])
            position[shifts] += 1
        if len(opens):
            vectors.append(self.network.label_embedding(actions[opens] - Kind.OPEN))
        if len(reduces):
            top = stack.top_hidden()[reduces]
            vectors.append(self._compose(*stack.pop_constituents(reduces), top))
        for group in (shifts, opens, reduces):
            if len(group):
                rows.append(group)
                opened = group is opens
                none = torch.full_like(group, _NO_LABEL)
                labels.append(actions[group] - Kind.OPEN if opened else none)
        stack.push(torch.cat(rows), torch.cat(vectors), torch.cat(labels))

    def _compose(
        self, children: Tensor, lengths: Tensor, labels: Tensor, names: Tensor, top: Tensor
    ) -> Tensor:
        if isinstance(self.network.composition, AttentionComposition):
            return self._attend(self.network.composition, children, lengths, names, top)
        rows = torch.arange(len(labels))
        padded = torch.cat(
            [labels.unsqueeze(1), children, torch.zeros_like(labels).unsqueeze(1)], 1
        )
        padded[rows, lengths + 1] = labels
        states = self._read(padded, lengths + 2)
        size = labels.shape[1]
        ends = torch.cat([states[rows, lengths][:, :size], states[:, 1, size:]], dim=1)
        return functional.relu(self.network.composition.output(ends))

    def _read(self, padded: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(padded, lengths, batch_first=True, enforce_sorted=False)
        states: Tensor = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)[0]
        return states

    def _attend(
        self,
        part: AttentionComposition,
        children: Tensor,
        lengths: Tensor,
        names: Tensor,
        top: Tensor,
    ) -> Tensor:
        read = self._read(children, lengths)
        state = functional.relu(self.network.to_output(top))
        query = torch.cat([part.label_query(names), state], dim=1)
        fit = (part.match(read) * query.unsqueeze(1)).sum(2)
        is_padding = torch.arange(read.shape[1]) >= lengths.unsqueeze(1)
        weight = fit.masked_fill(is_padding, -torch.inf).softmax(1)
        mean = (read * weight.unsqueeze(2)).sum(1)
        own = part.label_vector(names)
        gate = part.gate(torch.cat([own, mean], dim=1)).sigmoid()
        return functional.relu(part.output(gate * own + (1 - gate) * mean))


def _child_lstm(part: nn.Module) -> nn.LSTM:
    """Return an LSTM over children with the weights of a composition function."""
    if isinstance(part, AttentionComposition):
        return part.lstm
    assert isinstance(part, LstmComposition)
    lstm = nn.LSTM(part.size, part.size, bidirectional=True, batch_first=True)
    with torch.no_grad():
        for suffix, direction in (("", "forward"), ("_reverse", "backward")):
            getattr(lstm, f"weight_ih_l0{suffix}").copy_(getattr(part, f"{direction}_input"))
            getattr(lstm, f"weight_hh_l0{suffix}").copy_(getattr(part, f"{direction}_recurrent"))
            getattr(lstm, f"bias_ih_l0{suffix}").copy_(getattr(part, f"{direction}_bias"))
            # PyTorch's LSTM has two biases per gate; only one of them should be updated.
            getattr(lstm, f"bias_hh_l0{suffix}").zero_().requires_grad_(False)
    return lstm


class Stacks:
    """Stacks of fixed size, one for each sentence of a batch."""

    def __init__(self, network: RnngNetwork, count: int, room: int) -> None:
        self._stack = network.stack
        self._states = network.start.new_zeros(count, room, network.stack.state_size)
        self._vectors = network.start.new_zeros(count, room, len(network.start))
        self._label = torch.full((count, room), _NO_LABEL)
        self._height = torch.zeros(count, dtype=torch.long)

    def top_hidden(self) -> Tensor:
        top = self._states[torch.arange(len(self._height)), self._height - 1]
        return stack_top(self._stack, top)

    def push(self, rows: Tensor, vectors: Tensor, label: Tensor) -> None:
        height = self._height[rows]
        below = self._states[rows, (height - 1).clamp(min=0)]
        below = below * (height > 0).unsqueeze(1)
        new = stack_step(self._stack, vectors, below)
        self._states[rows, height] = new
        self._vectors[rows, height] = vectors
        self._label[rows, height] = label
        self._height[rows] += 1

    def pop_constituents(self, rows: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Pop constituents: return children (padded), their numbers, labels' vectors and labels."""
        place = torch.arange(self._label.shape[1])
        is_open = (self._label[rows] != _NO_LABEL) & (place < self._height[rows].unsqueeze(1))
        label = torch.where(is_open, place, -1).max(1).values
        lengths = self._height[rows] - label - 1
        columns = label.unsqueeze(1) + 1 + torch.arange(int(lengths.max()))
        children = self._vectors[rows.unsqueeze(1), columns.clamp(max=len(place) - 1)]
        vectors, names = self._vectors[rows, label], self._label[rows, label]
        self._label[rows, label] = _NO_LABEL
        self._height[rows] = label
        return children, lengths, vectors, names
