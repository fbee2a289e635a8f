"""Train one network on one corpus: its optimiser and batches, Lightning's trainer and callbacks.

:func:`train_network` is called by the training of runs, in each of its processes. Networks and
families do not know Lightning.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback, EarlyStopping, RichProgressBar
from pytorch_lightning.loggers import Logger
from pytorch_lightning.plugins import DoublePrecision
from rich.console import Console
from torch import Tensor, nn
from torch.optim import SGD, AdamW, Optimizer
from torch.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau

from gardenpath.data.batches.tokens import BatchLoader, Collate, Uncounted
from gardenpath.data.corpus import BatchSettings
from gardenpath.data.encoding import EncodedSplit
from gardenpath.data.preparation import PreparedCorpus
from gardenpath.models.output import BatchScores, Network, Totals
from gardenpath.models.training.checkpoints import (
    DivergenceGuard,
    ResumePoint,
    StopSignals,
    WholeCheckpoints,
)
from gardenpath.models.training.distributed import ALONE, Placement, lightning_arguments, summed
from gardenpath.models.training.settings import OptimiserSettings, TrainerSettings
from gardenpath.models.weights import save_weights
from gardenpath.store.run_folder import CHECKPOINT_FILE, METRICS_FILE, WEIGHTS_FILE, RunFolder
from gardenpath.store.tables import write_table
from gardenpath.util import is_parallel_job

# Beginnings of the names of metrics that are known only after an epoch.
_OF_EPOCHS = ("train/", "valid/")


class EpochBar(RichProgressBar):
    """Says ``runs/toy_english/rnng/seed1: Epoch 3/3`` in the third of three epochs.

    The loss beside it is that of the batch; numbers of the epoch before are named so.
    """

    def __init__(self, run: str) -> None:
        super().__init__(leave=False)
        self._run = run

    def get_metrics(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> Any:
        metrics = super().get_metrics(trainer, pl_module)
        metrics.pop("v_num", None)  # the number of a logger's folder
        return {
            f"last {name}" if name.startswith(_OF_EPOCHS) else name: value
            for name, value in metrics.items()
        }

    def _get_train_description(self, current_epoch: int) -> str:
        return f"{self._run}: {epoch_text(current_epoch, self.trainer.max_epochs)}"


def epoch_text(epoch: int, most: int | None) -> str:
    """Return ``Epoch 3/3`` for the third of three epochs, which Lightning counts from 0."""
    limit = "" if most is None or most < 0 else f"/{most}"
    return f"Epoch {epoch + 1}{limit}"


def precision_arguments(settings: TrainerSettings) -> dict[str, Any]:
    """Return the arguments of Lightning's trainer that concern precision."""
    if settings.precision == "64":
        return {"plugins": [_DoubleWeights()]}
    if settings.precision != "auto":
        return {"precision": settings.precision}
    if settings.accelerator == "cpu" or not torch.cuda.is_available():
        return {"precision": "32"}
    return {"precision": "bf16-mixed" if torch.cuda.is_bf16_supported() else "16-mixed"}


class _DoubleWeights(DoublePrecision):
    """Weights in double precision; batches hold whole numbers, which need no conversion."""

    def convert_input(self, data: Any) -> Any:
        return data


log = logging.getLogger(__name__)

# Lightning sets its own level when it is loaded; its messages about hardware are not needed.
logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)


