"""Slow searches: all derivations written down, and the word-synchronous beam in plain lists."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from gardenpath.data.trees.legality import (
    FINISH,
    RULES,
    Action,
    Column,
    Kind,
    ParserState,
    Strategy,
)
from gardenpath.data.trees.tree import CLOSE, Open, Word
from gardenpath.eval.search.protocol import ROOT_NODE, TransitionModel
from gardenpath.eval.search.settings import WordSync

LogProb = Callable[[list[Action]], float]


def derivations(
    words: Sequence[str],
    labels: Sequence[str],
    strategy: Strategy,
    *,
    max_open: int,
    max_consecutive: int,
    continuations: Collection[str] = (),
) -> Iterator[tuple[int, list[Action]]]:
    """Every partial derivation that ends with a word, with the number of words read, and every
    complete one, numbered behind the last word.

    Words that are continuations come directly behind a word, and the first word of an in-order
    derivation is complete before its constituent is known.
    """
    legal = RULES[strategy]
    start = ParserState(has_pieces=bool(continuations))
    pending: list[tuple[list[Action], ParserState, int, int]] = [([], start, 0, 0)]
    while pending:
        actions, state, read, opened = pending.pop()
        for kind in legal(state):
            if kind is Kind.SHIFT and read == len(words):
                continue
            if kind is Kind.SHIFT:
                continues = words[read] in continuations
                if continues and state.last is not Kind.SHIFT:
                    continue
                is_alone = strategy == "in_order" and state.open_constituents == 0
                if not continues and is_alone and state.last is Kind.SHIFT:
                    continue
            is_root = (
                kind is Kind.REDUCE and strategy == "top_down" and state.open_constituents == 1
            )
            if is_root and read < len(words):
                continue
            for action in _actions(kind, words, read, labels):
                after = [*actions, action]
                next_state = state.apply(kind)
                if kind is Kind.FINISH or is_root:
                    if read == len(words):
                        yield len(words) + 1, after
                    continue
                if kind is Kind.SHIFT:
                    yield read + 1, after
                    pending.append((after, next_state, read + 1, 0))
                elif kind is Kind.OPEN:
                    if opened < max_consecutive and state.open_constituents < max_open:
                        pending.append((after, next_state, read, opened + 1))
                else:
                    pending.append((after, next_state, read, opened))


def _actions(kind: Kind, words: Sequence[str], read: int, labels: Sequence[str]) -> list[Action]:
    match kind:
        case Kind.SHIFT:
            return [Word(words[read])]
        case Kind.OPEN:
            return [Open(label) for label in labels]
        case Kind.REDUCE:
            return [CLOSE]
        case Kind.FINISH:
            return [FINISH]


def prefix_log_probs(
    words: Sequence[str],
    labels: Sequence[str],
    strategy: Strategy,
    log_prob: LogProb,
    *,
    max_open: int,
    max_consecutive: int,
    continuations: Collection[str] = (),
) -> list[float]:
    """Log probability of each prefix and, last, of the sentence."""
    totals = [0.0] * (len(words) + 1)
    for number, actions in derivations(
        words, labels, strategy, max_open=max_open, max_consecutive=max_consecutive,
        continuations=continuations,
    ):  # fmt: skip
        totals[number - 1] += math.exp(log_prob(actions))
    return [math.log(total) for total in totals]


# ----------------------------------------------------------------------------
# The word-synchronous search again, in plain lists, one hypothesis at a time, saving nothing.


LN_2 = math.log(2.0)


@dataclass(frozen=True)
class Hypothesis:
    """A derivation: its probability, the columns taken before each word, and what is limited."""

    log_prob: float = 0.0
    node: int = ROOT_NODE
    depth: int = 0
    opened: int = 0
    taken: tuple[tuple[int, ...], ...] = ((),)


@dataclass(frozen=True)
class WordOutcome:
    """What was found for one word, or for the end: survivors, best first, and the sum.

    ``word_end``: log probability that the word has ended, if words consist of pieces.
    """

    survivors: list[Hypothesis]
    prefix_log_prob: float
    word_end: float = 0.0


class NaiveSearch:
    """Searches one sentence at a time; nodes are never settled."""

    def __init__(self, model: TransitionModel, settings: WordSync) -> None:
        self._model = model
        self._settings = settings
        self._known: dict[int, list[float]] = {}
        self._continues = (
            set[int]() if model.is_continuation is None
            else set(model.is_continuation.nonzero().flatten().tolist())
        )  # fmt: skip

    def run(self, sentence: Sequence[int]) -> list[WordOutcome]:
        """All words and the end; the list stops short where no hypothesis survives."""
        self._model.begin()
        self._known.clear()
        beam = [Hypothesis()]
        found = []
        width = self._settings.word_beam
        for word, after in itertools.pairwise([*sentence, None, None]):
            # Pieces of the same word: as many are kept as the action beam holds.
            inside = after in self._continues
            kept = max(width, self._settings.action_beam) if inside else width
            result = self._next(beam, word, kept, is_inside=word in self._continues, goes_on=inside)
            if not result.survivors:
                break
            if word is not None:
                beam = [self._read(hypothesis, word) for hypothesis in result.survivors]
                if self._continues and not inside:
                    result = replace(result, word_end=self._word_end(beam))
            found.append(result)
        return found

    def _word_end(self, beam: list[Hypothesis]) -> float:
        nodes = torch.tensor([hypothesis.node for hypothesis in beam])
        ends = self._model.word_end_log_prob(nodes).tolist()
        log_probs = [hypothesis.log_prob for hypothesis in beam]
        ended = [one + end for one, end in zip(log_probs, ends, strict=True)]
        return _log_sum(ended) - _log_sum(log_probs)

    def _next(
        self,
        beam: list[Hypothesis],
        word: int | None,
        kept: int,
        *,
        is_inside: bool,
        goes_on: bool,
    ) -> WordOutcome:
        settings = self._settings
        candidates: list[Hypothesis] = []
        if is_inside:
            candidates = [new for old in beam for new in self._done(old, word)]
            beam = []
        while beam:
            actions = [new for old in beam for new in self._actions(old, word is None)]
            done = [new for old in beam for new in self._done(old, word)]
            if settings.fast_track == "word_beam":
                pool = actions
                candidates += done
            else:
                pool = [*actions, *done]
            pool.sort(key=lambda h: -h.log_prob)
            last = pool[min(settings.action_beam, len(pool)) - 1].log_prob if pool else 0.0
            if settings.fast_track != "word_beam":
                outside = sorted((h for h in done if h.log_prob < last), key=lambda h: -h.log_prob)
                candidates += [h for h in done if h.log_prob >= last]
                candidates += outside[: settings.fast_track]
            beam = [self._take(h) for h in actions if h.log_prob >= last]
            if settings.stop == "beam_full" and len(candidates) >= settings.action_beam:
                break
        candidates.sort(key=lambda h: -h.log_prob)
        summed = self._near(candidates[: settings.word_beam])
        survivors = candidates[:kept] if goes_on else self._near(candidates[:kept])
        if settings.marginal == "candidates":
            summed = candidates
        return WordOutcome(survivors, _log_sum([h.log_prob for h in summed]))

    def _near(self, candidates: list[Hypothesis]) -> list[Hypothesis]:
        """Those that are not too much less probable than the best one."""
        margin = self._settings.margin_bits
        if margin is None:
            return candidates
        return [h for h in candidates if h.log_prob >= candidates[0].log_prob - margin * LN_2]

    def _actions(self, old: Hypothesis, is_end: bool) -> Iterator[Hypothesis]:
        """Successors by structural actions, still standing where their parent stands."""
        settings = self._settings
        for column, log_prob in enumerate(self._columns(old)):
            is_open = column >= Column.FIRST_OPEN
            if column < Column.CLOSE or log_prob == -math.inf:
                continue
            if is_open and is_end and not self._model.opens_at_end:
                continue
            if is_open and (
                old.depth >= settings.max_open or old.opened >= settings.max_consecutive
            ):
                continue
            yield replace(
                old,
                log_prob=old.log_prob + log_prob,
                depth=old.depth + is_open - (column == Column.CLOSE),
                opened=old.opened + is_open,
                taken=(*old.taken[:-1], (*old.taken[-1], column)),
            )

    def _take(self, hypothesis: Hypothesis) -> Hypothesis:
        column = hypothesis.taken[-1][-1]
        node = self._model.advance(torch.tensor([hypothesis.node]), torch.tensor([column]))
        return replace(hypothesis, node=int(node))

    def _done(self, old: Hypothesis, word: int | None) -> Iterator[Hypothesis]:
        log_prob = self._columns(old)[Column.END if word is None else Column.WORD]
        if word is not None:
            given = self._model.word_log_prob(torch.tensor([old.node]), torch.tensor([word]))
            log_prob += float(given)
        if log_prob > -math.inf:
            yield replace(old, log_prob=old.log_prob + log_prob)

    def _columns(self, hypothesis: Hypothesis) -> list[float]:
        if hypothesis.node not in self._known:
            row = self._model.log_probs(torch.tensor([hypothesis.node]))[0].tolist()
            self._known[hypothesis.node] = row
        return self._known[hypothesis.node]

    def _read(self, hypothesis: Hypothesis, word: int) -> Hypothesis:
        node = self._model.shift(torch.tensor([hypothesis.node]), torch.tensor([word]))
        return replace(hypothesis, node=int(node), opened=0, taken=(*hypothesis.taken, ()))


def _log_sum(log_probs: list[float]) -> float:
    if not log_probs:
        return -math.inf
    top = max(log_probs)
    return top + math.log(sum(math.exp(value - top) for value in log_probs))
