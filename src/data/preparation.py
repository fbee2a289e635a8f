"""Preparation: from a corpus on disk to vocabulary and encoded splits, kept in a cache.

Called for training, for perplexity and by the benchmarks. A corpus is divided into shards, which
several processes read and clean into blocks; the words of all blocks are counted, the vocabulary
built, and the blocks encoded, one at a time, so that memory is needed for the words but not for
the sentences. The result depends on the corpus and its settings only, never on the number of
processes, and is in the cache whole or not at all; what a killed preparation has read is used by
the next one. Nothing here knows formats of corpora (`readers`) or needs torch.
"""

from __future__ import annotations

import itertools
import json
import os
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gardenpath.data.arrays import Ints
from gardenpath.data.corpus import CombinedCorpus, CorpusSettings, located, named_sentences
from gardenpath.data.encoding import (
    SOURCES_FILE,
    EncodedSplit,
    Inventory,
    RawSplit,
    SplitWriter,
    StoredSplit,
    collect,
    encode_pieces,
    encode_words,
)
from gardenpath.data.readers.base import (
    FileRange,
    PieceReader,
    Reader,
    in_groups,
    remembered_hashes,
)
from gardenpath.data.sentence import SPLITS, Sentence, Split
from gardenpath.data.words.pieces import Subwords, subword_vocabulary, train_subwords
from gardenpath.data.words.vocabulary import Vocabulary, build_vocabulary
from gardenpath.errors import GardenpathError, MissingCorpusError
from gardenpath.safe_text import parse_json
from gardenpath.store.files import write_json
from gardenpath.store.manifest import corpus_key, stored_corpus, unfinished_corpus
from gardenpath.store.run_folder import SUBWORDS_FILE, VOCABULARY_FILE
from gardenpath.workers import Advance, available_cores, done_together

# Number of sentences, as they are in the corpus, of a block.
BLOCK_SENTENCES = 10_000

_DAMAGE = (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile)


@dataclass(frozen=True)
class SentenceBlock:
    """Sentences as numbers, and the words and labels that these stand for, on disk.

    A block numbers its words and labels on its own, in order of first appearance. Each array has a
    checksum in its archive, so that a block that was not written completely is noticed.
    """

    raw: RawSplit
    words: list[str]
    labels: list[str]

    def __len__(self) -> int:
        return len(self.raw.sources)

    @property
    def sources(self) -> bytes:
        """The sources of the sentences, one per line."""
        return "".join(f"{source}\n" for source in self.raw.sources).encode()

    @staticmethod
    def of(sentences: Iterable[Sentence]) -> SentenceBlock:
        """Turn cleaned sentences into a block."""
        words, labels = Inventory(), Inventory()
        raw = collect(sentences, words, labels)
        return SentenceBlock(raw, words.items, labels.items)

    def save(self, path: Path) -> None:
        """Write the block; a block of this name is either whole or noticed as damaged."""
        raw = self.raw
        temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
        with temporary.open("wb") as file:
            np.savez(
                file,
                allow_pickle=False,
                words=raw.words.astype(np.int32),
                offsets=raw.offsets,
                actions=raw.actions.astype(np.int32),
                action_offsets=raw.action_offsets,
                sources=_as_bytes(raw.sources),
                word_items=_as_bytes(self.words),
                label_items=_as_bytes(self.labels),
            )
        temporary.replace(path)

    @staticmethod
    def load(path: Path) -> SentenceBlock | None:
        """Read a block; None if it does not exist or is damaged."""
        try:
            with np.load(path, allow_pickle=False) as archive:
                return SentenceBlock(
                    RawSplit(
                        words=archive["words"].astype(np.int64),
                        offsets=archive["offsets"],
                        actions=archive["actions"].astype(np.int64),
                        action_offsets=archive["action_offsets"],
                        sources=_as_list(archive["sources"]),
                    ),
                    _as_list(archive["word_items"]),
                    _as_list(archive["label_items"]),
                )
        except _DAMAGE:
            return None


def _as_bytes(items: list[str]) -> npt.NDArray[np.uint8]:
    # ASCII, so that words with unpaired surrogates survive.
    return np.frombuffer(json.dumps(items).encode("ascii"), dtype=np.uint8)


def _as_list(content: npt.NDArray[Any]) -> list[str]:
    items: list[str] = parse_json(content.tobytes().decode("utf-8"))
    return items


