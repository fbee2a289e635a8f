"""The smallest runs of four families on one toy corpus, trained once for all tests of tasks."""

from __future__ import annotations

import functools
from pathlib import Path

import train
from src.config import Settings, load_settings
from src.models.run_folder import RunFolder
from tests.integration.commands import toy

_SMALL = (
    "trainer=cpu",
    "trainer.max_epochs=1",
    "model.network.layers=1",
    "model.network.hidden=8",
)
_MODELS = {
    "ngram": (),
    "lstm": _SMALL,
    "rnng": _SMALL,
    "plm": (*_SMALL, "model.network.heads=2"),
}

TEST_SENTENCES = 25

# The default beams would be wasted on these models.
NARROW = ("search.action_beam=10", "search.word_beam=3")


@functools.cache
def trained(temporary: Path) -> Path:
    """A folder with ``runs`` and ``cache``: ngram, lstm, rnng and plm on 200 sentences."""
    folder = temporary / "toy_runs"
    for model, overrides in _MODELS.items():
        train.train(
            load_settings(
                "train",
                toy(folder, f"model={model}", f"data.reader.test={TEST_SENTENCES}", *overrides),
            )
        )
    return folder


def run_of(folder: Path, model: str) -> RunFolder:
    """One of the runs."""
    return RunFolder(folder / "runs" / "toy_english" / model / "seed1")


def arguments(folder: Path, output: Path, *overrides: str, model: str = "") -> list[str]:
    """The command line of an evaluation of one of the runs, or of all."""
    runs = run_of(folder, model).path if model else folder / "runs"
    return [f"run={runs}", f"paths.cache={folder / 'cache'}", f"output={output}",
            *NARROW, *overrides]  # fmt: skip


def settings(folder: Path, output: Path, *overrides: str, model: str = "") -> Settings:
    """The same as settings."""
    return load_settings("evaluate", arguments(folder, output, *overrides, model=model))
