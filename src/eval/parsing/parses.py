"""Parses and partial parses, reconstructed from the beams of a search.

For each survivor of a beam, a search records the structural columns taken before the token and the
survivor of the previous beam that it extends. Replaying these records beam by beam gives a stack of
open constituents for every survivor; common parts of survivors are built once.

If tokens are pieces of words, a word is placed at its first piece. The other pieces are omitted, as
are constituents that contain only such pieces. Derivations that then yield the same tree count as
one parse, and so do equal hypotheses: their probabilities are summed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from gardenpath.data.arrays import Bools
from gardenpath.data.encoding.encoded import last_pieces
from gardenpath.data.trees.actions import Column, Strategy
from gardenpath.data.trees.brackets import escape, format_tree
from gardenpath.data.trees.legality import REDUCE_ENDS_AT
from gardenpath.data.trees.tree import Tree
from gardenpath.eval.search.result import SentenceResult, Step
from gardenpath.eval.search.stepping import NO_ACTION

_Parse = TypeVar("_Parse", bound=Hashable)
Starts = Sequence[bool] | Bools


class _Nothing:
    """Placeholder for a piece that does not start a word; in-order labels may attach to it."""


_NOTHING = _Nothing()
_Child = Tree | str | _Nothing


@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    """A partial parse: the innermost open constituent, its children so far and its ancestors.

    The outermost level has no label: it contains children that belong to no constituent yet.
    """

    label: str = ""
    children: tuple[_Child, ...] = ()
    outer: Partial | None = None

    def add(self, child: _Child) -> Partial:
        """Return the partial parse with one more child."""
        return Partial(self.label, (*self.children, child), self.outer)

    def open(self, label: str, strategy: Strategy) -> Partial:
        """Open another constituent; with in-order, its first child is the last child so far."""
        if strategy == "top_down":
            return Partial(label, (), self)
        if not self.children:
            raise ValueError(f"{label!r} has no first child")
        below = Partial(self.label, self.children[: self._last], self.outer)
        return Partial(label, self.children[self._last :], below)

    @property
    def _last(self) -> int:
        """Position of the last child; a word comes with all its pieces."""
        real = [n for n, child in enumerate(self.children) if not isinstance(child, _Nothing)]
        return real[-1] if real else len(self.children) - 1

    def close(self) -> Partial:
        """Close the innermost constituent."""
        if self.outer is None:
            raise ValueError("cannot close a constituent: none is open")
        children = tuple(child for child in self.children if not isinstance(child, _Nothing))
        return self.outer.add(Tree(self.label, children) if children else _NOTHING)

    def tree(self) -> Tree:
        """Return the tree if all constituents are closed."""
        if self.outer is not None or len(self.children) != 1:
            raise ValueError("the derivation does not yield exactly one tree")
        (tree,) = self.children
        if not isinstance(tree, Tree):
            raise ValueError("the derivation does not yield exactly one tree")
        return tree

    def __str__(self) -> str:
        """Return brackets, with open constituents left open: ``(S (NP the cat) (VP meows``."""
        levels = []
        level: Partial | None = self
        while level is not None:
            label = [f"({level.label}"] if level.outer is not None else []
            levels.append([*label, *_written(level.children)])
            level = level.outer
        return " ".join(piece for pieces in reversed(levels) for piece in pieces)


def _written(children: Iterable[_Child]) -> list[str]:
    return [
        format_tree(child) if isinstance(child, Tree) else escape(child)
        for child in children
        if not isinstance(child, _Nothing)
    ]


def k_best(
    result: SentenceResult,
    words: Sequence[str],
    *,
    labels: Sequence[str],
    strategy: Strategy,
    k: int,
    starts_word: Starts | None = None,
) -> list[tuple[float, Tree]]:
    """Return the best parses of a sentence, best first, each with its posterior probability.

    ``labels`` are the labels of the vocabulary. ``starts_word`` marks the tokens that start a word
    (default: all). The list is empty if the search failed.
    """
    if result.failure is not None:
        return []
    beams = _beams(result, _leaves(words, starts_word), labels, strategy)
    parses = _with_shares(_steps(result)[-1], beams[-1])
    if REDUCE_ENDS_AT[strategy] is not None:
        # The last action of the derivation closes the root.
        parses = [(share, parse.close()) for share, parse in parses]
    return _best(((share, parse.tree()) for share, parse in parses), k)


def partial_parses(
    result: SentenceResult,
    words: Sequence[str],
    *,
    labels: Sequence[str],
    strategy: Strategy,
    k: int,
    starts_word: Starts | None = None,
) -> list[list[tuple[float, str]]]:
    """Return, for each word, the best partial parses after it with their posterior probabilities.

    Partial parses are in brackets. Words from the failure of a search onwards have none.
    """
    leaves = _leaves(words, starts_word)
    beams = _beams(result, leaves, labels, strategy)
    steps = _steps(result)
    found: list[list[tuple[float, str]]] = []
    begins_word = np.array([leaf is not _NOTHING for leaf in leaves], dtype=bool)
    for token in last_pieces(begins_word)[:-1]:
        if token < len(beams):
            parses = _with_shares(steps[token], beams[token])
            found.append(_best(((share, str(p)) for share, p in parses), k))
        else:
            found.append([])
    return found


def _leaves(words: Sequence[str], starts_word: Starts | None) -> list[str | _Nothing]:
    """Return the leaf that each token adds to the tree."""
    starts = [True] * len(words) if starts_word is None else [bool(s) for s in starts_word]
    if sum(starts) != len(words) or not all(starts[:1]):
        raise ValueError(f"{len(words)} words, but tokens for {sum(starts)}")
    remaining = iter(words)
    return [next(remaining) if is_start else _NOTHING for is_start in starts]


def _steps(result: SentenceResult) -> list[Step]:
    """Return the beams of a sentence from the first token to the end of the sentence."""
    steps = []
    step = result.last
    while step is not None:
        steps.append(step)
        step = step.before
    if len(steps) != len(result.prefix_log_probs):
        raise ValueError("the search kept no history: search with keeps_history=True")
    return steps[::-1]


def _beams(
    result: SentenceResult,
    leaves: Sequence[str | _Nothing],
    labels: Sequence[str],
    strategy: Strategy,
) -> list[list[Partial]]:
    """Return all survivors after each token and before the end of the sentence."""
    steps = _steps(result)
    expected = len(leaves) + 1 if result.failure is None else result.failure.token
    if len(steps) != expected:
        raise ValueError(f"{len(leaves)} tokens do not match a search over {len(steps) - 1}")
    before, beams = [Partial()], []
    for step, leaf in zip(steps, [*leaves, None][: len(steps)], strict=True):
        # Equal hypotheses share one parse.
        known: dict[tuple[int, tuple[int, ...]], Partial] = {}
        after = []  # by slot: live hypotheses come first
        for place in np.flatnonzero(np.isfinite(step.score)):
            origin = before[int(step.origin[place])]
            trail = tuple(int(c) for c in step.trail[place] if c != NO_ACTION)
            key = (id(origin), trail)
            if key not in known:
                known[key] = _played(origin, trail, leaf, labels, strategy)
            after.append(known[key])
        beams.append(after)
        before = after
    return beams


def _played(
    parse: Partial,
    trail: Iterable[int],
    leaf: str | _Nothing | None,
    labels: Sequence[str],
    strategy: Strategy,
) -> Partial:
    """Apply structural columns to a parse and add the token that follows, if any."""
    for column in trail:
        if column == Column.CLOSE:
            parse = parse.close()
        else:
            parse = parse.open(labels[column - Column.FIRST_OPEN], strategy)
    return parse if leaf is None else parse.add(leaf)


def _with_shares(step: Step, parses: Sequence[Partial]) -> list[tuple[float, Partial]]:
    """Return parses with their posterior probabilities; equal ones are merged."""
    by_identity: dict[int, Partial] = {}
    shares: dict[int, float] = defaultdict(float)
    for share, parse in zip(step.shares().tolist(), parses, strict=False):
        by_identity[id(parse)] = parse
        shares[id(parse)] += share
    return [(shares[key], parse) for key, parse in by_identity.items()]


def _best(parses: Iterable[tuple[float, _Parse]], k: int) -> list[tuple[float, _Parse]]:
    """Return the ``k`` best distinct parses; ties keep the order of the beam."""
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    shares: dict[_Parse, float] = defaultdict(float)
    for share, parse in parses:
        shares[parse] += share
    ranked = sorted(shares.items(), key=lambda item: -item[1])
    return [(share, parse) for parse, share in ranked[:k]]
