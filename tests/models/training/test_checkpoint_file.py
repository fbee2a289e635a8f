"""Checkpoint files: whole or not there, readable by torch alone, and damage is noticed."""

from __future__ import annotations

import os
import random
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from gardenpath.errors import RunError
from gardenpath.models.training.checkpoints import WholeCheckpoints, read_checkpoint
from tests.concurrency.kills import every_step

_EMPTY: dict[str, Any] = {
    "loops": {}, "callbacks": {}, "optimizer_states": [], "lr_schedulers": []
}  # fmt: skip


def state(value: float) -> dict[str, Any]:
    """The state of a training with one matrix."""
    return {**_EMPTY, "state_dict": {"weight": torch.full((64, 8), value)}}


def save(path: Path, value: float = 1.0) -> None:
    WholeCheckpoints().save_checkpoint(state(value), path)


def saved(path: Path, value: float = 1.0) -> Path:
    save(path, value)
    return path


def value_of(path: Path) -> float:
    (value,) = set(read_checkpoint(path)["state_dict"]["weight"].flatten().tolist())
    return float(value)


def test_torch_and_zip_read_it_as_it_is(tmp_path: Path) -> None:
    path = saved(tmp_path / "checkpoints" / "last.ckpt", 2.0)
    assert value_of(path) == 2.0
    loaded = torch.load(path, weights_only=True)
    assert torch.equal(loaded["state_dict"]["weight"], torch.full((64, 8), 2.0))
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert archive.comment.startswith(b"gardenpath sha256 ")


def test_a_flipped_bit_is_noticed_wherever_it_is(tmp_path: Path) -> None:
    path = saved(tmp_path / "last.ckpt")
    content = path.read_bytes()
    generator = random.Random(3)
    places = [*generator.sample(range(len(content)), 300), *range(len(content) - 110, len(content))]
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= 1 << generator.randrange(8)
        path.write_bytes(damaged)
        with pytest.raises(RunError, match=r"is damaged: .*; delete it to start over") as caught:
            read_checkpoint(path)
        assert str(path) in str(caught.value)


@pytest.mark.parametrize("kept", [0, 1, 30, 0.5, 0.99, -1, -82, -83])
def test_a_truncated_file_is_noticed(tmp_path: Path, kept: float) -> None:
    path = saved(tmp_path / "last.ckpt")
    content = path.read_bytes()
    path.write_bytes(content[: kept if isinstance(kept, int) else int(kept * len(content))])
    with pytest.raises(RunError, match="delete it to start over"):
        read_checkpoint(path)


def test_checkpoints_of_older_versions_are_read(tmp_path: Path) -> None:
    path = tmp_path / "last.ckpt"
    torch.save(state(4.0), path)
    assert value_of(path) == 4.0


class Canary:
    """Something that a checkpoint must not bring to life."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, ("canary",))


@pytest.mark.parametrize(
    "content", [{"state_dict": {}}, [1, 2], {**_EMPTY, "state_dict": Canary()}]
)
def test_other_content_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "last.ckpt"
    WholeCheckpoints().save_checkpoint(content, path)
    with pytest.raises(RunError, match="delete it to start over"):
        read_checkpoint(path)
    assert not (tmp_path / "canary").exists()


def test_a_kill_at_any_step_leaves_the_old_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "run" / "last.ckpt"

    def prepare() -> None:
        shutil.rmtree(path.parent, ignore_errors=True)
        save(path, 1.0)

    found = []
    for _ in every_step(lambda: save(path, 2.0), prepare=prepare, root=tmp_path):
        found.append(value_of(path))
    assert found == sorted(found) and set(found) == {1.0, 2.0}


def test_a_full_disk_keeps_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path / "last.ckpt", 1.0)

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(RunError, match="No space left") as caught:
        patch.setattr(os, "fsync", full)
        save(path, 2.0)
    assert str(path) in str(caught.value) and "existing=resume" in str(caught.value)
    assert value_of(path) == 1.0
    assert [one.name for one in tmp_path.iterdir()] == ["last.ckpt"]
