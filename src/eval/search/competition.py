"""Words that compete for places in the action beam, as published searches have it.

All successors of a group, structural ones and words, compete for the places of its action beam.
Words that find no place are lost, except for the best few of each step (*fast-track*; Stern et al.
2017).
"""

from __future__ import annotations

import torch
from torch import Tensor

from gardenpath.eval.search.next_pieces import NextPieces
from gardenpath.eval.search.search_settings import WordSync


class Competition:
    """Decides which words are admitted to the word beam; ``fast_track`` is the number of extras."""

    def __init__(self, settings: WordSync, fast_track: int) -> None:
        self._width = settings.action_beam
        self._fast_track = fast_track

    def admit(
        self, leading: Tensor, done: Tensor, pieces: NextPieces | None
    ) -> tuple[Tensor, Tensor]:
        """Return the scores of structural successors and of words that have a place."""
        last_place = self._last_place(leading, done, pieces=pieces)
        is_in = (done >= last_place) & (done > -torch.inf)
        admitted = done.masked_fill(~is_in, -torch.inf)
        if self._fast_track:
            # The best of those that fell off the action beam are admitted as well.
            outside = done.masked_fill(is_in, -torch.inf)
            score, place = outside.topk(min(self._fast_track, done.shape[1]), dim=1)
            admitted = admitted.scatter_reduce(1, place, score, "amax")
        return leading.masked_fill(leading < last_place, -torch.inf), admitted

    def needed(
        self, leading: Tensor, cheap: Tensor, score: Tensor, pieces: NextPieces | None
    ) -> tuple[Tensor, Tensor]:
        """Return scores of words that are certain of a place, and the score that others need.

        ``cheap`` are upper bounds of all words, ``score`` the scores of some of them. A word must
        either fit into the action beam, in competition with structural actions alone, or be among
        the best that do not.
        """
        at_worst = self._last_place(leading, cheap, pieces=pieces)
        sure = score.masked_fill(score < at_worst, -torch.inf)
        last_place = self._last_place(leading, pieces=pieces)
        outside = score.masked_fill(score >= last_place, -torch.inf)
        return sure, torch.minimum(last_place, self._bar(outside))

    def _last_place(self, *competitors: Tensor, pieces: NextPieces | None) -> Tensor:
        """Return ``(groups, 1)`` scores of the last slot of the action beam, ``-inf`` if empty."""
        scores = torch.cat(competitors, dim=1)
        if scores.shape[1] < self._width:
            return torch.full_like(scores[:, :1], -torch.inf)
        last_place = scores.topk(self._width, dim=1).values[:, -1:]
        if pieces is None:
            return last_place
        # Inside a word nothing competes: each hypothesis has one successor.
        return last_place.masked_fill(pieces.continues.unsqueeze(1), -torch.inf)

    def _bar(self, outside: Tensor) -> Tensor:
        """Return ``(groups, 1)`` scores needed to be admitted by fast-track."""
        count = self._fast_track
        if count == 0:
            return torch.full_like(outside[:, :1], torch.inf)
        if count > outside.shape[1]:
            return torch.full_like(outside[:, :1], -torch.inf)
        return outside.topk(count, dim=1).values[:, -1:]
