"""Settings that a corpus shares with a part of a combined corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from gardenpath.data.sentence import Sentence
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.words.subwords import SubwordSettings
from gardenpath.data.words.unknown_words import Language
from gardenpath.settings.bounds import PositiveInt
from gardenpath.store.keys import Json


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
        return (one for one in sentences if most is None or len(one.words) <= most)

    def cleaning_key(self) -> dict[str, Json]:
        """Return the settings that determine the effect of :meth:`cleaned`, for use in a key."""
        return {"cleaning": asdict(self.cleaning), "max_train_tokens": self.max_train_tokens}
