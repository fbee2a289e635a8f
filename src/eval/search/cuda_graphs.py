"""Records what a function launches on a GPU, so that it can be launched again as a whole."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor

from gardenpath.eval.search.protocol import Work

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


# ----------------------------------------------------------------------------
# Steps between two words, recorded once for each pattern of shapes and addresses, then replayed.
#
# A recording repeats the same operators on the same addresses. The state of the search is
# therefore kept in places that depend on its shapes only, and a recording is used again only if
# all tensors that a step reads or writes, and all numbers on the host that determine its shapes,
# are what they were. What a step counts on the host is counted for each replay.
#
# A pattern that occurs for the first time is computed without a recording, the second time it is
# recorded. Nothing has to be known in advance: if a tensor grows, its address is new, and so is
# the pattern.


# Recordings, and states by shape, that are kept at the same time.
_MOST_PATTERNS = 64

Tensors = Sequence[Tensor]
TakeStep = Callable[[Tensors], Tensors]


@runtime_checkable
class RecordableModel(Protocol):
    """A model whose steps, with fixed shapes, can be recorded."""

    def ready(self, rows: int) -> tuple[Tensors, tuple[int, ...]]:
        """Make room for a step of so many rows.

        Return the tensors that steps keep from one to the next, and the numbers on the host that
        determine what a step does.
        """

    def counts(self) -> tuple[int, ...]:
        """Return what is counted on the host, step by step."""

    def recount(self, added: Sequence[int]) -> None:
        """Add to what is counted on the host."""


@dataclass(frozen=True)
class _Recorded:
    replay: Callable[[], None]
    after: Tensors
    counted: tuple[int, ...]


class ReplayedSteps:
    """Takes steps of one search, by replay where a step was recorded."""

    def __init__(self, model: RecordableModel, work: Work, recorder: Recorder) -> None:
        self._model = model
        self._work = work
        self._recorder = recorder
        self._seen: set[Hashable] = set()
        self._recorded: dict[Hashable, _Recorded] = {}
        self._places: dict[Hashable, Tensor] = {}
        self.replays = 0

    def begin(self) -> None:
        """Prepare for a word: recordings that may not be used again must not pile up."""
        if len(self._recorded) >= _MOST_PATTERNS or len(self._places) >= 16 * _MOST_PATTERNS:
            self._seen.clear()
            self._recorded.clear()
            self._places.clear()

    def placed(self, role: str, values: Tensors) -> Tensors:
        """Return the same content in places that depend on the role and the shapes only."""
        found = []
        for number, value in enumerate(values):
            key = (role, number, value.shape, value.dtype)
            place = self._places.get(key)
            if place is None:
                place = self._places[key] = value.clone()
            elif place is not value:
                place.copy_(value)
            found.append(place)
        return found

    def step(self, advance: TakeStep, state: Tensors, others: Tensors) -> Tensors:
        """Take a step from a state in its places; return the state after it, in its places.

        ``others`` are further tensors that the step reads.
        """
        kept, numbers = self._model.ready(state[0].numel())
        pattern = (*numbers, *map(_identity, (*state, *others, *kept)))
        known = self._recorded.get(pattern)
        if known is None:
            if pattern not in self._seen:
                self._seen.add(pattern)
                return self._recorder.eagerly(lambda: self.placed("state", advance(state)))
            known = self._recorded[pattern] = self._record(advance, state)
        known.replay()
        self.replays += 1
        self._recount(known.counted)
        return known.after

    def _record(self, advance: TakeStep, state: Tensors) -> _Recorded:
        before = self._counts()
        replay, after = self._recorder.record(lambda: self.placed("state", advance(state)))
        counted = tuple(b - a for a, b in zip(before, self._counts(), strict=True))
        # Nothing has happened yet.
        self._recount([-one for one in counted])
        return _Recorded(replay, after, counted)

    def _counts(self) -> tuple[int, ...]:
        work = self._work
        return (work.steps, work.expanded, work.word_scores, *self._model.counts())

    def _recount(self, added: Sequence[int]) -> None:
        steps, expanded, word_scores, *others = added
        self._work.steps += steps
        self._work.expanded += expanded
        self._work.word_scores += word_scores
        self._model.recount(others)


def _identity(tensor: Tensor) -> Hashable:
    return tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype
