"""The library of suites: lookup by name, pattern or file, the catalogue, and export to files.

Tasks, ``runs`` and the studies get all their suites here: those written by hand in ``materials``,
generated ones, published sets, and files of users, whose suffix says the format. Suites are linted
when they are loaded; formats are read and written by the modules beside this one.
"""

from __future__ import annotations

import fnmatch
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, NoReturn

from gardenpath.console import FittedTable
from gardenpath.errors import InputError, remedy_of
from gardenpath.eval.suites.benchmarks import load_blimp, load_climp
from gardenpath.eval.suites.generated import GENERATORS, TEMPLATES
from gardenpath.eval.suites.lint import CHECKLIST, check, checklist
from gardenpath.eval.suites.nodes import EXCEL_SUFFIX, TABLE_SUFFIXES, separator_of
from gardenpath.eval.suites.pairs import PairSource, is_pair_pattern, load_pair_suites, pair_set_of
from gardenpath.eval.suites.suite import Suite, SuiteError
from gardenpath.eval.suites.syntaxgym import dump_syntaxgym, load_syntaxgym, load_syntaxgym_csv
from gardenpath.eval.suites.tables import (
    GivenCriteria,
    is_table_suite,
    load_given_table,
    load_table_suite,
)
from gardenpath.eval.suites.yaml_suites import (
    dump_compact,
    load_compact,
    load_framed_suite,
    load_yaml,
    names_in_head,
)
from gardenpath.safe_text import parse_yaml
from gardenpath.settings.schema import nearest
from gardenpath.store.files import write_text
from gardenpath.util import short_stem

MATERIALS = Path(__file__).parent / "materials"
_ORDER_FILE = MATERIALS / "order.yaml"

# Names of modifiers from simple to complex.
Chain = tuple[str, ...]


@cache
def modifier_orders(path: Path = _ORDER_FILE) -> tuple[Chain, ...]:
    """Read the orders in which modifiers are shown, each from simple to complex."""
    try:
        chains = parse_yaml(path.read_text(encoding="utf-8"))["order"]
        return tuple(tuple(map(str, chain)) for chain in chains)
    except (OSError, ValueError, KeyError, TypeError) as error:
        remedy = "write 'order:' and a list of lists of modifiers"
        raise InputError(f"contains no orders: {error}", path=path, remedy=remedy) from error


# Lookup of suites.

# A file, and the modifier that selects a suite in it if the file is framed.
_Source = tuple[Path, str]


def _refuse_table(path: Path, line: int | None = None) -> NoReturn:
    raise InputError(
        "is a table of items without predictions",
        path=path,
        line=line,
        remedy='add them, as in predictions="(verb;%b%) > (verb;%a%)" (and '
        "'regions=[subject,verb]' if each region has a column), or write a YAML file with "
        f"'table: {path.name}' (task=new_suite name=mine writes one to start from)",
    )


