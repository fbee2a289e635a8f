"""One action of all open hypotheses: their successors, limits, and the nodes they lead to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gardenpath.data.arrays import Ints
from gardenpath.data.trees.actions import Column
from gardenpath.eval.search.beam import DEPTH, ENTRY, INTEGERS, NODE, OPENED, Beam
from gardenpath.eval.search.next_pieces import NextPieces
from gardenpath.eval.search.protocol import TransitionModel
from gardenpath.eval.search.search_settings import Limits
from gardenpath.eval.search.work import CountedModel, Work

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
        self._change = torch.zeros((len(model.is_open), INTEGERS), dtype=torch.long, device=device)
        self._change[:, DEPTH] = model.is_open.long() - model.is_close.long()
        self._change[:, OPENED] = model.is_open.long()

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
        found = self.spread(log_prob.unsqueeze(1), rows, bound.shape).squeeze(2)
        return found if self.is_packed else found.masked_fill(~wanted, -torch.inf)

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
