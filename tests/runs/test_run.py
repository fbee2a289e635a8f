"""Runs as an evaluation sees them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

from gardenpath.errors import RunError
from gardenpath.eval.search.structured_scorer import StructuredScorer
from gardenpath.models.sequential.sequential_scorer import SequentialScorer
from gardenpath.runs.run import (
    content_hash,
    device_of,
    finished_runs,
    language_of,
    make_scorer,
    name_of,
)
from gardenpath.settings.compose import make_search
from gardenpath.store.run_folder import RunFolder
from tests.tasks.toy_runs import run_of, settings


def test_all_finished_runs_below_a_folder(folder: Path, tmp_path: Path) -> None:
    runs = finished_runs(settings(folder, tmp_path))
    assert [name_of(run).model for run in runs] == ["lstm", "ngram", "plm", "rnng"]
    (one,) = finished_runs(settings(folder, tmp_path, model="plm"))
    name = name_of(one)
    assert (name.model, name.corpus, name.seed) == ("plm", "toy_english", 1)
    assert name.run == str(one.path) and language_of(one) == "en"


def test_no_runs_at_all(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"no finished runs .* 'python train.py'"):
        finished_runs({"run": str(tmp_path)})


def test_an_unfinished_run_is_left_out(folder: Path, tmp_path: Path) -> None:
    for name in ("done", "begun"):
        shutil.copytree(run_of(folder, "ngram").path, tmp_path / name)
    (tmp_path / "begun" / "result.json").unlink()
    (found,) = finished_runs({"run": str(tmp_path)})
    assert found.path.name == "done"


def test_models_of_trees_are_searched(folder: Path, tmp_path: Path) -> None:
    chosen = settings(folder, tmp_path)
    kinds = {
        model: type(make_scorer(run_of(folder, model), chosen))
        for model in ("ngram", "lstm", "rnng", "plm")
    }
    assert kinds == {
        "ngram": SequentialScorer,
        "lstm": SequentialScorer,
        "rnng": StructuredScorer,
        "plm": StructuredScorer,
    }


def test_the_search_of_the_settings_is_used_unless_another_is_given(
    folder: Path, tmp_path: Path
) -> None:
    run, usual = run_of(folder, "rnng"), settings(folder, tmp_path)
    chosen = {**usual, "search": {"kind": "particle", "particles": 7}}
    scorer = make_scorer(run, chosen)
    assert isinstance(scorer, StructuredScorer)
    assert scorer.settings == make_search(chosen["search"])
    other = make_search(usual["search"])
    again = make_scorer(run, chosen, search=other)
    assert isinstance(again, StructuredScorer) and again.settings == other


def test_the_hash_is_of_weights_and_vocabulary(folder: Path, tmp_path: Path) -> None:
    run, copy = run_of(folder, "lstm"), RunFolder(tmp_path / "copy")
    shutil.copytree(run.path, copy.path)
    assert content_hash(copy) == content_hash(run) != content_hash(run_of(folder, "rnng"))
    data = bytearray(copy.weights_path.read_bytes())
    data[-1] ^= 1
    copy.weights_path.write_bytes(bytes(data))
    assert content_hash(copy) != content_hash(run)


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert device_of({"device": "auto"}) == torch.device("cuda")
    assert device_of({"device": "cpu"}) == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device_of({"device": "auto"}) == torch.device("cpu")
