"""Base class of all batches: moves to a device as a whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, Self

import torch
from torch import Tensor


class TensorBatch:
    """Base class of frozen dataclasses of tensors; fields that are not tensors are unchanged."""

    __slots__ = ()

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Self:
        """Move all tensors to a device."""
        return self._map(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Self:
        """Pin all tensors, for asynchronous copies to a GPU."""
        return self._map(Tensor.pin_memory)

    def _map(self, change: Callable[[Tensor], Tensor]) -> Self:
        batch: Any = self  # each subclass is a dataclass
        values = {field.name: getattr(batch, field.name) for field in fields(batch)}
        changed = {name: change(v) for name, v in values.items() if isinstance(v, Tensor)}
        result: Self = replace(batch, **changed)
        return result
