"""Parses and partial parses, reconstructed from the beams of a search.

For each survivor of a beam, a search records the structural columns taken before the token and the
survivor of the previous beam that it extends. Replaying these records beam by beam gives a stack of
open constituents for every survivor; common parts of survivors are built once.

If tokens are pieces of words, a word is placed at its first piece. The other pieces are omitted, as
are constituents that contain only such pieces. Derivations that then yield the same tree count as
one parse, and so do equal hypotheses: their probabilities are summed.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Literal, TypeVar

import numpy as np

from gardenpath.console import FittedTable
from gardenpath.data.arrays import Bools, Floats
from gardenpath.data.encoding import EncodedSplit, last_pieces
from gardenpath.data.trees.cleaning import drop_traces, strip_label
from gardenpath.data.trees.legality import REDUCE_ENDS_AT, Column, Strategy
from gardenpath.data.trees.tree import Open, Tree, Word, escape, format_tree
from gardenpath.errors import GardenpathError
from gardenpath.eval.search.beam import NO_ACTION
from gardenpath.eval.search.result import SentenceResult, Step
from gardenpath.eval.search.settings import WordSync
from gardenpath.util import bits

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
    starts = [True] * len(words) if starts_word is None else [bool(s) for s in starts_word]
    if sum(starts) != len(words) or not all(starts[:1]):
        raise ValueError(f"{len(words)} words, but tokens for {sum(starts)}")
    remaining = iter(words)
    return [next(remaining) if is_start else _NOTHING for is_start in starts]


def _steps(result: SentenceResult) -> list[Step]:
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


# Diagnostics of a search: is the beam wide enough?
#
# Two measures are available: the change of surprisals when the beams are widened, which estimates
# the error of the beam, and the posterior probability of the best parse, which shows how much a
# surprisal depends on a single analysis.

# For each sentence, the log probability (nats) of each word, then its end.
Score = Callable[[WordSync], Sequence[Floats]]

FACTORS = (1, 2, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvergenceRow:
    """Surprisals at one beam width, and their change from the previous, smaller width.

    ``events`` counts words and sentence ends; ``failed`` counts events that no hypothesis reached,
    which are excluded from all other values. Changes are absolute differences over the events that
    were reached at both widths: ``NaN`` if there are none, ``None`` in the first row. The largest
    change is at ``sentence`` and ``word``, counted from one; the end of a sentence is numbered
    after its last word.
    """

    factor: int
    action_beam: int
    word_beam: int
    fast_track: int | Literal["word_beam"]
    events: int
    failed: int
    mean_surprisal_bits: float
    max_change_bits: float | None = None
    mean_change_bits: float | None = None
    sentence: int | None = None
    word: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MassRow:
    """Posterior probability of the best hypothesis after a word (``None``: end of the sentence).

    ``sentence`` and ``word_id`` count from one. ``best_share`` is ``NaN`` if no hypothesis
    survived.
    """

    sentence: int
    word_id: int
    word: str | None
    best_share: float


def widened(settings: WordSync, factor: int) -> WordSync:
    """Return the settings with both beam widths, and the margin, multiplied by ``factor``."""
    margin = settings.margin_bits
    return replace(
        settings,
        action_beam=settings.action_beam * factor,
        word_beam=settings.word_beam * factor,
        margin_bits=None if margin is None else margin * factor,
    )


def convergence(
    score: Score, settings: WordSync, *, factors: Sequence[int] = FACTORS
) -> list[ConvergenceRow]:
    """Score at each beam width, in order; each row is compared with the previous one."""
    rows: list[ConvergenceRow] = []
    before: list[Floats] | None = None
    for factor in factors:
        wide = widened(settings, factor)
        surprisals = [bits(np.asarray(s, dtype=np.float64)) for s in score(wide)]
        row = _row(factor, wide, surprisals)
        rows.append(row if before is None else _compared(row, surprisals, before))
        before = surprisals
    return rows


def _row(factor: int, settings: WordSync, surprisals: Sequence[Floats]) -> ConvergenceRow:
    flat = np.concatenate([*surprisals, np.zeros(0)])
    reached = flat[np.isfinite(flat)]
    return ConvergenceRow(
        factor=factor,
        action_beam=settings.action_beam,
        word_beam=settings.word_beam,
        fast_track=settings.fast_track,
        events=len(flat),
        failed=len(flat) - len(reached),
        mean_surprisal_bits=float(reached.mean()) if len(reached) else math.nan,
    )


def _compared(
    row: ConvergenceRow, surprisals: Sequence[Floats], before: Sequence[Floats]
) -> ConvergenceRow:
    if [len(one) for one in surprisals] != [len(one) for one in before]:
        raise ValueError("two searches scored different sentences")
    greatest, total, count = -1.0, 0.0, 0
    place: tuple[int, int] | None = None
    for sentence, (one, other) in enumerate(zip(surprisals, before, strict=True), start=1):
        change = np.abs(one - other)
        reached = np.flatnonzero(np.isfinite(change))
        if not len(reached):
            continue
        total, count = total + float(change[reached].sum()), count + len(reached)
        worst = int(reached[change[reached].argmax()])
        if change[worst] > greatest:
            greatest, place = float(change[worst]), (sentence, worst + 1)
    if place is None:
        return replace(row, max_change_bits=math.nan, mean_change_bits=math.nan)
    return replace(
        row,
        max_change_bits=greatest,
        mean_change_bits=total / count,
        sentence=place[0],
        word=place[1],
    )


def best_shares_of(result: SentenceResult, split: EncodedSplit, number: int) -> Floats:
    """Return ``(words + 1,)`` posterior probabilities of the best hypothesis.

    The values are those after the last piece of each word and at the end of the sentence; they are
    NaN from a failure onwards.
    """
    shares = np.full(len(split.sentence(number)) + 1, np.nan)
    shares[: len(result.best_share)] = result.best_share
    found: Floats = shares[split.last_pieces(number)]
    return found


def mass_rows(
    sentences: Sequence[Sequence[str]], best_shares: Sequence[Sequence[float]]
) -> list[MassRow]:
    """Return one row per word and sentence end, from :func:`best_shares_of` each sentence."""
    return [
        MassRow(sentence=number, word_id=place, word=word, best_share=float(share))
        for number, (words, shares) in enumerate(zip(sentences, best_shares, strict=True), start=1)
        for place, (word, share) in enumerate(zip([*words, None], shares, strict=True), start=1)
    ]


def convergence_table(rows: Sequence[ConvergenceRow]) -> FittedTable:
    """Return the rows as a table for the terminal."""
    table = FittedTable("Beam convergence", "changes in bits, relative to the row above")
    for name in ("beam", "action", "word", "fast-track", "bits/word", "max change"):
        table.column(name, right=True)
    table.column("at")
    table.column("mean change", right=True)
    table.column("failed", right=True)
    for row in rows:
        table.add_row(
            f"{row.factor}×",
            str(row.action_beam),
            str(row.word_beam),
            str(row.fast_track),
            f"{row.mean_surprisal_bits:.3f}",
            _number(row.max_change_bits),
            "" if row.sentence is None else f"{row.sentence}:{row.word}",
            _number(row.mean_change_bits),
            f"{row.failed}/{row.events}" if row.failed else "",
        )
    return table


def mean_best_share(rows: Sequence[MassRow]) -> float:
    """Return the mean over the words and sentence ends that were reached; NaN if none were."""
    shares = [row.best_share for row in rows if not math.isnan(row.best_share)]
    return sum(shares) / len(shares) if shares else math.nan


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


# Labelled bracketing: precision, recall and F1 of parses against gold trees.
#
# The conventions are those of EVALB (Sekine and Collins), which nearly all published results
# follow: a constituent is a label and the words it spans; part-of-speech nodes are not
# constituents; punctuation is deleted before spans are computed; the root label is ignored; and
# equal constituents over the same words (unary chains) are matched one to one.

# Label, first word, end (exclusive); deleted words are not counted.
Bracket = tuple[str, int, int]


class WordsDifferError(GardenpathError):
    """A parse and its gold tree have different words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Punctuation:
    """Deleted punctuation: by part-of-speech tag if words have one, otherwise by word."""

    words: frozenset[str]
    tags: frozenset[str]


