"""Particle filtering (Crabbé et al. 2019): derivations are sampled from the model itself.

Each particle samples structural actions from the model until it samples a word; the probability of
the observed word is its weight. After each word, particles are resampled in proportion to their
weights. The mean weight is an unbiased estimate of the probability of the prefix. If columns are
unavailable to a particle (the end of the sentence while words remain, or a limit), it samples from
the other columns and their total probability multiplies its weight. Inside a word of several pieces
the only available column is the next piece.

Random numbers are seeded by the prefix, so results depend neither on batches nor on the sharing of
prefixes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from gardenpath.data.trees.actions import Column
from gardenpath.eval.search.beam import Beam
from gardenpath.eval.search.expansion import Found, Prefixes
from gardenpath.eval.search.next_pieces import NextPieces
from gardenpath.eval.search.protocol import TransitionModel
from gardenpath.eval.search.search_settings import Particle
from gardenpath.eval.search.work import CountedModel, Work


class ParticleExpansion:
    """Moves particles from one word to the next, for many groups at once."""

    def __init__(
        self, model: TransitionModel, settings: Particle, *, work: Work, is_packed: bool = True
    ) -> None:
        self._is_packed = is_packed
        self._model = model
        self._settings = settings
        self._counted = CountedModel(model, work, is_shared=is_packed and settings.share_prefixes)
        self._most_steps = settings.max_open + 2 * settings.max_consecutive + 2

    width_setting = "particles"

    @property
    def width(self) -> int:
        """Number of particles, which is constant."""
        return self._settings.particles

    @property
    def word_width(self) -> int:
        """Number of particles after a word."""
        return self.width

    def group_bytes(self, length: int) -> int:
        """Estimate the memory, in bytes, of a group that reads a sentence of ``length`` tokens."""
        return self._model.group_bytes(action_beam=self.width, word_beam=self.width, length=length)

    def run(
        self,
        beam: Beam,
        words: Tensor,
        is_end: Tensor,
        prefixes: Prefixes,
        pieces: NextPieces | None = None,
    ) -> Found:
        """Expand each group to its next word, or to the end of the sentence where ``is_end``."""
        draws = self._draws(prefixes, beam.score)
        beam = _drawn_anew(beam, draws[:, 0, 0])
        hit_open = torch.zeros_like(is_end)
        hit_opened = torch.zeros_like(is_end)
        is_done = ~beam.is_alive
        goal = torch.where(is_end, int(Column.END), int(Column.WORD)).unsqueeze(1)
        for step in range(self._most_steps):
            if bool(is_done.all()):
                break
            open_columns, over_open, over_opened = self._open_columns(beam, is_end, is_done, pieces)
            hit_open |= over_open
            hit_opened |= over_opened
            column, mass = _sampled(open_columns, draws[:, step + 1])
            score = torch.where(is_done, beam.score, beam.score + mass)
            is_done = is_done | (score == -torch.inf)
            arrives = ~is_done & (column == goal)
            score = score + self._word_log_prob(beam, arrives, words, is_end)
            is_done = is_done | arrives
            beam = self._advance(replace(beam, score=score), column, ~is_done)
        score = beam.score.masked_fill(~is_done, -torch.inf)
        score, order = score.sort(dim=1, descending=True)
        beam = beam.pick(order, score)
        return Found(beam, score.logsumexp(1), hit_open, hit_opened)

    def _draws(self, prefixes: Prefixes, like: Tensor) -> Tensor:
        """Return ``(groups, steps + 1, particles)`` uniform random numbers, seeded by prefix."""
        shape = (self._most_steps + 1, self.width)
        numbers = [
            np.random.default_rng([self._settings.seed, len(prefix), *prefix]).random(shape)
            for prefix in prefixes
        ]
        return torch.from_numpy(np.stack(numbers)).to(like)

    def _open_columns(
        self, beam: Beam, is_end: Tensor, is_done: Tensor, pieces: NextPieces | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return log probabilities of the available columns and whether limits excluded others."""
        model, settings = self._model, self._settings
        log_probs = model.log_probs(beam.node.flatten()).view(*beam.node.shape, -1).to(beam.score)
        shape = (-1, 1, 1)
        closed = torch.zeros_like(log_probs, dtype=torch.bool)
        closed[..., Column.END] = ~is_end.unsqueeze(1)
        closed[..., Column.WORD] = is_end.unsqueeze(1)
        if pieces is not None:
            # Inside a word, only the next piece can come.
            closed[..., Column.WORD + 1 :] |= pieces.continues.view(shape)
        if not model.opens_at_end:
            closed = closed | (is_end.view(shape) & model.is_open)
        opens = model.is_open & (log_probs > -torch.inf) & ~closed & ~is_done.unsqueeze(2)
        over_open = opens & (beam.depth >= settings.max_open).unsqueeze(2)
        over_opened = opens & (beam.opened >= settings.max_consecutive).unsqueeze(2)
        log_probs = log_probs.masked_fill(closed | over_open | over_opened, -torch.inf)
        return log_probs, over_open.any(2).any(1), over_opened.any(2).any(1)

    def _word_log_prob(self, beam: Beam, arrives: Tensor, words: Tensor, is_end: Tensor) -> Tensor:
        """Return log probabilities of the word for particles that sampled one, zero elsewhere."""
        result = torch.zeros_like(beam.score).flatten()
        wanted = (arrives & ~is_end.unsqueeze(1)).flatten()
        rows = self._rows(wanted)
        flat_words = words.unsqueeze(1).expand_as(beam.node).flatten()
        log_prob = self._counted.word_log_prob(beam.node.flatten()[rows], flat_words[rows])
        result = result.index_copy(0, rows, log_prob.to(result))
        return result.masked_fill(~wanted, 0.0).view_as(beam.score)

    def _advance(self, beam: Beam, column: Tensor, goes_on: Tensor) -> Beam:
        rows = self._rows(goes_on.flatten())
        flat = beam.node.flatten()
        new = self._counted.advance(flat[rows], column.flatten()[rows])
        moved = flat.index_copy(0, rows, new)
        opens = (self._model.is_open[column] & goes_on).long()
        closes = (self._model.is_close[column] & goes_on).long()
        taken = torch.where(goes_on, column, -1).to(torch.int16).unsqueeze(2)
        return replace(
            beam,
            node=torch.where(goes_on, moved.view_as(beam.node), beam.node),
            depth=beam.depth + opens - closes,
            opened=beam.opened + opens,
            trail=torch.cat([beam.trail, taken], dim=2),
        )

    def _rows(self, mask: Tensor) -> Tensor:
        """Return the indices of the rows to compute: those in the mask if packed, else all."""
        if self._is_packed:
            return mask.nonzero().squeeze(1)
        return torch.arange(mask.numel(), device=mask.device)


