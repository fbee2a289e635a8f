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

Everybody who reads a run does so through :class:`RunFolder`; tables of runs and evaluations find
runs, and learn their states, through :func:`find_statuses`, each run once. Nothing here writes, and
no file in a folder can make the finding fail; :mod:`gardenpath.store.run_claim` writes run folders.
"""

from __future__ import annotations

import contextlib
import copy
import csv
import fcntl
import functools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from gardenpath.errors import DamagedRunError, RunError
from gardenpath.safe_text import parse_json, parse_yaml
from gardenpath.store.files import (
    digest,
    fingerprint,
    is_leftover,
    owner_of,
    owner_path,
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


def epoch_rows(folder: RunFolder) -> list[dict[str, str]]:
    """Return the metrics of each epoch; none if there are no epochs or the file is unreadable."""
    try:
        with (folder / METRICS_FILE).open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except (OSError, ValueError, csv.Error):
        return []


# ---- Why a training ended without a result

FailureKind = Literal["diverged", "error", "interrupted", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Failure:
    """The end of a training; ``message`` is one line, ``time`` is in ISO format.

    The kind of a failure whose file is damaged is unknown.
    """

    kind: FailureKind
    message: str
    step: int | None
    time: str

    def said_of(self, folder: RunFolder) -> str:
        """Return the message for a text that already names the folder."""
        return self.message.removeprefix(f"{folder.path}: ")


def read_failure(folder: RunFolder) -> Failure | None:
    """Return why the training ended; None if it did not fail."""
    try:
        content = parse_json((folder / FAILURE_FILE).read_text(encoding="utf-8"))
        step = content["step"]
        failure = Failure(
            kind=content["kind"],
            message=" ".join(str(content["message"]).split()),
            step=None if step is None else int(step),
            time=str(content["time"]),
        )
        if failure.kind not in get_args(FailureKind):
            raise ValueError(f"{failure.kind!r} is not a kind of failure")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        message = f"{FAILURE_FILE} cannot be read ({error})"
        return Failure(kind="unknown", message=message, step=None, time="")
    return failure


# ---- The state of a run

RunState = Literal["done", "running", "unfinished", "failed", "damaged", "copy", "stray"]

# States that are named but are not mistakes: the evaluation of the other runs is complete.
HARMLESS: frozenset[RunState] = frozenset({"running", "unfinished", "failed", "copy", "stray"})

# Families that are estimated in one pass, and cannot diverge.
_COUNTED = ("ngram", "unigram")


@dataclass(frozen=True, kw_only=True)
class RunStatus:
    """The state of a run folder.

    ``reason`` says why a run is not done, with the remedy. ``epoch`` is the epoch of the best
    weights so far, if they exist. ``is_diverged`` marks weights that must not be evaluated.
    ``original`` is the folder of which a copy is a copy.
    """

    folder: RunFolder
    state: RunState
    reason: str = ""
    epoch: int | None = None
    is_diverged: bool = False
    original: Path | None = None

    @property
    def is_partial(self) -> bool:
        """Whether the run has stopped and has weights that can be evaluated nevertheless."""
        is_stopped = self.state in ("unfinished", "failed") and not self.is_diverged
        return is_stopped and (self.folder / WEIGHTS_FILE).is_file()


def is_run_like(folder: Path) -> bool:
    """Whether a folder contains, or seems to contain, a run in any state."""
    run = RunFolder(folder)
    is_claimed = owner_path(run / LOCK_FILE).is_file()  # by a training that has not begun
    return run.is_marked or is_claimed or os.path.lexists(run / RESULT_FILE)


def run_status(folder: RunFolder) -> RunStatus:
    """Return the state of a run folder; no file in it can make this fail."""
    try:
        return _status(folder)
    except RunError as error:
        return RunStatus(folder=folder, state="damaged", reason=str(error))
    except OSError as error:
        reason = f"{error.filename or folder.path}: cannot be read ({error.strerror or error})"
        return RunStatus(folder=folder, state="damaged", reason=reason)


def _status(folder: RunFolder) -> RunStatus:
    path = folder.path
    if owner := _trainer(folder):
        reason = f"is {'still training' if folder.is_begun else 'being prepared'} ({owner})"
        return RunStatus(folder=folder, state="running", reason=f"{path}: {reason}")
    if folder.is_begun and folder.is_finished:
        if problem := divergence(folder):
            return RunStatus(folder=folder, state="failed", reason=problem, is_diverged=True)
        return RunStatus(folder=folder, state="done")
    if folder.is_begun:
        return _unfinished(folder)
    if folder.is_marked or not folder.is_finished:
        reason = f"{path}: no run was begun here, or {CONFIG_FILE} is lost"
        return RunStatus(folder=folder, state="unfinished", reason=reason)
    reason = f"{path}: not a run folder: it has a {RESULT_FILE} but no {CONFIG_FILE}"
    return RunStatus(folder=folder, state="stray", reason=reason)


def _unfinished(folder: RunFolder) -> RunStatus:
    folder.verify()
    folder.config()
    failure = read_failure(folder)
    epoch = best_epoch(folder)
    if failure is None or failure.kind == "interrupted":
        has_weights = (folder / WEIGHTS_FILE).is_file()
        so_far = "" if has_weights else "; it has no weights yet"
        reason = (
            f"{folder.path}: the run is not finished{so_far}; continue it with 'python train.py … "
            "existing=resume'" + ", or use unfinished=include" * has_weights
        )
        return RunStatus(folder=folder, state="unfinished", reason=reason, epoch=epoch)
    return RunStatus(
        folder=folder,
        state="failed",
        reason=f"{folder.path}: the training failed: {failure.said_of(folder)}",
        epoch=epoch,
        # Weights whose failure is not known are not evaluated either.
        is_diverged=failure.kind in ("diverged", "unknown"),
    )


def best_epoch(folder: RunFolder) -> int | None:
    """Return the epoch with the lowest validation loss, whose weights are kept; None if unknown."""
    try:
        losses = {int(row["epoch"]): float(row["valid/loss"]) for row in epoch_rows(folder)}
    except (ValueError, KeyError, TypeError):
        return None
    finite = {epoch: loss for epoch, loss in losses.items() if math.isfinite(loss)}
    return min(finite, key=finite.__getitem__, default=None)


def divergence(folder: RunFolder) -> str | None:
    """Return why the weights of a finished run are of no use; None if they are."""
    result, model = folder.result(), folder.config().get("model")
    if isinstance(model, Mapping) and model.get("family") in _COUNTED:
        return None
    for split, numbers in result.items():
        for name, value in numbers.items() if isinstance(numbers, Mapping) else ():
            if name.endswith("loss") and isinstance(value, float) and not math.isfinite(value):
                return (
                    f"{folder.path}: the training diverged: the {split} {name} is {value}; train "
                    "again with a lower learning rate and existing=overwrite"
                )
    return None


def _trainer(folder: RunFolder) -> str | None:
    """Return the process that trains in a folder; None if there is none.

    The record beside the lock remains if the process was killed; then the lock itself decides. It
    is tried only in this case, because a training that begins at this moment would be refused.
    """
    owner = owner_of(folder / LOCK_FILE)
    if owner is None:
        return None
    try:
        handle = os.open(folder / LOCK_FILE, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:  # held by the training, or this file system has no such locks
        return str(owner)
    finally:
        os.close(handle)
    return None


def require_whole(folder: RunFolder) -> None:
    """Compare the files of a finished run with its checksums."""
    folder.verify()
    if not (folder / WEIGHTS_FILE).is_file() and not folder.is_adopted:
        raise DamagedRunError(
            f"{folder.path / WEIGHTS_FILE}: is missing; copy the run folder again, or train again"
        )


# ---- Find runs at or below a folder, with their states

# Folders within a run folder that contain no runs.
_INNER = ("checkpoints", "wandb")


def find_statuses(*roots: Path, partial: bool = False) -> list[RunStatus]:
    """Return all runs at or below folders, in any state, sorted by path.

    Links are followed, but each folder is visited once: under its own path if that is below the
    roots, too. Copies of a finished run have the state ``copy``; the first whole one counts. With
    ``partial``, unfinished runs that have weights are compared, too.
    """
    by_place: dict[str, RunStatus] = {}
    for root in roots:
        for status in _below(root):
            by_place.setdefault(real_place(status.folder.path), status)
    ordered = sorted(by_place.values(), key=lambda status: status.folder.path)
    return _with_copies_marked(ordered, partial=partial)


def _below(root: Path) -> Iterator[RunStatus]:
    visited: set[str] = set()
    folders, links = [root], list[Path]()
    # Links come last, so that a folder is found under its own path.
    while folders or links:
        folder = folders.pop() if folders else links.pop(0)
        if (place := real_place(folder)) in visited:
            continue
        visited.add(place)
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            is_run = is_run_like(folder)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            reason = f"{folder}: cannot be read ({error.strerror or error})"
            yield RunStatus(folder=RunFolder(folder), state="damaged", reason=reason)
            continue
        if is_run:
            yield run_status(RunFolder(folder))
        for entry in entries:
            path = folder / entry.name
            if is_leftover(path) or (is_run and entry.name in _INNER):
                continue
            is_folder = False
            with contextlib.suppress(OSError):  # such as no permission
                is_folder = path.is_dir()
            if not entry.is_symlink():
                folders += [path] if is_folder else []
            elif is_folder:
                links.append(path)
            elif not is_run and not path.exists():
                reason = f"{path}: is a link to {path.readlink()}, which cannot be reached"
                yield RunStatus(folder=RunFolder(path), state="stray", reason=reason)


def real_place(path: Path) -> str:
    """Return the path without links; unlike ``Path.resolve``, also for links in a circle."""
    return os.path.realpath(path)


def _with_copies_marked(statuses: Sequence[RunStatus], *, partial: bool) -> list[RunStatus]:
    """Mark runs with the files of an earlier one; the first whole one is the original."""
    marked = list(statuses)
    groups: dict[str, list[int]] = {}
    for place, status in enumerate(statuses):
        if status.state == "done" or (partial and status.is_partial):
            try:
                groups.setdefault(status.folder.known_fingerprint(), []).append(place)
            except RunError as error:
                marked[place] = replace(status, state="damaged", reason=str(error))
    for places in groups.values():
        original: Path | None = None
        for place in places if len(places) > 1 else ():
            status = statuses[place]
            path = status.folder.path
            try:
                require_whole(status.folder)
            except RunError as error:
                marked[place] = replace(status, state="damaged", reason=str(error))
                continue
            if original is not None:
                reason = f"{path}: is a copy of {original}; it is counted once"
                marked[place] = replace(status, state="copy", reason=reason, original=original)
            original = original or path
    return marked
