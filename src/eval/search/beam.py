"""Hypotheses as a grid of tensors: one row per group, one column per slot of its beam."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor
from torch.nn import functional

from gardenpath.eval.search.protocol import ROOT_NODE

# Padding after the last action of a trail.
NO_ACTION = -1


@dataclass(frozen=True)
class Beam:
    """``(groups, width)`` hypotheses; a score of ``-inf`` marks an empty slot.

    ``score``: log joint probability of words and tree so far. ``node``: the model's node.
    ``depth``: number of open constituents. ``opened``: number of constituents opened since the last
    word. ``origin``: slot in the beam of the last word. ``trail``: ``(groups, width, steps)``
    columns taken since the last word.
    """

    score: Tensor
    node: Tensor
    depth: Tensor
    opened: Tensor
    origin: Tensor
    trail: Tensor

    @property
    def is_alive(self) -> Tensor:
        """``(groups, width)``: whether a slot contains a hypothesis."""
        return self.score > -torch.inf

    def pick(self, places: Tensor, score: Tensor) -> Beam:
        """Return the hypotheses in the given ``(groups, width)`` slots, with new scores."""
        return Beam(
            score=score,
            node=self.node.gather(1, places),
            depth=self.depth.gather(1, places),
            opened=self.opened.gather(1, places),
            origin=self.origin.gather(1, places),
            trail=_gather_trails(self.trail, places),
        )

    def rows(self, groups: Tensor) -> Beam:
        """Return the given groups in the given order; a group may occur more than once."""
        return replace(
            self, **{f.name: getattr(self, f.name).index_select(0, groups) for f in fields(self)}
        )

    def front(self, width: int) -> Beam:
        """Return the first ``width`` slots of each group."""
        return replace(self, **{f.name: getattr(self, f.name)[:, :width] for f in fields(self)})

    def padded(self, steps: int) -> Beam:
        """Return the same beam with trails padded to ``steps``."""
        missing = steps - self.trail.shape[2]
        trail = functional.pad(self.trail, (0, missing), value=NO_ACTION) if missing else self.trail
        return replace(self, trail=trail)


def _gather_trails(trail: Tensor, places: Tensor) -> Tensor:
    index = places.unsqueeze(2).expand(-1, -1, trail.shape[2])
    return trail.gather(1, index)


def beside(left: Beam, right: Beam) -> Beam:
    """Concatenate the slots of two beams of the same groups."""
    steps = max(left.trail.shape[2], right.trail.shape[2])
    left, right = left.padded(steps), right.padded(steps)
    return Beam(
        *(torch.cat([getattr(left, f.name), getattr(right, f.name)], dim=1) for f in fields(Beam))
    )


def below(upper: Beam, lower: Beam) -> Beam:
    """Concatenate the groups of two beams of the same width."""
    return Beam(
        *(torch.cat([getattr(upper, f.name), getattr(lower, f.name)]) for f in fields(Beam))
    )


def root_beam(groups: int, width: int, *, device: torch.device, dtype: torch.dtype) -> Beam:
    """Return groups at the start of a sentence: one hypothesis each, with probability one."""
    score = torch.full((groups, width), -torch.inf, dtype=dtype, device=device)
    score[:, 0] = 0.0
    zeros = torch.zeros((groups, width), dtype=torch.long, device=device)
    return after_word(score, torch.full_like(zeros, ROOT_NODE), zeros)


def after_word(score: Tensor, node: Tensor, depth: Tensor) -> Beam:
    """Return a beam that has just read a word, with empty trails."""
    groups, width = score.shape
    zeros = torch.zeros_like(node)
    return Beam(
        score=score,
        node=node,
        depth=depth,
        opened=zeros,
        origin=torch.arange(width, device=node.device).expand(groups, width),
        trail=torch.zeros((groups, width, 0), dtype=torch.int16, device=node.device),
    )


def best(beam: Beam, width: int) -> Beam:
    """Return the ``width`` best hypotheses of each group, best first."""
    if beam.score.shape[1] < width:
        beam = _widened(beam, width)
    score, places = beam.score.topk(width, dim=1)
    return beam.pick(places, score)


def _widened(beam: Beam, width: int) -> Beam:
    missing = width - beam.score.shape[1]
    grow = {
        f.name: functional.pad(getattr(beam, f.name), (0, missing))
        for f in fields(beam)
        if f.name not in ("score", "trail")
    }
    return replace(
        beam,
        score=functional.pad(beam.score, (0, missing), value=-torch.inf),
        trail=functional.pad(beam.trail, (0, 0, 0, missing), value=NO_ACTION),
        **grow,
    )