# ----------------------------------------------------------------------------
# Shards: the parts of a corpus that are read and cleaned on their own, each into blocks.


# Increment whenever the same corpus is divided into other shards or blocks.
SHARDS_FORMAT = 1


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
    pieces: tuple[FileRange, ...] | None = None
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
    shards: list[Shard] = []
    for split in SPLITS:
        if isinstance(reader, CombinedCorpus):
            for name, part in reader.parts_of(split):
                try:
                    own = _shards(split, part.reader, part)
                except MissingCorpusError as error:
                    raise error.in_part(name) from error
                shards += [replace(shard, part=name, whole=settings) for shard in own]
        else:
            shards += _shards(split, reader, settings)
    return [
        replace(shard, name=f"{SHARDS_FORMAT}-{number:05d}-{shard.split}")
        for number, shard in enumerate(shards)
    ]


def read_shard(shard: Shard, advance: Advance, *, folder: Path, block_sentences: int) -> None:
    """Read and clean a shard into blocks; blocks of an interrupted attempt are kept."""
    raw = shard.read()
    for number in itertools.count():
        path = _block_path(shard, folder, number)
        taken = _Counted(itertools.islice(raw, block_sentences))
        if SentenceBlock.load(path) is None:
            SentenceBlock.of(shard.clean(taken)).save(path)
        else:  # from an interrupted attempt
            for _ in taken:
                pass
        advance(taken.count)
        if taken.count < block_sentences:
            break
    marker = _marker(shard, folder)
    temporary = marker.with_suffix(".part")
    content = {"blocks": number + 1, "sentences": number * block_sentences + taken.count}
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


def _shards(split: Split, reader: Reader, settings: CorpusSettings) -> list[Shard]:
    if reader.has_trees:
        # For all shards of a split, its beginning decides whether it has parts of speech.
        try:
            settings = replace(settings, cleaning=settings.cleaning.settled(reader.read(split)))
        except MissingCorpusError:
            raise
        except GardenpathError:
            pass  # the first shard cannot be read, and its error names the reason
    shard = Shard("", split, reader, settings)
    if not isinstance(reader, PieceReader):
        return [shard]
    groups = in_groups(reader.pieces(split), lambda piece: piece.byte_count)
    return [replace(shard, pieces=tuple(group)) for group in groups]


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


# ----------------------------------------------------------------------------
# Put the blocks of a corpus together: count words, build the vocabulary, and encode splits.


WordCounts = Counter[tuple[str, bool]]


class BlockEncoder:
    """Encodes blocks with a vocabulary; the ids of a word are looked up once."""

    def __init__(self, vocabulary: Vocabulary, subwords: Subwords | None) -> None:
        ids = vocabulary.ids

        def ids_of(word: str) -> tuple[int, int]:
            as_first = vocabulary.seen_as(word, is_first=True)
            return ids[as_first], ids[vocabulary.seen_as(word, is_first=False)]

        def pieces_of(word: str) -> list[int]:
            assert subwords is not None
            return subwords.encode(word, vocabulary)

        self._labels, self._has_pieces = vocabulary.label_ids, subwords is not None
        self._ids_of, self._pieces_of = cache(ids_of), cache(pieces_of)

    def encode(self, block: SentenceBlock) -> EncodedSplit:
        """Renumber the words and labels of a block."""
        label_ids: Ints = np.array([self._labels[label] for label in block.labels], dtype=np.int64)
        if self._has_pieces:
            pieces = {number: self._pieces_of(word) for number, word in enumerate(block.words)}
            return encode_pieces(block.raw, pieces=pieces, label_ids=label_ids)
        ids: Ints = np.array([self._ids_of(word) for word in block.words], dtype=np.int64)
        first, elsewhere = ids.reshape(-1, 2).T
        return encode_words(block.raw, elsewhere=elsewhere, first=first, label_ids=label_ids)


