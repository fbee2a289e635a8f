"""Run folders: everything that evaluation needs of a trained model.

::

    gardenpath.json       marker of a run folder, with its format
    config.yaml           complete configuration, resolved
    vocabulary.json       and subwords.model if the units are subword pieces
    weights.safetensors   best weights (neural models), or the n-gram tables
    metrics.csv           one row per epoch
    versions.txt          software versions of the training
    train.log
    checkpoints/last.ckpt  state from which an interrupted run resumes
    failure.json          why the training ended without a result; removed when it starts again
    diverged/             batch and sentences of an infinite loss
    manifest.json         sizes and checksums of the files above that evaluation reads
    result.json           final results; written last, it marks a finished run
    .lock                 held by the training process

:mod:`gardenpath.store.run_claim` claims and writes run folders. Runs of format 1
have no marker, no manifest and no ``format`` in ``config.yaml``.
"""

from __future__ import annotations

import contextlib
import copy
import csv
import fnmatch
import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gardenpath.errors import DamagedRunError, RunError
from gardenpath.safe_text import parse_json, parse_yaml
from gardenpath.store.files import (
    digest,
    fingerprint,
    is_leftover,
    owner_path,
    remove_leftovers,
    remove_tree,
    sha256_of,
)
from gardenpath.store.manifest import MANIFEST_FILE, Manifest, read_manifest, verify_files

RUN_KIND = "run"
RUN_FORMAT = 2

MARKER_FILE = "gardenpath.json"
CONFIG_FILE = "config.yaml"
VOCABULARY_FILE = "vocabulary.json"
SUBWORDS_FILE = "subwords.model"
WEIGHTS_FILE = "weights.safetensors"
METRICS_FILE = "metrics.csv"
VERSIONS_FILE = "versions.txt"
RESULT_FILE = "result.json"
LOG_FILE = "train.log"
CHECKPOINT_FILE = "checkpoints/last.ckpt"
FAILURE_FILE = "failure.json"
DIVERGED_FOLDER = "diverged"
LOCK_FILE = ".lock"

# The entry of the final results that marks a model that others trained.
ADOPTED_RESULT = "adopted"

_RETRAIN = "copy the run folder again, or train again with existing=overwrite"
_BY_HAND = "if it was changed by hand, restore it, or delete manifest.json to use it as it is"


