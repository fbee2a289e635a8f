"""Tables of surprisals of any form, as the family ``table`` adopts them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from gardenpath.data.surprisal_forms import SurprisalForm
from gardenpath.data.words.boundaries import Boundary
from gardenpath.data.words.vocabulary import END
from gardenpath.errors import InputError
from gardenpath.eval.published.forms.recognition import form_of
from gardenpath.eval.published.forms.scored_words import read_scored_words
from gardenpath.eval.published.headers.stated_runs import stated_runs
from gardenpath.eval.published.import_settings import PairingRules
from gardenpath.eval.surprisal.inputs import read_sentences
from gardenpath.eval.surprisal.surprisal_rows import RunHeader, SurprisalRow
from gardenpath.eval.surprisal.surprisal_table import read_surprisals
from gardenpath.models.family import AdoptedSettings
from gardenpath.models.tabled.table_settings import TableModel, TableSettings
from gardenpath.models.tabled.word_table import (
    TableOrigin,
    WordTable,
    is_word_table,
    write_word_table,
)
from gardenpath.store.files import read_text, sha256_of
from gardenpath.store.headers.side_cars import side_car
from gardenpath.store.tables import WORD_SURPRISALS
from gardenpath.text import Words
from gardenpath.units import nats

_OWN_HEADER = "# unit: bits\n"
_NORMALISED = "normalised.jsonl"

# Surprisals (bits) of a sentence that occurs twice may differ by this much.
_SAME_BITS = 1e-3


def adoptable_source(settings: AdoptedSettings, source: str, folder: Path) -> str:
    """Return what a family adopts: for tables, a file of log probabilities of words in ``folder``.

    Sources of other families are returned as they are.
    """
    if not isinstance(settings, TableModel) or is_word_table(Path(source)):
        return source
    path = folder / _NORMALISED
    write_word_table(path, normalised_table(Path(source), settings.network))
    return str(path)


def normalised_table(source: Path, reading: TableSettings) -> WordTable:
    """Read a table of surprisals of any form as log probabilities of words."""
    if not source.is_file():
        raise InputError("is not a file of surprisals", path=source)
    if reading.form in ("auto", "table") and _is_own(source):
        return _own_table(source, reading)
    return _foreign_table(source, reading, form_of(source, reading.form))


def _is_own(path: Path) -> bool:
    """Whether ``task=surprisal`` wrote a table, which then has a header."""
    if path.suffix.lower() in (".jsonl", ".csv", ".parquet"):
        return side_car(path).is_file()
    # LM Zoo's form has a header beside it, too; older tables have comments.
    beginnings = (_OWN_HEADER, "\t".join(WORD_SURPRISALS.names))
    return path.suffix.lower() == ".tsv" and read_text(path).startswith(beginnings)


def _own_table(path: Path, reading: TableSettings) -> WordTable:
    rows, header = read_surprisals(path)
    if reading.unit not in (None, "bits"):
        raise InputError(f"unit={reading.unit}, but its header says bits", path=path)
    run = _chosen_run(header.runs, reading.run, path)
    _require_boundary(run.boundary, reading.boundary, path)
    sentences: dict[int, list[SurprisalRow]] = {}
    for row in rows:
        if row.run == run.run:
            sentences.setdefault(row.sentence_id, []).append(row)
    found: dict[Words, tuple[float, ...]] = {}
    for number, own in sentences.items():
        if [row.word_id for row in own] != list(range(1, len(own) + 1)):
            raise InputError(f"sentence {number}: its words are not numbered from 1", path=path)
        has_end = header.end_of_sentence == "row"
        if has_end and own[-1].word != END:
            raise InputError(f"sentence {number}: no row {END} at its end", path=path)
        words = tuple(row.word for row in own[: len(own) - has_end])
        bits = [row.surprisal_bits for row in own] + [math.nan] * (not has_end)
        _add(found, words, bits, path)
    notes = [str(failure) for failure in run.failures]
    return WordTable(origin=_source_origin(path, "table", "bits", run.boundary, notes), sentences=found)


def _chosen_run(runs: Sequence[RunHeader], wanted: str | None, path: Path) -> RunHeader:
    found = [run for run in runs if wanted in (None, run.run)]
    if len(found) != 1:
        names = ", ".join(run.run for run in runs[:3])
        raise InputError(
            f"has {len(runs)} runs: {names}",
            path=path,
            remedy="choose one, as in model.network.run=NAME",
        )
    return found[0]


def _foreign_table(path: Path, reading: TableSettings, form: SurprisalForm) -> WordTable:
    asked = None
    if reading.sentences is not None:
        asked = [one.words for one in read_sentences(Path(reading.sentences), cleaning=None)]
    rules = PairingRules(unit=reading.unit, prefixes=reading.prefixes)
    scored = read_scored_words(path, form, rules, sentences=asked, run=reading.run)
    found: dict[Words, tuple[float, ...]] = {}
    for one in scored.sentences:
        _add(found, one.tokens, [*one.values, math.nan], path)
    run = next(iter(stated_runs(path).values()), None)
    stated = None if run is None else run.boundary
    boundary = reading.boundary or stated or ("none" if scored.has_pieces else None)
    if stated is not None:
        _require_boundary(stated, reading.boundary, path)
    return WordTable(
        origin=_source_origin(path, form, scored.unit, boundary, scored.notes), sentences=found
    )


def _require_boundary(stated: str | None, given: Boundary | None, path: Path) -> None:
    if given is not None and given != stated:
        problem = f"boundary={given}, but its header says {stated or 'that its units are words'}"
        raise InputError(problem, path=path)


def _add(
    found: dict[Words, tuple[float, ...]], words: Words, bits: Sequence[float], path: Path
) -> None:
    """Add a sentence; one that is there already must have the same numbers."""
    log_probs = tuple(nats(value) for value in bits)
    before = found.setdefault(words, log_probs)
    if not all(map(_is_same, before, log_probs)):
        raise InputError(
            f"{' '.join(words)!r} occurs twice, with different numbers",
            path=path,
            remedy="give every sentence once",
        )


def _is_same(one: float, other: float) -> bool:
    both_undefined = math.isnan(one) and math.isnan(other)
    return both_undefined or math.isclose(one, other, rel_tol=_SAME_BITS, abs_tol=_SAME_BITS)


def _source_origin(
    path: Path, form: str, unit: str, boundary: str | None, notes: Sequence[str]
) -> TableOrigin:
    return TableOrigin(
        source=path.name,
        sha256=sha256_of(path),
        form=form,
        unit=unit,
        boundary=cast("Boundary | None", boundary),
        notes=tuple(notes),
    )
