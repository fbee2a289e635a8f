"""A layer of a PLM during a search, around the attention."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from gardenpath.models.sequential.transformer import Block


class SearchLayer:
    """A block of the decoder whose queries are scaled once, in the weights."""

    def __init__(self, block: nn.Module, heads: int) -> None:
        assert isinstance(block, Block)
        self._block = block
        joint = block.attention.query_key_value
        self._hidden = joint.in_features
        scale = torch.ones_like(joint.bias).detach()
        scale[: self._hidden] = 1 / math.sqrt(self._hidden // heads)
        self._weight = joint.weight.detach() * scale.unsqueeze(1)
        self._bias = joint.bias.detach() * scale

    def query_and_memory(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """``(rows, hidden)`` queries; ``(rows, 2 · hidden)`` keys and values."""
        joint = functional.linear(self._block.attention_norm(states), self._weight, self._bias)
        return joint[:, : self._hidden], joint[:, self._hidden :]

    def after(self, states: Tensor, mixed: Tensor) -> Tensor:
        """Return the states after the block, given the output of the attention."""
        block = self._block
        states = states + block.attention.project(mixed)
        inner = functional.gelu(block.expand(block.feed_forward_norm(states)), approximate="tanh")
        result: Tensor = block.contract(inner).add_(states)
        return result
