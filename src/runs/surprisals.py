"""Surprisals of sentences as a table, with metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from gardenpath.data.sentence import Sentence
from gardenpath.data.surprisal_forms import TableColumns
from gardenpath.eval.search.sampling.above_tolerance import not_converged, tolerance_note
from gardenpath.eval.surprisal.surprisal_rows import (
    RunHeader,
    SurprisalRow,
    failures_of,
    rows_of,
)
from gardenpath.models.family import AdoptedFamily
from gardenpath.runs.known_words import unknown_words
from gardenpath.settings.check import plain
from gardenpath.store.surprisal_store import Stored
from gardenpath.store.tables import PLL_BITS, SEARCH_COLUMN_NAMES, SURPRISAL_BITS, SURPRISAL_SE
from gardenpath.text import Words
from gardenpath.versions import versions

if TYPE_CHECKING:
    from gardenpath.runs.run import Run

# Packages that the numbers may depend on.
_PACKAGES = ("torch", "numpy", "sentencepiece")


def surprisal_frame(
    run: Run, sentences: Sequence[Sentence], *, end: bool, columns: TableColumns = "all"
) -> pd.DataFrame:
    """Return one row per word; ``.attrs`` has the model, the search, the unit and the versions."""
    scored = run.scored([sentence.words for sentence in sentences])
    rows, header = rows_and_header(run, sentences, scored, end=end, columns=columns)
    frame = pd.DataFrame([_as_dict(row) for row in rows])
    if run.measure == "pll":
        frame = frame.rename(columns={SURPRISAL_BITS: PLL_BITS})
    frame.attrs.update(_attrs(run, header))
    frame.attrs["notes"] += unconverged_notes(run, [one.words for one in sentences], scored)
    frame.attrs["unknown"] = unknown_words(run, [one.words for one in sentences]).share
    return frame


def rows_and_header(
    run: Run,
    sentences: Sequence[Sentence],
    scored: Mapping[tuple[str, ...], Stored],
    *,
    end: bool,
    columns: TableColumns = "all",
    given: Sequence[Sequence[Mapping[str, str]]] = (),
) -> tuple[list[SurprisalRow], RunHeader]:
    """Return the rows of a run, and a description of how they were computed.

    ``given`` are further columns of the input, for each word and the end of each sentence.
    """
    words = [sentence.words for sentence in sentences]
    log_probs = [np.array(scored[one].log_probs) for one in words]
    remedies = {n: scored[one].remedy or "" for n, one in enumerate(words)}
    seen = [run.seen_as(one) for one in words]
    is_adopted = isinstance(run.family, AdoptedFamily)
    # Sequential models are not searched.
    search = plain(run.search) if run.is_syntactic else {"kind": "none"}
    header = RunHeader(
        run=run.name.run,
        model=run.name.model,
        vocabulary=run.vocabulary_hash,
        search=search.pop("kind"),
        settings=search,
        # Adopted models may leave values undefined, such as those of ends; no search has failed.
        failures=() if is_adopted else failures_of(sentences, log_probs, remedies),
        boundary=run.boundary,
    )
    found = [scored[one].columns for one in words] if columns == "all" else None
    rows = rows_of(run.name.run, words, log_probs, seen, columns=found, given=given, end=end)
    return rows, header


def unconverged_notes(
    run: Run, sentences: Sequence[Words], scored: Mapping[Words, Stored]
) -> list[str]:
    """Say for how many words and ends the standard error is above ``search.tolerance``."""
    tolerance = getattr(run.search, "tolerance", None) if run.is_syntactic else None
    if tolerance is None:
        return []
    errors = [scored[words].columns.get(SURPRISAL_SE, ()) for words in dict.fromkeys(sentences)]
    above = [not_converged(one, None, tolerance) for one in errors]
    of = f"{sum(map(len, errors))} words and ends"
    note = tolerance_note(run.name.run, above, of, tolerance)
    return [] if note is None else [note]


def stacked(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate the tables of several runs; ``.attrs["runs"]`` has the metadata of each."""
    attrs = [dict(frame.attrs) for frame in frames]
    for frame in frames:
        frame.attrs.clear()  # pandas keeps them only if they are equal
    table = pd.concat(frames, ignore_index=True)
    further = [name for name in SEARCH_COLUMN_NAMES if name in table.columns]
    table = table[[*(name for name in table.columns if name not in further), *further]]
    table.attrs.update({"unit": "bits", "runs": attrs})
    return table


def _as_dict(row: SurprisalRow) -> dict[str, Any]:
    content = asdict(row)
    bits, columns = content.pop("surprisal_bits"), content.pop("columns")
    return {**content.pop("given"), **content, "seen": row.seen, "surprisal_bits": bits, **columns}


def _attrs(run: Run, header: RunHeader) -> dict[str, Any]:
    name = run.name
    return {
        "run": name.run,
        "model": name.model,
        "corpus": name.corpus,
        "seed": name.seed,
        "unit": "bits",
        "measure": run.measure,
        "boundary": run.boundary,
        "notes": list(run.notes),
        "search": {"kind": header.search, **header.settings},
        "vocabulary": header.vocabulary,
        "failures": [str(one) for one in header.failures],
        "versions": versions(*_PACKAGES),
    }
