"""The Chinese Treebank: bracketed files with SGML-like markup around the trees."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from gardenpath.data.readers.base import hash_files, id_mistakes, listed_ids, split_ids
from gardenpath.data.sentence import SPLITS, Sentence, Source
from gardenpath.data.trees.brackets import read_trees
from gardenpath.errors import InputError, MissingCorpusError

Genre = Literal["nw", "mz", "bn", "bc", "wb", "df", "sc", "cs"]

_FILE_NAME = re.compile(r"chtb_(?P<id>\d+)\.(?P<suffix>[a-z]+)", re.IGNORECASE)

# Releases before 7.0 do not name the genre (chtb_001.fid); the file number tells it.
_GENRE_OF_OLD_IDS: tuple[tuple[range, Genre], ...] = (
    (range(0, 1000), "nw"),
    (range(1000, 2000), "mz"),
    (range(2000, 4000), "bn"),
)


class ChineseTreebank:
    """Chinese Treebank 9.0, or an older release, split by lists of file ids.

    ``root`` may be any folder above the bracketed files. ``encoding="auto"`` reads each file as
    UTF-8 and, where it is not, as GB18030.
    """

    has_trees = True
    mistakes = staticmethod(id_mistakes)

    def __init__(
        self,
        *,
        root: str,
        train: str,
        valid: str,
        test: str,
        genres: Sequence[Genre] = ("nw", "mz", "bn", "bc", "wb"),
        encoding: Literal["auto", "utf-8", "gb18030"] = "auto",
    ) -> None:
        self._root = Path(root)
        self._genres = frozenset(genres)
        self._encodings = ("utf-8", "gb18030") if encoding == "auto" else (encoding,)
        self._ids = split_ids(train, valid, test)

    def read(self, split: str) -> Iterator[Sentence]:
        for path in self._files(split):
            text = self._decode(path)
            for line, tree in read_trees(without_markup(text.splitlines()), path=path):
                yield Sentence(tree.words(), Source(path.name, line), tree)

    def fingerprint(self) -> str:
        files = [path for split in SPLITS for path in self._files(split)]
        return hash_files(
            files,
            ids=listed_ids(self._ids),
            genres=sorted(self._genres),
            encodings=self._encodings,
        )

    def _files(self, split: str) -> list[Path]:
        found = []
        for path in self._root.rglob("chtb_*"):
            match = _FILE_NAME.fullmatch(path.name)
            is_raw = "raw" in path.relative_to(self._root).parts
            if match and not is_raw and self._wanted(match, split):
                found.append((int(match["id"]), path))
        if not found:
            raise MissingCorpusError(
                corpus=f"The {split} split of the Chinese Treebank",
                looked_for=self._root / "**" / "chtb_*",
                licence="LDC2016T13 (Chinese Treebank 9.0), Linguistic Data Consortium",
                setting="data.root=/path/to/ctb9.0/data/bracketed",
            )
        return [path for _, path in sorted(found)]

    def _wanted(self, match: re.Match[str], split: str) -> bool:
        number = int(match["id"])
        return number in self._ids[split] and genre_of(number, match["suffix"]) in self._genres

    def _decode(self, path: Path) -> str:
        data = path.read_bytes()
        for encoding in self._encodings:
            try:
                return data.decode(encoding)
            except UnicodeDecodeError:
                continue
        raise InputError(
            f"is not text in {' or '.join(self._encodings)}",
            path=path,
            remedy="set data.reader.encoding, or convert the file",
        )


def genre_of(number: int, suffix: str) -> str:
    """The genre code of a file: its suffix, or for ``.fid`` files what the number tells."""
    if suffix.lower() != "fid":
        return suffix.lower()
    return next((genre for ids, genre in _GENRE_OF_OLD_IDS if number in ids), "")


def without_markup(lines: Iterable[str]) -> Iterator[str]:
    """Blank out markup lines (``<S ID=1>``), so that line numbers stay true."""
    return ("" if line.lstrip().startswith("<") else line for line in lines)
