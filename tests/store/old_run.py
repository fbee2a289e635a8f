"""Small run folders, of this format and of the first, without a model in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from gardenpath.store.run_folder import RunFolder

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


def format_1(path: Path, *, is_finished: bool = True) -> RunFolder:
    """Write a run folder as the first versions did."""
    (path / "checkpoints").mkdir(parents=True)
    old = {
        **CONFIG,
        "model": {"name": "lstm", "size": "small", "network": {"layers": 2, "size": "tiny"}},
        "demo": {"epochs": {"lstm": 4}},
    }
    (path / "config.yaml").write_text(yaml.safe_dump(old), encoding="utf-8")
    write_words(path)
    for name in ("weights.safetensors", "metrics.csv", "versions.txt", "train.log"):
        (path / name).write_text(name, encoding="utf-8")
    (path / "checkpoints" / "last.ckpt").write_text("state", encoding="utf-8")
    if is_finished:
        (path / "result.json").write_text('{"test": {"loss": 2.5}}', encoding="utf-8")
    return RunFolder(path)
