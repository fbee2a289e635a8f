"""Sentences of a corpus or of a user's input, each with its location."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gardenpath.data.arrays import Words
from gardenpath.data.trees.tree import Tree

Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = ("train", "valid", "test")


@dataclass(frozen=True, slots=True)
class Source:
    """The location of a sentence: a file (or corpus) and the line, or number, within it.

    Converted to text it is ``path:line``, which is how messages name a sentence.
    """

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Sentence:
    """The words of a sentence, its source, and its tree if it has one."""

    words: Words
    source: Source
    tree: Tree | None = None
