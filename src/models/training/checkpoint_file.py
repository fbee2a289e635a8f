"""Resume checkpoints: written as a whole beside the target, and verified when they are read.

A checkpoint is the zip archive of :func:`torch.save`, whose archive comment is the SHA-256 of the
archive without the comment. So it remains readable by :func:`torch.load`, and the checksum is
replaced together with the content in one rename. (torch itself does not compare the checksums of
the archive: most flipped bits would only change weights.)
"""

from __future__ import annotations

import hashlib
import os
import struct
from pathlib import Path
from typing import Any, BinaryIO

import torch
from pytorch_lightning.plugins.io import CheckpointIO

from gardenpath.errors import RunError
from gardenpath.store.files import sha256_of, whole_file

_SEAL = b"gardenpath sha256 "
_COMMENT = len(_SEAL) + 64

# A zip archive ends with this record; its last two bytes are the length of the comment.
_END = b"PK\x05\x06"
_END_SIZE = 22
_NO_COMMENT = b"\0\0"

# What Lightning needs to continue.
_PARTS = ("state_dict", "loops", "callbacks", "optimizer_states", "lr_schedulers")

_REMEDY = "delete it to start over, or restore it from a copy"


class WholeCheckpoints(CheckpointIO):
    """Lets Lightning write and read checkpoints with a checksum; the old one stays until then."""

    def save_checkpoint(
        self,
        checkpoint: dict[str, Any],
        path: str | os.PathLike[str],
        storage_options: Any | None = None,
    ) -> None:
        try:
            with whole_file(Path(path)) as temporary:
                with temporary.open("wb") as file:
                    torch.save(checkpoint, file)
                _seal(temporary)
        except (OSError, RuntimeError) as error:  # torch raises RuntimeError if a disk is full
            reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
            raise RunError(
                f"{path}: the checkpoint cannot be written ({reason}); free some disk space and "
                "check that the folder is writable; the previous checkpoint is unchanged: continue "
                "with existing=resume"
            ) from error

    def load_checkpoint(
        self,
        path: str | os.PathLike[str],
        map_location: Any | None = None,
        weights_only: bool | None = True,
    ) -> dict[str, Any]:
        return read_checkpoint(Path(path))

    def remove_checkpoint(self, path: str | os.PathLike[str]) -> None:
        Path(path).unlink(missing_ok=True)


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Read a checkpoint into memory; a :class:`RunError` names a damaged file and the remedy.

    Checkpoints of older versions have no checksum, and are read without.
    """
    try:
        problem = _damage(path)
    except OSError as error:
        problem = f"cannot be read ({error.strerror})"
    if problem:
        raise RunError(f"{path}: the checkpoint {problem}; {_REMEDY}")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many exceptions for a damaged file
        raise RunError(
            f"{path}: the checkpoint cannot be read ({type(error).__name__}); {_REMEDY}"
        ) from error
    if not isinstance(content, dict) or not all(name in content for name in _PARTS):
        raise RunError(f"{path}: is not a checkpoint of a training; {_REMEDY}")
    return content


def _seal(path: Path) -> None:
    """Append the checksum of an archive to it."""
    checksum = sha256_of(path)
    with path.open("r+b") as file:
        file.seek(-_END_SIZE, os.SEEK_END)
        end = file.read()
        assert end.startswith(_END) and end.endswith(_NO_COMMENT)
        file.seek(-len(_NO_COMMENT), os.SEEK_END)
        file.write(struct.pack("<H", _COMMENT) + _SEAL + checksum.encode("ascii"))


def _damage(path: Path) -> str:
    """Describe what is wrong with a file; empty if nothing is."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _END_SIZE - _COMMENT))
        tail = file.read()
        if tail[-_END_SIZE:].startswith(_END) and tail.endswith(_NO_COMMENT):
            return ""  # of an older version
        end, comment = tail[:_END_SIZE], tail[_END_SIZE:]
        expected = _END, struct.pack("<H", _COMMENT), _SEAL
        if (end[:4], end[-2:], comment[: len(_SEAL)]) != expected:
            return "is damaged: its end is missing"
        if comment[len(_SEAL) :].decode("ascii", "replace") != _checksum(file, size):
            return "is damaged: it does not have the checksum with which it was written"
    return ""


def _checksum(file: BinaryIO, size: int) -> str:
    """Return the SHA-256 of a file as it was without its comment."""
    left = size - _COMMENT - len(_NO_COMMENT)
    digest = hashlib.sha256()
    file.seek(0)
    while left and (block := file.read(min(left, 1 << 20))):
        digest.update(block)
        left -= len(block)
    digest.update(_NO_COMMENT)
    return digest.hexdigest()
