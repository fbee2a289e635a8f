"""Network weights as safetensors files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import nn

from gardenpath.errors import DamagedRunError, GardenpathError
from gardenpath.models.tensor_files import load_arrays, save_arrays


def save_weights(network: nn.Module, path: Path) -> None:
    """Write the weights of a network atomically; shared weights (tied embeddings) once.

    What is stored with the weights, such as classes of words, is one of them.
    """
    weights = {name: w.detach().cpu().contiguous() for name, w in _unique_weights(network)}
    save_arrays({name: _array(weight) for name, weight in weights.items()}, path)


def load_weights(network: nn.Module, path: Path) -> None:
    """Read the weights of a network; the file must contain exactly these weights."""
    weights = load_arrays(path)
    wanted = {name: tuple(weight.shape) for name, weight in _unique_weights(network)}
    found = {name: weight.shape for name, weight in weights.items()}
    if wanted != found:
        differing = sorted(
            name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name)
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


def _array(weight: torch.Tensor) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    # NumPy has no bfloat16; float32 contains all its values.
    found = weight.float() if weight.dtype == torch.bfloat16 else weight
    array: np.ndarray[tuple[int, ...], np.dtype[np.generic]] = found.numpy()
    return array


def _unique_weights(network: nn.Module) -> list[tuple[str, torch.Tensor]]:
    stored = network.state_dict()
    buffers = [(name, buffer) for name, buffer in network.named_buffers() if name in stored]
    return [*network.named_parameters(), *buffers]  # lists a shared parameter once
