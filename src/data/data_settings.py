"""The settings of a corpus: ``data=`` on the command line."""

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
    """A corpus, and how its sentences are cleaned, counted and encoded."""

    name: str
    """Name of the corpus in folders and tables."""
    language: Language
    """Language of the corpus; suites of this language fit its models."""
    root: str | None = None
    """Folder of the corpus."""
    reader: Annotated[Reader, Tagged("kind", READERS)]
    """Format of the corpus on disk, and its splits."""
    cleaning: Cleaning = Cleaning()
    """Transforms of trees and words."""
    min_count: PositiveInt = 2
    """Words less frequent than this in the training split become unknown-word classes."""
    subwords: SubwordSettings = SubwordSettings()
    """Pieces instead of words."""

    def preparation(self) -> Preparation:
        """What turns the corpus on disk into a prepared corpus."""
        return Preparation(
            reader=self.reader,
            cleaning=self.cleaning,
            language=self.language,
            min_count=self.min_count,
            subwords=self.subwords,
        )
