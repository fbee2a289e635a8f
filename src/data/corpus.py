"""Settings of a corpus, `data=` on the command line: its reader, cleaning, vocabulary, batches.

A part of all settings of trainings and of results. A corpus may be combined from several, each of
which contributes some or all of its splits: Wang et al. (2021), for example, add automatically
parsed news to the training split of the Chinese Treebank and keep the treebank's own validation and
test splits. Settings are listed and checked without NumPy and torch; the preparation does the work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from gardenpath.data.readers.base import Reader
from gardenpath.data.readers.files import BracketFiles, TextFiles, ToyTreebank
from gardenpath.data.readers.treebanks import (
    ChineseTreebank,
    GumTreebank,
    PennTreebank,
    PennTreebankSample,
    SinicaTreebank,
)
from gardenpath.data.sentence import SPLITS, Sentence, Source
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.words.pieces import SubwordSettings
from gardenpath.data.words.vocabulary import Language
from gardenpath.errors import MissingCorpusError
from gardenpath.settings.schema import NonNegativeInt, PositiveInt, Tagged, nearest
from gardenpath.store.files import Json, fingerprint

if TYPE_CHECKING:
    from gardenpath.data.preparation import Preparation


@dataclass(frozen=True, kw_only=True)
class CorpusSettings:
    """How to clean, count and encode the sentences of a corpus."""

    name: str
    """Name of the corpus in folders and tables."""
    language: Language
    """Language of the corpus; its models are scored on suites of this language."""
    root: str | None = None
    """Folder of the corpus."""
    cleaning: Cleaning = Cleaning()
    """Transforms applied to trees and words."""
    max_train_tokens: PositiveInt | None = None
    """Maximum length of training sentences, counted without traces; longer sentences are left out
    of the training split only. null keeps all."""
    min_count: PositiveInt = 2
    """Words less frequent than this in the training split are replaced by unknown-word classes."""
    subwords: SubwordSettings = SubwordSettings()
    """Subword pieces instead of whole words."""

    def cleaned(self, sentences: Iterable[Sentence], split: str) -> Iterator[Sentence]:
        """Clean the sentences of a split; leave out those that become empty or are too long."""
        return self.short_enough(self.cleaning.apply(sentences), split)

    def short_enough(self, sentences: Iterable[Sentence], split: str) -> Iterator[Sentence]:
        """Leave out the sentences of a split that are too long."""
        limits = [self.cleaning.max_tokens, self.max_train_tokens if split == "train" else None]
        most = min((limit for limit in limits if limit is not None), default=None)
        return (item for item in sentences if most is None or len(item.words) <= most)

    def cleaning_key(self) -> dict[str, Json]:
        """Return the settings that determine the effect of :meth:`cleaned`, for use in a key."""
        return {"cleaning": asdict(self.cleaning), "max_train_tokens": self.max_train_tokens}


# The readers of corpora on disk, by the name used in configurations.
SINGLE_READERS: Mapping[str, Any] = {
    "toy": ToyTreebank,
    "ptb": PennTreebank,
    "ptb_sample": PennTreebankSample,
    "ctb": ChineseTreebank,
    "sinica": SinicaTreebank,
    "gum": GumTreebank,
    "brackets": BracketFiles,
    "text": TextFiles,
}


# ----------------------------------------------------------------------------
# A corpus of several sources.


# Settings of a part that only the whole corpus has: it has one vocabulary.
_OF_THE_WHOLE = ("min_count", "subwords")
# Cleaning settings that determine what words and trees look like, in every part.
ALIKE = ("drop_traces", "keep_pos", "collapse_unary", "lowercase")


@dataclass(frozen=True, kw_only=True)
class CorpusPart(CorpusSettings):
    """A corpus as a part of another, with its own reader and cleaning."""

    reader: Annotated[Reader, Tagged("kind", SINGLE_READERS)]
    """Format of the corpus on disk and its splits."""

    def mistakes(self) -> list[str]:
        """Return the settings that have no effect in a part."""
        return [
            f"{name} has no effect in a part; set data.{name}, for the whole corpus"
            for name in _OF_THE_WHOLE
            if getattr(self, name) != getattr(CorpusSettings, name)
        ]


@dataclass(frozen=True, kw_only=True)
class CombinedCorpus:
    """Several corpora; each split consists of the same split of some or all of them, in order."""

    kind: Literal["combined"] = "combined"
    parts: Mapping[str, CorpusPart] = field(default_factory=dict)
    """Corpora by name, as in data.parts=[toy_english,ptb_sample]."""
    train: Sequence[str] | None = None
    """Parts of the training split; null uses all."""
    valid: Sequence[str] | None = None
    """Parts of the validation split; null uses all."""
    test: Sequence[str] | None = None
    """Parts of the test split; null uses all."""

    @property
    def has_trees(self) -> bool:
        """Whether all parts have trees."""
        return all(part.reader.has_trees for part in self.parts.values())

    def read(self, split: str) -> Iterator[Sentence]:
        """Yield the sentences of a split, part after part, not yet cleaned."""
        for name, part in self.parts_of(split):
            yield from named_sentences(name, located(name, part.reader, split))

    def cleaned(self, split: str) -> Iterator[Sentence]:
        """Yield the sentences of a split, part after part, each cleaned with its own settings."""
        for name, part in self.parts_of(split):
            yield from named_sentences(name, part.cleaned(located(name, part.reader, split), split))

    def parts_of(self, split: str) -> list[tuple[str, CorpusPart]]:
        """Return the parts of a split, in order."""
        names = self._names(split)
        return [(name, part) for name, part in self.parts.items() if name in names]

    def fingerprint(self, splits: Sequence[str] = SPLITS) -> str:
        """Return a hash of the sentences of all parts, in order, and of how they are cleaned."""

        def fingerprint_of(name: str, part: CorpusPart, chosen: Sequence[str]) -> str:
            try:
                return part.reader.fingerprint(chosen)
            except MissingCorpusError as error:
                raise error.in_part(name) from error

        parts: list[Json] = [
            [name, chosen, fingerprint_of(name, part, chosen), part.cleaning_key()]
            for name, part in self.parts.items()
            if (chosen := [split for split in splits if name in self._names(split)])
        ]
        return fingerprint("combined", 1, parts=parts)

    def cleaned_like(self, change: Mapping[str, Any]) -> CombinedCorpus:
        """Return the same corpus with some cleaning settings of all parts replaced."""
        parts = {
            name: replace(part, cleaning=replace(part.cleaning, **change))
            for name, part in self.parts.items()
        }
        return replace(self, parts=parts)

    def mistakes(self) -> list[str]:
        """Return the mistakes in the parts of splits."""
        if not self.parts:
            return ["name the parts, as in 'data.parts=[toy_english,ptb_sample]'"]
        empty = [split for split in SPLITS if not self._names(split)]
        return [f"{split} needs at least one part" for split in empty] + [
            f"{split} names {name!r}, which is not a part; {nearest(name, self.parts)}"
            for split in SPLITS
            for name in self._names(split)
            if name not in self.parts
        ]

    def disagreements(self, language: str, cleaning: Cleaning) -> list[str]:
        """Return how parts differ from the whole corpus where all must be alike."""
        mistakes = []
        for name, part in self.parts.items():
            if part.language != language:
                mistakes.append(
                    f"the language of {name} is {part.language}, not {language}; combine corpora "
                    "of one language, and set data.language to it"
                )
            mistakes += [
                f"cleaning.{setting} differs in {name}; set it alike for the corpus and its parts"
                for setting in ALIKE
                if getattr(part.cleaning, setting) != getattr(cleaning, setting)
            ]
        return mistakes

    def _names(self, split: str) -> Sequence[str]:
        named: Sequence[str] | None = getattr(self, split)
        return list(self.parts) if named is None else named


def named_sentences(part: str, sentences: Iterator[Sentence]) -> Iterator[Sentence]:
    """Put the name of a part before the source of its sentences."""
    for item in sentences:
        source = Source(f"{part}/{item.source.path}", item.source.line)
        yield Sentence(item.words, source, item.tree)


def located(name: str, reader: Reader, split: str) -> Iterator[Sentence]:
    """Read a part; if it is missing, the error names the settings of the part."""
    try:
        yield from reader.read(split)
    except MissingCorpusError as error:
        raise error.in_part(name) from error


READERS: Mapping[str, Any] = {
    **SINGLE_READERS,
    "combined": CombinedCorpus,
}


# ----------------------------------------------------------------------------
# Settings of a corpus: ``data=`` on the command line.


@dataclass(frozen=True, kw_only=True)
class DataSettings(CorpusSettings):
    """A corpus, and how to clean, count and encode its sentences."""

    reader: Annotated[Reader, Tagged("kind", READERS)]
    """Format of the corpus on disk and its splits."""

    def preparation(self) -> Preparation:
        """Return the preparation that turns the corpus on disk into a prepared corpus."""
        # Imported here because NumPy takes long to load and a list of settings does not need it.
        from gardenpath.data.preparation import Preparation

        return Preparation(reader=self.reader, settings=self)

    def cleaned_like(self, other: Cleaning) -> DataSettings:
        """Return the same corpus with words and trees in the form that ``other`` gives them.

        What depends on the corpus itself stays: whether it has parts of speech and function tags,
        and the maximum length of its sentences.
        """
        change = {name: getattr(other, name) for name in ALIKE}
        reader = self.reader
        if isinstance(reader, CombinedCorpus):
            reader = reader.cleaned_like(change)
        return replace(self, reader=reader, cleaning=replace(self.cleaning, **change))

    def mistakes(self) -> list[str]:
        """Return the mistakes in the combination of a corpus and its parts."""
        if not isinstance(self.reader, CombinedCorpus):
            return []
        mistakes = self.reader.disagreements(self.language, self.cleaning)
        if self.root is not None:
            remedy = "set those of its parts, as in data.parts.ctb.root=FOLDER, or paths.corpora"
            mistakes.append(f"root has no effect on a combined corpus; {remedy}")
        return mistakes


# ----------------------------------------------------------------------------
# Settings of batch sizes.


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSettings:
    """Limits on the size of a batch, whichever is reached first, and the number of workers."""

    max_tokens: PositiveInt = 4096
    """Maximum number of tokens in a batch, including padding."""
    max_sentences: PositiveInt = 64
    """Maximum number of sentences in a batch."""
    workers: NonNegativeInt = 0
    """Number of worker processes that build batches; 0 builds them in the training process."""
