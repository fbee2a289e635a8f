"""Settings of a corpus: ``data=`` on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from gardenpath.data.preparation import Preparation
from gardenpath.data.readers.base import Reader
from gardenpath.data.readers.registry import READERS
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.words.subwords import SubwordSettings
from gardenpath.data.words.unknown_words import Language
from gardenpath.settings.bounds import PositiveInt
from gardenpath.settings.check import Tagged


@dataclass(frozen=True, kw_only=True)
class DataSettings:
    """A corpus, and how to clean, count and encode its sentences."""

    name: str
    """Name of the corpus in folders and tables."""
    language: Language
    """Language of the corpus; its models are scored on suites of this language."""
    root: str | None = None
    """Folder of the corpus."""
    reader: Annotated[Reader, Tagged("kind", READERS)]
    """Format of the corpus on disk and its splits."""
    cleaning: Cleaning = Cleaning()
    """Transforms applied to trees and words."""
    min_count: PositiveInt = 2
    """Words less frequent than this in the training split are replaced by unknown-word classes."""
    subwords: SubwordSettings = SubwordSettings()
    """Subword pieces instead of whole words."""

    def preparation(self) -> Preparation:
        """Return the preparation that turns the corpus on disk into a prepared corpus."""
        return Preparation(
            reader=self.reader,
            cleaning=self.cleaning,
            language=self.language,
            min_count=self.min_count,
            subwords=self.subwords,
        )
