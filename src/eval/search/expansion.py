"""Expansion of hypotheses from one word to the next with an action beam.

Open hypotheses advance action by action. All successors of a group compete for the slots of its
action beam. Successors that generate the word (or end the sentence after its last word) leave the
action beam and enter the word beam. *Fast-track* also admits the best of those that fell off the
action beam.

Log probabilities can only decrease as a derivation grows. Once the word beam is full, an open
hypothesis that scores below its last slot can therefore never enter and is dropped (``bounded``).
The probability of the word itself is the most expensive operation, so a cheap upper bound is
computed first; if even the bound does not reach the word beam, the probability is not computed
(``lazy_words``). Neither changes the survivors: the rank of a hypothesis above the last slot of the
word beam depends only on hypotheses that are also above it, and none of these is ever dropped.

For models over pieces, the word beam prunes where words end (:mod:`next_pieces`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gardenpath.data.trees.actions import Column
from gardenpath.eval.search.beam import Beam, beside, best
from gardenpath.eval.search.next_pieces import NextPieces, first_slots
from gardenpath.eval.search.protocol import TransitionModel
from gardenpath.eval.search.search_settings import WordSync
from gardenpath.eval.search.work import CountedModel, Work

# With fixed shapes, the number of actions between two checks for remaining hypotheses.
_STEPS_BETWEEN_LOOKS = 6

# Larger than any rounding error of a log probability, too small to affect results.
_ROUNDING = 1e-3


# The tokens that each group has read so far; they seed the random numbers of particle filtering.
Prefixes = Sequence[tuple[int, ...]]


@dataclass(frozen=True)
class Found:
    """Result of an expansion to the next word of each group.

    ``beam``: the survivors, best first, before they read the word. ``log_prob``: ``(groups,)`` log
    probability of the prefix including the word; if it is a piece, as if it were the last one.
    ``too_many_open``, ``too_many_opened``: whether a limit excluded hypotheses.
    """

    beam: Beam
    log_prob: Tensor
    too_many_open: Tensor
    too_many_opened: Tensor


@dataclass(frozen=True)
class _Leading:
    """The best structural successors of each group, best first, up to the action beam width.

    ``parent``: slot of the hypothesis they extend; ``column``: the action that extends it.
    """

    score: Tensor
    parent: Tensor
    column: Tensor


class BeamExpansion:
    """Finds the hypotheses that generate the next word, for many groups at once."""

    def __init__(
        self, model: TransitionModel, settings: WordSync, *, is_packed: bool, work: Work
    ) -> None:
        self._model = model
        self._settings = settings
        # Packed: the network is run on live hypotheses only, which requires counting them.
        self._is_packed = is_packed
        self._counted = CountedModel(model, work, is_shared=is_packed and settings.share_prefixes)
        self._most_steps = settings.max_open + 2 * settings.max_consecutive + 2

    width_setting = "action_beam"

    @property
    def word_width(self) -> int:
        """Maximum number of hypotheses that survive a word."""
        return self._settings.word_beam

    @property
    def width(self) -> int:
        """Maximum number of hypotheses that survive a token, a word or a piece."""
        if self._model.is_continuation is None:
            return self.word_width
        return max(self.word_width, self._settings.action_beam)

    def group_bytes(self, length: int) -> int:
        """Estimate the memory, in bytes, of a group that reads a sentence of ``length`` tokens."""
        return self._model.group_bytes(
            action_beam=self._settings.action_beam, word_beam=self.width, length=length
        )

    def run(
        self,
        beam: Beam,
        words: Tensor,
        is_end: Tensor,
        prefixes: Prefixes,
        pieces: NextPieces | None = None,
    ) -> Found:
        """Expand each group to its next word, or to the end of the sentence where ``is_end``."""
        settings = self._settings
        width = settings.word_beam if pieces is None else pieces.width
        completed = _empty_like(beam, width)
        admitted_log_prob = torch.full_like(beam.score[:, 0], -torch.inf)
        admitted_count = torch.zeros_like(words)
        hit_open = torch.zeros_like(is_end)
        hit_opened = torch.zeros_like(is_end)
        for step in range(self._most_steps):
            if not self._goes_on(beam, step):
                break
            successors = self._successors(beam, is_end, pieces)
            over_open, over_opened = self._over_limits(beam, successors)
            hit_open |= over_open.any(2).any(1)
            hit_opened |= over_opened.any(2).any(1)
            successors = successors.masked_fill(over_open | over_opened, -torch.inf)
            leading = self._leading(successors)
            done = self._done(beam, successors, leading, completed, words, is_end, pieces)
            open_beam, admitted = self._compete(beam, leading, done, pieces)
            completed = best(beside(completed, replace(beam, score=admitted)), width)
            admitted_log_prob = torch.logaddexp(admitted_log_prob, admitted.logsumexp(1))
            admitted_count = admitted_count + (admitted > -torch.inf).sum(1)
            if pieces is not None and pieces.all_continue:
                break
            beam = self._advance(self._still_open(open_beam, completed, admitted_count, pieces))
        survivors = completed.score[:, : settings.word_beam].logsumexp(1)
        return Found(
            beam=completed if pieces is None else first_slots(completed, pieces.kept),
            log_prob=survivors if settings.marginal == "survivors" else admitted_log_prob,
            too_many_open=hit_open,
            too_many_opened=hit_opened,
        )

    def _goes_on(self, beam: Beam, step: int) -> bool:
        if not self._is_packed and step % _STEPS_BETWEEN_LOOKS:
            return True
        return bool(beam.is_alive.any())

    def _successors(self, beam: Beam, is_end: Tensor, pieces: NextPieces | None) -> Tensor:
        """Return the ``(groups, width, columns)`` scores of all successors."""
        rows = self._rows(beam.is_alive)
        log_probs = self._model.log_probs(beam.node.flatten()[rows])
        result = beam.score.unsqueeze(2) + self._spread(log_probs, rows, beam.score.shape)
        # With fixed shapes the model also scores empty slots; these scores are meaningless.
        result = result.masked_fill(~beam.is_alive.unsqueeze(2), -torch.inf)
        if not self._model.opens_at_end:
            never = is_end.view(-1, 1, 1) & self._model.is_open
            result = result.masked_fill(never, -torch.inf)
        if pieces is not None:
            # Inside a word, only the next piece can come.
            result[..., Column.WORD + 1 :].masked_fill_(pieces.continues.view(-1, 1, 1), -torch.inf)
        return result

    def _over_limits(self, beam: Beam, successors: Tensor) -> tuple[Tensor, Tensor]:
        """Return masks of successors that exceed the limits on open and on opened constituents."""
        opens = self._model.is_open & (successors > -torch.inf)
        deep = (beam.depth >= self._settings.max_open).unsqueeze(2)
        many = (beam.opened >= self._settings.max_consecutive).unsqueeze(2)
        return opens & deep, opens & many

    def _leading(self, successors: Tensor) -> _Leading:
        actions = successors[..., Column.CLOSE :]
        flat = actions.flatten(1)
        score, place = flat.topk(min(self._settings.action_beam, flat.shape[1]), dim=1)
        columns = actions.shape[2]
        return _Leading(score, parent=place // columns, column=place % columns + Column.CLOSE)

    def _done(
        self,
        beam: Beam,
        successors: Tensor,
        leading: _Leading,
        completed: Beam,
        words: Tensor,
        is_end: Tensor,
        pieces: NextPieces | None,
    ) -> Tensor:
        """Return the ``(groups, width)`` scores of hypotheses that generate the word or end."""
        bound = successors[..., Column.WORD].masked_fill(is_end.unsqueeze(1), -torch.inf)
        flat_words = words.unsqueeze(1).expand_as(bound).flatten()
        settings = self._settings
        if settings.lazy_words and settings.may_bound and self._is_packed:
            word = self._lazy_words(beam, bound, leading, completed, flat_words, pieces)
        else:
            word = self._word_scores(beam, bound, bound > -torch.inf, flat_words)
        return torch.where(is_end.unsqueeze(1), successors[..., Column.END], word)

    def _word_scores(self, beam: Beam, bound: Tensor, wanted: Tensor, words: Tensor) -> Tensor:
        """Return scores that include the word, ``-inf`` where not ``wanted``."""
        rows = self._rows(wanted)
        log_prob = self._counted.word_log_prob(beam.node.flatten()[rows], words[rows])
        score = bound + self._spread(log_prob.unsqueeze(1), rows, bound.shape).squeeze(2)
        return score.masked_fill(~wanted, -torch.inf)

    def _lazy_words(
        self,
        beam: Beam,
        bound: Tensor,
        leading: _Leading,
        completed: Beam,
        words: Tensor,
        pieces: NextPieces | None,
    ) -> Tensor:
        """Return scores as ``_word_scores``, but compute only those that can affect the result.

        A hypothesis must reach the word beam, and it must either fit into the action beam, in
        competition with structural actions alone, or be among the best that do not (fast-track).
        The most promising hypotheses, up to the word beam width, are scored first; those that are
        certain to enter the word beam raise its threshold for the rest.
        """
        width = self._settings.word_beam
        bar = _last_kept(completed.score, pieces)
        near = (bound > -torch.inf) & (bound >= bar)
        rows = self._rows(near)
        cheap = self._model.word_bound(beam.node.flatten()[rows], words[rows])
        cheap = bound + self._spread(cheap.unsqueeze(1), rows, bound.shape).squeeze(2)
        # A bound that is exact up to rounding must not exclude a score equal to the threshold.
        cheap = (cheap + _ROUNDING).masked_fill(~near, -torch.inf)
        best_places = cheap.topk(min(width, cheap.shape[1]), dim=1).indices
        first = torch.zeros_like(near).scatter(1, best_places, True) & near & (cheap >= bar)
        score = self._word_scores(beam, bound, first, words)
        last_place = self._last_place(leading.score, pieces=pieces)
        last_at_worst = self._last_place(leading.score, cheap, pieces=pieces)
        sure = score.masked_fill(score < last_at_worst, -torch.inf)
        slots = completed.score.shape[1]
        best_so_far = torch.cat([completed.score, sure], dim=1).topk(slots, dim=1).values
        bar = _last_kept(best_so_far, pieces)
        outside = score.masked_fill(score >= last_place, -torch.inf)
        needed = torch.minimum(last_place, self._fast_track_bar(outside))
        rest = near & ~first & (cheap >= torch.maximum(needed, bar))
        return torch.maximum(score, self._word_scores(beam, bound, rest, words))

    def _last_place(self, *competitors: Tensor, pieces: NextPieces | None) -> Tensor:
        """Return ``(groups, 1)`` scores of the last slot of the action beam, ``-inf`` if empty."""
        scores = torch.cat(competitors, dim=1)
        width = self._settings.action_beam
        if scores.shape[1] < width:
            return torch.full_like(scores[:, :1], -torch.inf)
        last_place = scores.topk(width, dim=1).values[:, -1:]
        if pieces is None:
            return last_place
        # Inside a word nothing competes: each hypothesis has one successor.
        return last_place.masked_fill(pieces.continues.unsqueeze(1), -torch.inf)

    def _fast_track_bar(self, outside: Tensor) -> Tensor:
        """Return ``(groups, 1)`` scores needed to be admitted by fast-track."""
        count = self._settings.fast_track
        if count == 0:
            return torch.full_like(outside[:, :1], torch.inf)
        if count > outside.shape[1]:
            return torch.full_like(outside[:, :1], -torch.inf)
        return outside.topk(count, dim=1).values[:, -1:]

    def _compete(
        self, beam: Beam, leading: _Leading, done: Tensor, pieces: NextPieces | None
    ) -> tuple[Beam, Tensor]:
        """Return the action beam of the next step, still at its parents, and the admitted scores.

        The last column of its trails is the action to take.
        """
        settings = self._settings
        last_place = self._last_place(leading.score, done, pieces=pieces)
        is_in = (done >= last_place) & (done > -torch.inf)
        admitted = done.masked_fill(~is_in, -torch.inf)
        if settings.fast_track:
            admitted = _fast_track(admitted, done, settings.fast_track)
        score = leading.score.masked_fill(leading.score < last_place, -torch.inf)
        parents = beam.pick(leading.parent, score)
        column = leading.column.to(torch.int16).unsqueeze(2)
        return replace(parents, trail=torch.cat([parents.trail, column], dim=2)), admitted

    def _still_open(
        self, beam: Beam, completed: Beam, admitted_count: Tensor, pieces: NextPieces | None
    ) -> Beam:
        """Drop hypotheses that can no longer enter the word beam."""
        settings = self._settings
        score = beam.score
        if settings.bounded and settings.may_bound:
            bar = _last_kept(completed.score, pieces)
            score = score.masked_fill(score < bar, -torch.inf)
        if settings.stop == "beam_full":
            is_full = (admitted_count >= settings.action_beam).unsqueeze(1)
            score = score.masked_fill(is_full, -torch.inf)
        return replace(beam, score=score)

    def _advance(self, chosen: Beam) -> Beam:
        """Take the chosen actions; the network is run on live hypotheses only."""
        if self._is_packed:
            chosen = _trimmed(chosen)
        column = chosen.trail[..., -1].long()
        rows = self._rows(chosen.is_alive)
        flat = chosen.node.flatten()
        node = flat.index_copy(0, rows, self._counted.advance(flat[rows], column.flatten()[rows]))
        opens, closes = self._model.is_open[column].long(), self._model.is_close[column].long()
        return replace(
            chosen,
            node=node.view_as(chosen.node),
            depth=chosen.depth + opens - closes,
            opened=chosen.opened + opens,
        )

    def _rows(self, mask: Tensor) -> Tensor:
        """Return the indices of the rows to compute: those in the mask if packed, else all."""
        if self._is_packed:
            return mask.flatten().nonzero().squeeze(1)
        return torch.arange(mask.numel(), device=mask.device)

    def _spread(self, values: Tensor, rows: Tensor, shape: torch.Size) -> Tensor:
        """Write computed rows back into the grid, ``-inf`` elsewhere."""
        if not self._is_packed:
            return values.view(*shape, -1)
        result = values.new_full((shape.numel(), values.shape[1]), -torch.inf)
        return result.index_copy(0, rows, values).view(*shape, -1)


def _last_kept(score: Tensor, pieces: NextPieces | None) -> Tensor:
    """Return ``(groups, 1)`` scores of the last slot that is kept; slots are sorted."""
    return score[:, -1:] if pieces is None else score.gather(1, pieces.kept - 1)


def _fast_track(admitted: Tensor, done: Tensor, count: int) -> Tensor:
    """Also admit the ``count`` best hypotheses that fell off the action beam."""
    outside = done.masked_fill(admitted > -torch.inf, -torch.inf)
    score, place = outside.topk(min(count, done.shape[1]), dim=1)
    return admitted.scatter_reduce(1, place, score, "amax")


def _trimmed(beam: Beam) -> Beam:
    """Drop slots that are empty in all groups; beams are sorted, so live hypotheses come first."""
    return beam.front(max(int(beam.is_alive.sum(1).max()), 1))


def _empty_like(beam: Beam, width: int) -> Beam:
    """Return a beam without hypotheses."""
    nothing = replace(beam, score=torch.full_like(beam.score, -torch.inf))
    return best(nothing, width)
