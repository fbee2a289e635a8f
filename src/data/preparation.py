"""Turn a corpus on disk into a prepared corpus: clean, count, encode and cache it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gardenpath.data.corpus_settings import CorpusSettings
from gardenpath.data.encoding.encoded import EncodedSplit, encode_pieces, encode_words
from gardenpath.data.encoding.raw_split import Inventory, RawSplit, collect
from gardenpath.data.encoding.stored_split import StoredSplit
from gardenpath.data.readers.base import Reader
from gardenpath.data.readers.combined import CombinedCorpus
from gardenpath.data.sentence import SPLITS, Sentence
from gardenpath.data.words.subwords import (
    Subwords,
    subword_vocabulary,
    train_subwords,
)
from gardenpath.data.words.vocabulary import Vocabulary, build_vocabulary
from gardenpath.errors import GardenpathError
from gardenpath.store.corpora import corpus_key, stored_corpus, verify_corpus
from gardenpath.store.files import write_json, write_text
from gardenpath.store.run_folder import SUBWORDS_FILE, VOCABULARY_FILE

Progress = Callable[[Iterable[Sentence], str], Iterable[Sentence]]


def no_progress(sentences: Iterable[Sentence], _title: str) -> Iterable[Sentence]:
    """Iterate without showing progress; the default."""
    return sentences


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

    def split(self, name: str) -> StoredSplit:
        """Return the encoded sentences of a split."""
        return StoredSplit.open(self.folder / name)

    def sources(self, name: str) -> list[str]:
        """Return the source of each sentence of a split: its location in the corpus."""
        return (self.folder / name / "sources.txt").read_text(encoding="utf-8").splitlines()


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
        self, cache: Path, *, progress: Progress = no_progress, verify: bool = False
    ) -> PreparedCorpus:
        """Load the prepared corpus from the cache, or build it and add it to the cache.

        File sizes are always compared with the manifest; checksums are compared if ``verify`` is
        set.
        """
        folder = stored_corpus(
            cache, self.key(), lambda temporary: self._build(temporary, progress)
        )
        if verify:
            verify_corpus(folder)
        return PreparedCorpus(folder)

    def _build(self, folder: Path, progress: Progress) -> None:
        words, labels = Inventory(), Inventory()
        raw: dict[str, RawSplit] = {
            split: collect(progress(self.sentences(split), split), words, labels)
            for split in SPLITS
        }
        for split in SPLITS:
            if not raw[split].sources:
                raise GardenpathError(
                    f"the {split} split has no sentences after cleaning; check the corpus "
                    "and the maximum length of sentences (data.cleaning.max_tokens)"
                )
        encoded, vocabulary = self._encode(raw, words, labels, folder)
        vocabulary.save(folder / VOCABULARY_FILE)
        for split in SPLITS:
            encoded[split].save(folder / split)
            write_text(folder / split / "sources.txt", "\n".join(raw[split].sources) + "\n")
        write_json(folder / "summary.json", _summary(encoded, vocabulary))

    def _encode(
        self, raw: dict[str, RawSplit], words: Inventory, labels: Inventory, folder: Path
    ) -> tuple[dict[str, EncodedSplit], Vocabulary]:
        counts = raw["train"].word_counts(words)
        settings = self._settings
        if settings.subwords.algorithm == "none":
            vocabulary = build_vocabulary(
                counts,
                labels=labels.items,
                language=settings.language,
                min_count=settings.min_count,
            )
            return _encode_words(raw, words, labels, vocabulary), vocabulary
        subwords = train_subwords(_as_text(raw["train"], words), settings.subwords)
        subwords.save(folder / SUBWORDS_FILE)
        vocabulary = subword_vocabulary(
            subwords,
            _piece_counts(counts, subwords),
            labels=labels.items,
            language=settings.language,
        )
        return _encode_pieces(raw, words, labels, vocabulary, subwords), vocabulary


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
    words, labels = Inventory(), Inventory()
    raw = collect(sentences, words, labels)
    if unknown := [label for label in labels.items if label not in vocabulary.label_ids]:
        raise UnknownLabelsError(unknown)
    split = {"split": raw}
    if subwords is None:
        return _encode_words(split, words, labels, vocabulary)["split"]
    return _encode_pieces(split, words, labels, vocabulary, subwords)["split"]


class UnknownLabelsError(GardenpathError):
    """Trees have labels of constituents that a model does not know."""

    def __init__(self, labels: Sequence[str]) -> None:
        shown = ", ".join(sorted(labels)[:8]) + (" …" if len(labels) > 8 else "")
        super().__init__(f"the trees have labels that the model does not know: {shown}")


def _encode_words(
    raw: dict[str, RawSplit], words: Inventory, labels: Inventory, vocabulary: Vocabulary
) -> dict[str, EncodedSplit]:
    first, elsewhere = (
        np.array(
            [vocabulary.ids[vocabulary.seen_as(word, is_first=is_first)] for word in words.items],
            dtype=np.int64,
        )
        for is_first in (True, False)
    )
    label_ids = _label_ids(labels, vocabulary)
    return {
        split: encode_words(raw[split], elsewhere=elsewhere, first=first, label_ids=label_ids)
        for split in raw
    }


def _encode_pieces(
    raw: dict[str, RawSplit],
    words: Inventory,
    labels: Inventory,
    vocabulary: Vocabulary,
    subwords: Subwords,
) -> dict[str, EncodedSplit]:
    pieces = {number: subwords.encode(word, vocabulary) for number, word in enumerate(words.items)}
    label_ids = _label_ids(labels, vocabulary)
    return {split: encode_pieces(raw[split], pieces=pieces, label_ids=label_ids) for split in raw}


def _label_ids(labels: Inventory, vocabulary: Vocabulary) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array([vocabulary.label_ids[label] for label in labels.items], dtype=np.int64)


def _as_text(raw: RawSplit, words: Inventory) -> Iterator[str]:
    items = words.items
    for begin, end in zip(raw.offsets[:-1], raw.offsets[1:], strict=True):
        yield " ".join(items[number] for number in raw.words[begin:end].tolist())


def _piece_counts(counts: Counter[tuple[str, bool]], subwords: Subwords) -> Counter[str]:
    pieces: Counter[str] = Counter()
    for (word, _), count in counts.items():
        for piece in subwords.split(word):
            pieces[piece] += count
    return pieces


def _summary(encoded: dict[str, EncodedSplit], vocabulary: Vocabulary) -> dict[str, Any]:
    return {
        "vocabulary_size": len(vocabulary),
        "vocabulary_hash": vocabulary.content_hash,
        "labels": len(vocabulary.labels),
        "splits": {
            split: {
                "sentences": len(content),
                "words": content.word_count,
                "tokens": len(content.tokens),
                "actions": len(content.actions),
            }
            for split, content in encoded.items()
        },
    }
