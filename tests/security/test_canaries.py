"""Pickles and tags in any file that Gardenpath reads run nothing: no canary file appears."""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gardenpath.errors import GardenpathError
from tests import small_runs


class _Canary:
    """Creates a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self._path),)


def payloads(canary: Path) -> list[bytes]:
    """Content of files that makes a folder if it is read without care."""
    bird = _Canary(canary)
    array = io.BytesIO()
    np.save(array, np.array([bird], dtype=object), allow_pickle=True)
    checkpoint = io.BytesIO()
    torch.save({"state_dict": bird}, checkpoint)
    old = io.BytesIO()
    torch.save({"state_dict": bird}, old, _use_new_zipfile_serialization=False)
    tag = f"name: !!python/object/apply:os.mkdir ['{canary}']\n"
    call = f"__import__('os').mkdir('{canary}')"
    return [
        *(pickle.dumps(bird), pickle.dumps(bird, protocol=0), array.getvalue()),
        *(checkpoint.getvalue(), old.getvalue(), tag.encode(), call.encode()),
    ]


def test_the_canaries_sing(tmp_path: Path) -> None:
    """The payloads do run when they are loaded without care."""
    payload = payloads(tmp_path / "canary")
    np.load(io.BytesIO(payload[2]), allow_pickle=True)
    assert (tmp_path / "canary").is_dir()
    (tmp_path / "canary").rmdir()
    torch.load(io.BytesIO(payload[3]), weights_only=False)
    assert (tmp_path / "canary").is_dir()


def _message(run: Callable[[], Any]) -> str:
    with pytest.raises(GardenpathError) as caught:
        run()
    return str(caught.value)


def test_files_of_a_run(tmp_path: Path) -> None:
    """Every file of a run folder in turn, and the checkpoint from which it would resume."""
    canary = tmp_path / "canary"
    folder = small_runs.run(tmp_path / "work", "trainer.max_epochs=1")
    finished = {path: path.read_bytes() for path in folder.path.iterdir() if path.is_file()}
    payload = payloads(canary)[3]
    for path in finished:
        path.write_bytes(payload)
        try:
            small_runs.loaded(folder).surprisal("the cat")
        except GardenpathError as error:
            assert "\n" not in str(error).strip()
        path.write_bytes(finished[path])
        assert not canary.exists(), path
    (folder / "result.json").unlink()
    (folder / "checkpoints/last.ckpt").parent.mkdir(exist_ok=True)
    (folder / "checkpoints/last.ckpt").write_bytes(payload)
    message = _message(lambda: small_runs.run(tmp_path / "work", "existing=resume"))
    assert "last.ckpt" in message and not canary.exists()
