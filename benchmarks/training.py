"""Training RNNGs by level against the usual way, action by action.

    python -m benchmarks.training [--batches 16 32 64 128] [--sentences-of toy|ptb_sample]

Both schedules take the same batches and the same weights and compute forward pass, backward pass
and update. *Of peak* is the time that the matrix products of a step would take at the measured
rate of a large product, divided by the time that the step takes; *in products* is the part of the
time that is spent in the products as they are.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.stepwise_rnng import StepwiseBatch, StepwiseRnng
from src.data.cleaning import Cleaning
from src.data.encoded import EncodedSplit
from src.data.preparation import Preparation
from src.data.raw_split import IntArray
from src.data.readers.base import Reader
from src.data.readers.nltk_corpora import PennTreebankSample
from src.data.readers.toy import ToyTreebank
from src.data.stack_plan import plan_stacks
from src.data.tree_batches import tree_collate
from src.models.rnng import RnngNetwork

Loss = Callable[[], Tensor]

MATRIX_PRODUCTS = {"aten::mm", "aten::addmm", "aten::addmm_", "aten::bmm"}


class LaunchCounter(TorchDispatchMode):
    """Counts operators that run on the device; views launch nothing there."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count: int = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if not func.is_view:
            self.count += 1
        return func(*args, **(kwargs or {}))


def matmul_rate(size: int = 1024, repeats: int = 20) -> float:
    """Floating-point operations per second of a large matrix product."""
    one, other = torch.randn(size, size), torch.randn(size, size)
    for _ in range(3):
        one @ other
    best = float("inf")
    for _ in range(repeats):
        begin = time.perf_counter()
        one @ other
        best = min(best, time.perf_counter() - begin)
    return 2 * size**3 / best


def step(loss: Loss, optimiser: torch.optim.Optimizer) -> float:
    """Forward, backward, update."""
    value = loss()
    optimiser.zero_grad()
    value.backward()
    optimiser.step()
    return float(value.item())


def seconds_per_step(losses: list[Loss], optimiser: torch.optim.Optimizer) -> float:
    """The median over batches, after one to warm up."""
    step(losses[0], optimiser)
    times = []
    for loss in losses:
        begin = time.perf_counter()
        step(loss, optimiser)
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


def launches(loss: Loss) -> int:
    """Operators launched by forward and backward pass."""
    counter = LaunchCounter()
    with counter:
        loss().backward()
    return counter.count


def flops(loss: Loss) -> int:
    """Floating-point operations in the matrix products of forward and backward pass."""
    with FlopCounterMode(display=False) as counter:
        loss().backward()
    total: int = counter.get_total_flops()
    return total


def share_in_products(loss: Loss) -> float:
    """The part of forward and backward pass that is spent in matrix products."""
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        loss().backward()
    events = profiler.key_averages()
    products = sum(e.self_cpu_time_total for e in events if e.key in MATRIX_PRODUCTS)
    return float(products / sum(e.self_cpu_time_total for e in events))


def load(name: str) -> tuple[EncodedSplit, int, int]:
    """The training split of a corpus, and the sizes of its vocabulary."""
    reader: Reader
    if name == "ptb_sample":
        root = os.environ["GARDENPATH_REFERENCE_DATA"]
        reader = PennTreebankSample(root=f"{root}/nltk_data")
    else:
        reader = ToyTreebank(grammar="english")
    cleaning = Cleaning(pos_in_source="present")
    preparation = Preparation(reader=reader, cleaning=cleaning, language="en")
    corpus = preparation.prepare(Path(tempfile.gettempdir()) / "gardenpath-benchmark")
    vocabulary = corpus.vocabulary
    return corpus.split("train"), len(vocabulary), len(vocabulary.labels)


