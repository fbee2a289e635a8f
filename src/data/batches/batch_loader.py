"""Group the sentences of an encoded split into batches of similar length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from torch.utils.data import DataLoader, Dataset

from gardenpath.data.arrays import Ints
from gardenpath.data.batches.batch_settings import BatchSettings
from gardenpath.data.batches.shares import SharedPlan, Uncounted

# Sentences are shuffled and then sorted by length within pools of this many batches, so that the
# lengths in a batch are similar while batches still differ from epoch to epoch.
_POOL_BATCHES = 50


def plan_batches(
    lengths: Ints, settings: BatchSettings, *, shuffle_seed: tuple[int, int] | None
) -> list[Ints]:
    """Group sentences, given by number, into batches.

    With a ``shuffle_seed`` (random seed and epoch), sentences are drawn in random order; without
    one, batches are ordered from short to long sentences.
    """
    if shuffle_seed is None:
        order = np.argsort(lengths, kind="stable")
        return _pack(order, lengths, settings)
    generator = np.random.default_rng(shuffle_seed)
    order = generator.permutation(len(lengths))
    pool = settings.max_sentences * _POOL_BATCHES
    batches: list[Ints] = []
    for begin in range(0, len(order), pool):
        members = order[begin : begin + pool]
        by_length = members[np.argsort(lengths[members], kind="stable")]
        batches.extend(_pack(by_length, lengths, settings))
    return [batches[number] for number in generator.permutation(len(batches))]


def _pack(order: Ints, lengths: Ints, settings: BatchSettings) -> list[Ints]:
    """Fill batches in order of increasing length until one of the limits is reached."""
    batches = []
    begin = 0
    # One position more than the words, for the begin or end symbol.
    widths = (lengths[order] + 1).tolist()
    for position, width in enumerate(widths):
        count = position - begin + 1
        if count > 1 and (count > settings.max_sentences or count * width > settings.max_tokens):
            batches.append(order[begin:position])
            begin = position
    batches.append(order[begin:])
    return batches


Batch = TypeVar("Batch")
Built = TypeVar("Built", covariant=True)
Collate = Callable[[Ints], Batch]


# Number of batches that a collate function plans at once.
_WINDOW_BATCHES = 16


class WindowCollate(Protocol[Built]):
    """A collate function that is faster for several batches at once, because it plans ahead."""

    def __call__(self, sentences: Ints) -> Built:
        """Build one batch."""

    def window(self, batches: Sequence[Ints]) -> Iterator[Built]:
        """Build several batches; the same as one after the other."""


def collate_all(collate: Collate[Batch], plan: Sequence[Ints]) -> Iterator[Batch]:
    """Build the batches of a plan, in windows if the function supports it.

    The memory that this takes depends on the size of a window, not on that of the corpus.
    """
    window: Callable[[Sequence[Ints]], Iterator[Batch]] | None = getattr(collate, "window", None)
    if window is None:
        yield from map(collate, plan)
        return
    for begin in range(0, len(plan), _WINDOW_BATCHES):
        yield from window(plan[begin : begin + _WINDOW_BATCHES])


class BatchLoader(Generic[Batch]):
    """Iterates over the batches of an epoch, in an order determined by random seed and epoch.

    ``collate`` builds a batch from sentence numbers. The loader counts the batches it has yielded
    (``state_dict``), so that a training run interrupted in the middle of an epoch resumes with the
    next batch. With ``shards`` processes, each process takes a share of every batch, so that all
    take equally many steps; an empty share is :class:`Uncounted`.
    """

    def __init__(
        self,
        lengths: Ints,
        *,
        collate: Collate[Batch],
        settings: BatchSettings,
        shuffle_seed: int | None = None,
        epoch: Callable[[], int] = lambda: 0,
        shard: int = 0,
        shards: int = 1,
    ) -> None:
        self._lengths = lengths
        self._collate = collate
        self._settings = settings
        self._shuffle_seed = shuffle_seed
        self._epoch = epoch
        self._shard = shard
        self._shards = shards
        self._given = 0
        self._given_in_epoch = 0
        self._resume_after: tuple[int, int] | None = None
        self._length: int | None = None

    def __len__(self) -> int:
        if self._length is None:
            self._length = len(self._plan(self._epoch()))
        return self._length

    def __iter__(self) -> Iterator[Batch]:
        epoch = self._epoch()
        plan = self._plan(epoch)
        self._length = len(plan)
        resume, self._resume_after = self._resume_after, None
        self._given_in_epoch = epoch
        self._given = resume[1] if resume is not None and resume[0] == epoch else 0
        for batch in self._load(plan[self._given :]):
            self._given += 1
            yield batch

    def state_dict(self) -> dict[str, int]:
        """Return the epoch and the number of batches yielded in it."""
        return {"epoch": self._given_in_epoch, "batches": self._given}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Resume after the batches that were already yielded."""
        self._resume_after = (state["epoch"], state["batches"])

    def sentences_of(self, batch: int) -> Ints:
        """Return the numbers of the sentences of a batch of the current epoch, given by number."""
        return self._plan(self._epoch())[batch]

    def _plan(self, epoch: int) -> list[Ints]:
        seed = None if self._shuffle_seed is None else (self._shuffle_seed, epoch)
        return plan_batches(self._lengths, self._settings, shuffle_seed=seed)

    def _load(self, plan: list[Ints]) -> Iterator[Any]:
        shares = SharedPlan(plan, self._lengths, shard=self._shard, shards=self._shards)
        for number, batch in enumerate(self._build(shares)):
            yield batch if shares.is_counted(number) else Uncounted(batch)

    def _build(self, plan: Sequence[Ints]) -> Iterator[Any]:
        if self._settings.workers == 0:
            yield from collate_all(self._collate, plan)
            return
        yield from DataLoader(
            _Collated(self._collate, plan),
            batch_size=None,
            shuffle=False,
            num_workers=self._settings.workers,
        )


class _Collated(Dataset[Batch]):
    """A plan of batches as a map-style dataset, for worker processes."""

    def __init__(self, collate: Collate[Batch], plan: Sequence[Ints]) -> None:
        self._collate = collate
        self._plan = plan

    def __len__(self) -> int:
        return len(self._plan)

    def __getitem__(self, number: int) -> Batch:
        return self._collate(self._plan[number])
