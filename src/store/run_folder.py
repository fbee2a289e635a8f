"""Run folders: everything that evaluation needs of a trained model, and nothing outside of it.

::

    config.yaml           the whole configuration, resolved
    vocabulary.json       and subwords.model, where units are pieces
    weights.safetensors   the best weights (neural), or the n-gram tables
    metrics.csv           one row per epoch
    versions.txt          the software that it was trained with
    result.json           the final numbers; written last, it marks a finished run
    train.log
    checkpoints/last.ckpt  what a killed run resumes from
"""

from __future__ import annotations

import copy
import functools
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from gardenpath.data.preparation import SUBWORD_FILE, VOCABULARY_FILE, PreparedCorpus
from gardenpath.data.words.subwords import Subwords
from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.errors import RunError
from gardenpath.models.families import FAMILIES
from gardenpath.models.ngram.ngram import NgramModel
from gardenpath.settings.check import check_arguments
from gardenpath.store.files import whole_file, write_json, write_text
from gardenpath.store.versions import versions

# What a model's numbers may depend on.
PACKAGES = ("torch", "pytorch-lightning", "numpy", "sentencepiece")


@dataclass(frozen=True)
class RunFolder:
    """The paths of a run, and how to read and write what they hold."""

    path: Path

    @property
    def weights_path(self) -> Path:
        """Where the weights of the model are."""
        return self.path / "weights.safetensors"

    @property
    def checkpoint_path(self) -> Path:
        """Where the state of an unfinished training is."""
        return self.path / "checkpoints" / "last.ckpt"

    @property
    def metrics_path(self) -> Path:
        """Where the metrics of each epoch are."""
        return self.path / "metrics.csv"

    @property
    def is_finished(self) -> bool:
        """Whether the run came to its end."""
        return (self.path / "result.json").is_file()

    @property
    def is_begun(self) -> bool:
        """Whether a run was started here."""
        return (self.path / "config.yaml").is_file()

    def begin(
        self, config: Mapping[str, Any], corpus: PreparedCorpus, vocabulary: Vocabulary
    ) -> None:
        """Write what is known before training."""
        self.path.mkdir(parents=True, exist_ok=True)
        vocabulary.save(self.path / VOCABULARY_FILE)
        if corpus.subwords is not None:
            corpus.subwords.save(self.path / SUBWORD_FILE)
        text = yaml.safe_dump(dict(config), allow_unicode=True, sort_keys=False)
        write_text(self.path / "versions.txt", versions(*PACKAGES) + "\n")
        write_text(self.path / "config.yaml", text)

    def finish(self, result: dict[str, Any]) -> None:
        """Write the final numbers and mark the run as finished."""
        write_json(self.path / "result.json", result)

    def config(self) -> dict[str, Any]:
        """The configuration of the run."""
        try:
            content = copy.deepcopy(
                _parsed_yaml((self.path / "config.yaml").read_text(encoding="utf-8"))
            )
        except (OSError, yaml.YAMLError) as error:
            raise RunError(f"{self.path}: not a run folder: {error}") from error
        if not isinstance(content, dict):
            raise RunError(f"{self.path / 'config.yaml'}: not a configuration; train again")
        return content

    def result(self) -> dict[str, Any]:
        """The final numbers of a finished run."""
        try:
            content: dict[str, Any] = json.loads((self.path / "result.json").read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise RunError(
                f"{self.path}: the run is not finished ({error}); continue it with "
                "'python train.py … resume=true'"
            ) from error
        return content

    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the model."""
        return Vocabulary.load(self.path / VOCABULARY_FILE)

    def subwords(self) -> Subwords | None:
        """The segmentation of words, where units are pieces."""
        path = self.path / SUBWORD_FILE
        return Subwords.load(path) if path.exists() else None

    def load_model(self) -> nn.Module | NgramModel:
        """The trained model, in evaluation mode."""
        config = self.config()
        try:
            name, settings = config["model"]["family"], config["model"]["network"]
            family = FAMILIES[name]
        except (KeyError, TypeError) as error:
            raise RunError(
                f"{self.path / 'config.yaml'}: no known model family ({error}); known are "
                f"{', '.join(FAMILIES)}"
            ) from error
        vocabulary = self.vocabulary()
        if not family.is_neural:
            return self._load_ngram(len(vocabulary))
        dimensions = family.dimensions(vocabulary)
        if mistakes := check_arguments(
            family.build, settings or {}, prefix="model.network", provided=dimensions
        ):
            raise RunError(f"{self.path / 'config.yaml'}: {'; '.join(mistakes)}")
        network: nn.Module = family.build(**dimensions, **settings)
        load_weights(network, self.weights_path)
        return network.eval()

    def _load_ngram(self, vocabulary_size: int) -> NgramModel:
        model = NgramModel.load(self.weights_path)
        if model.vocabulary_size != vocabulary_size:
            raise RunError(
                f"{self.weights_path}: the model has {model.vocabulary_size} words, but "
                f"vocabulary.json beside it {vocabulary_size}; copy the run folder again"
            )
        return model


@functools.lru_cache(maxsize=256)
def _parsed_yaml(text: str) -> Any:
    """Parsing is slow, and an evaluation asks for the same configurations again and again."""
    return yaml.safe_load(text)


def claim(folder: RunFolder, config: Mapping[str, Any], *, resume: bool, overwrite: bool) -> None:
    """Make sure that a run may be written here: nothing of another run is lost or mixed in."""
    if not folder.is_begun:
        return
    if overwrite:
        shutil.rmtree(folder.path)
    elif not resume:
        state = "a finished run" if folder.is_finished else "an unfinished run"
        raise RunError(
            f"{folder.path} holds {state}; continue it with resume=true, replace it with "
            "overwrite=true, or choose another run_dir="
        )
    elif different := _differences(folder.config(), dict(config)):
        raise RunError(
            f"{folder.path}: resuming needs the settings that the run began with; different are "
            f"{', '.join(different[:8])}"
        )


# Settings that may change between a run and its continuation, for they do not change its result.
_FREE_TO_CHANGE = ("resume", "overwrite", "run_dir", "paths", "logger", "trainer.progress",
                   "trainer.max_epochs", "trainer.checkpoint_steps")  # fmt: skip


def _differences(before: Any, now: Any, name: str = "") -> list[str]:
    """The names of settings that differ."""
    if name in _FREE_TO_CHANGE:
        return []
    if not (isinstance(before, dict) and isinstance(now, dict)):
        return [] if before == now else [name]
    keys = list(dict.fromkeys([*before, *now]))
    return [
        different
        for key in keys
        for different in _differences(
            before.get(key), now.get(key), f"{name}.{key}" if name else str(key)
        )
    ]


def save_weights(network: nn.Module, path: Path) -> None:
    """Write the weights of a network, as a whole; shared ones (tied embeddings) once."""
    weights = {name: w.detach().cpu().contiguous() for name, w in _unique_weights(network)}
    with whole_file(path) as temporary:
        save_file(weights, temporary)


def load_weights(network: nn.Module, path: Path) -> None:
    """Read the weights of a network; all must be there, and no others."""
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
            f"{path}: the weights do not fit config.yaml and vocabulary.json beside it; they "
            f"differ in {', '.join(differing[:5])}"
        )
    network.load_state_dict(weights, strict=False)


def _unique_weights(network: nn.Module) -> list[tuple[str, nn.Parameter]]:
    return list(network.named_parameters())  # which lists a shared parameter once


def find_runs(root: Path) -> list[RunFolder]:
    """All finished runs at or below a folder, in the order of their paths."""
    return [RunFolder(path.parent) for path in sorted(root.rglob("result.json"))]