@dataclass(frozen=True)
class RunFolder:
    """The paths and files of a run."""

    path: Path

    @property
    def marker_path(self) -> Path:
        """The marker of a run folder."""
        return self.path / MARKER_FILE

    @property
    def config_path(self) -> Path:
        """The configuration."""
        return self.path / CONFIG_FILE

    @property
    def vocabulary_path(self) -> Path:
        """The vocabulary of the model."""
        return self.path / VOCABULARY_FILE

    @property
    def subwords_path(self) -> Path:
        """The subword segmentation; absent if the units are whole words."""
        return self.path / SUBWORDS_FILE

    @property
    def weights_path(self) -> Path:
        """The weights of the model."""
        return self.path / WEIGHTS_FILE

    @property
    def metrics_path(self) -> Path:
        """The metrics of each epoch."""
        return self.path / METRICS_FILE

    @property
    def result_path(self) -> Path:
        """The final results."""
        return self.path / RESULT_FILE

    @property
    def log_path(self) -> Path:
        """The log of the training."""
        return self.path / LOG_FILE

    @property
    def checkpoint_path(self) -> Path:
        """The checkpoint of an unfinished training."""
        return self.path / CHECKPOINT_FILE

    @property
    def failure_path(self) -> Path:
        """Why the training ended without a result."""
        return self.path / FAILURE_FILE

    @property
    def diverged_path(self) -> Path:
        """The folder for the batch whose loss was infinite."""
        return self.path / DIVERGED_FOLDER

    @property
    def lock_path(self) -> Path:
        """The lock of the training process."""
        return self.path / LOCK_FILE

    @property
    def is_finished(self) -> bool:
        """Whether the run is finished."""
        return self.result_path.is_file()

    @property
    def is_adopted(self) -> bool:
        """Whether the model was trained elsewhere; then its weights may be elsewhere too."""
        return self.is_finished and ADOPTED_RESULT in self.result()

    @property
    def is_begun(self) -> bool:
        """Whether a run was started here."""
        return self.config_path.is_file()

    @property
    def is_marked(self) -> bool:
        """Whether the folder is a run folder: by its marker, or by the files of format 1."""
        return has_marker(self.path) or (self.is_begun and self.vocabulary_path.is_file())

    def config(self) -> dict[str, Any]:
        """Return the configuration of the run, in the current format; verified if finished."""
        try:
            content = _parsed_yaml(self._text(CONFIG_FILE, f"{_RETRAIN}; {_BY_HAND}"))
        except (OSError, ValueError) as error:
            raise DamagedRunError(
                f"{self.path}: not a run folder, or {CONFIG_FILE} is damaged: {_why(error)}; "
                f"{_RETRAIN}"
            ) from error
        if not isinstance(content, dict):
            raise DamagedRunError(f"{self.config_path}: not a configuration; train again")
        try:
            return upgraded(content)
        except ValueError as error:
            raise DamagedRunError(f"{self.config_path}: {error}") from error

    def result(self) -> dict[str, Any]:
        """Return the final results of a finished run, verified."""
        try:
            text = self._text(RESULT_FILE, _RETRAIN)
        except OSError as error:
            raise RunError(
                f"{self.path}: the run is not finished ({_why(error)}); continue it with "
                "'python train.py … existing=resume', or use its best weights so far with "
                "unfinished=include"
            ) from error
        except UnicodeDecodeError as error:
            raise DamagedRunError(f"{self.result_path}: is damaged: {error}; {_RETRAIN}") from error
        try:
            content: Any = parse_json(text)
            if not isinstance(content, dict):
                raise ValueError("it is not an object of JSON")
        except ValueError as error:
            raise DamagedRunError(f"{self.result_path}: is damaged: {error}; {_RETRAIN}") from error
        return content

    def _text(self, name: str, remedy: str) -> str:
        """Read a text file; compare it with the manifest, if that is available."""
        data = (self.path / name).read_bytes()
        manifest = self.manifest()
        if manifest is not None and digest(data) != _recorded(self.path, manifest, name):
            raise _unequal(self.path / name, remedy)
        return data.decode("utf-8")

    def manifest(self) -> Manifest | None:
        """Return the manifest; None for unfinished runs and runs of format 1."""
        if not (self.path / MANIFEST_FILE).is_file():
            return None
        try:
            return read_manifest(self.path, kind=RUN_KIND, format=RUN_FORMAT, remedy=_RETRAIN)
        except RunError as error:
            raise DamagedRunError(str(error)) from error

    def verify(self, *names: str) -> None:
        """Compare files with the checksums of the manifest, if available.

        Without ``names``, all files of the manifest are compared. A :class:`DamagedRunError` names
        the damaged file.
        """
        manifest = self.manifest()
        if manifest is None:
            return
        try:
            verify_files(self.path, manifest, remedy=_RETRAIN, names=names or None)
        except RunError as error:
            raise DamagedRunError(str(error)) from error

    def verify_start(self) -> None:
        """Compare the files that a training wrote at its start with the marker, if it knows them.

        This is for unfinished runs, which have no manifest yet.
        """
        try:
            content = parse_json(self.marker_path.read_text(encoding="utf-8"))
            recorded = dict(content.get("files", {}))
        except FileNotFoundError:
            return
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise DamagedRunError(
                f"{self.marker_path}: cannot be read ({_why(error)}); {_RETRAIN}"
            ) from error
        for name in (CONFIG_FILE, VOCABULARY_FILE, SUBWORDS_FILE):
            if name in recorded and self.verified_sha256(name) != recorded[name]:
                raise _unequal(self.path / name, _RETRAIN, "at the start of the training")

    def verified_sha256(self, name: str) -> str:
        """Return the SHA-256 of a file, which must be that of the manifest, if available."""
        path, manifest = self.path / name, self.manifest()
        try:
            found = sha256_of(path)
        except OSError as error:
            raise DamagedRunError(f"{path}: cannot be read ({_why(error)}); {_RETRAIN}") from error
        if manifest is not None and found != _recorded(self.path, manifest, name):
            raise _unequal(path, _RETRAIN)
        return found

    def known_fingerprint(self) -> str:
        """Return the fingerprint recorded in the manifest, or else that of the files."""
        manifest = self.manifest()
        return self.fingerprint() if manifest is None else manifest.fingerprint

    def fingerprint(self, files: Sequence[str] | None = None) -> str:
        """Return a hash that identifies the model: of the files that determine its numbers.

        ``files`` are those of a model that was adopted, besides the configuration.
        """
        names: Sequence[str] = (CONFIG_FILE, VOCABULARY_FILE, SUBWORDS_FILE, WEIGHTS_FILE)
        if files is not None:
            names = (CONFIG_FILE, *files)
        try:
            return fingerprint(
                RUN_KIND,
                RUN_FORMAT,
                files={
                    name: sha256_of(self.path / name)
                    for name in names
                    if name != SUBWORDS_FILE or self.subwords_path.exists()
                },
            )
        except OSError as error:
            raise DamagedRunError(
                f"{error.filename}: cannot be read ({error.strerror}); {_RETRAIN}"
            ) from error


def _recorded(folder: Path, manifest: Manifest, name: str) -> str:
    """Return the checksum of a file in the manifest."""
    if name not in manifest.files:
        raise DamagedRunError(f"{folder / name}: is not in {MANIFEST_FILE} next to it; {_RETRAIN}")
    return manifest.files[name].sha256


def _unequal(path: Path, remedy: str, where: str = "in the manifest") -> DamagedRunError:
    problem = f"does not have the checksum recorded {where}"
    return DamagedRunError(f"{path}: is damaged: it {problem}; {remedy}")


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


