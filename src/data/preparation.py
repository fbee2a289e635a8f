"""Turn a corpus on disk into a prepared corpus: clean, count, encode and cache it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from gardenpath.data.corpus_settings import CorpusSettings
from gardenpath.data.encoding.encoded import EncodedSplit
from gardenpath.data.encoding.stored_split import SOURCES_FILE, StoredSplit
from gardenpath.data.readers.base import Reader
from gardenpath.data.readers.combined import CombinedCorpus
from gardenpath.data.readers.file_hashes import remembered_hashes
from gardenpath.data.sentence import Sentence
from gardenpath.data.shards.block import SentenceBlock
from gardenpath.data.shards.merging import BlockEncoder, Merge
from gardenpath.data.shards.shard import Advance, shards_of
from gardenpath.data.shards.workers import read_shards
from gardenpath.data.words.subwords import Subwords
from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.errors import GardenpathError
from gardenpath.store.corpora import corpus_key, stored_corpus, unfinished_corpus
from gardenpath.store.files import write_json
from gardenpath.store.run_folder import SUBWORDS_FILE, VOCABULARY_FILE

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
