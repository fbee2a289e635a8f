"""Unbiased search: hypotheses that beams would drop survive at random, and weigh more.

Hypotheses advance from word to word as in :mod:`expansion`, but with weights. Wherever a beam is
too narrow, thinning (:func:`drawn`) decides which hypotheses stay. Successors that generate
the word leave the action beam; the sum of their weights, before the word beam thins them, is an
estimate of the probability of the prefix whose expectation is exact, whatever the beams.

Work that hardly matters is also left to chance: words and open hypotheses whose weight is below
``roulette`` times the weight that has already generated the word stay with a probability in
proportion to their weight. Random numbers depend on the seed, the replicate and the prefix only,
so that neither batches nor the sharing of prefixes matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gardenpath.data.arrays import Floats
from gardenpath.data.trees.legality import Column
from gardenpath.eval.search.beam import Beam, History, Stepper, WordLimit, joined
from gardenpath.eval.search.expansion import Expansion, Found, Targets
from gardenpath.eval.search.protocol import TransitionModel, Work
from gardenpath.eval.search.replicates import (
    mixed,
    not_converged,
    standard_error,
    uniforms,
)
from gardenpath.eval.search.result import SentenceResult, with_replicates
from gardenpath.eval.search.settings import Unbiased

# Random numbers of a step: for words, for the action beam, and for what was completed.
_WORDS, _OPEN, _COMPLETED = range(3)
_PER_STEP = 3


class UnbiasedExpansion(Expansion):
    """Moves weighted hypotheses from one word to the next.

    ``replicates``: their numbers, on which their random numbers depend.
    """

    def __init__(
        self,
        model: TransitionModel,
        settings: Unbiased,
        *,
        is_packed: bool,
        work: Work,
        replicates: range | None = None,
    ) -> None:
        super().__init__(model, settings, is_packed=is_packed, work=work)
        self._settings = settings
        self._numbers = range(settings.replicates) if replicates is None else replicates
        self.replicates = len(self._numbers)

    @property
    def ended(self) -> WordLimit:
        # All, by their weights.
        return WordLimit(self.width)

    def begin_word(self, beam: Beam, targets: Targets) -> Beam:
        assert targets.pieces is not None
        uniform = self._draws(targets, beam.score)[:, -2:-1]
        score = thinned_scores(beam.score, self.word_width, uniform)
        return replace(
            beam, score=torch.where(targets.pieces.continues.view(-1, 1), beam.score, score)
        )

    def run(self, beam: Beam, targets: Targets) -> Found:
        settings, pieces = self._settings, targets.pieces
        draws = self._draws(targets, beam.score)
        self._stepper.begin(are_shared=targets.are_shared)
        history = History() if targets.keeps_history else None
        step = _Step(self._stepper, settings, targets, draws, history)
        buffer = max(settings.action_beam, settings.word_beam)
        log_prob = torch.full_like(beam.score[:, 0], -torch.inf)
        too_many = torch.zeros_like(targets.is_end).unsqueeze(1).repeat(1, 2)
        state = _State(beam, beam.empty(buffer), log_prob, too_many)
        for number in range(self._most_steps):
            state = step(state, number)
            if not self._stepper.goes_on(state.beam, number) or (pieces and pieces.all_continue):
                break
        # Words of several pieces are thinned to the word beam when the next one begins, and not
        # here: what other sentences need must not matter.
        width = settings.word_beam if pieces is None else self.width
        completed = thinned(state.completed, width, draws[:, -1:])
        return Found(
            beam=completed,
            log_prob=state.log_prob,
            too_many=state.too_many,
            trail=None if history is None else history.trails(completed.entry),
        )

    def _draws(self, targets: Targets, like: Tensor) -> Tensor:
        """``(rows, numbers)`` random numbers: those of each step, and two more."""
        keys = [
            mixed(mixed(seed, self._settings.seed), number)
            for seed in targets.seeds
            for number in self._numbers
        ]
        count = self._most_steps * _PER_STEP + 2
        return torch.from_numpy(uniforms(keys, count)).to(like)


@dataclass(frozen=True)
class _State:
    """Open and completed hypotheses, and the weight of all that were completed."""

    beam: Beam
    completed: Beam
    log_prob: Tensor
    too_many: Tensor


@dataclass(frozen=True)
class _Step:
    """One action of all open hypotheses, on the way to given targets."""

    _stepper: Stepper
    _settings: Unbiased
    _targets: Targets
    _draws: Tensor
    history: History | None

    def __call__(self, state: _State, number: int) -> _State:
        beam, targets = state.beam, self._targets
        draws = self._draws[:, number * _PER_STEP : (number + 1) * _PER_STEP]
        successors, too_many = self._stepper.successors(beam, targets.is_end, targets.pieces)
        done = self._done(beam, successors, state.log_prob, draws[:, _WORDS : _WORDS + 1])
        log_prob = torch.logaddexp(state.log_prob, done.score.logsumexp(1))
        both = joined(state.completed, done, dim=1)
        completed = thinned(
            both, state.completed.score.shape[1], draws[:, _COMPLETED : _COMPLETED + 1]
        )
        opened = self._opened(beam, successors, log_prob, draws[:, _OPEN : _OPEN + 1])
        return _State(opened, completed, log_prob, state.too_many | too_many)

    def _done(self, beam: Beam, successors: Tensor, log_prob: Tensor, uniform: Tensor) -> Beam:
        """Return the hypotheses that generate the word or end, with their weights."""
        is_end = self._targets.is_end.unsqueeze(1)
        bound = successors[..., Column.WORD].masked_fill(is_end, -torch.inf)
        words = self._targets.words.unsqueeze(1).expand_as(bound)
        wanted, extra = self._roulette(beam, bound, words, log_prob, uniform)
        last = self._stepper.words(beam.node, bound, wanted, words)
        score = torch.where(is_end, successors[..., Column.END], bound + extra + last)
        last = last.masked_fill(is_end, 0.0)
        # What the weight gained by the last actions, the joint probability gained without chance.
        joint = beam.joint + (score - extra - beam.score)
        numbers = torch.stack([joint.nan_to_num(0.0, neginf=0.0), last], dim=2)
        return Beam(score, beam.integers, numbers)

    def _roulette(
        self, beam: Beam, bound: Tensor, words: Tensor, log_prob: Tensor, uniform: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Choose the words to compute; return them, and by how much more they weigh (log)."""
        stepper = self._stepper
        rows = stepper.rows(bound > -torch.inf)
        cheap = stepper.model.word_bound(stepper.at(beam.node, rows), stepper.at(words, rows))
        cheap = bound + stepper.spread(cheap.unsqueeze(1), rows, bound.shape).squeeze(2)
        bar = (log_prob + math.log(self._settings.roulette)).unsqueeze(1)
        scale = torch.maximum(cheap.amax(1, keepdim=True), bar)
        scale = scale.clamp(min=torch.finfo(scale.dtype).min)
        draw = drawn((cheap - scale).exp(), (bar - scale).exp(), uniform)
        chosen = draw.is_kept & (cheap > -torch.inf)
        return chosen, (bar - cheap).clamp(min=0.0).masked_fill(~chosen, 0.0)

    def _opened(self, beam: Beam, successors: Tensor, log_prob: Tensor, uniform: Tensor) -> Beam:
        actions = successors[..., Column.CLOSE :]
        flat = actions.flatten(1)
        bar = (log_prob + math.log(self._settings.roulette)).unsqueeze(1)
        score = thinned_scores(flat, self._settings.action_beam, uniform, bar)
        score, place = _kept_first(score, self._settings.action_beam)
        if self._stepper.is_packed:
            width = int((score > -torch.inf).sum(1).max()) if score.numel() else 0
            score, place = score[:, :width], place[:, :width]
            if not width:
                return beam.front(0)
        columns = actions.shape[2]
        parent = place // columns
        chosen = beam.pick(parent, score)
        gain = flat.gather(1, place) - beam.score.gather(1, parent)
        assert chosen.numbers is not None
        joint = (chosen.joint + gain).nan_to_num(0.0, neginf=0.0)
        numbers = torch.stack([joint, torch.zeros_like(joint)], dim=2)
        chosen = Beam(score, chosen.integers, numbers)
        return self._stepper.advance(chosen, place % columns + Column.CLOSE, self.history)


