"""Lookup of suites: written by hand, generated from templates, or in a user's file."""

from __future__ import annotations

import fnmatch
import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from gardenpath.errors import InputError, remedy_of
from gardenpath.eval.suites.design.suite import Suite, SuiteError
from gardenpath.eval.suites.formats.blimp import load_blimp
from gardenpath.eval.suites.formats.climp import load_climp
from gardenpath.eval.suites.formats.compact import load_compact
from gardenpath.eval.suites.formats.csv_tables import separator_of
from gardenpath.eval.suites.formats.framed import load_framed_suite, load_yaml, names_in_head
from gardenpath.eval.suites.formats.given_criteria import GivenCriteria, load_given_table
from gardenpath.eval.suites.formats.sheets import EXCEL_SUFFIX, TABLE_SUFFIXES
from gardenpath.eval.suites.formats.syntaxgym import load_syntaxgym
from gardenpath.eval.suites.formats.syntaxgym_csv import load_syntaxgym_csv
from gardenpath.eval.suites.formats.table_suite import is_table_suite, load_table_suite
from gardenpath.eval.suites.library.checklist import checklist
from gardenpath.eval.suites.library.class_rules import CHECKLIST
from gardenpath.eval.suites.library.generated import GENERATORS, TEMPLATES
from gardenpath.eval.suites.library.lint import check
from gardenpath.eval.suites.library.modifiers import ORDER_FILE
from gardenpath.eval.suites.pairs.pair_suites import (
    PairSource,
    is_pair_pattern,
    load_pair_suites,
    pair_set_of,
)
from gardenpath.settings.check import nearest

MATERIALS = Path(__file__).parents[1] / "materials"

# A file, and the modifier that selects a suite in it if the file is framed.
_Source = tuple[Path, str]


_HOW_TO_TEST = (
    "add them, as in predictions=\"(verb;%b%) > (verb;%a%)\" (and 'regions=[subject,verb]' if each "
    "region has a column), or write a YAML file with 'table: {name}' (task=new_suite name=mine "
    "writes one to start from)"
)


def _load_sheet(path: Path) -> list[Suite]:
    remedy = _HOW_TO_TEST.format(name=path.name)
    raise InputError("is a table of items without predictions", path=path, remedy=remedy)


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
        raise InputError(
            "is a table of items without predictions",
            path=path,
            line=1,
            remedy=_HOW_TO_TEST.format(name=path.name),
        )
    return [load_climp(path)]


def _load_given(path: Path, criteria: GivenCriteria) -> list[Suite]:
    return [load_given_table(path, criteria)]


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
    EXCEL_SUFFIX: _load_sheet,
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
    sources: dict[str, Callable[[], list[Suite]]] = {}
    for each in patterns:
        suffix = Path(each).suffix.lower()
        if criteria and suffix in TABLE_SUFFIXES:
            sources[each] = partial(_load_given, Path(each), criteria)
        elif suffix in _LOADERS:
            sources[each] = partial(_LOADERS[suffix], Path(each))
        elif not is_pair_pattern(each):
            sources.update(_matching(each))
    found = [suite for make in sources.values() for suite in make()]
    if published := [each for each in patterns if is_pair_pattern(each)]:
        found += load_pair_suites(published, pairs or PairSource())
    kept = [one for one in found if not any(fnmatch.fnmatchcase(one.name, p) for p in leave_out)]
    if found and not kept:
        raise SuiteError(f"leave_out={list(leave_out)} leaves out all suites")
    return [_checked(suite) for suite in kept]


def load_suite_file(path: Path) -> Suite:
    """The suite in a file, whose suffix says its format."""
    if path.suffix not in _LOADERS:
        remedy = f"choose one of {', '.join(_LOADERS)}"
        raise InputError("is not a file of a suite", path=path, remedy=remedy)
    found = _LOADERS[path.suffix](path)
    if len(found) > 1:
        remedy = "read all of them with gardenpath.suites(path)"
        raise InputError(f"has {len(found)} suites, not one", path=path, remedy=remedy)
    return _checked(found[0])


def _checked(suite: Suite) -> Suite:
    warnings = [*check(suite), *checklist(suite)]
    # Nobody can change the sentences of a published set; its ties are counted in the results.
    if warnings and pair_set_of(suite) is None:
        more = f"; {len(warnings) - 1} more" if len(warnings) > 1 else ""
        _log.warning("suite %s: %s%s", suite.name, warnings[0], more)
    return suite


def _matching(pattern: str) -> dict[str, Callable[[], list[Suite]]]:
    authored = _authored()
    if twice := set(authored) & set(GENERATORS):
        raise SuiteError(f"suite {min(twice)} is both in a file and generated")
    names = sorted({*authored, *GENERATORS})
    found = [
        name
        for name in names
        if fnmatch.fnmatchcase(name, pattern) or name.startswith(f"{pattern.rstrip('/')}/")
    ]
    if not found:
        heads = sorted({name.split("/")[0] for name in names})
        hint = nearest(pattern, [*names, *heads], heads)
        raise SuiteError(f"unknown suite {pattern!r}; {hint}")
    return {name: partial(_named, name, authored.get(name)) for name in found}


def _named(name: str, source: _Source | None) -> list[Suite]:
    """Return the suite of a name, read from its file or generated."""
    if source is None:
        return [GENERATORS[name]()]
    path, modifier = source
    return [load_framed_suite(path, modifier) if modifier else load_compact(path)]


def _authored() -> dict[str, _Source]:
    """Return names and sources of the authored suites, without reading their items."""
    found: dict[str, _Source] = {}
    for path in sorted(MATERIALS.rglob("*.yaml")):
        if path == ORDER_FILE or path.is_relative_to(TEMPLATES) or path.parent == CHECKLIST:
            continue
        for name, modifier in names_in_head(path).items():
            if name in found:
                raise SuiteError(f"{path} and {found[name][0]} have the same name, {name}")
            found[name] = (path, modifier)
    return found
