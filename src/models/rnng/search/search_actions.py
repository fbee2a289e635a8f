"""Log probabilities of actions during a search, in the order of its columns.

The rows of the output layer are put into the order of :class:`Column` once. What is legal depends
on the state of an element (:mod:`transitions`), so that legality is part of a table of biases. A
strategy without FINISH ends a derivation by REDUCE, which has then two columns, END and CLOSE, of
which each state has one.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gardenpath.data.trees.actions import Column, Kind
from gardenpath.data.trees.legality import KINDS
from gardenpath.models.rnng.rnng import RnngNetwork, legal_bias
from gardenpath.models.states.transitions import ends_by_reduce, state_bits


class SearchActions:
    """The output layer over actions of a network."""

    def __init__(self, network: RnngNetwork, *, has_pieces: bool) -> None:
        strategy, layer = network.strategy, network.action_output
        device = layer.weight.device
        single = [kind for kind in KINDS[strategy] if kind is not Kind.OPEN]
        end = single.index(Kind.FINISH if Kind.FINISH in single else Kind.REDUCE)
        opens = range(len(single), layer.out_features)
        order = [single.index(Kind.SHIFT), end, single.index(Kind.REDUCE), *opens]
        bits = state_bits(strategy, device, has_pieces=has_pieces)
        missing = _missing(network, len(order), device)
        self._weight = layer.weight.detach()[order].t().contiguous()
        self._bias = layer.bias.detach()[order] + network.legal_bias[bits][:, order] + missing
        self._never: Tensor | None = None
        if network.action_norm == "full":
            # Illegal actions take part in the normalisation but are never taken.
            illegal = legal_bias(strategy, len(opens), "legal", device)
            self._never = (illegal[bits][:, order] + missing).to(self._bias)

    def log_probs(self, output: Tensor, state: Tensor) -> Tensor:
        """``(rows, columns)`` log probabilities, ``-inf`` for illegal actions."""
        found = self.normalised(output, state)
        return found if self._never is None else found + self._never.index_select(0, state)

    def normalised(self, output: Tensor, state: Tensor) -> Tensor:
        """``(rows, columns)`` log probabilities of all actions that were normalised together."""
        bias = self._bias.index_select(0, state)
        return bias.addmm_(output, self._weight).log_softmax(1)


def _missing(network: RnngNetwork, columns: int, device: torch.device) -> Tensor:
    """``(states, columns)``: -inf for the one of END and CLOSE that REDUCE is not, else zero."""
    is_last = ends_by_reduce(network.strategy, device)
    missing = torch.zeros((len(is_last), columns), device=device)
    if Kind.FINISH not in KINDS[network.strategy]:
        missing[:, Column.END].masked_fill_(~is_last, -torch.inf)
        missing[:, Column.CLOSE].masked_fill_(is_last, -torch.inf)
    return missing