class Merge:
    """The blocks of all shards of a corpus."""

    def __init__(self, shards: Sequence[Shard], folder: Path) -> None:
        self._shards = shards
        self._folder = folder

    def words(self, settings: CorpusSettings) -> tuple[Vocabulary, Subwords | None]:
        """Count words, and build the vocabulary and, if wanted, the segmentation."""
        counts, labels = self._count()
        if settings.subwords.algorithm == "none":
            vocabulary = build_vocabulary(
                counts, labels=labels, language=settings.language, min_count=settings.min_count
            )
            return vocabulary, None
        subwords = train_subwords(self._text(), settings.subwords)
        pieces: Counter[str] = Counter()
        for (word, _), count in counts.items():
            for piece in subwords.split(word):
                pieces[piece] += count
        vocabulary = subword_vocabulary(subwords, pieces, labels=labels, language=settings.language)
        return vocabulary, subwords

    def write(self, folder: Path, encoder: BlockEncoder) -> dict[str, Any]:
        """Encode the splits into a folder each; return their sizes, for the summary."""
        sizes: dict[str, Any] = {}
        for split in SPLITS:
            writer = SplitWriter(folder / split)
            for block in self._blocks(split):
                writer.append(encoder.encode(block), block.sources)
            writer.close()
            sizes[split] = {
                "sentences": writer.sentences,
                "words": writer.words,
                "tokens": writer.tokens,
                "actions": writer.actions,
            }
        return sizes

    def _count(self) -> tuple[WordCounts, set[str]]:
        """Count the words of the training split, and collect the labels of all splits."""
        counts: WordCounts = Counter()
        labels: set[str] = set()
        for split in SPLITS:
            sentences = 0
            for block in self._blocks(split):
                sentences += len(block)
                labels.update(block.labels)
                if split == "train":
                    counts.update(block.raw.word_counts(block.words))
            if not sentences:
                raise GardenpathError(
                    f"the {split} split has no sentences after cleaning; check the corpus "
                    "and the maximum length of sentences (data.cleaning.max_tokens)"
                )
        return counts, labels

    def _text(self) -> Iterator[str]:
        """Yield the sentences of the training split as text."""
        for block in self._blocks("train"):
            raw, items = block.raw, block.words
            for begin, end in zip(raw.offsets[:-1], raw.offsets[1:], strict=True):
                yield " ".join(items[number] for number in raw.words[begin:end].tolist())

    def _blocks(self, split: str) -> Iterator[SentenceBlock]:
        for shard in self._shards:
            if shard.split != split:
                continue
            marker = parse_json(_marker(shard, self._folder).read_text(encoding="utf-8"))
            for number in range(int(marker["blocks"])):
                path = _block_path(shard, self._folder, number)
                block = SentenceBlock.load(path)
                if block is None:
                    problem = "is damaged; start again, and it is read once more"
                    raise GardenpathError(f"{path}: {problem}")
                yield block


# ----------------------------------------------------------------------------
# Read the shards of a corpus, in this process or in several.


# Corpora below this size are read in one process, because starting others takes time.
_LARGE_BYTES = 8_000_000

_REMEDY = "start again with a smaller paths.preparation_processes: what was read is kept"


def read_shards(
    shards: Sequence[Shard], folder: Path, *, processes: int | None, advance: Advance
) -> None:
    """Read all shards that were not read before; the result does not depend on ``processes``.

    If a shard cannot be read, the error is that of the first such shard.
    """
    waiting = []
    for shard in shards:
        count = sentences_read(shard, folder)
        if count is None:
            waiting.append(shard)
        else:
            advance(count)
    if processes is None:
        is_large = sum(shard.byte_count for shard in waiting) >= _LARGE_BYTES
        processes = available_cores() if is_large else 1
    count = min(processes, len(waiting))
    task = partial(read_shard, folder=folder, block_sentences=BLOCK_SENTENCES)
    if count > 1:
        waiting = done_together(waiting, task, processes=count, advance=advance, remedy=_REMEDY)
    for shard in waiting:
        task(shard, advance)


# ----------------------------------------------------------------------------
# Turn a corpus on disk into a prepared corpus: clean, count, encode and cache it.


Progress = Callable[[Iterable[Sentence], str], Iterable[Sentence]]
# Given a title, yields a function to call with the number of sentences just read.
Counting = Callable[[str], AbstractContextManager[Advance]]


def no_progress(sentences: Iterable[Sentence], _title: str) -> Iterable[Sentence]:
    """Iterate without showing progress; the default."""
    return sentences


@contextmanager
def no_counting(_title: str) -> Iterator[Advance]:
    """Count sentences without showing them; the default."""
    yield lambda _sentences: None


