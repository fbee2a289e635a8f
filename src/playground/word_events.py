"""What a model says about sentences, as events: numbers as soon as they are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gardenpath.data.sentence import Sentence
from gardenpath.eval.surprisal.surprisal_rows import SurprisalRow, is_seen
from gardenpath.playground.loaded_models import KeepGoing, LoadedModel
from gardenpath.runs.given import sentences_of_given
from gardenpath.runs.input.writing import style_of
from gardenpath.runs.known_words import unknown_words
from gardenpath.runs.run import Run
from gardenpath.runs.surprisals import rows_and_header
from gardenpath.store.surprisal_store import Stored
from gardenpath.text import Words
from gardenpath.units import bits

PageEvent = dict[str, Any]
Send = Callable[[PageEvent], None]

# Numbers of a search that the page shows for each word.
SHOWN_COLUMNS = ("entropy_bits", "entropy_reduction_bits", "best_share", "analyses", "surprisal_se")


def sentences_for(run: Run, texts: Sequence[str]) -> list[Sentence]:
    """Return the sentences, cleaned and divided into words like the model's corpus."""
    return sentences_of_given(list(texts), run.settings.data.cleaning, style_of(run))


def seen_words(run: Run, texts: Sequence[str]) -> PageEvent:
    """Return the words of sentences, what the model sees for each, and whether it knows them."""
    sentences = sentences_for(run, texts)
    views = [run.seen_as(one.words) for one in sentences]
    unknown = unknown_words(run, [one.words for one in sentences])
    return {
        "words": [list(one.words) for one in sentences],
        "seen_as": [list(view) for view in views],
        "seen": [[is_seen(one) for one in view] for view in views],
        "unknown": unknown.unknown,
        "warning": f"{unknown}" if unknown.is_large else "",
    }


def send_scores(model: LoadedModel, texts: Sequence[str], *, send: Send, check: KeepGoing) -> None:
    """Score sentences with a model, and send what is known of each word, then all of it."""
    run = model.run
    sentences = sentences_for(run, texts)
    words = [one.words for one in sentences]

    def on_stored(beginning: Words, stored: Stored) -> None:
        for event in _word_events(words, beginning, stored):
            send(event)

    scored = model.scored(words, on_stored=on_stored, check=check)
    send(_result(run, sentences, scored))


def _word_events(
    sentences: Sequence[Words], beginning: Words, stored: Stored
) -> Iterator[PageEvent]:
    """Yield the last word of a beginning, for each sentence that begins so."""
    place = len(beginning) - 1
    for variant, words in enumerate(sentences):
        if words[: place + 1] == beginning:
            yield {
                "type": "word",
                "variant": variant,
                "word": place,
                "bits": number(bits(stored.log_probs[place])),
                "columns": {
                    name: finite(stored.columns[name][place])
                    for name in SHOWN_COLUMNS
                    if name in stored.columns
                },
                "parses": list(stored.parses[place]) if stored.parses else [],
            }


def _result(run: Run, sentences: Sequence[Sentence], scored: Mapping[Words, Stored]) -> PageEvent:
    """Return everything about all sentences, as task=surprisal writes it."""
    rows, header = rows_and_header(run, sentences, scored, end=True)
    variants = []
    for place, sentence in enumerate(sentences, start=1):
        own = [row for row in rows if row.sentence_id == place]
        parses = scored[sentence.words].parses or ()
        variants.append({"cells": [_cell(row) for row in own], "parses": [list(p) for p in parses]})
    return {
        "type": "result",
        "run": run.name.run,
        "variants": variants,
        "failures": [f"{one.place}: {one}" for one in header.failures],
        "search": {"kind": header.search, **header.settings},
    }


def _cell(row: SurprisalRow) -> PageEvent:
    return {
        "word": row.word,
        "seen_as": row.seen_as,
        "seen": row.seen,
        "bits": number(row.surprisal_bits),
        "columns": {name: finite(value) for name, value in row.columns.items()},
    }


def number(value: float) -> float | None:
    """Return a surprisal for the page, which has no NaN (null) and no infinity (negative)."""
    return -1.0 if math.isinf(value) else finite(value)


def finite(value: float) -> float | None:
    """Return a number that may be negative for the page, which has neither NaN nor infinity."""
    return float(value) if math.isfinite(value) else None