# ----------------------------------------------------------------------------
# Unbiased thinning of weighted hypotheses (Fearnhead and Clifford 2003).
#
# To keep about K of N weights, find the threshold c with Σ min(1, w / c) = K. Weights of at least
# c stay as they are. Each of the others stays with probability w / c and then weighs c: its
# expected weight is what it was. Systematic resampling (one random number for all) takes exactly
# as many of them as expected, so that the total weight does not change at all.


def threshold(weight: Tensor, width: int) -> Tensor:
    """``(groups, 1)`` thresholds that keep ``width`` of ``(groups, slots)`` weights.

    Zero if there are at most as many positive weights. If the A largest weights are kept for sure,
    c = (sum of the others) / (width - A); A is the smallest number for which no other weight is
    above c.
    """
    if weight.shape[1] <= width:
        return torch.zeros_like(weight[:, :1])
    top, places = weight.topk(width, dim=1)
    outside = weight.scatter(1, places, 0.0).sum(1, keepdim=True)
    others = top.flip(1).cumsum(1).flip(1) + outside
    left = torch.arange(width, 0, -1, device=weight.device)
    limit = others / left
    first = (top <= limit).to(torch.int8).argmax(1, keepdim=True)
    return limit.gather(1, first)


@dataclass(frozen=True)
class Draw:
    """``is_kept``: which weights are kept; ``weight``: what they weigh now, zero for others."""

    is_kept: Tensor
    weight: Tensor


