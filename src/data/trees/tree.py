"""Constituency trees, and their brackets: reading, writing, and telling them from plain text.

Used wherever there are trees. Trees are immutable and may be of any depth: nothing here recurses.
The running example of this package is the tree of *the hungry cat meows*::

    (S (NP (DT the) (JJ hungry) (NN cat)) (VP (VBZ meows)))
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from gardenpath.errors import InputError, TreeError
from gardenpath.store.files import open_text

Folded = TypeVar("Folded")


@dataclass(frozen=True, slots=True)
class Open:
    """Traversal event: a constituent begins."""

    label: str


@dataclass(frozen=True, slots=True)
class Word:
    """Traversal event: a word."""

    form: str


@dataclass(frozen=True, slots=True)
class Close:
    """Traversal event: the innermost open constituent ends."""


CLOSE = Close()
Event = Open | Word | Close


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A labelled node; its children are trees or words (plain strings).

    All traversals are iterative, so the depth of a tree is limited only by memory.
    """

    label: str
    children: tuple[Tree | str, ...]

    def __post_init__(self) -> None:
        if not self.children:
            raise ValueError(f"the constituent {self.label!r} has no children")

    @property
    def is_preterminal(self) -> bool:
        """Whether this node covers exactly one word and nothing else."""
        return len(self.children) == 1 and isinstance(self.children[0], str)

    def events(self) -> Iterator[Event]:
        """Traverse the tree from left to right, yielding Open, Word and Close events."""
        pending: list[Tree | str | Close] = [self]
        while pending:
            item = pending.pop()
            if isinstance(item, Close):
                yield item
            elif isinstance(item, str):
                yield Word(item)
            else:
                yield Open(item.label)
                pending.append(CLOSE)
                pending.extend(reversed(item.children))

    def words(self) -> tuple[str, ...]:
        """Return the leaves from left to right."""
        words: list[str] = []
        self.fold(lambda _label, _parts: None, words.append)
        return tuple(words)

    def labels(self) -> Iterator[str]:
        """Yield the labels of all nodes, parents before children."""
        return (event.label for event in self.events() if isinstance(event, Open))

    def fold(
        self,
        node: Callable[[str, tuple[Folded, ...]], Folded],
        leaf: Callable[[str], Folded],
    ) -> Folded:
        """Compute a value bottom-up: ``leaf`` of each word, ``node`` of a label and its parts."""
        label, rest, parts = self.label, iter(self.children), []
        outer: list[tuple[str, Iterator[Tree | str], list[Folded]]] = []
        while True:
            for child in rest:
                if isinstance(child, str):
                    parts.append(leaf(child))
                else:  # descend, and return to the rest later
                    outer.append((label, rest, parts))
                    label, rest, parts = child.label, iter(child.children), []
                    break
            else:
                value = node(label, tuple(parts))
                if not outer:
                    return value
                label, rest, parts = outer.pop()
                parts.append(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and tuple(self.events()) == tuple(other.events())

    def __hash__(self) -> int:
        return hash(tuple(self.events()))

    def __str__(self) -> str:
        pieces = []
        for event in self.events():
            if isinstance(event, Open):
                pieces.append(f" ({event.label}")
            elif isinstance(event, Word):
                pieces.append(f" {event.form}")
            else:
                pieces.append(")")
        return "".join(pieces).lstrip()


def without_outer(tree: Tree, labels: Collection[str]) -> Tree:
    """Drop a bracket with one of these labels around a constituent, unless it is the only one."""
    only = tree.children[0]
    is_outer = tree.label in labels and len(tree.children) == 1
    return only if is_outer and isinstance(only, Tree) and not only.is_preterminal else tree


def from_events(events: Iterable[Event]) -> Tree:
    """Rebuild a tree from the events of :meth:`Tree.events`."""
    labels: list[str] = []
    children: list[list[Tree | str]] = [[]]
    for event in events:
        if isinstance(event, Open):
            labels.append(event.label)
            children.append([])
        elif isinstance(event, Word):
            children[-1].append(event.form)
        else:
            if not labels:
                raise ValueError("a constituent is closed that was never opened")
            closed = Tree(labels.pop(), tuple(children.pop()))
            children[-1].append(closed)
    if labels or len(children[0]) != 1 or not isinstance(children[0][0], Tree):
        raise ValueError("the events do not form exactly one tree")
    return children[0][0]


# ----------------------------------------------------------------------------
# Read and write bracketed trees, as in the Penn Treebank.
#
# Round brackets in words are written with the treebank's escapes ``-LRB-`` and ``-RRB-`` and are
# restored on reading. Labels are left unchanged.


TOKEN = re.compile(r"[()]|[^\s()]+")

# Label of an unlabelled outer bracket that contains more than one constituent.
TOP_LABEL = "TOP"


def unescape(word: str) -> str:
    """Convert the treebank's bracket escapes to brackets."""
    return word.replace("-LRB-", "(").replace("-RRB-", ")")


def escape(word: str) -> str:
    """Convert brackets to the treebank's escapes."""
    return word.replace("(", "-LRB-").replace(")", "-RRB-")


def read_trees(
    lines: Iterable[str], *, path: str | Path, first_line: int = 1
) -> Iterator[tuple[int, Tree]]:
    """Yield the trees of a text, each with the number of the line on which it begins.

    A tree may span several lines and a line may contain several trees. An outer bracket without
    a label, as in ``( (S …) )``, is dropped. ``path`` is only used in error messages;
    ``first_line`` is the number of the first line.
    """
    return _Reader(path).read(lines, first_line)


def parse_tree(text: str) -> Tree:
    """Read exactly one tree from a string."""
    trees = list(read_trees(text.splitlines(), path="<string>"))
    if len(trees) != 1:
        raise TreeError(f"expected one tree, found {len(trees)}", path="<string>", line=1)
    return trees[0][1]


def read_tree_file(path: Path, *, encoding: str = "utf-8") -> Iterator[tuple[int, Tree]]:
    """Yield the trees of a file, each with its line number."""
    with open_text(path, encoding=encoding) as lines:
        yield from read_trees(lines, path=path)


class _Bracket:
    """A bracket that has not been closed yet."""

    __slots__ = ("children", "label", "line")

    def __init__(self, line: int) -> None:
        self.label: str | None = None
        self.children: list[Tree | str] = []
        self.line = line


class _Reader:
    """State while reading one text."""

    def __init__(self, path: str | Path) -> None:
        self._path = path
        self._open: list[_Bracket] = []

    def read(self, lines: Iterable[str], first_line: int) -> Iterator[tuple[int, Tree]]:
        for number, line in enumerate(lines, start=first_line):
            after_open = False
            for token in TOKEN.findall(line):
                if token == "(":
                    self._open.append(_Bracket(number))
                elif token == ")":
                    begin, tree = self._close(number)
                    if tree is not None:
                        yield begin, tree
                elif after_open:
                    self._open[-1].label = token
                else:
                    self._add_word(token, number)
                after_open = token == "("
        if self._open:
            raise TreeError(
                f"this bracket is never closed ({len(self._open)} open at the end of the file)",
                path=self._path,
                line=self._open[0].line,
                remedy="add the missing ')'",
            )

    def _add_word(self, token: str, line: int) -> None:
        if self._open and self._open[-1].label is None and not self._open[-1].children:
            # A label may be on the line after its bracket.
            self._open[-1].label = token
        elif not self._open or self._open[-1].label is None:
            remedy = "put it into a labelled bracket, as in (NN word)"
            if not self._open:
                remedy += ", or use data=text if this is plain text"
            problem = f"the leaf {token!r} has no label"
            raise TreeError(problem, path=self._path, line=line, remedy=remedy)
        else:
            self._open[-1].children.append(unescape(token))

    def _close(self, line: int) -> tuple[int, Tree | None]:
        """Close the innermost bracket; return a tree if that completes one."""
        if not self._open:
            raise TreeError(
                "unexpected ')'", path=self._path, line=line, remedy="remove it; no bracket is open"
            )
        bracket = self._open.pop()
        if not bracket.children:
            raise TreeError(
                f"empty constituent ({bracket.label or ''})",
                path=self._path,
                line=bracket.line,
                remedy="a constituent needs at least one child",
            )
        tree = self._tree_of(bracket)
        if self._open:
            self._open[-1].children.append(tree)
            return bracket.line, None
        return bracket.line, tree

    def _tree_of(self, bracket: _Bracket) -> Tree:
        if bracket.label is not None:
            return Tree(bracket.label, tuple(bracket.children))
        if self._open:
            raise TreeError(
                "a bracket inside a tree has no label",
                path=self._path,
                line=bracket.line,
                remedy="add a label; only the outermost bracket of a tree may lack one",
            )
        only = bracket.children[0]
        if len(bracket.children) == 1 and isinstance(only, Tree):
            return only
        return Tree(TOP_LABEL, tuple(bracket.children))


def format_tree(tree: Tree) -> str:
    """Format a tree on one line, with brackets in words escaped."""
    pieces: list[str] = []
    for event in tree.events():
        if isinstance(event, Open):
            pieces.append(f" ({_writable(event.label, 'label')}")
        elif isinstance(event, Close):
            pieces.append(")")
        else:
            pieces.append(f" {_writable(escape(event.form), 'word')}")
    return "".join(pieces).lstrip()


def _writable(token: str, kind: str) -> str:
    if not TOKEN.fullmatch(token) or token in "()":
        raise ValueError(f"the {kind} {token!r} cannot be written in brackets: space or bracket")
    return token


# ----------------------------------------------------------------------------
# Detect bracketed trees in what should be plain text.
#
# A tree is a line, or several indented lines, in which every bracket is followed by a label and
# some bracket is inside another: ``(S (NP the cat) (VP sleeps))``. Parentheses of text, ``( laughs
# ) he said`` or ``(he left)``, contain words and no labels, or are followed by more words.


_TOKEN = re.compile(r"\(\s*[^\s()]+|\(|\)|[^\s()]+")
# The label of a bracket that is written apart from it, as in ``( NP-SBJ the cat )``.
_LABEL = re.compile(r"[A-Z][A-Z0-9$|=+*:.,`'-]*")
# Lines over which the brackets of one tree may extend.
_MOST_LINES = 500
# A tree without any structure, ``(S the cat sleeps)``: one such line may be text in parentheses.
_FLAT = re.compile(r"\(([A-Z][A-Z0-9|=+-]*)(?:\s+[^\s()]+)+\s*\)")
_FLAT_LINES = 3


def text_lines(
    lines: Iterable[str], *, path: str | Path, remedy: str, first_line: int = 1
) -> Iterator[str]:
    """Yield the lines of a plain text; raise an error at the first bracketed tree."""
    detector = TreeDetector()
    for number, line in enumerate(lines, start=first_line):
        begin = detector.tree_ends_in(line, number)
        if begin is not None:
            raise InputError(
                "is a bracketed tree, not a sentence of plain text",
                path=path,
                line=begin,
                remedy=remedy,
            )
        yield line


def is_tree(text: str) -> bool:
    """Whether a text, such as a line, is a bracketed tree or several."""
    detector = TreeDetector()
    ends = [detector.tree_ends_in(line, n) for n, line in enumerate(text.splitlines(), start=1)]
    return any(begin is not None for begin in ends)


class TreeDetector:
    """Finds bracketed trees in lines that are given one after the other."""

    def __init__(self) -> None:
        self._flat_label, self._flat_begin, self._flat_count = "", 0, 0
        self._forget()

    def _forget(self) -> None:
        self._begin = 0
        self._depth = 0
        self._deepest = 0
        self._closed = False

    def tree_ends_in(self, line: str, number: int) -> int | None:
        """Return the line on which a tree began that ends in this line; None if none does."""
        content = line.strip()
        if content and (flat := self._flat_trees(content, number)) is not None:
            return flat
        # A line may continue a tree if it is indented or begins with a bracket.
        may_continue = line[:1].isspace() or line[:1] in "()"
        if self._depth and not (may_continue and number - self._begin < _MOST_LINES):
            self._forget()
        if not self._depth:
            if not content.startswith("("):
                return None
            self._begin = number
        self._closed = False
        for token in _TOKEN.findall(content):
            if not self._reads(token):
                self._forget()
                return None
        if self._depth or not self._closed:
            return None
        begin = self._begin
        self._forget()
        return begin

    def _flat_trees(self, content: str, number: int) -> int | None:
        """Return the first of several lines that are all one bracket with the same label."""
        match = None if self._depth else _FLAT.fullmatch(content)
        label = match[1] if match else ""
        if not label or label != self._flat_label:
            self._flat_label, self._flat_begin, self._flat_count = label, number, 0
        self._flat_count += 1
        return self._flat_begin if label and self._flat_count >= _FLAT_LINES else None

    def _reads(self, token: str) -> bool:
        """Take one token; False if a tree cannot contain it."""
        if token.startswith("("):
            self._depth += 1
            label = token[1:]
            if label:
                self._deepest = max(self._deepest, self._depth)
                is_label = not label[0].isspace() or _LABEL.fullmatch(label.strip())
                return bool(is_label)
            # Only the outermost bracket may lack a label, or have it on the next line.
            return self._depth == 1
        if self._depth == 0:
            return False
        if token == ")":
            self._depth -= 1
            if self._depth == 0:
                self._closed = self._deepest > 1
                is_whole, self._deepest = self._closed, 0
                return is_whole
        return True
