"""The family of models of which only a table of surprisals is here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from gardenpath.data.words.boundaries import Boundary, BoundaryChoice
from gardenpath.errors import GardenpathError
from gardenpath.models.family import AdoptedFamily, AdoptedModel, AdoptedSettings, ModelSettings
from gardenpath.models.tabled.table_settings import TableModel
from gardenpath.models.tabled.word_table import WordTable, read_word_table, write_word_table
from gardenpath.store.files import sha256_of

if TYPE_CHECKING:
    from gardenpath.data.arrays import Floats

TABLE_FILE = "surprisals.jsonl"

# Number of missing sentences that a message names.
_SHOWN = 3


class TableFamily(AdoptedFamily):
    """Looks the sentences of suites up in a table."""

    settings: ClassVar[type[ModelSettings]] = TableModel

    def adopt(self, settings: TableModel, source: str, folder: Path) -> AdoptedSettings:
        """Copy a table of log probabilities of words; other forms are converted before."""
        table = read_word_table(Path(source))
        if not table.sentences:
            raise GardenpathError(f"{source}: contains no sentences")
        write_word_table(folder / TABLE_FILE, table)
        return _as_stored(settings, table)

    def identity(self, settings: TableModel, folder: Path) -> str:
        """Return the checksum of the table."""
        return sha256_of(folder / TABLE_FILE)

    def open(
        self,
        settings: TableModel,
        folder: Path,
        *,
        device: str,
        boundary: Boundary | None,
        on_words: Callable[[int], None] = lambda _: None,
    ) -> AdoptedModel:
        """Open the table of a run folder; it is read when the first sentence is asked for."""
        return TabledScores(folder / TABLE_FILE, on_words)

    def boundary(self, settings: TableModel, asked: BoundaryChoice) -> Boundary | None:
        """Return how the words of the table were made of pieces; another choice is refused."""
        stated = settings.network.boundary
        if stated is not None and asked not in ("auto", stated):
            raise GardenpathError(
                f"{settings.name or 'the table'}: its surprisals were computed with "
                f"boundary={stated} and cannot be converted to boundary={asked}"
            )
        return stated

    def notes(self, settings: TableModel, folder: Path) -> tuple[str, ...]:
        """Return what was said when the table was read."""
        return read_word_table(folder / TABLE_FILE).origin.notes


def _as_stored(settings: TableModel, table: WordTable) -> TableModel:
    network = replace(settings.network, boundary=table.origin.boundary)
    return replace(settings, network=network)


class TabledScores:
    """Log probabilities of words from a table."""

    def __init__(self, path: Path, on_words: Callable[[int], None] = lambda _: None) -> None:
        self.path = path
        self._on_words = on_words
        self._table: WordTable | None = None

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return, for each sentence, the log probability (nats) of each word, then its end.

        Sentences that are not in the table are an error.
        """
        import numpy as np

        if self._table is None:
            self._table = read_word_table(self.path)
        known = self._table.sentences
        asked = [tuple(words) for words in sentences]
        if missing := list(dict.fromkeys(words for words in asked if words not in known)):
            shown = ", ".join(repr(" ".join(words)) for words in missing[:_SHOWN])
            raise GardenpathError(
                f"{self.path}: no surprisals for {len(missing)} of {len(set(asked))} sentences, "
                f"such as {shown}; score all sentences of the suites, divided into the same words, "
                "and adopt the table again"
            )
        self._on_words(sum(map(len, asked)))
        return [np.array(known[words], dtype=np.float64) for words in asked]

    def knows(self, word: str) -> bool:
        """The table does not say which words the model did not know."""
        return True

    def seen_as(self, words: Sequence[str]) -> list[str]:
        """Return the words; what the model saw is not in the table."""
        return list(words)
