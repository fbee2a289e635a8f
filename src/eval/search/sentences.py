"""Search over many sentences at once, token by token.

The hypotheses of one prefix form a group. In each round, all groups advance together, each to
every token that follows its prefix in some sentence; new sentences take the place of finished ones.
The beam of a prefix depends only on the prefix, so sentences with a common prefix share the work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from gardenpath.data.prefixes import Prefix, PrefixTrie, tries_by_start
from gardenpath.eval.search.beam import Beam, after_word, below, root_beam
from gardenpath.eval.search.expansion import Found, Prefixes
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
        """Maximum number of hypotheses that survive a word."""

    def group_bytes(self, length: int) -> int:
        """Estimate the memory, in bytes, of a group that reads a sentence of ``length`` tokens."""

    def run(self, beam: Beam, words: Tensor, is_end: Tensor, prefixes: Prefixes) -> Found:
        """Find the hypotheses that generate the next word, or end the sentence, for each group."""


@dataclass
class _Group:
    """The hypotheses of one prefix.

    ``log_probs``: prefix log probabilities after each token; ``bytes``: memory to reserve for each
    sentence that starts with the prefix.
    """

    prefix: Prefix
    bytes: int
    tokens: tuple[int, ...] = ()
    log_probs: tuple[float, ...] = ()
    best_share: tuple[float, ...] = ()
    step: Step | None = None


@dataclass(frozen=True)
class _Next:
    """A continuation of a group: a token, or the end of the sentence (``prefix`` is None)."""

    parent: int
    token: int
    prefix: Prefix | None


@dataclass(kw_only=True)
class SentenceSearch:
    """Searches sentences, given as token ids, with a syntactic language model.

    ``budget`` is the memory for active groups, in bytes. With ``keeps_history``, parses can be
    recovered from the results.
    """

    model: TransitionModel
    expansion: Expansion
    budget: float
    is_packed: bool = True
    share_prefixes: bool = True
    keeps_history: bool = False
    work: Work = field(default_factory=Work)

    def run(self, sentences: Sequence[Sequence[int]], on_result: OnResult) -> None:
        """Search all sentences; ``on_result`` receives each result with its sentence number."""
        tokens = [np.array(sentence, dtype=np.int32) for sentence in sentences]
        waiting = tries_by_start(tokens, is_shared=self.share_prefixes, most=MOST_GROUPS)[::-1]
        groups: list[_Group] = []
        with torch.inference_mode():
            self.model.begin()
            beam = self._roots(0)
            while waiting or groups:
                added = self._admit(waiting, groups)
                if added:
                    beam = below(beam, self._roots(len(added)))
                    groups += added
                groups, beam = self._round(groups, beam, on_result)

    def _roots(self, count: int) -> Beam:
        return root_beam(count, self.expansion.width, device=self.model.device, dtype=torch.float64)

    def _admit(self, waiting: list[PrefixTrie], groups: list[_Group]) -> list[_Group]:
        """Start the waiting tries that fit into memory; at least one if no group is active."""
        leaves = sum(group.prefix.leaves for group in groups)
        room = self.budget - sum(group.prefix.leaves * group.bytes for group in groups)
        added: list[_Group] = []
        while waiting:
            trie = waiting[-1]
            size = self.expansion.group_bytes(trie.length)
            leaves += trie.root.leaves
            room -= size * trie.root.leaves
            if (room < 0 or leaves > MOST_GROUPS) and (groups or added):
                break
            waiting.pop()
            added.append(_Group(trie.root, size))
        return added

    def _round(
        self, groups: list[_Group], beam: Beam, on_result: OnResult
    ) -> tuple[list[_Group], Beam]:
        """Advance all groups by one token."""
        following = list(_following(groups))
        device = self.model.device
        parents = torch.tensor([n.parent for n in following], device=device)
        tokens = torch.tensor([n.token for n in following], device=device)
        is_end = torch.tensor([n.prefix is None for n in following], device=device)
        if self._shares_nodes:
            # Groups that diverge at this token share their nodes before it; expand these once.
            beam = self._settled(beam).rows(parents)
        else:
            beam = self._settled(beam.rows(parents))
        prefixes = [groups[n.parent].tokens for n in following]
        found = self.expansion.run(beam, tokens, is_end, prefixes)
        self.work.words += len(following)
        children = self._report(groups, following, found, on_result)
        rows = torch.tensor([row for row, _ in children], dtype=torch.long, device=device)
        return [child for _, child in children], self._shifted(found.beam.rows(rows), tokens[rows])

    @property
    def _shares_nodes(self) -> bool:
        return self.is_packed and self.share_prefixes

    def _settled(self, beam: Beam) -> Beam:
        return replace(beam, node=self.model.settle(beam.node, beam.is_alive))

    def _report(
        self,
        groups: list[_Group],
        following: list[_Next],
        found: Found,
        on_result: OnResult,
    ) -> list[tuple[int, _Group]]:
        """Report sentences that end or fail here; return the other groups with their rows."""
        table = torch.stack(
            [
                found.log_prob.double(),
                found.beam.score[:, 0].double() - found.beam.score.double().logsumexp(1),
                found.too_many_open.double(),
                found.too_many_opened.double(),
            ],
            dim=1,
        ).tolist()
        steps = self._steps(groups, following, found)
        children = []
        for row, (entry, next_) in enumerate(zip(table, following, strict=True)):
            group = groups[next_.parent]
            log_prob, best_log_share, hit_open, hit_opened = entry
            if log_prob == -np.inf:
                self._fail(group, next_, bool(hit_open), bool(hit_opened), on_result)
                continue
            child = _Group(
                prefix=next_.prefix or group.prefix,
                bytes=group.bytes,
                tokens=(*group.tokens, next_.token),
                log_probs=(*group.log_probs, log_prob),
                best_share=(*group.best_share, float(np.exp(best_log_share))),
                step=steps[row],
            )
            if next_.prefix is not None:
                children.append((row, child))
                continue
            result = SentenceResult(child.log_probs, child.best_share, child.step)
            for sentence in group.prefix.sentences:
                on_result(sentence, result)
        return children

    def _fail(
        self,
        group: _Group,
        next_: _Next,
        hit_open: bool,
        hit_opened: bool,
        on_result: OnResult,
    ) -> None:
        width_setting = self.expansion.width_setting
        failure = SearchFailure(len(group.log_probs), hit_open, hit_opened, width_setting)
        result = SentenceResult(group.log_probs, group.best_share, group.step, failure)
        lost = group.prefix.sentences if next_.prefix is None else next_.prefix.all_sentences
        for sentence in lost:
            on_result(sentence, result)

    def _steps(
        self, groups: list[_Group], following: list[_Next], found: Found
    ) -> list[Step | None]:
        if not self.keeps_history:
            return [None] * len(following)
        score = found.beam.score.double().cpu().numpy()
        origin = found.beam.origin.cpu().numpy()
        trail = found.beam.trail.cpu().numpy()
        return [
            Step(score[row], origin[row], trail[row], groups[n.parent].step)
            for row, n in enumerate(following)
        ]

    def _shifted(self, beam: Beam, tokens: Tensor) -> Beam:
        """Let all survivors read the token."""
        if not len(beam.score):
            return self._roots(0)
        is_alive = beam.is_alive
        words = tokens.unsqueeze(1).expand_as(beam.node)
        if self.is_packed:
            rows = is_alive.flatten().nonzero().squeeze(1)
        else:
            rows = torch.arange(is_alive.numel(), device=is_alive.device)
        counted = CountedModel(self.model, self.work, is_shared=self._shares_nodes)
        nodes = counted.shift(beam.node.flatten()[rows], words.flatten()[rows])
        node = beam.node.flatten().index_copy(0, rows, nodes).view_as(beam.node)
        return after_word(beam.score, node, beam.depth)


def _following(groups: list[_Group]) -> list[_Next]:
    found = []
    for number, group in enumerate(groups):
        if group.prefix.sentences:
            found.append(_Next(number, 0, None))
        found += [_Next(number, token, child) for token, child in group.prefix.children.items()]
    return found
