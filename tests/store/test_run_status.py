"""The states of run folders, and which of them are found below a folder."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
import yaml

from gardenpath.errors import RunError
from gardenpath.store.files import locked
from gardenpath.store.run_claim import claim, write_failure
from gardenpath.store.run_folder import FailureKind, RunFolder, RunState, find_statuses, run_status
from tests.store.sample_runs import CONFIG, find_runs, sample_run, write_words


def made(path: Path, *, is_finished: bool = True, seed: int = 1) -> RunFolder:
    """A run folder of this version, with a file in the place of weights."""
    folder = RunFolder(path)
    with claim(folder, {**CONFIG, "seed": seed}) as claimed:
        claimed.begin({**CONFIG, "seed": seed}, write_words)
        (folder / "weights.safetensors").write_bytes(b"weights")
        rows = "epoch,valid/loss\n0,3.5\n1,2.5\n2,2.75\n"
        (folder / "metrics.csv").write_text(rows, encoding="utf-8")
        if is_finished:
            claimed.finish({"valid": {"loss": 2.5}, "test": {"loss": 2.25}})
    return folder


def states(root: Path) -> dict[str, RunState]:
    return {one.folder.path.name: one.state for one in find_statuses(root)}


def test_a_finished_run_is_done(tmp_path: Path) -> None:
    status = run_status(made(tmp_path / "run"))
    assert (status.state, status.reason, status.is_partial) == ("done", "", False)


def test_an_unfinished_run_has_its_best_epoch(tmp_path: Path) -> None:
    folder = made(tmp_path / "run", is_finished=False)
    status = run_status(folder)
    assert (status.state, status.epoch, status.is_partial) == ("unfinished", 1, True)
    assert "existing=resume" in status.reason and "unfinished=include" in status.reason
    (folder / "weights.safetensors").unlink()
    status = run_status(folder)
    assert not status.is_partial and "no weights yet" in status.reason


@pytest.mark.parametrize(
    ("kind", "state", "is_partial"),
    [("diverged", "failed", False), ("error", "failed", True), ("interrupted", "unfinished", True)],
)
def test_a_failed_run_says_why(
    tmp_path: Path, kind: FailureKind, state: str, is_partial: bool
) -> None:
    folder = made(tmp_path / "run", is_finished=False)
    write_failure(folder, kind, "loss nan at step 7")
    status = run_status(folder)
    assert (status.state, status.is_partial) == (state, is_partial)
    said = "the training failed: loss nan at step 7" if state == "failed" else "is not finished"
    assert said in status.reason and str(folder.path) in status.reason


@pytest.mark.parametrize("content", ['{"kind": "dive', "", '["loss"]', '{"kind": "crashed"}'])
def test_weights_of_an_unknown_failure_are_not_used(tmp_path: Path, content: str) -> None:
    folder = made(tmp_path / "run", is_finished=False)
    (folder / "failure.json").write_text(content, encoding="utf-8")
    status = run_status(folder)
    assert status.state == "failed" and not status.is_partial
    assert "failure.json cannot be read" in status.reason


@pytest.mark.parametrize("loss", ["NaN", "Infinity"])
def test_a_run_whose_loss_is_no_number_is_not_done(tmp_path: Path, loss: str) -> None:
    folder = sample_run(tmp_path / "run")
    (folder / "manifest.json").unlink()
    (folder / "result.json").write_text(f'{{"test": {{"loss": {loss}}}}}', encoding="utf-8")
    status = run_status(folder)
    assert status.state == "failed" and status.is_diverged and not status.is_partial
    assert "the training diverged: the test loss is" in status.reason
    config = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    config["model"]["family"] = "ngram"  # an ARPA file may give a word no probability
    (folder / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    assert run_status(folder).state == "done"


def test_a_run_in_training_is_running_until_its_process_ends(tmp_path: Path) -> None:
    folder = made(tmp_path / "run", is_finished=False)
    with locked(folder / ".lock", what="the run"):
        status = run_status(folder)
        assert status.state == "running" and f"process {os.getpid()}" in status.reason
        record = (folder / ".lock").with_name(".lock.json").read_text(encoding="utf-8")
    assert run_status(folder).state == "unfinished"
    # The record of a killed process remains, also if another process has its number by now.
    (folder / ".lock").with_name(".lock.json").write_text(record, encoding="utf-8")
    assert run_status(folder).state == "unfinished"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.yaml", b"seed: 2\n"),
        ("config.yaml", b"\xff"),
        ("result.json", b"{}"),
        ("result.json", b"{"),
        ("manifest.json", b"{"),
        ("manifest.json", b"[]"),
    ],
)
def test_a_damaged_file_makes_a_run_damaged(tmp_path: Path, name: str, content: bytes) -> None:
    folder = made(tmp_path / "run")
    (folder.path / name).write_bytes(content)
    status = run_status(folder)
    assert status.state == "damaged" and str(folder.path / name) in status.reason


@pytest.mark.parametrize("name", ["config.yaml", "vocabulary.json"])
def test_an_unfinished_run_is_compared_with_its_start(tmp_path: Path, name: str) -> None:
    folder = made(tmp_path / "run", is_finished=False)
    path = folder.path / name
    path.write_bytes(path.read_bytes().replace(b"cat", b"bat"))
    status = run_status(folder)
    assert status.state == "damaged" and f"{path}: is damaged" in status.reason


def test_a_folder_at_the_place_of_a_file_is_damage(tmp_path: Path) -> None:
    folder = made(tmp_path / "run")
    for name in ("result.json", "manifest.json"):
        (folder.path / name).unlink()
        (folder.path / name).mkdir()
    assert run_status(folder).state in ("damaged", "unfinished")


def test_each_kind_of_folder_is_found(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    good = made(root / "good")
    made(root / "stopped", is_finished=False, seed=2)
    shutil.copytree(good.path, root / "later_copy")
    damaged = made(root / "damaged", seed=3)
    (damaged / "config.yaml").write_text("seed: 9\n", encoding="utf-8")
    (root / "stray").mkdir()
    (root / "stray" / "result.json").write_text("{}", encoding="utf-8")
    (root / "notes").mkdir()
    shutil.copytree(good.path, root / ".good.abc.part")
    other = sample_run(root / "other", {**CONFIG, "seed": 4})
    (other / "manifest.json").unlink()
    old = sample_run(root / "old")
    (old / "config.yaml").write_text("seed: 9\n", encoding="utf-8")
    (old / "manifest.json").unlink()
    assert states(root) == {
        "damaged": "damaged",
        "good": "done",
        "later_copy": "copy",
        "old": "damaged",
        "other": "done",
        "stopped": "unfinished",
        "stray": "stray",
    }
    assert find_runs(root) == [good, other]
    assert find_statuses(tmp_path / "absent") == []
    assert find_statuses(good / "config.yaml") == []


def test_links_are_followed_once(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    inside, outside = made(root / "b"), made(tmp_path / "elsewhere" / "run", seed=2)
    (root / "a").symlink_to(inside.path)
    (root / "linked").symlink_to(outside.path.parent)
    (root / "loop").symlink_to(root)
    (inside.path / "self").symlink_to(inside.path)
    (root / "broken").symlink_to(tmp_path / "absent")
    (root / "circle").symlink_to(root / "circle")
    found = {one.folder.path: one.state for one in find_statuses(root)}
    assert found == {
        root / "b": "done",
        root / "linked" / "run": "done",
        root / "broken": "stray",
        root / "circle": "stray",
    }


def test_of_copies_the_first_whole_one_counts(tmp_path: Path) -> None:
    first = made(tmp_path / "a")
    for name in ("b", "c"):
        shutil.copytree(first.path, tmp_path / name)
    (first / "weights.safetensors").write_bytes(b"weightz")
    found = find_statuses(tmp_path)
    assert [one.state for one in found] == ["damaged", "done", "copy"]
    assert found[2].original == tmp_path / "b" and str(tmp_path / "b") in found[2].reason


def test_copies_of_unfinished_runs_count_once_if_they_are_used(tmp_path: Path) -> None:
    first = made(tmp_path / "a", is_finished=False)
    shutil.copytree(first.path, tmp_path / "b")
    assert states(tmp_path) == {"a": "unfinished", "b": "unfinished"}
    found = find_statuses(tmp_path, partial=True)
    assert [one.state for one in found] == ["unfinished", "copy"]


def test_a_resumed_run_forgets_the_manifest_of_a_training_that_was_killed_at_its_end(
    tmp_path: Path,
) -> None:
    folder = made(tmp_path / "run")
    (folder / "result.json").unlink()
    config = {**CONFIG, "paths": {"cache": "elsewhere"}}
    with claim(folder, config, existing="resume") as claimed:
        claimed.begin(config, write_words)
        assert folder.config()["paths"] == {"cache": "elsewhere"}
        claimed.finish({"test": {"loss": 1.0}})
    assert run_status(folder).state == "done"


def test_the_manifest_has_the_checksums_of_the_start(tmp_path: Path) -> None:
    folder = made(tmp_path / "run", is_finished=False)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert set(manifest["files"]) == {"config.yaml", "vocabulary.json"}
    (folder / "manifest.json").write_text("{", encoding="utf-8")
    with pytest.raises(RunError, match=r"manifest\.json: the manifest cannot be read"):
        folder.verify()
