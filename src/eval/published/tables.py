"""Find the sentences of a file by their text.

The characters of a sentence, without blanks, must be those of a sentence that is asked for. Files
of vLLM do not contain the first token: it is the mark of the beginning, or the beginning of the
first word, which then has no number. Which of the two must be the same for all sentences of a file.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gardenpath.data.readers.base import SurprisalForm
from gardenpath.errors import InputError
from gardenpath.eval.published.checks import MOST_DIFFERENT
from gardenpath.eval.published.files import (
    PairingRules,
    ScoredSentence,
    SurprisalSet,
    stated_runs,
    without_edges,
)
from gardenpath.eval.published.forms import form_of, may_have_form, read_foreign
from gardenpath.eval.published.importing import FileForm, Imported, Importing, run_name
from gardenpath.eval.published.pairing import Materials, in_file_order
from gardenpath.eval.published.token_tables import (
    ForeignFile,
    ForeignSentence,
    TableRun,
    TableSentence,
    TokenTable,
    cut_sentences,
    read_words,
    without_blanks,
)
from gardenpath.eval.suites.formula import WHOLE_SENTENCE
from gardenpath.eval.suites.suite import Suite
from gardenpath.eval.suites.summary import RunName
from gardenpath.eval.suites.tables import TABLE_META
from gardenpath.store.manifest import SIDE_CAR
from gardenpath.util import Words, is_count, plural

# Longest first token, in characters.
_LONGEST_TOKEN = 30

# Numbers of one sentence that differ by less came from the same computation.
_SAME = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSentences:
    """The sentences of a file by their text without blanks; ``others`` were not asked for."""

    by_text: Mapping[str, ScoredSentence]
    others: int

    def of(self, words: Words) -> ScoredSentence | None:
        """Return the sentence with these words."""
        return self.by_text.get(without_blanks(words))


def find_sentences(file: ForeignFile, asked: Sequence[Words]) -> FoundSentences:
    """Return the asked sentences that a file contains; doubtful and doubled ones are refused."""
    counts = Counter(map(without_blanks, asked))
    sentences = [replace(one, scored=without_edges(one.scored)) for one in file.sentences]
    if any(one.is_first_hidden for one in sentences):
        texts = _hidden_texts(file, sentences, list(counts))
    else:
        texts = [_text(file, one) for one in sentences]
    found: dict[str, list[ScoredSentence]] = {}
    others = 0
    for text, one in zip(texts, sentences, strict=True):
        if text is None or text not in counts:
            others += 1
            continue
        found.setdefault(text, []).append(_with_first(one.scored, text))
    for text, group in found.items():
        _require_single(file, group, counts[text])
    return FoundSentences(by_text={key: group[0] for key, group in found.items()}, others=others)


def _text(file: ForeignFile, one: ForeignSentence) -> str:
    """Return the characters of the tokens, which must be those that the file states."""
    spelt = without_blanks(one.scored.tokens)
    if one.text and without_blanks([one.text]) != spelt:
        raise _misspelt(file, one)
    return spelt


def _misspelt(file: ForeignFile, one: ForeignSentence) -> InputError:
    return InputError(
        f"{one.place}: the tokens {' '.join(one.scored.tokens)!r} do not spell {one.text!r}",
        path=file.path,
        line=one.scored.line,
    )


def _hidden_texts(
    file: ForeignFile, sentences: Sequence[ForeignSentence], asked: Sequence[str]
) -> list[str | None]:
    """Return the texts of sentences whose first token is not known; None if none was asked for."""
    longer: dict[str, set[str]] = {}
    for text in asked:
        for cut in range(1, min(len(text), _LONGEST_TOKEN) + 1):
            longer.setdefault(text[cut:], set()).add(text)
    known = set(asked)
    stated: list[set[str]] = []
    for one in sentences:
        tail = without_blanks(one.scored.tokens)
        if one.text:
            whole = without_blanks([one.text])
            if not whole.endswith(tail) or len(whole) - len(tail) > _LONGEST_TOKEN:
                raise _misspelt(file, one)
            stated.append({whole})
        else:
            stated.append(({tail} & known) | longer.get(tail, set()))
    marks = _marks(sentences, stated)
    if len(marks) == 2:
        raise InputError(
            "some sentences have a number for their first word and others have none",
            path=file.path,
            remedy="write the prompt of each sentence beside its numbers, as 'prompt'",
        )
    is_mark = marks != {False}
    texts: list[str | None] = []
    for one, options in zip(sentences, stated, strict=True):
        tail = without_blanks(one.scored.tokens)
        fitting = sorted(text for text in options if (text == tail) == is_mark)
        if len(fitting) > 1:
            raise InputError(
                f"{one.place}: {' '.join(one.scored.tokens)!r} may be the end of "
                f"{len(fitting)} sentences that begin differently",
                path=file.path,
                line=one.scored.line,
                remedy="write the prompt of each sentence beside its numbers, as 'prompt'",
            )
        texts.append(fitting[0] if fitting else None)
    return texts


def _marks(sentences: Sequence[ForeignSentence], options: Sequence[set[str]]) -> set[bool]:
    """Return whether first tokens are marks, as the sentences that allow one answer say."""
    found = set()
    for one, texts in zip(sentences, options, strict=True):
        kinds = {text == without_blanks(one.scored.tokens) for text in texts}
        if len(kinds) == 1:
            found |= kinds
    return found


def _with_first(scored: ScoredSentence, text: str) -> ScoredSentence:
    """Return a sentence with its first token, which has no number."""
    rest = text[: len(text) - len(without_blanks(scored.tokens))]
    if not rest:
        return scored
    return replace(scored, tokens=(rest, *scored.tokens), values=(math.nan, *scored.values))


def _require_single(file: ForeignFile, group: Sequence[ScoredSentence], asked: int) -> None:
    """Refuse sentences that occur more often than they are asked for, or differ."""
    first = group[0]
    for other in group[1:]:
        is_same = first.tokens == other.tokens and all(map(_is_close, first.values, other.values))
        if len(group) > asked or not is_same:
            what = "with different numbers" if not is_same else f"of {plural(asked, 'sentence')}"
            raise InputError(
                f"{' '.join(first.tokens)!r} occurs {len(group)} times {what}",
                path=file.path,
                line=other.line,
                remedy="give every sentence once",
            )


def _is_close(one: float, other: float) -> bool:
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return math.isclose(one, other, rel_tol=_SAME, abs_tol=_SAME)


# ----------------------------------------------------------------------------
# Add files of other forms than tables to an import.


def as_token_table(file: ForeignFile, suites: Sequence[Suite]) -> TokenTable:
    """Return a file whose sentences are in the order of the suites, or have item and condition."""
    if file.form == "syntaxgym":
        for suite in suites:
            _require_sums(suite, file.path)
    renamed = _numbered_conditions(suites)
    sentences = [
        TableSentence(
            scored=one.scored,
            item=one.item,
            condition=renamed.get(one.condition, one.condition),
        )
        for one in file.sentences
    ]
    return TokenTable(
        path=file.path,
        unit=file.unit,
        is_own=False,
        words=True,
        runs=(TableRun(sentences=sentences),),
    )


def _require_sums(suite: Suite, path: Path) -> None:
    if suite.metric != "sum" or suite.normalised:
        raise InputError(
            f"has sums over regions, but suite {suite.name} compares "
            f"{'values per word' if suite.normalised else suite.metric}",
            path=path,
            remedy="give the surprisals of words",
        )


def _numbered_conditions(suites: Sequence[Suite]) -> Mapping[str, str]:
    """Return conditions by the names that their variants have in files of SyntaxGym."""
    found: dict[str, str] = {}
    for suite in suites:
        for condition in suite.conditions:
            most = max(len(item.of_condition(condition)) for item in suite.items)
            names = [f"{condition}_{number}" for number in range(1, most + 1)]
            found.update({name: condition for name in names if most > 1})
    return found


def add_by_text(
    importing: Importing, name: RunName, suites: Sequence[Suite], file: ForeignFile
) -> None:
    """Add the sentences of a file, found by their text, to every suite that has any of them."""
    asked = [_whole_sentences(one, file.path) for one in suites] if file.is_whole else list(suites)
    variants = {suite.name: [v for i in suite.items for v in i.variants] for suite in asked}
    found = find_sentences(file, [v.words for group in variants.values() for v in group])
    for suite in asked:
        rows = [found.of(variant.words) for variant in variants[suite.name]]
        scored = [row for row in rows if row is not None]
        if not scored:
            continue
        if len(scored) < len(rows):
            missing = next(v for v, r in zip(variants[suite.name], rows, strict=True) if r is None)
            raise InputError(
                f"has no numbers for {len(rows) - len(scored)} of {len(rows)} sentences of suite "
                f"{suite.name}, such as {' '.join(missing.words)!r}",
                path=file.path,
                remedy="score all sentences of the suite, as it writes them",
            )
        form = FileForm(
            pairing="text of sentences",
            unit=file.unit,
            most_different=MOST_DIFFERENT,
            is_published=False,
        )
        materials = in_file_order(Path(suite.name), suite)
        importing.add(name, materials, scored, file.path, form)
    if file.is_whole:
        importing.notes.append(f"{file.path}: numbers are of whole sentences, not of words")
    if found.others:
        note = f"{file.path}: {plural(found.others, 'sentence')} of other suites"
        importing.left_out.append(note)


def _whole_sentences(suite: Suite, path: Path) -> Suite:
    """Return a suite in which every sentence is one unit; it must compare whole sentences only."""
    terms = [term for one in suite.predictions for term in one.formula.terms]
    is_single = len(suite.regions) == 1
    if not all(is_single or term.region == WHOLE_SENTENCE for term in terms):
        raise InputError(
            f"has one number per sentence, but suite {suite.name} compares regions",
            path=path,
            remedy="give the surprisals of words",
        )
    _require_sums(suite, path)
    items = tuple(
        replace(
            item,
            variants=tuple(
                replace(one, regions=((suite.text(one),), *[()] * (len(suite.regions) - 1)))
                for one in item.variants
            ),
        )
        for item in suite.items
    )
    return replace(suite, items=items)


# ----------------------------------------------------------------------------
# Import of tables of surprisals for any suites, ours or a user's.
#
# A folder contains a folder for every run, with a table per suite (``<suite>.tsv``; slashes in the
# name may be folders or underscores), or one table for all suites. A single table may also hold
# many runs and suites, in columns such as ``run``, ``model`` and ``suite``. Files of other forms
# (:mod:`gardenpath.data.surprisal_forms`) are recognised, or read as the user says.


_TABLES = (".tsv", ".csv", ".txt")
_SUFFIXES = (*_TABLES, ".json", ".jsonl")


def import_tables(
    suites: Sequence[Suite],
    sets: Sequence[SurprisalSet],
    rules: PairingRules,
    *,
    columns: Mapping[str, str] | None = None,
    form: SurprisalForm = "auto",
) -> Imported:
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
    for given in sets:
        for path, place, own in _files(given.path, suites, bool(columns), form, importing):
            kind = form_of(path, form)
            if kind != "table":
                _add_foreign(importing, given, place, own, read_foreign(path, kind, rules.unit))
                continue
            table = read_words(path, rules, columns or {}, usual, selecting)
            stated = stated_runs(path)
            for run in table.runs:
                name = _name(run, path, place, given)
                importing.state(name, stated.get(run.run), path)
                _add_run(importing, name, own, run, table)
    where = [given.path for given in sets]
    example = f"{suites[0].name.replace('/', '_')}.tsv" if suites else "a table"
    return importing.finish(where, f"a table with rows, or tables such as {example}")


def _add_foreign(
    importing: Importing, given: SurprisalSet, place: Path, own: Sequence[Suite], file: ForeignFile
) -> None:
    """Add a file of another form; samples of one model are several files in its folder."""
    is_folder = file.form == "lm_eval" and place != given.path
    name = _name(TableRun(), file.path, place.parent if is_folder else place, given)
    importing.state(name, next(iter(stated_runs(file.path).values()), None), file.path)
    if file.is_by_text:
        add_by_text(importing, name, own, file)
    else:
        table = as_token_table(file, own)
        _add_run(importing, name, own, table.runs[0], table)


def _files(
    root: Path,
    suites: Sequence[Suite],
    has_columns: bool,
    form: SurprisalForm,
    importing: Importing,
) -> list[tuple[Path, Path, Sequence[Suite]]]:
    """Return the tables, each with the folder that names its run, and the suites it may have.

    In a folder without tables that are named after suites, every table of words is a run.
    """
    if root.is_file():
        return [(root, root, suites)]
    if not root.is_dir():
        raise InputError("is not a folder or a table", path=root)
    folders = [root, *sorted(path for path in root.rglob("*") if path.is_dir())]
    found: list[tuple[Path, Path, Sequence[Suite]]] = []
    for folder in folders:
        for suite in suites:
            path = _file_of(folder, suite)
            if path is not None:
                found.append((path, folder, [suite]))
    tables = sorted(path for path in root.rglob("*") if _may_be_table(path))
    if not found:
        chosen = [path for path in tables if _is_chosen(path, has_columns, form)]
        found = [(path, path, suites) for path in chosen]
    used = {path for path, _, _ in found}
    importing.left_out += [str(path) for path in tables if path not in used]
    return found


def _may_be_table(path: Path) -> bool:
    return path.suffix in _SUFFIXES and not path.name.endswith(SIDE_CAR)


def _is_chosen(path: Path, has_columns: bool, form: SurprisalForm) -> bool:
    return may_have_form(path, form) or (has_columns and path.suffix in _TABLES)


def _file_of(folder: Path, suite: Suite) -> Path | None:
    names = (suite.name, suite.name.replace("/", "_"))
    paths = [folder / f"{name}{suffix}" for name in names for suffix in _SUFFIXES]
    return next((path for path in paths if path.is_file()), None)


def _name(run: TableRun, path: Path, place: Path, given: SurprisalSet) -> RunName:
    """Return the name of a run from its columns or else from its folder or file."""
    if place.is_file():
        found = run_name(place.parent / place.stem, place.parent)
    else:
        found = run_name(place, given.path)
    if run.run:
        found = run_name(given.path / run.run.lstrip("/"), given.path)
    if run.model:
        parts = [run.model, *([f"seed{run.seed}"] if run.seed else [])]
        found = replace(found, model=run.model, run=run.run or "/".join(parts))
    if run.seed:
        if not is_count(run.seed):
            raise InputError(f"seed {run.seed[:50]!r} is not a whole number", path=path)
        found = replace(found, seed=int(run.seed))
    return replace(found, corpus=given.corpus or run.corpus)


def _add_run(
    importing: Importing, name: RunName, suites: Sequence[Suite], run: TableRun, table: TokenTable
) -> None:
    by_suite = _by_suite(suites, run.sentences, table.path, importing)
    for suite, sentences, pairing in by_suite:
        scored, materials = _in_order(suite, sentences, table.path)
        if not table.words:
            scored = _with_words(materials, scored, table.path)
        form = FileForm(
            pairing=pairing if table.words else f"{pairing}, without words",
            unit=table.unit,
            checked=not table.is_own,
            most_different=MOST_DIFFERENT,
            is_published=False,
        )
        unseen = frozenset(word for one in sentences for word in one.unseen)
        importing.add(name, materials, scored, table.path, form, unknown=unseen)


def _by_suite(
    suites: Sequence[Suite],
    sentences: Sequence[TableSentence],
    path: Path,
    importing: Importing,
) -> list[tuple[Suite, list[TableSentence], str]]:
    """Return the sentences of each suite, and how they were found."""
    if any(one.cells for one in sentences):
        chosen = [(suite, [one for one in sentences if _is_of(one, suite)]) for suite in suites]
        if any(not any(_is_of(one, suite) for suite in suites) for one in sentences):
            importing.left_out.append(f"{path}: rows of other suites")
        return [(suite, own, _keys(own)) for suite, own in chosen if own]
    if any(one.suite for one in sentences):
        names = {alias: suite for suite in suites for alias in _aliases(suite)}
        found: dict[str, list[TableSentence]] = {}
        for one in sentences:
            if one.suite in names:
                found.setdefault(names[one.suite].name, []).append(one)
            else:
                importing.left_out.append(f"{path}: suite {one.suite}")
        importing.left_out[:] = dict.fromkeys(importing.left_out)
        return [
            (suite, found[suite.name], _keys(found[suite.name]))
            for suite in suites
            if suite.name in found
        ]
    if len(sentences) == 1:
        lengths = [len(v.words) for suite in suites for i in suite.items for v in i.variants]
        whole = sentences[0].scored
        if len(lengths) > 1:
            cut = cut_sentences(whole, lengths, path)
            sentences = [replace(sentences[0], scored=one) for one in cut]
    if len(suites) == 1:
        return [(suites[0], list(sentences), _keys(sentences))]
    return _consecutive(suites, list(sentences), path)


def _selected(suite: Suite) -> Mapping[str, str]:
    """Return the cells of the rows of a suite in its table, by column."""
    found: Mapping[str, str] = _table(suite).get("only", {})
    return found


def _is_of(sentence: TableSentence, suite: Suite) -> bool:
    """Whether the cells of a sentence are those of a suite; other columns need not be there."""
    selected = _selected(suite)
    if not selected and sentence.suite:
        return sentence.suite in _aliases(suite)
    cells = sentence.cells
    return all(cells[name].strip() == text for name, text in selected.items() if name in cells)


def _aliases(suite: Suite) -> tuple[str, ...]:
    return suite.name, suite.name.replace("/", "_")


def _keys(sentences: Sequence[TableSentence]) -> str:
    has_keys = all(one.item and one.condition for one in sentences)
    return "item and condition" if has_keys else "order of sentences"


def _consecutive(
    suites: Sequence[Suite], sentences: list[TableSentence], path: Path
) -> list[tuple[Suite, list[TableSentence], str]]:
    sizes = [sum(len(item.variants) for item in suite.items) for suite in suites]
    if len(sentences) != sum(sizes):
        raise InputError(
            f"has {len(sentences)} sentences, but the {len(suites)} suites have {sum(sizes)}",
            path=path,
            remedy="add a column 'suite', or name tables after suites",
        )
    found, start = [], 0
    for suite, size in zip(suites, sizes, strict=True):
        found.append((suite, sentences[start : start + size], "order of suites and sentences"))
        start += size
    return found


def _in_order(
    suite: Suite, sentences: Sequence[TableSentence], path: Path
) -> tuple[list[ScoredSentence], Materials]:
    """Return the sentences in the order of the suite's variants."""
    materials = _materials(suite)
    if _keys(sentences) == "item and condition":
        return _by_key(suite, sentences, path), materials
    scored = [one.scored for one in sentences]
    if len(scored) == len(suite.sentences) < len(materials.located):
        # Every distinct sentence once.
        places = {words: place for place, words in enumerate(suite.sentences)}
        scored = [scored[places[variant.words]] for _, variant in materials.located]
    return scored, materials


