"""Claim and write run folders: one training at a time, and only over the files of a run.

A training (:mod:`gardenpath.runs.training`, and the adoption of models) claims its run folder
before it prepares anything, begins the run when everything is ready, and finishes it with the final
results; nobody else writes run folders::

    with claim(folder, config, existing="refuse") as claimed:
        if claimed.is_done:
            return
        ...                                   # prepare the corpus, build the model
        claimed.begin(config, write_words)    # from here on, the folder contains the new run
        ...                                   # train; train.log is opened after begin
        claimed.finish(result)

Why a training ended without a result is kept in ``failure.json``; a killed training leaves none.
Files that no run wrote are never changed.
"""

from __future__ import annotations

import contextlib
import fnmatch
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import yaml

from gardenpath.errors import DivergedError, RunError, TrainingStoppedError, in_one_line
from gardenpath.safe_text import parse_json
from gardenpath.store.files import (
    flush_folder,
    flush_tree,
    is_leftover,
    locked,
    owner_path,
    remove_leftovers,
    remove_tree,
    whole_file,
    write_json,
    write_text,
)
from gardenpath.store.manifest import Manifest, describe_folder, record_of, write_manifest
from gardenpath.store.run_folder import (
    CHECKPOINT_FILE,
    CONFIG_FILE,
    DIVERGED_FOLDER,
    FAILURE_FILE,
    LOCK_FILE,
    LOG_FILE,
    METRICS_FILE,
    RESULT_FILE,
    RUN_FORMAT,
    RUN_KIND,
    START_FILES,
    SUBWORDS_FILE,
    VERSIONS_FILE,
    VOCABULARY_FILE,
    WEIGHTS_FILE,
    Failure,
    FailureKind,
    RunFolder,
    epoch_rows,
    stored_config,
)
from gardenpath.util import versions

_LONGEST_MESSAGE = 1000


def write_failure(
    folder: RunFolder, kind: FailureKind, message: str, step: int | None = None
) -> None:
    """Write why the training of a run folder ended."""
    line = " ".join(message.split())[:_LONGEST_MESSAGE]
    failure = Failure(kind=kind, message=line, step=step, time=_now())
    write_json(folder / FAILURE_FILE, asdict(failure))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextmanager
def failures_recorded(claimed: ClaimedRun) -> Iterator[None]:
    """Record the exception that ends the block, if the run has begun and is not finished."""
    try:
        yield
    except BaseException as error:
        if claimed.has_begun and not claimed.folder.is_finished:
            # If the disk is full or the folder is gone, the error itself is what matters.
            with contextlib.suppress(OSError):
                write_failure(claimed.folder, *_described(error))
        raise


def _described(error: BaseException) -> tuple[FailureKind, str, int | None]:
    if isinstance(error, DivergedError):
        return "diverged", str(error), error.step
    if isinstance(error, TrainingStoppedError):
        return "interrupted", str(error), None
    if isinstance(error, Exception):
        return "error", in_one_line(error) or f"{type(error).__name__}: {error}", None
    return "interrupted", f"{type(error).__name__} {error}", None


# ---- Claim, begin and finish

# Packages that the numbers of a model may depend on.
_PACKAGES = ("torch", "pytorch-lightning", "numpy", "sentencepiece")

# Files whose checksums are in the manifest of a finished run.
_VERIFIED = (*START_FILES, WEIGHTS_FILE, METRICS_FILE, VERSIONS_FILE)

# What to do with a run that is in the folder already: leave it alone if it is finished and continue
# it if not (skip), do the same but continue a finished run to more epochs (resume), replace it
# (overwrite), or raise an error (refuse).
Existing = Literal["skip", "resume", "overwrite", "refuse"]

# Settings that may change when a run is resumed, because they do not affect its result.
_FREE_TO_CHANGE = (
    "existing", "run_dir", "paths", "logger", "trainer.progress", "trainer.checkpoint_steps",
)  # fmt: skip
# The same, if the run is unfinished or can be continued to more epochs.
_EPOCHS = "trainer.max_epochs"
_INSTEAD = "replace it with existing=overwrite, or choose another run_dir="
_MOST_SHOWN = 8


