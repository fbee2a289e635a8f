"""Batches of tokens, and what all batches share: their plan, their division and their loader.

Called by training and scoring of sequential models, and by `batches.trees`. Batches are planned
from lengths, a random seed and the epoch alone, so that an interrupted training resumes with the
next batch and all processes of a distributed training plan the same ones; each takes its share of
every batch. Nothing here knows a network.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, Self, TypeVar, overload

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from gardenpath.data.arrays import Ints
from gardenpath.data.corpus import BatchSettings
from gardenpath.data.encoding import EncodedSplit, depth_after
from gardenpath.data.trees.legality import MOST_OPEN, NO_ACTION_YET, Kind, Strategy, legal_table
from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID, PAD_ID


class TensorBatch:
    """Base class of all batches, which move to a device as a whole.

    They are frozen dataclasses of tensors; fields that are not tensors are unchanged.
    """

    __slots__ = ()

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Self:
        """Move all tensors to a device."""
        return self._map(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Self:
        """Pin all tensors, for asynchronous copies to a GPU."""
        return self._map(Tensor.pin_memory)

    def _map(self, change: Callable[[Tensor], Tensor]) -> Self:
        batch: Any = self  # each subclass is a dataclass
        values = {field.name: getattr(batch, field.name) for field in fields(batch)}
        changed = {name: change(v) for name, v in values.items() if isinstance(v, Tensor)}
        result: Self = replace(batch, **changed)
        return result


# ----------------------------------------------------------------------------
# Batches of tokens, for sequential models.


@dataclass(frozen=True, slots=True)
class TokenBatch(TensorBatch):
    """Sentences for models that read tokens from left to right; all fields ``(sentences, length)``.

    ``inputs`` begin with the begin symbol and ``targets`` end with the end symbol, so that
    ``targets[:, t]`` is predicted from ``inputs[:, : t + 1]``. ``is_token`` is False on padding.
    ``starts_word`` marks targets that begin a word (the end symbol does not).
    """

    inputs: Tensor
    targets: Tensor
    is_token: Tensor
    starts_word: Tensor
    is_end: Tensor


def token_batch(split: EncodedSplit, sentences: Ints) -> TokenBatch:
    """Collate sentences, given by number, without a loop over them."""
    taken = split.take(sentences)
    lengths = taken.lengths
    columns = np.arange(int(lengths.max()) + 1)
    is_word = columns < lengths[:, None]
    is_end = columns == lengths[:, None]

    targets = np.full(is_word.shape, PAD_ID, dtype=np.int64)
    targets[is_word] = taken.tokens
    targets[is_end] = END_ID
    starts_word = np.zeros(is_word.shape, dtype=bool)
    starts_word[is_word] = taken.starts_word
    inputs = np.full(is_word.shape, PAD_ID, dtype=np.int64)
    inputs[:, 0] = BEGIN_ID
    inputs[:, 1:][is_word[:, :-1]] = targets[is_word]
    return TokenBatch(
        inputs=torch.from_numpy(inputs),
        targets=torch.from_numpy(targets),
        is_token=torch.from_numpy(is_word | is_end),
        starts_word=torch.from_numpy(starts_word),
        is_end=torch.from_numpy(is_end),
    )


# ----------------------------------------------------------------------------
# Divide a batch over the processes of a distributed training.
#
# All processes plan the same batches, and each takes a share of every batch: the shares together
# are the batch that a single process would take.


_Batch = TypeVar("_Batch", bound=TensorBatch)


def share_of(batch: Ints, lengths: Ints, *, shard: int, shards: int) -> Ints:
    """Return the sentences of a batch that one of the processes takes, in the order of the batch.

    Long sentences are dealt first, each to the process with the fewest tokens so far, so that
    numbers of tokens differ by one sentence at most. A share is empty if the batch has fewer
    sentences than there are processes.
    """
    if shards == 1:
        return batch
    # One position more than the words, for the begin or end symbol.
    widths = lengths[batch] + 1
    loads = [(0, number) for number in range(shards)]
    taken = []
    for place in np.argsort(-widths, kind="stable").tolist():
        load, number = loads[0]
        heapq.heapreplace(loads, (load + int(widths[place]), number))
        if number == shard:
            taken.append(place)
    return batch[np.array(sorted(taken), dtype=np.int64)]


class SharedPlan(Sequence[Ints]):
    """The shares of one process of all batches of a plan, computed when they are asked for.

    Instead of an empty share, it contains the first sentence of the batch, which does not count.
    """

    def __init__(self, plan: Sequence[Ints], lengths: Ints, *, shard: int, shards: int) -> None:
        self._plan = plan
        self._lengths = lengths
        self._shard = shard
        self._shards = shards

    def __len__(self) -> int:
        return len(self._plan)

    @overload
    def __getitem__(self, number: int) -> Ints: ...

    @overload
    def __getitem__(self, number: slice) -> list[Ints]: ...

    def __getitem__(self, number: int | slice) -> Ints | list[Ints]:
        if isinstance(number, slice):
            return [self[place] for place in range(*number.indices(len(self)))]
        batch = self._plan[number]
        if not self.is_counted(number):
            return batch[:1]
        return share_of(batch, self._lengths, shard=self._shard, shards=self._shards)

    def is_counted(self, number: int) -> bool:
        """Whether the share of a batch, given by number, is not empty."""
        return self._shard < len(self._plan[number])  # the longest sentences go to one each


@dataclass(frozen=True, slots=True)
class Uncounted(Generic[_Batch]):
    """A batch for a process whose share is empty.

    All processes must compute gradients in each step, so the process computes those of a sentence
    of the batch, with weight zero.
    """

    batch: _Batch

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Self:
        """Move the batch to a device."""
        return type(self)(self.batch.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Self:
        """Pin the batch, for asynchronous copies to a GPU."""
        return type(self)(self.batch.pin_memory())


# ----------------------------------------------------------------------------
# Group the sentences of an encoded split into batches of similar length.


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
Collate = Callable[[Ints], Batch]


# Number of batches that a collate function with a ``window`` plans at once: that is faster, and the
# memory that it takes depends on the size of a window, not on that of the corpus.
_WINDOW_BATCHES = 16


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
        left = plan[self._given :]
        shares = SharedPlan(left, self._lengths, shard=self._shard, shards=self._shards)
        for number, batch in enumerate(self._build(shares)):
            self._given += 1
            counted: Any = batch if shares.is_counted(number) else Uncounted(batch)
            yield counted

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

    def _build(self, plan: Sequence[Ints]) -> Iterator[Any]:
        window = getattr(self._collate, "window", None)
        if self._settings.workers:
            batches = _Collated(self._collate, plan)
            workers = self._settings.workers
            yield from DataLoader(batches, batch_size=None, shuffle=False, num_workers=workers)
        elif window is None:
            yield from map(self._collate, plan)
        else:
            for begin in range(0, len(plan), _WINDOW_BATCHES):
                yield from window(plan[begin : begin + _WINDOW_BATCHES])


class _Collated(Dataset[Batch]):
    """A plan of batches as a map-style dataset, for worker processes."""

    def __init__(self, collate: Collate[Batch], plan: Sequence[Ints]) -> None:
        self._collate = collate
        self._plan = plan

    def __len__(self) -> int:
        return len(self._plan)

    def __getitem__(self, number: int) -> Batch:
        return self._collate(self._plan[number])


# ----------------------------------------------------------------------------
# Batches of linearised trees, for models that read brackets and words as one sequence.
#
# Symbols share one numbering: words as in the vocabulary, then the closing bracket, then an
# opening bracket for each label. The running example becomes ``<s> (S (NP the hungry cat ) (VP
# meows ) )``; the closing bracket of the root ends the sentence.


# Brackets are written in the order of top-down derivations.
BRACKET_STRATEGY: Strategy = "top_down"


@dataclass(frozen=True, slots=True)
class BracketBatch(TensorBatch):
    """Linearised trees; all fields are ``(sentences, length)`` except the two counts.

    ``targets[:, t]`` is predicted from ``inputs[:, : t + 1]``. ``legal`` contains the bits
    (:data:`LEGAL_BIT`) of the kinds of symbols that may come next. ``open_at`` is the position,
    among the inputs, of the innermost open bracket; zero if none is open.
    """

    inputs: Tensor
    targets: Tensor
    is_symbol: Tensor
    is_word: Tensor
    legal: Tensor
    open_at: Tensor
    words: Tensor
    sentences: Tensor


def bracket_collate(
    split: EncodedSplit, *, vocabulary_size: int, has_pieces: bool = False
) -> Callable[[Ints], BracketBatch]:
    """Return the function that linearises sentences of a split, given by number.

    ``has_pieces`` says whether a word may consist of several tokens.
    """
    legal_after = legal_table(BRACKET_STRATEGY, has_pieces=has_pieces)
    legal_first = int(legal_after[NO_ACTION_YET, 0])

    def collate(sentences: Ints) -> BracketBatch:
        taken = split.take(sentences)
        actions = taken.actions.astype(np.int64)
        lengths = np.diff(taken.action_offsets)
        is_symbol = np.arange(int(lengths.max())) < lengths[:, None]
        starts = np.repeat(taken.action_offsets[:-1], lengths)
        innermost = innermost_open(actions)

        def padded(values: Ints, padding: int) -> Ints:
            result = np.full(is_symbol.shape, padding, dtype=np.int64)
            result[is_symbol] = values
            return result

        # The kinds that may come after each action.
        opened = np.minimum(depth_after(actions), MOST_OPEN)
        legal = padded(legal_after[np.minimum(actions, Kind.OPEN), opened], 0)
        targets = padded(symbols_of(taken, vocabulary_size), PAD_ID)
        # Position t + 1 of the inputs holds symbol t.
        relative = np.where(innermost >= 0, innermost - starts + 1, 0)
        return BracketBatch(
            inputs=_shifted(targets, BEGIN_ID),
            targets=torch.from_numpy(targets),
            is_symbol=torch.from_numpy(is_symbol),
            is_word=torch.from_numpy(is_symbol & (targets < vocabulary_size)),
            legal=_shifted(legal, legal_first),
            open_at=_shifted(padded(relative, 0), 0),
            words=torch.tensor(taken.word_count),
            sentences=torch.tensor(len(sentences)),
        )

    return collate


def symbols_of(split: EncodedSplit, vocabulary_size: int) -> Ints:
    """Return the symbols of all sentences, one for each action."""
    actions = np.asarray(split.actions, dtype=np.int64)
    symbols = vocabulary_size + actions - int(Kind.OPEN) + 1
    symbols[actions == Kind.REDUCE] = vocabulary_size
    symbols[actions == Kind.SHIFT] = split.tokens
    return symbols


def innermost_open(actions: Ints) -> Ints:
    """Return, for each top-down action, the position of the innermost NT open after it, or -1.

    This is the last NT so far that led to the same depth.
    """
    depth = depth_after(actions)
    place = np.arange(len(actions))
    order = np.lexsort((place, depth))
    opened = np.where(actions >= Kind.OPEN, place, -1)[order]
    # NTs of a smaller depth must not leak into a group: positions count only from its first NT on,
    # and every group except that of depth zero begins with an NT.
    group_start = np.flatnonzero(np.diff(depth[order], prepend=-1))
    group = np.repeat(np.arange(len(group_start)), np.diff(group_start, append=len(order)))
    latest = np.maximum.accumulate(np.where(opened >= 0, group * len(order) + opened, -1))
    result = np.empty(len(actions), dtype=np.int64)
    result[order] = np.where(depth[order] > 0, latest - group * len(order), -1)
    return result


def _shifted(values: Ints, first: int) -> Tensor:
    """Shift values one position to the right, with ``first`` in the first column."""
    result = np.empty_like(values)
    result[:, 0] = first
    result[:, 1:] = values[:, :-1]
    return torch.from_numpy(result)
