"""The Lightning data module: prepared corpus in, batch loaders out."""

from __future__ import annotations

from collections.abc import Callable

import pytorch_lightning as pl

from src.data.batches import BatchLoader, BatchSettings, TokenBatch, token_batch
from src.data.encoded import EncodedSplit
from src.data.preparation import PreparedCorpus
from src.data.raw_split import IntArray


class CorpusDataModule(pl.LightningDataModule):
    """Gives the trainer the batches of a prepared corpus."""

    def __init__(
        self,
        *,
        corpus: PreparedCorpus,
        batches: BatchSettings,
        seed: int,
        collate: Callable[[EncodedSplit, IntArray], TokenBatch] = token_batch,
    ) -> None:
        super().__init__()
        self._corpus = corpus
        self._batches = batches
        self._seed = seed
        self._collate = collate

    def train_dataloader(self) -> BatchLoader:
        return self._loader("train", shuffle_seed=self._seed)

    def val_dataloader(self) -> BatchLoader:
        return self._loader("valid", shuffle_seed=None)

    def test_dataloader(self) -> BatchLoader:
        return self._loader("test", shuffle_seed=None)

    def _loader(self, split: str, *, shuffle_seed: int | None) -> BatchLoader:
        trainer = self.trainer
        return BatchLoader(
            self._corpus.split(split),
            collate=self._collate,
            settings=self._batches,
            shuffle_seed=shuffle_seed,
            epoch=lambda: trainer.current_epoch if trainer else 0,
            shard=trainer.global_rank if trainer else 0,
            shards=trainer.world_size if trainer else 1,
        )
