"""Files of ``torch.save``: a pickle and the numbers of its tensors, in the old form or as a zip.

Both are read here without PyTorch, which would run code that a pickled module names.
"""

from __future__ import annotations

import abc
import io
import math
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from gardenpath.errors import InputError
from gardenpath.models.word_lm.pickle_machine import read_pickle
from gardenpath.models.word_lm.pickled import (
    PickledDict,
    PickledStorage,
    PickledTensor,
    RefusedPickleError,
)

Array = np.ndarray[tuple[int, ...], np.dtype[np.generic]]

# Pickles of models are small, because the numbers are outside of them.
_LONGEST_PICKLE = 1 << 26
# The first value of a file in the old form, and its version.
_MAGIC, _VERSION = 0x1950A86A20F9469CFC6C, 1001
_COUNT = np.dtype("<i8")
_ZIP = b"PK\x03\x04"
_REMEDY = (
    "save the weights alone, with torch.save(model.state_dict(), FILE) in the environment in which "
    "the model was trained, and adopt that file"
)


class TorchFile(abc.ABC):
    """An open file of ``torch.save``; ``content`` is what its pickle describes."""

    content: Any

    def array(self, tensor: PickledTensor) -> Array:
        """Return the numbers of a tensor in an array of its own."""
        storage = tensor.storage
        count = math.prod(tensor.shape)
        pairs = zip(tensor.shape, tensor.strides, strict=True)
        last = tensor.offset + sum((size - 1) * stride for size, stride in pairs)
        # A view may not repeat numbers, so that small files have no huge tensors.
        if count > storage.count or (count and last >= storage.count):
            raise RefusedPickleError("a tensor is larger than its data")
        if not count:
            return np.zeros(tensor.shape, dtype=np.float32)
        values = _values(self._bytes(storage), storage)
        strides = [stride * values.itemsize for stride in tensor.strides]
        view = np.lib.stride_tricks.as_strided(values[tensor.offset :], tensor.shape, strides)
        return view.copy()

    @abc.abstractmethod
    def _bytes(self, storage: PickledStorage) -> bytes:
        """Return the bytes of a storage."""


def _values(content: bytes, storage: PickledStorage) -> Array:
    is_brain = storage.dtype == "bfloat16"
    dtype = np.dtype("uint16" if is_brain else storage.dtype).newbyteorder("<")
    if len(content) != storage.count * dtype.itemsize:
        raise RefusedPickleError("the data of a tensor are cut off")
    values: Array = np.frombuffer(content, dtype=dtype)
    # A bfloat16 number is the first half of a float32 number.
    return (values.astype(np.uint32) << 16).view(np.float32) if is_brain else values


@contextmanager
def open_torch_file(path: Path) -> Iterator[TorchFile]:
    """Open a file; what cannot be read, or is refused, is one error that names it."""
    try:
        with path.open("rb") as file:
            is_zip = file.read(len(_ZIP)) == _ZIP
            file.seek(0)
            yield _ZipFile(file) if is_zip else _OldFile(file)
    except RefusedPickleError as error:
        problem = f"is not a model that can be converted: {error}"
        raise InputError(problem, path=path, remedy=_REMEDY) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=path) from error


class _OldFile(TorchFile):
    """Before PyTorch 1.6: pickles, then the numbers of all storages one after the other."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = file.seek(0, io.SEEK_END)
        file.seek(0)
        head = io.BytesIO(file.read(_LONGEST_PICKLE))
        magic, version, system = (read_pickle(head) for _ in range(3))
        if type(magic) is not int or magic != _MAGIC or version != _VERSION:
            raise RefusedPickleError("it is not a file of torch.save, or one of before 2017")
        _require_little_endian(system)
        self._storages: dict[str, PickledStorage] = {}
        self.content = read_pickle(head, self._storages)
        keys = read_pickle(head)
        if type(keys) is not list or not all(type(key) is str for key in keys):
            raise RefusedPickleError("it does not list its data")
        self._keys = keys
        self._places: dict[str, tuple[int, int]] | None = None
        self._begin = head.tell()

    def _bytes(self, storage: PickledStorage) -> bytes:
        if self._places is None:
            self._places = self._located()
        place, count = self._places.get(storage.key, (0, -1))
        if count != storage.count:
            raise RefusedPickleError("the data of a tensor are missing or have another size")
        self._file.seek(place)
        return self._file.read(storage.count * _item_size(storage))

    def _located(self) -> dict[str, tuple[int, int]]:
        """Return the position and the number of elements of each storage."""
        sizes = {key: _item_size(storage) for key, storage in self._storages.items()}
        places: dict[str, tuple[int, int]] = {}
        place = self._begin
        for key in self._keys:
            self._file.seek(place)
            count = int.from_bytes(self._file.read(_COUNT.itemsize), "little", signed=True)
            place += _COUNT.itemsize
            if key not in sizes or not 0 <= count * sizes[key] <= self._size - place:
                raise RefusedPickleError("the data of a tensor are cut off")
            places[key] = place, count
            place += count * sizes[key]
        return places


class _ZipFile(TorchFile):
    """Since PyTorch 1.6: a zip file of a pickle and of one file for each storage."""

    def __init__(self, file: BinaryIO) -> None:
        self._size = file.seek(0, io.SEEK_END)
        with _sound_zip():
            self._zip = zipfile.ZipFile(file)
        names = self._zip.namelist()
        found = [name for name in names if name.count("/") == 1 and name.endswith("/data.pkl")]
        if len(found) != 1:
            raise RefusedPickleError("it is a zip file, but not one of torch.save")
        self._folder = found[0].removesuffix("data.pkl")
        if f"{self._folder}constants.pkl" in names:
            raise RefusedPickleError("it is a TorchScript program")
        if f"{self._folder}byteorder" in names and self._member("byteorder", 16) != b"little":
            raise RefusedPickleError("its numbers are big-endian")
        self.content = read_pickle(io.BytesIO(self._member("data.pkl", _LONGEST_PICKLE)))

    def _bytes(self, storage: PickledStorage) -> bytes:
        return self._member(f"data/{storage.key}", self._size)

    def _member(self, name: str, most: int) -> bytes:
        try:
            info = self._zip.getinfo(self._folder + name)
        except KeyError:
            raise RefusedPickleError("the data of a tensor are missing") from None
        # Stored members are not larger than the file: nothing small becomes huge.
        if info.compress_type != zipfile.ZIP_STORED or info.file_size > min(most, self._size):
            raise RefusedPickleError("it is compressed, or too long")
        with _sound_zip():
            return self._zip.read(info)


@contextmanager
def _sound_zip() -> Iterator[None]:
    """Give one name to what the library raises for damaged zip files."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError) as error:
        raise RefusedPickleError("it is a damaged zip file") from error
    except (ValueError, OverflowError, UnicodeError) as error:
        raise RefusedPickleError("it is a damaged zip file") from error


def _item_size(storage: PickledStorage) -> int:
    return 2 if storage.dtype == "bfloat16" else np.dtype(storage.dtype).itemsize


def _require_little_endian(system: Any) -> None:
    if type(system) is not PickledDict or system.named().get("little_endian") is not True:
        raise RefusedPickleError("its numbers are big-endian")
