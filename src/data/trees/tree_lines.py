"""Detect bracketed trees in what should be plain text.

A tree is a line, or several indented lines, in which every bracket is followed by a label and some
bracket is inside another: ``(S (NP the cat) (VP sleeps))``. Parentheses of text, ``( laughs ) he
said`` or ``(he left)``, contain words and no labels, or are followed by more words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from gardenpath.errors import InputError

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
    found = False
    for number, line in enumerate(text.splitlines(), start=1):
        found = detector.tree_ends_in(line, number) is not None or found
    return found


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
        if self._depth and not self._continues(line, number):
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

    def _continues(self, line: str, number: int) -> bool:
        """Whether a line may continue a tree: it is indented, or begins with a bracket."""
        return (line[:1].isspace() or line[:1] in "()") and number - self._begin < _MOST_LINES

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
