"""Hypotheses as a grid of tensors: one row per group, one column per slot of its beam."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from gardenpath.eval.search.protocol import ROOT_NODE

# The integers of a hypothesis, as columns of one tensor.
NODE, DEPTH, OPENED, ORIGIN, ENTRY = range(5)
INTEGERS = 5

# The further numbers of a hypothesis.
_JOINT, _LAST = range(2)
NUMBERS = 2


@dataclass(frozen=True)
class Beam:
    """``(groups, width)`` hypotheses; a score of ``-inf`` marks an empty slot.

    ``score``: log joint probability of words and tree so far, or the log weight of a sampled
    hypothesis. ``integers``: ``(groups, width, 5)``, see the properties. ``numbers``: ``(groups,
    width, 2)``, or None where they are not needed, see the properties.
    """

    score: Tensor
    integers: Tensor
    numbers: Tensor | None = None

    @property
    def is_alive(self) -> Tensor:
        """``(groups, width)``: whether a slot contains a hypothesis."""
        return self.score > -torch.inf

    @property
    def node(self) -> Tensor:
        """The model's node."""
        return self.integers[..., NODE]

    @property
    def depth(self) -> Tensor:
        """Number of open constituents."""
        return self.integers[..., DEPTH]

    @property
    def opened(self) -> Tensor:
        """Number of constituents opened since the last word."""
        return self.integers[..., OPENED]

    @property
    def origin(self) -> Tensor:
        """Slot in the beam of the last word."""
        return self.integers[..., ORIGIN]

    @property
    def entry(self) -> Tensor:
        """Last entry in the history of actions since the last word; -1 if there is none."""
        return self.integers[..., ENTRY]

    @property
    def joint(self) -> Tensor:
        """Log joint probability of words and tree so far."""
        return self.score if self.numbers is None else self.numbers[..., _JOINT]

    @property
    def last(self) -> Tensor:
        """Log probability of the last word, given everything before it; zero at the end."""
        assert self.numbers is not None
        return self.numbers[..., _LAST]

    def pick(self, places: Tensor, score: Tensor) -> Beam:
        """Return the hypotheses in the given ``(groups, width)`` slots, with new scores."""
        index = places.unsqueeze(2)
        numbers = self.numbers
        return Beam(
            score=score,
            integers=self.integers.gather(1, index.expand(-1, -1, INTEGERS)),
            numbers=None if numbers is None else numbers.gather(1, index.expand(-1, -1, NUMBERS)),
        )

    def rows(self, groups: Tensor) -> Beam:
        """Return the given groups in the given order; a group may occur more than once."""
        numbers = self.numbers
        return Beam(
            score=self.score.index_select(0, groups),
            integers=self.integers.index_select(0, groups),
            numbers=None if numbers is None else numbers.index_select(0, groups),
        )

    def front(self, width: int) -> Beam:
        """Return the first ``width`` slots of each group."""
        numbers = self.numbers
        return Beam(
            score=self.score[:, :width],
            integers=self.integers[:, :width],
            numbers=None if numbers is None else numbers[:, :width],
        )

    def with_nodes(self, nodes: Tensor) -> Beam:
        """Return the same hypotheses at other ``(groups, width)`` nodes."""
        others = self.integers[..., NODE + 1 :]
        return replace(self, integers=torch.cat([nodes.unsqueeze(2), others], dim=2))


def beside(left: Beam, right: Beam) -> Beam:
    """Concatenate the slots of two beams of the same groups."""
    return _joined(left, right, dim=1)


def below(upper: Beam, lower: Beam) -> Beam:
    """Concatenate the groups of two beams of the same width."""
    return _joined(upper, lower, dim=0)


def _joined(one: Beam, other: Beam, dim: int) -> Beam:
    has_numbers = one.numbers is not None and other.numbers is not None
    return Beam(
        score=torch.cat([one.score, other.score], dim),
        integers=torch.cat([one.integers, other.integers], dim),
        numbers=torch.cat([one.numbers, other.numbers], dim) if has_numbers else None,  # type: ignore[list-item]
    )


def root_beam(groups: int, width: int, *, device: torch.device, dtype: torch.dtype) -> Beam:
    """Return groups at the start of a sentence: one hypothesis each, with probability one."""
    score = torch.full((groups, width), -torch.inf, dtype=dtype, device=device)
    score[:, 0] = 0.0
    zeros = torch.zeros((groups, width), dtype=torch.long, device=device)
    return after_word(score, score, torch.full_like(zeros, ROOT_NODE), zeros)


def after_word(score: Tensor, joint: Tensor, node: Tensor, depth: Tensor) -> Beam:
    """Return a beam that has just read a word."""
    groups, width = score.shape
    origin = torch.arange(width, device=node.device).expand(groups, width)
    none = torch.full_like(node, -1)
    return Beam(
        score=score,
        integers=torch.stack([node, depth, torch.zeros_like(node), origin, none], dim=2),
        numbers=torch.stack([joint, torch.zeros_like(joint)], dim=2),
    )


def best(beam: Beam, width: int) -> Beam:
    """Return the ``width`` best hypotheses of each group, best first."""
    missing = width - beam.score.shape[1]
    if missing > 0:
        beam = _widened(beam, missing)
    score, places = beam.score.topk(width, dim=1)
    return beam.pick(places, score)


def _widened(beam: Beam, slots: int) -> Beam:
    """Return the beam with more empty slots."""
    numbers = beam.numbers
    return Beam(
        score=functional.pad(beam.score, (0, slots), value=-torch.inf),
        integers=functional.pad(beam.integers, (0, 0, 0, slots)),
        numbers=None if numbers is None else functional.pad(numbers, (0, 0, 0, slots)),
    )


def empty_like(beam: Beam, width: int) -> Beam:
    """Return a beam of the same groups without hypotheses."""
    score, integers, numbers = beam.score, beam.integers, beam.numbers
    shape = (len(score), width)
    return Beam(
        score=torch.full(shape, -torch.inf, dtype=score.dtype, device=score.device),
        integers=integers.new_zeros((*shape, INTEGERS)),
        numbers=None if numbers is None else numbers.new_zeros((*shape, NUMBERS)),
    )


@dataclass(frozen=True)
class WordLimit:
    """Which hypotheses survive the end of a word: the first ``width``.

    With a ``margin`` (nats), only those of them that are not less probable than the first one by
    more than that; hypotheses are then sorted, best first.
    """

    width: int
    margin: float | None = None

    def of_beam(self, beam: Beam) -> Beam:
        """Return the survivors."""
        front = beam.front(self.width)
        return replace(front, score=self.of_scores(front.score))

    def of_scores(self, score: Tensor) -> Tensor:
        """Return ``(groups, slots)`` scores, ``-inf`` below the margin."""
        if self.margin is None:
            return score
        return score.masked_fill(score < score[:, :1] - self.margin, -torch.inf)