@dataclass(kw_only=True)
class ClaimedRun:
    """The right to write a run folder, valid within :func:`claim`."""

    folder: RunFolder
    existing: Existing
    # Whether a finished run is continued, because it may now train for more epochs.
    extends: bool = False
    # Whether the folder contains the run of this claim, and no other.
    has_begun: bool = False

    @property
    def may_continue(self) -> bool:
        """Whether a run that is in the folder is continued, not replaced."""
        return self.existing in ("skip", "resume")

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to do, because the run is already finished."""
        return self.may_continue and self.folder.is_finished and not self.extends

    @property
    def continues(self) -> bool:
        """Whether an earlier run is resumed."""
        return self.may_continue and self.folder.is_begun

    def begin(
        self,
        config: Mapping[str, Any],
        write_words: Callable[[Path], None],
        *,
        corpus: str | None = None,
    ) -> None:
        """Write everything known before training; only now are files of an earlier run removed.

        ``write_words`` writes ``vocabulary.json`` (and ``subwords.model``) to the given folder, and
        ``corpus`` is the key of the prepared corpus. If a run continues, both must be those with
        which it began. If ``write_words`` fails, the run folder is unchanged. If the process is
        killed at any point, the folder either contains one complete run or is marked as a run
        folder without a run.
        """
        path = self.folder.path
        temporary = Path(tempfile.mkdtemp(dir=path, prefix=".begin.", suffix=".part"))
        try:
            write_words(temporary)
            text = yaml.safe_dump(stored_config(config), allow_unicode=True, sort_keys=False)
            write_text(temporary / VERSIONS_FILE, versions(*_PACKAGES) + "\n")
            write_text(temporary / CONFIG_FILE, text)
            flush_tree(temporary)
            about = {"begun": _now()} | ({} if corpus is None else {"corpus": corpus})
            manifest = _described_run(temporary, START_FILES, about=about)
            if self.continues:
                _require_same_words(self.folder, temporary / VOCABULARY_FILE, corpus)
                (path / RESULT_FILE).unlink(missing_ok=True)
            elif self.folder.is_marked:
                if self.existing == "overwrite":
                    _require_only_this_run(path)
                _remove_run_files(path)
            # While files are replaced, none of them is listed, so that no checksum is ever wrong.
            write_manifest(path, replace(manifest, files={}))
            # The configuration comes last, because it marks the run as begun.
            for new in sorted(temporary.iterdir(), key=lambda file: file.name == CONFIG_FILE):
                new.replace(path / new.name)
            write_manifest(path, manifest)
            (path / FAILURE_FILE).unlink(missing_ok=True)
            flush_folder(path)
            self.has_begun = True
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    def finish(self, result: Mapping[str, Any], files: Sequence[str] | None = None) -> None:
        """Write the manifest with checksums and, last, the final results; the run is finished.

        ``files`` are those of a model that was adopted; None stands for those of a training.
        """
        folder = self.folder
        before = folder.manifest()
        with whole_file(folder / RESULT_FILE) as temporary:
            text = json.dumps(dict(result), ensure_ascii=False, indent=1) + "\n"
            temporary.write_text(text, encoding="utf-8")
            manifest = _described_run(
                folder.path,
                (*_VERIFIED, *(files or ())),
                about=before.about if before else {},
                fingerprint=folder.fingerprint(files),
            )
            recorded = {**manifest.files, RESULT_FILE: record_of(temporary)}
            write_manifest(folder.path, replace(manifest, files=recorded))


def _described_run(
    path: Path, names: Sequence[str], *, about: Mapping[str, Any], fingerprint: str = ""
) -> Manifest:
    """Describe the files of a run that are there; its fingerprint is known at the end."""
    return describe_folder(
        path,
        kind=RUN_KIND,
        format=RUN_FORMAT,
        fingerprint=fingerprint,
        packages=_PACKAGES,
        about=about,
        names=[name for name in dict.fromkeys(names) if (path / name).is_file()],
    )


@contextmanager
def claim(
    folder: RunFolder, config: Mapping[str, Any], *, existing: Existing = "refuse"
) -> Iterator[ClaimedRun]:
    """Hold a run folder, if a run with this configuration may be written there.

    ``existing`` says what to do with a run that is there already.

    Nothing of another run is lost or mixed in, and foreign files are never changed: a
    :class:`RunError` names the process that is already training there, the existing run, the
    settings that differ when resuming, or the files that no run wrote. A folder that was created
    for the claim is removed again if no run was begun.
    """
    path = folder.path
    _require_free(folder, config, existing)
    created = [place for place in (path, *path.parents) if not place.exists()]
    remedy = "wait until it ends, stop it, or choose another run_dir="
    with locked(folder / LOCK_FILE, what=f"the run folder {path}", remedy=remedy):
        try:
            # Checked again, because another training may have ended before the lock was acquired.
            extends = _require_free(folder, config, existing)
            for place in (path, (folder / CHECKPOINT_FILE).parent, folder / DIVERGED_FOLDER):
                remove_leftovers(place)
            claimed = ClaimedRun(folder=folder, existing=existing, extends=extends)
            claimed.has_begun = claimed.continues
            yield claimed
        finally:
            _remove_empty(folder, created)


def _require_free(folder: RunFolder, config: Mapping[str, Any], existing: Existing) -> bool:
    """Raise an error unless the run may be written; return whether a finished one is continued."""
    path = folder.path
    if path.exists() and not path.is_dir():
        raise RunError(f"{path}: is a file; a run needs a folder: choose another run_dir=")
    if not folder.is_marked:
        if foreign := _foreign_names(path):
            more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
            raise RunError(
                f"{path}: is not a run folder, and not empty ({', '.join(foreign[:3])}{more}); "
                "choose another run_dir=, or move these files"
            )
    elif existing == "overwrite":
        _require_only_this_run(path)
    elif folder.is_begun:
        return _may_go_on(folder, stored_config(config), existing)
    return False


def _may_go_on(folder: RunFolder, config: dict[str, Any], existing: Existing) -> bool:
    """Raise an error if the run is refused; return whether a finished one is continued.

    The message says what run is there, in which settings it differs, and what can be done.
    """
    before = folder.config()
    is_finished = folder.is_finished
    different = _differences(before, config)
    may_extend = is_cosine = False
    if _EPOCHS in different:
        # Cosine schedules depend on the number of epochs from the first step on.
        is_cosine = config.get("model", {}).get("optimiser", {}).get("schedule") == "cosine"
        is_longer = config["trainer"]["max_epochs"] > before["trainer"]["max_epochs"]
        may_extend = is_longer and not is_cosine
    is_free = not is_finished or (existing == "resume" and may_extend)
    left = [name for name in different if name != _EPOCHS or not is_free]
    if existing != "refuse" and not left:
        if not (different and is_finished):
            return False
        # A run that stopped before its last epoch gains nothing from a higher limit. An n-gram
        # model has no epochs at all.
        return len(epoch_rows(folder)) >= int(before["trainer"]["max_epochs"])
    remedy = _INSTEAD
    if different == [_EPOCHS] and is_finished:
        if may_extend:
            remedy = f"train it for more epochs with existing=resume, {_INSTEAD}"
        elif is_cosine:
            remedy = (
                "it cannot be continued, because schedule=cosine depends on the number of epochs "
                f"from the first step on: {_INSTEAD}"
            )
    elif not different and is_finished:
        remedy = f"leave it as it is (existing=skip), {_INSTEAD}"
    elif existing == "refuse" and not left:
        remedy = f"continue it with existing=resume, {_INSTEAD}"
    state = "a finished run" if is_finished else "an unfinished run"
    with_which = " with these settings" if not different and is_finished else ""
    if different:
        shown = ", ".join(
            f"{name} ({_value(before, name)}, now {_value(config, name)})"
            for name in different[:_MOST_SHOWN]
        )
        more = f" and {len(different) - _MOST_SHOWN} more" * (len(different) > _MOST_SHOWN)
        with_which = f" with other settings: {shown}{more}"
    raise RunError(f"{folder.path} contains {state}{with_which}; {remedy}")


def _value(config: Any, name: str) -> str:
    for key in name.split("."):
        config = config.get(key) if isinstance(config, dict) else None
    return "null" if config is None else str(config)


def _remove_empty(folder: RunFolder, created: list[Path]) -> None:
    """Remove a folder that was created only for its lock, and its newly created parents."""
    path, lock = folder.path, folder / LOCK_FILE
    own = {lock, owner_path(lock)}
    if path not in created or not path.is_dir() or set(path.iterdir()) - own:
        return
    for file in own:
        file.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # another process has written there in the meantime
        for place in created:
            place.rmdir()


def _require_same_words(folder: RunFolder, new: Path, corpus: str | None) -> None:
    """Raise an error if the vocabulary or the corpus is not that with which a run began."""
    path = folder / VOCABULARY_FILE
    try:
        before = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(
            f"{path}: cannot be read ({error}); copy the run folder again, or start over with "
            "existing=overwrite"
        ) from error
    manifest = folder.manifest()
    known = manifest.about.get("corpus") if manifest else None
    what = ""
    if before != parse_json(new.read_text(encoding="utf-8")):
        what = "the vocabulary of the corpus has changed"
    elif known is not None and corpus is not None and known != corpus:
        what = "the corpus, or the way it is prepared, has changed"
    if what:
        raise RunError(
            f"{folder.path}: {what} since the run began; restore the corpus, or start over with "
            "existing=overwrite"
        )


def _differences(before: Any, now: Any, name: str = "") -> list[str]:
    """Return the names of settings that differ."""
    if name in _FREE_TO_CHANGE:
        return []
    if not (isinstance(before, dict) and isinstance(now, dict)):
        return [] if before == now else [name]
    return [
        different
        for key in dict.fromkeys([*before, *now])
        for different in _differences(
            before.get(key), now.get(key), f"{name}.{key}" if name else str(key)
        )
    ]


# ---- Recognise the files that a run wrote, and remove them without touching others

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


def _foreign_names(folder: Path) -> list[str]:
    """List the files of a folder without a run, except those of a training that has not begun."""
    if not folder.is_dir():
        return []
    own = {LOCK_FILE, owner_path(folder / LOCK_FILE).name, LOG_FILE}
    return [
        path.name
        for path in sorted(folder.iterdir())
        if path.name not in own and not is_leftover(path)
    ]


def _require_only_this_run(folder: Path) -> None:
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


def _remove_run_files(folder: Path) -> None:
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
