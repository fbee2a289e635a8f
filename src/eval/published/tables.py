"""Imports of files of surprisals in any form: for suites, and for models that are adopted.

``task=rescore`` and studies call :func:`import_tables`. A folder contains a folder for every run,
with a table per suite (``<suite>.tsv``; slashes in the name may be folders or underscores), or one
table for all suites. A single table may also hold many runs and suites, in columns such as ``run``,
``model`` and ``suite``. The family ``table`` of adopted models calls :func:`read_scored_words`.
Checks of numbers and pairing with suites are left to ``checks`` and ``importing``: no number gets
past them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from gardenpath.data.readers.base import SurprisalForm
from gardenpath.errors import InputError
from gardenpath.eval.published.checks import RunBeginnings, check_beginnings, checked_in_bits
from gardenpath.eval.published.files import (
    FileRun,
    PairingRules,
    ScoredSentence,
    SurprisalFile,
    SurprisalSet,
    sentence_spans,
    stated_runs,
)
from gardenpath.eval.published.forms import form_of, may_have_form, read_file
from gardenpath.eval.published.importing import FileForm, Imported, Importing, run_name
from gardenpath.eval.published.pairing import Materials, in_file_order
from gardenpath.eval.published.words import (
    find_sentences,
    merged_words,
    readable_sentences,
    words_by_marks,
)
from gardenpath.eval.suites.formula import WHOLE_SENTENCE
from gardenpath.eval.suites.suite import Suite
from gardenpath.eval.suites.summary import RunName
from gardenpath.eval.suites.tables import TABLE_META
from gardenpath.store.manifest import SIDE_CAR
from gardenpath.util import Words, is_count, plural

_TABLES = (".tsv", ".csv", ".txt")
_SUFFIXES = (*_TABLES, ".json", ".jsonl")


def import_tables(
    suites: Sequence[Suite], sets: Sequence[SurprisalSet], rules: PairingRules, *,
    columns: Mapping[str, str] | None = None, form: SurprisalForm = "auto",
) -> Imported:  # fmt: skip
    """Import surprisals of the sentences of suites from tables (see the module).

    ``columns`` maps roles (``word``, ``surprisal``, …) to names of columns. Sentences are found by
    the columns item and condition, else by their order.
    """
    importing = Importing("tables", rules)
    for suite in suites:
        importing.used(Path(suite.name), [suite], "suite")
    # What the descriptions of tables say about columns holds for surprisals in these tables, too.
    usual = {k: v for suite in suites for k, v in _table(suite).get("columns", {}).items()}
    selecting = list(dict.fromkeys(name for suite in suites for name in _selected(suite)))
    for source in sets:
        for path, place, own in _files(source.path, suites, bool(columns), form, importing):
            file = read_file(path, form_of(path, form), rules, columns, usual, selecting)
            stated = stated_runs(path)
            if file.form == "lm_eval" and place != source.path:
                # Samples of one model are several files in its folder.
                place = place.parent
            for run in file.runs:
                name = _name(run, path, place, source)
                header = stated.get(run.run)
                if file.form != "table":  # of other forms, ours have a single run
                    header = next(iter(stated.values()), None)
                importing.state(name, header, path)
                find = _by_text if file.is_by_text else _in_order
                for materials, scored, pairing in find(own, run.sentences, file, importing):
                    if not file.has_words:
                        pairing += ", without words"
                    how = FileForm(
                        pairing=pairing, unit=file.unit, is_own=file.is_own, is_published=False
                    )
                    importing.add(name, materials, scored, path, how)
    example = f"{_file_name(suites[0])}.tsv" if suites else "a table"
    return importing.finish(sets, f"a table with rows, or tables such as {example}")


def _files(
    root: Path, suites: Sequence[Suite], has_columns: bool, form: SurprisalForm,
    importing: Importing,
) -> list[tuple[Path, Path, Sequence[Suite]]]:  # fmt: skip
    """Return the tables, each with the folder that names its run, and the suites it may have.

    In a folder without tables that are named after suites, every table of words is a run.
    """
    if root.is_file():
        return [(root, root, suites)]
    if not root.is_dir():
        raise InputError("is not a folder or a table", path=root)
    files: list[tuple[Path, Path, Sequence[Suite]]] = []
    for folder in [root, *sorted(path for path in root.rglob("*") if path.is_dir())]:
        for suite in suites:
            names = (suite.name, _file_name(suite))
            paths = [folder / f"{name}{suffix}" for name in names for suffix in _SUFFIXES]
            if path := next(filter(Path.is_file, paths), None):
                files.append((path, folder, [suite]))
    tables = sorted(
        path
        for path in root.rglob("*")
        if path.suffix in _SUFFIXES and not path.name.endswith(SIDE_CAR)
    )
    if not files:
        files = [
            (path, path, suites)
            for path in tables
            if may_have_form(path, form) or (has_columns and path.suffix in _TABLES)
        ]
    used = {path for path, _, _ in files}
    importing.left_out += [str(path) for path in tables if path not in used]
    return files


def _name(run: FileRun, path: Path, place: Path, source: SurprisalSet) -> RunName:
    if run.run:
        name = run_name(source.path / run.run.lstrip("/"), source.path)
    elif place.is_file():
        name = run_name(place.parent / place.stem, place.parent)
    else:
        name = run_name(place, source.path)
    if run.model:
        parts = [run.model, *([f"seed{run.seed}"] if run.seed else [])]
        name = replace(name, model=run.model, run=run.run or "/".join(parts))
    if run.seed:
        if not is_count(run.seed):
            raise InputError(f"seed {run.seed[:50]!r} is not a whole number", path=path)
        name = replace(name, seed=int(run.seed))
    return replace(name, corpus=source.corpus or run.corpus)


def _table(suite: Suite) -> Mapping[str, Any]:
    table = suite.meta.get(TABLE_META, {})
    return table if isinstance(table, Mapping) else {}


def _selected(suite: Suite) -> Mapping[str, str]:
    return cast("Mapping[str, str]", _table(suite).get("only", {}))


def _file_name(suite: Suite) -> str:
    return suite.name.replace("/", "_")


def _materials(suite: Suite) -> Materials:
    """Return the suite in the order of its file: that of its items, or of the rows of its table."""
    lines = _table(suite).get("lines", ())
    count = sum(len(item.variants) for item in suite.items)
    if len(lines) != count:
        return in_file_order(Path(suite.name), suite)
    ordered = sorted(lines)
    places = tuple(ordered.index(line) for line in lines)
    return Materials(Path(_table(suite)["path"]), suite, places, tuple(ordered))


# The sentences of a run for each suite: by their text, by item and condition, or by their order.

_BySuite = Iterator[tuple[Materials, list[ScoredSentence], str]]


def _by_text(
    suites: Sequence[Suite],
    sentences: Sequence[ScoredSentence],
    file: SurprisalFile,
    importing: Importing,
) -> _BySuite:
    if file.is_whole:
        suites = [_whole_sentences(suite, file.path) for suite in suites]
    materials = [in_file_order(Path(suite.name), suite) for suite in suites]
    wanted = [[variant.words for _, variant in own.located] for own in materials]
    by_text = find_sentences(sentences, list(itertools.chain(*wanted)), file.path)
    for own, texts in zip(materials, wanted, strict=True):
        rows = [by_text.of(words) for words in texts]
        scored = [row for row in rows if row is not None]
        if scored and len(scored) < len(rows):
            missing = texts[rows.index(None)]
            raise InputError(
                f"has no numbers for {len(rows) - len(scored)} of {len(rows)} sentences of suite "
                f"{own.suite.name}, such as {' '.join(missing)!r}",
                path=file.path,
                remedy="score all sentences of the suite, as it writes them",
            )
        if scored:
            yield own, scored, "text of sentences"
    if file.is_whole:
        importing.notes.append(f"{file.path}: numbers are of whole sentences, not of words")
    if by_text.others:
        note = f"{file.path}: {plural(by_text.others, 'sentence')} of other suites"
        importing.left_out.append(note)


def _whole_sentences(suite: Suite, path: Path) -> Suite:
    """Return a suite in which every sentence is one unit; it must compare whole sentences only."""
    terms = [term for prediction in suite.predictions for term in prediction.formula.terms]
    if len(suite.regions) > 1 and any(term.region != WHOLE_SENTENCE for term in terms):
        problem = f"has one number per sentence, but suite {suite.name} compares regions"
        raise InputError(problem, path=path, remedy="give the surprisals of words")
    _require_sums(suite, path)
    others = [()] * (len(suite.regions) - 1)
    items = tuple(
        replace(
            item,
            variants=tuple(
                replace(variant, regions=((suite.text(variant),), *others))
                for variant in item.variants
            ),
        )
        for item in suite.items
    )
    return replace(suite, items=items)


def _require_sums(suite: Suite, path: Path) -> None:
    if suite.metric != "sum" or suite.normalised:
        raise InputError(
            f"has sums over regions, but suite {suite.name} compares "
            f"{'values per word' if suite.normalised else suite.metric}",
            path=path,
            remedy="give the surprisals of words",
        )


def _in_order(
    suites: Sequence[Suite],
    sentences: Sequence[ScoredSentence],
    file: SurprisalFile,
    importing: Importing,
) -> _BySuite:
    if file.form == "syntaxgym":
        for suite in suites:
            _require_sums(suite, file.path)
    if file.form != "table":
        names = _numbered_conditions(suites)
        sentences = [
            replace(sentence, condition=names.get(sentence.condition, sentence.condition))
            for sentence in sentences
        ]
    for suite, own, pairing in _by_suite(suites, sentences, file.path, importing):
        materials = _materials(suite)
        if _has_keys(own):
            own = _by_key(suite, materials, own, file.path)
        elif len(own) == len(suite.sentences) < len(materials.located):
            # Every distinct sentence once.
            places = {words: place for place, words in enumerate(suite.sentences)}
            own = [own[places[variant.words]] for _, variant in materials.located]
        if not file.has_words:
            own = _with_words(materials, own, file.path)
        yield materials, own, pairing


def _numbered_conditions(suites: Sequence[Suite]) -> Mapping[str, str]:
    """Return conditions by the names that their variants have in files of SyntaxGym."""
    conditions: dict[str, str] = {}
    for suite in suites:
        for condition in suite.conditions:
            most = max(len(item.of_condition(condition)) for item in suite.items)
            names = [f"{condition}_{number}" for number in range(1, most + 1)]
            conditions.update({name: condition for name in names if most > 1})
    return conditions


def _by_suite(
    suites: Sequence[Suite], sentences: Sequence[ScoredSentence], path: Path, importing: Importing
) -> list[tuple[Suite, list[ScoredSentence], str]]:
    if any(sentence.cells or sentence.suite for sentence in sentences):
        groups: dict[str, list[ScoredSentence]] = {}
        whose: dict[tuple[str, ...], list[Suite]] = {}
        for sentence in sentences:
            key = (sentence.suite, *sentence.cells.values())
            if key not in whose:
                whose[key] = [suite for suite in suites if _is_of(sentence, suite)]
                what = "rows of other suites" if sentence.cells else f"suite {sentence.suite}"
                importing.left_out += [] if whose[key] else [f"{path}: {what}"]
            for suite in whose[key]:
                groups.setdefault(suite.name, []).append(sentence)
        importing.left_out[:] = dict.fromkeys(importing.left_out)
        chosen = [(suite, groups.get(suite.name, [])) for suite in suites]
        return [(suite, own, _pairing(own)) for suite, own in chosen if own]
    if len(sentences) == 1:
        whole = sentences[0]
        lengths = [len(v.words) for suite in suites for i in suite.items for v in i.variants]
        if len(lengths) > 1:
            # Words without numbers of sentences; lines count from the first word.
            sentences = [
                replace(
                    whole,
                    tokens=whole.tokens[start:end],
                    values=whole.values[start:end],
                    line=whole.line + start,
                )
                for start, end in sentence_spans(whole.tokens, lengths, path)
            ]
    if len(suites) == 1:
        return [(suites[0], list(sentences), _pairing(sentences))]
    sizes = [sum(len(item.variants) for item in suite.items) for suite in suites]
    if len(sentences) != sum(sizes):
        problem = f"has {len(sentences)} sentences, but the {len(suites)} suites have {sum(sizes)}"
        remedy = "add a column 'suite', or name tables after suites"
        raise InputError(problem, path=path, remedy=remedy)
    left = iter(sentences)
    return [
        (suite, [next(left) for _ in range(size)], "order of suites and sentences")
        for suite, size in zip(suites, sizes, strict=True)
    ]


def _is_of(sentence: ScoredSentence, suite: Suite) -> bool:
    """Whether the cells of a sentence are those of a suite; other columns need not be there."""
    selected, cells = _selected(suite), sentence.cells
    if not cells or (sentence.suite and not selected):
        return sentence.suite in (suite.name, _file_name(suite))
    return all(cells[name].strip() == text for name, text in selected.items() if name in cells)


def _has_keys(sentences: Sequence[ScoredSentence]) -> bool:
    return all(sentence.item and sentence.condition for sentence in sentences)


def _pairing(sentences: Sequence[ScoredSentence]) -> str:
    return "item and condition" if _has_keys(sentences) else "order of sentences"


def _by_key(
    suite: Suite, materials: Materials, sentences: Sequence[ScoredSentence], path: Path
) -> list[ScoredSentence]:
    renamed: Mapping[str, str] = _table(suite).get("conditions", {})
    numbers: Mapping[str, int] = _table(suite).get("items", {})
    groups: dict[tuple[str, str], list[ScoredSentence]] = {}
    for sentence in sentences:
        number = int(sentence.item) if is_count(sentence.item) else 0
        item_name = str(numbers.get(sentence.item) or number)
        condition = renamed.get(sentence.condition, sentence.condition)
        groups.setdefault((item_name, condition), []).append(sentence)
    ordered = []
    for item in suite.items:
        for number, variant in item.numbered_variants():
            own = groups.get((str(item.number), variant.condition), [])
            if len(own) < number:
                raise InputError(
                    f"has no sentence of item {item.number}, condition {variant.condition} of "
                    f"suite {suite.name}",
                    path=path,
                )
            ordered.append(own[number - 1])
    if len(ordered) != len(sentences):
        known = {(str(item.number), v.condition) for item in suite.items for v in item.variants}
        other = next((key for key in groups if key not in known), None)
        what = f", such as item {other[0]}, condition {other[1]}" if other else ""
        raise InputError(
            f"has {len(sentences)} sentences, but suite {suite.name} has {len(ordered)}{what}",
            path=path,
        )
    pairs = zip(materials.places, ordered, strict=True)
    return [sentence for _, sentence in sorted(pairs, key=lambda pair: pair[0])]


def _with_words(
    materials: Materials, scored: Sequence[ScoredSentence], path: Path
) -> list[ScoredSentence]:
    """Give sentences without words those of the suite; their numbers must fit."""
    named = []
    for (_, variant), sentence in zip(materials.located, scored, strict=False):
        if len(sentence.values) != len(variant.words):
            problem = f"{len(sentence.values)} numbers for {' '.join(variant.words)!r}"
            raise InputError(problem, path=path, line=sentence.line)
        named.append(replace(sentence, tokens=variant.words))
    return [*named, *scored[len(named) :]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredWords:
    """Sentences with the surprisals (bits) of their words, and notes for the reader.

    ``has_pieces``: whether numbers of several tokens were added up for some words.
    """

    sentences: tuple[ScoredSentence, ...]
    unit: str
    has_pieces: bool
    notes: tuple[str, ...]


def read_scored_words(
    path: Path, form: SurprisalForm, rules: PairingRules, *,
    sentences: Sequence[Words] | None = None, run: str | None = None,
) -> ScoredWords:  # fmt: skip
    """Read a file of a form other than our own tables.

    ``sentences`` are those that were scored. Files that contain the text of sentences may be in
    another order; all others must be in this order.
    """
    file = read_file(path, form, rules)
    scored = _sentences_of(file, run) if form == "table" else file.sentences
    if file.is_whole or form == "syntaxgym":
        remedy = "numbers of sentences and regions are scored with task=rescore"
        raise InputError("has no numbers of words", path=path, remedy=remedy)
    if sentences is None:
        sentences = _own_sentences(scored, path)
    if file.is_by_text:
        scored = _in_wanted_order(scored, sentences, path)
    elif len(sentences) != len(scored):
        problem = f"has {len(scored)} sentences, but {len(sentences)} were to be scored"
        remedy = "the file of the sentences has one line for each, in the same order"
        raise InputError(problem, path=path, remedy=remedy)
    bits, count = checked_in_bits(scored, file.unit, path)
    words = [
        merged_words(sentence, own, path, number)
        for number, (sentence, own) in enumerate(zip(bits, sentences, strict=True), start=1)
    ]
    notes = []
    if unscored := sum(math.isnan(sentence.values[0]) for sentence in words):
        notes.append(f"{path}: first words of {plural(unscored, 'sentence')} are not scored")
    if rules.prefixes:
        check_beginnings(words, path, shifts=count == 0)
        beginnings = RunBeginnings(str(path), is_strict=False)
        beginnings.add(words, "", path)
        notes += beginnings.check_sums()
    pairs = zip(bits, words, strict=True)
    return ScoredWords(
        sentences=tuple(words),
        unit=file.unit.unit,
        has_pieces=any(len(pieces.tokens) > len(whole.tokens) for pieces, whole in pairs),
        notes=tuple(notes),
    )


def _sentences_of(table: SurprisalFile, run: str | None) -> list[ScoredSentence]:
    names = [own.run or own.model for own in table.runs]
    chosen = [own for own, name in zip(table.runs, names, strict=True) if run in (None, name)]
    if len(chosen) != 1:
        problem = f"has {len(names)} runs, such as {', '.join(names[:3])}"
        remedy = "choose one, as in model.network.run=NAME"
        raise InputError(problem, path=table.path, remedy=remedy)
    return readable_sentences(chosen[0].sentences, table.path)


def _own_sentences(scored: Sequence[ScoredSentence], path: Path) -> list[Words]:
    if any(sentence.is_first_hidden and not sentence.text for sentence in scored):
        raise InputError(
            "does not contain the first tokens of its sentences",
            path=path,
            remedy="write the prompt of each sentence beside its numbers, as 'prompt', or name the "
            "file of the sentences, as in model.network.sentences=FILE",
        )
    return words_by_marks(scored, path)


def _in_wanted_order(
    scored: Sequence[ScoredSentence], wanted: Sequence[Words], path: Path
) -> list[ScoredSentence]:
    by_text = find_sentences(scored, wanted, path)
    rows = [by_text.of(words) for words in wanted]
    if missing := [words for words, row in zip(wanted, rows, strict=True) if row is None]:
        raise InputError(
            f"has no numbers for {len(missing)} of {len(wanted)} sentences, such as "
            f"{' '.join(missing[0])!r}",
            path=path,
        )
    return [row for row in rows if row is not None]
