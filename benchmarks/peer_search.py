"""A baseline word-synchronous beam search, implemented in the usual way.

Each hypothesis owns its model state: at every step, the chosen successors get copies. All entries
of the beam are expanded, each with the softmax over all words, until as many hypotheses as fit into
the action beam have generated the word. Batches contain sentences of similar length; finished
sentences leave the batch. The results equal those of :class:`BeamExpansion` with
``stop=beam_full`` and without ``bounded`` and ``lazy_words``: this stop rule counts hypotheses, so
hopeless hypotheses must not be skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import torch
from torch import Tensor

from gardenpath.data.trees.legality import Column
from gardenpath.eval.search.protocol import Work
from gardenpath.eval.search.settings import WordSync

# The column of hypotheses that take no action.
STAY = -1


class Memories(Protocol):
    """The model states of hypotheses, one per row."""

    def log_probs(self, words: Tensor, depth: Tensor) -> Tensor:
        """``(rows, columns)``: the given word, the end, closing, opening of each label."""

    def select(self, rows: Tensor) -> Self:
        """Copy rows."""

    def join(self, others: Sequence[Self]) -> Self:
        """Concatenate memories, this one first."""

    def advance(self, columns: Tensor, words: Tensor) -> None:
        """Take actions; in the column of words, read the word."""


Begin = Callable[[int, int], Memories]


@dataclass(frozen=True)
class _Beam:
    """``(groups, width)`` hypotheses, ``-inf`` if empty; memories have a row for each."""

    score: Tensor
    depth: Tensor
    opened: Tensor
    memories: Memories

    @property
    def is_alive(self) -> Tensor:
        return self.score > -torch.inf

    def pick(self, places: Tensor, score: Tensor) -> _Beam:
        """Copy the hypotheses at ``(groups, width)`` positions."""
        rows = places + torch.arange(len(places)).unsqueeze(1) * self.score.shape[1]
        return _Beam(
            score,
            self.depth.gather(1, places),
            self.opened.gather(1, places),
            self.memories.select(rows.flatten()),
        )

    def first(self, groups: int) -> _Beam:
        """Return only the first groups."""
        if groups == len(self.score):
            return self
        rows = torch.arange(groups * self.score.shape[1])
        return _Beam(
            self.score[:groups],
            self.depth[:groups],
            self.opened[:groups],
            self.memories.select(rows),
        )


class PeerSearch:
    """Searches batches of sentences; ``begin`` creates memories for given groups and words."""

    def __init__(self, begin: Begin, settings: WordSync) -> None:
        self._begin = begin
        self._settings = settings
        self._most_steps = settings.max_open + 2 * settings.max_consecutive + 2
        self.work = Work()

    def run(self, sentences: Sequence[Sequence[int]], *, batch: int) -> list[list[float]]:
        """Return log probabilities of the prefixes after each token and, last, after the end."""
        order = sorted(range(len(sentences)), key=lambda n: -len(sentences[n]))
        results: list[list[float]] = [[] for _ in sentences]
        with torch.inference_mode():
            for begin in range(0, len(order), batch):
                members = order[begin : begin + batch]
                found = self._batch([sentences[n] for n in members])
                for number, log_probs in zip(members, found, strict=True):
                    results[number] = log_probs
        return results

    def _batch(self, sentences: list[Sequence[int]]) -> list[list[float]]:
        """Search one batch, whose first sentence is the longest."""
        found: list[list[float]] = [[] for _ in sentences]
        count = len(sentences)
        memories = self._begin(count, len(sentences[0]))
        zeros = torch.zeros((count, 1), dtype=torch.long)
        scores = memories.log_probs(zeros.flatten(), zeros.flatten()).new_zeros((count, 1))
        beam = _Beam(scores, zeros, zeros, memories)
        for position in range(len(sentences[0]) + 1):
            left = [tokens for tokens in sentences if len(tokens) >= position]
            beam = beam.first(len(left))
            is_end = torch.tensor([len(tokens) == position for tokens in left])
            words = torch.tensor([0 if position == len(t) else t[position] for t in left])
            beam = self._next_word(beam, words, is_end)
            for row, log_prob in enumerate(beam.score.logsumexp(1).tolist()):
                found[row].append(log_prob)
            self.work.words += len(left)
        return found

    def _next_word(self, beam: _Beam, words: Tensor, is_end: Tensor) -> _Beam:
        """Return the word beam after the word."""
        completed: list[_Completed] = []
        count = torch.zeros_like(words)
        for _ in range(self._most_steps):
            if not beam.is_alive.any():
                break
            scores = self._scores(beam, words, is_end)
            end, word = scores[..., Column.END], scores[..., Column.WORD]
            done = torch.where(is_end.unsqueeze(1), end, word)
            score, place = self._compete(scores, done)
            admitted = self._admitted(scores, done, score, place)
            completed.append(_completed(beam, admitted))
            count = count + (admitted > -torch.inf).sum(1)
            is_full = (count >= self._settings.action_beam).unsqueeze(1)
            beam = self._advance(beam, scores, score.masked_fill(is_full, -torch.inf), place)
        beam = _best(completed, len(words), self._settings.word_beam)
        columns = torch.where(beam.is_alive & ~is_end.unsqueeze(1), int(Column.WORD), STAY)
        beam.memories.advance(columns.flatten(), words.repeat_interleave(beam.score.shape[1]))
        return beam

    def _scores(self, beam: _Beam, words: Tensor, is_end: Tensor) -> Tensor:
        """``(groups, width, columns)`` scores, ``-inf`` for illegal actions."""
        groups, width = beam.score.shape
        rows = words.repeat_interleave(width)
        log_probs = beam.memories.log_probs(rows, beam.depth.flatten()).view(groups, width, -1)
        self.work.word_scores += len(rows)
        scores = beam.score.unsqueeze(2) + log_probs
        scores = scores.masked_fill(~beam.is_alive.unsqueeze(2), -torch.inf)
        settings = self._settings
        closed = (beam.depth >= settings.max_open) | (beam.opened >= settings.max_consecutive)
        closed = closed | is_end.unsqueeze(1)
        scores[..., Column.FIRST_OPEN :].masked_fill_(closed.unsqueeze(2), -torch.inf)
        return scores

    def _compete(self, scores: Tensor, done: Tensor) -> tuple[Tensor, Tensor]:
        """Return scores and positions of the best successors; words come after actions."""
        pool = torch.cat([scores[..., Column.CLOSE :].flatten(1), done], dim=1)
        return pool.topk(min(self._settings.action_beam, pool.shape[1]), dim=1)

    def _admitted(self, scores: Tensor, done: Tensor, score: Tensor, place: Tensor) -> Tensor:
        """``(groups, width)`` scores of hypotheses that generate the word, with fast-track."""
        own = place - scores[..., Column.CLOSE :].flatten(1).shape[1]
        score = score.masked_fill(own < 0, -torch.inf)
        nothing = torch.full_like(done, -torch.inf)
        admitted = nothing.scatter_reduce(1, own.clamp(min=0), score, "amax")
        assert self._settings.fast_track != "word_beam"
        count = min(self._settings.fast_track, done.shape[1])
        more = done.masked_fill(admitted > -torch.inf, -torch.inf).topk(count, dim=1)
        return admitted.scatter_reduce(1, more.indices, more.values, "amax")

    def _advance(self, beam: _Beam, scores: Tensor, score: Tensor, place: Tensor) -> _Beam:
        """Apply the actions among the best successors, each to a copy of its parent's memory."""
        actions = scores.shape[2] - Column.CLOSE
        score = score.masked_fill(place >= scores.shape[1] * actions, -torch.inf)
        width = max(int((score > -torch.inf).sum(1).max()), 1)
        score, order = score.topk(width, dim=1)
        # If the beam is not full of actions, the position of a word may be used for any parent.
        place = place.gather(1, order).masked_fill(score == -torch.inf, 0)
        beam = beam.pick(place // actions, score)
        column = (place % actions + Column.CLOSE).masked_fill(~beam.is_alive, STAY)
        beam.memories.advance(column.flatten(), torch.zeros_like(column).flatten())
        self.work.expanded += int(beam.is_alive.sum())
        self.work.steps += 1
        opens = (column >= Column.FIRST_OPEN).long()
        depth = beam.depth + opens - (column == Column.CLOSE).long()
        return _Beam(score, depth, beam.opened + opens, beam.memories)


@dataclass(frozen=True)
class _Completed:
    """Hypotheses that have generated the word, concatenated, with their groups."""

    group: Tensor
    score: Tensor
    depth: Tensor
    memories: Memories


def _completed(beam: _Beam, admitted: Tensor) -> _Completed:
    rows = (admitted > -torch.inf).flatten().nonzero().squeeze(1)
    return _Completed(
        group=rows // admitted.shape[1],
        score=admitted.flatten()[rows],
        depth=beam.depth.flatten()[rows],
        memories=beam.memories.select(rows),
    )


def _best(completed: list[_Completed], groups: int, width: int) -> _Beam:
    """Return the best hypotheses of each group, over all steps."""
    score = torch.cat([c.score for c in completed])
    depth = torch.cat([c.depth for c in completed])
    member = torch.cat([c.group for c in completed]) == torch.arange(groups).unsqueeze(1)
    grid = score.masked_fill(~member, -torch.inf)
    best, place = grid.topk(min(width, grid.shape[1]), dim=1)
    memories = completed[0].memories.join([c.memories for c in completed[1:]])
    opened = torch.zeros_like(place)
    return _Beam(best, depth[place], opened, memories.select(place.flatten()))
