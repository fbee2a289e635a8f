"""The second process of a distributed training, and the small treebank that both read."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from gardenpath.errors import GardenpathError
from gardenpath.runs.training import train

WORDS = ("a", "b", "c", "d", "e")

# 21 sentences in batches of 4: one batch has one sentence, of which one process has no share; so it
# is with the only sentence of the validation split.
SMALL = (
    "trainer=ddp",
    "trainer.accelerator=cpu",
    "trainer.precision=64",
    "trainer.checkpoint_steps=2",
    "model.network.layers=1",
    "model.network.hidden=16",
    "model.network.dropout=0.0",
    "model.batches.max_sentences=4",
    "data=brackets",
    "data.min_count=1",
)

# Near equal: sums are taken in another order.
NEAR = 1e-6


def write_trees(folder: Path) -> Path:
    """Flat and nested trees of different lengths."""
    folder.mkdir()
    lines = []
    for number in range(21):
        words = [WORDS[(number * 3 + place * place) % 5] for place in range(1 + number % 7)]
        inner = " ".join(f"(N {word})" if place % 2 else word for place, word in enumerate(words))
        lines.append(f"(S {inner})" if number % 3 else f"(S (V {inner}))")
    for name, chosen in (("train", lines), ("valid", lines[5:6]), ("test", lines[:9])):
        (folder / f"{name}.txt").write_text("\n".join(chosen) + "\n", encoding="utf-8")
    return folder


def places(folder: Path, run: str) -> list[str]:
    """The settings of where things are."""
    return [
        f"data.root={folder / 'trees'}",
        f"paths.cache={folder / 'cache'}",
        f"run_dir={folder / run}",
    ]


# ----------------------------------------------------------------------------
# The second process of trainings whose processes were started as torchrun starts them.
#
# Its arguments are those of several trainings, each as a JSON list on a line of the standard
# input; after each, it prints one line.


if __name__ == "__main__":
    for line in sys.stdin:
        try:
            result = json.dumps(train(*json.loads(line)))
        except GardenpathError as error:
            result = f"{type(error).__name__}: {error}"
        sys.stdout.write(f"{result}\n")
        sys.stdout.flush()
