"""Word scores of syntactic language models, through a search over many sentences at once.

Runs and suites call :class:`StructuredScorer` with words, and the functions below it turn results
over tokens into values of words. :class:`SentenceSearch` decides which groups (the hypotheses of
one prefix) advance together, token by token, and lets an expansion (:mod:`expansion`,
:mod:`unbiased`) find the survivors of each token. Nothing is stored here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from gardenpath.data.arrays import Bools, Floats
from gardenpath.data.encoding import EncodedSplit, encode_sentences
from gardenpath.data.sentence import OnWords, Prefix, PrefixTrie, Sharing, tries_by_start
from gardenpath.data.words.pieces import Boundary, Subwords
from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.errors import GardenpathError
from gardenpath.eval.search.beam import (
    Beam,
    Next,
    WordLimit,
    after_word,
    joined,
    next_pieces,
    root_beam,
    tokens_after,
)
from gardenpath.eval.search.expansion import BeamExpansion, Expansion, Found, Targets
from gardenpath.eval.search.protocol import CountedModel, TransitionModel, Work
from gardenpath.eval.search.replicates import mixed, standard_error
from gardenpath.eval.search.result import (
    AFTER_TOKEN,
    MEASURED,
    SearchFailure,
    SentenceResult,
    Step,
    is_best,
    measured,
)
from gardenpath.eval.search.settings import SearchSettings, Unbiased
from gardenpath.eval.search.unbiased import UnbiasedExpansion, until_tolerance
from gardenpath.util import bits


@dataclass(frozen=True)
class Group:
    """The hypotheses of one prefix, in one or more replicates.

    ``log_probs``: ``(replicates,)`` prefix log probabilities after each token; ``measures``:
    ``(replicates, 8)`` what was measured there; ``word_ends``: ``(replicates,)`` log probabilities
    that words ended, for all tokens but the last; ``bytes``: memory to reserve for each sentence
    that starts with the prefix; ``key``: a number that depends on the prefix only.
    """

    prefix: Prefix
    bytes: int
    log_probs: tuple[Floats, ...] = ()
    measures: tuple[Floats, ...] = ()
    word_ends: tuple[Floats, ...] = ()
    step: Step | None = None
    key: int = 0

    def before(self, token: Next, ended: WordLimit, word_end: Floats | None = None) -> Group:
        """Return the group as the next token has it, for models over pieces.

        If the next token begins a word, the last word has ended, with the probability ``word_end``,
        and only the survivors of the limit ``ended`` count.
        """
        if not self.log_probs:
            return self
        if token.continues:
            ends = () if word_end is None else (np.zeros_like(word_end),)
            return replace(self, word_ends=self.word_ends + ends)
        return replace(
            self,
            word_ends=self.word_ends + (() if word_end is None else (word_end,)),
            step=None if self.step is None else self.step.within(ended),
        )

    def after(self, token: Next, log_prob: Floats, measures: Floats, step: Step | None) -> Group:
        return replace(
            self, prefix=token.prefix or self.prefix, key=mixed(self.key, token.token + 1),
            log_probs=(*self.log_probs, log_prob), measures=(*self.measures, measures), step=step,
        )  # fmt: skip


@dataclass(frozen=True)
class Front:
    """The hypotheses of all groups.

    ``word_end``: ``(groups,)`` log probabilities that their last words ended; ``is_best``:
    ``(groups, width)`` whether they continue the best hypothesis of the last word.
    """

    beam: Beam
    is_best: Tensor
    word_end: Tensor | None = None


# ----------------------------------------------------------------------------
# In each round, all groups advance together, each to every token that follows its prefix in some
# sentence; new sentences take the place of finished ones. The beam of a prefix depends only on the
# prefix, so sentences with a common prefix share the work.

OnResult = Callable[[int, SentenceResult], None]

# More groups than this at the same time are not faster.
MOST_GROUPS = 128


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
                    roots = self._roots(len(added), front.beam.score.shape[1])
                    ends = None
                    if front.word_end is not None and roots.word_end is not None:
                        ends = torch.cat([front.word_end, roots.word_end])
                    flags = torch.cat([front.is_best, roots.is_best])
                    front = Front(joined(front.beam, roots.beam, dim=0), flags, ends)
                    groups += added
                groups, front = self._round(groups, front, on_result)

    def _roots(self, count: int, width: int) -> Front:
        rows = count * self.expansion.replicates
        beam = root_beam(rows, width, device=self.model.device, dtype=torch.float64)
        # At the beginning there is no word that could continue.
        has_ends = self.finds_word_ends and self._is_continuation is not None
        return Front(beam, beam.is_alive, torch.zeros_like(beam.score[:, 0]) if has_ends else None)

    def _admit(self, waiting: list[PrefixTrie], groups: list[Group]) -> list[Group]:
        """Start the waiting tries that fit into memory; at least one if no group is active."""
        leaves = sum(group.prefix.leaves for group in groups)
        room = self.budget - sum(group.prefix.leaves * group.bytes for group in groups)
        most = max(1, MOST_GROUPS // self.expansion.replicates)
        added: list[Group] = []
        while waiting:
            trie = waiting[-1]
            size = self.expansion.group_bytes(trie.length)
            leaves += trie.root.leaves
            room -= size * trie.root.leaves
            if (room < 0 or leaves > most) and (groups or added):
                break
            waiting.pop()
            added.append(Group(trie.root, size))
        return added

    def _round(
        self, groups: list[Group], front: Front, on_result: OnResult
    ) -> tuple[list[Group], Front]:
        tokens_next = list(tokens_after((group.prefix for group in groups), self._is_continuation))
        parents = self._rows([n.parent for n in tokens_next])
        targets = self._targets(groups, tokens_next)
        beam, flags = self._at_targets(front, parents, tokens_next, targets)
        survivors = self.expansion.run(beam, targets)
        self.work.words += len(tokens_next)
        word_end = None if front.word_end is None else front.word_end[parents]
        came_from_best = flags.gather(1, survivors.beam.origin)
        children = self._report(groups, tokens_next, survivors, came_from_best, word_end, on_result)
        if not children:
            return [], self._roots(0, self.expansion.width)
        rows = self._rows([row for row, _ in children])
        shifted = self._shifted(survivors.beam.rows(rows), targets.words[rows])
        if word_end is not None:
            ends = [tokens_next[row].ends for row, _ in children]
            word_end = self._word_end(shifted, self._repeated(ends))
        return [child for _, child in children], Front(
            shifted, came_from_best.index_select(0, rows), word_end
        )

    def _rows(self, groups: Sequence[int]) -> Tensor:
        """Return the rows of groups: each has one for each of its replicates."""
        count = self.expansion.replicates
        rows = np.array(groups, dtype=np.int64)[:, None] * count + np.arange(count)
        return torch.tensor(rows.ravel(), device=self.model.device)

    def _repeated(self, values: Sequence[int] | Sequence[bool]) -> Tensor:
        """Return the values of groups for each of their rows, on the device."""
        rows = [value for value in values for _ in range(self.expansion.replicates)]
        return torch.tensor(rows, device=self.model.device)

    def _targets(self, groups: list[Group], tokens_next: list[Next]) -> Targets:
        parents = {n.parent for n in tokens_next}
        is_shared = self.expansion.replicates > 1 or len(parents) < len(tokens_next)
        pieces = None
        if self._is_continuation is not None:
            pieces = next_pieces(
                tokens_next, width=self.expansion.width, word_width=self.expansion.word_width,
                replicates=self.expansion.replicates, is_packed=self.is_packed,
                device=self.model.device,
            )  # fmt: skip
        return Targets(
            words=self._repeated([n.token for n in tokens_next]),
            is_end=self._repeated([n.prefix is None for n in tokens_next]), pieces=pieces,
            seeds=[groups[n.parent].key for n in tokens_next],
            are_shared=self.share_prefixes and is_shared, keeps_history=self.keeps_history,
        )  # fmt: skip

    def _at_targets(
        self, front: Front, parents: Tensor, tokens_next: list[Next], targets: Targets
    ) -> tuple[Beam, Tensor]:
        """Return the hypotheses of each target, and which continue the best one of the last word.

        Groups that diverge at this token share their nodes before it, if these can be told apart.
        """
        beam, has_pieces = front.beam, targets.pieces is not None
        if has_pieces and self.is_packed and not any(n.continues for n in tokens_next):
            # Words have ended, and no group needs more slots.
            beam = beam.front(self.expansion.ended.width)
        if self._shares_nodes:
            beam = self._settled(beam)
        beam = beam.rows(parents)
        if has_pieces:
            beam = self.expansion.begin_word(beam, targets)
        if not self._shares_nodes:
            beam = self._settled(beam)
        flags = is_best(beam)
        if targets.pieces is not None:
            before = front.is_best.index_select(0, parents)[:, : flags.shape[1]]
            flags = torch.where(targets.pieces.continues.unsqueeze(1), before, flags)
        return beam, flags

    @property
    def _shares_nodes(self) -> bool:
        return self.is_packed and self.share_prefixes

    def _settled(self, beam: Beam) -> Beam:
        if not len(beam.score):
            return beam
        return beam.with_nodes(self.model.settle(beam.node, beam.is_alive))

    def _report(
        self,
        groups: list[Group],
        tokens_next: list[Next],
        survivors: Found,
        came_from_best: Tensor,
        word_end: Tensor | None,
        on_result: OnResult,
    ) -> list[tuple[int, Group]]:
        """Report sentences that end or fail here; return the other groups with their numbers."""
        counted = self.expansion.ended.of_beam(survivors.beam)
        flags = came_from_best[:, : counted.score.shape[1]]
        parts = [survivors.log_prob.unsqueeze(1), measured(counted, flags), survivors.too_many]
        if word_end is not None:
            parts.append(word_end.unsqueeze(1))
        numbers = torch.cat([part.double() for part in parts], dim=1).tolist()
        table = np.array(numbers).reshape(len(tokens_next), self.expansion.replicates, -1)
        steps = self._steps(groups, tokens_next, survivors)
        children = []
        for number, (entry, next_) in enumerate(zip(table, tokens_next, strict=True)):
            log_prob, measures = entry[:, 0], entry[:, 1 : 1 + MEASURED]
            too_many = entry[:, 1 + MEASURED : 3 + MEASURED].max(0) > 0
            ends = None if word_end is None else entry[:, -1]
            group = self._read(groups[next_.parent], next_, ends)
            if (log_prob == -np.inf).all():
                self._fail(group, next_, too_many, on_result)
                continue
            child = group.after(next_, log_prob, measures, step=steps[number])
            if next_.prefix is not None:
                children.append((number, child))
                continue
            last = None if child.step is None else child.step.within(self.expansion.ended)
            result = self._result(child, last=last)
            for sentence in group.prefix.sentences:
                on_result(sentence, result)
        return children

    def _result(
        self, group: Group, last: Step | None, failure: SearchFailure | None = None
    ) -> SentenceResult:
        count = self.expansion.replicates
        log_probs = np.array(group.log_probs).reshape(-1, count)
        ends = None
        if self.finds_word_ends and self._is_continuation is not None:
            # After the end of the sentence, no word can continue.
            ends = np.zeros_like(log_probs)
            if group.word_ends:
                ends[: len(group.word_ends)] = np.array(group.word_ends)
        measures = np.array(group.measures).reshape(-1, count, MEASURED)
        return SentenceResult(log_probs, measures, last, failure, ends)

    def _read(self, group: Group, next_: Next, word_end: Floats | None = None) -> Group:
        """Return a group as its next token has it."""
        if self._is_continuation is None:
            return group
        return group.before(next_, self.expansion.ended, word_end)

    def _fail(self, group: Group, next_: Next, too_many: Bools, on_result: OnResult) -> None:
        failure = SearchFailure(len(group.log_probs), *map(bool, too_many))
        result = self._result(group, last=group.step, failure=failure)
        lost = group.prefix.sentences if next_.prefix is None else next_.prefix.all_sentences
        for sentence in lost:
            on_result(sentence, result)

    def _steps(
        self, groups: list[Group], tokens_next: list[Next], survivors: Found
    ) -> list[Step | None]:
        """Return the steps of the first replicate of each group, if they are kept."""
        if survivors.trail is None:
            return [None] * len(tokens_next)
        count = self.expansion.replicates
        score = survivors.beam.score.double().cpu().numpy()[::count]
        joint = survivors.beam.joint.double().cpu().numpy()[::count]
        origin = survivors.beam.origin.cpu().numpy()[::count]
        trail = survivors.trail[::count]
        before = [self._read(groups[n.parent], n).step for n in tokens_next]
        return [
            Step(score[row], joint[row], origin[row], trail[row], step)
            for row, step in enumerate(before)
        ]

    def _shifted(self, beam: Beam, tokens: Tensor) -> Beam:
        words = tokens.unsqueeze(1).expand_as(beam.node)
        rows = self._live_rows(beam.is_alive)
        flat = beam.node.flatten()
        nodes = self._counted.shift(flat[rows], words.flatten()[rows])
        node = flat.index_copy(0, rows, nodes).view_as(beam.node)
        return after_word(beam.score, beam.joint, node, beam.depth)

    @property
    def _counted(self) -> CountedModel:
        return CountedModel(self.model, self.work, is_shared=self._shares_nodes)

    def _live_rows(self, is_alive: Tensor) -> Tensor:
        """Return the rows to compute: those of live hypotheses if packed, else all."""
        if self.is_packed:
            return is_alive.flatten().nonzero().squeeze(1)
        return torch.arange(is_alive.numel(), device=is_alive.device)

    def _word_end(self, beam: Beam, is_wanted: Tensor) -> Tensor:
        """Return ``(rows,)`` log probabilities that the words just read end.

        B = Σ p(d) (1 - p(SHIFT | d) p(continuation | d)) / Σ p(d) over the survivors d.
        """
        beam = self.expansion.ended.of_beam(beam)
        score = beam.score
        rows = self._live_rows(beam.is_alive & is_wanted.unsqueeze(1))
        answers = self._counted.word_end_log_prob(beam.node.flatten()[rows]).to(score)
        ends = torch.full_like(score, -torch.inf).flatten().index_copy(0, rows, answers)
        # With fixed shapes the model also answers for empty slots; these answers are meaningless.
        ends = ends.view_as(score).masked_fill(~beam.is_alive, -torch.inf)
        return ((score + ends).logsumexp(1) - score.logsumexp(1)).nan_to_num(0.0)


# ----------------------------------------------------------------------------
# Words instead of tokens.

# Receives the result of a sentence as soon as its end is reached: the number of the sentence in
# the encoded sentences.
OnSearched = Callable[[EncodedSplit, int, SentenceResult], None]


class StructuredScorer:
    """Scores words with a syntactic language model, through search.

    ``boundary`` says how the pieces of a word make the probability of the word;
    None stands for words, and for the product over pieces. After a call, ``failures`` maps the
    numbers of sentences without surviving hypotheses to the failure.
    """

    def __init__(
        self,
        *,
        model: TransitionModel,
        vocabulary: Vocabulary,
        subwords: Subwords | None,
        settings: SearchSettings,
        is_packed: bool,
        boundary: Boundary | None = None,
        on_words: OnWords = lambda _: None,
    ) -> None:
        if boundary == "leading":
            raise GardenpathError(
                "boundary=leading is not defined for syntactic models, whose tokens mark the "
                "beginnings of words: use boundary=next"
            )
        self.boundary = boundary
        self._model = model
        self._vocabulary = vocabulary
        self._subwords = subwords
        self.settings = settings
        self._is_packed = is_packed
        self._on_words = on_words
        self.work = Work()
        self.failures: dict[int, SearchFailure] = {}
        self.sharing = Sharing(0, 0)

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return, for each sentence, the log probability (nats) of each word, then its end.

        Values are NaN from the first word at which no hypothesis survived.
        """
        split = encode_sentences(sentences, self._vocabulary, self._subwords)
        return [
            word_log_probs_of(result, split, number, boundary=self.boundary)
            for number, result in enumerate(self._search(split, keeps_history=False))
        ]

    def search(
        self,
        sentences: Sequence[Sequence[str]],
        *,
        keeps_history: bool,
        matters: Sequence[Collection[int] | None] | None = None,
        on_searched: OnSearched | None = None,
    ) -> tuple[list[SentenceResult], EncodedSplit]:
        """Return the results of sentences and their encoding.

        ``matters`` are, for each sentence, the positions of words (that of the end is the number of
        words) whose standard error must not exceed the tolerance of an unbiased search; None
        stands for all. ``on_searched`` is called with each sentence whose end is reached; of an
        unbiased search that adds replicates, it sees the first ones only.
        """
        split = encode_sentences(sentences, self._vocabulary, self._subwords)
        results = self._search(
            split, keeps_history=keeps_history, matters=matters, on_searched=on_searched
        )
        return results, split

    def _search(
        self,
        split: EncodedSplit,
        *,
        keeps_history: bool,
        matters: Sequence[Collection[int] | None] | None = None,
        on_searched: OnSearched | None = None,
    ) -> list[SentenceResult]:
        tokens = [split.sentence(number).tolist() for number in range(len(split))]
        before = self.work.words

        def run(numbers: Sequence[int], replicates: range) -> Mapping[int, SentenceResult]:
            results: dict[int, SentenceResult] = {}

            def keep(place: int, result: SentenceResult) -> None:
                number = numbers[place]
                results[number] = result
                if replicates.start == 0:
                    self._on_words(len(tokens[number]))
                    if on_searched is not None:
                        on_searched(split, number, result)

            SentenceSearch(
                model=self._model, expansion=self._expansion(replicates), work=self.work,
                budget=self.settings.memory_gb * 1e9, is_packed=self._is_packed,
                share_prefixes=self.settings.share_prefixes, keeps_history=keeps_history,
                finds_word_ends=self.boundary == "next",
            ).run([tokens[number] for number in numbers], keep)  # fmt: skip
            return results

        def deviations(number: int, result: SentenceResult) -> Floats:
            of_words = word_deviations_of(result, split, number, boundary=self.boundary)
            assert of_words is not None
            return of_words

        numbers = range(len(split))
        settings = self.settings
        if isinstance(settings, Unbiased):
            positions = [None] * len(split) if matters is None else matters
            results = until_tolerance(run, deviations, numbers, settings, positions)
        else:
            results = dict(run(numbers, range(1)))
        self.failures = {n: r.failure for n, r in results.items() if r.failure is not None}
        self.sharing = Sharing(sum(len(t) + 1 for t in tokens), self.work.words - before)
        return [results[number] for number in numbers]

    def _expansion(self, replicates: range) -> Expansion:
        settings, work, is_packed = self.settings, self.work, self._is_packed
        if isinstance(settings, Unbiased):
            return UnbiasedExpansion(
                self._model, settings, is_packed=is_packed, work=work, replicates=replicates
            )
        return BeamExpansion(self._model, settings, is_packed=is_packed, work=work)


