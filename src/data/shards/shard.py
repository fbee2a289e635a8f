"""Shards: the parts of a corpus that are read and cleaned on their own, each into blocks."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from gardenpath.data.corpus_settings import CorpusSettings
from gardenpath.data.readers.base import PieceReader, Reader
from gardenpath.data.readers.combined import CombinedCorpus, located, named_sentences
from gardenpath.data.readers.pieces import PIECE_BYTES, Piece
from gardenpath.data.sentence import SPLITS, Sentence, Split
from gardenpath.data.shards.block import BLOCK_SENTENCES, SentenceBlock
from gardenpath.errors import GardenpathError, MissingCorpusError
from gardenpath.safe_text import parse_json

# Increment whenever the same corpus is divided into other shards or blocks.
SHARDS_FORMAT = 1

# Called with the number of sentences read since the last call.
Advance = Callable[[int], None]


@dataclass(frozen=True)
class Shard:
    """Some pieces of a split or, if its reader knows no pieces, the whole split.

    ``settings`` are those of the corpus; for a part of a combined corpus, ``part`` is its name and
    ``whole`` the settings of the whole corpus.
    """

    name: str
    split: Split
    reader: Reader
    settings: CorpusSettings
    pieces: tuple[Piece, ...] | None = None
    part: str | None = None
    whole: CorpusSettings | None = None

    @cached_property
    def byte_count(self) -> int:
        """Number of bytes to read, if known, otherwise 0."""
        return sum(piece.byte_count for piece in self.pieces or ())

    def read(self) -> Iterator[Sentence]:
        """Yield the sentences as they are in the corpus."""
        if self.pieces is not None and isinstance(self.reader, PieceReader):
            return itertools.chain.from_iterable(map(self.reader.read_piece, self.pieces))
        if self.part is not None:
            return located(self.part, self.reader, self.split)
        return self.reader.read(self.split)

    def clean(self, sentences: Iterator[Sentence]) -> Iterator[Sentence]:
        """Clean sentences, and leave out those that are too long."""
        cleaned = self.settings.cleaned(sentences, self.split)
        if self.part is None or self.whole is None:
            return cleaned
        return self.whole.short_enough(named_sentences(self.part, cleaned), self.split)


def shards_of(reader: Reader, settings: CorpusSettings) -> list[Shard]:
    """Divide a corpus into shards; they depend only on the corpus and its settings."""
    found: list[Shard] = []
    for split in SPLITS:
        if isinstance(reader, CombinedCorpus):
            for name, part in reader.parts_of(split):
                try:
                    shards = _shards(split, part.reader, part)
                except MissingCorpusError as error:
                    raise error.in_part(name) from error
                found += [replace(one, part=name, whole=settings) for one in shards]
        else:
            found += _shards(split, reader, settings)
    return [
        replace(shard, name=f"{SHARDS_FORMAT}-{number:05d}-{shard.split}")
        for number, shard in enumerate(found)
    ]


def read_shard(shard: Shard, folder: Path, advance: Advance) -> None:
    """Read and clean a shard into blocks; blocks of an interrupted attempt are kept."""
    raw = shard.read()
    for number in itertools.count():
        path = _block_path(shard, folder, number)
        taken = _Counted(itertools.islice(raw, BLOCK_SENTENCES))
        if SentenceBlock.load(path) is None:
            SentenceBlock.of(shard.clean(taken)).save(path)
        else:  # from an interrupted attempt
            for _ in taken:
                pass
        advance(taken.count)
        if taken.count < BLOCK_SENTENCES:
            break
    marker = _marker(shard, folder)
    temporary = marker.with_suffix(".part")
    content = {"blocks": number + 1, "sentences": number * BLOCK_SENTENCES + taken.count}
    temporary.write_text(json.dumps(content), encoding="utf-8")
    temporary.replace(marker)


def sentences_read(shard: Shard, folder: Path) -> int | None:
    """Return the number of sentences of a shard that was read already, otherwise None."""
    try:
        content = parse_json(_marker(shard, folder).read_text(encoding="utf-8"))
        blocks, sentences = int(content["blocks"]), int(content["sentences"])
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None
    is_whole = all(
        SentenceBlock.load(_block_path(shard, folder, number)) is not None
        for number in range(blocks)
    )
    return sentences if is_whole else None


def blocks_of(shard: Shard, folder: Path) -> Iterator[SentenceBlock]:
    """Yield the blocks of a shard that was read, one at a time."""
    count = int(parse_json(_marker(shard, folder).read_text(encoding="utf-8"))["blocks"])
    for number in range(count):
        path = _block_path(shard, folder, number)
        block = SentenceBlock.load(path)
        if block is None:
            raise GardenpathError(f"{path}: is damaged; start again, and it is read once more")
        yield block


def _shards(split: Split, reader: Reader, settings: CorpusSettings) -> list[Shard]:
    shard = Shard("", split, reader, _settled(split, reader, settings))
    if not isinstance(reader, PieceReader):
        return [shard]
    groups: list[list[Piece]] = []
    room = 0
    for piece in reader.pieces(split):
        size = piece.byte_count
        if not groups or size > room:
            groups.append([])
            room = PIECE_BYTES
        groups[-1].append(piece)
        room -= size
    return [replace(shard, pieces=tuple(group)) for group in groups]


def _settled(split: Split, reader: Reader, settings: CorpusSettings) -> CorpusSettings:
    """Decide from the beginning of a split whether it has parts of speech, for all its shards."""
    if not reader.has_trees:
        return settings
    try:
        return replace(settings, cleaning=settings.cleaning.settled(reader.read(split)))
    except MissingCorpusError:
        raise
    except GardenpathError:  # the first shard cannot be read, and its error names the reason
        return settings


class _Counted(Iterator[Sentence]):
    """Counts the sentences that are taken."""

    def __init__(self, sentences: Iterator[Sentence]) -> None:
        self._sentences = sentences
        self.count = 0

    def __next__(self) -> Sentence:
        sentence = next(self._sentences)
        self.count += 1
        return sentence


def _block_path(shard: Shard, folder: Path, number: int) -> Path:
    return folder / f"{shard.name}-{number:05d}.npz"


def _marker(shard: Shard, folder: Path) -> Path:
    return folder / f"{shard.name}.json"
