"""What a corpus is made of: sentences that know where they come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gardenpath.data.trees.tree import Tree

Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = ("train", "valid", "test")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a sentence stands: a file (or corpus id) and the line, or number, within it."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Sentence:
    """The words of a sentence, its tree where there is one, and its source."""

    words: tuple[str, ...]
    source: Source
    tree: Tree | None = None
