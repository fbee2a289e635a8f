"""Jobs that several processes share: the sentences of a run, and the chunks still to compute."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gardenpath.eval.search.search_settings import SEARCHES, SearchSettings
from gardenpath.eval.word_scorer import OnWords
from gardenpath.runs.run import Run
from gardenpath.settings.check import plain, read
from gardenpath.store.entries.entry_needs import ANY_ENTRY, EntryNeeds, Matters, places_of
from gardenpath.store.score_through import missing_chunks
from gardenpath.store.surprisal_store import SurprisalStore
from gardenpath.text import Words


@dataclass(frozen=True)
class ScoringJob:
    """The sentences to score with a run or, with ``k_best``, to parse.

    For ``parsed`` sentences, partial parses are computed too. ``chunk`` is the number of sentences
    computed together; None uses that of the run. ``matters`` are the positions whose standard error
    must reach the tolerance of the search, as in :meth:`Run.scored`.
    """

    run: Run
    sentences: Sequence[Words]
    parsed: Collection[Words] = ()
    chunk: int | None = None
    k_best: int | None = None
    matters: Matters | None = None

    @property
    def needs(self) -> EntryNeeds:
        """What stored results must have so that they are not computed again."""
        if self.k_best is not None:
            return ANY_ENTRY
        return self.run.entry_needs(self.parsed, self.matters)

    @property
    def key(self) -> str:
        """The key of the results in the store."""
        return key_of(self.run, self.k_best)

    @property
    def store(self) -> SurprisalStore:
        """The store of the run; a run without one receives a temporary one, which it keeps."""
        if self.run.store is None:
            self.run.store = TemporaryStore()
        return self.run.store

    def missing(self) -> list[list[Words]]:
        """Return the chunks that are not in the store; none if they cannot be computed apart."""
        if self.run.is_order_dependent:
            return []
        asked = list(dict.fromkeys(map(tuple, self.sentences)))
        store = self.run.store
        found = {} if store is None else store.get(self.key, asked)
        chunk = self.chunk or self.run.chunk
        return missing_chunks(
            found, asked, chunk=chunk, chunk_words=self.run.chunk_words, needs=self.needs
        )

    def computation(self, on_words: OnWords) -> Computation:
        """Return what computes chunks in this process, into the store."""
        self.run.store = self.store
        return Computation(self.run, self.k_best, on_words)

    def message(self, chunk: Sequence[Words]) -> dict[str, Any]:
        """Describe a chunk to a worker process, in JSON types."""
        parsed = self.parsed if self.run.is_syntactic else ()
        return {
            "run": str(self.run.path.absolute()),
            "device": self.run.device_name,
            "search": plain(self.run.search),
            "boundary": self.run.boundary_choice,
            "store": str(self.store.path.absolute()),
            "key": self.key,
            "k_best": self.k_best,
            "sentences": chunk,
            "parsed": [number for number, words in enumerate(chunk) if words in parsed],
            "matters": self._places(chunk),
        }

    def _places(self, chunk: Sequence[Words]) -> list[list[int]] | None:
        """Return the positions that matter of each sentence; None for all positions."""
        if self.matters is None:
            return None
        return [sorted(places_of(words, self.matters)) for words in chunk]


def key_of(run: Run, k_best: int | None) -> str:
    """Return the key under which scores or, with ``k_best``, parses are stored."""
    if k_best is None:
        return run.model_key
    from gardenpath.runs.parsing import parses_key

    return parses_key(run, k_best)


def read_search(content: dict[str, Any]) -> SearchSettings:
    """Return the search settings in a message."""
    return read(SEARCHES[content["kind"]], content)


@dataclass
class Computation:
    """Computes the chunks of one run, one after another, with the model loaded once."""

    run: Run
    k_best: int | None
    on_words: OnWords
    _compute: Any = None

    def __call__(
        self, chunk: Sequence[Words], parsed: Collection[Words], matters: Matters | None
    ) -> None:
        """Compute a chunk and store it."""
        assert self.run.store is not None
        if self._compute is None:
            self._compute = self._begun()
        if self.k_best is None:
            self._compute.parsed, self._compute.matters = parsed, matters
        scores = self._compute(chunk)
        self.run.store.put(key_of(self.run, self.k_best), dict(zip(chunk, scores, strict=True)))
        if not self.run.reports_progress:
            self.on_words(sum(map(len, chunk)))

    def _begun(self) -> Any:
        # Imported here, because they load torch.
        from gardenpath.runs.parsing import Parsing
        from gardenpath.runs.scorers import Computing

        if self.k_best is None:
            return Computing(self.run, (), self.on_words)
        return Parsing(self.run, self.k_best, self.on_words)


class TemporaryStore(SurprisalStore):
    """A file of surprisals in the folder for temporary files, removed with this object."""

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(prefix="gardenpath-")
        super().__init__(Path(folder) / "surprisals.sqlite")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