# English: words with these five tags in the Penn Treebank. The apostrophe is not listed because it
# is far more often a possessive than a quotation mark; EVALB treats brackets and currency signs as
# words. Chinese: words with the tag PU in the Chinese Treebank.
PUNCTUATION = {
    "en": Punctuation(
        words=frozenset('.?!,:;-–—…`“”‘"') | {"--", "---", "...", "``", "''"},
        tags=frozenset(",.:") | {"``", "''"},
    ),
    "zh": Punctuation(
        words=frozenset('。．？！，、；：·・—－…━～／“”‘’＂「」『』（）〔〕《》〈〉【】.?!,;:()/-"')
        | {"——", "……", "--", "..."},
        tags=frozenset({"PU"}),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Conventions:
    """Rules for counting and matching constituents.

    ``punctuation``: the language whose punctuation is deleted, or ``counted`` to keep punctuation.
    ``drop_pos``: brackets around exactly one word are part-of-speech nodes, which are not
    constituents; traces are removed as well. ``equivalences``: groups of labels that are treated as
    equal. ``ignored_labels``: labels of nodes that are not counted as constituents.
    """

    punctuation: Literal["en", "zh", "counted"] = "en"
    drop_pos: bool = False
    strip_function_tags: bool = True
    equivalences: tuple[tuple[str, ...], ...] = (("ADVP", "PRT"),)
    ignored_labels: tuple[str, ...] = ("TOP", "ROOT", "S1")

    def name(self, label: str) -> str:
        """Return the normalised label that is used for matching."""
        label = strip_label(label) if self.strip_function_tags else label
        return next((group[0] for group in self.equivalences if label in group), label)


@dataclass(frozen=True, slots=True)
class BracketCounts:
    """Numbers of matched, gold and parsed constituents.

    Precision, recall and F1 are one if neither the gold tree nor the parse has constituents.
    """

    matched: int = 0
    gold: int = 0
    parsed: int = 0

    def __add__(self, other: BracketCounts) -> BracketCounts:
        return BracketCounts(
            self.matched + other.matched, self.gold + other.gold, self.parsed + other.parsed
        )

    @property
    def precision(self) -> float:
        """Proportion of the parsed constituents that are correct."""
        return self.matched / self.parsed if self.parsed else float(not self.gold)

    @property
    def recall(self) -> float:
        """Proportion of the gold constituents that were found."""
        return self.matched / self.gold if self.gold else float(not self.parsed)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        total = self.gold + self.parsed
        return 2 * self.matched / total if total else 1.0

    @property
    def is_exact(self) -> bool:
        """Whether the parse has exactly the gold constituents."""
        return self.matched == self.gold == self.parsed


@dataclass(frozen=True)
class Bracketing:
    """Counts of each sentence; ``failed`` contains the indices of sentences without a parse.

    Sentences without a parse are included: none of their gold constituents was found.
    """

    sentences: tuple[BracketCounts, ...]
    failed: tuple[int, ...] = ()

    @cached_property
    def total(self) -> BracketCounts:
        """Counts summed over all sentences; their F1 is the one usually reported."""
        return sum(self.sentences, BracketCounts())

    @property
    def mean_f1(self) -> float:
        """Mean F1 over sentences, which gives short ones more weight; NaN without sentences."""
        count = len(self.sentences)
        return sum(counts.f1 for counts in self.sentences) / count if count else float("nan")

    @property
    def exact_match(self) -> float:
        """Proportion of sentences parsed without an error; NaN without sentences."""
        failed = set(self.failed)
        exact = [c.is_exact and n not in failed for n, c in enumerate(self.sentences)]
        return sum(exact) / len(exact) if exact else float("nan")


def bracketing(
    gold: Sequence[Tree], parsed: Sequence[Tree | None], conventions: Conventions | None = None
) -> Bracketing:
    """Compare the parses of a corpus, in order; ``None`` denotes a failed search."""
    if len(gold) != len(parsed):
        raise GardenpathError(f"{len(parsed)} parses for {len(gold)} gold trees")
    conventions = conventions or Conventions()
    return Bracketing(
        sentences=tuple(
            compare_trees(right, found, conventions, name=f"sentence {number}")
            for number, (right, found) in enumerate(zip(gold, parsed, strict=True), start=1)
        ),
        failed=tuple(number for number, found in enumerate(parsed) if found is None),
    )


def compare_trees(
    gold: Tree, parsed: Tree | None, conventions: Conventions, *, name: str = "a sentence"
) -> BracketCounts:
    """Compare one parse with its gold tree; ``name`` identifies the sentence in errors."""
    right = _without_traces(gold, conventions)
    found = None if parsed is None else _without_traces(parsed, conventions)
    if parsed is not None:
        _check_words(_words(right), _words(found), name)
    one, other = (
        Counter() if tree is None else brackets(tree, conventions, gold=right)
        for tree in (right, found)
    )
    return BracketCounts((one & other).total(), one.total(), other.total())


def brackets(tree: Tree, conventions: Conventions, *, gold: Tree | None = None) -> Counter[Bracket]:
    """Return the constituents of a tree with their counts.

    If ``gold`` is given, it determines which words are punctuation, so a wrong part-of-speech tag
    in a parse does not shift the spans of other constituents.
    """
    kept = [0, *accumulate(not is_deleted for is_deleted in _deleted(gold or tree, conventions))]
    found: Counter[Bracket] = Counter()
    for node in _nodes(tree):
        begin, end = kept[node.begin], kept[node.end]
        label = conventions.name(node.label)
        is_pos = conventions.drop_pos and node.is_preterminal
        if begin < end and not is_pos and label not in conventions.ignored_labels:
            found[label, begin, end] += 1
    return found


@dataclass(frozen=True, slots=True)
class _Node:
    label: str
    begin: int
    end: int
    is_preterminal: bool


def _nodes(tree: Tree) -> Iterator[_Node]:
    position = 0
    # Label, first word, and whether any child is a constituent.
    stack: list[tuple[str, int, bool]] = []
    for event in tree.events():
        if isinstance(event, Word):
            position += 1
        elif isinstance(event, Open):
            if stack:
                stack[-1] = (*stack[-1][:2], True)
            stack.append((event.label, position, False))
        else:
            label, begin, has_inner = stack.pop()
            yield _Node(label, begin, position, position - begin == 1 and not has_inner)


def _deleted(tree: Tree, conventions: Conventions) -> list[bool]:
    words = tree.words()
    if conventions.punctuation == "counted":
        return [False] * len(words)
    punctuation = PUNCTUATION[conventions.punctuation]
    result = [word in punctuation.words for word in words]
    if conventions.drop_pos:
        for node in _nodes(tree):
            if node.is_preterminal:
                result[node.begin] = strip_label(node.label) in punctuation.tags
    return result


def _without_traces(tree: Tree, conventions: Conventions) -> Tree | None:
    return drop_traces(tree) if conventions.drop_pos else tree


def _words(tree: Tree | None) -> tuple[str, ...]:
    return () if tree is None else tree.words()


def _check_words(gold: Sequence[str], parsed: Sequence[str], name: str) -> None:
    for number, (right, found) in enumerate(zip(gold, parsed, strict=False), start=1):
        if right != found:
            raise WordsDifferError(
                f"{name}: word {number} is {right!r} in the gold tree but {found!r} in the parse "
                "(parse the words of the gold trees, cleaned in the same way)"
            )
    if len(gold) != len(parsed):
        raise WordsDifferError(
            f"{name}: the gold tree has {len(gold)} words, the parse {len(parsed)} "
            "(parse the words of the gold trees, cleaned in the same way)"
        )