def _table(suite: Suite) -> Mapping[str, Any]:
    """Return how the table of a suite is laid out; empty for other suites."""
    found = suite.meta.get(TABLE_META, {})
    return found if isinstance(found, Mapping) else {}


def _materials(suite: Suite) -> Materials:
    """Return the suite in the order of its file: that of its items, or of the rows of its table."""
    lines = _table(suite).get("lines", ())
    count = sum(len(item.variants) for item in suite.items)
    if len(lines) != count:
        return in_file_order(Path(suite.name), suite)
    ordered = sorted(lines)
    places = tuple(ordered.index(line) for line in lines)
    return Materials(Path(_table(suite)["path"]), suite, places, tuple(ordered))


def _by_key(suite: Suite, sentences: Sequence[TableSentence], path: Path) -> list[ScoredSentence]:
    renamed: Mapping[str, str] = _table(suite).get("conditions", {})
    numbers: Mapping[str, int] = _table(suite).get("items", {})
    found: dict[tuple[str, str], list[ScoredSentence]] = {}
    for one in sentences:
        condition = renamed.get(one.condition, one.condition)
        item_name = str(numbers.get(one.item) or (int(one.item) if is_count(one.item) else 0))
        found.setdefault((item_name, condition), []).append(one.scored)
    ordered = []
    for item in suite.items:
        for number, variant in item.numbered_variants():
            own = found.get((str(item.number), variant.condition), [])
            if len(own) < number:
                raise InputError(
                    f"has no sentence of item {item.number}, condition {variant.condition} of "
                    f"suite {suite.name}",
                    path=path,
                )
            ordered.append(own[number - 1])
    ordered = _in_places(suite, ordered)
    if len(ordered) != len(sentences):
        known = {(str(i.number), v.condition) for i in suite.items for v in i.variants}
        other = next((key for key in found if key not in known), None)
        what = f", such as item {other[0]}, condition {other[1]}" if other else ""
        raise InputError(
            f"has {len(sentences)} sentences, but suite {suite.name} has {len(ordered)}{what}",
            path=path,
        )
    return ordered


def _in_places(suite: Suite, sentences: Sequence[ScoredSentence]) -> list[ScoredSentence]:
    """Return sentences that are in the order of the suite in that of its file."""
    pairs = zip(_materials(suite).places, sentences, strict=True)
    return [sentence for _, sentence in sorted(pairs, key=lambda pair: pair[0])]


def _with_words(
    materials: Materials, scored: Sequence[ScoredSentence], path: Path
) -> list[ScoredSentence]:
    """Give sentences without words those of the suite; their numbers must fit."""
    found = []
    for (_, variant), one in zip(materials.located, scored, strict=False):
        if len(one.values) != len(variant.words):
            problem = f"{len(one.values)} numbers for {' '.join(variant.words)!r}"
            raise InputError(problem, path=path, line=one.line)
        found.append(replace(one, tokens=variant.words))
    return [*found, *scored[len(found) :]]
