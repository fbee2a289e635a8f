"""Records what a function launches on a GPU, so that it can be launched again as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import torch

Result = TypeVar("Result")


class Recorder(Protocol):
    """Runs or records work whose tensors keep their shapes and addresses."""

    def eagerly(self, work: Callable[[], Result]) -> Result:
        """Run the work now, so that libraries are ready before it is recorded."""

    def record(self, work: Callable[[], Result]) -> tuple[Callable[[], None], Result]:
        """Record the work without effect; return what replays it, and its result."""


class CudaRecorder:
    """Records CUDA graphs.

    Work is run once on the stream of the recordings before it is recorded, as PyTorch advises. The
    graphs share the memory of their intermediate results: they are replayed one after another, and
    nothing of them is used after a replay but what they write into tensors from outside.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)
        self._pool = torch.cuda.graph_pool_handle()

    def eagerly(self, work: Callable[[], Result]) -> Result:
        """Run the work on the stream of the recordings; both streams wait for each other."""
        current = torch.cuda.current_stream(self._device)
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            result = work()
        current.wait_stream(self._stream)
        return result

    def record(self, work: Callable[[], Result]) -> tuple[Callable[[], None], Result]:
        """Record a graph; nothing of it is computed before it is replayed."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool, stream=self._stream):
            result = work()
        return graph.replay, result
