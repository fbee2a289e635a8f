"""Settings of models of which only a table of surprisals is here."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast, get_args

from gardenpath.data.readers.base import SurprisalForm, Unit
from gardenpath.data.words.pieces import Boundary, BoundaryChoice
from gardenpath.data.words.vocabulary import END
from gardenpath.errors import GardenpathError, InputError
from gardenpath.eval.published.files import PairingRules, stated_runs
from gardenpath.eval.published.forms import form_of
from gardenpath.eval.published.tables import read_scored_words
from gardenpath.eval.surprisal.inputs import read_sentences
from gardenpath.eval.surprisal.tables import RunHeader, SurprisalRow, read_surprisals
from gardenpath.models.family import AdoptedFamily, AdoptedModel, AdoptedSettings, ModelSettings
from gardenpath.safe_text import MalformedTextError, parse_json
from gardenpath.store.files import read_text, sha256_of, whole_file
from gardenpath.store.manifest import side_car
from gardenpath.store.tables import WORD_SURPRISALS
from gardenpath.util import Words, nats

if TYPE_CHECKING:
    from gardenpath.data.arrays import Floats


@dataclass(frozen=True, kw_only=True)
class TableSettings:
    """How the file of surprisals is read."""

    form: SurprisalForm = "auto"
    """Form of the file; auto recognises it by its content."""
    unit: Unit | None = None
    """Unit of the numbers, where the file does not say it."""
    boundary: Boundary | None = None
    """How words were made of pieces; null if the units of the model are words. Tables of Gardenpath
    say it, and numbers of pieces are added up (none) unless they were corrected."""
    sentences: str | None = None
    """File with the sentences that were scored, one per line, words separated by blanks; needed
    where tokens do not show where words begin."""
    run: str | None = None
    """Run to take from a table of several."""
    prefixes: bool = True
    """Whether equal beginnings of sentences must have equal surprisals, as left-to-right models
    give."""


@dataclass(frozen=True, kw_only=True)
class TableModel(AdoptedSettings):
    """A model of which only a table of surprisals is here."""

    family: Literal["table"] = "table"
    """Model family."""
    network: TableSettings = TableSettings()
    """How the file of surprisals is read."""


# ----------------------------------------------------------------------------
# The file of a table in a run folder: log probabilities of the words of sentences.
#
# JSON Lines: first an object that says where the numbers come from, then one object per sentence
# with its ``words`` and its ``log_probs`` in nats, those of the words and that of the end of the
# sentence. NaN is null, and a probability of zero is ``"-Infinity"``.


_KIND = "word_table"
_FORMAT = 1
_INFINITE = "-Infinity"

# By how many nats a log probability may lie above zero: a beam search may find more of the
# probability of a longer beginning.
_LARGEST_LOG_PROB = 50.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOrigin:
    """Where the numbers of a table come from.

    ``source`` is the path of the file, ``sha256`` its checksum; ``form`` and ``unit`` are those of
    the file. ``boundary`` is None if the units are words. ``notes`` are for readers of the results.
    """

    source: str
    sha256: str
    form: str
    unit: str
    boundary: Boundary | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WordTable:
    """Log probabilities (nats) of the words of sentences and, last, of their ends; NaN if none."""

    origin: TableOrigin
    sentences: Mapping[Words, tuple[float, ...]] = field(default_factory=dict)


def write_word_table(path: Path, table: WordTable) -> None:
    """Write a table, whole or not at all."""
    header = {"kind": _KIND, "format": _FORMAT, **asdict(table.origin)}
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.write(_line(header))
        for words, log_probs in table.sentences.items():
            file.write(_line({"words": words, "log_probs": [_written(prob) for prob in log_probs]}))


def _line(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"


def _written(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    return _INFINITE if value == -math.inf else value


def is_word_table(path: Path) -> bool:
    """Whether a file is one that :func:`write_word_table` wrote, by its first line."""
    try:
        with path.open(encoding="utf-8") as file:
            first = parse_json(file.readline(100_000))
    except (OSError, ValueError):
        return False
    return isinstance(first, dict) and first.get("kind") == _KIND


def read_word_table(path: Path) -> WordTable:
    """Read a table; sentences that occur twice and numbers that are no log probabilities fail."""
    documents = _documents(path)
    _, header = next(documents, (1, None))
    origin = _sentence_origin(header, path)
    sentences: dict[Words, tuple[float, ...]] = {}
    for line, content in documents:
        words, log_probs = _sentence(content, path, line)
        if words in sentences:
            raise InputError(f"{' '.join(words)!r} occurs twice", path=path, line=line)
        sentences[words] = log_probs
    return WordTable(origin=origin, sentences=sentences)


def _documents(path: Path) -> Iterator[tuple[int, Any]]:
    for line, text in enumerate(read_text(path).split("\n"), start=1):
        if text.strip():
            try:
                yield line, parse_json(text)
            except MalformedTextError as error:
                raise InputError(error.problem, path=path, line=line) from error


def _sentence_origin(header: Any, path: Path) -> TableOrigin:
    remedy = "adopt it with task=adopt model=table"
    if not isinstance(header, dict) or (header.get("kind"), header.get("format")) != (
        _KIND,
        _FORMAT,
    ):
        problem = "is not a table of log probabilities of words"
        raise InputError(problem, path=path, line=1, remedy=remedy)
    texts = [header.get(key) for key in ("source", "sha256", "form", "unit")]
    boundary, notes = header.get("boundary"), header.get("notes")
    if (
        not all(isinstance(text, str) for text in texts)
        or boundary not in (None, *get_args(Boundary))
        or not isinstance(notes, list)
        or not all(isinstance(note, str) for note in notes)
    ):
        raise InputError("its first line is not complete", path=path, line=1, remedy=remedy)
    source, sha256, form, unit = map(str, texts)
    return TableOrigin(
        source=source,
        sha256=sha256,
        form=form,
        unit=unit,
        boundary=cast("Boundary | None", boundary),
        notes=tuple(notes),
    )


def _sentence(content: Any, path: Path, line: int) -> tuple[Words, tuple[float, ...]]:
    if not isinstance(content, dict) or set(content) != {"words", "log_probs"}:
        raise InputError("is not an object with words and log_probs", path=path, line=line)
    words, values = content["words"], content["log_probs"]
    if not isinstance(words, list) or not words or not all(map(_is_word, words)):
        raise InputError("words are not a list of words", path=path, line=line)
    if not isinstance(values, list) or len(values) != len(words) + 1:
        problem = f"log_probs are not {len(words) + 1} numbers, of the words and of the end"
        raise InputError(problem, path=path, line=line)
    return tuple(words), tuple(_read(value, path, line) for value in values)


def _is_word(word: object) -> bool:
    return isinstance(word, str) and word != "" and not any(char.isspace() for char in word)


def _read(value: Any, path: Path, line: int) -> float:
    if value is None:
        return math.nan
    if value == _INFINITE:
        return -math.inf
    if type(value) not in (int, float) or not -math.inf < value <= _LARGEST_LOG_PROB:
        raise InputError(f"{str(value)[:50]} is not a log probability", path=path, line=line)
    return float(value)


# ----------------------------------------------------------------------------
# The family of models of which only a table of surprisals is here.


TABLE_FILE = "surprisals.jsonl"

# Number of missing sentences that a message names.
_SHOWN = 3


class TableFamily(AdoptedFamily):
    """Looks the sentences of suites up in a table."""

    settings: ClassVar[type[ModelSettings]] = TableModel

    def adopt(self, settings: TableModel, source: str, folder: Path) -> AdoptedSettings:
        """Copy a table of log probabilities of words; other forms are converted."""
        path = Path(source)
        if is_word_table(path):
            table = read_word_table(path)
        else:
            table = normalised_table(path, settings.network)
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


# ----------------------------------------------------------------------------
# Tables of surprisals of any form, as the family ``table`` adopts them.


_NORMALISED = "normalised.jsonl"

# Surprisals (bits) of a sentence that occurs twice may differ by this much.
_SAME_BITS = 1e-3


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
    # LM Zoo's form has a header beside it, too.
    beginning = "\t".join(WORD_SURPRISALS.names)
    return path.suffix.lower() == ".tsv" and read_text(path).startswith(beginning)


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
    return WordTable(
        origin=_source_origin(path, "table", "bits", run.boundary, notes), sentences=found
    )


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
    for sentence in scored.sentences:
        _add(found, sentence.tokens, [*sentence.values, math.nan], path)
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
