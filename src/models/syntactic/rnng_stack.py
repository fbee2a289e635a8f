"""Stacks of an RNNG during a search: steps of the stack LSTM, integers of elements, composition.

Used by :mod:`rnng_search` alone, and written for few operators per step. On a CPU, tanh is several
times slower than the sigmoid; tanh(x) = 2σ(2x) - 1 is computed instead, and the factors of two,
which are exact, go into the weights: states are stored as h / 2 and 2c.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from gardenpath.data.trees.legality import MOST_OPEN, Column, Kind
from gardenpath.models.search_states import START_STATE, Arena, legal_state
from gardenpath.models.syntactic.attention_composition import AttentionComposition
from gardenpath.models.syntactic.composition import LstmComposition
from gardenpath.models.syntactic.networks import RnngNetwork


class SearchStack:
    """The stack LSTM and the output layer u of a network, without dropout.

    ``by_sigmoid``: compute tanh by the sigmoid.
    """

    def __init__(self, network: RnngNetwork, *, by_sigmoid: bool) -> None:
        stack = network.stack
        self._by_sigmoid = by_sigmoid
        self._layers = len(stack.input)
        self.state_size = stack.state_size
        hidden_scale = 2.0 if by_sigmoid else 1.0
        scales = [1.0] + [hidden_scale] * (self._layers - 1)
        self._input = [
            self._ordered(weight) * scale for weight, scale in zip(stack.input, scales, strict=True)
        ]
        self._recurrent = [
            (self._ordered(weight) * hidden_scale).t().contiguous() for weight in stack.recurrent
        ]
        self._bias = [self._ordered(bias) for bias in stack.bias]
        self._output = (network.to_output.weight.detach() * hidden_scale).t().contiguous()
        self._output_bias = network.to_output.bias.detach()

    def _ordered(self, weight: Tensor) -> Tensor:
        into, forget, new, out = weight.detach().chunk(4)
        return torch.cat([into, forget, out, new * 2 if self._by_sigmoid else new])

    def inputs(self, vectors: Tensor) -> Tensor:
        """``(rows, 4 · hidden)`` input projections of vectors to be pushed."""
        return functional.linear(vectors, self._input[0], self._bias[0])

    def step(self, inputs: Tensor, below: Tensor, again: Tensor | None, after: Tensor) -> None:
        """Write into ``after`` the states of vectors, given by their input projections.

        ``below``: ``(…, state_size)`` states they are pushed onto; ``again``: which of them is
        below each row, if several rows have the same. ``inputs`` are overwritten.
        """
        before = below.chunk(2 * self._layers, dim=1)
        places = after.chunk(2 * self._layers, dim=1)
        for layer in range(self._layers):
            hidden, cell = places[2 * layer], places[2 * layer + 1]
            cell_before = before[2 * layer + 1]
            if again is None:
                inputs.addmm_(before[2 * layer], self._recurrent[layer])
            else:
                recurrent = before[2 * layer] @ self._recurrent[layer]
                inputs += recurrent.index_select(0, again)
                cell_before = cell_before.index_select(0, again)
            self._cell(inputs, cell_before, hidden, cell)
            if layer + 1 < self._layers:
                inputs = functional.linear(hidden, self._input[layer + 1], self._bias[layer + 1])

    def _cell(self, gates: Tensor, before: Tensor, hidden: Tensor, cell: Tensor) -> None:
        """Perform one step in place: activate ``gates``, write ``hidden`` and ``cell``."""
        into, forget, out, new = gates.chunk(4, dim=1)
        if self._by_sigmoid:
            gates.sigmoid_()
            # 2c' = f · 2c + 2i(2σ - 1);  h / 2 = o(σ(2c) - ½)
            torch.mul(forget, before, out=cell)
            cell.addcmul_(into, new, value=4).sub_(into, alpha=2)
            torch.sigmoid(cell, out=hidden).sub_(0.5).mul_(out)
            return
        gates[:, : 3 * hidden.shape[1]].sigmoid_()
        new.tanh_()
        torch.mul(forget, before, out=cell)
        cell.addcmul_(into, new)
        torch.tanh(cell, out=hidden).mul_(out)

    def output(self, state: Tensor, output: Tensor) -> None:
        """Write u of ``(rows, state_size)`` states into ``output``."""
        hidden = state.chunk(2 * self._layers, dim=1)[-2]
        torch.addmm(self._output_bias, hidden, self._output, out=output).relu_()


# ----------------------------------------------------------------------------
# The integers of stack elements during a search, written for all kinds of pushes at once.
#
# What is pushed is an *event*: a :class:`Column` (a word, a closed constituent, or an opened
# label), or ``again`` for a first child that is pushed on top of its label. Each integer of a new
# element is one of the integers of the element below it, or its number, plus a constant that
# depends on the event, so that two lookups and one addition write all of them.


# Odd multipliers with well-mixed bits.
_MIX = (-7046029254386353131, -4658895280553007687, -7723592293110705685)


def number_columns(*, has_keys: bool, has_contents: bool, has_pieces: bool) -> dict[str, int]:
    """Return the columns of stack elements.

    ``below``: the element below. ``base``: the element below the label of the innermost open
    constituent; ``label`` of it; ``children`` that it has so far. ``depth``: number of open
    constituents, at most :data:`MOST_OPEN`; ``legal``: the state that determines the legal actions
    (:class:`ColumnBias`). ``height``: number of elements below. ``nothing``: zero. ``key`` of label
    and children of the innermost open constituent; ``content``: key of the element itself.
    ``pieces`` of the word on top, one for other elements.
    """
    names = ["below", "base", "label", "depth", "legal", "height", "nothing", "children"]
    names += ["key"] * has_keys + ["content"] * has_contents + ["pieces"] * has_pieces
    return dict.fromkeys(names, 1)


class PushedNumbers:
    """Writes the integers of new elements."""

    def __init__(self, columns: dict[str, int], label_count: int, device: torch.device) -> None:
        self._names = list(columns)
        self.again = Column.FIRST_OPEN + label_count
        kinds = {Column.WORD: Kind.SHIFT, Column.CLOSE: Kind.REDUCE, self.again: Kind.OPEN}
        seeds = label_keys(label_count).tolist()
        rows = []
        for event in range(self.again + 1):
            label = event - Column.FIRST_OPEN
            if 0 <= label < label_count:
                row = self._row(
                    base=("below", 0), label=("nothing", label), depth=("depth", 1),
                    legal=("depth", legal_state(Kind.OPEN) + 1), key=("nothing", seeds[label]),
                )  # fmt: skip
            else:
                # The next child of the open constituent.
                kind = kinds.get(event, Kind.FINISH)
                row = self._row(
                    base=("base", 0), label=("label", 0), children=("children", 1),
                    depth=("depth", 0), legal=("depth", legal_state(kind)), key=("key", 0),
                )  # fmt: skip
            rows.append(row)
        self._table = torch.tensor(rows, dtype=torch.long, device=device)

    def _row(self, **origin: tuple[str, int]) -> list[int]:
        """Return, for each column, the number of the column it comes from, then what is added."""
        origin = {
            "below": ("below", 0),
            "height": ("height", 1),
            "pieces": ("nothing", 1),
            **origin,
        }
        sources = [origin.get(name, ("nothing", 0)) for name in self._names]
        return [self._names.index(name) for name, _ in sources] + [added for _, added in sources]

    def write(self, numbers: Tensor, below: Tensor, events: Tensor, new: Tensor) -> None:
        """Write the ``new`` numbers of events pushed onto the elements ``below``.

        ``key`` is that of the element below and still lacks the new child; ``content`` is missing.
        """
        under = numbers.index_select(0, below)
        under[:, self._names.index("below")] = below
        source, added = self._table.index_select(0, events).chunk(2, dim=1)
        torch.add(under.gather(1, source), added, out=new)
        new[:, self._names.index("depth")].clamp_(max=MOST_OPEN)


def with_child(key: Tensor, content: Tensor) -> Tensor:
    """Return the keys of constituents after a child was added, given their keys before.

    Two different contents have the same key with a probability of about 10⁻¹⁹.
    """
    mixed = (key + content).mul_(_MIX[0])
    return mixed.bitwise_xor_(mixed >> 32)


def word_contents(count: int) -> Tensor:
    """``(count,)`` contents of words."""
    return _mixed((torch.arange(count, device="cpu") + 1) * _MIX[1])


def label_keys(count: int) -> Tensor:
    """``(count,)`` keys of constituents without children, by label."""
    return _mixed((torch.arange(count, device="cpu") + 1) * _MIX[2])


def _mixed(values: Tensor) -> Tensor:
    """Mix the bits of each number (the finaliser of splitmix64)."""
    values = (values ^ (values >> 30)) * _MIX[1]
    values = (values ^ (values >> 27)) * _MIX[2]
    return values ^ (values >> 31)


# ----------------------------------------------------------------------------
# Stacks as nodes of an append-only arena: every element that was ever pushed, with its stack-LSTM
# state, its vector and the node below it, whether or not other stacks share that.


class StackNodes:
    """Nodes that share what lies below them.

    ``is_packed``: whether numbers may be read on the host at any time; ``has_keys``: whether
    contents are compared; ``has_pieces``: whether the pieces of words are counted.
    """

    def __init__(
        self, network: RnngNetwork, *, is_packed: bool, has_keys: bool, has_pieces: bool
    ) -> None:
        self._is_packed = is_packed
        self._has_keys = has_keys
        # In order, a first child is pushed again.
        self._has_contents = has_keys and network.strategy == "in_order"
        self._has_pieces = has_pieces
        self._start = network.start.detach().unsqueeze(0)
        # With fixed shapes, the number of kernel launches dominates.
        self._stack = SearchStack(network, by_sigmoid=is_packed)
        columns = number_columns(
            has_keys=has_keys, has_contents=self._has_contents, has_pieces=has_pieces
        )
        device, size = network.start.device, len(network.start)
        self._numbers = PushedNumbers(columns, network.label_embedding.num_embeddings, device)
        self.arena = Arena(
            floats={"state": self._stack.state_size, "output": size, "vector": size},
            numbers=columns, dtype=network.start.dtype, device=device,
        )  # fmt: skip
        # Bounds of the heights of stacks, of the children of a constituent and of the pieces of a
        # word; with fixed shapes, the latter two determine the shapes.
        self.height, self.most_children, self.most_pieces = 0, 1, 1

    @property
    def again(self) -> int:
        """The event of a first child that is pushed on top of its label."""
        return self._numbers.again

    def column(self, name: str, nodes: Tensor) -> Tensor:
        return self.arena[name].index_select(0, nodes)

    def inputs(self, vectors: Tensor) -> Tensor:
        return self._stack.inputs(vectors)

    def begin(self) -> None:
        arena, stack = self.arena, self._stack
        arena.clear()
        self.height, self.most_children, self.most_pieces = 0, 1, 1
        floats, numbers = arena.room(1)
        arena.column(floats, "vector").copy_(self._start)
        state = arena.column(floats, "state")
        nothing = self._start.new_zeros(1, stack.state_size)
        stack.step(stack.inputs(self._start), nothing, None, state)
        stack.output(state, arena.column(floats, "output"))
        numbers.zero_()
        arena.column(numbers, "legal").fill_(START_STATE)
        if self._has_pieces:
            arena.column(numbers, "pieces").fill_(1)
        arena.append(1)

    def push(
        self,
        below: Tensor,
        events: Tensor,
        vectors: Tensor,
        inputs: Tensor,
        *,
        content: Tensor | None = None,
        child: Tensor | None = None,
        pieces: Tensor | None = None,
    ) -> Tensor:
        """Push vectors, given with their input projections, onto nodes; return the new nodes.

        ``events``: see :class:`PushedNumbers`. ``content``: the keys of elements that are children;
        ``child``: their rows, if not all. ``pieces``: of the words on top, if they are counted.
        ``inputs`` are overwritten.
        """
        arena, stack = self.arena, self._stack
        count = len(below)
        floats, numbers = arena.room(count)
        arena.column(floats, "vector").copy_(vectors)
        self._numbers.write(arena.numbers, below, events, numbers)
        if content is not None and self._has_keys:
            self._write_keys(numbers, content, child)
        if pieces is not None:
            arena.column(numbers, "pieces").copy_(pieces)
        state = arena.column(floats, "state")
        # Each node below once, and the place of each row's among them.
        bottom, again = below.unique(return_inverse=True) if self._is_packed else (below, None)
        stack.step(inputs, arena["state"].index_select(0, bottom), again, state)
        stack.output(state, arena.column(floats, "output"))
        self.height += 1
        return arena.append(count)

    def _write_keys(self, numbers: Tensor, content: Tensor, rows: Tensor | None) -> None:
        names = ("key", "content") if self._has_contents else ("key",)
        for name in names:
            column = self.arena.column(numbers, name)
            before = column if rows is None else column.index_select(0, rows)
            after = with_child(before, content) if name == "key" else content
            if rows is None:
                column.copy_(after)
            else:
                column.index_copy_(0, rows, after)

    def settle(self, nodes: Tensor, is_alive: Tensor) -> Tensor:
        """Keep only the stacks of these nodes."""
        arena = self.arena
        tops = torch.where(is_alive, nodes, 0)
        is_needed = self._on_stacks(tops.flatten())
        renumbered = is_needed.cumsum(0) - 1
        arena.keep(is_needed.nonzero().squeeze(1))
        pointers = arena.columns(arena.numbers[: len(arena)], "below", "base")
        pointers.copy_(renumbered[pointers])
        most = arena.numbers[: len(arena)].amax(0, keepdim=True)
        names = ("height", "children", *(["pieces"] if self._has_pieces else []))
        self.height, children, *pieces = torch.cat(
            [arena.column(most, name) for name in names]
        ).tolist()
        # Until the next word, a constituent gets at most one more child: what is opened on the way
        # to it has no word yet and cannot be closed.
        self.most_children = children + 1
        self.most_pieces = max([1, *pieces])
        return renumbered[tops]

    def _on_stacks(self, tops: Tensor) -> Tensor:
        """``(nodes,)``: whether a node is on the stack of one of the tops.

        What is known to be on a stack is marked, then what is 1, 2, 4, … below it.
        """
        count = len(self.arena)
        is_needed = torch.zeros(count, dtype=torch.bool, device=self.arena.numbers.device)
        is_needed.index_fill_(0, tops, True)
        is_needed[0] = True
        below = self.arena["below"][:count]
        for _ in range(self.height.bit_length()):
            is_needed.index_fill_(0, torch.where(is_needed, below, 0), True)
            below = below.index_select(0, below)
        return is_needed


# ----------------------------------------------------------------------------
# Compose constituents during a search, for rows with any number of children at once.


@dataclass(frozen=True)
class Children:
    """Constituents to be composed.

    ``vector`` of all nodes; ``place``: ``(most, rows)`` nodes of the children, last child first;
    for each row, ``count`` of its children, ``label`` and, if the composition reads it, ``output``
    (u). ``counts`` are the same
    counts on the host, if they are known there; rows are then ordered by them, largest first.
    """

    vector: Tensor
    place: Tensor
    count: Tensor
    label: Tensor
    output: Tensor | None = None
    counts: Sequence[int] | None = None


Compose = Callable[[Children], Tensor]


def make_composer(network: RnngNetwork) -> Compose:
    """Return the composition function of a network, to ``(rows, size)`` vectors."""
    part = network.composition
    if isinstance(part, AttentionComposition):
        return _Attention(part)
    assert isinstance(part, LstmComposition)
    return _LstmEnds(part, network.label_embedding.weight)


def walked(below: Tensor, nodes: Tensor, steps: int) -> Tensor:
    """``(steps, rows)``: nodes, what is below them, what is below that, and so on."""
    places = [nodes]
    for _ in range(steps - 1):
        places.append(below.index_select(0, places[-1]))
    return torch.stack(places)


class _LstmEnds:
    """Both ends of a bidirectional LSTM over label, children, label."""

    def __init__(self, part: LstmComposition, labels: Tensor) -> None:
        ahead, back = (state.detach().chunk(2, dim=1) for state in part.label_states(labels))
        # Hidden states of both directions after the label, then cells: (4, labels, size).
        self._begin = torch.stack([ahead[0], back[0], ahead[1], back[1]])
        none = torch.zeros_like(part.forward_bias)
        self._forward = [part.forward_input, part.forward_recurrent, part.forward_bias, none]
        self._backward = [part.backward_input, part.backward_recurrent, part.backward_bias, none]
        self._output = part.output

    def __call__(self, children: Children) -> Tensor:
        begin = self._begin.index_select(1, children.label)
        ends = (
            self._ends(children, begin)
            if children.counts is None
            else self._packed_ends(children, children.counts, begin)
        )
        return functional.relu(self._output(ends))

    def _ends(self, children: Children, begin: Tensor) -> Tensor:
        """``(rows, 2 · size)``: every row is read as if it had the largest number of children."""
        # First child first, and last child first; what is after the last is arbitrary.
        last, place = children.count - 1, children.place
        position = torch.arange(len(place), device=place.device).unsqueeze(1)
        order = torch.cat([place.gather(0, (last - position).clamp_(min=0)), place])
        vectors = children.vector.index_select(0, order.flatten())
        ahead, back = vectors.view(2, *children.place.shape, -1)
        read = [
            _lstm(ahead, begin[0:1], begin[2:3], self._forward),
            _lstm(back, begin[1:2], begin[3:4], self._backward),
        ]
        index = last.view(1, -1, 1).expand(1, -1, begin.shape[2])
        return torch.cat([states.gather(0, index) for states in read], dim=2).squeeze(0)

    def _packed_ends(self, children: Children, counts: Sequence[int], begin: Tensor) -> Tensor:
        """Like :meth:`_ends`, but read each row only up to its last child."""
        count = np.array(counts)
        rows = np.arange(len(count))
        sizes = (count > np.arange(count[0])[:, None]).sum(1)
        # The child of a row at each step, as a place in the flattened table.
        steps = [
            (count[:size] - 1 - step) * len(count) + rows[:size] for step, size in enumerate(sizes)
        ]
        order = torch.from_numpy(np.concatenate(steps)).to(begin.device)
        nodes = children.place.flatten().index_select(0, order)
        _, hidden, _ = torch.lstm(
            children.vector.index_select(0, nodes), torch.from_numpy(sizes),
            (begin[:2], begin[2:]), [*self._forward, *self._backward],
            True, 1, 0.0, False, True,
        )  # fmt: skip
        result: Tensor = hidden.transpose(0, 1).flatten(1)
        return result


def _lstm(inputs: Tensor, hidden: Tensor, cell: Tensor, weights: Sequence[Tensor]) -> Tensor:
    """``(steps, rows, size)`` hidden states."""
    result: Tensor = torch.lstm(
        inputs, (hidden, cell), list(weights), True, 1, 0.0, False, False, False
    )[0]
    return result


class _Attention:
    """Gated attention over children, as :class:`AttentionComposition` defines it."""

    def __init__(self, part: AttentionComposition) -> None:
        self._part = part
        names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
        weights = dict(part.lstm.named_parameters())
        self._forward = [weights[name] for name in names]
        self._backward = [weights[f"{name}_reverse"] for name in names]

    def __call__(self, children: Children) -> Tensor:
        part, place, last = self._part, children.place, children.count - 1
        turned = last - torch.arange(len(place), device=place.device).unsqueeze(1)
        back = turned.clamp(min=0)
        order = torch.cat([place.gather(0, back), place]).flatten()
        ahead, reverse = children.vector.index_select(0, order).view(2, *place.shape, -1)
        zero = ahead.new_zeros(1, len(last), part.size)
        forward = _lstm(ahead, zero, zero, self._forward)
        backward = _lstm(reverse, zero, zero, self._backward)
        backward = backward.gather(0, back.unsqueeze(2).expand_as(backward))
        states = torch.cat([forward, backward], dim=2)
        assert children.output is not None
        query = torch.cat([part.label_query(children.label), children.output], dim=1)
        fit = (part.match(states) * query).sum(2)
        weight = fit.masked_fill(turned < 0, -torch.inf).softmax(0)
        mean = (states * weight.unsqueeze(2)).sum(0)
        own = part.label_vector(children.label)
        gate = part.gate(torch.cat([own, mean], dim=1)).sigmoid()
        return functional.relu(part.output(mean.lerp(own, gate)))
