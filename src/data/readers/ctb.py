"""Reader of the Chinese Treebank: bracketed files with SGML-like markup around the trees."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from gardenpath.data.readers.base import SplitByIds, hash_files, listed_ids
from gardenpath.data.readers.pieces import Piece
from gardenpath.data.sentence import SPLITS, Sentence, Source
from gardenpath.data.trees.brackets import read_trees
from gardenpath.errors import InputError, MissingCorpusError

Genre = Literal["nw", "mz", "bn", "bc", "wb", "df", "sc", "cs"]

_CHTB_FILE = re.compile(r"chtb_(?P<id>\d+)\.(?P<suffix>[a-z]+)", re.IGNORECASE)

# File names of releases before 7.0 do not contain the genre (chtb_001.fid); it follows from the id.
_GENRE_OF_OLD_IDS: tuple[tuple[range, Genre], ...] = (
    (range(0, 1000), "nw"),
    (range(1000, 2000), "mz"),
    (range(2000, 4000), "bn"),
)


@dataclass(frozen=True, kw_only=True)
class ChineseTreebank(SplitByIds):
    """Chinese Treebank 9.0 or an older release, split by lists of file ids."""

    has_trees: ClassVar[bool] = True

    kind: Literal["ctb"] = "ctb"
    root: str
    """Folder of the bracketed files, or any parent folder."""
    genres: Sequence[Genre] = ("nw", "mz", "bn", "bc", "wb")
    """Genres to read: nw newswire, mz magazine, bn broadcast news, bc broadcast conversation,
    wb weblogs, df discussion forums, sc chat and text messages, cs conversational speech."""
    encoding: Literal["auto", "utf-8", "gb18030"] = "auto"
    """Encoding of the files; auto tries UTF-8 first, then GB18030."""

    @property
    def _encodings(self) -> tuple[str, ...]:
        return ("utf-8", "gb18030") if self.encoding == "auto" else (self.encoding,)

    def read(self, split: str) -> Iterator[Sentence]:
        for piece in self.pieces(split):
            yield from self.read_piece(piece)

    def pieces(self, split: str) -> list[Piece]:
        return [Piece(path) for path in self._files(split)]

    def read_piece(self, piece: Piece) -> Iterator[Sentence]:
        path = piece.path
        lines = without_markup(self._decode(path).splitlines())
        for line, tree in read_trees(lines, path=path):
            yield Sentence(tree.words(), Source(path.name, line), tree)

    def fingerprint(self, splits: Sequence[str] = SPLITS) -> str:
        files = [path for split in splits for path in self._files(split)]
        return hash_files(
            files,
            ids=listed_ids(self.ids, splits),
            genres=sorted(self.genres),
            encodings=self._encodings,
        )

    def _files(self, split: str) -> list[Path]:
        found = []
        for path in Path(self.root).rglob("chtb_*"):
            match = _CHTB_FILE.fullmatch(path.name)
            is_raw = "raw" in path.relative_to(Path(self.root)).parts
            if match and not is_raw and self._wanted(match, split):
                found.append((int(match["id"]), path))
        if not found:
            raise MissingCorpusError(
                corpus=f"The {split} split of the Chinese Treebank",
                looked_for=Path(self.root) / "**" / "chtb_*",
                licence="LDC2016T13 (Chinese Treebank 9.0), Linguistic Data Consortium",
                setting="data.root=/path/to/ctb9.0/data/bracketed",
            )
        return [path for _, path in sorted(found)]

    def _wanted(self, match: re.Match[str], split: str) -> bool:
        number = int(match["id"])
        return number in self.ids[split] and genre_of(number, match["suffix"]) in self.genres

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
    """Return the genre code of a file: its suffix or, for ``.fid`` files, the genre of its id."""
    if suffix.lower() != "fid":
        return suffix.lower()
    return next((genre for ids, genre in _GENRE_OF_OLD_IDS if number in ids), "")


def without_markup(lines: Iterable[str]) -> Iterator[str]:
    """Blank out markup lines (``<S ID=1>``), so that line numbers remain correct."""
    return ("" if line.lstrip().startswith("<") else line for line in lines)
