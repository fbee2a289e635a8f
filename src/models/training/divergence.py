"""Stop a training whose loss is infinite or not a number, and keep the batch for inspection.

On a CPU, each loss is checked before its gradient is computed. On a GPU this would let the device
wait for Python in each step; there, the loss is copied to memory in the background and checked one
step later, and before anything is written. Under mixed precision infinite gradients are normal
(such a step is skipped), so that only losses and weights count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback
from safetensors.torch import save_file
from torch import Tensor

from gardenpath.data.arrays import Ints
from gardenpath.errors import DivergedError
from gardenpath.models.finite import LOWER_RATE, has_finite_weights
from gardenpath.models.training.data_module import CorpusDataModule
from gardenpath.store.files import whole_file, write_text
from gardenpath.store.run_folder import RunFolder

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
        """Return the loss, after it has arrived."""
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
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        self._batch = (batch, batch_idx)

    def on_before_backward(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, loss: Tensor
    ) -> None:
        self._look(trainer, loss, "train", *self._batch)

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._settle(trainer)

    def on_validation_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        self._look(trainer, outputs, "valid", batch, batch_idx)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._settle(trainer)

    def require_finite_so_far(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Raise an error before anything infinite is written."""
        self._settle(trainer)
        if self._last is not None and not has_finite_weights(module):
            raise self._diverged(trainer, self._last, "weights are infinite or not numbers")

    def _look(self, trainer: pl.Trainer, loss: Tensor, split: str, batch: Any, number: int) -> None:
        before = self._last
        value, copied = _on_its_way(loss.detach())
        self._last = SeenLoss(
            value=value,
            copied=copied,
            split=split,
            step=trainer.global_step + (split == "train"),
            learning_rate=float(trainer.optimizers[0].param_groups[0]["lr"]),
            batch=batch,
            number=number,
        )
        self._check(trainer, self._last if copied is None else before)

    def _settle(self, trainer: pl.Trainer) -> None:
        self._check(trainer, self._last)

    def _check(self, trainer: pl.Trainer, seen: SeenLoss | None) -> None:
        if seen is not None and not math.isfinite(loss := seen.item()):
            raise self._diverged(trainer, seen, f"{_SHOWN[seen.split]} loss is {loss}")

    def _diverged(self, trainer: pl.Trainer, seen: SeenLoss, problem: str) -> DivergedError:
        path = self._folder.diverged_path / "batch.safetensors"
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
    assert isinstance(data, CorpusDataModule)
    lines = [f"{number}\t{data.text(seen.split, number)}\n" for number in numbers.tolist()]
    write_text(path.with_name("sentences.txt"), "".join(lines))


def _tensors(batch: Any) -> dict[str, Tensor]:
    """Return copies of the tensors of a batch, and its tuples of numbers as tensors."""
    found: dict[str, Tensor] = {}
    for name, value in ((field.name, getattr(batch, field.name)) for field in fields(batch)):
        if is_dataclass(value):
            found |= _tensors(value)
        elif isinstance(value, Tensor | tuple | int):
            tensor = value if isinstance(value, Tensor) else torch.tensor(value)
            found[name] = tensor.detach().cpu().clone().contiguous()
    return found
