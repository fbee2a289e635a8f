"""Benchmark memory and throughput against the size of the corpus.

    python -m benchmarks.scale [--sizes 10000 100000 1000000] [--models lstm rnng] [--processes 2]

Corpora are sampled from the toy grammar of English and written as bracketed trees. Preparation is
measured with one process and with one per core; a *start* is a preparation that finds everything in
the cache, in a new process. Each model is trained for a number of steps by the same code as
``train.py``, in a process of its own: *steady* is the median of its resident memory in the second
half of that time, *peak* the largest value. Sentences per second are those of training steps, and
of building batches alone. Memory is in MB. ``--folder`` keeps corpora and caches for the next call.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import torch

from benchmarks import processes
from benchmarks.memory import in_own_process, kilobytes
from gardenpath.data.batches.tokens import BatchLoader
from gardenpath.data.readers.base import write_corpus
from gardenpath.data.readers.treebanks import ToyTreebank
from gardenpath.data.sentence import SPLITS
from gardenpath.models.family import FAMILIES, NeuralFamily
from gardenpath.runs.training import train
from gardenpath.settings.compose import load_settings
from gardenpath.settings.train import TrainSettings
from gardenpath.workers import available_cores

MODELS = ("lstm", "transformer", "rnng", "plm")
HELD_OUT_SENTENCES = 200
SECONDS_BETWEEN_SAMPLES = 0.02

# Small models and batches, so that memory is that of the data rather than that of the network.
SMALL = (
    "model.size=tiny", "model.batches.max_tokens=512", "model.batches.max_sentences=16",
    "trainer=cpu", "trainer.progress=false",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Job:
    """The work of one process."""

    kind: Literal["prepare", "train", "speed"]
    folder: str
    sentences: int
    processes: int = 1
    model: str = "lstm"
    steps: int = 100

    @property
    def settings(self) -> TrainSettings:
        """The settings of a training."""
        folder = Path(self.folder)
        found: TrainSettings = load_settings(
            "train",
            [
                f"model={self.model}", *SMALL, "data=brackets",
                f"data.root={corpus_folder(folder, self.sentences)}",
                f"paths.cache={folder / f'cache{self.processes}'}",
                f"paths.runs={folder / 'runs'}", "existing=overwrite",
                f"trainer.max_steps={self.steps}",
            ],
        )  # fmt: skip
        return found


def corpus_folder(folder: Path, sentences: int) -> Path:
    """Return the folder of a corpus of this size."""
    return folder / f"corpus{sentences}"


def make_corpus(folder: Path, sentences: int) -> None:
    """Sample and write a corpus, unless it is there."""
    path = corpus_folder(folder, sentences)
    if (path / "test.txt").exists():  # written last
        return
    held_out = HELD_OUT_SENTENCES
    reader = ToyTreebank(grammar="english", train=sentences, valid=held_out, test=held_out)
    write_corpus(path, {split: reader.read(split) for split in SPLITS}, form="trees")


def measure(job: Job) -> dict[str, float]:
    """Do the work of a process, and measure it."""
    return {"prepare": _prepare, "train": _train, "speed": _speed}[job.kind](job)


def _prepare(job: Job) -> dict[str, float]:
    settings = job.settings
    before, begin = kilobytes("VmRSS"), time.perf_counter()
    settings.data.preparation().prepare(Path(settings.paths.cache), processes=job.processes)
    return {
        "seconds": time.perf_counter() - begin,
        "megabytes": (kilobytes("VmHWM") - before) / 1024,
    }


def _train(job: Job) -> dict[str, float]:
    with _sampled() as samples:
        train(job.settings)
    later = samples[len(samples) // 2 :]
    return {"steady": statistics.median(later) / 1024, "peak": kilobytes("VmHWM") / 1024}


def _speed(job: Job) -> dict[str, float]:
    settings = job.settings
    corpus = settings.data.preparation().prepare(Path(settings.paths.cache))
    family = FAMILIES[settings.model.family]
    assert isinstance(family, NeuralFamily)
    split, model = corpus.split("train"), settings.model
    loader = BatchLoader(
        split.lengths,
        collate=family.make_collate(model, split, corpus.vocabulary),
        settings=getattr(model, "batches"),  # noqa: B009  (only neural models have batches)
        shuffle_seed=1,
    )
    network: Any = family.build(model, corpus.vocabulary)
    optimiser = torch.optim.AdamW(network.parameters())
    steps = min(job.steps, len(loader))

    def one_step(batch: Any) -> int:
        scores = network.score(batch)
        optimiser.zero_grad()
        scores.loss().backward()
        optimiser.step()
        return int(scores.sentences)

    begin = time.perf_counter()
    batches = list(islice(loader, steps))
    building = time.perf_counter() - begin
    begin = time.perf_counter()
    sentences = sum(one_step(batch) for batch in batches)
    return {
        "built": sentences / building,
        "trained": sentences / (time.perf_counter() - begin + building),
    }


@contextmanager
def _sampled() -> Iterator[list[int]]:
    """Sample the resident memory (kB) of this process while the block runs."""
    samples: list[int] = [kilobytes("VmRSS")]
    end = threading.Event()

    def sample() -> None:
        while not end.wait(SECONDS_BETWEEN_SAMPLES):
            samples.append(kilobytes("VmRSS"))

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        end.set()
        thread.join()


def report(folder: Path, sizes: list[int], models: list[str], steps: int) -> None:
    """Measure everything and print two tables in Markdown."""
    cores = available_cores()
    print(
        f"| sentences | prepared, 1 process | {cores} processes | speed-up | memory | start |\n"
        "|--:|--:|--:|--:|--:|--:|",
        flush=True,
    )
    for size in sizes:
        make_corpus(folder, size)
        alone = _measured(kind="prepare", folder=folder, sentences=size)
        together = _measured(kind="prepare", folder=folder, sentences=size, processes=cores)
        again = _measured(kind="prepare", folder=folder, sentences=size)
        print(
            f"| {size:,} | {alone['seconds']:.1f} s | {together['seconds']:.1f} s "
            f"| {alone['seconds'] / together['seconds']:.2f} | {alone['megabytes']:.0f} "
            f"| {again['seconds']:.2f} s |",
            flush=True,
        )
    print("\n| model | sentences | steady | peak | trained/s | built/s |", flush=True)
    print("|---|--:|--:|--:|--:|--:|", flush=True)
    for model in models:
        for size in sizes:
            common: dict[str, Any] = {
                "sentences": size,
                "model": model,
                "steps": steps,
            }
            memory = _measured(folder=folder, kind="train", **common)
            speed = _measured(folder=folder, kind="speed", **common)
            print(
                f"| {model} | {size:,} | {memory['steady']:.0f} | {memory['peak']:.0f} "
                f"| {speed['trained']:,.0f} | {speed['built']:,.0f} |",
                flush=True,
            )


def _measured(*, folder: Path, **settings: Any) -> dict[str, Any]:
    return in_own_process("benchmarks.scale", asdict(Job(folder=str(folder), **settings)))


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--models", choices=MODELS, nargs="+", default=list(MODELS))
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--folder", type=Path, help="keep corpora and caches in this folder")
    parser.add_argument(
        "--processes", type=int, default=available_cores(),
        help="most processes for which evaluation is measured; 0 measures none",
    )  # fmt: skip
    parser.add_argument("--only", help="do one job, given as JSON, and print JSON")
    return parser


def main() -> None:
    """Parse the command line and print the tables, or do one job."""
    arguments = make_parser().parse_args()
    if arguments.only:
        print(json.dumps(measure(Job(**json.loads(arguments.only)))))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        report(folder.resolve(), arguments.sizes, arguments.models, arguments.steps)
    if arguments.processes:
        processes.main(["--processes", str(arguments.processes)])


if __name__ == "__main__":
    main()