def train_network(
    *,
    module: LanguageModelling,
    data: CorpusDataModule,
    folder: RunFolder,
    settings: TrainerSettings,
    resume: bool,
    stop: StopSignals,
    loggers: Sequence[Logger] = (),
    placement: Placement = ALONE,
) -> None:
    """Train, and save the best weights in the run folder.

    A signal ends the training after the current batch, with a checkpoint. With a ``placement``
    among several processes, which must be connected already, all of them call this function, and
    the first one writes.
    """
    last = folder / CHECKPOINT_FILE
    checkpoint = last if resume and last.exists() else None
    module.step_limit = settings.max_steps
    # A progress bar would clutter log files, and those of parallel jobs would mix.
    progress = settings.progress and Console().is_terminal and not is_parallel_job()
    guard = DivergenceGuard(folder)
    callbacks: list[Callback] = [
        guard,
        StepLimit(settings.max_steps),
        BestWeights(folder),
        EpochMetrics(folder),
    ]
    if settings.early_stopping:
        callbacks.append(EarlyStopping("valid/loss", patience=settings.early_stopping))
    callbacks.append(
        ResumePoint(folder, every_steps=settings.checkpoint_steps, guard=guard, stop=stop)
    )
    if progress:
        callbacks.append(EpochBar(str(folder.path)))
    processes, precision = lightning_arguments(placement), precision_arguments(settings)
    plugins = [WholeCheckpoints(), *processes.pop("plugins"), *precision.pop("plugins", [])]
    trainer = pl.Trainer(
        accelerator=settings.accelerator,
        **processes,
        **precision,
        plugins=plugins,
        max_epochs=settings.max_epochs,
        gradient_clip_val=settings.gradient_clip or None,
        num_sanity_val_steps=0,
        # The number of batches varies slightly from epoch to epoch.
        reload_dataloaders_every_n_epochs=1,
        use_distributed_sampler=False,
        callbacks=callbacks,
        logger=list(loggers) or False,
        enable_progress_bar=progress,
        enable_model_summary=False,
        default_root_dir=folder.path,
    )
    with stop.deferred():
        trainer.fit(module, data, ckpt_path=checkpoint, weights_only=True)


class StepLimit(Callback):
    """Ends a run at ``max_steps``, also within an epoch, with a final validation.

    Lightning's own limit changes how it counts epochs when it resumes.
    """

    def __init__(self, max_steps: int) -> None:
        self._max_steps = max_steps

    def on_fit_start(self, trainer: pl.Trainer, *_: Any) -> None:
        if trainer.global_step == self._max_steps:
            trainer.should_stop = True

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        self.on_fit_start(trainer)


class BestWeights(Callback):
    """Writes the weights to the run folder whenever the validation loss reaches a new low."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._best = float("inf")

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        assert isinstance(pl_module, LanguageModelling)
        loss = pl_module.totals["valid"].loss
        if trainer.state.fn == "fit" and loss < self._best:
            self._best = loss
            if trainer.is_global_zero:
                save_weights(pl_module.network, self._folder / WEIGHTS_FILE)

    def state_dict(self) -> dict[str, Any]:
        return {"best": self._best}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._best = state_dict["best"]


class EpochMetrics(Callback):
    """Writes one row of metrics per epoch to ``metrics.csv`` and one line to the log."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._rows: list[dict[str, Any]] = []
        self._began = 0.0

    def on_train_start(self, *_: Any) -> None:
        self._began = time.monotonic()

    # A run that is resumed within an epoch does not start an epoch.
    def on_train_epoch_start(self, *_: Any) -> None:
        self.on_train_start()

    def on_train_epoch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        metrics = {
            name: float(value)
            for name, value in trainer.callback_metrics.items()
            if name.startswith(_OF_EPOCHS)
        }
        row = {
            "epoch": trainer.current_epoch,
            "step": trainer.global_step,
            "learning_rate": trainer.optimizers[0].param_groups[0]["lr"],
            **metrics,
            "seconds": round(time.monotonic() - self._began, 2),
        }
        self._rows.append(row)
        if trainer.is_global_zero:
            write_table(self._folder / METRICS_FILE, self._rows)
            log.info(
                "%s: %s: train loss %.4f, validation loss %.4f (%.1f s)", self._folder.path,
                epoch_text(trainer.current_epoch, trainer.max_epochs).lower(),
                metrics.get("train/loss", float("nan")), metrics.get("valid/loss", float("nan")),
                row["seconds"],
            )  # fmt: skip

    def state_dict(self) -> dict[str, Any]:
        return {"rows": self._rows}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._rows = list(state_dict["rows"])


def seed_everything(seed: int) -> None:
    """Seed the random generators of Python, NumPy and torch, for the initial weights."""
    pl.seed_everything(seed, workers=True, verbose=False)
    # Some CUDA operations are only reproducible if this is set before the first of them.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


