"""The interface of corpus readers, and helpers shared by several of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol, runtime_checkable

from gardenpath.data.readers.file_hashes import content_hash
from gardenpath.data.readers.pieces import Piece
from gardenpath.data.sentence import SPLITS, Sentence
from gardenpath.errors import ConfigError
from gardenpath.store.keys import Json, fingerprint


class Reader(Protocol):
    """A corpus: three splits of sentences with their sources."""

    @property
    def has_trees(self) -> bool:
        """Whether sentences come with trees."""

    def read(self, split: str) -> Iterator[Sentence]:
        """Yield the sentences of ``train``, ``valid`` or ``test``, not yet cleaned."""

    def fingerprint(self, splits: Sequence[str] = SPLITS) -> str:
        """Return a hash that changes whenever the sentences of these splits may change.

        Other splits need not exist.
        """


@runtime_checkable
class PieceReader(Reader, Protocol):
    """A corpus whose splits consist of pieces, which several processes can read at once."""

    def pieces(self, split: str) -> list[Piece]:
        """Return the pieces of a split, in order."""

    def read_piece(self, piece: Piece) -> Iterator[Sentence]:
        """Yield the sentences of a piece, not yet cleaned."""


def parse_ids(text: str | int, *, setting: str) -> frozenset[int]:
    """Parse a list of numbers and ranges: ``"2-21"``, ``"1-43, 144-169, 900"`` or just ``23``."""
    numbers: set[int] = set()
    for part in str(text).replace(",", " ").split():
        first, dash, last = part.partition("-")
        try:
            begin, end = int(first), int(last if dash else first)
        except ValueError:
            raise _bad_range(part, setting) from None
        if begin > end:
            raise _bad_range(part, setting)
        numbers.update(range(begin, end + 1))
    if not numbers:
        raise _bad_range(str(text), setting)
    return frozenset(numbers)


@dataclass(frozen=True, kw_only=True)
class SplitByIds:
    """Settings of corpora split by lists of numbers (of files, sections or sentences)."""

    train: str
    """Numbers of the training split: ``2-21``, or ``1-43, 900``."""
    valid: str
    """Numbers of the validation split."""
    test: str
    """Numbers of the test split."""

    @cached_property
    def ids(self) -> dict[str, frozenset[int]]:
        """The numbers of the three splits."""
        return {
            split: parse_ids(getattr(self, split), setting=f"data.reader.{split}")
            for split in SPLITS
        }

    def mistakes(self) -> list[str]:
        """Return the mistakes in the lists of numbers."""
        found = []
        for split in SPLITS:
            try:
                parse_ids(getattr(self, split), setting=split)
            except ConfigError as error:
                found += error.mistakes
        return found


def _bad_range(part: str, setting: str) -> ConfigError:
    return ConfigError(
        [f"{setting}: {part!r} is not a list of numbers such as '2-21' or '1-43, 900'"]
    )


def hash_files(paths: Iterable[Path], **settings: Json) -> str:
    """Return a key of the names and contents of files and of the settings to read them."""
    files = [[path.name, content_hash(path)] for path in paths]
    return fingerprint("files", 1, files=files, settings=settings)


def listed_ids(
    ids: Mapping[str, frozenset[int]], splits: Sequence[str] = SPLITS
) -> dict[str, list[int]]:
    """Return the numbers of these splits as sorted lists, for use in a key."""
    return {split: sorted(ids[split]) for split in splits}
