"""Sentences that a user gives: plain text, one a line, or bracketed trees; a file or a pipe."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from src.data.brackets import open_text, read_trees
from src.data.cleaning import Cleaning
from src.data.sentence import Sentence, Source
from src.data.tree import Tree
from src.errors import InputError

STANDARD_INPUT = "<stdin>"

Form = Literal["auto", "plain", "bracketed"]

# What the corpora go through unless told otherwise: above all, no traces.
USUAL_CLEANING = Cleaning()

_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSentence:
    """The words of a sentence, and the file (``name``) and line on which it begins.

    ``tree`` is the tree as cleaned, where the input has trees.
    """

    words: tuple[str, ...]
    line: int
    name: str
    tree: Tree | None = None

    @property
    def place(self) -> str:
        """How messages name the sentence."""
        return f"{self.name}:{self.line}"


def read_sentences(
    path: Path | None,
    *,
    form: Form = "auto",
    cleaning: Cleaning | None = USUAL_CLEANING,
) -> list[InputSentence]:
    """Read the sentences of a file, or of standard input where ``path`` is None or ``-``.

    With ``form=auto`` a file whose first line that is not blank begins with ``(`` holds trees.
    Words are cleaned as those of a corpus, so that a model meets what it was trained on; without
    ``cleaning`` they stay as they are, traces included. Lines that are blank, and trees of which
    cleaning leaves nothing, hold no sentence; long sentences are never left out.
    """
    name, lines = _read_lines(path)
    is_bracketed = _looks_bracketed(lines) if form == "auto" else form == "bracketed"
    found = _bracketed(lines, name) if is_bracketed else _plain(lines, name)
    if cleaning is not None:
        found = replace(cleaning, max_tokens=None).apply(found)
    sentences = [
        InputSentence(
            words=sentence.words,
            line=sentence.source.line,
            name=sentence.source.path,
            tree=sentence.tree,
        )
        for sentence in found
    ]
    if not sentences:
        raise InputError("holds no sentences", path=name, remedy="write one sentence per line")
    return sentences


def _read_lines(path: Path | None) -> tuple[str, list[str]]:
    """The name of the input for messages, and its lines."""
    if path is None or str(path) == "-":
        name, lines = STANDARD_INPUT, _standard_input()
    else:
        with open_text(path) as opened:
            name, lines = str(path), list(opened)
    if lines:
        lines[0] = lines[0].removeprefix(_BYTE_ORDER_MARK)
    return name, lines


def _standard_input() -> list[str]:
    content = sys.stdin.buffer.read()
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"is not utf-8 text: {error.reason}",
            path=STANDARD_INPUT,
            line=content[: error.start].count(b"\n") + 1,
        ) from error
    return list(io.StringIO(text, newline=None))


def _looks_bracketed(lines: Sequence[str]) -> bool:
    first = next((line for line in lines if line.strip()), "")
    return first.lstrip().startswith("(")


def _plain(lines: Sequence[str], name: str) -> Iterator[Sentence]:
    for number, line in enumerate(lines, start=1):
        if words := tuple(line.split()):
            yield Sentence(words, Source(name, number))


def _bracketed(lines: Sequence[str], name: str) -> Iterator[Sentence]:
    for number, tree in read_trees(lines, path=name):
        yield Sentence(tree.words(), Source(name, number), tree)
