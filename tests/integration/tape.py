"""A stand-in for CUDA graphs on a CPU: the same operators on the same addresses, again.

As with a CUDA graph, what was recorded has no effect before it is replayed, numbers on the host are
what they were when it was recorded, and nothing may be read on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from tests.integration.launches import _WAITING

Result = TypeVar("Result")


class Tape(TorchDispatchMode):
    """Records operators, and what they change outside of the recording."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._calls: list[tuple[Any, tuple[Any, ...], dict[str, Any], list[Tensor]]] = []
        self._own: set[int] = set()
        self._changed: dict[int, tuple[torch.UntypedStorage, torch.UntypedStorage]] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        name = func.overloadpacket.__name__
        assert name not in _WAITING, f"{name} is read on the host"
        kwargs = kwargs or {}
        self._save(func, args, kwargs)
        result = func(*args, **kwargs)
        given = {_storage(one) for one in tree_leaves((args, kwargs)) if isinstance(one, Tensor)}
        found = [one for one in tree_leaves(result) if isinstance(one, Tensor)]
        self._own.update(_storage(one) for one in found if _storage(one) not in given)
        self._calls.append((func, args, kwargs, found))
        return result

    def _save(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Copy what an operator is about to change, if it was not made on the way."""
        for place, described in enumerate(func._schema.arguments):
            if described.alias_info is None or not described.alias_info.is_write:
                continue
            value = args[place] if place < len(args) else kwargs.get(described.name)
            for one in tree_leaves(value):
                if isinstance(one, Tensor) and _storage(one) not in self._own | set(self._changed):
                    storage = one.untyped_storage()
                    self._changed[_storage(one)] = (storage, storage.clone())

    def undo(self) -> None:
        """Restore everything that was there before."""
        for storage, before in self._changed.values():
            storage.copy_(before)

    def replay(self) -> None:
        """Repeat all operators; their results go to the same addresses."""
        for func, args, kwargs, found in self._calls:
            again = [one for one in tree_leaves(func(*args, **kwargs)) if isinstance(one, Tensor)]
            for place, value in zip(found, again, strict=True):
                assert place.shape == value.shape
                if place.data_ptr() != value.data_ptr():
                    place.copy_(value)


def _storage(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


class TapeRecorder:
    """Records tapes, and counts them."""

    def __init__(self) -> None:
        self.recorded, self.eager = 0, 0

    def eagerly(self, work: Callable[[], Result]) -> Result:
        self.eager += 1
        return work()

    def record(self, work: Callable[[], Result]) -> tuple[Callable[[], None], Result]:
        tape = Tape()
        with tape:
            result = work()
        tape.undo()
        self.recorded += 1
        return tape.replay, result
