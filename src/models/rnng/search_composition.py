"""Compose constituents during a search, for rows with any number of children at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from gardenpath.models.rnng.attention_composition import AttentionComposition
from gardenpath.models.rnng.composition import LstmComposition
from gardenpath.models.rnng.lstm_levels import cell_, tanh_by_sigmoid
from gardenpath.models.rnng.rnng import RnngNetwork


@dataclass(frozen=True)
class Children:
    """Constituents to be composed.

    ``vector`` and ``content`` of all nodes; ``place``: ``(rows, most)`` nodes of the children, last
    child first; for each row, ``count`` of its children, ``label`` and ``output`` (u).
    """

    vector: Tensor
    content: Tensor
    place: Tensor
    count: Tensor
    label: Tensor
    output: Tensor

    def rows(self, rows: Tensor) -> Children:
        """Select some of the constituents."""
        return replace(
            self,
            place=self.place[rows],
            count=self.count[rows],
            label=self.label[rows],
            output=self.output[rows],
        )

    @property
    def in_order(self) -> Tensor:
        """``(rows, most)`` nodes, first child first; arbitrary after the last."""
        position = torch.arange(self.place.shape[1], device=self.place.device)
        back = (self.count.unsqueeze(1) - 1 - position).clamp(min=0)
        return self.place.gather(1, back)

    @property
    def is_child(self) -> Tensor:
        """``(rows, most)``: whether a place contains a child."""
        position = torch.arange(self.place.shape[1], device=self.place.device)
        return position < self.count.unsqueeze(1)


class Composer:
    """Composes constituents; if compositions are shared, each distinct content once."""

    def __init__(self, compose: Callable[[Children], Tensor], *, is_shared: bool) -> None:
        self._compose = compose
        self._is_shared = is_shared
        self._known: Tensor | None = None
        self._vectors: Tensor | None = None

    def __call__(self, children: Children) -> tuple[Tensor, Tensor]:
        """``(rows, size)`` vectors, and the key of each content (zero if not shared)."""
        if not self._is_shared:
            return self._compose(children), torch.zeros_like(children.label)
        key = content_key(children)
        unique, inverse = key.unique(return_inverse=True)
        example = torch.empty_like(unique).scatter_(
            0, inverse, torch.arange(len(key), device=key.device)
        )
        if self._known is None or self._vectors is None:
            self._known, self._vectors = unique, self._compose(children.rows(example))
            return self._vectors[inverse], key
        place = torch.searchsorted(self._known, unique).clamp(max=len(self._known) - 1)
        new = (self._known[place] != unique).nonzero().squeeze(1)
        if len(new):
            vectors = self._compose(children.rows(example[new]))
            known, order = torch.cat([self._known, unique[new]]).sort()
            self._known, self._vectors = known, torch.cat([self._vectors, vectors])[order]
        place = torch.searchsorted(self._known, unique)
        return self._vectors[place][inverse], key

    def forget(self) -> None:
        """Clear the known contents, none of which can recur after the next word."""
        self._known = self._vectors = None


# Odd multipliers with well-mixed bits.
_MIX = (-7046029254386353131, -4658895280553007687, -7723592293110705685)


def content_key(children: Children) -> Tensor:
    """``(rows,)`` 64-bit keys that are equal if label and children are equal.

    Two different contents collide with a probability of about 10⁻¹⁹.
    """
    content = children.content[children.place]
    position = torch.arange(content.shape[1], device=content.device)
    mixed = _mix(content * _MIX[0] + (position + 1) * _MIX[1])
    total = mixed.masked_fill(~children.is_child, 0).sum(1)
    return _mix(total + (children.label + 1) * _MIX[2] + children.count)


def _mix(values: Tensor) -> Tensor:
    """Mix the bits of each number (the finaliser of splitmix64)."""
    values = (values ^ (values >> 30)) * _MIX[1]
    values = (values ^ (values >> 27)) * _MIX[2]
    return values ^ (values >> 31)


def make_composer(network: RnngNetwork, *, is_packed: bool, is_shared: bool) -> Composer:
    """Return the composition function of a network.

    ``is_packed``: the numbers of children may be read on the host, so that padding is not computed.
    """
    part = network.composition
    if isinstance(part, AttentionComposition):
        # The composed vector depends on the stack below as well.
        return Composer(lambda children: _attend(part, children), is_shared=False)
    assert isinstance(part, LstmComposition)
    ahead, back = part.label_states(network.label_embedding.weight)
    forward = (part.forward_input, part.forward_recurrent, part.forward_bias)
    backward = (part.backward_input, part.backward_recurrent, part.backward_bias)
    last_state = _last_state_packed if is_packed else _last_state

    def read(children: Children) -> Tensor:
        """Return both ends of a bidirectional LSTM over label, children, label."""
        label = children.label
        ends = [
            last_state(children, children.in_order, ahead.detach()[label], forward),
            last_state(children, children.place, back.detach()[label], backward),
        ]
        return functional.relu(part.output(torch.cat(ends, dim=1)))

    return Composer(read, is_shared=is_shared)


LstmWeights = tuple[Tensor, Tensor, Tensor]


def _last_state(children: Children, place: Tensor, state: Tensor, weights: LstmWeights) -> Tensor:
    """``(rows, size)`` hidden states after the children at these places, from a given state."""
    states = _lstm(children.vector[place], state, weights)
    last = (children.count - 1).view(-1, 1, 1).expand(-1, 1, states.shape[2])
    return states.gather(1, last).squeeze(1)


def _last_state_packed(
    children: Children, place: Tensor, state: Tensor, weights: LstmWeights
) -> Tensor:
    """Like :func:`_last_state`, but read each row only up to its last child."""
    inward, recurrent, bias = weights
    count, order = children.count.sort(descending=True)
    place, state = place[order], state[order]
    hidden, cell = state.chunk(2, dim=1)
    position = torch.arange(place.shape[1], device=place.device)
    # Rows are sorted by number of children, largest first, so the unfinished rows come first.
    for step, rows in enumerate((count.unsqueeze(1) > position).sum(0).tolist()):
        vectors = children.vector.index_select(0, place[:rows, step])
        gates = functional.linear(vectors, inward, bias)
        gates.addmm_(hidden[:rows], recurrent.t())
        cell_(gates, cell[:rows].clone(), state[:rows], hidden[:rows], tanh=tanh_by_sigmoid)
    return torch.empty_like(hidden).index_copy(0, order, hidden)


def _lstm(inputs: Tensor, state: Tensor, weights: LstmWeights) -> Tensor:
    """``(rows, steps, size)`` hidden states from ``[hidden, cell]``."""
    inward, recurrent, bias = weights
    hidden, cell = (part.contiguous().unsqueeze(0) for part in state.chunk(2, dim=1))
    result: Tensor = torch.lstm(
        inputs.transpose(0, 1).contiguous(), (hidden, cell),
        [inward, recurrent, bias, torch.zeros_like(bias)],
        True, 1, 0.0, False, False, False,
    )[0]  # fmt: skip
    return result.transpose(0, 1)


def _attend(part: AttentionComposition, children: Children) -> Tensor:
    """Gated attention over children, as :class:`AttentionComposition` defines it."""
    weights = dict(part.lstm.named_parameters())

    def read(places: Tensor, suffix: str) -> Tensor:
        vectors = children.vector[places]
        zero = vectors.new_zeros(len(places), 2 * part.size)
        bias = weights[f"bias_ih_l0{suffix}"] + weights[f"bias_hh_l0{suffix}"]
        chosen = (weights[f"weight_ih_l0{suffix}"], weights[f"weight_hh_l0{suffix}"], bias)
        return _lstm(vectors, zero, chosen)

    forward = read(children.in_order, "")
    backward = read(children.place, "_reverse")
    position = torch.arange(children.place.shape[1], device=children.place.device)
    turned = (children.count.unsqueeze(1) - 1 - position).clamp(min=0)
    backward = backward.gather(1, turned.unsqueeze(2).expand_as(backward))
    states = torch.cat([forward, backward], dim=2)
    query = torch.cat([part.label_query(children.label), children.output], dim=1)
    fit = (part.match(states) * query.unsqueeze(1)).sum(2)
    weight = fit.masked_fill(~children.is_child, -torch.inf).softmax(1)
    mean = (states * weight.unsqueeze(2)).sum(1)
    own = part.label_vector(children.label)
    gate = part.gate(torch.cat([own, mean], dim=1)).sigmoid()
    return functional.relu(part.output(gate * own + (1 - gate) * mean))
