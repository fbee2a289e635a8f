"""The Lightning data module: builds batch loaders from a prepared corpus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytorch_lightning as pl

from gardenpath.data.batches.batch_loader import BatchLoader, Collate
from gardenpath.data.batches.batch_settings import BatchSettings
from gardenpath.data.encoding.encoded import EncodedSplit
from gardenpath.data.preparation import PreparedCorpus


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