def word_log_probs_of(
    result: SentenceResult, split: EncodedSplit, number: int, *, boundary: Boundary | None = None
) -> Floats:
    """Return ``(words + 1,)`` log probabilities (nats) of the words of a sentence and its end.

    With ``boundary=next``, p(word) = Π p(pieces) · B(after the word) / B(before the word).
    """
    per_token = result.token_log_probs(
        len(split.sentence(number)), with_word_ends=boundary == "next"
    )
    return split.sum_to_words(number, per_token)


def word_deviations_of(
    result: SentenceResult, split: EncodedSplit, number: int, *, boundary: Boundary | None = None
) -> Floats | None:
    """Return ``(words + 1, replicates)`` deviations (bits); None without replicates."""
    per_token = result.token_deviations(
        len(split.sentence(number)), with_word_ends=boundary == "next"
    )
    if per_token is None:
        return None
    return np.stack([split.sum_to_words(number, column) for column in per_token.T], axis=1)


def word_columns_of(
    result: SentenceResult, split: EncodedSplit, number: int, *, boundary: Boundary | None = None
) -> dict[str, Floats]:
    """Return what the search knows about each word and the end: ``(words + 1,)`` each, by name.

    The names are those of ``SEARCH_COLUMNS`` (:mod:`gardenpath.store.tables`).
    """
    tokens = len(split.sentence(number))
    measures = result.measures
    last = split.last_pieces(number)
    columns = {name: result.padded(getattr(measures, name), tokens)[last] for name in AFTER_TOKEN}
    entropy = columns["entropy_bits"]
    # At the beginning there is one analysis: nothing has been read.
    columns["entropy_reduction_bits"] = -np.diff(entropy, prepend=0.0)
    surprisal = bits(word_log_probs_of(result, split, number, boundary=boundary))
    word_bits = split.sum_to_words(number, result.padded(measures.word_bits, tokens))
    columns["word_bits"] = word_bits
    columns["structure_bits"] = surprisal - word_bits
    deviations = word_deviations_of(result, split, number, boundary=boundary)
    if deviations is not None:
        columns["surprisal_se"] = standard_error(deviations)
    return columns
