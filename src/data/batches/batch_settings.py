"""Settings of batch sizes."""

from __future__ import annotations

from dataclasses import dataclass

from gardenpath.settings.bounds import NonNegativeInt, PositiveInt


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSettings:
    """Limits on the size of a batch, whichever is reached first, and the number of workers."""

    max_tokens: PositiveInt = 4096
    """Maximum number of tokens in a batch, including padding."""
    max_sentences: PositiveInt = 64
    """Maximum number of sentences in a batch."""
    workers: NonNegativeInt = 0
    """Number of worker processes that build batches; 0 builds them in the training process."""
