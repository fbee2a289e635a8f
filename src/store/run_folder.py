"""Run folders: everything that evaluation needs of a trained model.

::

    manifest.json         kind, format, sizes and checksums; marks the folder from the beginning on
    config.yaml           complete configuration, resolved
    vocabulary.json       and subwords.model if the units are subword pieces
    weights.safetensors   best weights (neural models), or the n-gram tables
    metrics.csv           one row per epoch
    versions.txt          software versions of the training
    train.log
    checkpoints/last.ckpt  state from which an interrupted run resumes
    failure.json          why the training ended without a result; removed when it starts again
    diverged/             batch and sentences of an infinite loss
    result.json           final results; written last, it marks a finished run
    .lock                 held by the training process

Everybody who reads a run does so through :class:`RunFolder`, which writes nothing; only
:mod:`gardenpath.store.run_claim` claims and writes run folders.
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
from gardenpath.store.manifest import (
    MANIFEST_FILE,
    Manifest,
    kind_of_folder,
    read_manifest,
    verify_files,
)

RUN_KIND = "run"
RUN_FORMAT = 2

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
# What a training writes at its start and changes no more.
START_FILES = (CONFIG_FILE, VOCABULARY_FILE, SUBWORDS_FILE)

# The entry of the final results that marks a model that others trained.
ADOPTED_RESULT = "adopted"

_RETRAIN = "copy the run folder again, or train again with existing=overwrite"
_BY_HAND = "if it was changed by hand, restore it, or delete manifest.json to use it as it is"


@dataclass(frozen=True)
class RunFolder:
    """The files of a run: ``folder / WEIGHTS_FILE`` is the path of its weights."""

    path: Path

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    @property
    def is_finished(self) -> bool:
        """Whether the run is finished."""
        return (self / RESULT_FILE).is_file()

    @property
    def is_adopted(self) -> bool:
        """Whether the model was trained elsewhere; then its weights may be elsewhere too."""
        return self.is_finished and ADOPTED_RESULT in self.result()

    @property
    def is_begun(self) -> bool:
        """Whether a run was started here."""
        return (self / CONFIG_FILE).is_file()

    @property
    def is_marked(self) -> bool:
        """Whether the folder is a run folder: by its manifest, or else by its files."""
        if kind_of_folder(self.path) == RUN_KIND:
            return True
        return self.is_begun and (self / VOCABULARY_FILE).is_file()

    def config(self) -> dict[str, Any]:
        """Return the configuration of the run, compared with the manifest if available."""
        try:
            content = _parsed_yaml(self._text(CONFIG_FILE, f"{_RETRAIN}; {_BY_HAND}"))
        except (OSError, ValueError) as error:
            raise DamagedRunError(
                f"{self.path}: not a run folder, or {CONFIG_FILE} is damaged: {_why(error)}; "
                f"{_RETRAIN}"
            ) from error
        if not isinstance(content, dict):
            raise DamagedRunError(f"{self / CONFIG_FILE}: not a configuration; train again")
        number = content.get("format", 1)
        if number == 1:
            problem = "is of a version before 0.2.0, whose runs are no longer read; train again"
            raise DamagedRunError(f"{self / CONFIG_FILE}: {problem}")
        if number != RUN_FORMAT:
            raise DamagedRunError(
                f"{self / CONFIG_FILE}: format {number!r} is unknown; this version reads "
                f"{RUN_FORMAT}: update Gardenpath"
            )
        return stored_config(copy.deepcopy(content))

    def result(self) -> dict[str, Any]:
        """Return the final results of a finished run, verified."""
        try:
            content: Any = parse_json(self._text(RESULT_FILE, _RETRAIN))
            if not isinstance(content, dict):
                raise ValueError("it is not an object of JSON")
        except OSError as error:
            raise RunError(
                f"{self.path}: the run is not finished ({_why(error)}); continue it with "
                "'python train.py … existing=resume', or use its best weights so far with "
                "unfinished=include"
            ) from error
        except ValueError as error:
            problem = f"is damaged: {error}; {_RETRAIN}"
            raise DamagedRunError(f"{self / RESULT_FILE}: {problem}") from error
        return content

    def _text(self, name: str, remedy: str) -> str:
        """Read a text file; compare it with the manifest, if that is available."""
        data = (self / name).read_bytes()
        self._require_recorded(name, digest(data), remedy)
        return data.decode("utf-8")

    def manifest(self) -> Manifest | None:
        """Return the manifest; None if there is none, for example because a user has deleted it.

        That of an unfinished run has only the files that its training wrote at the start.
        """
        if not (self / MANIFEST_FILE).is_file():
            return None
        try:
            return read_manifest(self.path, kind=RUN_KIND, format=RUN_FORMAT, remedy=_RETRAIN)
        except RunError as error:
            raise DamagedRunError(str(error)) from error

    def verify(self, *names: str) -> None:
        """Compare files with the checksums of the manifest, if available.

        Without ``names``, all files of the manifest are compared; of an unfinished run, those that
        no longer change. A :class:`DamagedRunError` names the damaged file.
        """
        manifest = self.manifest()
        if manifest is None:
            return
        if not names and not self.is_finished:
            names = tuple(name for name in START_FILES if name in manifest.files)
        try:
            verify_files(self.path, manifest, remedy=_RETRAIN, names=names or None)
        except RunError as error:
            raise DamagedRunError(str(error)) from error

    def verified_sha256(self, name: str) -> str:
        """Return the SHA-256 of a file, which must be that of the manifest, if available."""
        path = self / name
        try:
            checksum = sha256_of(path)
        except OSError as error:
            raise DamagedRunError(f"{path}: cannot be read ({_why(error)}); {_RETRAIN}") from error
        self._require_recorded(name, checksum, _RETRAIN)
        return checksum

    def _require_recorded(self, name: str, checksum: str, remedy: str) -> None:
        """Compare a checksum with the manifest; what a training still changes is not in it yet."""
        manifest = self.manifest()
        record = None if manifest is None else manifest.files.get(name)
        if record is not None and record.sha256 != checksum:
            problem = "is damaged: it does not have the checksum recorded in the manifest"
            raise DamagedRunError(f"{self / name}: {problem}; {remedy}")
        if record is None and manifest is not None and self.is_finished:
            problem = f"is not in {MANIFEST_FILE} next to it"
            raise DamagedRunError(f"{self / name}: {problem}; {_RETRAIN}")

    def known_fingerprint(self) -> str:
        """Return the fingerprint recorded in the manifest, or else that of the files."""
        manifest = self.manifest()
        return (manifest.fingerprint if manifest else "") or self.fingerprint()

    def fingerprint(self, files: Sequence[str] | None = None) -> str:
        """Return a hash that identifies the model: of the files that determine its numbers.

        ``files`` are those of a model that was adopted, besides the configuration.
        """
        names = [CONFIG_FILE, *(files or ())]
        if files is None:
            names += [VOCABULARY_FILE, WEIGHTS_FILE]
            names += [SUBWORDS_FILE] if (self / SUBWORDS_FILE).exists() else []
        try:
            checksums = {name: sha256_of(self / name) for name in names}
        except OSError as error:
            raise DamagedRunError(
                f"{error.filename}: cannot be read ({error.strerror}); {_RETRAIN}"
            ) from error
        return fingerprint(RUN_KIND, RUN_FORMAT, files=checksums)


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


# Cached, because an evaluation reads the same configurations many times.
_parsed_yaml = functools.lru_cache(maxsize=256)(parse_yaml)


def stored_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``config.yaml`` keeps of a configuration, with the number of the format.

    Keys that begin with ``_`` are needed only to compose configurations and are dropped.
    """
    content = _without_private(config)
    content.pop("format", None)
    return {"format": RUN_FORMAT, **content}


def _without_private(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    shown = {key: item for key, item in value.items() if not str(key).startswith("_")}
    return {key: _without_private(item) for key, item in shown.items()}


# ----------------------------------------------------------------------------
# Recognise the files that a run wrote, and remove them without touching others.


# In order of removal: without a result, a run is unfinished; without a configuration, not begun.
# The manifest is not included because it is replaced.
_FILES = (
    RESULT_FILE, CONFIG_FILE, WEIGHTS_FILE, METRICS_FILE, VERSIONS_FILE,
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


def epoch_rows(folder: RunFolder) -> list[dict[str, str]]:
    """Return the metrics of each epoch; none if there are no epochs or the file is unreadable."""
    try:
        with (folder / METRICS_FILE).open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except (OSError, ValueError, csv.Error):
        return []
