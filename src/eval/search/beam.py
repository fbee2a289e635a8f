"""Hypotheses as a grid of tensors (one row per group, one column per slot of its beam), and steps.

Both expansions (:mod:`expansion`, :mod:`unbiased`) are made of these: beams, the next token of each
group if words consist of pieces, and one action of all open hypotheses (:class:`Stepper`). What is
kept is decided there, not here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from gardenpath.data.arrays import Ints
from gardenpath.data.sentence import Prefix
from gardenpath.data.trees.legality import Column
from gardenpath.eval.search.protocol import ROOT_NODE, CountedModel, TransitionModel, Work
from gardenpath.eval.search.settings import Limits

# The integers of a hypothesis, as columns of one tensor.
NODE, DEPTH, OPENED, ORIGIN, ENTRY = range(5)
INTEGERS = 5

# The further numbers of a hypothesis.
_JOINT, _LAST = range(2)


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

    def _with(self, score: Tensor, change: Callable[[Tensor], Tensor]) -> Beam:
        """Return the hypotheses with new scores and all else changed in the same way."""
        numbers = self.numbers
        return Beam(score, change(self.integers), None if numbers is None else change(numbers))

    def pick(self, places: Tensor, score: Tensor) -> Beam:
        """Return the hypotheses in the given ``(groups, width)`` slots, with new scores."""
        index = places.unsqueeze(2)
        return self._with(score, lambda all_: all_.gather(1, index.expand(-1, -1, all_.shape[2])))

    def rows(self, groups: Tensor) -> Beam:
        """Return the given groups in the given order; a group may occur more than once."""
        return self._with(
            self.score.index_select(0, groups), lambda all_: all_.index_select(0, groups)
        )

    def front(self, width: int) -> Beam:
        """Return the first ``width`` slots of each group."""
        return self._with(self.score[:, :width], lambda all_: all_[:, :width])

    def widened(self, slots: int) -> Beam:
        score = functional.pad(self.score, (0, slots), value=-torch.inf)
        return self._with(score, lambda all_: functional.pad(all_, (0, 0, 0, slots)))

    def empty(self, width: int) -> Beam:
        score = self.score.new_full((len(self.score), width), -torch.inf)
        return self._with(score, lambda all_: all_.new_zeros((len(score), width, all_.shape[2])))

    def with_nodes(self, nodes: Tensor) -> Beam:
        """Return the same hypotheses at other ``(groups, width)`` nodes."""
        others = self.integers[..., NODE + 1 :]
        return replace(self, integers=torch.cat([nodes.unsqueeze(2), others], dim=2))


def joined(first: Beam, second: Beam, *, dim: int) -> Beam:
    """Concatenate the groups of two beams of equal width (0), or the slots of equal groups (1)."""
    has_numbers = first.numbers is not None and second.numbers is not None
    return Beam(
        score=torch.cat([first.score, second.score], dim),
        integers=torch.cat([first.integers, second.integers], dim),
        numbers=torch.cat([first.numbers, second.numbers], dim) if has_numbers else None,  # type: ignore[list-item]
    )


def root_beam(groups: int, width: int, *, device: torch.device, dtype: torch.dtype) -> Beam:
    """Return groups at the start of a sentence: one hypothesis each, with probability one."""
    score = torch.full((groups, width), -torch.inf, dtype=dtype, device=device)
    score[:, 0] = 0.0
    zeros = torch.zeros((groups, width), dtype=torch.long, device=device)
    return after_word(score, score, torch.full_like(zeros, ROOT_NODE), zeros)


def after_word(score: Tensor, joint: Tensor, node: Tensor, depth: Tensor) -> Beam:
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
        beam = beam.widened(missing)
    score, places = beam.score.topk(width, dim=1)
    return beam.pick(places, score)


@dataclass(frozen=True)
class WordLimit:
    """Which hypotheses survive the end of a word: the first ``width``.

    With a ``margin`` (nats), only those of them that are not less probable than the first one by
    more than that; hypotheses are then sorted, best first.
    """

    width: int
    margin: float | None = None

    def of_beam(self, beam: Beam) -> Beam:
        front = beam.front(self.width)
        return replace(front, score=self.of_scores(front.score))

    def of_scores(self, score: Tensor) -> Tensor:
        """Return ``(groups, slots)`` scores, ``-inf`` below the margin."""
        if self.margin is None:
            return score
        return score.masked_fill(score < score[:, :1] - self.margin, -torch.inf)


# ----------------------------------------------------------------------------
# Words of several pieces: what the search has to know about the next token of each group.
#
# A hypothesis has exactly one successor inside a word, because the pieces of a word follow
# directly on each other. The word beam therefore prunes where words end; between the pieces of a
# word, as many hypotheses are kept as the action beam holds. Whether a word ends is known when the
# next token is read.


@dataclass(frozen=True)
class Next:
    """What follows a group: a token, or the end of the sentence (``prefix`` is None).

    ``continues``: whether the token continues the word before it; ``goes_on``: whether the word
    continues after the token in some sentence; ``ends``: whether it ends there in some sentence.
    """

    parent: int
    token: int
    prefix: Prefix | None
    continues: bool = False
    goes_on: bool = False
    ends: bool = True


def tokens_after(
    prefixes: Iterable[Prefix], is_continuation: Sequence[bool] | None
) -> Iterator[Next]:
    """Yield what follows the prefixes of groups; ``is_continuation``, by token, is for pieces."""
    for number, prefix in enumerate(prefixes):
        if prefix.sentences:
            yield Next(number, 0, None)
        for token, child in prefix.children.items():
            if is_continuation is None:
                yield Next(number, token, child)
                continue
            continued = [is_continuation[later] for later in child.children]
            yield Next(
                number, token, child, continues=is_continuation[token], goes_on=any(continued),
                ends=bool(child.sentences) or not all(continued),
            )  # fmt: skip


@dataclass(frozen=True)
class NextPieces:
    """How the next token of each group relates to words, for models over pieces.

    ``continues``: ``(groups,)`` whether the token continues the word before it; ``all_continue``:
    whether all do. ``kept``: ``(groups, 1)`` number of hypotheses to keep after the token, more if
    the word goes on in some sentence; ``width``: room for all of them.
    """

    continues: Tensor
    all_continue: bool
    kept: Tensor
    width: int


def next_pieces(
    tokens: Sequence[Next],
    *,
    width: int,
    word_width: int,
    replicates: int = 1,
    is_packed: bool,
    device: torch.device,
) -> NextPieces:
    """Describe the next tokens; ``width`` hypotheses survive a piece, ``word_width`` a word."""
    kept = [width if token.goes_on else word_width for token in tokens for _ in range(replicates)]
    continues = [token.continues for token in tokens for _ in range(replicates)]
    return NextPieces(
        continues=torch.tensor(continues, device=device),
        all_continue=all(continues),
        kept=torch.tensor(kept, device=device).unsqueeze(1),
        # With fixed shapes, there is always room for all.
        width=max(kept) if is_packed else width,
    )


def first_slots(beam: Beam, count: Tensor) -> Beam:
    """Drop all but the first slots of each group; ``count`` is ``(groups, 1)``."""
    place = torch.arange(beam.score.shape[1], device=beam.score.device)
    return replace(beam, score=beam.score.masked_fill(place >= count, -torch.inf))


# ----------------------------------------------------------------------------
# One action of all open hypotheses: their successors, limits, and the nodes they lead to.


# With fixed shapes, the number of actions between two checks for remaining hypotheses.
_STEPS_BETWEEN_LOOKS = 6

# Padding after the last action of a trail.
NO_ACTION = -1


class Stepper:
    """Advances hypotheses action by action.

    ``is_packed``: the network is run on live hypotheses only, which requires counting them;
    otherwise it is run on all slots, and shapes do not depend on what was found.
    """

    def __init__(
        self, model: TransitionModel, limits: Limits, *, is_packed: bool, work: Work
    ) -> None:
        self.model = model
        self.is_packed = is_packed
        self._work = work
        self.counted = CountedModel(model, work, is_shared=False)
        device = model.device
        # In the order of the integers of a hypothesis.
        self._limits = torch.tensor([limits.max_open, limits.max_consecutive], device=device)
        columns = Column.FIRST_OPEN + model.label_count
        self._change = torch.zeros((columns, INTEGERS), dtype=torch.long, device=device)
        self._change[Column.CLOSE, DEPTH] = -1
        self._change[Column.FIRST_OPEN :, [DEPTH, OPENED]] = 1

    def begin(self, *, are_shared: bool) -> None:
        """Prepare for a token; ``are_shared``: groups have common nodes, to be computed once."""
        self.counted = CountedModel(self.model, self._work, is_shared=self.is_packed and are_shared)

    def successors(
        self, beam: Beam, is_end: Tensor, pieces: NextPieces | None
    ) -> tuple[Tensor, Tensor]:
        """Return the scores of all successors, and which limits excluded some of them.

        ``(groups, width, columns)`` scores, ``-inf`` for what is illegal or beyond a limit;
        ``(groups, 2)`` whether there were too many open, or too many opened constituents.
        """
        is_alive = beam.is_alive
        rows = self.rows(is_alive)
        log_probs = self.model.log_probs(self.at(beam.node, rows))
        result = beam.score.unsqueeze(2) + self.spread(log_probs, rows, beam.score.shape)
        if not self.is_packed:
            # With fixed shapes the model also scores empty slots; these scores are meaningless.
            result = result.masked_fill(~is_alive.unsqueeze(2), -torch.inf)
        opens = result[..., Column.FIRST_OPEN :]
        if not self.model.opens_at_end:
            opens.masked_fill_(is_end.view(-1, 1, 1), -torch.inf)
        may_open = opens.amax(2, keepdim=True) > -torch.inf
        over = (beam.integers[..., DEPTH : OPENED + 1] >= self._limits) & may_open
        opens.masked_fill_(over.any(2, keepdim=True), -torch.inf)
        if pieces is not None:
            # Inside a word, only the next piece can come.
            result[..., Column.WORD + 1 :].masked_fill_(pieces.continues.view(-1, 1, 1), -torch.inf)
        return result, over.any(1)

    def words(self, nodes: Tensor, bound: Tensor, wanted: Tensor, words: Tensor) -> Tensor:
        """Return ``(groups, width)`` log probabilities of the word, ``-inf`` if not ``wanted``."""
        rows = self.rows(wanted)
        log_prob = self.counted.word_log_prob(self.at(nodes, rows), self.at(words, rows))
        result = self.spread(log_prob.unsqueeze(1), rows, bound.shape).squeeze(2)
        return result if self.is_packed else result.masked_fill(~wanted, -torch.inf)

    def advance(self, chosen: Beam, column: Tensor, history: History | None = None) -> Beam:
        """Take ``(groups, width)`` actions; the network is run on live hypotheses only."""
        rows = self.rows(chosen.is_alive)
        new = self.counted.advance(self.at(chosen.node, rows), self.at(column, rows))
        integers = chosen.integers + self._change[column]
        if self.is_packed:
            integers.view(-1, INTEGERS)[rows, NODE] = new
        else:
            integers[..., NODE] = new.view(column.shape)
        if history is not None:
            integers[..., ENTRY] = history.add(chosen.entry, column)
        return replace(chosen, integers=integers)

    def goes_on(self, beam: Beam, number: int) -> bool:
        """Whether open hypotheses are left after a step; with fixed shapes, they may be none."""
        if self.is_packed:
            return beam.score.shape[1] > 0
        if (number + 1) % _STEPS_BETWEEN_LOOKS:
            return True
        return bool(beam.is_alive.any())

    def rows(self, mask: Tensor) -> Tensor:
        """Return the indices of the rows to compute: those in the mask if packed, else all."""
        if self.is_packed:
            return mask.flatten().nonzero().squeeze(1)
        return torch.arange(mask.numel(), device=mask.device)

    def at(self, values: Tensor, rows: Tensor) -> Tensor:
        """Return ``(groups, width)`` values of some rows, in their order."""
        flat = values.flatten()
        return flat.index_select(0, rows) if self.is_packed else flat

    def spread(self, values: Tensor, rows: Tensor, shape: torch.Size) -> Tensor:
        """Write computed rows back into the grid, ``-inf`` elsewhere."""
        if not self.is_packed:
            return values.view(*shape, -1)
        result = values.new_full((shape.numel(), values.shape[1]), -torch.inf)
        return result.index_copy_(0, rows, values).view(*shape, -1)


class History:
    """The actions taken since the last word, as entries that point to the entry before."""

    def __init__(self) -> None:
        self._before: list[Tensor] = []
        self._column: list[Tensor] = []
        self._size = 0

    def add(self, before: Tensor, column: Tensor) -> Tensor:
        """Add an entry for each slot; return their numbers."""
        self._before.append(before.flatten())
        self._column.append(column.flatten())
        number = torch.arange(self._size, self._size + column.numel(), device=column.device)
        self._size += column.numel()
        return number.view_as(column)

    def trails(self, last: Tensor) -> npt.NDArray[np.int16]:
        """``(…, steps)`` columns up to the given entries, padded with :data:`NO_ACTION`."""
        entry: Ints = last.cpu().numpy()
        steps = []
        if self._size:
            before: Ints = torch.cat(self._before).cpu().numpy()
            column: Ints = torch.cat(self._column).cpu().numpy()
            while (entry >= 0).any():
                steps.append(np.where(entry >= 0, column[entry.clip(min=0)], NO_ACTION))
                entry = np.where(entry >= 0, before[entry.clip(min=0)], -1)
        if not steps:
            return np.zeros((*last.shape, 0), dtype=np.int16)
        backward = np.stack(steps, axis=-1)
        # The padding moves behind the actions, which are in backward order.
        order = np.argsort(backward == NO_ACTION, axis=-1, kind="stable")
        kept = np.take_along_axis(backward, order, axis=-1)
        count = (kept != NO_ACTION).sum(-1, keepdims=True)
        place = np.arange(kept.shape[-1])
        turned = np.take_along_axis(kept, np.where(place < count, count - 1 - place, place), -1)
        return turned.astype(np.int16)
