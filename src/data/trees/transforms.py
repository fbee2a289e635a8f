"""Pure functions from trees to trees.

A transform returns a new tree, or ``None`` if the tree becomes empty. The running example is the
tree of :mod:`tree`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from gardenpath.data.trees.tree import Tree

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

    result: Tree | str | None = tree.fold(node, _identity)
    assert not isinstance(result, str)
    return result


def drop_pos(tree: Tree) -> Tree:
    """Replace every preterminal by its word: ``(S (NP the hungry cat) (VP meows))``.

    A root that is itself a preterminal stays, because a single word is not a tree. Apply this
    transform only once: ``(VP meows)`` looks like a preterminal afterwards.
    """

    def node(label: str, children: tuple[Tree | str, ...]) -> Tree | str:
        if (
            len(children) == 1
            and isinstance(children[0], str)
            and not isinstance(children[0], _TaggedWord)
        ):
            return _TaggedWord(children[0])
        return Tree(label, tuple(map(_untagged, children)))

    result: Tree | str = tree.fold(node, _identity)
    return result if isinstance(result, Tree) else tree


class _TaggedWord(str):
    """A word whose part-of-speech bracket has already been removed."""

    __slots__ = ()


def _untagged(child: Tree | str) -> Tree | str:
    return str(child) if isinstance(child, str) else child


def collapse_unary(tree: Tree) -> Tree:
    """Collapse unary chains of the same label: ``(NP (NP cats))`` becomes ``(NP cats)``."""

    def node(label: str, children: tuple[Tree | str, ...]) -> Tree | str:
        only = children[0]
        if len(children) == 1 and isinstance(only, Tree) and only.label == label:
            return only
        return Tree(label, children)

    result: Tree | str = tree.fold(node, _identity)
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


def _identity(word: str) -> str:
    return word


def _rebuild(
    tree: Tree, *, label: Callable[[str], str] = str, word: Callable[[str], str] = str
) -> Tree:
    def node(name: str, children: tuple[Tree | str, ...]) -> Tree | str:
        return Tree(label(name), children)

    result: Tree | str = tree.fold(node, word)
    assert isinstance(result, Tree)
    return result
