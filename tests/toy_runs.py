"""The smallest runs of four families on one toy corpus, trained once for all tests of tasks."""

from __future__ import annotations

import copy
import functools
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from gardenpath.eval.search.settings import WordSync
from gardenpath.runs.run import Run
from gardenpath.runs.training import train
from gardenpath.settings.compose import ConfigSource, composed, plain_config, typed
from gardenpath.settings.evaluate import EvaluateSettings
from gardenpath.store.surprisals import SurprisalStore
from gardenpath.tasks import run_task
from tests.integration.commands import toy
from tests.tiers import WORKER, built_once

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
NARROW_SEARCH = WordSync(action_beam=10, word_beam=3)


def trained(factory: pytest.TempPathFactory) -> Path:
    """A folder with ``runs`` and ``cache``: ngram, lstm, rnng and plm on 200 sentences.

    All processes of a test run read it; each has a store of its own in it.
    """
    return built_once(factory, "toy_runs", _train)


def _train(folder: Path) -> None:
    for model, overrides in _MODELS.items():
        train(*toy(folder, f"model={model}", f"data.reader.test={TEST_SENTENCES}", *overrides))


def store_of(folder: Path) -> Path:
    """The stored surprisals of this process, which asks what is computed a second time."""
    return folder / f"surprisals_{os.environ.get(WORKER, 'alone')}.sqlite"


def run_of(folder: Path, model: str, *, store: Path | None = None) -> Run:
    """One of the runs, with narrow beams."""
    path = folder / "runs" / "toy_english" / model / "seed1"
    kept = None if store is None else SurprisalStore(store)
    return Run(path, device="cpu", search=NARROW_SEARCH, store=kept)


def copied(run: Run, path: Path, **cleaning: object) -> Run:
    """The same run in another folder, as if its corpus had been cleaned in another way."""
    shutil.copytree(run.path, path)
    file = path / "config.yaml"
    config = yaml.safe_load(file.read_text(encoding="utf-8"))
    config["data"]["cleaning"] |= cleaning
    file.write_text(yaml.safe_dump(config), encoding="utf-8")
    (path / "manifest.json").unlink()
    return Run(path, device="cpu", search=run.search)


def arguments(folder: Path, output: Path, *overrides: str, model: str = "") -> list[str]:
    """The command line of an evaluation of one of the runs, or of all."""
    runs = run_of(folder, model).path if model else folder / "runs"
    return [f"run={runs}", f"paths.cache={folder / 'cache'}",
            f"paths.surprisals={store_of(folder)}", f"output={output}",
            *NARROW, *overrides]  # fmt: skip


def settings(folder: Path, output: Path, *overrides: str, model: str = "") -> EvaluateSettings:
    """The same as settings."""
    given = arguments(folder, output, *overrides, model=model)
    groups = [one for one in given if one.partition("=")[0] in ("task", "suite", "search")]
    others = [one for one in given if one not in groups]
    if not any(one.startswith("task=") for one in groups):
        groups.append("task=suite")
    content = _changed(_composed(tuple(groups)), *others)
    found: EvaluateSettings = typed("evaluate", content)
    return found


@functools.cache
def _composed(groups: tuple[str, ...]) -> dict[str, Any]:
    return plain_config(composed(ConfigSource("evaluate"), groups))


def _changed(content: dict[str, Any], *assignments: str) -> dict[str, Any]:
    """The content with other values in some places, which is faster than to compose it anew."""
    result = copy.deepcopy(content)
    for assignment in assignments:
        written, _, text = assignment.partition("=")
        name = EvaluateSettings.SHORT.get(written, written)
        *groups, last = name.split(".")
        part = functools.reduce(lambda outer, key: outer[key], groups, result)
        assert last in part, f"{name} is not a setting"
        part[last] = text if text == "-" else yaml.safe_load(text)
    return result


def evaluate(folder: Path, output: Path, *overrides: str, model: str = "") -> None:
    """Do a task as evaluate.py does."""
    run_task(settings(folder, output, *overrides, model=model))
