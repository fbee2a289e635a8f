"""Why a training ended without a result: ``failure.json`` in its run folder.

A killed training leaves none. The file is removed when the training is started again.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

import yaml

from gardenpath.errors import DivergedError, RunError, TrainingStoppedError, in_one_line
from gardenpath.safe_text import parse_json
from gardenpath.store.files import (
    flush_folder,
    flush_tree,
    locked,
    owner_path,
    remove_leftovers,
    sha256_of,
    whole_file,
    write_json,
    write_text,
)
from gardenpath.store.manifest import MANIFEST_FILE, describe_folder, record_of, write_manifest
from gardenpath.store.run_folder import (
    CONFIG_FILE,
    MARKER_FILE,
    METRICS_FILE,
    RESULT_FILE,
    RUN_FORMAT,
    RUN_KIND,
    SUBWORDS_FILE,
    VERSIONS_FILE,
    VOCABULARY_FILE,
    WEIGHTS_FILE,
    RunFolder,
    epoch_rows,
    foreign_names,
    remove_run_files,
    require_only_this_run,
    upgraded,
)
from gardenpath.util import versions

FailureKind = Literal["diverged", "error", "interrupted", "unknown"]

_LONGEST_MESSAGE = 1000


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


def write_failure(
    folder: RunFolder, kind: FailureKind, message: str, step: int | None = None
) -> None:
    """Write why the training of a run folder ended."""
    line = " ".join(message.split())[:_LONGEST_MESSAGE]
    time = datetime.now(UTC).isoformat(timespec="seconds")
    failure = Failure(kind=kind, message=line, step=step, time=time)
    write_json(folder.failure_path, asdict(failure))


def read_failure(folder: RunFolder) -> Failure | None:
    """Return why the training ended; None if it did not fail."""
    path = folder.failure_path
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
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
        message = f"{path.name} cannot be read ({error})"
        return Failure(kind="unknown", message=message, step=None, time="")
    return failure


def clear_failure(folder: RunFolder) -> None:
    """Remove the failure of an earlier attempt."""
    folder.failure_path.unlink(missing_ok=True)


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


# ----------------------------------------------------------------------------
# Claim and write run folders: one training at a time, and only over the files of a run.
#
# A training claims its run folder before it prepares anything, begins the run when everything is
# ready, and finishes it with the final results::
#
#     with claim(folder, config, existing="refuse") as claimed:
#         if claimed.is_done:
#             return
#         ...                                   # prepare the corpus, build the model
#         claimed.begin(config, write_words)    # from here on, the folder contains the new run
#         ...                                   # train; train.log is opened after begin
#         claimed.finish(result)


# Packages that the numbers of a model may depend on.
_PACKAGES = ("torch", "pytorch-lightning", "numpy", "sentencepiece")

# Files whose checksums are in the manifest of a finished run.
_VERIFIED = (
    CONFIG_FILE, VOCABULARY_FILE, SUBWORDS_FILE, WEIGHTS_FILE, METRICS_FILE, VERSIONS_FILE,
)  # fmt: skip

# What to do with a run that is in the folder already: leave it alone if it is finished and continue
# it if not (skip), do the same but continue a finished run to more epochs (resume), replace it
# (overwrite), or raise an error (refuse).
Existing = Literal["skip", "resume", "overwrite", "refuse"]

# Settings that may change when a run is resumed, because they do not affect its result. Older
# versions stored resume and overwrite, which existing= has replaced.
_FREE_TO_CHANGE = ("existing", "resume", "overwrite", "run_dir", "paths", "logger",
                   "trainer.progress", "trainer.checkpoint_steps")  # fmt: skip
# The same, if the run is unfinished or can be continued to more epochs.
_EPOCHS = "trainer.max_epochs"
_INSTEAD = "replace it with existing=overwrite, or choose another run_dir="
# Settings that older runs do not have, with the value that they would have had.
_ADDED_LATER = {"model.network.output": "full"}


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
        folder = self.folder
        temporary = Path(tempfile.mkdtemp(dir=folder.path, prefix=".begin.", suffix=".part"))
        try:
            write_words(temporary)
            _write_start(temporary, config, corpus)
            flush_tree(temporary)
            if self.continues:
                _require_same_vocabulary(folder, temporary / VOCABULARY_FILE)
                _require_same_corpus(folder, corpus)
                # A finished run that is continued is unfinished, and its files change from here on.
                for path in (folder.result_path, folder.path / MANIFEST_FILE):
                    path.unlink(missing_ok=True)
            elif folder.is_marked:
                if self.existing == "overwrite":
                    require_only_this_run(folder.path)
                (temporary / MARKER_FILE).replace(folder.marker_path)
                remove_run_files(folder.path)
            # The configuration comes last, because it marks the run as begun.
            for path in sorted(temporary.iterdir(), key=lambda one: one.name == CONFIG_FILE):
                path.replace(folder.path / path.name)
            clear_failure(folder)
            flush_folder(folder.path)
            self.has_begun = True
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    def finish(self, result: Mapping[str, Any], files: Sequence[str] | None = None) -> None:
        """Write the manifest with checksums and, last, the final results; the run is finished.

        ``files`` are those of a model that was adopted; None stands for those of a training.
        """
        folder = self.folder
        with whole_file(folder.result_path) as temporary:
            text = json.dumps(dict(result), ensure_ascii=False, indent=1) + "\n"
            temporary.write_text(text, encoding="utf-8")
            manifest = describe_folder(
                folder.path,
                kind=RUN_KIND,
                format=RUN_FORMAT,
                fingerprint=folder.fingerprint(files),
                packages=_PACKAGES,
                names=[
                    name
                    for name in dict.fromkeys([*_VERIFIED, *(files or ())])
                    if (folder.path / name).is_file()
                ],
            )
            recorded = {**manifest.files, RESULT_FILE: record_of(temporary)}
            write_manifest(folder.path, replace(manifest, files=recorded))


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
    created = [one for one in (path, *path.parents) if not one.exists()]
    remedy = "wait until it ends, stop it, or choose another run_dir="
    with locked(folder.lock_path, what=f"the run folder {path}", remedy=remedy):
        try:
            # Checked again, because another training may have ended before the lock was acquired.
            extends = _require_free(folder, config, existing)
            for place in (path, folder.checkpoint_path.parent, folder.diverged_path):
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
        _require_empty(path)
    elif existing == "overwrite":
        require_only_this_run(path)
    elif folder.is_begun and existing == "refuse":
        raise RunError(f"{path} contains {_found_there(folder, upgraded(config))}")
    elif folder.is_begun:
        return _require_same_run(folder, upgraded(config), existing)
    return False


def _found_there(folder: RunFolder, config: dict[str, Any]) -> str:
    """Say what run is in a folder, in which settings it differs, and what can be done."""
    instead = _INSTEAD
    state = "a finished run" if folder.is_finished else "an unfinished run"
    before = folder.config()
    different = _differences(before, config)
    named = f"{state}{_in_which(different, before, config)}"
    if different == [_EPOCHS] and folder.is_finished:
        return f"{named}; {_about_epochs(before, config)}{instead}"
    if different and (folder.is_finished or different != [_EPOCHS]):
        return f"{named}; {instead}"
    if folder.is_finished:
        return f"{named} with these settings; leave it as it is (existing=skip), {instead}"
    return f"{named}; continue it with existing=resume, {instead}"


def _in_which(different: Sequence[str], before: Any, now: Any) -> str:
    """Name the settings that differ, with the values of the run and those of now."""
    if not different:
        return ""
    shown = [f"{one} ({_value(before, one)}, now {_value(now, one)})" for one in different[:8]]
    more = f" and {len(different) - 8} more" if len(different) > 8 else ""
    return f" with other settings: {', '.join(shown)}{more}"


def _value(config: Any, name: str) -> str:
    for key in name.split("."):
        config = config.get(key) if isinstance(config, dict) else None
    return str(_ADDED_LATER.get(name, "null") if config is None else config)


def _require_same_run(folder: RunFolder, config: dict[str, Any], existing: Existing) -> bool:
    """Raise an error if the run has other settings; return whether a finished one is continued."""
    before = folder.config()
    different = _differences(before, config)
    has_other_epochs = _EPOCHS in different
    if has_other_epochs and (not folder.is_finished or _may_extend(before, config, existing)):
        different.remove(_EPOCHS)
    if not different:
        return has_other_epochs and folder.is_finished and not _has_stopped_early(folder, before)
    about = _about_epochs(before, config) if different == [_EPOCHS] else ""
    state = "a finished run" if folder.is_finished else "an unfinished run"
    raise RunError(
        f"{folder.path} contains {state}{_in_which(different, before, config)}; {about}{_INSTEAD}"
    )


def _about_epochs(before: dict[str, Any], now: dict[str, Any]) -> str:
    """Say whether a finished run can be trained for other epochs."""
    if _may_extend(before, now, "resume"):
        return "train it for more epochs with existing=resume, "
    if _is_cosine(now):
        return (
            "it cannot be continued, because schedule=cosine depends on the number of epochs from "
            "the first step on: "
        )
    return ""


def _may_extend(before: dict[str, Any], now: dict[str, Any], existing: Existing) -> bool:
    """Whether a finished run may be continued: only to more epochs, with a constant or plateau
    schedule, because schedule=cosine depends on the number of epochs from the first step on."""
    is_more = now["trainer"]["max_epochs"] > before["trainer"]["max_epochs"]
    return existing == "resume" and is_more and not _is_cosine(now)


def _is_cosine(config: dict[str, Any]) -> bool:
    return bool(config.get("model", {}).get("optimiser", {}).get("schedule") == "cosine")


def _has_stopped_early(folder: RunFolder, before: dict[str, Any]) -> bool:
    """Whether a run ended before its last epoch, so that a higher limit changes nothing."""
    # An n-gram model has no epochs at all.
    return bool(len(epoch_rows(folder)) < before["trainer"]["max_epochs"])


def _require_empty(path: Path) -> None:
    if foreign := foreign_names(path):
        more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
        raise RunError(
            f"{path}: is not a run folder, and not empty ({', '.join(foreign[:3])}{more}); choose "
            "another run_dir=, or move these files"
        )


def _remove_empty(folder: RunFolder, created: list[Path]) -> None:
    """Remove a folder that was created only for its lock, and its newly created parents."""
    path, lock = folder.path, folder.lock_path
    own = {lock, owner_path(lock)}
    if path not in created or not path.is_dir() or set(path.iterdir()) - own:
        return
    for file in own:
        file.unlink(missing_ok=True)
    try:
        for one in created:
            one.rmdir()
    except OSError:
        return  # another process has written there in the meantime


def _write_start(folder: Path, config: Mapping[str, Any], corpus: str | None) -> None:
    text = yaml.safe_dump(upgraded(config), allow_unicode=True, sort_keys=False)
    write_text(folder / VERSIONS_FILE, versions(*_PACKAGES) + "\n")
    write_text(folder / CONFIG_FILE, text)
    created = datetime.now(UTC).isoformat(timespec="seconds")
    # An unfinished run has no manifest: its marker has the checksums of what does not change.
    names = (CONFIG_FILE, VOCABULARY_FILE, SUBWORDS_FILE)
    files = {name: sha256_of(folder / name) for name in names if (folder / name).is_file()}
    marker = {"kind": RUN_KIND, "format": RUN_FORMAT, "created": created, "files": files}
    marker |= {} if corpus is None else {"corpus": corpus}
    write_json(folder / MARKER_FILE, marker)


def _require_same_vocabulary(folder: RunFolder, new: Path) -> None:
    try:
        before = parse_json(folder.vocabulary_path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(
            f"{folder.vocabulary_path}: cannot be read ({error}); copy the run folder again, or "
            "start over with existing=overwrite"
        ) from error
    if before != parse_json(new.read_text(encoding="utf-8")):
        raise RunError(
            f"{folder.path}: the vocabulary of the corpus has changed since the run began; "
            "restore the corpus, or start over with existing=overwrite"
        )


def _require_same_corpus(folder: RunFolder, corpus: str | None) -> None:
    """Raise an error if the corpus is not that of the run; older versions did not record it."""
    try:
        before = parse_json(folder.marker_path.read_text(encoding="utf-8")).get("corpus")
    except (OSError, ValueError, AttributeError):
        return  # the marker is verified elsewhere
    if before is not None and corpus is not None and before != corpus:
        raise RunError(
            f"{folder.path}: the corpus, or the way it is prepared, has changed since the run "
            "began; restore the corpus, or start over with existing=overwrite"
        )


def _differences(before: Any, now: Any, name: str = "") -> list[str]:
    """Return the names of settings that differ."""
    if name in _FREE_TO_CHANGE:
        return []
    if not (isinstance(before, dict) and isinstance(now, dict)):
        known = _ADDED_LATER.get(name) if before is None else before
        return [] if known == now else [name]
    keys = list(dict.fromkeys([*before, *now]))
    return [
        different
        for key in keys
        for different in _differences(
            before.get(key), now.get(key), f"{name}.{key}" if name else str(key)
        )
    ]
