"""Beams that both tools of a comparison understand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from gardenpath.eval.search.settings import WordSync
from gardenpath.util import Words


@dataclass(frozen=True)
class Beams:
    """The three sizes of a word-synchronous beam search."""

    action_beam: int = 100
    word_beam: int = 10
    fast_track: int = 1

    def __str__(self) -> str:
        return f"{self.action_beam}/{self.word_beam}/{self.fast_track}"

    def ours(self) -> WordSync:
        """Return our search with these beams and the default rules."""
        return WordSync(
            action_beam=self.action_beam, word_beam=self.word_beam, fast_track=self.fast_track
        )


def parse_beams(text: str) -> Beams:
    """Read ``100/10/1``: action beam, word beam, fast track."""
    return Beams(*(int(size) for size in text.split("/")))


class Peer(Protocol):
    """A published implementation, with the weights of a run.

    ``batches``: numbers of sentences that it may search together. ``usual_beams``: those of its
    documentation. ``ladder``: beams for the table of error and cost. ``same_beams``,
    ``same_search``: beams and our settings with which both search the same hypotheses, so that
    surprisals agree.
    """

    name: str
    batches: tuple[int, ...]
    usual_beams: Beams
    ladder: tuple[str, ...]
    same_beams: Beams
    same_search: WordSync

    @property
    def states(self) -> int | None:
        """Number of hypotheses scored since the beginning; None if they are not counted."""

    def log_probs(
        self, sentences: Sequence[Words], beams: Beams, *, batch: int = 1
    ) -> list[list[float]]:
        """Return the log probabilities (nats) of the words of sentences and, last, of the ends.

        The last is NaN if the implementation does not compute it.
        """
