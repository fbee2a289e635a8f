"""Network weights as safetensors files."""

from __future__ import annotations

from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from gardenpath.errors import RunError
from gardenpath.store.files import whole_file


def save_weights(network: nn.Module, path: Path) -> None:
    """Write the weights of a network atomically; shared weights (tied embeddings) once."""
    weights = {name: w.detach().cpu().contiguous() for name, w in _unique_weights(network)}
    with whole_file(path) as temporary:
        save_file(weights, temporary)


def load_weights(network: nn.Module, path: Path) -> None:
    """Read the weights of a network; the file must contain exactly these weights."""
    try:
        weights = load_file(path)
    except (OSError, SafetensorError) as error:
        raise RunError(
            f"{path}: the weights cannot be read ({error}); the file is missing or truncated: "
            "train again, or copy the run folder again"
        ) from error
    wanted = {name: weight.shape for name, weight in _unique_weights(network)}
    found = {name: weight.shape for name, weight in weights.items()}
    if wanted != found:
        differing = sorted(
            name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name)
        )
        raise RunError(
            f"{path}: the weights do not fit config.yaml and vocabulary.json next to it; they "
            f"differ in {', '.join(differing[:5])}"
        )
    network.load_state_dict(weights, strict=False)


def _unique_weights(network: nn.Module) -> list[tuple[str, nn.Parameter]]:
    return list(network.named_parameters())  # lists a shared parameter once
