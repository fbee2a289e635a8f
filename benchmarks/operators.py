"""Count operators and floating-point operations, and measure the speed of the machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

Loss = Callable[[], Tensor]

MATRIX_PRODUCTS = {"aten::mm", "aten::addmm", "aten::addmm_", "aten::bmm"}


class LaunchCounter(TorchDispatchMode):
    """Counts operators that run on the device; views launch no kernel."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count: int = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if not func.is_view:
            self.count += 1
        return func(*args, **(kwargs or {}))


class ProductCounter(TorchDispatchMode):
    """Counts the floating-point operations of matrix products in inference mode.

    In this mode, compound operators are not decomposed; decomposing them, as PyTorch's own counter
    does, takes far longer than the computation itself.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operations: int = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        self.operations += _operations(func.overloadpacket, args, result)
        return result


def _operations(packet: Any, args: Any, result: Any) -> int:
    """Count two operations for each multiply-add."""
    aten = torch.ops.aten
    if packet in (aten.linear, aten.matmul, aten.mm, aten.bmm, aten.mv):
        return 2 * int(result.numel()) * int(args[0].shape[-1])
    if packet in (aten.addmm, aten.baddbmm):
        return 2 * int(result.numel()) * int(args[1].shape[-1])
    if packet is aten.scaled_dot_product_attention:
        return 4 * int(args[0].numel()) * int(args[1].shape[-2])
    if packet is aten.lstm:
        rows = args[0].numel() // args[0].shape[-1]
        weights = next(each for each in args if isinstance(each, list) and len(each) >= 4)
        return sum(2 * rows * weight.numel() for weight in weights if weight.dim() == 2)
    return 0


def matmul_rate(size: int = 1024, repeats: int = 20) -> float:
    """Measure the floating-point operations per second of a large matrix product."""
    one, other = torch.randn(size, size), torch.randn(size, size)
    for _ in range(3):
        one @ other
    best = float("inf")
    for _ in range(repeats):
        begin = time.perf_counter()
        one @ other
        best = min(best, time.perf_counter() - begin)
    return 2 * size**3 / best


def launches(loss: Loss) -> int:
    """Count the operators launched by a forward and backward pass."""
    counter = LaunchCounter()
    with counter:
        loss().backward()
    return counter.count


def flops(loss: Loss) -> int:
    """Count the floating-point operations in matrix products of a forward and backward pass."""
    with FlopCounterMode(display=False) as counter:
        loss().backward()
    total: int = counter.get_total_flops()
    return total


def share_in_products(loss: Loss) -> float:
    """Return the fraction of a forward and backward pass that is spent in matrix products."""
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        loss().backward()
    events = profiler.key_averages()
    products = sum(e.self_cpu_time_total for e in events if e.key in MATRIX_PRODUCTS)
    return float(products / sum(e.self_cpu_time_total for e in events))
