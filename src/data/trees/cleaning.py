"""Cleaning: the transforms of trees and words between a corpus, as annotated, and training.

`Cleaning` is part of the settings of a corpus and is applied by the preparation; suites and texts
of users are written in the same way. A transform is a pure function that returns a new tree, or
None if the tree becomes empty. The running example is the tree of `tree`.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from gardenpath.data.sentence import Sentence
from gardenpath.data.trees.tree import Tree
from gardenpath.settings.schema import PositiveInt

Transform = Callable[[Tree], "Tree | None"]

TRACE_LABEL = "-NONE-"

# The first '-' or '=' after at least one other character starts the functional part of a label;
# labels that begin with '-', like -NONE- and -LRB-, are whole names.
_FUNCTIONAL_PART = re.compile(r"(?<=[^-=])[-=].*$")


def strip_label(label: str) -> str:
    """Drop function tags and indices: ``NP-SBJ-1`` and ``NP=2`` become ``NP``."""
    return label if label.startswith("-") else _FUNCTIONAL_PART.sub("", label)


def strip_function_tags(tree: Tree) -> Tree:
    """Apply :func:`strip_label` to every label."""
    return _rebuild(tree, label=strip_label)


def lowercase(tree: Tree) -> Tree:
    """Lower-case every word."""
    return _rebuild(tree, word=str.lower)


def drop_traces(tree: Tree) -> Tree | None:
    """Remove traces (``-NONE-``) and every constituent that becomes empty as a result."""

    def node(label: str, children: tuple[Tree | str | None, ...]) -> Tree | str | None:
        kept = tuple(child for child in children if child is not None)
        return Tree(label, kept) if kept and label != TRACE_LABEL else None

    result: Tree | str | None = tree.fold(node, str)
    assert not isinstance(result, str)
    return result


def drop_pos(tree: Tree) -> Tree:
    """Replace every preterminal by its word: ``(S (NP the hungry cat) (VP meows))``.

    A root that is itself a preterminal stays, because a single word is not a tree. Apply this
    transform only once: ``(VP meows)`` looks like a preterminal afterwards.
    """

    def node(label: str, children: tuple[Tree | str, ...]) -> Tree | str:
        only = children[0]
        if len(children) == 1 and isinstance(only, str) and not isinstance(only, _TaggedWord):
            return _TaggedWord(only)
        return Tree(label, tuple(str(c) if isinstance(c, str) else c for c in children))

    result: Tree | str = tree.fold(node, str)
    return result if isinstance(result, Tree) else tree


class _TaggedWord(str):
    """A word whose part-of-speech bracket has already been removed."""

    __slots__ = ()


def collapse_unary(tree: Tree) -> Tree:
    """Collapse unary chains of the same label: ``(NP (NP cats))`` becomes ``(NP cats)``."""

    def node(label: str, children: tuple[Tree | str, ...]) -> Tree | str:
        only = children[0]
        if len(children) == 1 and isinstance(only, Tree) and only.label == label:
            return only
        return Tree(label, children)

    result: Tree | str = tree.fold(node, str)
    assert isinstance(result, Tree)
    return result


def has_pos_tags(trees: Iterable[Tree]) -> bool:
    """Whether every word has its own bracket, that is, a part of speech."""

    def node(_label: str, children: tuple[bool | None, ...]) -> bool:
        # None represents a word, a Boolean a constituent.
        return children == (None,) or all(child is True for child in children)

    return all(tree.fold(node, lambda _word: None) is True for tree in trees)


def compose(transforms: Iterable[Transform]) -> Transform:
    """Chain transforms; the chain stops when the tree becomes empty."""
    chain = tuple(transforms)

    def apply(tree: Tree) -> Tree | None:
        current: Tree | None = tree
        for transform in chain:
            if current is None:
                return None
            current = transform(current)
        return current

    return apply


def _rebuild(
    tree: Tree, *, label: Callable[[str], str] = str, word: Callable[[str], str] = str
) -> Tree:
    def node(name: str, children: tuple[Tree | str, ...]) -> Tree | str:
        return Tree(label(name), children)

    result: Tree | str = tree.fold(node, word)
    assert isinstance(result, Tree)
    return result


# ----------------------------------------------------------------------------
# Clean the trees of a corpus, as annotated, for training.


# Number of trees examined to decide whether a corpus has part-of-speech tags.
_PEEK = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaning:
    """The transforms to apply, in a fixed order."""

    strip_function_tags: bool = True
    """Whether to strip function tags: ``NP-SBJ`` becomes ``NP``."""
    drop_traces: bool = True
    """Whether to remove empty elements."""
    keep_pos: bool = False
    """Whether to keep part-of-speech brackets as constituents."""
    pos_in_source: Literal["auto", "present", "absent"] = "auto"
    """Whether words have part-of-speech brackets in the corpus; auto examines its first trees."""
    collapse_unary: bool = True
    """Whether to collapse a chain ``X -> X`` into one constituent."""
    lowercase: bool = False
    """Whether to lower-case words."""
    max_tokens: PositiveInt | None = None
    """Maximum sentence length, counted without traces; null keeps all sentences."""

    def apply(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """Clean each sentence; skip sentences that become empty or are too long."""
        stream = iter(sentences)
        head = list(itertools.islice(stream, _PEEK)) if self.pos_in_source == "auto" else []
        clean = compose(self.settled(head)._transforms())
        for sentence in itertools.chain(head, stream):
            cleaned = self._clean(sentence, clean)
            if cleaned is not None and len(cleaned.words) <= (self.max_tokens or math.inf):
                yield cleaned

    def settled(self, sentences: Iterable[Sentence]) -> Cleaning:
        """Decide ``pos_in_source=auto`` by the first sentences of a corpus."""
        if self.pos_in_source != "auto":
            return self
        head = itertools.islice(sentences, _PEEK)
        has_pos = has_pos_tags(item.tree for item in head if item.tree is not None)
        return replace(self, pos_in_source="present" if has_pos else "absent")

    def _transforms(self) -> list[Transform]:
        assert self.pos_in_source != "auto"
        # Traces are found by their part of speech, so tags are removed last.
        wanted: list[tuple[bool, Transform]] = [
            (self.strip_function_tags, strip_function_tags),
            (self.drop_traces, drop_traces),
            (self.collapse_unary, collapse_unary),
            (self.lowercase, lowercase),
            (self.pos_in_source == "present" and not self.keep_pos, drop_pos),
        ]
        return [transform for switch, transform in wanted if switch]

    def _clean(self, sentence: Sentence, clean: Transform) -> Sentence | None:
        if sentence.tree is None:
            words = sentence.words
            lowered = tuple(word.lower() for word in words) if self.lowercase else words
            return Sentence(lowered, sentence.source)
        tree = clean(sentence.tree)
        return None if tree is None else Sentence(tree.words(), sentence.source, tree)
