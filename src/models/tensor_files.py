"""Files of tensors (safetensors) that contain a checksum of their tensors.

The checksum is written with the tensors, in one file, so that damage is noticed even in a run that
is not finished and has no manifest.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from gardenpath.errors import DamagedRunError
from gardenpath.store.files import whole_file

Arrays = Mapping[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]

_CHECKSUM = "sha256"
_AGAIN = "copy the run folder again, or train again with existing=overwrite"


def save_arrays(arrays: Arrays, path: Path) -> None:
    """Write arrays and their checksum atomically."""
    with whole_file(path) as temporary:
        try:
            # The library writes the memory of an array, whatever its strides.
            rows = {name: np.asarray(array, order="C") for name, array in arrays.items()}
            save_file(rows, temporary, metadata={_CHECKSUM: _checksum(arrays)})
        except SafetensorError as error:
            raise _as_os_error(error, path) from error


def load_arrays(path: Path) -> dict[str, Any]:
    """Read arrays and compare them with their checksum; older files have none."""
    try:
        arrays: dict[str, Any] = load_file(path)
        with safe_open(path, framework="numpy") as file:
            recorded = (file.metadata() or {}).get(_CHECKSUM)
    # A damaged header may name a type or a size that NumPy does not know.
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, MemoryError) as error:
        raise DamagedRunError(
            f"{path}: cannot be read ({error}); the file is missing, truncated or damaged: {_AGAIN}"
        ) from error
    if recorded is not None and recorded != _checksum(arrays):
        raise DamagedRunError(
            f"{path}: is damaged: it does not have the checksum recorded in it; {_AGAIN}"
        )
    return arrays


def _checksum(arrays: Arrays) -> str:
    """Return the SHA-256 of names, types, shapes and values."""
    found = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        found.update(f"{name} {array.dtype.str} {arrays[name].shape}\n".encode())
        found.update(array.reshape(-1).view(np.uint8).data)
    return found.hexdigest()


def _as_os_error(error: SafetensorError, path: Path) -> OSError:
    """Return the error of the operating system that the library names in a text."""
    found = re.search(r"os error (\d+)", str(error))
    number = int(found[1]) if found else errno.EIO
    return OSError(number, os.strerror(number) if found else str(error), str(path))
