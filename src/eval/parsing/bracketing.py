"""Labelled bracketing: precision, recall and F1 of parses against gold trees.

The conventions are those of EVALB (Sekine and Collins), which nearly all published results follow:
a constituent is a label and the words it spans; part-of-speech nodes are not constituents;
punctuation is deleted before spans are computed; the root label is ignored; and equal constituents
over the same words (unary chains) are matched one to one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Literal

from gardenpath.data.trees.transforms import drop_traces, strip_label
from gardenpath.data.trees.tree import Open, Tree, Word
from gardenpath.errors import GardenpathError

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
    """Yield all nodes with their spans, children before parents."""
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
    """Return, for each word, whether it is deleted as punctuation."""
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