def drawn(weight: Tensor, bar: Tensor, uniform: Tensor) -> Draw:
    """Keep weights of at least ``bar``, others with probability weight / bar, as systematic draws.

    ``weight``: ``(groups, slots)``; ``bar``: ``(groups, 1)``; ``uniform``: ``(groups, 1)`` in
    [0, 1).
    """
    is_large = weight >= bar
    # Where the bar is zero, all weights are large.
    chance = (weight / bar).masked_fill(is_large, 0.0)
    mark = (chance.cumsum(1) + uniform).floor()
    taken = mark > torch.nn.functional.pad(mark[:, :-1], (1, 0))
    weight = torch.where(taken, bar, weight.masked_fill(~is_large, 0.0))
    return Draw(is_large | taken, weight)


def thinned_scores(score: Tensor, width: int, uniform: Tensor, bar: Tensor | None = None) -> Tensor:
    """Return the log weights of those that stay, ``-inf`` for others.

    At most ``width`` stay; weights below ``bar`` (log) stay at random.
    """
    scale = score.amax(1, keepdim=True)
    if bar is not None:
        scale = torch.maximum(scale, bar)
    scale = scale.clamp(min=torch.finfo(scale.dtype).min)
    weight = (score - scale).exp()
    limit = threshold(weight, width)
    if bar is not None:
        limit = torch.maximum(limit, (bar - scale).exp())
    return drawn(weight, limit, uniform).weight.log() + scale


def thinned(beam: Beam, width: int, uniform: Tensor) -> Beam:
    """Return at most ``width`` hypotheses of each group, in the order of their slots."""
    score = thinned_scores(beam.score, width, uniform)
    score, places = _kept_first(score, width)
    return beam.pick(places, score)


def _kept_first(score: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Return the scores and places of those that are kept, in the order of their places.

    The order decides which random numbers hypotheses meet, so it must not depend on rounding.
    """
    place = torch.arange(score.shape[1], 0, -1, device=score.device)
    order = place.masked_fill(score == -torch.inf, 0)
    places = order.topk(min(width, score.shape[1]), dim=1).indices
    return score.gather(1, places), places


# ----------------------------------------------------------------------------
# More replicates where a word that matters has too large a standard error.


# Searches the sentences of these numbers in these replicates.
Search = Callable[[Sequence[int], range], Mapping[int, SentenceResult]]
# ``(words + 1, replicates)`` deviations of the words of a sentence.
DeviationsOf = Callable[[int, SentenceResult], Floats]


def until_tolerance(
    search: Search,
    deviations: DeviationsOf,
    numbers: Sequence[int],
    settings: Unbiased,
    matters: Sequence[Collection[int] | None],
) -> dict[int, SentenceResult]:
    """Search sentences, doubling the replicates of those whose standard errors are too large.

    A sentence for which no replicate found an analysis has none, and is searched again as well.
    The replicates that are there already are kept, so that the result depends only on how many a
    sentence has in the end.
    """
    results = dict(search(numbers, range(settings.replicates)))
    count, tolerance = settings.replicates, settings.tolerance
    left = [] if tolerance is None else list(numbers)

    def is_precise(number: int) -> bool:
        if results[number].failure is not None:
            return False
        errors = standard_error(deviations(number, results[number]))
        return tolerance is None or not not_converged(errors, matters[number], tolerance)

    while count < settings.max_replicates:
        left = [number for number in left if not is_precise(number)]
        if not left:
            break
        more = range(count, min(2 * count, settings.max_replicates))
        for number, result in search(left, more).items():
            results[number] = with_replicates([results[number], result])
        count = more.stop
    return results
