"""The smallest runs of four families on one toy corpus, trained once for all tests of tasks."""

from __future__ import annotations

import copy
import functools
import shutil
from pathlib import Path
from typing import Any

import yaml

import train
from gardenpath.settings.compose import Settings, load_settings
from gardenpath.store.run_folder import RunFolder
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


def copied(run: RunFolder, path: Path, **cleaning: object) -> RunFolder:
    """The same run in another folder, as if its corpus had been cleaned in another way."""
    shutil.copytree(run.path, path)
    file = path / "config.yaml"
    config = yaml.safe_load(file.read_text(encoding="utf-8"))
    config["data"]["cleaning"] |= cleaning
    file.write_text(yaml.safe_dump(config), encoding="utf-8")
    return RunFolder(path)


def arguments(folder: Path, output: Path, *overrides: str, model: str = "") -> list[str]:
    """The command line of an evaluation of one of the runs, or of all."""
    runs = run_of(folder, model).path if model else folder / "runs"
    return [f"run={runs}", f"paths.cache={folder / 'cache'}",
            f"paths.surprisals={folder / 'surprisals'}", f"output={output}",
            *NARROW, *overrides]  # fmt: skip


def settings(folder: Path, output: Path, *overrides: str, model: str = "") -> Settings:
    """The same as settings."""
    given = arguments(folder, output, *overrides, model=model)
    groups = tuple(one for one in given if one.partition("=")[0] in ("task", "suite"))
    return changed(_composed(groups), *(one for one in given if one not in groups))


@functools.cache
def _composed(groups: tuple[str, ...]) -> Settings:
    return load_settings("evaluate", list(groups))


def changed(settings: Settings, *assignments: str) -> Settings:
    """Settings with other values in some places, which is faster than to compose them anew."""
    result: dict[str, Any] = copy.deepcopy(dict(settings))
    for assignment in assignments:
        name, _, text = assignment.partition("=")
        *groups, last = name.split(".")
        part = functools.reduce(lambda outer, key: outer[key], groups, result)
        assert last in part, f"{name} is not a setting"
        part[last] = text if text == "-" else yaml.safe_load(text)
    return result
