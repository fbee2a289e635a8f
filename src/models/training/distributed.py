"""Training in several processes: how they meet, what Lightning is told, and how scores are summed.

All processes plan the same batches and take a share of each (:mod:`shares`). DDP averages the
gradients over the processes; the loss of a share is therefore divided by the number of events of
the whole batch and multiplied by the number of processes, which gives the gradient of the whole
batch. The sums of each batch are exchanged in every step, so that all processes know the same loss
and take the same decisions.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
from lightning_fabric.plugins import ClusterEnvironment
from pytorch_lightning.strategies import DDPStrategy, Strategy
from pytorch_lightning.utilities import rank_zero_only
from torch import Tensor, distributed
from torch.distributed import PrefixStore, Store, TCPStore  # type: ignore[attr-defined]

from gardenpath.models.scores import BatchScores
from gardenpath.models.training.placement import Placement
from gardenpath.models.training.training_settings import TrainerSettings

# How long a process waits for the others: to start, and in each step.
PATIENCE = timedelta(minutes=10)


@functools.cache
def store_at(placement: Placement) -> TCPStore:
    """Return the store of processes that were started elsewhere.

    It is kept, because the others may wait for the next training while the first one still scores.
    """
    return open_store(placement)


def open_store(placement: Placement) -> TCPStore:
    """Open a store through which the processes meet; the first process holds it.

    Without an address, the operating system chooses a free port.
    """
    host, port = placement.address or ("127.0.0.1", 0)
    # torchrun may hold the store itself.
    is_elsewhere = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    is_held = placement.rank == 0 and not (placement.address and is_elsewhere)
    return TCPStore(
        host, port, is_master=is_held, wait_for_workers=False, timeout=PATIENCE, multi_tenant=True
    )


def part_of(store: Store, name: str) -> Store:
    """Return a part of a store, in which keys are not those of other parts."""
    return PrefixStore(name, store)


@contextmanager
def joined(placement: Placement, store: Store, trainer: TrainerSettings) -> Iterator[None]:
    """Connect this process with the others while the block runs."""
    on_gpu = trainer.accelerator != "cpu" and torch.cuda.is_available()
    threads, variable = torch.get_num_threads(), os.environ.get("OMP_NUM_THREADS")
    distributed.init_process_group(
        "nccl" if on_gpu else "gloo",
        store=PrefixStore("group", store),
        rank=placement.rank,
        world_size=placement.size,
        timeout=PATIENCE,
    )
    try:
        yield
        # Nobody leaves while another still waits for an answer.
        distributed.barrier(device_ids=[placement.local_rank] if on_gpu else None)
    finally:
        distributed.destroy_process_group()
        # Lightning shares the cores among the processes of a machine.
        torch.set_num_threads(threads)
        if variable is None:
            os.environ.pop("OMP_NUM_THREADS", None)


def lightning_arguments(placement: Placement) -> dict[str, Any]:
    """Return the arguments of Lightning's trainer that concern processes.

    Lightning would otherwise read the environment, where it finds several processes even if they
    train different models.
    """
    rank_zero_only.rank = placement.rank  # type: ignore[attr-defined]
    return {
        "devices": placement.local_size,
        "num_nodes": placement.machines,
        "strategy": _ddp() if placement.size > 1 else "auto",
        "plugins": [_Placed(placement)],
    }


def _ddp() -> DDPStrategy:
    # Buffers are constants.
    return DDPStrategy(timeout=PATIENCE, broadcast_buffers=False)


def summed(scores: BatchScores, strategy: Strategy) -> BatchScores:
    """Return the scores of a whole batch, in double precision: the sum over all processes."""
    names = sorted(scores.log_prob)
    parts = [*(scores.log_prob[name] for name in names), scores.words, scores.sentences]
    sums = strategy.reduce(
        torch.stack([_in_high_precision(part.detach()) for part in parts]), reduce_op="sum"
    )
    assert isinstance(sums, Tensor)
    *log_probs, words, sentences = sums.unbind()
    return BatchScores(
        log_prob=dict(zip(names, log_probs, strict=True)), words=words, sentences=sentences
    )


def _in_high_precision(value: Tensor) -> Tensor:
    """Convert to double precision for sums over a large split, except on Apple GPUs."""
    return value.float() if value.device.type == "mps" else value.double()


class _Placed(ClusterEnvironment):
    """Tells Lightning the place of this process; all processes are running already."""

    def __init__(self, placement: Placement) -> None:
        super().__init__()
        self._placement = placement

    @property
    def creates_processes_externally(self) -> bool:
        return True

    @property
    def main_address(self) -> str:
        return self._placement.address[0] if self._placement.address else "127.0.0.1"

    @property
    def main_port(self) -> int:
        return self._placement.address[1] if self._placement.address else 0

    @staticmethod
    def detect() -> bool:
        return False

    def world_size(self) -> int:
        return self._placement.size

    def set_world_size(self, size: int) -> None:
        assert size == self._placement.size

    def global_rank(self) -> int:
        return self._placement.rank

    def set_global_rank(self, rank: int) -> None:
        assert rank == self._placement.rank

    def local_rank(self) -> int:
        return self._placement.local_rank

    def node_rank(self) -> int:
        return self._placement.rank // self._placement.local_size
