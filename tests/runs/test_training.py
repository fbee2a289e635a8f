"""Training: what is read, and what is left in the folder when something goes wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gardenpath.data.readers.base import FileRange
from gardenpath.data.readers.treebanks import TextFiles
from gardenpath.errors import GardenpathError, RunError
from gardenpath.models.training.trainer import LanguageModelling
from gardenpath.runs import training
from tests import small_runs
from tests.small_runs import NEURAL


class Stopped(BaseException):
    """Stands for a signal that cannot be caught."""


@pytest.mark.parametrize("model", ["ngram", "lstm"])
def test_a_prepared_corpus_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    """Neither for training nor for the final numbers."""
    small_runs.run(tmp_path, "model=unigram")
    read: list[str] = []
    original = TextFiles.read_piece

    def noted(self: TextFiles, piece: FileRange) -> Iterator[Any]:
        read.append(piece.path.stem)
        return original(self, piece)

    # Sentences of a whole split are read through this, too.
    monkeypatch.setattr(TextFiles, "read_piece", noted)
    run = small_runs.run(tmp_path, f"model={model}", *(NEURAL if model == "lstm" else ()))
    assert run.is_finished and read == []
    small_runs.run(tmp_path / "other", "model=unigram")
    assert sorted(read) == ["test", "train", "valid"], "each once"


def test_the_final_numbers_are_those_of_the_run(tmp_path: Path) -> None:
    folder = small_runs.run(tmp_path, "model=lstm", *NEURAL, "trainer.max_epochs=1")
    run = small_runs.loaded(folder)
    for split in ("valid", "test"):
        (row,) = run.perplexity(split).itertuples()
        assert run.metrics[split]["perplexity"] == pytest.approx(row.perplexity, rel=1e-6)


def test_an_old_run_stays_until_the_new_one_is_ready_to_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A corpus that cannot be prepared costs nothing."""
    run = small_runs.run(tmp_path, "model=unigram")
    before = {path: path.read_bytes() for path in run.path.iterdir() if path.is_file()}
    missing = ("model=unigram", "existing=overwrite", f"data.root={tmp_path / 'absent'}")
    with pytest.raises(GardenpathError, match="absent"):
        small_runs.run(tmp_path, *missing)
    after = {path: path.read_bytes() for path in run.path.iterdir() if path.is_file()}
    assert after == before
    small_runs.run(tmp_path, "model=unigram", "existing=overwrite", "data.min_count=3")
    assert small_runs.loaded(run).data.min_count == 3


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "mine"
    place.mkdir()
    (place / "thesis.tex").write_text("years of work", encoding="utf-8")
    for more in ((), ("existing=overwrite",), ("existing=resume",)):
        with pytest.raises(RunError, match=r"thesis\.tex"):
            small_runs.run(tmp_path, "model=unigram", f"run_dir={place}", *more)
    assert [path.name for path in place.iterdir()] == ["thesis.tex"]


def test_nothing_is_left_of_a_run_that_never_began(tmp_path: Path) -> None:
    with pytest.raises(GardenpathError, match="absent"):
        small_runs.run(tmp_path, "model=unigram", f"data.root={tmp_path / 'absent'}")
    assert not (tmp_path / "runs").exists()


def test_a_run_without_its_final_numbers_is_unfinished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise Stopped

    with monkeypatch.context() as patch, pytest.raises(Stopped):
        patch.setattr(training, "score_split", stop)
        small_runs.run(tmp_path, "model=unigram")
    path = tmp_path / "runs" / "text" / "unigram" / "seed1"
    assert (path / "weights.safetensors").is_file() and not (path / "result.json").exists()
    run = small_runs.run(tmp_path, "model=unigram", "existing=resume")
    assert run.is_finished and run.manifest() is not None
    run.verify()


def test_a_second_training_in_the_same_folder_is_refused_while_the_first_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problems: list[str] = []
    original = LanguageModelling.training_step

    def step(self: LanguageModelling, batch: Any, batch_idx: int) -> Any:
        if not problems:
            with pytest.raises(RunError) as caught:
                small_runs.run(tmp_path, "model=lstm", *NEURAL, "existing=resume")
            problems.append(str(caught.value))
        return original(self, batch, batch_idx)

    monkeypatch.setattr(LanguageModelling, "training_step", step)
    run = small_runs.run(tmp_path, "model=lstm", *NEURAL, "trainer.max_epochs=1")
    assert run.is_finished
    (problem,) = problems
    assert str(run.path) in problem and "process" in problem
