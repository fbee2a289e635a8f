"""Search over many sentences at once, token by token.

The hypotheses of one prefix form a group. In each round, all groups advance together, each to
every token that follows its prefix in some sentence; new sentences take the place of finished ones.
The beam of a prefix depends only on the prefix, so sentences with a common prefix share the work.

Tokens may be pieces of words (:mod:`next_pieces`). The survivors of the last piece of a word then
also give the probability that the word ends there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from gardenpath.data.prefixes import PrefixTrie, tries_by_start
from gardenpath.eval.search.beam import Beam, after_word, below, root_beam
from gardenpath.eval.search.expansion import Found, Prefixes
from gardenpath.eval.search.groups import Front, Group
from gardenpath.eval.search.next_pieces import (
    Next,
    NextPieces,
    first_slots,
    next_pieces,
    tokens_after,
)
from gardenpath.eval.search.protocol import TransitionModel
from gardenpath.eval.search.result import SearchFailure, SentenceResult, Step
from gardenpath.eval.search.work import CountedModel, Work

OnResult = Callable[[int, SentenceResult], None]

# More groups than this at the same time are not faster.
MOST_GROUPS = 128


class Expansion(Protocol):
    """Expands the hypotheses of groups from one word to the next."""

    @property
    def width_setting(self) -> str:
        """The setting to increase if no hypothesis survives."""

    @property
    def width(self) -> int:
        """Maximum number of hypotheses that survive a token."""

    @property
    def word_width(self) -> int:
        """Maximum number of hypotheses that survive the end of a word."""

    def group_bytes(self, length: int) -> int:
        """Estimate the memory, in bytes, of a group that reads a sentence of ``length`` tokens."""

    def run(
        self,
        beam: Beam,
        words: Tensor,
        is_end: Tensor,
        prefixes: Prefixes,
        pieces: NextPieces | None = None,
    ) -> Found:
        """Find the hypotheses that generate the next word, or end the sentence, for each group."""


@dataclass(kw_only=True)
class SentenceSearch:
    """Searches sentences, given as token ids, with a syntactic language model.

    ``budget`` is the memory for active groups, in bytes. With ``keeps_history``, parses can be
    recovered from the results. With ``finds_word_ends``, results contain the probabilities that
    words of several pieces end.
    """

    model: TransitionModel
    expansion: Expansion
    budget: float
    is_packed: bool = True
    share_prefixes: bool = True
    keeps_history: bool = False
    finds_word_ends: bool = False
    work: Work = field(default_factory=Work)
    # By token: whether it continues a word; None if tokens are words.
    _is_continuation: list[bool] | None = field(default=None, init=False)

    def run(self, sentences: Sequence[Sequence[int]], on_result: OnResult) -> None:
        """Search all sentences; ``on_result`` receives each result with its sentence number."""
        tokens = [np.array(sentence, dtype=np.int32) for sentence in sentences]
        waiting = tries_by_start(tokens, is_shared=self.share_prefixes, most=MOST_GROUPS)[::-1]
        groups: list[Group] = []
        with torch.inference_mode():
            self.model.begin()
            is_continuation = self.model.is_continuation
            self._is_continuation = None if is_continuation is None else is_continuation.tolist()
            front = self._roots(0, self.expansion.width)
            while waiting or groups:
                added = self._admit(waiting, groups)
                if added:
                    front = self._with_roots(front, len(added))
                    groups += added
                groups, front = self._round(groups, front, on_result)

    def _roots(self, count: int, width: int) -> Front:
        beam = root_beam(count, width, device=self.model.device, dtype=torch.float64)
        # At the beginning there is no word that could continue.
        has_ends = self.finds_word_ends and self._is_continuation is not None
        return Front(beam, torch.zeros_like(beam.score[:, 0]) if has_ends else None)

    def _with_roots(self, front: Front, count: int) -> Front:
        roots = self._roots(count, front.beam.score.shape[1])
        beam = below(front.beam, roots.beam)
        if front.word_end is None or roots.word_end is None:
            return Front(beam)
        return Front(beam, torch.cat([front.word_end, roots.word_end]))

    def _admit(self, waiting: list[PrefixTrie], groups: list[Group]) -> list[Group]:
        """Start the waiting tries that fit into memory; at least one if no group is active."""
        leaves = sum(group.prefix.leaves for group in groups)
        room = self.budget - sum(group.prefix.leaves * group.bytes for group in groups)
        added: list[Group] = []
        while waiting:
            trie = waiting[-1]
            size = self.expansion.group_bytes(trie.length)
            leaves += trie.root.leaves
            room -= size * trie.root.leaves
            if (room < 0 or leaves > MOST_GROUPS) and (groups or added):
                break
            waiting.pop()
            added.append(Group(trie.root, size))
        return added

    def _round(
        self, groups: list[Group], front: Front, on_result: OnResult
    ) -> tuple[list[Group], Front]:
        """Advance all groups by one token."""
        tokens_next = list(tokens_after((group.prefix for group in groups), self._is_continuation))
        device = self.model.device
        parents = torch.tensor([n.parent for n in tokens_next], device=device)
        tokens = torch.tensor([n.token for n in tokens_next], device=device)
        is_end = torch.tensor([n.prefix is None for n in tokens_next], device=device)
        pieces = self._pieces(tokens_next)
        beam = front.beam if pieces is None else self._narrowed(front.beam, tokens_next)
        if self._shares_nodes:
            # Groups that diverge at this token share their nodes before it; expand these once.
            beam = self._pruned(self._settled(beam).rows(parents), pieces)
        else:
            beam = self._settled(self._pruned(beam.rows(parents), pieces))
        prefixes = [groups[n.parent].tokens for n in tokens_next]
        found = self.expansion.run(beam, tokens, is_end, prefixes, pieces)
        self.work.words += len(tokens_next)
        word_end = None if front.word_end is None else front.word_end[parents]
        children = self._report(groups, tokens_next, found, word_end, on_result)
        rows = torch.tensor([row for row, _ in children], dtype=torch.long, device=device)
        shifted = self._shifted(found.beam.rows(rows), tokens[rows])
        if word_end is not None:
            word_end = self._word_end(shifted, [tokens_next[row].ends for row, _ in children])
        return [child for _, child in children], Front(shifted, word_end)

    def _pieces(self, tokens_next: list[Next]) -> NextPieces | None:
        if self._is_continuation is None:
            return None
        return next_pieces(
            tokens_next, width=self.expansion.width, word_width=self.expansion.word_width,
            is_packed=self.is_packed, device=self.model.device,
        )  # fmt: skip

    def _narrowed(self, beam: Beam, tokens_next: list[Next]) -> Beam:
        """Drop hypotheses that no group needs, because words have ended."""
        width, word_width = beam.score.shape[1], self.expansion.word_width
        inside = {n.parent for n in tokens_next if n.continues}
        if self.is_packed and not inside:
            return beam.front(word_width)
        kept = [width if group in inside else word_width for group in range(len(beam.score))]
        return first_slots(beam, torch.tensor(kept, device=self.model.device).unsqueeze(1))

    def _pruned(self, beam: Beam, pieces: NextPieces | None) -> Beam:
        """Prune to the word beam where a word has ended."""
        if pieces is None:
            return beam
        width, word_width = beam.score.shape[1], self.expansion.word_width
        return first_slots(beam, torch.where(pieces.continues, width, word_width).unsqueeze(1))

    @property
    def _shares_nodes(self) -> bool:
        return self.is_packed and self.share_prefixes

    def _settled(self, beam: Beam) -> Beam:
        return replace(beam, node=self.model.settle(beam.node, beam.is_alive))

    def _report(
        self,
        groups: list[Group],
        tokens_next: list[Next],
        found: Found,
        word_end: Tensor | None,
        on_result: OnResult,
    ) -> list[tuple[int, Group]]:
        """Report sentences that end or fail here; return the other groups with their rows."""
        score = found.beam.score[:, : self.expansion.word_width].double()
        table = torch.stack(
            [
                found.log_prob.double(),
                score[:, 0] - score.logsumexp(1),
                found.too_many_open.double(),
                found.too_many_opened.double(),
                *([] if word_end is None else [word_end.double()]),
            ],
            dim=1,
        ).tolist()
        steps = self._steps(groups, tokens_next, found)
        children = []
        for row, (entry, next_) in enumerate(zip(table, tokens_next, strict=True)):
            group = self._read(groups[next_.parent], next_, *entry[4:])
            log_prob, best_log_share, hit_open, hit_opened = entry[:4]
            if log_prob == -np.inf:
                self._fail(group, next_, bool(hit_open), bool(hit_opened), on_result)
                continue
            best_share = float(np.exp(best_log_share))
            child = group.after(next_, log_prob, best_share, step=steps[row])
            if next_.prefix is not None:
                children.append((row, child))
                continue
            # After the end of the sentence, no word can continue.
            ends = (*child.word_ends, 0.0) if word_end is not None else ()
            last = None if child.step is None else child.step.front(self.expansion.word_width)
            result = SentenceResult(
                child.log_probs, child.best_share, last, word_end_log_probs=ends
            )
            for sentence in group.prefix.sentences:
                on_result(sentence, result)
        return children

    def _read(self, group: Group, next_: Next, *word_end: float) -> Group:
        """Return a group as its next token has it."""
        if self._is_continuation is None:
            return group
        return group.before(next_, self.expansion.word_width, *word_end)

    def _fail(
        self,
        group: Group,
        next_: Next,
        hit_open: bool,
        hit_opened: bool,
        on_result: OnResult,
    ) -> None:
        width_setting = self.expansion.width_setting
        failure = SearchFailure(len(group.log_probs), hit_open, hit_opened, width_setting)
        result = SentenceResult(
            group.log_probs, group.best_share, group.step, failure, group.word_ends
        )
        lost = group.prefix.sentences if next_.prefix is None else next_.prefix.all_sentences
        for sentence in lost:
            on_result(sentence, result)

    def _steps(
        self, groups: list[Group], tokens_next: list[Next], found: Found
    ) -> list[Step | None]:
        if not self.keeps_history:
            return [None] * len(tokens_next)
        score = found.beam.score.double().cpu().numpy()
        origin = found.beam.origin.cpu().numpy()
        trail = found.beam.trail.cpu().numpy()
        before = [self._read(groups[n.parent], n).step for n in tokens_next]
        return [Step(score[row], origin[row], trail[row], step) for row, step in enumerate(before)]

    def _shifted(self, beam: Beam, tokens: Tensor) -> Beam:
        """Let all survivors read the token."""
        if not len(beam.score):
            return self._roots(0, self.expansion.width).beam
        is_alive = beam.is_alive
        words = tokens.unsqueeze(1).expand_as(beam.node)
        rows = self._live_rows(is_alive)
        counted = CountedModel(self.model, self.work, is_shared=self._shares_nodes)
        nodes = counted.shift(beam.node.flatten()[rows], words.flatten()[rows])
        node = beam.node.flatten().index_copy(0, rows, nodes).view_as(beam.node)
        return after_word(beam.score, node, beam.depth)

    def _live_rows(self, is_alive: Tensor) -> Tensor:
        """Return the rows to compute: those of live hypotheses if packed, else all."""
        if self.is_packed:
            return is_alive.flatten().nonzero().squeeze(1)
        return torch.arange(is_alive.numel(), device=is_alive.device)

    def _word_end(self, beam: Beam, is_wanted: list[bool]) -> Tensor:
        """Return ``(groups,)`` log probabilities that the words just read end.

        B = Σ p(d) (1 - p(SHIFT | d) p(continuation | d)) / Σ p(d) over the survivors d.
        """
        beam = beam.front(self.expansion.word_width)
        score = beam.score
        wanted = torch.tensor(is_wanted, dtype=torch.bool, device=score.device).unsqueeze(1)
        rows = self._live_rows(beam.is_alive & wanted)
        counted = CountedModel(self.model, self.work, is_shared=self._shares_nodes)
        found = counted.word_end_log_prob(beam.node.flatten()[rows]).to(score)
        ends = torch.full_like(score, -torch.inf).flatten().index_copy(0, rows, found)
        # With fixed shapes the model also answers for empty slots; these answers are meaningless.
        ends = ends.view_as(score).masked_fill(~beam.is_alive, -torch.inf)
        return (score + ends).logsumexp(1) - score.logsumexp(1)
