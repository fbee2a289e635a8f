"""Which pieces may be shifted, for models over pieces.

The pieces of a word follow directly on each other. After anything but a piece, a word begins;
after a piece, the word may continue or the next one begin; and the first word of an in-order
derivation can only continue before its constituent is known. The legal bits of a state
(:data:`LEGAL_PIECES`) say which of these holds.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gardenpath.data.arrays import Bools
from gardenpath.data.trees.actions import Kind
from gardenpath.data.trees.legality import BEGINS_BIT, BIT_SETS, CONTINUES_BIT

# The row of :func:`piece_bias` that allows pieces that begin a word, and no others.
BEGINS = BEGINS_BIT >> len(Kind)
_CONTINUES = CONTINUES_BIT >> len(Kind)


def piece_bias(is_continuation: Bools | None) -> Tensor | None:
    """``(rows, vocabulary)``: zero for pieces that may be shifted, else -inf; None for words."""
    if is_continuation is None:
        return None
    continues = torch.from_numpy(is_continuation)
    bias = torch.zeros(BIT_SETS >> len(Kind), len(continues))
    for row in range(len(bias)):
        if not row & _CONTINUES:
            bias[row, continues] = -torch.inf
        elif not row & BEGINS:
            bias[row, ~continues] = -torch.inf
    return bias


def piece_row(legal: Tensor) -> Tensor:
    """Return the row of :func:`piece_bias` for the legal bits of states."""
    return legal >> len(Kind)


def continuations(bias: Tensor | None) -> Tensor | None:
    """``(vocabulary,)``: whether a piece continues a word; None for words."""
    return None if bias is None else bias[BEGINS] == -torch.inf
