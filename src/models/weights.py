"""Weights as safetensors files with a checksum, and the check that they are finite.

The checksum of all tensors is written with them, in one file, so that damage is noticed even in a
run that is not finished and has no manifest. Families of n-gram models are listed without torch, so
it is imported in functions.
"""

from __future__ import annotations

import errno
import hashlib
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from gardenpath.errors import DamagedRunError, DivergedError, GardenpathError
from gardenpath.store.files import whole_file
from gardenpath.store.run_folder import WEIGHTS_FILE, RunFolder

if TYPE_CHECKING:
    import torch
    from torch import nn

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
    """Read arrays and compare them with their checksum."""
    try:
        arrays: dict[str, Any] = load_file(path)
        with safe_open(path, framework="numpy") as file:
            recorded = (file.metadata() or {}).get(_CHECKSUM)
    # A damaged header may name a type or a size that NumPy does not know.
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, MemoryError) as error:
        raise DamagedRunError(
            f"{path}: cannot be read ({error}); the file is missing, truncated or damaged: {_AGAIN}"
        ) from error
    if recorded != _checksum(arrays):
        raise DamagedRunError(
            f"{path}: is damaged: it does not have the checksum recorded in it; {_AGAIN}"
        )
    return arrays


def _checksum(arrays: Arrays) -> str:
    """Return the SHA-256 of names, types, shapes and values."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {arrays[name].shape}\n".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _as_os_error(error: SafetensorError, path: Path) -> OSError:
    """Return the error of the operating system that the library names in a text."""
    match = re.search(r"os error (\d+)", str(error))
    number = int(match[1]) if match else errno.EIO
    return OSError(number, os.strerror(number) if match else str(error), str(path))


# ----------------------------------------------------------------------------
# Network weights as safetensors files.


def save_weights(network: nn.Module, path: Path) -> None:
    """Write the weights of a network atomically; shared weights (tied embeddings) once.

    What is stored with the weights, such as classes of words, is one of them.
    """
    import torch

    weights = {name: w.detach().cpu().contiguous() for name, w in _unique_weights(network)}
    # NumPy has no bfloat16; float32 contains all its values.
    half = torch.bfloat16
    save_arrays(
        {n: (w.float() if w.dtype == half else w).numpy() for n, w in weights.items()}, path
    )


def load_weights(network: nn.Module, path: Path) -> None:
    """Read the weights of a network; the file must contain exactly these weights."""
    import torch

    weights = load_arrays(path)
    wanted = {name: tuple(weight.shape) for name, weight in _unique_weights(network)}
    stored = {name: weight.shape for name, weight in weights.items()}
    if wanted != stored:
        differing = sorted(
            name for name in wanted.keys() | stored.keys() if wanted.get(name) != stored.get(name)
        )
        raise DamagedRunError(
            f"{path}: the weights do not fit config.yaml and vocabulary.json next to it; they "
            f"differ in {', '.join(differing[:5])}"
        )
    tensors = {name: torch.from_numpy(weight) for name, weight in weights.items()}
    try:
        network.load_state_dict(tensors, strict=False)
    except GardenpathError as error:
        raise DamagedRunError(f"{path}: {error}; copy the run folder again") from error


def _unique_weights(network: nn.Module) -> list[tuple[str, torch.Tensor]]:
    stored = network.state_dict()
    buffers = [(name, buffer) for name, buffer in network.named_buffers() if name in stored]
    return [*network.named_parameters(), *buffers]  # lists a shared parameter once


# ----------------------------------------------------------------------------
# Refuse models whose weights or perplexities are infinite or not numbers.


LOWER_RATE = (
    "lower model.optimiser.learning_rate, or clip gradients (trainer.gradient_clip), and start "
    "over with existing=overwrite"
)
_NO_PROBABILITY = (
    "the model gives no probability to a sentence of this split; smooth the model, or train it on "
    "a corpus that covers these words, and start over with existing=overwrite"
)


def require_finite(
    model: Any, metrics: Mapping[str, Mapping[str, float]], folder: RunFolder
) -> None:
    """Refuse a trained network or n-gram model, given its metrics by split."""
    import torch

    is_network = isinstance(model, torch.nn.Module)
    if is_network and not has_finite_weights(model):
        raise DivergedError(
            f"{folder / WEIGHTS_FILE}: the weights are infinite or not numbers; {LOWER_RATE}"
        )
    for split, values in metrics.items():
        for name, value in values.items():
            if not math.isfinite(value):
                shown = name.replace("_", " ")
                remedy = LOWER_RATE if is_network else _NO_PROBABILITY
                raise DivergedError(
                    f"{folder.path}: the {shown} of the split {split} is {value}; {remedy}"
                )


def has_finite_weights(network: Any) -> bool:
    """Whether all weights of a network are finite; waits for the device once."""
    import torch

    weights = [torch.isfinite(weight.detach()).all() for weight in network.parameters()]
    return bool(torch.stack(weights).all()) if weights else True
