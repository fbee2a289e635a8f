"""Benchmark reading corpora and building batches.

    python -m benchmarks.data

Trees come from the toy corpus and, if GARDENPATH_REFERENCE_DATA is set, from the Penn Treebank
sample. NLTK reads the same text for comparison. Batches are built without a model.
"""

from __future__ import annotations

import functools
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import nltk
from rich.console import Console
from rich.table import Table

from gardenpath.data.batches.tokens import BatchLoader, token_batch
from gardenpath.data.corpus import BatchSettings, DataSettings
from gardenpath.data.readers.base import Reader
from gardenpath.data.readers.treebanks import PennTreebankSample, ToyTreebank
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.trees.tree import format_tree, read_trees


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Return the shortest of several times, because the machine may be busy."""
    best = float("inf")
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return best


def measure_reading(reader: Reader) -> list[tuple[str, str]]:
    """Measure trees per second of Gardenpath's reader, of NLTK's reader, and of cleaning."""
    sentences = list(reader.read("train"))
    lines = [format_tree(s.tree) for s in sentences if s.tree is not None]
    ours = seconds(lambda: list(read_trees(lines, path="benchmark")))
    theirs = seconds(lambda: [nltk.Tree.fromstring(line) for line in lines], repeats=1)
    cleaning = seconds(lambda: list(Cleaning(pos_in_source="present").apply(sentences)))
    count = len(lines)
    return [
        ("trees read per second", f"{count / ours:,.0f}"),
        ("  NLTK's reader", f"{count / theirs:,.0f} (speed-up {theirs / ours:.1f})"),
        ("trees cleaned per second", f"{count / cleaning:,.0f}"),
    ]


def measure_batches(reader: Reader) -> list[tuple[str, str]]:
    """Measure batches and tokens per second, and the time to open a cached corpus."""
    preparation = DataSettings(
        name="benchmark", reader=reader, cleaning=Cleaning(pos_in_source="present"), language="en"
    ).preparation()
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        first = seconds(lambda: preparation.prepare(cache), repeats=1)
        again = seconds(lambda: preparation.prepare(cache))
        split = preparation.prepare(cache).split("train")
        loader = BatchLoader(
            split.lengths,
            collate=functools.partial(token_batch, split),
            settings=BatchSettings(),
            shuffle_seed=1,
        )
        count = len(loader)
        epoch = seconds(lambda: list(loader))
    return [
        ("preparing the corpus", f"{first:.2f} s, from the cache {again:.3f} s"),
        ("batches per second", f"{count / epoch:,.0f}"),
        ("tokens per second", f"{len(split.tokens) / epoch:,.0f}"),
    ]


def main() -> None:
    """Measure all available corpora and print one table for each."""
    readers: dict[str, Reader] = {"toy_english": ToyTreebank(grammar="english")}
    if reference := os.environ.get("GARDENPATH_REFERENCE_DATA"):
        readers["ptb_sample"] = PennTreebankSample(root=f"{reference}/nltk_data")
    for name, reader in readers.items():
        table = Table("what", "measured", title=name)
        for row in (*measure_reading(reader), *measure_batches(reader)):
            table.add_row(*row)
        Console().print(table)


if __name__ == "__main__":
    main()
