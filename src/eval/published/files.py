"""What is read from a file of surprisals, and the readers of tables with one row per word.

Studies, the import of tables and adopted models read their files here; the readers of JSON
(``forms``) return the same sentences. Numbers stay in the unit of the file and tokens as they are
written: nothing is converted, compared or paired here. No reader may need numpy or torch, because
the settings of tasks are imported from this module.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, cast

from gardenpath.data.readers.base import SurprisalForm, Unit
from gardenpath.errors import InputError
from gardenpath.eval.suites.nodes import CsvTable, csv_rows, read_csv_table
from gardenpath.eval.suites.regions import is_edge
from gardenpath.settings.schema import NonNegativeInt, Share
from gardenpath.store.files import read_text
from gardenpath.store.manifest import read_side_car, side_car
from gardenpath.util import is_count

# Where the conditions of the published reflexive stimuli come from.
ConditionSource = Literal["sentences", "labels"]


@dataclass(frozen=True, slots=True)
class SurprisalSet:
    """One folder or file of surprisals.

    ``corpus`` is the training corpus of its models; if empty, the layout of the folder decides.
    """

    path: Path
    corpus: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingRules:
    """How strictly the sentences of a file of surprisals must equal those of the materials."""

    reworded: Share = 0.0
    """Largest share of sentences of a file in which one word outside the critical regions may
    differ from the materials."""
    misplaced: NonNegativeInt = 0
    """Largest number of sentences of a file that may equal another sentence of the same condition
    instead of their own."""
    prefixes: bool = True
    """Whether equal beginnings of sentences must have equal surprisals, as left-to-right models
    give; false for models with random search or with other sentences in their context."""
    words: bool = True
    """Whether files must contain the words; false accepts files of surprisals alone, which cannot
    be compared with the materials."""
    unit: Unit | None = None
    """Unit of the numbers, where neither the layout nor the header of a file says it."""


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """The tokens of a sentence, their values, and what the file says about it; empty if nothing.

    Values are in the unit of the file until ``checks.in_bits`` converts them; NaN where there is
    none. ``line`` is that of the first token. ``text`` is the sentence as the file has it beside
    the tokens. ``is_first_hidden``: the first token is not in the file; it is a mark for the
    beginning, or the beginning of the first word. ``unseen`` are the out-of-vocabulary words, and
    ``cells`` the columns by which suites select their rows.
    """

    tokens: tuple[str, ...]
    values: tuple[float, ...]
    line: int
    text: str = ""
    is_first_hidden: bool = False
    suite: str = ""
    item: str = ""
    condition: str = ""
    unseen: frozenset[str] = frozenset()
    cells: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedUnit:
    """The unit of a file and how it is known, such as ``the layout`` or ``unit=``."""

    unit: Unit
    source: str


def unit_or(stated: Unit | None, usual: Unit, source: str) -> StatedUnit:
    """Return the unit that the user states, or the usual one of a layout or form."""
    return (
        StatedUnit(unit=usual, source=source)
        if stated is None
        else StatedUnit(unit=stated, source="unit=")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRun:
    """The sentences of one run of a file, in order; names are empty if the file has none."""

    run: str = ""
    model: str = ""
    corpus: str = ""
    seed: str = ""
    sentences: list[ScoredSentence] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class SurprisalFile:
    """A file of surprisals.

    ``is_own``: whether it is a table of ours; ``has_words``: whether it contains the words;
    ``is_whole``: whether it has one number per sentence; ``is_by_text``: whether sentences are
    found by their text and not by their order.
    """

    path: Path
    form: SurprisalForm
    unit: StatedUnit
    runs: tuple[FileRun, ...]
    is_own: bool = False
    has_words: bool = True
    is_whole: bool = False
    is_by_text: bool = False

    @property
    def sentences(self) -> list[ScoredSentence]:
        """The sentences of all runs."""
        return [sentence for run in self.runs for sentence in run.sentences]


def without_edges(sentence: ScoredSentence) -> ScoredSentence:
    """Return the sentence without the tokens that mark its start and its end."""
    if not any(map(is_edge, sentence.tokens)):
        return sentence
    pairs = zip(sentence.tokens, sentence.values, strict=True)
    kept = [(token, value) for token, value in pairs if not is_edge(token)]
    return replace(
        sentence, tokens=tuple(token for token, _ in kept), values=tuple(value for _, value in kept)
    )


_NUMBER = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf(inity)?|nan", re.I
)


def check_folders(paths: Iterable[Path]) -> None:
    """Refuse paths that are not folders."""
    for path in paths:
        if not path.is_dir():
            raise InputError("is not a folder", path=path)


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text file without line endings."""
    text = read_text(path)
    # Not splitlines, which also splits at other characters that may occur in words.
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def read_tabs(path: Path, columns: Iterable[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line number and the columns of each row of a tab-separated table.

    Quotation marks are ordinary characters because they may be words.
    """
    header: list[str] = []
    for line, text in enumerate(read_lines(path), start=1):
        if not text.strip() or (not header and text.startswith("#")):
            continue
        fields = text.split("\t")
        if not header:
            header = fields
            if missing := [column for column in columns if column not in header]:
                problem = f"the header has no column {', '.join(missing)}"
                raise InputError(problem, path=path, line=line)
            continue
        if len(fields) != len(header):
            problem = f"{len(fields)} columns, but the header has {len(header)}"
            raise InputError(problem, path=path, line=line)
        yield line, dict(zip(header, fields, strict=True))
    if not header:
        raise InputError("the table is empty", path=path)


def read_cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the cells of each row of a table separated by commas."""
    yield from csv_rows(csv.reader(io.StringIO(read_text(path), newline="")), path)


def is_number(text: str) -> bool:
    """Whether a text is a number as programs write it; Python accepts more, such as ``1_0``."""
    return _NUMBER.fullmatch(text.strip()) is not None


def number_of(text: str, path: Path, line: int) -> float:
    """Return a surprisal as a number; an error names the line."""
    if is_number(text):
        return float(text.strip())
    remedy = "write decimal points, not commas" if is_number(text.replace(",", ".", 1)) else ""
    raise InputError(f"surprisal {text!r} is not a number", path=path, line=line, remedy=remedy)


# The forms of published layouts: SyntaxGym's table, with identifiers from 1, and two columns
# without a header, token and surprisal, in which ``<eos>`` ends a sentence.

TOKEN_COLUMNS = ("sentence_id", "token_id", "token", "surprisal")


def read_token_table(path: Path) -> list[ScoredSentence]:
    """Read SyntaxGym's table; sentences and tokens must be numbered from 1, without gaps."""
    groups: list[list[tuple[str, float, int]]] = []
    for line, row in read_tabs(path, TOKEN_COLUMNS):
        sentence, token_id, token, value = (row[column] for column in TOKEN_COLUMNS)
        if token_id == "1" or not groups:
            groups.append([])
        expected = (str(len(groups)), str(len(groups[-1]) + 1))
        if (sentence, token_id) != expected:
            raise InputError(
                f"sentence {sentence}, token {token_id} where sentence {expected[0]}, token "
                f"{expected[1]} is expected",
                path=path,
                line=line,
                remedy="sentence_id and token_id count from 1, without gaps",
            )
        groups[-1].append((token, number_of(value, path, line), line))
    return [_joined(group) for group in groups]


def _joined(rows: Sequence[tuple[str, float, int]]) -> ScoredSentence:
    tokens, values, lines = zip(*rows, strict=True)
    return ScoredSentence(tokens, values, lines[0])


def read_two_columns(path: Path, lengths: Sequence[int]) -> list[ScoredSentence]:
    """Read ``token surprisal`` lines, divided by :func:`sentence_spans`."""
    rows = []
    for line, text in enumerate(read_lines(path), start=1):
        if not text.strip():
            continue
        fields = text.split()
        if len(fields) != 2:
            raise InputError(f"{text!r} is not a token and its surprisal", path=path, line=line)
        rows.append((fields[0], number_of(fields[1], path, line), line))
    spans = sentence_spans([token for token, _, _ in rows], lengths, path)
    return [_joined(rows[start:end]) for start, end in spans]


def sentence_spans(
    tokens: Sequence[str], lengths: Sequence[int], path: Path
) -> list[tuple[int, int]]:
    """Divide the tokens of a file into sentences; return where each starts and ends.

    One or more edge tokens end a sentence. Without any, sentences have these ``lengths``, in words.
    """
    if any(map(is_edge, tokens)):
        runs = itertools.groupby(range(len(tokens)), key=lambda place: is_edge(tokens[place]))
        parts = [list(run) for is_mark, run in runs if not is_mark]
        return [(part[0], part[-1] + 1) for part in parts]
    if len(tokens) != sum(lengths):
        problem = f"has {len(tokens)} words, but the materials have {sum(lengths)}"
        remedy = "mark the ends of sentences by <eos>, or add a column sentence_id"
        raise InputError(problem, path=path, remedy=remedy)
    ends = itertools.accumulate(lengths)
    return [(end - length, end) for end, length in zip(ends, lengths, strict=True)]


def stated_unit(column: str, rules: PairingRules, path: Path) -> StatedUnit:
    """Return the unit from the name of the column or from the rules, which may not contradict."""
    name = column.lower()
    base = next((base for base in ("bits", "nats", "log10") if base in name), None)
    log_probs = ("log_prob", "logprob", "logp", "log_likelihood")
    is_log_prob = any(part in name for part in log_probs)
    if rules.unit is None:
        if base is None:
            raise InputError(
                f"the unit of {f'column {column!r}' if column else 'the numbers'} is not known",
                path=path,
                remedy="name it, as in unit=bits, nats, log10, log_prob_nats, log_prob_bits or "
                "log_prob_log10; form=lm_zoo means bits, and files in the layout of a study need "
                "materials=FOLDER",
            )
        unit = cast("Unit", f"log_prob_{base}" if is_log_prob else base)
        return StatedUnit(unit=unit, source=f"the column {column!r}")
    is_contrary = base is not None and not rules.unit.endswith(base)
    is_contrary |= is_log_prob != rules.unit.startswith("log_prob") and (
        is_log_prob or "surp" in name
    )
    if is_contrary:
        problem = f"unit={rules.unit} contradicts the name of the column {column!r}"
        raise InputError(problem, path=path)
    return StatedUnit(unit=rules.unit, source="unit=")


# Tables of other programs, separated by tabs, commas or semicolons, with a header, and files
# without one: two columns, token and surprisal, or one column of surprisals.

# Usual names of columns by what they hold (their role), the most specific first.
ROLES: Mapping[str, tuple[str, ...]] = {
    "word": ("word", "token", "tok", "form"),
    "surprisal": (
        *("surprisal_bits", "surprisal_nats", "surprisal", "surp", "surprisals"),
        *("log_prob", "logprob", "log_probability", "logp"),
    ),
    "sentence": ("sentence_id", "sent_id", "sentence_number", "sentence_no", "sentid"),
    "word_id": (
        *("word_id", "token_id", "word_number", "token_number", "word_index", "token_index"),
        *("position", "word_pos"),
    ),
    "suite": ("suite", "suite_name", "test_suite"),
    "item": ("item", "item_number", "item_id"),
    "condition": ("condition", "condition_name", "cond"),
    "variant": ("variant",),
    "run": ("run",),
    "model": ("model", "model_name"),
    "corpus": ("corpus", "training_corpus"),
    "seed": ("seed",),
    "seen": ("seen",),
}
_RUN_ROLES = ("run", "model", "corpus", "seed")

_SEEN = {"1": True, "0": False, "true": True, "false": False, "yes": True, "no": False}

_Rows = list[tuple[int, Mapping[str, str]]]


def read_words(
    path: Path, rules: PairingRules, columns: Mapping[str, str],
    usual: Mapping[str, str] | None = None, selecting: Sequence[str] = (),
) -> SurprisalFile:  # fmt: skip
    """Read a table of any of these forms; edge tokens are kept.

    ``columns`` maps roles to names of columns, which must be in the table; ``usual`` are further
    names, which need not be, nor need the columns ``selecting`` by which suites are told apart.
    """
    if unknown := [role for role in columns if role not in ROLES]:
        raise InputError(
            f"columns: {unknown[0]!r} is unknown", path=path, remedy=f"known: {', '.join(ROLES)}"
        )
    width = _width_without_header(path)
    if width and not columns:
        return _without_header(path, width, rules)
    table = read_csv_table(path)
    if lacking := [name for name in columns.values() if name not in table.header]:
        remedy = f"its columns: {', '.join(table.header)}"
        raise InputError(f"has no column {lacking[0]!r}", path=path, line=table.line, remedy=remedy)
    chosen = {k: name for k, name in (usual or {}).items() if name in table.header} | {**columns}
    named = {role: chosen.get(role) or table.column(names) for role, names in ROLES.items()}
    if named["surprisal"] is None:
        raise _lacks(table, "surprisal")
    if named["word"] is None and rules.words:
        raise _lacks(table, "word")
    # Materials may be selected by a column that names runs here, such as the rows of one model.
    runs_of = {named[role] for role in _RUN_ROLES}
    kept = [name for name in selecting if name in table.header and name not in runs_of]
    runs: dict[tuple[str, ...], FileRun] = {}
    for rows in _grouped(table, named, kept):
        run, model, corpus, seed = (_cell(rows[0][1], named[role]) for role in _RUN_ROLES)
        new = FileRun(run=run, model=model, corpus=corpus, seed=seed)
        sentences = runs.setdefault((run, model, corpus, seed), new).sentences
        sentences.append(_sentence(rows, named, kept, path))
    return SurprisalFile(
        path=path, form="table", unit=stated_unit(named["surprisal"], rules, path),
        is_own=named["surprisal"] == "surprisal_bits" and named["word"] == "word",
        has_words=named["word"] is not None, runs=tuple(runs.values()),
    )  # fmt: skip


def is_token_table(path: Path) -> bool:
    """Whether the header of a file has a column of surprisals, or the file needs none."""
    try:
        if _width_without_header(path):
            return True
        table = read_csv_table(path)
    except InputError:
        return False
    return table.column(ROLES["surprisal"]) is not None


def _lacks(table: CsvTable, role: str) -> InputError:
    remedy = (
        f"usual names are {', '.join(ROLES[role])}; name it, as in 'columns={{{role}: NAME}}'; "
        f"its columns: {', '.join(table.header)}"
    )
    if role == "word":
        remedy += "; words=false accepts tables without words"
    problem = f"the header has no column for the {role}"
    return InputError(problem, path=table.path, line=table.line, remedy=remedy)


def _cell(row: Mapping[str, str], column: str | None) -> str:
    return "" if column is None else row[column].strip()


def _grouped(
    table: CsvTable, named: Mapping[str, str | None], selecting: Sequence[str]
) -> Iterator[_Rows]:
    """Yield the rows of each sentence, which must be consecutive unless words are numbered."""
    whose = [*(named[role] for role in (*_RUN_ROLES, "suite")), *selecting]
    which = [named[role] for role in ("sentence", "item", "condition", "variant")]
    # Without numbers, the words of a sentence are told apart by edge tokens or by lengths.
    is_numbered = named["sentence"] is not None or named["item"] is not None
    keys = [name for name in (*whose, *(which if is_numbered else ())) if name is not None]
    is_single = named["sentence"] is not None or named["variant"] is not None
    number = named["word_id"]
    groups: dict[tuple[str, ...], _Rows] = {}
    for key, group in itertools.groupby(
        table.rows, key=lambda row: tuple(_cell(row[1], name) for name in keys)
    ):
        rows = list(group)
        if key in groups and number is None:
            shown = ", ".join(f"{name} {text}" for name, text in zip(keys, key, strict=True))
            problem = f"rows of one sentence ({shown}) are not together, or a sentence occurs twice"
            raise InputError(problem, path=table.path, line=rows[0][0])
        groups.setdefault(key, []).extend(rows)
    for rows in groups.values():
        # The variants of an item and condition count their words anew.
        first = _cell(rows[0][1], number)
        starts = [n for n, (_, row) in enumerate(rows) if number and _cell(row, number) == first]
        if is_single or not starts:
            starts = [0]
        for start, end in itertools.pairwise([*starts, len(rows)]):
            yield rows[start:end]


def _sentence(
    rows: _Rows, named: Mapping[str, str | None], kept: Sequence[str], path: Path
) -> ScoredSentence:
    _check_numbers(rows, named["word_id"], path)
    first = rows[0][1]
    tokens = tuple(_cell(row, named["word"]) for _, row in rows)
    values = []
    unseen = set()
    for token, (line, row) in zip(tokens, rows, strict=True):
        value = _cell(row, named["surprisal"])
        is_missing = value.lower() in ("", "na", "n/a", "nan", "none", "null")
        values.append(math.nan if is_missing else number_of(value, path, line))
        if named["seen"] is not None:
            seen = _cell(row, named["seen"])
            if seen.lower() not in _SEEN:
                raise InputError(f"seen is {seen!r}, not 1 or 0", path=path, line=line)
            unseen |= set() if _SEEN[seen.lower()] else {token}
    return ScoredSentence(
        tokens, tuple(values), rows[0][0], suite=_cell(first, named["suite"]),
        item=_cell(first, named["item"]), condition=_cell(first, named["condition"]),
        unseen=frozenset(unseen), cells={name: first[name] for name in kept},
    )  # fmt: skip


def _check_numbers(rows: _Rows, column: str | None, path: Path) -> None:
    if column is None:
        return
    numbers = [_cell(row, column) for _, row in rows]
    for (line, _), before, after in zip(rows[1:], numbers, numbers[1:], strict=False):
        if not (is_count(before) and is_count(after) and int(after) == int(before) + 1):
            problem = f"{column} is {after!r} after {before!r}"
            raise InputError(problem, path=path, line=line, remedy="words count one by one")


def _width_without_header(path: Path) -> int:
    """Return the number of columns (1 or 2) of a file without a header, else 0."""
    for text in read_lines(path):
        if text.strip() and not text.startswith("#"):
            fields = _fields(text)
            return len(fields) if len(fields) <= 2 and is_number(fields[-1]) else 0
    raise InputError("is empty", path=path)


def _fields(text: str) -> list[str]:
    """Divide a line without a header at spaces, else at its last comma or semicolon."""
    fields = text.split()
    if len(fields) > 1 or is_number(text):
        return fields
    token, separator, number = text.strip().rpartition(";" if ";" in text else ",")
    return [token.strip('"') or separator, number] if separator else fields


def _without_header(path: Path, width: int, rules: PairingRules) -> SurprisalFile:
    if width == 1 and rules.words:
        problem = "contains numbers without words, which cannot be compared with the suite"
        remedy = "add the words, or set words=false to accept the numbers in their order"
        raise InputError(problem, path=path, remedy=remedy)
    rows = []
    for line, text in enumerate(read_lines(path), start=1):
        if not text.strip() or text.startswith("#"):
            continue
        fields = _fields(text)
        if len(fields) != width:
            problem = f"{len(fields)} columns, but other lines have {width}"
            raise InputError(problem, path=path, line=line)
        rows.append((fields[0] if width == 2 else "", number_of(fields[-1], path, line), line))
    return SurprisalFile(
        path=path, form="table", unit=stated_unit("", rules, path), has_words=width == 2,
        runs=(FileRun(sentences=[_joined(rows)]),),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class StatedRun:
    """How words were made of pieces, and whether the surprisals come from a search."""

    boundary: str | None = None
    is_searched: bool = False


def stated_runs(path: Path) -> dict[str, StatedRun]:
    """Return what is stated of each run of a table; empty if the file has no header of ours."""
    runs = read_side_car(path).get("runs", ()) if side_car(path).is_file() else ()
    return {
        str(run["run"]): StatedRun(run.get("boundary"), run.get("search") not in ("none", None))
        for run in (runs if isinstance(runs, list) else ())
        if isinstance(run, Mapping) and "run" in run
    }
