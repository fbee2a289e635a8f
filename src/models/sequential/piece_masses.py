"""Total probabilities of sets of pieces at each prediction (:mod:`piece_sets`)."""

from __future__ import annotations

import torch
from torch import Tensor

from gardenpath.data.words.boundaries import Boundary
from gardenpath.data.words.piece_sets import PieceSets
from gardenpath.data.words.vocabulary import END_ID

# Maximum number of log probabilities gathered at a time.
_MOST_GATHERED = 1 << 22


class PieceMasses:
    """Sums of the probabilities of pieces that a choice of boundaries needs, on a device."""

    def __init__(
        self, sets: PieceSets, boundary: Boundary, device: torch.device | str = "cpu"
    ) -> None:
        self._boundary = boundary
        self._follows_word = torch.from_numpy(sets.follows_word).to(device)
        self._sorted_ids = torch.from_numpy(sets.sorted_ids).to(device)
        self._ranges = torch.from_numpy(sets.ranges).to(device)

    def __call__(self, log_probs: Tensor, targets: Tensor) -> Tensor:
        """``(rows,)`` log masses, from ``(rows, vocabulary)`` log probabilities and targets."""
        if self._boundary == "next":
            return log_probs.masked_fill(~self._follows_word, -torch.inf).logsumexp(1)
        return self._of_alike(log_probs, targets)

    def _of_alike(self, log_probs: Tensor, targets: Tensor) -> Tensor:
        """Sum over all pieces that begin with the target."""
        own = log_probs.gather(1, targets.unsqueeze(1)).squeeze(1)
        begin, end = self._ranges[targets].unbind(1)
        longest = int((end - begin).max()) if len(targets) else 0
        if longest <= 1:
            return own
        parts = []
        rows = max(1, _MOST_GATHERED // longest)
        steps = torch.arange(longest, device=targets.device)
        for start in range(0, len(targets), rows):
            chosen = slice(start, start + rows)
            places = begin[chosen, None] + steps
            is_alike = places < end[chosen, None]
            ids = self._sorted_ids[places.clamp(max=len(self._sorted_ids) - 1)]
            parts.append(
                log_probs[chosen].gather(1, ids).masked_fill(~is_alike, -torch.inf).logsumexp(1)
            )
        # The end of the sentence, and unknown characters, begin like nothing else.
        has_range = end > begin
        return torch.where(has_range & (targets != END_ID), torch.cat(parts), own)
