"""Models that stay loaded, and their scores of sentences and of all beginnings of sentences.

The score of a word depends only on the words before it. Therefore every beginning of a sentence is
scored as a sentence of its own, in one search that shares prefixes, and is in the store: the words
that a second sentence has in common with the first are known at once.
"""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from gardenpath.errors import GardenpathError
from gardenpath.eval.display import models_in_order
from gardenpath.eval.search.search_settings import WordSync
from gardenpath.models.family import AdoptedFamily
from gardenpath.playground.playground_settings import PlaygroundSettings
from gardenpath.runs.finding.loading import Runs, find
from gardenpath.runs.run import Run
from gardenpath.runs.scorers import Computing, LoadedScorer, OnStored
from gardenpath.store.score_through import score_through
from gardenpath.store.surprisal_store import Stored
from gardenpath.text import Words

# Called while a model computes; it raises an exception to stop.
KeepGoing = Callable[[], None]


class LoadedModel:
    """A run whose model is loaded when it is first needed, and is used by one thread at a time."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._lock = threading.Lock()
        self._scorer: LoadedScorer | None = None
        self._check: KeepGoing = lambda: None
        # Settings and words may be in memory before the weights are, and must belong to them.
        self._files = [run.folder.config_path, run.folder.weights_path]
        self._stamps = [_stamp(path) for path in self._files]

    @functools.cached_property
    def weight_bytes(self) -> int:
        """The size of the weights; 0 if it cannot be found out."""
        try:
            return self.run.weight_bytes
        except (GardenpathError, OSError):
            return 0

    @property
    def is_loaded(self) -> bool:
        """Whether the weights are in memory."""
        return self._scorer is not None

    def load(self) -> None:
        """Load the weights, unless they are loaded."""
        with self._lock:
            self._require_same()
            if self._scorer is None:
                self.run.verify()
                self._scorer = self.run.scorer(on_words=lambda _: self._check())

    def _require_same(self) -> None:
        """Refuse a run that was trained again; one that was deleted remains in memory."""
        for path, before in zip(self._files, self._stamps, strict=True):
            if _stamp(path) not in (None, before):
                raise GardenpathError(
                    f"{self.run.path}: has changed since the playground was started; start the "
                    "playground again"
                )

    def drop(self) -> None:
        """Forget the weights."""
        with self._lock:
            self._scorer = None

    def scored(
        self, sentences: Sequence[Words], *, on_stored: OnStored, check: KeepGoing
    ) -> dict[Words, Stored]:
        """Return the scores of sentences; ``on_stored`` receives their beginnings meanwhile."""
        self.load()
        with self._lock:
            self._check = check
            check()
            if self.run.is_order_dependent:
                return self.run.scored(dict.fromkeys(sentences))
            return self._through_store(sentences, on_stored)

    def _through_store(
        self, sentences: Sequence[Words], on_stored: OnStored
    ) -> dict[Words, Stored]:
        run = self.run
        asked = beginnings_of(sentences) if self._streams else list(dict.fromkeys(sentences))
        parsed = set(asked) if run.is_syntactic else set()
        needs = run.entry_needs(parsed, None)
        known = {} if run.store is None else run.store.get(run.model_key, asked)
        for words in asked:
            if words in known and needs.are_met(words, known[words]):
                on_stored(words, known[words])
        found: dict[Words, Stored] = {}

        def report(words: Words, stored: Stored) -> None:
            found[words] = stored
            on_stored(words, stored)
            self._check()

        computing = Computing(run, parsed, scorer=self._scorer, on_stored=report)
        try:
            # All in one chunk, so that beginnings are computed once.
            return score_through(
                run.store, run.model_key, asked, computing, chunk=len(asked), needs=needs
            )
        except GardenpathError:
            if run.store is not None and self._streams:
                run.store.put(run.model_key, found)  # what was computed before it was stopped
            raise

    @property
    def _streams(self) -> bool:
        """Whether words are computed one after the other, in a search whose results are final."""
        return self.run.is_syntactic and isinstance(self.run.search, WordSync)


def _stamp(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from one that replaced it; None if there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def beginnings_of(sentences: Iterable[Words]) -> list[Words]:
    """Return all beginnings of sentences, short ones first, and the sentences themselves."""
    found = {words[:length]: None for words in sentences for length in range(1, len(words) + 1)}
    return sorted(found, key=len)


class ModelShelf:
    """The models that can be chosen, by name; those used least recently are dropped from memory."""

    def __init__(self, settings: PlaygroundSettings) -> None:
        self._settings = settings
        self._models: OrderedDict[str, LoadedModel] = OrderedDict()
        self._used: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()
        found = self._found(*settings.run)
        self.skipped = [one.reason for one in found.skipped]
        order = models_in_order(run.name.model for run in found)
        for run in sorted(found, key=lambda run: order.index(run.name.model)):
            self._models[str(run.path)] = LoadedModel(run)

    def _found(self, *references: str) -> Runs:
        settings = self._settings
        return find(
            *references,
            device=settings.device,
            search=settings.search,
            cache=settings.surprisals,
            unfinished=settings.unfinished == "include",
            boundary=settings.boundary,
        )

    @property
    def models(self) -> dict[str, LoadedModel]:
        """All models, by name."""
        with self._lock:
            return dict(self._models)

    def add(self, reference: str) -> list[str]:
        """Add a model that :func:`gardenpath.load` takes, or all below a folder; return names."""
        found = self._found(reference)
        with self._lock:
            for run in found:
                self._models.setdefault(str(run.path), LoadedModel(run))
        return [str(run.path) for run in found]

    def used(self, name: str) -> LoadedModel:
        """Return a model that will be used now; too many others are dropped from memory."""
        models = self.models
        if name not in models:
            raise GardenpathError(f"{name}: is not among the models of this page; reload the page")
        with self._lock:
            self._used[name] = None
            self._used.move_to_end(name)
            old = []
            while len(self._used) > 1 and self._are_too_many(models):
                old.append(self._used.popitem(last=False)[0])
        for one in old:
            models[one].drop()
        return models[name]

    def _are_too_many(self, models: Mapping[str, LoadedModel]) -> bool:
        limits = self._settings.limits
        size = sum(models[name].weight_bytes for name in self._used)
        return len(self._used) > limits.loaded or size > limits.loaded_gb * 1e9


def shown_model(name: str, model: LoadedModel) -> dict[str, object]:
    """Return what the page shows of a model."""
    run = model.run
    return {
        "name": name,
        "run": run.name.run,
        "model": run.name.model,
        "corpus": run.name.corpus,
        "seed": run.name.seed,
        "language": run.language,
        "syntactic": run.is_syntactic,
        "adopted": isinstance(run.family, AdoptedFamily),
        "measure": run.measure,
        "loaded": model.is_loaded,
        "notes": list(run.notes),
    }
