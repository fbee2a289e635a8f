"""The replication of the Mandarin study in miniature: small corpora and models."""

from __future__ import annotations

from pathlib import Path

import pytest

from gardenpath.data.readers.files import ToyTreebank
from gardenpath.data.trees.tree import format_tree
from tests.integration.commands import call
from tests.tiers import built_once

# A file of the Chinese Treebank in each split of Shao et al. 2017.
_CTB = {"train": "chtb_0044.nw", "valid": "chtb_0301.nw", "test": "chtb_0001.nw"}
_XINHUA_SENTENCES = 90
# 2 corpora × (1 n-gram, 2 of each neural model).
MINIATURE_RUNS = 18


def write_corpora(folder: Path) -> Path:
    """Write ``ctb`` in the format of the treebank, and parsed news in ``xinhua/train.txt``."""
    toy = ToyTreebank(grammar="mandarin", train=60, valid=15, test=15)
    (folder / "ctb").mkdir(parents=True)
    for split, name in _CTB.items():
        trees = [format_tree(one.tree) for one in toy.read(split) if one.tree is not None]
        text = "".join(f"<S ID={n}>\n( {tree} )\n</S>\n" for n, tree in enumerate(trees, start=1))
        (folder / "ctb" / name).write_text(f"<DOC>\n{text}</DOC>\n", encoding="utf-8")
    parsed = ToyTreebank(grammar="mandarin", seed=7, train=_XINHUA_SENTENCES).read("train")
    (folder / "xinhua").mkdir()
    lines = [format_tree(one.tree) for one in parsed if one.tree is not None]
    (folder / "xinhua" / "train.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def paths(folder: Path) -> list[str]:
    """The folders of the miniature, as settings of both commands."""
    return [
        f"paths.corpora={folder / 'corpora'}",
        f"paths.cache={folder / 'cache'}",
    ]


def trained_miniature(factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the corpora and the runs of the miniature, trained once."""
    return built_once(factory, "miniature", train_miniature)


def train_miniature(folder: Path, *overrides: str) -> Path:
    """Train the grid of ``experiment=mandarin`` with two seeds and tiny models; its run folders."""
    if not (folder / "corpora").exists():
        write_corpora(folder / "corpora")
    runs = folder / "runs" / "mandarin"
    code = call(
        "train.py", "-m", "experiment=mandarin", *paths(folder), f"paths.runs={runs}",
        "seed=1,2", "model.size=tiny", "trainer=cpu", "trainer.max_epochs=1", *overrides,
    )  # fmt: skip
    assert code == 0
    return runs
