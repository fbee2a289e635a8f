"""Reader of the Penn Treebank as released by the LDC: a folder of ``.mrg`` files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from gardenpath.data.readers.base import SplitByIds, hash_files, listed_ids
from gardenpath.data.readers.pieces import Piece
from gardenpath.data.sentence import SPLITS, Sentence, Source
from gardenpath.data.trees.brackets import read_tree_file
from gardenpath.errors import MissingCorpusError

_WSJ_FILE = re.compile(r"wsj_(?P<section>\d\d)(?P<number>\d\d)\.mrg", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class PennTreebank(SplitByIds):
    """The Wall Street Journal trees, split by section (default) or by file number."""

    has_trees: ClassVar[bool] = True

    kind: Literal["ptb"] = "ptb"
    root: str
    """Folder of the ``.mrg`` files, or any parent folder."""
    train: str = "2-21"
    valid: str = "22"
    test: str = "23"
    unit: Literal["section", "file"] = "section"
    """Whether the splits list sections or files."""

    def read(self, split: str) -> Iterator[Sentence]:
        for piece in self.pieces(split):
            yield from self.read_piece(piece)

    def pieces(self, split: str) -> list[Piece]:
        return [Piece(path) for path in self._files(split)]

    def read_piece(self, piece: Piece) -> Iterator[Sentence]:
        for line, tree in read_tree_file(piece.path, encoding="latin-1"):
            yield Sentence(tree.words(), Source(piece.path.name, line), tree)

    def fingerprint(self, splits: Sequence[str] = SPLITS) -> str:
        files = [path for split in splits for path in self._files(split)]
        return hash_files(files, unit=self.unit, ids=listed_ids(self.ids, splits))

    def _files(self, split: str) -> list[Path]:
        found = []
        for path in Path(self.root).rglob("*"):
            match = _WSJ_FILE.fullmatch(path.name)
            if match and self._number(match) in self.ids[split]:
                found.append(path)
        if not found:
            raise MissingCorpusError(
                corpus=f"The {split} split of the Penn Treebank",
                looked_for=Path(self.root) / "**" / "wsj_*.mrg",
                licence="LDC99T42 (Treebank-3), Linguistic Data Consortium; the free sample that "
                "NLTK ships is data=ptb_sample",
                setting="data.root=/path/to/treebank_3/parsed/mrg/wsj",
            )
        return sorted(found, key=lambda path: path.name.lower())

    def _number(self, match: re.Match[str]) -> int:
        section = int(match["section"])
        return section if self.unit == "section" else section * 100 + int(match["number"])
