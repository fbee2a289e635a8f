"""Beam search from one word to the next, for many groups at once, and what all expansions share.

Called by :mod:`scorer` for each token. An expansion does not know about sentences: it gets the
hypotheses of groups and their targets, and returns the survivors before they read the word.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gardenpath.data.trees.legality import Column
from gardenpath.eval.search.beam import (
    Beam,
    History,
    NextPieces,
    Stepper,
    WordLimit,
    best,
    first_slots,
    joined,
)
from gardenpath.eval.search.protocol import TransitionModel, Work
from gardenpath.eval.search.settings import SearchSettings, WordSync
from gardenpath.util import NATS_PER_BIT


@dataclass(frozen=True)
class Competition:
    """Decides which words are admitted to the word beam; ``fast_track`` is the number of extras."""

    _width: int
    _fast_track: int

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


# ----------------------------------------------------------------------------
# Expansion of hypotheses from one word to the next with an action beam.
#
# Open hypotheses advance action by action. Successors that generate the word (or end the sentence)
# leave the action beam and enter the word beam. They need no place in the action beam, unless
# ``fast_track`` is a number (:class:`Competition`).
#
# Log probabilities can only decrease as a derivation grows. Once the word beam is full, an open
# hypothesis that scores below its last slot can therefore never enter and is dropped
# (``bounded``). The probability of the word itself is the most expensive operation, so a cheap
# upper bound is computed first; if even the bound does not reach the word beam, the probability is
# not computed (``lazy_words``). Neither changes the survivors: the rank of a hypothesis above the
# last slot of the word beam depends only on hypotheses that are also above it, and none of these
# is ever dropped.

# Larger than any rounding error of a log probability, too small to affect results.
_ROUNDING = 1e-3


@dataclass(frozen=True)
class Targets:
    """What the groups have to reach: a word, or the end of the sentence where ``is_end``.

    ``seeds``: for each group, a number that depends on its prefix and its replicate only.
    ``are_shared``: whether several groups have the same hypotheses to begin with.
    """

    words: Tensor
    is_end: Tensor
    pieces: NextPieces | None = None
    seeds: Sequence[int] = ()
    are_shared: bool = True
    keeps_history: bool = False


@dataclass(frozen=True)
class Found:
    """Result of an expansion to the next word of each group.

    ``beam``: the survivors, best first, before they read the word. ``log_prob``: ``(groups,)`` log
    probability of the prefix including the word; if it is a piece, as if it were the last one.
    ``too_many``: ``(groups, 2)`` whether the limits on open and on opened constituents excluded
    hypotheses. ``trail``: ``(groups, width, steps)`` actions of the survivors, if asked for.
    """

    beam: Beam
    log_prob: Tensor
    too_many: Tensor
    trail: npt.NDArray[np.int16] | None = None


class Expansion(abc.ABC):
    """Expands the hypotheses of groups from one word to the next, for many groups at once.

    ``replicates``: number of independent searches of each prefix, each a row of hypotheses.
    ``word_width``: maximum number of hypotheses that survive the end of a word; ``width``: that
    survive a token, a word or a piece.
    """

    replicates = 1

    def __init__(
        self, model: TransitionModel, settings: SearchSettings, *, is_packed: bool, work: Work
    ) -> None:
        self._model = model
        self._stepper = Stepper(model, settings, is_packed=is_packed, work=work)
        self._most_steps = settings.max_open + 2 * settings.max_consecutive + 2
        self._action_beam = settings.action_beam
        self.word_width = self.width = settings.word_beam
        if model.is_continuation is not None:
            self.width = max(settings.word_beam, settings.action_beam)

    def group_bytes(self, length: int) -> int:
        """Estimate the memory, in bytes, of a group that reads a sentence of ``length`` tokens."""
        replicate_bytes = self._model.group_bytes(
            action_beam=self._action_beam, word_beam=self.width, length=length
        )
        return replicate_bytes * self.replicates

    @property
    @abc.abstractmethod
    def ended(self) -> WordLimit:
        """Which hypotheses count if a word ends here."""

    @abc.abstractmethod
    def begin_word(self, beam: Beam, targets: Targets) -> Beam:
        """Prune to the word beam where a word has ended, for models over pieces."""

    @abc.abstractmethod
    def run(self, beam: Beam, targets: Targets) -> Found:
        """Expand each group to its next word, or to the end of the sentence."""


class BeamExpansion(Expansion):
    """Finds the hypotheses that generate the next word, with a beam."""

    def __init__(
        self, model: TransitionModel, settings: WordSync, *, is_packed: bool, work: Work
    ) -> None:
        super().__init__(model, settings, is_packed=is_packed, work=work)
        self._settings = settings
        places = settings.fast_track
        self._competition = (
            None if places == "word_beam" else Competition(settings.action_beam, places)
        )

    @property
    def ended(self) -> WordLimit:
        margin = self._settings.margin_bits
        return WordLimit(self.word_width, None if margin is None else margin * NATS_PER_BIT)

    def begin_word(self, beam: Beam, targets: Targets) -> Beam:
        assert targets.pieces is not None
        continues = targets.pieces.continues.unsqueeze(1)
        width = torch.where(continues, beam.score.shape[1], self.word_width)
        front = first_slots(beam, width)
        score = torch.where(continues, front.score, self.ended.of_scores(front.score))
        return replace(front, score=score)

    def run(self, beam: Beam, targets: Targets) -> Found:
        settings, pieces = self._settings, targets.pieces
        self._stepper.begin(are_shared=targets.are_shared)
        # What goes on as a word of several pieces need not be near the best one.
        margin = self.ended.margin if pieces is None else None
        history = History() if targets.keeps_history else None
        step = _Step(self._stepper, settings, self._competition, targets, margin, history)
        completed = beam.empty(settings.word_beam if pieces is None else pieces.width)
        # As a structural hypothesis, its score is its joint probability.
        state = _State(
            Beam(beam.score, beam.integers),
            completed,
            too_many=torch.zeros_like(targets.is_end).unsqueeze(1).repeat(1, 2),
            admitted_log_prob=torch.full_like(beam.score[:, 0], -torch.inf),
            admitted_count=torch.zeros_like(targets.is_end, dtype=torch.long),
        )
        for number in range(self._most_steps):
            state = step(state)
            if not self._stepper.goes_on(state.beam, number) or (pieces and pieces.all_continue):
                break
        completed = state.completed
        ended = self.ended.of_beam(completed)
        kept = ended if pieces is None else first_slots(completed, pieces.kept)
        is_sum = settings.marginal == "survivors"
        return Found(
            beam=kept,
            log_prob=ended.score.logsumexp(1) if is_sum else state.admitted_log_prob,
            too_many=state.too_many,
            trail=None if history is None else history.trails(kept.entry),
        )


@dataclass(frozen=True)
class _State:
    """Open and completed hypotheses, and what was counted on the way, group by group."""

    beam: Beam
    completed: Beam
    too_many: Tensor
    admitted_log_prob: Tensor
    admitted_count: Tensor


@dataclass(frozen=True)
class _Step:
    """One action of all open hypotheses, on the way to given targets."""

    _stepper: Stepper
    _settings: WordSync
    _competition: Competition | None
    _targets: Targets
    _margin: float | None
    history: History | None

    def __call__(self, state: _State) -> _State:
        beam, targets = state.beam, self._targets
        successors, too_many = self._stepper.successors(beam, targets.is_end, targets.pieces)
        flat = successors[..., Column.CLOSE :].flatten(1)
        # The best structural successors, best first: scores, and slots of the hypotheses that they
        # extend, times the number of columns, plus the column.
        leading, place = flat.topk(min(self._settings.action_beam, flat.shape[1]), dim=1)
        done, last = self._done(beam, successors, leading, state.completed)
        score, admitted = leading, done
        if self._competition is not None:
            score, admitted = self._competition.admit(leading, done, targets.pieces)
        candidates = Beam(admitted, beam.integers, torch.stack([admitted, last], dim=2))
        both = joined(state.completed, candidates, dim=1)
        completed = best(both, state.completed.score.shape[1])
        admitted_log_prob, admitted_count = state.admitted_log_prob, state.admitted_count
        if not self._settings.may_bound:
            admitted_log_prob = torch.logaddexp(admitted_log_prob, admitted.logsumexp(1))
            admitted_count = admitted_count + (admitted > -torch.inf).sum(1)
        # Those are dropped that can no longer enter the word beam.
        if self._settings.bounded and self._settings.may_bound:
            score = score.masked_fill(score < self._least(completed.score), -torch.inf)
        if self._settings.stop == "beam_full":
            is_full = (admitted_count >= self._settings.action_beam).unsqueeze(1)
            score = score.masked_fill(is_full, -torch.inf)
        return _State(
            self._advanced(beam, score, place, successors.shape[2] - Column.CLOSE), completed,
            state.too_many | too_many, admitted_log_prob, admitted_count,
        )  # fmt: skip

    def _done(
        self, beam: Beam, successors: Tensor, leading: Tensor, completed: Beam
    ) -> tuple[Tensor, Tensor]:
        """Return ``(groups, width)`` scores of hypotheses that generate the word or end.

        And the log probability of the word itself, which is part of the score.
        """
        settings = self._settings
        is_end = self._targets.is_end.unsqueeze(1)
        bound = successors[..., Column.WORD].masked_fill(is_end, -torch.inf)
        words = self._targets.words.unsqueeze(1).expand_as(bound)
        if settings.lazy_words and settings.may_bound and self._stepper.is_packed:
            last = self._lazy_words(beam.node, bound, leading, completed, words)
        else:
            last = self._stepper.words(beam.node, bound, bound > -torch.inf, words)
        done = torch.where(is_end, successors[..., Column.END], bound + last)
        return done, last.masked_fill(is_end, 0.0)

    def _lazy_words(
        self, nodes: Tensor, bound: Tensor, leading: Tensor, completed: Beam, words: Tensor
    ) -> Tensor:
        """Return log probabilities of the word where they can affect the result, else ``-inf``.

        A hypothesis must reach the word beam. The most promising ones, up to the word beam width,
        are scored first and raise its threshold for the rest.
        """
        stepper, pieces = self._stepper, self._targets.pieces
        bar = self._least(completed.score)
        near = bound >= bar.clamp(min=torch.finfo(bar.dtype).min)
        rows = stepper.rows(near)
        nothing = torch.full_like(bound, -torch.inf)
        if not len(rows):
            return nothing
        cheap = stepper.model.word_bound(stepper.at(nodes, rows), stepper.at(words, rows))
        cheap = bound + stepper.spread(cheap.unsqueeze(1), rows, bound.shape).squeeze(2)
        # A bound that is exact up to rounding must not exclude a score equal to the threshold.
        cheap = cheap + _ROUNDING
        best_places = cheap.topk(min(self._settings.word_beam, cheap.shape[1]), dim=1).indices
        first = torch.zeros_like(near).scatter_(1, best_places, True) & (cheap >= bar) & near
        last = stepper.words(nodes, bound, first, words)
        score = bound + last
        sure, needed = score, bar
        if self._competition is not None:
            sure, needed = self._competition.needed(leading, cheap, score, pieces)
        slots = completed.score.shape[1]
        so_far = torch.cat([completed.score, sure], dim=1).topk(slots, dim=1).values
        bar = torch.maximum(self._least(so_far), needed)
        rest = near & ~first & (cheap >= bar)
        return torch.maximum(last, stepper.words(nodes, bound, rest, words))

    def _least(self, score: Tensor) -> Tensor:
        """``(groups, 1)`` least scores with which a word can still survive, given sorted ones."""
        pieces = self._targets.pieces
        last = score[:, -1:] if pieces is None else score.gather(1, pieces.kept - 1)
        if self._margin is None:
            return last
        return torch.maximum(last, score[:, :1] - self._margin)

    def _advanced(self, beam: Beam, score: Tensor, place: Tensor, columns: int) -> Beam:
        if self._stepper.is_packed:
            # Slots are sorted, so that empty ones are last.
            width = int((score > -torch.inf).sum(1).max()) if score.numel() else 0
            score, place = score[:, :width], place[:, :width]
            if not width:
                return beam.front(0)
        column = place % columns + Column.CLOSE
        chosen = beam.pick(place // columns, score)
        return self._stepper.advance(chosen, column, self.history)
