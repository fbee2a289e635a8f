"""Benchmark RNNG training by level against training action by action.

    python -m benchmarks.training [--batches 16 64 128] [--sentences-of toy|ptb_sample]
    python -m benchmarks.training --composition attention
    python -m benchmarks.training --curve 100

Both schedules use the same batches and the same weights and compute forward pass, backward pass and
update, each in its own process; memory excludes model and batches. *Of peak* is the time that the
matrix products of a step would take at the measured rate of a large product, divided by the actual
time of the step; *in products* is the fraction of time actually spent in matrix products. With
``--curve``, both train from the same weights on the same batches, and their losses are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from benchmarks.memory import in_own_process, peak_gb
from benchmarks.operators import Loss, flops, launches, matmul_rate, share_in_products
from benchmarks.stepwise_rnng import StepwiseBatch, StepwiseRnng
from gardenpath.data.arrays import Ints
from gardenpath.data.batches.stack_plan import plan_stacks
from gardenpath.data.batches.trees import timed_tree_collate, tree_collate
from gardenpath.data.corpus import DataSettings
from gardenpath.data.encoding import EncodedSplit
from gardenpath.data.readers.base import Reader
from gardenpath.data.readers.treebanks import PennTreebankSample, ToyTreebank
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.models.syntactic.family import RnngSettings
from gardenpath.models.syntactic.networks import RnngNetwork

Composition = Literal["lstm", "attention"]
COMPOSITIONS: tuple[Composition, Composition] = ("lstm", "attention")
Schedule = Literal["by level", "action by action"]
SCHEDULES: tuple[Schedule, Schedule] = ("by level", "action by action")

# Maximum number of printed steps of a curve.
_MOST_POINTS = 20


@dataclass(frozen=True, kw_only=True)
class Task:
    """The work of one process: measure the speed of a schedule, or its losses over ``steps``."""

    schedule: Schedule
    corpus: str
    batch: int
    steps: int
    composition: Composition = "lstm"
    is_curve: bool = False
    is_double: bool = False


def step(loss: Loss, optimiser: torch.optim.Optimizer) -> float:
    """Run a forward pass, a backward pass and an update."""
    value = loss()
    optimiser.zero_grad()
    value.backward()
    optimiser.step()
    return float(value.item())


def seconds_per_step(losses: list[Loss], optimiser: torch.optim.Optimizer) -> float:
    """Return the median time over batches, after a warm-up batch."""
    step(losses[0], optimiser)
    times = []
    for loss in losses:
        begin = time.perf_counter()
        step(loss, optimiser)
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


def load(name: str) -> tuple[EncodedSplit, int, int]:
    """Return the training split of a corpus and the sizes of its vocabulary."""
    reader: Reader
    if name == "ptb_sample":
        root = os.environ["GARDENPATH_REFERENCE_DATA"]
        reader = PennTreebankSample(root=f"{root}/nltk_data")
    else:
        reader = ToyTreebank(grammar="english")
    cleaning = Cleaning(pos_in_source="present")
    preparation = DataSettings(
        name="benchmark", reader=reader, cleaning=cleaning, language="en"
    ).preparation()
    corpus = preparation.prepare(Path(tempfile.gettempdir()) / "gardenpath-benchmark")
    vocabulary = corpus.vocabulary
    return corpus.split("train"), len(vocabulary), len(vocabulary.labels)


class Schedules:
    """Both schedules on the same random batches, with the same initial weights."""

    def __init__(self, task: Task) -> None:
        self.split, words, labels = load(task.corpus)
        torch.manual_seed(0)
        settings = RnngSettings(dropout=0.0, composition=task.composition)
        self.network = RnngNetwork(settings, vocabulary_size=words, label_count=labels)
        self.stepwise = StepwiseRnng(self.network)
        generator = np.random.default_rng(task.batch)
        self.members = [
            generator.choice(len(self.split), task.batch, replace=False) for _ in range(task.steps)
        ]
        collate: Callable[..., Any] = (
            tree_collate if task.composition == "lstm" else timed_tree_collate
        )
        self.collate = collate(self.split, strategy="top_down", label_count=labels)

    def losses(self, schedule: Schedule) -> list[Loss]:
        """Return the loss function of each batch."""
        if schedule == "by level":
            return [_level_loss(self.network, self.collate(numbers)) for numbers in self.members]
        plan = plan_stacks(self.split, "top_down")
        return [
            _stepwise_loss(self.stepwise, StepwiseBatch(self.split, plan, numbers))
            for numbers in self.members
        ]

    def optimiser(self, schedule: Schedule) -> torch.optim.Optimizer:
        """Return the optimiser of the weights that a schedule uses."""
        weights: torch.nn.Module = self.network if schedule == "by level" else self.stepwise
        return torch.optim.AdamW(weights.parameters())


def measure(task: Task) -> dict[str, float]:
    """Measure speed, memory and work of one schedule."""
    schedules = Schedules(task)
    losses, optimiser = schedules.losses(task.schedule), schedules.optimiser(task.schedule)
    with torch.no_grad():
        first = float(losses[0]())
    duration = 0.0

    def run() -> None:
        nonlocal duration
        duration = seconds_per_step(losses, optimiser)

    memory = peak_gb(run)
    actions = float(np.mean([_action_count(schedules.split, n) for n in schedules.members]))
    result = {
        "loss": first,
        "seconds": duration,
        "sentences": task.batch / duration,
        "actions": actions / duration,
        "launches": float(launches(losses[0])),
        "flops": float(flops(losses[0])),
        "products": share_in_products(losses[0]),
        "memory": memory,
    }
    if task.schedule == "by level":
        result["planning"] = _planning_seconds(schedules.collate, schedules.members)
    return result


def curve(task: Task) -> list[float]:
    """Return the losses while training with one schedule."""
    schedules = Schedules(task)
    schedules.stepwise.to(torch.float64 if task.is_double else torch.float32)
    optimiser = schedules.optimiser(task.schedule)
    return [step(loss, optimiser) for loss in schedules.losses(task.schedule)]


def _level_loss(network: RnngNetwork, batch: Any) -> Loss:
    return lambda: network.score(batch).loss()


def _stepwise_loss(stepwise: StepwiseRnng, batch: StepwiseBatch) -> Loss:
    events = int((batch.words != 0).sum()) + len(batch.words)
    return lambda: -stepwise.log_prob(batch) / events


def _action_count(split: EncodedSplit, numbers: Ints) -> int:
    return int(np.diff(split.action_offsets)[numbers].sum())


def _planning_seconds(collate: Callable[[Ints], Any], members: list[Ints]) -> float:
    begin = time.perf_counter()
    for numbers in members:
        collate(numbers)
    return (time.perf_counter() - begin) / len(members)


def measured(task: Task) -> dict[str, Any]:
    """Run a task in its own process."""
    return in_own_process("benchmarks.training", asdict(task))


def report(corpus: str, batch_sizes: list[int], steps: int, composition: Composition) -> None:
    """Measure and print one table."""
    rate = matmul_rate()
    table = Table(
        title=f"RNNG training, {composition} composition, {corpus}, 256/256, 2 layers; "
        f"matmul {rate / 1e9:.0f} GFLOP/s"
    )
    columns = (
        "batch", "schedule", "sentences/s", "actions/s", "launches", "of peak", "in products",
        "peak GB", "planning",
    )  # fmt: skip
    for column in columns:
        table.add_column(column, justify="left" if column == "schedule" else "right")
    for size in batch_sizes:
        fast, slow = (
            measured(
                Task(schedule=name, corpus=corpus, batch=size, steps=count, composition=composition)
            )
            for name, count in zip(SCHEDULES, (steps, max(2, steps // 3)), strict=True)
        )
        assert abs(fast["loss"] / slow["loss"] - 1) < 1e-4, "the losses must agree"
        for name, found in zip(SCHEDULES, (fast, slow), strict=True):
            table.add_row(str(size), name, *_cells(found, rate))
        table.add_row(
            "", f"[bold]speed-up {slow['seconds'] / fast['seconds']:.1f}[/bold]", "", "",
            f"1/{slow['launches'] / fast['launches']:.1f}", "", "", "", "",
        )  # fmt: skip
        table.add_section()
    Console(width=110).print(table)


def _cells(found: dict[str, float], rate: float) -> tuple[str, ...]:
    share = found["flops"] / rate / found["seconds"]
    planning = f"{found['planning'] / found['seconds']:.1%}" if "planning" in found else ""
    return (
        f"{found['sentences']:.1f}", f"{found['actions']:,.0f}", f"{found['launches']:,.0f}",
        f"{share:.0%}", f"{found['products']:.0%}", f"{found['memory']:.2f}", planning,
    )  # fmt: skip


def report_curves(
    corpus: str, batch: int, steps: int, composition: Composition, *, is_double: bool
) -> None:
    """Train with both schedules and print the losses next to each other."""
    by_level, by_time = (
        measured(
            Task(
                schedule=name, corpus=corpus, batch=batch, steps=steps, is_curve=True,
                is_double=is_double, composition=composition,
            )
        )["losses"]
        for name in SCHEDULES
    )  # fmt: skip
    precision = "double" if is_double else "single"
    table = Table("step", *SCHEDULES, title=f"Losses, batches of {batch}, {precision} precision")
    shown = sorted({int(n) for n in np.linspace(0, steps - 1, _MOST_POINTS)})
    for number in shown:
        table.add_row(str(number + 1), f"{by_level[number]:.6f}", f"{by_time[number]:.6f}")
    largest = max(abs(one - other) for one, other in zip(by_level, by_time, strict=True))
    table.caption = f"Largest difference over {steps} steps: {largest:.2g} nats per event"
    Console(width=110).print(table)


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--batches", type=int, nargs="+", default=[16, 64, 128])
    parser.add_argument("--steps", type=int, default=6, help="number of batches measured per size")
    default = "ptb_sample" if "GARDENPATH_REFERENCE_DATA" in os.environ else "toy"
    parser.add_argument("--sentences-of", choices=["toy", "ptb_sample"], default=default)
    parser.add_argument(
        "--composition", choices=COMPOSITIONS, nargs="+", default=list(COMPOSITIONS)
    )
    parser.add_argument("--curve", type=int, metavar="N", help="only compare losses over N steps")
    parser.add_argument("--curve-batch", type=int, default=64)
    parser.add_argument("--double", action="store_true", help="use double precision for the curve")
    parser.add_argument("--only", help="measure one schedule, given as JSON, and print JSON")
    return parser


def main() -> None:
    """Parse the command line and print the report."""
    arguments = make_parser().parse_args()
    corpus = arguments.sentences_of
    if arguments.only:
        task = Task(**json.loads(arguments.only))
        print(json.dumps({"losses": curve(task)} if task.is_curve else measure(task)))
        return
    for composition in arguments.composition:
        if arguments.curve:
            batch, steps = arguments.curve_batch, arguments.curve
            report_curves(corpus, batch, steps, composition, is_double=arguments.double)
        else:
            report(corpus, arguments.batches, arguments.steps, composition)


if __name__ == "__main__":
    main()
