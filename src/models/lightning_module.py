"""The one Lightning module, for all neural models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

from src.data.batches import TokenBatch
from src.models.optimisation import OptimiserSettings, make_optimiser, make_schedule
from src.models.scores import BatchScores, Network, Totals


class LanguageModelling(pl.LightningModule):
    """Trains a network to give high probability to sentences.

    The random numbers of a step (dropout) follow from seed, step and process alone, so that a
    resumed run draws the ones it would have drawn.
    """

    def __init__(self, *, network: Network, optimiser: OptimiserSettings, seed: int) -> None:
        super().__init__()
        assert isinstance(network, nn.Module)
        self.network = network
        self._optimiser = optimiser
        self._seed = seed
        self._sums: dict[str, Tensor] = {}
        self.totals: dict[str, Totals] = {}

    def on_train_batch_start(self, batch: TokenBatch, batch_idx: int) -> None:
        state = np.random.SeedSequence([self._seed, self.global_step, self.global_rank])
        torch.manual_seed(int(state.generate_state(1)[0]))

    def training_step(self, batch: TokenBatch, batch_idx: int) -> Tensor:
        scores: BatchScores = self.network.score(batch)
        loss = scores.loss()
        self.log(
            "train/loss", loss, prog_bar=True, on_step=False, on_epoch=True,
            batch_size=batch.inputs.shape[0],
        )  # fmt: skip
        return loss

    def validation_step(self, batch: TokenBatch, batch_idx: int) -> None:
        self._add(self.network.score(batch))

    def test_step(self, batch: TokenBatch, batch_idx: int) -> None:
        self._add(self.network.score(batch))

    def on_validation_epoch_end(self) -> None:
        self._report("valid")

    def on_test_epoch_end(self) -> None:
        self._report("test")

    def configure_optimizers(self) -> Any:
        optimiser = make_optimiser(self.network, self._optimiser)
        total_steps = (
            int(self.trainer.estimated_stepping_batches)
            if self._optimiser.schedule == "cosine"
            else 0
        )
        schedule = make_schedule(optimiser, self._optimiser, total_steps=total_steps)
        interval = "epoch" if isinstance(schedule, ReduceLROnPlateau) else "step"
        return {
            "optimizer": optimiser,
            "lr_scheduler": {
                "scheduler": schedule,
                "interval": interval,
                "monitor": "valid/loss",
            },
        }

    def _add(self, scores: BatchScores) -> None:
        # Sums over a large split need more than single precision.
        parts = {kind: value.double() for kind, value in scores.log_prob.items()}
        parts |= {"words": scores.words.double(), "sentences": scores.sentences.double()}
        for name, value in parts.items():
            self._sums[name] = self._sums.get(name, torch.zeros_like(value)) + value

    def _report(self, split: str) -> None:
        reduced = {
            name: float(self.trainer.strategy.reduce(value, reduce_op="sum"))
            for name, value in self._sums.items()
        }
        self._sums = {}
        words, sentences = int(reduced.pop("words")), int(reduced.pop("sentences"))
        totals = Totals(log_prob=reduced, words=words, sentences=sentences)
        self.totals[split] = totals
        for name, metric in totals.as_metrics().items():
            self.log(f"{split}/{name}", metric, prog_bar=name == "perplexity")