# ----------------------------------------------------------------------------
# What Lightning trains: optimiser and schedule, the module for all networks, and its batches.


def make_optimiser(network: nn.Module, settings: OptimiserSettings) -> Optimizer:
    """Return the optimiser; weight decay applies to matrices only, not to biases and norms."""
    matrices = [weight for weight in network.parameters() if weight.dim() >= 2]
    others = [weight for weight in network.parameters() if weight.dim() < 2]
    groups: Iterable[dict[str, object]] = [
        {"params": matrices, "weight_decay": settings.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    if settings.algorithm == "sgd":
        return SGD(groups, lr=settings.learning_rate, momentum=settings.momentum)
    # fused: one pass over all weights; on GPUs it conflicts with clipping under mixed precision.
    on_cpu = all(weight.device.type == "cpu" for weight in network.parameters())
    return AdamW(groups, lr=settings.learning_rate, fused=on_cpu)


def make_schedule(
    optimiser: Optimizer, settings: OptimiserSettings, *, total_steps: int
) -> LambdaLR | ReduceLROnPlateau:
    """Return the schedule; :class:`ReduceLROnPlateau` steps once per epoch, others per step."""
    if settings.schedule == "plateau":
        return ReduceLROnPlateau(
            optimiser, factor=settings.decay, patience=settings.patience, mode="min"
        )

    def factor(step: int) -> float:
        if step < settings.warmup_steps:
            return (step + 1) / settings.warmup_steps
        if settings.schedule == "constant":
            return 1.0
        remaining = max(1, total_steps - settings.warmup_steps)
        progress = min(1.0, (step - settings.warmup_steps) / remaining)
        return 0.5 * (1.0 + math.cos(math.pi * progress))

    return LambdaLR(optimiser, factor)


class LanguageModelling(pl.LightningModule):
    """Trains a network by maximum likelihood.

    The random numbers of a step (dropout) depend only on random seed, step and process, so that a
    resumed run draws the same numbers as an uninterrupted one.
    """

    def __init__(self, *, network: Network, optimiser: OptimiserSettings, seed: int) -> None:
        super().__init__()
        assert isinstance(network, nn.Module)
        self.network = network
        self._optimiser = optimiser
        self._seed = seed
        self._sums: dict[str, dict[str, Tensor]] = {"train": {}, "valid": {}, "test": {}}
        self.totals: dict[str, Totals] = {}
        self.step_limit = -1

    def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
        state = np.random.SeedSequence([self._seed, self.global_step, self.global_rank])
        torch.manual_seed(int(state.generate_state(1)[0]))

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        scores = self._score(batch)
        total = self._add("train", scores)
        loss = scores.loss()
        if self.trainer.world_size > 1:
            # DDP averages the gradients over the processes; they must be summed.
            loss = scores.loss(total.events) * self.trainer.world_size
            # All processes see the loss of the whole batch: if it is infinite, all of them stop.
            loss = loss + (total.loss().to(loss.dtype) - loss).detach()
        self.log("loss", loss.detach(), prog_bar=True, logger=False)
        return loss

    def validation_step(self, batch: Any, batch_idx: int) -> Tensor:
        return self._add("valid", self._score(batch)).loss()

    def test_step(self, batch: Any, batch_idx: int) -> None:
        self._add("test", self._score(batch))

    def on_validation_epoch_end(self) -> None:
        self._report("valid")
        if self._sums["train"]:  # each epoch of training ends with a validation
            self.log("train/loss", self._totals("train").loss)

    def on_test_epoch_end(self) -> None:
        self._report("test")

    def on_train_epoch_end(self) -> None:
        # Before the checkpoint of the epoch is written, which then contains the new rate.
        schedule = self.lr_schedulers()
        if isinstance(schedule, ReduceLROnPlateau):
            schedule.step(self.trainer.callback_metrics["valid/loss"])

    def lr_scheduler_step(self, scheduler: Any, metric: Any) -> None:
        # Lightning would step this schedule after the checkpoint, and not in a resumed epoch.
        if not isinstance(scheduler, ReduceLROnPlateau):
            scheduler.step()

    def configure_optimizers(self) -> Any:
        optimiser = make_optimiser(self.network, self._optimiser)
        total_steps = self._total_steps() if self._optimiser.schedule == "cosine" else 0
        schedule = make_schedule(optimiser, self._optimiser, total_steps=total_steps)
        interval = "epoch" if isinstance(schedule, ReduceLROnPlateau) else "step"
        stepped = {"scheduler": schedule, "interval": interval, "monitor": "valid/loss"}
        return {"optimizer": optimiser, "lr_scheduler": stepped}

    def _total_steps(self) -> int:
        """Return the number of training steps, estimated from the first epoch.

        Lightning's own estimate would create the batches too early for a resumed run, which would
        then restart its epoch.
        """
        trainer: Any = self.trainer
        steps: int = len(trainer.datamodule.train_dataloader()) * trainer.max_epochs
        return steps if self.step_limit == -1 else min(steps, self.step_limit)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        # In the middle of an epoch, part of its training loss has already been summed.
        checkpoint["train_sums"] = dict(self._sums["train"])

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        sums = checkpoint["train_sums"]
        self._sums["train"] = {name: value.to(self.device) for name, value in sums.items()}

    def _score(self, batch: Any) -> BatchScores:
        if isinstance(batch, Uncounted):
            return self.network.score(batch.batch).uncounted()
        return self.network.score(batch)

    def _add(self, split: str, scores: BatchScores) -> BatchScores:
        """Add the scores of a batch in all processes; return their sum."""
        total = summed(scores, self.trainer.strategy)
        sums = self._sums[split]
        parts = {**total.log_prob, "words": total.words, "sentences": total.sentences}
        for name, value in parts.items():
            sums[name] = sums[name] + value if name in sums else value
        return total

    def _totals(self, split: str) -> Totals:
        """Return the sums since the last call."""
        sums = {name: float(value) for name, value in self._sums[split].items()}
        self._sums[split] = {}
        words, sentences = int(sums.pop("words")), int(sums.pop("sentences"))
        return Totals(log_prob=sums, words=words, sentences=sentences)

    def _report(self, split: str) -> None:
        self.totals[split] = self._totals(split)
        for name, metric in self.totals[split].as_metrics().items():
            self.log(f"{split}/{name}", metric, prog_bar=name.endswith("perplexity"))


class CorpusDataModule(pl.LightningDataModule):
    """Provides the trainer with the batches of a prepared corpus.

    ``make_collate`` returns, for a split, the function that turns sentence numbers into batches; it
    is called once per split, so that it can plan ahead.
    """

    def __init__(
        self,
        *,
        corpus: PreparedCorpus,
        make_collate: Callable[[EncodedSplit], Collate[Any]],
        batches: BatchSettings,
        seed: int,
    ) -> None:
        super().__init__()
        self._corpus = corpus
        self._make_collate = make_collate
        self._batches = batches
        self._seed = seed
        self._planned: dict[str, tuple[EncodedSplit, Collate[Any]]] = {}

    def train_dataloader(self) -> BatchLoader[Any]:
        return self._loader("train", shuffle_seed=self._seed)

    def val_dataloader(self) -> BatchLoader[Any]:
        return self._loader("valid", shuffle_seed=None)

    def test_dataloader(self) -> BatchLoader[Any]:
        return self._loader("test", shuffle_seed=None)

    def text(self, name: str, sentence: int) -> str:
        """Return the units of a sentence of a split, given by number."""
        tokens = self._corpus.vocabulary.tokens
        return " ".join(tokens[token] for token in self._corpus.split(name).sentence(sentence))

    def _loader(self, name: str, *, shuffle_seed: int | None) -> BatchLoader[Any]:
        if name not in self._planned:
            split = self._corpus.split(name)
            self._planned[name] = (split, self._make_collate(split))
        split, collate = self._planned[name]
        trainer = self.trainer
        return BatchLoader(
            split.lengths, collate=collate, settings=self._batches, shuffle_seed=shuffle_seed,
            epoch=lambda: trainer.current_epoch if trainer else 0,
            shard=trainer.global_rank if trainer else 0,
            shards=trainer.world_size if trainer else 1,
        )  # fmt: skip
