"""Claiming a run folder: one training at a time, over nothing but a run's own files."""

from __future__ import annotations

import copy
import errno
import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from gardenpath.errors import DivergedError, RunError, TrainingStoppedError
from gardenpath.store.run_claim import Existing, claim, failures_recorded, write_failure
from gardenpath.store.run_folder import RunFolder, read_failure
from tests.store.sample_runs import CONFIG, sample_run, write_words


class _FailureError(Exception):
    """Stands for anything that may go wrong."""


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder, locks aside."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".lock")
    }


def refused(folder: RunFolder, config: dict[str, Any], match: str, **options: Existing) -> str:
    """What is said when a claim is refused."""
    with pytest.raises(RunError, match=match) as caught, claim(folder, config, **options):
        pass
    return str(caught.value)


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A finished run."""
    return sample_run(tmp_path / "runs" / "seed1")


# ---- A new run


def test_a_new_folder_is_free(tmp_path: Path) -> None:
    for existing in ("refuse", "resume"):
        folder = RunFolder(tmp_path / "a" / "b")
        with claim(folder, CONFIG, existing=existing) as claimed:
            assert not claimed.is_done and not claimed.continues
            assert (folder / ".lock").exists() and not folder.is_begun
        assert not (tmp_path / "a").exists(), "nothing was begun, so nothing is left"


def test_an_empty_folder_is_free_and_stays(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with pytest.raises(_FailureError), claim(RunFolder(tmp_path / "run"), CONFIG):
        raise _FailureError
    assert (tmp_path / "run").is_dir()


def test_a_failed_start_leaves_other_folders(tmp_path: Path) -> None:
    with (
        pytest.raises(_FailureError),
        claim(RunFolder(tmp_path / "runs" / "seed1"), CONFIG),
    ):
        (tmp_path / "runs" / "seed2").mkdir()
        raise _FailureError
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["seed2"]


def test_a_run_from_beginning_to_end(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    with claim(folder, CONFIG) as claimed:
        claimed.begin(CONFIG, write_words)
        assert set(contents(folder.path)) == {
            "config.yaml", "vocabulary.json", "versions.txt", "manifest.json"
        }  # fmt: skip
        assert folder.is_begun and folder.is_marked and not folder.is_finished
        manifest = folder.manifest()
        assert manifest is not None and manifest.kind == "run"
        assert set(manifest.files) == {"config.yaml", "vocabulary.json"}
        folder.verify()
        (folder / "weights.safetensors").write_bytes(b"weights")
        claimed.finish({"test": {"loss": 1.5}})
        assert folder.is_finished
    manifest = folder.manifest()
    assert manifest is not None and manifest.kind == "run"
    assert set(manifest.files) == {
        "config.yaml", "vocabulary.json", "versions.txt", "weights.safetensors", "result.json"
    }  # fmt: skip
    assert " torch " in manifest.versions
    folder.verify()


def test_a_beginning_that_fails_leaves_the_folder_as_it_was(run: RunFolder) -> None:
    before = contents(run.path)

    def fail(folder: Path) -> None:
        write_words(folder)
        raise _FailureError

    with pytest.raises(_FailureError), claim(run, CONFIG, existing="overwrite") as claimed:
        claimed.begin(CONFIG, fail)
    assert contents(run.path) == before


# ---- Folders that are taken


def test_a_second_training_is_refused_with_its_owner(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    with claim(folder, CONFIG):
        for existing in get_args(Existing):
            said = refused(folder, CONFIG, "is in use by process", existing=existing)
            assert str(os.getpid()) in said and os.uname().nodename in said
            assert "for 0 s" in said and "run_dir=" in said
    with claim(folder, CONFIG):
        pass


@pytest.mark.parametrize("existing", get_args(Existing))
@pytest.mark.parametrize("name", ["thesis.tex", ".git", "result.json", "config.yaml"])
def test_somebody_elses_folder_is_refused(tmp_path: Path, name: str, existing: Existing) -> None:
    (tmp_path / name).write_text("years of work", encoding="utf-8")
    said = refused(
        RunFolder(tmp_path), CONFIG, "not a run folder, and not empty", existing=existing
    )
    assert name in said and "run_dir=" in said
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file", encoding="utf-8")
    refused(RunFolder(tmp_path / "run"), CONFIG, "is a file")


def test_a_folder_with_runs_below_it_is_refused(run: RunFolder) -> None:
    before = contents(run.path.parent)
    refused(RunFolder(run.path.parent), CONFIG, "not empty", existing="overwrite")
    assert contents(run.path.parent) == before


def test_what_a_killed_training_left_before_it_began_is_no_obstacle(tmp_path: Path) -> None:
    for name in (".lock", ".lock.json", "train.log", ".config.yaml.x1.part"):
        (tmp_path / name).write_text("", encoding="utf-8")
    (tmp_path / ".begin.x2.part").mkdir()
    folder = RunFolder(tmp_path)
    with claim(folder, CONFIG) as claimed:
        claimed.begin(CONFIG, write_words)
    assert folder.is_begun
    assert not list(tmp_path.glob(".*.part"))


def test_a_run_is_not_overwritten_by_accident(run: RunFolder) -> None:
    before = contents(run.path)
    said = refused(run, CONFIG, "a finished run")
    for remedy in ("with these settings", "existing=skip", "existing=overwrite", "run_dir="):
        assert remedy in said
    longer = copy.deepcopy(CONFIG)
    longer["trainer"]["max_epochs"] += 3
    epochs = longer["trainer"]["max_epochs"]
    before_and_now = f"({epochs - 3}, now {epochs})"
    said = refused(run, longer, "a finished run with other settings: trainer.max_epochs ")
    assert f"{before_and_now}; train it for more epochs with existing=resume" in said
    said = refused(run, longer, f"{epochs}\\); train it for more epochs", existing="skip")
    assert before_and_now in said
    (run / "result.json").unlink()
    refused(run, CONFIG, "an unfinished run; continue it with existing=resume")
    assert contents(run.path) == {k: v for k, v in before.items() if k != "result.json"}


@pytest.mark.parametrize("existing", ["refuse", "skip", "resume"])
@pytest.mark.parametrize("schedule", ["cosine", "constant"])
def test_epochs_that_cannot_be_added_are_not_advised(
    tmp_path: Path, existing: Existing, schedule: str
) -> None:
    config = copy.deepcopy(CONFIG)
    config["model"]["optimiser"] = {**config["model"].get("optimiser", {}), "schedule": schedule}
    config["trainer"]["max_epochs"] = 5
    run = sample_run(tmp_path / "run", config)
    other = copy.deepcopy(config)
    # The number of epochs is one of the settings of a cosine; no run can be trained for fewer.
    other["trainer"]["max_epochs"] = 8 if schedule == "cosine" else 3
    said = refused(run, other, r"max_epochs \(5, now [83]\)", existing=existing)
    assert "existing=resume" not in said and "existing=overwrite" in said
    assert ("schedule=cosine depends on the number of epochs" in said) is (schedule == "cosine")


# ---- Resuming


def test_a_finished_run_is_done(run: RunFolder) -> None:
    with claim(run, CONFIG, existing="resume") as claimed:
        assert claimed.is_done
    with claim(run, CONFIG, existing="overwrite") as claimed:
        assert not claimed.is_done


def test_resuming_keeps_what_was_trained(run: RunFolder) -> None:
    (run / "result.json").unlink()
    before = contents(run.path)
    with claim(run, CONFIG, existing="resume") as claimed:
        assert claimed.continues and not claimed.is_done
        claimed.begin(CONFIG, write_words)
    after = contents(run.path)
    for name in ("weights.safetensors", "checkpoints/last.ckpt", "metrics.csv", "train.log"):
        assert after[name] == before[name]
    assert run.config()["format"] == 2 and run.is_marked


def test_resuming_with_other_settings_names_them(run: RunFolder) -> None:
    config = copy.deepcopy(CONFIG)
    config["seed"] = 7
    config["model"]["network"]["dropout"] = 0.4
    config["data"]["min_count"] = 5
    said = refused(run, config, "contains a finished run with other settings: ", existing="resume")
    for name in ("seed", "model.network.dropout", "data.min_count"):
        assert name in said
    assert "model.size" not in said and "layers" not in said


def test_resuming_with_settings_that_change_no_result_is_allowed(run: RunFolder) -> None:
    config = copy.deepcopy(CONFIG)
    config["paths"] = {"runs": "elsewhere"}
    config["trainer"] |= {"max_epochs": 9, "progress": False, "checkpoint_steps": 3}
    with claim(run, config, existing="resume") as claimed:
        assert claimed.is_done


def test_resuming_with_another_vocabulary_is_refused(run: RunFolder) -> None:
    (run / "result.json").unlink()
    before = contents(run.path)

    def other_words(folder: Path) -> None:
        (folder / "vocabulary.json").write_text('{"tokens": ["dog"]}', encoding="utf-8")

    with (
        pytest.raises(RunError, match="vocabulary of the corpus has changed"),
        claim(run, CONFIG, existing="resume") as claimed,
    ):
        claimed.begin(CONFIG, other_words)
    assert contents(run.path) == before


def test_a_newer_run_is_not_resumed(run: RunFolder) -> None:
    (run / "config.yaml").write_text(yaml.safe_dump({**CONFIG, "format": 9}), encoding="utf-8")
    (run.path / "manifest.json").unlink(missing_ok=True)
    refused(run, CONFIG, "update Gardenpath", existing="resume")


# ---- Overwriting


def test_overwriting_waits_until_the_new_run_is_ready(run: RunFolder) -> None:
    before = contents(run.path)
    with pytest.raises(_FailureError), claim(run, CONFIG, existing="overwrite"):
        raise _FailureError  # the corpus is missing, say
    assert contents(run.path) == before


def test_overwriting_leaves_nothing_of_the_run_before(run: RunFolder) -> None:
    (run / "subwords.model").write_bytes(b"pieces")
    (run.path / "wandb" / "offline-run-1").mkdir(parents=True)
    (run.path / "wandb" / "offline-run-1" / "run.wandb").write_bytes(b"")
    (run.path / "wandb" / "latest-run").symlink_to("offline-run-1")
    with claim(run, CONFIG, existing="overwrite") as claimed:
        claimed.begin({**CONFIG, "seed": 2}, write_words)
        assert set(contents(run.path)) == {
            "config.yaml", "vocabulary.json", "versions.txt", "manifest.json"
        }  # fmt: skip
        assert not (run.path / "checkpoints").exists() and not (run.path / "wandb").exists()
    assert run.config()["seed"] == 2 and not run.is_finished


def test_overwriting_keeps_the_files_of_others(run: RunFolder, tmp_path: Path) -> None:
    own = {
        "notes.txt": "mine", "checkpoints/kept.ckpt": "mine", "wandb/notes.txt": "mine",
        "figures/loss.svg": "mine", "weights.safetensors.bak": "mine",
    }  # fmt: skip
    for name, text in own.items():
        (run.path / name).parent.mkdir(exist_ok=True)
        (run.path / name).write_text(text, encoding="utf-8")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "data.txt").write_text("mine", encoding="utf-8")
    (run.path / "linked").symlink_to(elsewhere)
    (run.path / "wandb" / "run-1").symlink_to(elsewhere)
    with claim(run, CONFIG, existing="overwrite") as claimed:
        claimed.begin(CONFIG, write_words)
    after = contents(run.path)
    for name, text in own.items():
        assert after[name] == text.encode()
    assert not {"weights.safetensors", "result.json", "checkpoints/last.ckpt"} & set(after)
    assert (elsewhere / "data.txt").exists() and (run.path / "linked").is_symlink()


@pytest.mark.parametrize("place", [".", "checkpoints"])
def test_overwriting_around_the_working_directory_is_refused(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    before = contents(run.path)
    monkeypatch.chdir(run.path / place)
    refused(run, CONFIG, "the working directory", existing="overwrite")
    assert contents(run.path) == before


def test_overwriting_above_another_run_is_refused(run: RunFolder) -> None:
    other = sample_run(run.path / "more" / "seed2")
    before = contents(run.path)
    said = refused(run, CONFIG, "contains another run", existing="overwrite")
    assert str(other.path) in said
    assert contents(run.path) == before


def test_a_run_that_appears_below_during_preparation_is_safe(run: RunFolder) -> None:
    with claim(run, CONFIG, existing="overwrite") as claimed:
        sample_run(run.path / "seed2")
        before = contents(run.path)
        with pytest.raises(RunError, match="contains another run"):
            claimed.begin(CONFIG, write_words)
    assert contents(run.path) == before


# ----------------------------------------------------------------------------
# Why a training ended: written into its own run folder only, and removed when it starts again.


def failed(
    folder: RunFolder, error: BaseException, *, begins: bool = True, existing: Existing = "refuse"
) -> None:
    """Let a training fail."""
    with (
        pytest.raises(type(error)),
        claim(folder, CONFIG, existing=existing) as claimed,
        failures_recorded(claimed),
    ):
        if begins:
            claimed.begin(CONFIG, write_words)
        raise error


@pytest.mark.parametrize(
    ("error", "kind", "message", "step"),
    [
        (DivergedError("the loss is nan", step=7), "diverged", "the loss is nan", 7),
        (
            TrainingStoppedError("stopped by SIGTERM", signal=15),
            "interrupted",
            "stopped by SIGTERM",
            None,
        ),
        (RunError("two\n  lines"), "error", "two lines", None),
        (
            OSError(errno.ENOSPC, "full", "/a"),
            "error",
            "/a: full (free some space, or choose another disk)",
            None,
        ),
        (ZeroDivisionError("by zero"), "error", "ZeroDivisionError: by zero", None),
        (KeyboardInterrupt(), "interrupted", "KeyboardInterrupt", None),
    ],
)
def test_what_is_recorded(
    tmp_path: Path, error: BaseException, kind: str, message: str, step: int | None
) -> None:
    folder = RunFolder(tmp_path / "run")
    failed(folder, error)
    failure = read_failure(folder)
    assert failure is not None
    assert (failure.kind, failure.message.strip(), failure.step) == (kind, message, step)
    assert datetime.fromisoformat(failure.time).tzinfo is not None
    content = json.loads((folder / "failure.json").read_text(encoding="utf-8"))
    assert set(content) == {"kind", "message", "step", "time"}


def test_a_new_start_removes_it(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    choices: tuple[Existing, ...] = ("resume", "overwrite")
    for existing in choices:
        failed(folder, RunError("broken"), existing="overwrite" if folder.is_begun else "refuse")
        assert read_failure(folder) is not None
        with claim(folder, CONFIG, existing=existing) as claimed:
            assert read_failure(folder) is not None, "only when it begins"
            claimed.begin(CONFIG, write_words)
            assert read_failure(folder) is None


def test_before_it_begins_a_training_writes_nothing(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    failed(folder, RunError("no corpus"), begins=False)
    assert not folder.path.exists()


@pytest.mark.parametrize("is_finished", [False, True])
def test_the_run_that_was_to_be_replaced_has_not_failed(tmp_path: Path, is_finished: bool) -> None:
    folder = RunFolder(tmp_path / "run")
    with claim(folder, CONFIG) as claimed:
        claimed.begin(CONFIG, write_words)
        (folder / "weights.safetensors").write_bytes(b"weights")
        if is_finished:
            claimed.finish({})
    failed(folder, RunError("no corpus"), begins=False, existing="overwrite")
    assert not (folder / "failure.json").exists()


def test_a_resumed_run_fails_before_it_begins_again(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    with claim(folder, CONFIG) as claimed:
        claimed.begin(CONFIG, write_words)
    failed(folder, RunError("no corpus"), begins=False, existing="resume")
    failure = read_failure(folder)
    assert failure is not None and failure.message == "no corpus"


_ENDLESS = '{"kind": "error", "message": "", "step": 1e999, "time": ""}'
_ODD = '{"kind": "odd", "message": "", "step": null, "time": ""}'


@pytest.mark.parametrize("content", ["", "[]", "{}", _ODD, _ENDLESS, "[" * 10**5])
def test_the_failure_of_a_damaged_file_is_unknown(tmp_path: Path, content: str) -> None:
    folder = RunFolder(tmp_path)
    (folder / "failure.json").write_text(content, encoding="utf-8")
    failure = read_failure(folder)
    assert failure is not None and failure.kind == "unknown"
    assert "failure.json cannot be read" in failure.message


def test_messages_are_one_line_of_bounded_length(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    write_failure(folder, "error", "a\nb " * 10**5)
    failure = read_failure(folder)
    assert failure is not None
    assert failure.message.startswith("a b a b") and len(failure.message) <= 1000


def test_leftovers_of_a_killed_writer_are_removed_by_the_next_claim(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    with claim(folder, CONFIG) as claimed:
        claimed.begin(CONFIG, write_words)
    for place in (folder.path, (folder / "checkpoints/last.ckpt").parent, folder / "diverged"):
        place.mkdir(exist_ok=True)
        (place / ".last.ckpt.abc.part").write_bytes(b"half")
        (place / "notes.txt").write_text("mine", encoding="utf-8")
    with claim(folder, CONFIG, existing="resume"):
        assert not list(folder.path.rglob("*.part"))
        assert len(list(folder.path.rglob("notes.txt"))) == 3


def test_files_of_a_divergence_are_replaced_with_the_run(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    failed(folder, DivergedError("nan", step=1))
    (folder / "diverged").mkdir()
    for name in ("batch.safetensors", "sentences.txt", "notes.txt"):
        (folder / "diverged" / name).write_text(name, encoding="utf-8")
    with claim(folder, CONFIG, existing="overwrite") as claimed:
        claimed.begin(CONFIG, write_words)
    assert [path.name for path in (folder / "diverged").iterdir()] == ["notes.txt"]
