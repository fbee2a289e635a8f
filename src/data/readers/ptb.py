"""The Penn Treebank as the LDC releases it: a directory of ``.mrg`` files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from gardenpath.data.readers.base import hash_files, id_mistakes, listed_ids, split_ids
from gardenpath.data.sentence import SPLITS, Sentence, Source
from gardenpath.data.trees.brackets import read_tree_file
from gardenpath.errors import MissingCorpusError

_FILE_NAME = re.compile(r"wsj_(?P<section>\d\d)(?P<number>\d\d)\.mrg", re.IGNORECASE)


class PennTreebank:
    """The Wall Street Journal trees, split by section (default) or by file number.

    ``root`` may be any folder above the ``.mrg`` files: the release itself or one section's parent.
    """

    has_trees = True
    mistakes = staticmethod(id_mistakes)

    def __init__(
        self,
        *,
        root: str,
        train: str = "2-21",
        valid: str = "22",
        test: str = "23",
        unit: Literal["section", "file"] = "section",
    ) -> None:
        self._root = Path(root)
        self._unit = unit
        self._ids = split_ids(train, valid, test)

    def read(self, split: str) -> Iterator[Sentence]:
        for path in self._files(split):
            for line, tree in read_tree_file(path, encoding="latin-1"):
                yield Sentence(tree.words(), Source(path.name, line), tree)

    def fingerprint(self) -> str:
        files = [path for split in SPLITS for path in self._files(split)]
        return hash_files(files, unit=self._unit, ids=listed_ids(self._ids))

    def _files(self, split: str) -> list[Path]:
        found = []
        for path in self._root.rglob("*"):
            match = _FILE_NAME.fullmatch(path.name)
            if match and self._number(match) in self._ids[split]:
                found.append(path)
        if not found:
            raise MissingCorpusError(
                corpus=f"The {split} split of the Penn Treebank",
                looked_for=self._root / "**" / "wsj_*.mrg",
                licence="LDC99T42 (Treebank-3), Linguistic Data Consortium; the free sample that "
                "NLTK ships is data=ptb_sample",
                setting="data.root=/path/to/treebank_3/parsed/mrg/wsj",
            )
        return sorted(found, key=lambda path: path.name.lower())

    def _number(self, match: re.Match[str]) -> int:
        section = int(match["section"])
        return section if self._unit == "section" else section * 100 + int(match["number"])
