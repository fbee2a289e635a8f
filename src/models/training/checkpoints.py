"""Resume checkpoints, and what stops a training: signals, and losses that are not finite.

Callbacks of Lightning, put together by :mod:`trainer`. A checkpoint is the zip archive of
:func:`torch.save`, whose archive comment is the SHA-256 of the archive without the comment: it
remains readable by :func:`torch.load`, and the checksum is replaced together with the content in
one rename. (torch itself does not compare the checksums of the archive: most flipped bits would
only change weights.)
"""

from __future__ import annotations

import hashlib
import logging
import math
import os
import signal
import struct
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback, Checkpoint
from pytorch_lightning.plugins.io import CheckpointIO
from safetensors.torch import save_file
from torch import Tensor

from gardenpath.data.arrays import Ints
from gardenpath.errors import DivergedError, RunError, TrainingStoppedError
from gardenpath.models.weights import LOWER_RATE, has_finite_weights
from gardenpath.store.files import sha256_of, whole_file, write_text
from gardenpath.store.run_folder import CHECKPOINT_FILE, DIVERGED_FOLDER, RunFolder

_SEAL = b"gardenpath sha256 "
_COMMENT = len(_SEAL) + 64

# A zip archive ends with this record; its last two bytes are the length of the comment.
_END = b"PK\x05\x06"
_END_SIZE = 22
_NO_COMMENT = b"\0\0"

# What Lightning needs to continue.
_PARTS = ("state_dict", "loops", "callbacks", "optimizer_states", "lr_schedulers")

_REMEDY = "delete it to start over, or restore it from a copy"


