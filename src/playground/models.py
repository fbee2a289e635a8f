"""Models that stay loaded, and what they say about sentences, as the page shows it.

The server asks the shelf for models and has them score sentences in its one thread that computes.
Nothing here knows requests or responses.

The score of a word depends only on the words before it. Therefore every beginning of a sentence is
scored as a sentence of its own, in one search that shares prefixes, and is in the store: the words
that a second sentence has in common with the first are known at once.
"""

from __future__ import annotations

import contextlib
import functools
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gardenpath.data.sentence import Sentence
from gardenpath.errors import GardenpathError
from gardenpath.eval.display import models_in_order
from gardenpath.eval.search.settings import WordSync
from gardenpath.eval.surprisal.tables import is_seen
from gardenpath.playground.settings import PlaygroundSettings
from gardenpath.runs.find import Runs, find
from gardenpath.runs.run import Run
from gardenpath.runs.scorers import Computing, LoadedScorer, OnStored
from gardenpath.runs.text import rows_and_header, sentences_of_given, style_of, unknown_words
from gardenpath.safe_text import parse_yaml
from gardenpath.store.run_folder import CONFIG_FILE, WEIGHTS_FILE
from gardenpath.store.surprisals import Stored, score_through
from gardenpath.util import Words, bits

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
        self._files = [run.folder / CONFIG_FILE, run.folder / WEIGHTS_FILE]
        self._stamps = [_stamp(path) for path in self._files]

    @functools.cached_property
    def weight_bytes(self) -> int:
        """The size of the weights; 0 if it cannot be found out."""
        try:
            return self.run.model.weight_bytes
        except (GardenpathError, OSError):
            return 0

    @property
    def is_loaded(self) -> bool:
        """Whether the weights are in memory."""
        return self._scorer is not None

    def load(self) -> None:
        """Load the weights, unless they are loaded; refuse a run that was trained again."""
        with self._lock:
            for path, before in zip(self._files, self._stamps, strict=True):
                if _stamp(path) not in (None, before):  # a run that was deleted stays in memory
                    raise GardenpathError(
                        f"{self.run.path}: has changed since the playground was started; start the "
                        "playground again"
                    )
            if self._scorer is None:
                self.run.verify()
                self._scorer = self.run.scorer(on_words=lambda _: self._check())

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
            if self.run.model.is_order_dependent:
                return self.run.scored(dict.fromkeys(sentences))
            return self._through_store(sentences, on_stored)

    def _through_store(
        self, sentences: Sequence[Words], on_stored: OnStored
    ) -> dict[Words, Stored]:
        run = self.run
        # Words are computed one after the other, in a search whose results are final.
        streams = run.is_syntactic and isinstance(run.search, WordSync)
        wanted = beginnings_of(sentences) if streams else list(dict.fromkeys(sentences))
        parsed = set(wanted) if run.is_syntactic else set()
        needs = run.entry_needs(parsed, None)
        known = {} if run.store is None else run.store.get(run.model_key, wanted)
        for words in wanted:
            if words in known and needs.are_met(words, known[words]):
                on_stored(words, known[words])
        computed: dict[Words, Stored] = {}

        def report(words: Words, stored: Stored) -> None:
            computed[words] = stored
            on_stored(words, stored)
            self._check()

        computing = Computing(run, parsed, scorer=self._scorer, on_stored=report)
        try:
            # All in one chunk, so that beginnings are computed once.
            return score_through(
                run.store, run.model_key, wanted, computing, chunk=len(wanted), needs=needs
            )
        except GardenpathError:
            if run.store is not None and streams:
                run.store.put(run.model_key, computed)  # before it was stopped
            raise


def _stamp(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from one that replaced it; None if there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def beginnings_of(sentences: Iterable[Words]) -> list[Words]:
    """Return all beginnings of sentences, short ones first, and the sentences themselves."""
    beginnings = (words[:end] for words in sentences for end in range(1, len(words) + 1))
    return sorted(dict.fromkeys(beginnings), key=len)


class ModelShelf:
    """The models that can be chosen, by name; those used least recently are dropped from memory."""

    def __init__(self, settings: PlaygroundSettings) -> None:
        self._settings = settings
        self._models: OrderedDict[str, LoadedModel] = OrderedDict()
        self._used: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()
        runs = self._find(*settings.run)
        self.skipped = [skipped.reason for skipped in runs.skipped]
        order = models_in_order(run.name.model for run in runs)
        for run in sorted(runs, key=lambda run: order.index(run.name.model)):
            self._models[str(run.path)] = LoadedModel(run)

    def _find(self, *references: str) -> Runs:
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
        runs = self._find(reference)
        with self._lock:
            for run in runs:
                self._models.setdefault(str(run.path), LoadedModel(run))
        return [str(run.path) for run in runs]

    def used(self, name: str) -> LoadedModel:
        """Return a model that will be used now; too many others are dropped from memory."""
        models = self.models
        if name not in models:
            raise GardenpathError(f"{name}: is not among the models of this page; reload the page")
        limits = self._settings.limits
        dropped = []
        with self._lock:
            self._used[name] = None
            self._used.move_to_end(name)
            sizes = {used: models[used].weight_bytes for used in self._used}
            while len(sizes) > 1 and (
                len(sizes) > limits.loaded or sum(sizes.values()) > limits.loaded_gb * 1e9
            ):
                dropped.append(self._used.popitem(last=False)[0])
                del sizes[dropped[-1]]
        for other in dropped:
            models[other].drop()
        return models[name]


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
        "adopted": run.is_adopted,
        "measure": run.measure,
        "loaded": model.is_loaded,
        "notes": list(run.notes),
    }


