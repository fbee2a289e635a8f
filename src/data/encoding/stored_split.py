"""Encoded splits on disk, of which only the sentences of a batch are read into memory.

Arrays that are mapped into memory count as memory of the process as soon as they have been read,
so that a training would slowly grow by the size of its corpus. Sentences are therefore read from
the files, which the operating system caches. A file that was cut short while a training runs is an
error here; a mapped one would end the process.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from gardenpath.data.arrays import Ints
from gardenpath.data.encoding.encoded import ARRAYS, EncodedSplit, take_rows
from gardenpath.errors import InputError

_REMEDY = "delete the cached corpus"
# Arrays with one value per sentence, which are held in memory.
_OFFSETS = ("offsets", "action_offsets")


@dataclass(frozen=True)
class StoredSplit(EncodedSplit):
    """A split in a folder; offsets are in memory, and the other arrays are mapped when needed."""

    folder: Path
    _files: dict[str, ArrayFile] = field(default_factory=dict, repr=False, compare=False)

    @staticmethod
    def open(folder: Path) -> StoredSplit:
        """Open a folder written by :meth:`EncodedSplit.save`."""
        try:
            arrays: dict[str, Any] = {
                name: np.load(
                    folder / f"{name}.npy",
                    mmap_mode=None if name in _OFFSETS else "r",
                    allow_pickle=False,
                )
                for name in ARRAYS
            }
        except (OSError, EOFError, ValueError) as error:
            raise InputError(
                f"is not a prepared split: {error}", path=folder, remedy=_REMEDY
            ) from error
        return StoredSplit(**arrays, folder=folder)

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        # A process that is started anew opens the folder instead of receiving its content.
        return StoredSplit.open, (self.folder,)

    def take(self, sentences: Ints) -> EncodedSplit:
        return take_rows(self, sentences, self._read)

    def _read(self, name: str, begins: Ints, ends: Ints) -> npt.NDArray[Any]:
        file = self._files.get(name)
        if file is None:
            file = self._files[name] = ArrayFile(getattr(self, name), self.folder / f"{name}.npy")
        return file.rows(begins, ends)


class ArrayFile:
    """A one-dimensional array in a ``.npy`` file, of which ranges are read."""

    def __init__(self, mapped: npt.NDArray[Any], path: Path) -> None:
        assert isinstance(mapped, np.memmap)
        self._path = path
        self._dtype = mapped.dtype
        self._begin = int(mapped.offset)
        # Without a buffer; reads name their position, so that processes can share the file.
        self._file: IO[bytes] = path.open("rb", buffering=0)

    def rows(self, begins: Ints, ends: Ints) -> npt.NDArray[Any]:
        """Return the concatenation of ranges of the array."""
        size = self._dtype.itemsize
        result = np.empty(int((ends - begins).sum()), dtype=self._dtype)
        view = memoryview(result.view(np.uint8))
        handle, filled = self._file.fileno(), 0
        for begin, count in zip((begins * size).tolist(), ((ends - begins) * size).tolist()):
            content = os.pread(handle, count, self._begin + begin)
            if len(content) != count:
                raise InputError("ends too early", path=self._path, remedy=_REMEDY)
            view[filled : filled + count] = content
            filled += count
        return result
