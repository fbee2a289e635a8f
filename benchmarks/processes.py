"""Benchmark scoring with several processes against one process with several threads.

    python -m benchmarks.processes
    python -m benchmarks.processes --sentences 256 --size medium --processes 2

Models are trained for one epoch on the toy corpus, then score the sentences of its suites into an
empty store. The first time is that of one process with as many threads as there are processes
otherwise (task.processes=null); the others are those of task.processes=1, 2 and so on, one thread
each. Times include the start of the processes and the loading of the models. Run it on an idle
machine: all times of a model are measured one after another, and only their ratios are of interest.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from gardenpath.runs.evaluation import suites
from gardenpath.runs.run import Run
from gardenpath.runs.suite_tables import sentences_in
from gardenpath.runs.training import train
from gardenpath.settings.compose import load_settings
from gardenpath.store.surprisals import SurprisalStore
from gardenpath.util import Words


def trained_run(model: str, size: str, folder: Path) -> Path:
    """Train a model for one epoch on a small corpus; return its folder."""
    settings = load_settings(
        "train",
        [
            "data=toy_english", "data.reader.train=500", "data.reader.valid=20",
            "data.reader.test=20", f"model={model}", f"model.size={size}", "trainer=cpu",
            "trainer.max_epochs=1", f"paths.runs={folder / 'runs'}",
            f"paths.cache={folder / 'cache'}",
        ],
    )  # fmt: skip
    train(settings)
    return Path(settings.run_dir)


def suite_sentences(count: int) -> list[Words]:
    """Return sentences of the suites of the toy corpus; repeated with a number if too few."""
    found = sorted(set(map(tuple, sentences_in(suites("toy_english"), "en"))))
    repeated = (
        words if turn == 0 else (*words[:-1], *words[1:turn], words[-1])
        for turn in itertools.count()
        for words in found
    )
    return list(itertools.islice(dict.fromkeys(itertools.islice(repeated, 4 * count)), count))


def seconds(path: Path, sentences: Sequence[Words], processes: int | None, folder: Path) -> float:
    """Return the time to score sentences into an empty store."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        run = Run(path, device="cpu", store=SurprisalStore(Path(place) / "surprisals.sqlite"))
        begin = time.perf_counter()
        run.scored(sentences, processes=processes)
        return time.perf_counter() - begin


def measured(path: Path, sentences: Sequence[Words], most: int, folder: Path) -> list[float]:
    """Return the times of one process with ``most`` threads, and of 1 to ``most`` processes."""
    torch.set_num_threads(most)
    counts = [None, *range(1, most + 1)]
    return [seconds(path, sentences, count, folder) for count in counts]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description="Scoring with several processes.")
    parser.add_argument("--models", nargs="+", default=["rnng", "plm", "lstm"])
    parser.add_argument("--size", default="small", help="size of the models")
    parser.add_argument("--sentences", type=int, default=500, help="number of sentences")
    parser.add_argument("--processes", type=int, default=2, help="most processes")
    given = parser.parse_args(arguments)
    most = given.processes
    table = Table(title=f"Seconds to score {given.sentences} sentences, {given.size} models")
    names = ["model", f"{most} threads", *(f"{n} × 1 thread" for n in range(1, most + 1)), "ratio"]
    for name in names:
        table.add_column(name, justify="left" if name == "model" else "right")
    sentences = suite_sentences(given.sentences)
    with tempfile.TemporaryDirectory() as place:
        for model in given.models:
            path = trained_run(model, given.size, Path(place))
            times = measured(path, sentences, most, Path(place))
            table.add_row(model, *(f"{t:.1f}" for t in times), f"{times[0] / times[-1]:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
