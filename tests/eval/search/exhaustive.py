"""Prefix probabilities by writing down every derivation: slow and obvious."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence

from gardenpath.data.trees.legality import FINISH, RULES, Action, Kind, ParserState, Strategy
from gardenpath.data.trees.tree import CLOSE, Open, Word

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