def measure(
    split: EncodedSplit, sizes: tuple[int, int], batch_size: int, steps: int
) -> dict[str, dict[str, float]]:
    """Both schedules on the same batches."""
    torch.manual_seed(0)
    network = RnngNetwork(vocabulary_size=sizes[0], label_count=sizes[1], dropout=0.0)
    stepwise = StepwiseRnng(network)
    generator = np.random.default_rng(batch_size)
    members = [generator.choice(len(split), batch_size, replace=False) for _ in range(steps)]
    collate = tree_collate(split, strategy="top_down", label_count=sizes[1])
    by_level = [_level_loss(network, collate(numbers)) for numbers in members]
    plan = plan_stacks(split, "top_down")
    by_time = [_stepwise_loss(stepwise, StepwiseBatch(split, plan, m)) for m in members]
    assert abs(by_level[0]().item() / by_time[0]().item() - 1) < 1e-4, "the losses must agree"
    actions = float(np.mean([_action_count(split, numbers) for numbers in members]))
    results = {}
    for name, losses, weights in (
        ("by level", by_level, network),
        ("action by action", by_time[: max(2, steps // 3)], stepwise),
    ):
        optimiser = torch.optim.AdamW(weights.parameters())
        duration = seconds_per_step(losses, optimiser)
        results[name] = {
            "seconds": duration,
            "sentences": batch_size / duration,
            "actions": actions / duration,
            "launches": float(launches(losses[0])),
            "flops": float(flops(losses[0])),
            "products": share_in_products(losses[0]),
            "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        }
    results["by level"]["planning"] = _planning_seconds(collate, members)
    return results


def _level_loss(network: RnngNetwork, batch: Any) -> Loss:
    return lambda: network.score(batch).loss()


def _stepwise_loss(stepwise: StepwiseRnng, batch: StepwiseBatch) -> Loss:
    events = int((batch.words != 0).sum()) + len(batch.words)
    return lambda: -stepwise.log_prob(batch) / events


def _action_count(split: EncodedSplit, numbers: IntArray) -> int:
    return int(np.diff(split.action_offsets)[numbers].sum())


def _planning_seconds(collate: Callable[[IntArray], Any], members: list[IntArray]) -> float:
    begin = time.perf_counter()
    for numbers in members:
        collate(numbers)
    return (time.perf_counter() - begin) / len(members)


def report(corpus: str, batch_sizes: list[int], steps: int) -> None:
    """Measure and print one table."""
    split, words, labels = load(corpus)
    rate = matmul_rate()
    table = Table(
        title=f"RNNG training, {corpus}, 256/256, 2 layers; matmul {rate / 1e9:.0f} GFLOP/s"
    )
    columns = (
        "batch", "schedule", "sentences/s", "actions/s", "launches", "of peak", "in products",
        "peak GB", "planning",
    )  # fmt: skip
    for column in columns:
        table.add_column(column, justify="left" if column == "schedule" else "right")
    for size in batch_sizes:
        results = measure(split, (words, labels), size, steps)
        for name, found in results.items():
            share = found["flops"] / rate / found["seconds"]
            planning = f"{found['planning'] / found['seconds']:.1%}" if "planning" in found else ""
            table.add_row(
                str(size), name, f"{found['sentences']:.1f}", f"{found['actions']:,.0f}",
                f"{found['launches']:,.0f}", f"{share:.0%}", f"{found['products']:.0%}",
                f"{found['memory']:.2f}", planning,
            )  # fmt: skip
        fast, slow = results["by level"], results["action by action"]
        table.add_row(
            "", f"[bold]{slow['seconds'] / fast['seconds']:.1f} times as fast[/bold]", "", "",
            f"1/{slow['launches'] / fast['launches']:.1f}", "", "", "", "",
        )  # fmt: skip
        table.add_section()
    Console(width=110).print(table)


def main() -> None:
    """Read the command line and report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--batches", type=int, nargs="+", default=[16, 64, 128])
    parser.add_argument("--steps", type=int, default=6, help="batches measured per size")
    default = "ptb_sample" if "GARDENPATH_REFERENCE_DATA" in os.environ else "toy"
    parser.add_argument("--sentences-of", choices=["toy", "ptb_sample"], default=default)
    arguments = parser.parse_args()
    report(arguments.sentences_of, arguments.batches, arguments.steps)


if __name__ == "__main__":
    main()