@functools.lru_cache(maxsize=256)
def _parsed_yaml(text: str) -> Any:
    """Parse YAML; cached, because an evaluation reads the same configurations many times."""
    return parse_yaml(text)


def has_marker(folder: Path) -> bool:
    """Whether a folder contains the marker of a run."""
    try:
        content = parse_json((folder / MARKER_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and content.get("kind") == RUN_KIND


def upgraded(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a run's configuration in the current format.

    A configuration without ``format`` is of format 1. Keys that begin with ``_`` are needed only to
    compose configurations and are dropped. Raises ValueError if the format is newer than this
    version.
    """
    content = _without_private(copy.deepcopy(dict(config)))
    number = content.pop("format", 1)
    if not isinstance(number, int) or not 1 <= number <= RUN_FORMAT:
        raise ValueError(
            f"format {number!r} is unknown; this version reads up to {RUN_FORMAT}: update "
            "Gardenpath"
        )
    if number == 1:
        _from_format_1(content)
    return {"format": RUN_FORMAT, **content}


def _from_format_1(config: dict[str, Any]) -> None:
    """Drop settings that were stored in format 1 but never read.

    These are a copy of the network's size in the model's settings, and settings of neural models in
    n-gram models.
    """
    config.pop("demo", None)
    model = config.get("model")
    if not isinstance(model, dict):
        return
    model.pop("size", None)
    if model.get("family") in ("ngram", "unigram"):
        for name in ("optimiser", "batches"):
            model.pop(name, None)


def _without_private(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_private(item)
            for key, item in value.items()
            if not str(key).startswith("_")
        }
    return value


# ----------------------------------------------------------------------------
# Recognise the files that a run wrote, and remove them without touching others.


# In order of removal: without a result, a run is unfinished; without a configuration, not begun.
# The marker is not included because it is replaced.
_FILES = (
    RESULT_FILE, MANIFEST_FILE, CONFIG_FILE, WEIGHTS_FILE, METRICS_FILE, VERSIONS_FILE,
    VOCABULARY_FILE, SUBWORDS_FILE, LOG_FILE, CHECKPOINT_FILE, FAILURE_FILE,
)  # fmt: skip

# Folder that the logger writes within a run folder.
_WANDB = "wandb"
_WANDB_NAMES = ("run-*", "offline-run-*", "latest-run", "debug.log", "debug-internal.log")

# Files of a loss that was infinite.
_DIVERGED_NAMES = ("batch*.safetensors", "sentences*.txt")


def foreign_names(folder: Path) -> list[str]:
    """List the files of a folder without a run, except those of a training that has not begun."""
    if not folder.is_dir():
        return []
    own = {LOCK_FILE, owner_path(folder / LOCK_FILE).name, LOG_FILE}
    return [
        path.name
        for path in sorted(folder.iterdir())
        if path.name not in own and not is_leftover(path)
    ]


def require_only_this_run(folder: Path) -> None:
    """Refuse to replace a run in or above the working directory, or above other runs."""
    place = folder.resolve()
    if Path.cwd().resolve().is_relative_to(place):
        raise RunError(
            f"{folder}: existing=overwrite is refused for the working directory and folders that "
            "contain it; choose another run_dir="
        )
    if other := _run_below(folder):
        raise RunError(
            f"{folder}: existing=overwrite is refused because the folder contains another run "
            f"({other}); choose another run_dir=, or move that run"
        )


def remove_run_files(folder: Path) -> None:
    """Remove the files of a run by their names, and leave all other files in place."""
    for name in _FILES:
        # A folder of such a name does not belong to the run.
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            (folder / name).unlink()
    checkpoints, wandb = (folder / CHECKPOINT_FILE).parent, folder / _WANDB
    diverged = folder / DIVERGED_FOLDER
    remove_leftovers(checkpoints)
    _remove_matching(wandb, _WANDB_NAMES)
    _remove_matching(diverged, _DIVERGED_NAMES)
    for place in (checkpoints, wandb, diverged):
        with contextlib.suppress(OSError):  # absent, or not empty
            place.rmdir()


def _remove_matching(folder: Path, patterns: tuple[str, ...]) -> None:
    if folder.is_symlink() or not folder.is_dir():
        return
    remove_leftovers(folder)
    for path in sorted(folder.iterdir()):
        if any(fnmatch.fnmatchcase(path.name, pattern) for pattern in patterns):
            remove_tree(path)


def _run_below(folder: Path) -> Path | None:
    for root, below, _ in os.walk(folder):
        below[:] = [name for name in below if not is_leftover(Path(name))]
        if Path(root) != folder and RunFolder(Path(root)).is_marked:
            return Path(root)
    return None


# ----------------------------------------------------------------------------
# The rows of ``metrics.csv``: one for each epoch that a training has completed.


def epoch_rows(folder: RunFolder) -> list[dict[str, str]]:
    """Return the metrics of each epoch; none if there are no epochs or the file is unreadable."""
    try:
        with folder.metrics_path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except (OSError, ValueError, csv.Error):
        return []
