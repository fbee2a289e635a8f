"""Read and write bracketed trees, as in the Penn Treebank.

Round brackets in words are written with the treebank's escapes ``-LRB-`` and ``-RRB-`` and are
restored on reading. Labels are left unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from gardenpath.data.trees.tree import Close, Open, Tree
from gardenpath.errors import TreeError
from gardenpath.store.files import open_text

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
        elif not self._open:
            raise TreeError(
                f"the leaf {token!r} has no label",
                path=self._path,
                line=line,
                remedy="put it into a labelled bracket, as in (NN word), or use data=text if this "
                "is plain text",
            )
        elif self._open[-1].label is None:
            raise TreeError(
                f"the leaf {token!r} has no label",
                path=self._path,
                line=line,
                remedy="put it into a labelled bracket, as in (NN word)",
            )
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
        tree = self._make_tree(bracket)
        if self._open:
            self._open[-1].children.append(tree)
            return bracket.line, None
        return bracket.line, tree

    def _make_tree(self, bracket: _Bracket) -> Tree:
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
