"""Batches of linearised trees, for models that read brackets and words as one sequence.

Symbols share one numbering: words as in the vocabulary, then the closing bracket, then an opening
bracket for each label. The running example becomes ``<s> (S (NP the hungry cat ) (VP meows ) )``;
the closing bracket of the root ends the sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gardenpath.data.arrays import Ints
from gardenpath.data.batches.tensor_batch import TensorBatch
from gardenpath.data.encoding.encoded import EncodedSplit, depth_after
from gardenpath.data.trees.actions import Kind, Strategy
from gardenpath.data.trees.legality import MOST_OPEN, NO_ACTION_YET, legal_table
from gardenpath.data.words.vocabulary import BEGIN_ID, PAD_ID

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

        targets = padded(symbols_of(taken, vocabulary_size), PAD_ID)
        # Position t + 1 of the inputs holds symbol t.
        relative = np.where(innermost >= 0, innermost - starts + 1, 0)
        return BracketBatch(
            inputs=_shifted(targets, BEGIN_ID),
            targets=torch.from_numpy(targets),
            is_symbol=torch.from_numpy(is_symbol),
            is_word=torch.from_numpy(is_symbol & (targets < vocabulary_size)),
            legal=_shifted(padded(_legal_after(actions, legal_after), 0), legal_first),
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


def _legal_after(actions: Ints, legal_after: Ints) -> Ints:
    """Return the bits of the kinds that may come after each top-down action."""
    opened = np.minimum(depth_after(actions), MOST_OPEN)
    bits: Ints = legal_after[np.minimum(actions, Kind.OPEN), opened]
    return bits


def _shifted(values: Ints, first: int) -> Tensor:
    """Shift values one position to the right, with ``first`` in the first column."""
    result = np.empty_like(values)
    result[:, 0] = first
    result[:, 1:] = values[:, :-1]
    return torch.from_numpy(result)
