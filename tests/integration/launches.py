"""Counts what decides speed on a GPU: operators that are launched, and waits for their results."""

from __future__ import annotations

from collections import Counter
from types import TracebackType
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

# Operators whose result the host must know, or whose shape it must.
_WAITING = {
    "_local_scalar_dense", "item", "is_nonzero", "equal", "nonzero", "nonzero_numpy", "argwhere",
    "masked_select", "unique", "_unique", "_unique2", "unique_dim", "unique_consecutive",
    "unique_dim_consecutive", "bincount", "repeat_interleave", "allclose",
}  # fmt: skip

# What hands a tensor to Python; on the CPU these need no operator.
_WAITING_METHODS = {"tolist", "numpy", "cpu"}

# Views and questions about shapes launch nothing.
_FREE = {
    "view", "_unsafe_view", "reshape", "expand", "expand_as", "view_as", "slice", "select",
    "unsqueeze", "squeeze", "transpose", "permute", "t", "flatten", "unflatten", "split", "chunk",
    "split_with_sizes", "detach", "alias", "unbind", "numpy_T", "empty", "empty_like", "new_empty",
    "lift_fresh", "sym_size", "is_inference", "narrow",
}  # fmt: skip


class Launches(TorchDispatchMode):
    """Counts operators and waits while it is entered."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operators: Counter[str] = Counter()
        self.waits: Counter[str] = Counter()
        self._methods = _Methods(self.waits)

    def __enter__(self) -> Launches:
        self._methods.__enter__()  # type: ignore[no-untyped-call]
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, trace)  # type: ignore[no-untyped-call]
        self._methods.__exit__(kind, error, trace)  # type: ignore[no-untyped-call]

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        name = func.overloadpacket.__name__
        if name not in _FREE:
            self.operators[name] += 1
        if name in _WAITING or _has_mask(name, args) or _goes_to_host(name, kwargs or {}):
            self.waits[name] += 1
        return func(*args, **(kwargs or {}))

    def counts(self) -> tuple[int, int]:
        """Operators and waits so far."""
        return self.operators.total(), self.waits.total()


class _Methods(TorchFunctionMode):
    """Counts the methods that hand a value to Python."""

    def __init__(self, waits: Counter[str]) -> None:
        super().__init__()
        self._waits = waits

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        name = getattr(func, "__name__", "")
        # Those that also launch an operator are counted there.
        if name in _WAITING_METHODS:
            self._waits[name] += 1
        return func(*args, **(kwargs or {}))


def _has_mask(name: str, args: tuple[Any, ...]) -> bool:
    """Indexing by a mask asks how many places are in it, and so does asking where it holds."""
    if name == "where":
        return len(args) == 1
    if name not in ("index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index"):
        return False
    return any(
        isinstance(index, Tensor) and index.dtype in (torch.bool, torch.uint8) for index in args[1]
    )


def _goes_to_host(name: str, kwargs: dict[str, Any]) -> bool:
    device = kwargs.get("device")
    return name == "_to_copy" and device is not None and torch.device(device).type == "cpu"
