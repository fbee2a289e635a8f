"""Readers of corpora in three files (train, valid, test): bracketed trees or plain text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from gardenpath.data.readers.base import hash_files
from gardenpath.data.sentence import SPLITS, Sentence, Source
from gardenpath.data.trees.brackets import read_tree_file
from gardenpath.errors import MissingCorpusError
from gardenpath.store.files import open_text


@dataclass(frozen=True, kw_only=True)
class _ThreeFiles:
    """A folder with one file per split."""

    _title: ClassVar[str] = ""

    root: str
    """Folder of the three files."""
    train: str = "train.txt"
    """File of the training split."""
    valid: str = "valid.txt"
    """File of the validation split."""
    test: str = "test.txt"
    """File of the test split."""
    encoding: str = "utf-8"
    """Encoding of the files."""

    def fingerprint(self) -> str:
        # The same file gives different sentences as trees and as text.
        kind = type(self).__name__
        return hash_files(
            [self._path(split) for split in SPLITS], kind=kind, encoding=self.encoding
        )

    def _path(self, split: str) -> Path:
        name: str = getattr(self, split)
        path = Path(self.root) / name
        if not path.is_file():
            raise MissingCorpusError(
                corpus=f"The {split} split of {self._title}",
                looked_for=path,
                licence="this is your own data; docs/corpora.md describes the format",
                setting=f"data.root=/path/to/folder (and data.reader.{split}=FILE if it has "
                "another name)",
            )
        return path


@dataclass(frozen=True, kw_only=True)
class BracketFiles(_ThreeFiles):
    """Trees in brackets, with or without part-of-speech tags, usually one per line.

    The linearised form with spaces before closing brackets, ``(S (NP the hungry cat ) … )``, is
    read in the same way.
    """

    has_trees: ClassVar[bool] = True
    _title: ClassVar[str] = "a corpus of bracketed trees"

    kind: Literal["brackets"] = "brackets"

    def read(self, split: str) -> Iterator[Sentence]:
        path = self._path(split)
        for line, tree in read_tree_file(path, encoding=self.encoding):
            yield Sentence(tree.words(), Source(path.name, line), tree)


@dataclass(frozen=True, kw_only=True)
class TextFiles(_ThreeFiles):
    """Tokenised text: one sentence per line, tokens separated by spaces; skips empty lines."""

    has_trees: ClassVar[bool] = False
    _title: ClassVar[str] = "a corpus of plain text"

    kind: Literal["text"] = "text"

    def read(self, split: str) -> Iterator[Sentence]:
        path = self._path(split)
        with open_text(path, encoding=self.encoding) as lines:
            for number, line in enumerate(lines, start=1):
                if words := tuple(line.split()):
                    yield Sentence(words, Source(path.name, number))
