"""Training runs that take a fraction of a second, on a small corpus of plain text."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np

from gardenpath.runs.run import Run
from gardenpath.runs.training import train
from gardenpath.settings.compose import load_settings
from gardenpath.settings.train import TrainSettings
from gardenpath.store.run_folder import START_FILES, RunFolder

WORDS = ("the", "a", "cat", "dog", "sees", "hears", "that", "old", "sleeps", ".")


def write_corpus(folder: Path, *, train_sentences: int = 48) -> Path:
    """Random sentences over a few words; the same on every call."""
    generator = np.random.default_rng(5)
    folder.mkdir(parents=True, exist_ok=True)
    for name, count in (("train", train_sentences), ("valid", 12), ("test", 12)):
        lines = [
            " ".join(generator.choice(WORDS, size=length))
            for length in generator.integers(2, 9, size=count)
        ]
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def arguments(folder: Path, *overrides: str) -> list[str]:
    """The command line of a small run in a folder."""
    return [
        "data=text",
        f"data.root={folder / 'corpus'}",
        f"paths.runs={folder / 'runs'}",
        f"paths.cache={folder / 'cache'}",
        "trainer=cpu",
        *overrides,
    ]


NEURAL = ("model.size=tiny", "model.batches.max_sentences=8", "trainer.max_epochs=3")


def settings(folder: Path, *overrides: str) -> TrainSettings:
    """The settings of a small run in a folder."""
    found: TrainSettings = load_settings("train", arguments(folder, *overrides))
    return found


def run(folder: Path, *overrides: str) -> RunFolder:
    """Train in a folder; its corpus is written if it is not there."""
    if not (folder / "corpus").exists():
        write_corpus(folder / "corpus")
    chosen = settings(folder, *overrides)
    train(chosen)
    return RunFolder(Path(chosen.run_dir))


def loaded(folder: RunFolder) -> Run:
    """The model of a run folder."""
    return Run(folder.path, device="cpu")


def unfinish(path: Path) -> None:
    """Turn a finished run into one whose training was stopped after its last checkpoint."""
    (path / "result.json").unlink()
    manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    manifest["files"] = {n: r for n, r in manifest["files"].items() if n in START_FILES}
    manifest["fingerprint"] = ""
    (path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def weights(folder: RunFolder) -> bytes:
    """The weights of a run, as they are stored."""
    return (folder / "weights.safetensors").read_bytes()


def metrics(folder: RunFolder) -> list[dict[str, str]]:
    """The rows of ``metrics.csv``, without how long they took."""
    with (folder / "metrics.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def column(folder: RunFolder, name: str) -> list[float]:
    """One column of ``metrics.csv``."""
    return [float(row[name]) for row in metrics(folder)]
