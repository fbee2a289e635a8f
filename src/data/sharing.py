"""How much of a job was common to its sentences, and so computed once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sharing:
    """What the sharing of prefixes saved: predictions of a job (``tokens``: its tokens and the ends
    of its sentences), and how many of them were computed.
    """

    tokens: int
    computed: int

    @property
    def saved(self) -> float:
        """The share that was saved."""
        return 1 - self.computed / self.tokens if self.tokens else 0.0
