"""What Lightning trains: optimiser and schedule, the module for all networks, and its batches.

Put together by :mod:`trainer`; networks and families do not know Lightning.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor, nn
from torch.optim import SGD, AdamW, Optimizer
from torch.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau

from gardenpath.data.batches.tokens import BatchLoader, Collate, Uncounted
from gardenpath.data.corpus import BatchSettings
from gardenpath.data.encoding import EncodedSplit
from gardenpath.data.preparation import PreparedCorpus
from gardenpath.models.scores import BatchScores, Network, Totals
from gardenpath.models.training.distributed import summed
from gardenpath.models.training.settings import OptimiserSettings


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


# ----------------------------------------------------------------------------
# The Lightning module for all neural models.


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


# ----------------------------------------------------------------------------
# The Lightning data module: builds batch loaders from a prepared corpus.


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
            split.lengths,
            collate=collate,
            settings=self._batches,
            shuffle_seed=shuffle_seed,
            epoch=lambda: trainer.current_epoch if trainer else 0,
            shard=trainer.global_rank if trainer else 0,
            shards=trainer.world_size if trainer else 1,
        )
