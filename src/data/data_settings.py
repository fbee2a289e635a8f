"""Settings of a corpus: ``data=`` on the command line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from gardenpath.data.corpus_settings import CorpusSettings
from gardenpath.data.readers.base import Reader
from gardenpath.data.readers.combined import ALIKE, READERS, CombinedCorpus
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.settings.check import Tagged

if TYPE_CHECKING:
    from gardenpath.data.preparation import Preparation


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
        found = self.reader.disagreements(self.language, self.cleaning)
        if self.root is not None:
            remedy = "set those of its parts, as in data.parts.ctb.root=FOLDER, or paths.corpora"
            found.append(f"root has no effect on a combined corpus; {remedy}")
        return found