# ----------------------------------------------------------------------------
# What a model says about sentences, as events: numbers as soon as they are known.


PageEvent = dict[str, Any]
Send = Callable[[PageEvent], None]

# Numbers of a search that the page shows for each word.
SHOWN_COLUMNS = ("entropy_bits", "entropy_reduction_bits", "best_share", "analyses", "surprisal_se")


def sentences_for(run: Run, texts: Sequence[str]) -> list[Sentence]:
    """Return the sentences, cleaned and divided into words like the model's corpus."""
    return sentences_of_given(list(texts), run.cleaning, style_of(run))


def seen_words(run: Run, texts: Sequence[str]) -> PageEvent:
    """Return the words of sentences, what the model sees for each, and whether it knows them."""
    sentences = sentences_for(run, texts)
    views = [run.model.seen_as(sentence.words) for sentence in sentences]
    unknown = unknown_words(run, [sentence.words for sentence in sentences])
    return {
        "words": [list(sentence.words) for sentence in sentences],
        "seen_as": [list(view) for view in views],
        "seen": [list(map(is_seen, view)) for view in views],
        "unknown": unknown.unknown,
        "warning": f"{unknown}" if unknown.is_large else "",
    }


def send_scores(model: LoadedModel, texts: Sequence[str], *, send: Send, check: KeepGoing) -> None:
    """Score sentences with a model, and send what is known of each word, then all of it."""
    run = model.run
    sentences = sentences_for(run, texts)
    words = [sentence.words for sentence in sentences]

    def on_stored(beginning: Words, stored: Stored) -> None:
        """Send the last word of a beginning, for each sentence that begins so."""
        place = len(beginning) - 1
        values = {name: stored.columns[name] for name in SHOWN_COLUMNS if name in stored.columns}
        for variant, own in enumerate(words):
            if own[: place + 1] == beginning:
                send(
                    {
                        "type": "word",
                        "variant": variant,
                        "word": place,
                        "bits": number(bits(stored.log_probs[place])),
                        "columns": {name: finite(column[place]) for name, column in values.items()},
                        "parses": list(stored.parses[place]) if stored.parses else [],
                    }
                )

    scored = model.scored(words, on_stored=on_stored, check=check)
    send(_result(run, sentences, scored))


def _result(run: Run, sentences: Sequence[Sentence], scored: Mapping[Words, Stored]) -> PageEvent:
    """Return everything about all sentences, as task=surprisal writes it."""
    rows, header = rows_and_header(run, sentences, scored, end=True)
    variants = []
    for place, sentence in enumerate(sentences, start=1):
        cells = [
            {
                "word": row.word,
                "seen_as": row.seen_as,
                "seen": row.seen,
                "bits": number(row.surprisal_bits),
                "columns": {name: finite(value) for name, value in row.columns.items()},
            }
            for row in rows
            if row.sentence_id == place
        ]
        parses = scored[sentence.words].parses or ()
        variants.append({"cells": cells, "parses": [list(p) for p in parses]})
    return {
        "type": "result",
        "run": run.name.run,
        "variants": variants,
        "failures": [f"{failure.place}: {failure}" for failure in header.failures],
        "search": {"kind": header.search, **header.settings},
    }


def number(value: float) -> float | None:
    """Return a surprisal for the page, which has no NaN (null) and no infinity (negative)."""
    return -1.0 if math.isinf(value) else finite(value)


def finite(value: float) -> float | None:
    """Return a number that may be negative for the page, which has neither NaN nor infinity."""
    return float(value) if math.isfinite(value) else None


# ----------------------------------------------------------------------------
# Sentences to start from, and which of them the chosen models know.


EXAMPLES = Path(__file__).with_name("assets") / "examples.yaml"

# The rank of examples in other languages, after those with unknown words.
_LAST = 1_000


@dataclass(frozen=True, kw_only=True)
class Example:
    """Two variants of a sentence, and what to look at."""

    title: str
    language: str
    first: str
    second: str
    note: str


@functools.cache
def all_examples() -> tuple[Example, ...]:
    """Return the examples in order, garden paths first."""
    content: Sequence[Mapping[str, str]] = parse_yaml(EXAMPLES.read_text(encoding="utf-8"))
    return tuple(Example(**entry) for entry in content)


def examples_for(runs: Iterable[Run]) -> list[dict[str, Any]]:
    """Return all examples; those whose words all models know, in their language, come first.

    ``unknown`` is the largest number of words that a model does not know; None: other language.
    """
    runs = list(runs)
    shown = [{**asdict(example), "unknown": _unknown(example, runs)} for example in all_examples()]
    return sorted(shown, key=lambda row: _LAST if row["unknown"] is None else row["unknown"])


def _unknown(example: Example, runs: Sequence[Run]) -> int | None:
    if any(run.language not in (None, example.language) for run in runs):
        return None
    counts = [0]
    for run in runs:
        # A model that reads text knows all of it; its tokeniser need not be loaded yet.
        if not run.model.units.reads_text:
            # What is wrong with a model, it tells itself when it is asked.
            with contextlib.suppress(GardenpathError):
                sentences = sentences_for(run, (example.first, example.second))
                counts.append(
                    unknown_words(run, [sentence.words for sentence in sentences]).unknown
                )
    return max(counts)
