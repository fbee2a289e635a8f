"""Encoded splits on disk, of which only the sentences of a batch are read into memory.

Arrays that are mapped into memory count as memory of the process as soon as they have been read,
so that a training would slowly grow by the size of its corpus. Sentences are therefore read from
the files, which the operating system caches. A file that was cut short while a training runs is an
error here; a mapped one would end the process.
"""

from __future__ import annotations

import os
import weakref
from dataclasses import dataclass, field
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from gardenpath.data.arrays import Ints
from gardenpath.data.encoding.encoded import ARRAYS, EncodedSplit, take_rows
from gardenpath.errors import InputError

SOURCES_FILE = "sources.txt"

_REMEDY = "delete the cached corpus"
# NumPy reads the headers of arrays with Python's tokenizer, which has errors of its own.
_DAMAGE = (
    OSError, EOFError, ValueError, SyntaxError, TokenError, MemoryError, OverflowError,
)  # fmt: skip
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
                name: _array(folder / f"{name}.npy", is_mapped=name not in _OFFSETS)
                for name in ARRAYS
            }
        except _DAMAGE as error:
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


def _array(path: Path, *, is_mapped: bool) -> npt.NDArray[Any]:
    """Read or map a list of numbers; NumPy would also open archives, text and other shapes."""
    array: Any = np.load(path, mmap_mode="r" if is_mapped else None, allow_pickle=False)
    is_list = isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype.kind in "iub"
    if not is_list:
        raise ValueError(f"{path.name} is not a list of numbers")
    found: npt.NDArray[Any] = array
    return found


class ArrayFile:
    """A one-dimensional array in a ``.npy`` file, of which ranges are read."""

    def __init__(self, mapped: npt.NDArray[Any], path: Path) -> None:
        assert isinstance(mapped, np.memmap)
        self._path = path
        self._dtype = mapped.dtype
        self._begin = int(mapped.offset)
        # Reads name their position, so that forked processes can share the file.
        self._handle = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._handle)

    def rows(self, begins: Ints, ends: Ints) -> npt.NDArray[Any]:
        """Return the concatenation of ranges of the array."""
        size = self._dtype.itemsize
        content = bytearray(int((ends - begins).sum()) * size)
        starts, counts = (begins * size).tolist(), ((ends - begins) * size).tolist()
        filled = 0
        for begin, count in zip(starts, counts, strict=True):
            found = os.pread(self._handle, count, self._begin + begin)
            if len(found) != count:
                raise InputError("ends too early", path=self._path, remedy=_REMEDY)
            content[filled : filled + count] = found
            filled += count
        return np.frombuffer(content, dtype=self._dtype)


class ArrayWriter:
    """Writes a one-dimensional array piece by piece, in the same bytes as ``np.save`` at once."""

    def __init__(self, path: Path, dtype: npt.DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        self._file: IO[bytes] = path.open("wb")
        self.length = 0
        self._write_header()

    def append(self, values: npt.NDArray[Any]) -> None:
        """Add values to the end."""
        self._file.write(np.ascontiguousarray(values, dtype=self._dtype).tobytes())
        self.length += len(values)

    def close(self) -> None:
        """Complete the header, which has room for any length."""
        self._file.seek(0)
        self._write_header()
        self._file.close()

    def _write_header(self) -> None:
        header = {
            "descr": np.lib.format.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": (self.length,),
        }
        np.lib.format.write_array_header_1_0(self._file, header)


class SplitWriter:
    """Writes a split block by block, in the same bytes as :meth:`EncodedSplit.save` at once."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        types: dict[str, npt.DTypeLike] = {
            "tokens": np.int32,
            "starts_word": np.bool_,
            "offsets": np.int64,
            "actions": np.int32,
            "action_offsets": np.int64,
        }
        self._arrays = {name: ArrayWriter(folder / f"{name}.npy", types[name]) for name in ARRAYS}
        self._sources: IO[bytes] = (folder / SOURCES_FILE).open("wb")
        self.sentences = self.words = 0
        for name in _OFFSETS:
            self._arrays[name].append(np.zeros(1, dtype=np.int64))

    @property
    def tokens(self) -> int:
        """Number of tokens so far."""
        return self._arrays["tokens"].length

    @property
    def actions(self) -> int:
        """Number of actions so far."""
        return self._arrays["actions"].length

    def append(self, block: EncodedSplit, sources: bytes) -> None:
        """Add sentences, and their sources as lines of text."""
        self._arrays["offsets"].append(block.offsets[1:] + self.tokens)
        self._arrays["action_offsets"].append(block.action_offsets[1:] + self.actions)
        for name in ("tokens", "starts_word", "actions"):
            self._arrays[name].append(getattr(block, name))
        self._sources.write(sources)
        self.sentences += len(block)
        self.words += block.word_count

    def close(self) -> None:
        """Complete all files."""
        for content in self._arrays.values():
            content.close()
        self._sources.close()