def _load_csv(path: Path) -> list[Suite]:
    """Read any of the CSV formats, which the header distinguishes."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as lines:
            first = lines.readline()
    except OSError as error:
        remedy = remedy_of(error)
        raise InputError(f"cannot be read: {error.strerror}", path=path, remedy=remedy) from error
    names = {name.strip().strip('"') for name in first.split(separator_of(first))}
    if "item_number" in names:
        return [load_syntaxgym_csv(path)]
    if {"item", "condition"} <= names:
        _refuse_table(path, 1)
    return [load_climp(path)]


def _load_yaml(path: Path) -> list[Suite]:
    return [load_table_suite(path)] if is_table_suite(path) else load_yaml(path)


# The suites of a file, by its suffix.
_LOADERS: dict[str, Callable[[Path], list[Suite]]] = {
    ".yaml": _load_yaml,
    ".yml": _load_yaml,
    ".json": lambda path: [load_syntaxgym(path)],
    ".jsonl": lambda path: [load_blimp(path)],
    ".csv": _load_csv,
    ".tsv": _load_csv,
    EXCEL_SUFFIX: _refuse_table,
}

_log = logging.getLogger(__name__)


def suite_names() -> list[str]:
    """Return the names of all suites, authored and generated, in alphabetical order."""
    return sorted({**_authored(), **GENERATORS})


def load_suites(
    pattern: str | Sequence[str],
    *,
    pairs: PairSource | None = None,
    leave_out: Sequence[str] = (),
    criteria: GivenCriteria | None = None,
) -> list[Suite]:
    """Return the suites that match one or more patterns, each once.

    A pattern is a name (``mandarin/verb_noun/none``), a prefix of names up to a slash
    (``mandarin``), a glob pattern (``*/none``), or the path of a file (YAML, SyntaxGym's JSON or
    CSV, minimal pairs as JSON Lines or CSV), which may hold several suites. ``blimp`` and the other
    published sets of minimal pairs are read from ``pairs``. Suites whose names match ``leave_out``
    are left out. ``criteria`` are those of tables of items without a description. Suites that
    cannot be scored raise an error; warnings of the linter and of the
    checklist are logged.
    """
    patterns = [pattern] if isinstance(pattern, str) else list(pattern)
    loaded: dict[str, list[Suite]] = {}
    for each in dict.fromkeys(patterns):
        suffix = Path(each).suffix.lower()
        if criteria and suffix in TABLE_SUFFIXES:
            loaded[each] = [load_given_table(Path(each), criteria)]
        elif suffix in _LOADERS:
            loaded[each] = _LOADERS[suffix](Path(each))
        elif not is_pair_pattern(each):
            for name, source in _matching(each).items():
                if name not in loaded:
                    loaded[name] = [_named(name, source)]
    suites = [suite for own in loaded.values() for suite in own]
    if published := [each for each in patterns if is_pair_pattern(each)]:
        suites += load_pair_suites(published, pairs or PairSource())
    kept = [s for s in suites if not any(fnmatch.fnmatchcase(s.name, p) for p in leave_out)]
    if suites and not kept:
        raise SuiteError(f"leave_out={list(leave_out)} leaves out all suites")
    return [_checked(suite) for suite in kept]


def load_suite_file(path: Path) -> Suite:
    """The suite in a file, whose suffix says its format."""
    if path.suffix not in _LOADERS:
        remedy = f"choose one of {', '.join(_LOADERS)}"
        raise InputError("is not a file of a suite", path=path, remedy=remedy)
    suites = _LOADERS[path.suffix](path)
    if len(suites) > 1:
        remedy = "read all of them with gardenpath.suites(path)"
        raise InputError(f"has {len(suites)} suites, not one", path=path, remedy=remedy)
    return _checked(suites[0])


def _checked(suite: Suite) -> Suite:
    warnings = [*check(suite), *checklist(suite)]
    # Nobody can change the sentences of a published set; its ties are counted in the results.
    if warnings and pair_set_of(suite) is None:
        more = f"; {len(warnings) - 1} more" if len(warnings) > 1 else ""
        _log.warning("suite %s: %s%s", suite.name, warnings[0], more)
    return suite


def _matching(pattern: str) -> dict[str, _Source | None]:
    authored = _authored()
    if twice := set(authored) & set(GENERATORS):
        raise SuiteError(f"suite {min(twice)} is both in a file and generated")
    names = sorted({*authored, *GENERATORS})
    matching = {
        name: authored.get(name)
        for name in names
        if fnmatch.fnmatchcase(name, pattern) or name.startswith(f"{pattern.rstrip('/')}/")
    }
    if not matching:
        heads = sorted({name.split("/")[0] for name in names})
        hint = nearest(pattern, [*names, *heads], heads)
        raise SuiteError(f"unknown suite {pattern!r}; {hint}")
    return matching


def _named(name: str, source: _Source | None) -> Suite:
    if source is None:
        return GENERATORS[name]()
    path, modifier = source
    return load_framed_suite(path, modifier) if modifier else load_compact(path)


def _authored() -> dict[str, _Source]:
    """Return names and sources of the authored suites, without reading their items."""
    sources: dict[str, _Source] = {}
    for path in sorted(MATERIALS.rglob("*.yaml")):
        if path == _ORDER_FILE or path.is_relative_to(TEMPLATES) or path.parent == CHECKLIST:
            continue
        for name, modifier in names_in_head(path).items():
            if name in sources:
                raise SuiteError(f"{path} and {sources[name][0]} have the same name, {name}")
            sources[name] = (path, modifier)
    return sources


# The catalogue: tables with counts and examples.


def example_sentences(suite: Suite) -> tuple[tuple[str, str], ...]:
    """Return a sentence for each condition of the first item, and its gloss and translation."""
    if not suite.items:
        return ()
    item = suite.items[0]
    first: dict[str, str] = {}
    for variant in item.variants:
        first.setdefault(variant.condition, suite.text(variant))
    gloss = " ".join(word for words in item.gloss for word in words)
    notes = {"gloss": gloss, "translation": item.translation}
    return (*first.items(), *((name, text) for name, text in notes.items() if text))


def suite_table(suites: Sequence[Suite], *, examples: bool = False) -> FittedTable:
    """Return a table for the terminal with a line per suite, or with an example of each."""
    table = FittedTable("Test suites")
    table.show_lines = examples
    table.column("suite")
    table.column("language")
    for heading in ("items", "sentences", "conditions"):
        table.column(heading, right=True)
    if examples:
        table.column("example")
    for suite in suites:
        counts = (f"{len(suite.items):,}", f"{len(suite.sentences):,}", str(len(suite.conditions)))
        lines = "\n".join(f"{name}: {text}" for name, text in example_sentences(suite))
        table.add_row(suite.name, suite.language, *counts, *([lines] if examples else []))
    return table


def class_table(suites: Sequence[Suite]) -> FittedTable:
    """Return a table with a line for each class of suites of one language."""
    classes: dict[tuple[str, str], list[Suite]] = {}
    for suite in suites:
        # The beginning of a suite's name selects all suites of its class.
        head = suite.name.rpartition("/")[0] or suite.name
        classes.setdefault((head, suite.language), []).append(suite)
    table = FittedTable(
        "Test suites, by class", "task.show=NAME lists a class, or shows one suite with an example"
    )
    table.column("class")
    table.column("language")
    for heading in ("suites", "items", "sentences"):
        table.column(heading, right=True)
    for (name, language), members in classes.items():
        items = sum(len(suite.items) for suite in members)
        sentences = sum(len(suite.sentences) for suite in members)
        counts = (len(members), items, sentences)
        table.add_row(name, language, *(f"{count:,}" for count in counts))
    return table


def described_suite(suite: Suite) -> list[str]:
    """Return lines about one suite: counts, predictions, and an example of each condition."""
    counts = f"{len(suite.items):,} items, {len(suite.sentences):,} sentences"
    return [
        f"{suite.name} ({suite.language})",
        f"class {suite.kind}" + (f", modifier {suite.modifier}" if suite.modifier else ""),
        f"{counts}, {len(suite.conditions)} conditions: {', '.join(suite.conditions)}",
        *(f"prediction: {prediction.formula}" for prediction in suite.predictions),
        "first item:",
        *(f"  {name}: {text}" for name, text in example_sentences(suite)),
    ]


# Export to files.

ExportFormat = Literal["syntaxgym", "text", "compact"]


def _dump_text(suite: Suite) -> str:
    """Return one sentence per line, with spaces in all languages, so that words are the same."""
    variants = (variant for item in suite.items for variant in item.variants)
    return "".join(f"{' '.join(variant.words)}\n" for variant in variants)


_FORMS: Mapping[str, tuple[str, Callable[[Suite], str]]] = {
    "syntaxgym": (".json", dump_syntaxgym),
    "text": (".txt", _dump_text),
    "compact": (".yaml", dump_compact),
}


def export(suite: Suite, folder: Path, form: ExportFormat = "syntaxgym") -> Path:
    """Write a suite to a folder, under its name with ``_`` for slashes, and return the path."""
    if form not in _FORMS:
        raise SuiteError(f"unknown export format {form!r}; {nearest(form, _FORMS)}")
    suffix, dump = _FORMS[form]
    # The name may come from an untrusted file and must not point outside the folder.
    stem = short_stem(re.sub(r"[^\w-]+", "_", suite.name).strip("_")) or "suite"
    path = folder / f"{stem}{suffix}"
    write_text(path, dump(suite))
    return path
