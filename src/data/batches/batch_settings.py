"""How large batches are."""

from __future__ import annotations

from dataclasses import dataclass

from gardenpath.settings.bounds import NonNegativeInt, PositiveInt


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSettings:
    """Limits of a batch, whichever is reached first, and who makes batches."""

    max_tokens: PositiveInt = 4096
    """Most tokens in a batch, padding included."""
    max_sentences: PositiveInt = 64
    """Most sentences in a batch."""
    workers: NonNegativeInt = 0
    """Worker processes that make batches; 0 makes them in the training process."""