@dataclass(frozen=True)
class PreparedCorpus:
    """A folder with the vocabulary, the encoded splits and the source of every sentence."""

    folder: Path

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary shared by all models of this corpus."""
        return Vocabulary.load(self.folder / VOCABULARY_FILE)

    @cached_property
    def subwords(self) -> Subwords | None:
        """The segmentation into pieces, if the units are pieces."""
        path = self.folder / SUBWORDS_FILE
        return Subwords.load(path) if path.exists() else None

    def split(self, name: str) -> EncodedSplit:
        """Return the encoded sentences of a split, which are read from disk when needed."""
        return StoredSplit.open(self.folder / name)

    def sources(self, name: str) -> list[str]:
        """Return the source of each sentence of a split: its location in the corpus."""
        return (self.folder / name / SOURCES_FILE).read_text(encoding="utf-8").splitlines()


class Preparation:
    """Everything that determines the content of a prepared corpus."""

    def __init__(self, *, reader: Reader, settings: CorpusSettings) -> None:
        self._reader = reader
        self._settings = settings

    def key(self) -> str:
        """Return a hash of the corpus and all settings; equal keys mean equal prepared corpora."""
        settings = self._settings
        return corpus_key(
            corpus=self._reader.fingerprint(),
            **settings.cleaning_key(),
            language=settings.language,
            min_count=settings.min_count,
            subwords=asdict(settings.subwords),
        )

    def sentences(self, split: str) -> Iterator[Sentence]:
        """Yield the cleaned sentences of a split, as trees and strings."""
        if isinstance(self._reader, CombinedCorpus):
            return self._settings.short_enough(self._reader.cleaned(split), split)
        return self._settings.cleaned(self._reader.read(split), split)

    def prepare(
        self, cache: Path, *, progress: Counting = no_counting, processes: int | None = None
    ) -> PreparedCorpus:
        """Load the prepared corpus from the cache, or build it and add it to the cache.

        A corpus whose files have not changed is not read again. The files of the cache are compared
        with their checksums. ``processes`` read a new corpus; None uses all cores for large ones.
        What they have read is kept if preparation is interrupted, and used by the next one.
        """
        with remembered_hashes(cache):
            key = self.key()

            def build(folder: Path) -> None:
                with unfinished_corpus(cache, key) as unfinished:
                    self._build(folder, unfinished, progress, processes)
                    if self.key() != key:
                        raise GardenpathError(
                            "the corpus has changed while it was prepared; start again"
                        )

            return PreparedCorpus(stored_corpus(cache, key, build))

    def _build(
        self, folder: Path, unfinished: Path, progress: Counting, processes: int | None
    ) -> None:
        settings = self._settings
        shards = shards_of(self._reader, settings)
        with progress("reading the corpus") as advance:
            read_shards(shards, unfinished, processes=processes, advance=advance)
        merge = Merge(shards, unfinished)
        vocabulary, subwords = merge.words(settings)
        write_words(folder, vocabulary, subwords)
        sizes = merge.write(folder, BlockEncoder(vocabulary, subwords))
        summary = {
            "vocabulary_size": len(vocabulary),
            "vocabulary_hash": vocabulary.content_hash,
            "labels": len(vocabulary.labels),
            "splits": sizes,
        }
        write_json(folder / "summary.json", summary)


def write_words(folder: Path, vocabulary: Vocabulary, subwords: Subwords | None) -> None:
    """Write the vocabulary of a model and, if its units are pieces, the segmentation."""
    vocabulary.save(folder / VOCABULARY_FILE)
    if subwords is not None:
        subwords.save(folder / SUBWORDS_FILE)


def encode_with(
    sentences: Iterable[Sentence], vocabulary: Vocabulary, subwords: Subwords | None
) -> EncodedSplit:
    """Encode sentences and their trees with the vocabulary of a trained model.

    Raises :class:`UnknownLabelsError` if trees have labels that the model does not know.
    """
    block = SentenceBlock.of(sentences)
    if unknown := [label for label in block.labels if label not in vocabulary.label_ids]:
        raise UnknownLabelsError(unknown)
    return BlockEncoder(vocabulary, subwords).encode(block)


class UnknownLabelsError(GardenpathError):
    """Trees have labels of constituents that a model does not know."""

    def __init__(self, labels: Sequence[str]) -> None:
        shown = ", ".join(sorted(labels)[:8]) + (" …" if len(labels) > 8 else "")
        super().__init__(f"the trees have labels that the model does not know: {shown}")
