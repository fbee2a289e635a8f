"""Corpora in three files, ``train``, ``valid`` and ``test``: bracketed trees or plain text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gardenpath.data.readers.base import hash_files
from gardenpath.data.sentence import SPLITS, Sentence, Source
from gardenpath.data.trees.brackets import read_tree_file
from gardenpath.errors import MissingCorpusError
from gardenpath.store.files import open_text


class _ThreeFiles:
    """A folder with one file per split."""

    _title = ""

    def __init__(
        self,
        *,
        root: str,
        train: str = "train.txt",
        valid: str = "valid.txt",
        test: str = "test.txt",
        encoding: str = "utf-8",
    ) -> None:
        self._root = Path(root)
        self._names = dict(zip(SPLITS, (train, valid, test), strict=True))
        self._encoding = encoding

    def fingerprint(self) -> str:
        # The same file reads differently as trees and as text.
        kind = type(self).__name__
        return hash_files(
            [self._path(split) for split in SPLITS], kind=kind, encoding=self._encoding
        )

    def _path(self, split: str) -> Path:
        path = self._root / self._names[split]
        if not path.is_file():
            raise MissingCorpusError(
                corpus=f"The {split} split of {self._title}",
                looked_for=path,
                licence="this is your own data; docs/corpora.md describes the format",
                setting=f"data.root=/path/to/folder (and data.reader.{split}=FILE if it has "
                "another name)",
            )
        return path


class BracketFiles(_ThreeFiles):
    """Trees in brackets, with or without part-of-speech tags, usually one per line.

    The linearised form with blanks before closing brackets, ``(S (NP the hungry cat ) … )``, is
    the same to the reader.
    """

    has_trees = True
    _title = "a corpus of bracketed trees"

    def read(self, split: str) -> Iterator[Sentence]:
        path = self._path(split)
        for line, tree in read_tree_file(path, encoding=self._encoding):
            yield Sentence(tree.words(), Source(path.name, line), tree)


class TextFiles(_ThreeFiles):
    """Tokenised text, one sentence per line, tokens separated by blanks; empty lines skipped."""

    has_trees = False
    _title = "a corpus of plain text"

    def read(self, split: str) -> Iterator[Sentence]:
        path = self._path(split)
        with open_text(path, encoding=self._encoding) as lines:
            for number, line in enumerate(lines, start=1):
                if words := tuple(line.split()):
                    yield Sentence(words, Source(path.name, number))
