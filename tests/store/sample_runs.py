"""Small run folders without a model in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gardenpath.store.run_claim import claim
from gardenpath.store.run_folder import RunFolder, find_statuses

CONFIG: dict[str, Any] = {
    "data": {"name": "cats", "min_count": 2},
    "model": {"name": "lstm", "network": {"layers": 2, "size": "tiny"}},
    "trainer": {"max_epochs": 3, "gradient_clip": 1.0},
    "seed": 1,
}

VOCABULARY = {"tokens": ["<pad>", "cat", "猫"], "labels": []}


def write_words(folder: Path) -> None:
    """Write what stands for a vocabulary."""
    (folder / "vocabulary.json").write_text(json.dumps(VOCABULARY), encoding="utf-8")


def sample_run(
    path: Path, config: dict[str, Any] = CONFIG, *, is_finished: bool = True
) -> RunFolder:
    """Write a run with all of its files; an earlier run is replaced."""
    folder = RunFolder(path)
    with claim(folder, config, existing="overwrite" if folder.is_begun else "refuse") as claimed:
        claimed.begin(config, write_words)
        (path / "weights.safetensors").write_bytes(b"weights")
        (path / "metrics.csv").write_text("epoch\n0\n", encoding="utf-8")
        (path / "train.log").write_text("trained\n", encoding="utf-8")
        (path / "checkpoints").mkdir(exist_ok=True)
        (path / "checkpoints" / "last.ckpt").write_bytes(b"state")
        if is_finished:
            claimed.finish({"test": {"loss": 1.5}})
    return folder


def find_runs(root: Path) -> list[RunFolder]:
    """Return all finished runs at or below a folder, sorted by path."""
    return [status.folder for status in find_statuses(root) if status.state == "done"]