class WholeCheckpoints(CheckpointIO):
    """Lets Lightning write and read checkpoints with a checksum; the old one stays until then."""

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | os.PathLike[str], storage_options: Any = None
    ) -> None:
        try:
            with whole_file(Path(path)) as temporary:
                with temporary.open("wb") as file:
                    torch.save(checkpoint, file)
                _seal(temporary)
        except (OSError, RuntimeError) as error:  # torch raises RuntimeError if a disk is full
            reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
            raise RunError(
                f"{path}: the checkpoint cannot be written ({reason}); free some disk space and "
                "check that the folder is writable; the previous checkpoint is unchanged: continue "
                "with existing=resume"
            ) from error

    def load_checkpoint(self, path: str | os.PathLike[str], *_: Any, **__: Any) -> dict[str, Any]:
        return read_checkpoint(Path(path))

    def remove_checkpoint(self, path: str | os.PathLike[str]) -> None:
        Path(path).unlink(missing_ok=True)


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Read a checkpoint into memory; a :class:`RunError` names a damaged file and the remedy."""
    try:
        problem = _damage(path)
    except OSError as error:
        problem = f"cannot be read ({error.strerror})"
    if problem:
        raise RunError(f"{path}: the checkpoint {problem}; {_REMEDY}")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many exceptions for a damaged file
        raise RunError(
            f"{path}: the checkpoint cannot be read ({type(error).__name__}); {_REMEDY}"
        ) from error
    if not isinstance(content, dict) or not all(name in content for name in _PARTS):
        raise RunError(f"{path}: is not a checkpoint of a training; {_REMEDY}")
    return content


def _seal(path: Path) -> None:
    """Append the checksum of an archive to it."""
    checksum = sha256_of(path)
    with path.open("r+b") as file:
        file.seek(-_END_SIZE, os.SEEK_END)
        end = file.read()
        assert end.startswith(_END) and end.endswith(_NO_COMMENT)
        file.seek(-len(_NO_COMMENT), os.SEEK_END)
        file.write(struct.pack("<H", _COMMENT) + _SEAL + checksum.encode("ascii"))


def _damage(path: Path) -> str:
    """Describe what is wrong with a file; empty if nothing is.

    The checksum is that of the file as it was without its comment.
    """
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _END_SIZE - _COMMENT))
        tail = file.read()
        end, comment = tail[:_END_SIZE], tail[_END_SIZE:]
        expected = _END, struct.pack("<H", _COMMENT), _SEAL
        if (end[:4], end[-2:], comment[: len(_SEAL)]) != expected:
            return "is damaged: its end is missing"
        left = size - _COMMENT - len(_NO_COMMENT)
        digest = hashlib.sha256()
        file.seek(0)
        while left and (block := file.read(min(left, 1 << 20))):
            digest.update(block)
            left -= len(block)
        digest.update(_NO_COMMENT)
        if comment[len(_SEAL) :].decode("ascii", "replace") != digest.hexdigest():
            return "is damaged: it does not have the checksum with which it was written"
    return ""


# ----------------------------------------------------------------------------
# Stop a training whose loss is infinite or not a number, and keep the batch for inspection.
#
# On a CPU, each loss is checked before its gradient is computed. On a GPU this would let the
# device wait for Python in each step; there, the loss is copied to memory in the background and
# checked one step later, and before anything is written. Under mixed precision infinite gradients
# are normal (such a step is skipped), so that only losses and weights count.


_SHOWN = {"train": "training", "valid": "validation"}


@dataclass(frozen=True, kw_only=True)
class SeenLoss:
    """The loss of a batch, which may still be on its way from the GPU; steps count from 1."""

    value: Tensor
    copied: Any | None
    split: str
    step: int
    learning_rate: float
    batch: Any
    number: int

    def item(self) -> float:
        if self.copied is not None:
            self.copied.synchronize()
        return float(self.value)


class DivergenceGuard(Callback):
    """Looks at the loss of each batch."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._batch: tuple[Any, int] = (None, 0)
        self._last: SeenLoss | None = None

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: Any, batch: Any, batch_idx: int
    ) -> None:
        self._batch = (batch, batch_idx)

    def on_before_backward(self, trainer: pl.Trainer, pl_module: Any, loss: Tensor) -> None:
        self._look(trainer, loss, "train", *self._batch)

    def on_validation_start(self, trainer: pl.Trainer, *_: Any) -> None:
        self._check(trainer, self._last)

    def on_validation_end(self, trainer: pl.Trainer, *_: Any) -> None:
        self._check(trainer, self._last)

    def on_validation_batch_end(
        self, trainer: pl.Trainer, pl_module: Any, outputs: Any, batch: Any, batch_idx: int, *_: Any
    ) -> None:
        self._look(trainer, outputs, "valid", batch, batch_idx)

    def require_finite_so_far(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        self._check(trainer, self._last)
        if self._last is not None and not has_finite_weights(module):
            raise self._diverged(trainer, self._last, "weights are infinite or not numbers")

    def _look(self, trainer: pl.Trainer, loss: Tensor, split: str, batch: Any, number: int) -> None:
        before = self._last
        value, copied = _on_its_way(loss.detach())
        self._last = SeenLoss(
            value=value, copied=copied, split=split, step=trainer.global_step + (split == "train"),
            learning_rate=float(trainer.optimizers[0].param_groups[0]["lr"]), batch=batch,
            number=number,
        )  # fmt: skip
        self._check(trainer, self._last if copied is None else before)

    def _check(self, trainer: pl.Trainer, seen: SeenLoss | None) -> None:
        if seen is not None and not math.isfinite(loss := seen.item()):
            raise self._diverged(trainer, seen, f"{_SHOWN[seen.split]} loss is {loss}")

    def _diverged(self, trainer: pl.Trainer, seen: SeenLoss, problem: str) -> DivergedError:
        path = self._folder / DIVERGED_FOLDER / "batch.safetensors"
        # All processes of a training see the same loss; the first one writes its share.
        if trainer.is_global_zero:
            _save_batch(trainer, seen, path)
        return DivergedError(
            f"{self._folder.path}: training diverged at step {seen.step} (learning rate "
            f"{seen.learning_rate:g}): the {problem}; the batch is in {path}; {LOWER_RATE}",
            step=seen.step,
        )


def _on_its_way(loss: Tensor) -> tuple[Tensor, Any | None]:
    """Return the loss in memory, and the event of its arrival if it is not there yet."""
    if loss.device.type != "cuda":
        return loss, None
    value = torch.empty(loss.shape, dtype=loss.dtype, pin_memory=True)
    value.copy_(loss, non_blocking=True)
    copied = torch.cuda.Event()
    copied.record()
    return value, copied


def _save_batch(trainer: pl.Trainer, seen: SeenLoss, path: Path) -> None:
    """Write the tensors of a batch with the numbers of its sentences, and their text beside it."""
    loader: Any = trainer.train_dataloader if seen.split == "train" else trainer.val_dataloaders
    numbers: Ints = loader.sentences_of(seen.number)
    tensors = {**_tensors(seen.batch), "sentence_numbers": torch.tensor(numbers.tolist())}
    about = {
        "split": seen.split,
        "epoch": str(trainer.current_epoch),
        "step": str(seen.step),
        "learning_rate": repr(seen.learning_rate),
        "loss": str(seen.item()),
    }
    with whole_file(path) as temporary:
        save_file(tensors, temporary, metadata=about)
    data: Any = trainer.datamodule  # type: ignore[attr-defined]
    lines = [f"{number}\t{data.text(seen.split, number)}\n" for number in numbers.tolist()]
    write_text(path.with_name("sentences.txt"), "".join(lines))


def _tensors(batch: Any) -> dict[str, Tensor]:
    """Return copies of the tensors of a batch, and its tuples of numbers as tensors."""
    tensors: dict[str, Tensor] = {}
    for name, value in ((field.name, getattr(batch, field.name)) for field in fields(batch)):
        if is_dataclass(value):
            tensors |= _tensors(value)
        elif isinstance(value, Tensor | tuple | int):
            tensor = value if isinstance(value, Tensor) else torch.tensor(value)
            tensors[name] = tensor.detach().cpu().clone().contiguous()
    return tensors


# ----------------------------------------------------------------------------
# Signals that stop a training: of a scheduler (SIGTERM, SIGUSR1, SIGUSR2), and Ctrl-C (SIGINT).
#
# A :class:`TrainingStoppedError` ends the work: at once or, while a network is trained, after the
# current batch and its checkpoint (:meth:`StopSignals.deferred`). A second Ctrl-C always ends it
# at once.
#
# When everything is written and the run folder is released, the handler that was installed before
# is called: that of submitit requeues its job. In a SLURM job without such a handler, SIGUSR1 and
# SIGUSR2 requeue the job.


_log = logging.getLogger(__name__)

_NAMES = ("SIGTERM", "SIGINT", "SIGUSR1", "SIGUSR2")
# Not every system has all of them.
SIGNALS = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))


