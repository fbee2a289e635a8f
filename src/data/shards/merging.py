"""Put the blocks of a corpus together: count words, build the vocabulary, and encode splits.

Blocks are read twice, one at a time, so that memory is needed for the words of the vocabulary but
not for the sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gardenpath.data.arrays import Ints
from gardenpath.data.corpus_settings import CorpusSettings
from gardenpath.data.encoding.encoded import EncodedSplit, encode_pieces, encode_words
from gardenpath.data.encoding.stored_split import SplitWriter
from gardenpath.data.sentence import SPLITS
from gardenpath.data.shards.block import SentenceBlock
from gardenpath.data.shards.shard import Shard, blocks_of
from gardenpath.data.words.subwords import Subwords, subword_vocabulary, train_subwords
from gardenpath.data.words.vocabulary import Vocabulary, build_vocabulary
from gardenpath.errors import GardenpathError

WordCounts = Counter[tuple[str, bool]]


class BlockEncoder:
    """Encodes blocks with a vocabulary; the ids of a word are looked up once."""

    def __init__(self, vocabulary: Vocabulary, subwords: Subwords | None) -> None:
        self._vocabulary = vocabulary
        self._subwords = subwords
        self._word_ids: dict[str, tuple[int, int]] = {}
        self._pieces: dict[str, list[int]] = {}

    def encode(self, block: SentenceBlock) -> EncodedSplit:
        """Renumber the words and labels of a block."""
        label_ids: Ints = np.array(
            [self._vocabulary.label_ids[label] for label in block.labels], dtype=np.int64
        )
        if self._subwords is not None:
            pieces = {number: self._pieces_of(word) for number, word in enumerate(block.words)}
            return encode_pieces(block.raw, pieces=pieces, label_ids=label_ids)
        ids: Ints = np.array([self._ids_of(word) for word in block.words], dtype=np.int64)
        first, elsewhere = ids.reshape(-1, 2).T
        return encode_words(block.raw, elsewhere=elsewhere, first=first, label_ids=label_ids)

    def _ids_of(self, word: str) -> tuple[int, int]:
        if word not in self._word_ids:
            known = self._vocabulary
            self._word_ids[word] = (
                known.ids[known.seen_as(word, is_first=True)],
                known.ids[known.seen_as(word, is_first=False)],
            )
        return self._word_ids[word]

    def _pieces_of(self, word: str) -> list[int]:
        if word not in self._pieces:
            assert self._subwords is not None
            self._pieces[word] = self._subwords.encode(word, self._vocabulary)
        return self._pieces[word]


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
        vocabulary = subword_vocabulary(
            subwords, _piece_counts(counts, subwords), labels=labels, language=settings.language
        )
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
            if shard.split == split:
                yield from blocks_of(shard, self._folder)


def _piece_counts(counts: WordCounts, subwords: Subwords) -> Counter[str]:
    pieces: Counter[str] = Counter()
    for (word, _), count in counts.items():
        for piece in subwords.split(word):
            pieces[piece] += count
    return pieces