def _sampled(log_probs: Tensor, uniform: Tensor) -> tuple[Tensor, Tensor]:
    """Return a column for each particle and the log of the total probability it was drawn from."""
    mass = log_probs.logsumexp(2)
    share = (log_probs - mass.unsqueeze(2)).exp().nan_to_num(0.0).cumsum(2)
    column = torch.searchsorted(share, uniform.unsqueeze(2).contiguous()).squeeze(2)
    # The cumulative sum may end below one because of rounding; then take the last legal column.
    positions = torch.arange(log_probs.shape[2], device=log_probs.device)
    last = torch.where(log_probs > -torch.inf, positions, 0).amax(2)
    return torch.minimum(column, last), mass


def _drawn_anew(beam: Beam, uniform: Tensor) -> Beam:
    """Resample systematically: the number of particles is kept, each gets the mean weight."""
    count = beam.score.shape[1]
    total = beam.score.logsumexp(1, keepdim=True)
    share = (beam.score - total).exp().cumsum(1)
    steps = torch.arange(count, device=beam.score.device)
    comb = (steps + uniform.unsqueeze(1)) / count
    last = (beam.is_alive.sum(1, keepdim=True) - 1).clamp(min=0)
    chosen = torch.minimum(torch.searchsorted(share, comb), last)
    weight = (total - float(np.log(count))).expand_as(beam.score)
    return beam.pick(chosen, weight)