class StopSignals:
    """Remembers the first signal, and decides when it ends the work."""

    def __init__(self, folder: RunFolder) -> None:
        self.received: signal.Signals | None = None
        self.has_saved = False
        self._folder = folder
        self._is_deferred = False
        self._owner = os.getpid()
        self._previous: dict[signal.Signals, Any] = {}

    def install(self) -> None:
        """Handle the signals; only the main thread may do so."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in SIGNALS:
            previous = signal.signal(number, self._handle)
            self._previous.setdefault(number, previous)

    def restore(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        for number, previous in self._previous.items():
            # None: the handler was not installed from Python, and cannot be reinstalled.
            signal.signal(number, signal.SIG_DFL if previous is None else previous)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """While the block runs, a signal is only remembered; the block looks at ``received``."""
        self.check()
        self._is_deferred = True
        try:
            yield
        finally:
            self._is_deferred = False
        self.check()

    def follow(self) -> None:
        """Stop because another process of the training has received a signal."""
        self.received = self.received or signal.SIGTERM

    def check(self) -> None:
        if self.received is not None:
            raise self.error()

    def error(self) -> TrainingStoppedError:
        """Return the error of the received signal, which says how to continue."""
        assert self.received is not None
        said = [f"{self._folder.path}: stopped by {self.received.name}"]
        if self.has_saved:
            said.append("checkpoint written")
        if self._folder.is_begun:
            said.append("continue with existing=resume")
        else:
            said.append("nothing was written; start it again")
        return TrainingStoppedError("; ".join(said), signal=self.received)

    def hand_over(self, error: TrainingStoppedError) -> None:
        """Call the previous handler, which may end the process, or requeue a SLURM job."""
        assert self.received is not None
        previous = self._previous.get(self.received)
        if callable(previous) and previous is not signal.default_int_handler:
            _log.warning("%s", error)
            try:
                previous(self.received, None)
            except subprocess.CalledProcessError as failure:
                # SLURM ends all processes of a requeued job. If it ends the command that asks for
                # it first, the handler reports an error, although the job is requeued.
                if failure.returncode >= 0:
                    raise
        elif is_requeued(self.received):
            _log.warning("%s", error)
            requeue()

    def _handle(self, number: int, _frame: object) -> None:
        if os.getpid() != self._owner:
            # A forked process ends; workers that load batches are ended by the training.
            if not self._is_deferred:
                signal.signal(number, signal.SIG_DFL)
                os.kill(os.getpid(), number)
            return
        is_again = self.received == signal.SIGINT and number == signal.SIGINT
        if self.received is None:
            self.received = signal.Signals(number)
        if is_again or not self._is_deferred:
            raise self.error()


@contextmanager
def stop_signals(folder: RunFolder, *, leads: bool = True) -> Iterator[StopSignals]:
    """Handle signals while the block trains in a run folder.

    Among several processes of a training, only the one that ``leads`` requeues the job.
    """
    stop = StopSignals(folder)
    stop.install()
    try:
        yield stop
    except TrainingStoppedError as error:
        stop.restore()
        if leads:
            stop.hand_over(error)
        raise
    finally:
        stop.restore()


def is_requeued(number: int) -> bool:
    """Whether a signal asks for the SLURM job of this process to be requeued."""
    return signal.Signals(number).name.startswith("SIGUSR") and "SLURM_JOB_ID" in os.environ


def requeue() -> None:
    """Put the SLURM job of this process into the queue again."""
    array, job = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ["SLURM_JOB_ID"]
    if array is not None:
        # The number of one task of an array has two parts.
        job = f"{array}_{os.environ['SLURM_ARRAY_TASK_ID']}"
    try:
        subprocess.run(["scontrol", "requeue", job], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        if isinstance(error, subprocess.CalledProcessError) and error.returncode < 0:
            return  # ended by SLURM together with this job, which is requeued
        _log.warning("the SLURM job %s cannot be requeued: %s", job, error)


# ----------------------------------------------------------------------------
# Checkpoints from which a training resumes with the same result as without interruption: after each
# epoch, every few steps if requested, and at a signal. Each replaces the one before.

# Key in a checkpoint: whether no epoch follows, because training was to stop early.
_IS_OVER = "is_over"

# Several processes must agree to stop; they ask each other only every few steps.
_STEPS_BETWEEN_AGREEMENTS = 8


class ResumePoint(Checkpoint):
    """Writes checkpoints, and stops the training after a signal.

    Lightning calls callbacks of this base class last: the state of all others is up to date.
    """

    def __init__(
        self, folder: RunFolder, *, every_steps: int, guard: DivergenceGuard, stop: StopSignals
    ) -> None:
        self._path = folder / CHECKPOINT_FILE
        self._every_steps = every_steps
        self._guard = guard
        self._stop = stop

    def on_train_start(self, *_: Any) -> None:
        # Lightning has just put its own handler in front, which would end the training without a
        # checkpoint; when it is done, it reinstalls these.
        self._stop.install()

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: Any, *_: Any) -> None:
        if trainer.should_stop:  # at the last step, the end of the epoch follows
            return
        is_stopping = self._agree_to_stop(trainer)
        if is_stopping or (self._every_steps and trainer.global_step % self._every_steps == 0):
            self._save(trainer, pl_module)
        if is_stopping:
            raise self._stop.error()

    def on_validation_batch_end(self, trainer: pl.Trainer, pl_module: Any, *_: Any) -> None:
        # Processes may have different numbers of these batches, so that they cannot agree here.
        if trainer.world_size > 1 or trainer.should_stop or self._stop.received is None:
            return
        self._save(trainer, pl_module)
        raise self._stop.error()

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._save(trainer, pl_module)
        if self._agree_to_stop(trainer, is_asked=True):
            raise self._stop.error()

    def on_save_checkpoint(self, trainer: pl.Trainer, pl_module: Any, checkpoint: Any) -> None:
        checkpoint[_IS_OVER] = bool(trainer.should_stop)

    def on_load_checkpoint(self, trainer: pl.Trainer, pl_module: Any, checkpoint: Any) -> None:
        repeat_validation(checkpoint["loops"]["fit_loop"])
        trainer.should_stop = bool(checkpoint[_IS_OVER])

    def _save(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        self._guard.require_finite_so_far(trainer, module)
        trainer.save_checkpoint(self._path)
        self._stop.has_saved = True

    def _agree_to_stop(self, trainer: pl.Trainer, *, is_asked: bool = False) -> bool:
        """Whether any process has received a signal, as far as known."""
        is_stopping = self._stop.received is not None
        if trainer.world_size == 1:
            return is_stopping
        if not is_asked and trainer.global_step % _STEPS_BETWEEN_AGREEMENTS:
            return False
        agreed = bool(trainer.strategy.reduce_boolean_decision(is_stopping, all=False))
        if agreed:
            self._stop.follow()
        return agreed


def repeat_validation(fit_loop: dict[str, Any]) -> None:
    """Change the saved state of Lightning's loops so that a missing validation is run.

    A checkpoint after the last batch of an epoch is written before or during its validation. From
    such a state, Lightning would continue with the next epoch: without the metrics of this one,
    its best weights, early stopping and the plateau schedule. It runs a validation only if the
    state says that the batch is complete and the validation was interrupted in its first batch.
    """
    epochs = fit_loop["epoch_progress"]["total"]
    batches = fit_loop["epoch_loop.batch_progress"]
    if not batches["is_last_batch"] or epochs["processed"] == epochs["started"]:
        return
    validation = fit_loop["epoch_loop.val_loop.batch_progress"]
    for count in ("total", "current"):
        batches[count]["completed"] = batches[count]["processed"]
        validation[count] |= {"ready": 1, "started": 1, "processed": 0, "completed": 0}
    validation["is_last_batch"] = False
