"""Batches of tokens, for sequential models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gardenpath.data.arrays import Ints
from gardenpath.data.batches.tensor_batch import TensorBatch
from gardenpath.data.encoding.encoded import EncodedSplit
from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID, PAD_ID


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
