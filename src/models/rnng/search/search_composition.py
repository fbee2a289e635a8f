"""Compose constituents during a search, for rows with any number of children at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from gardenpath.models.rnng.attention_composition import AttentionComposition
from gardenpath.models.rnng.composition import LstmComposition
from gardenpath.models.rnng.rnng import RnngNetwork


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
        last = children.count - 1
        order = torch.cat([first_to_last(children.place, last), children.place])
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


def first_to_last(place: Tensor, last: Tensor) -> Tensor:
    """``(most, rows)`` nodes, first child first; arbitrary after the last.

    ``last``: ``(rows,)`` position of the last child, counted from zero.
    """
    position = torch.arange(len(place), device=place.device).unsqueeze(1)
    return place.gather(0, (last - position).clamp_(min=0))


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
        position = torch.arange(len(place), device=place.device).unsqueeze(1)
        turned = last - position
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
