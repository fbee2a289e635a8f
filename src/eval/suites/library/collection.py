"""Lookup of suites: written by hand, generated from templates, or in a user's file."""

from __future__ import annotations

import fnmatch
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

import yaml

from gardenpath.errors import InputError
from gardenpath.eval.suites.design.suite import Suite, SuiteError
from gardenpath.eval.suites.formats.blimp import load_blimp
from gardenpath.eval.suites.formats.climp import load_climp
from gardenpath.eval.suites.formats.compact import load_compact
from gardenpath.eval.suites.formats.csv_tables import separator_of
from gardenpath.eval.suites.formats.syntaxgym import load_syntaxgym
from gardenpath.eval.suites.formats.syntaxgym_csv import load_syntaxgym_csv
from gardenpath.eval.suites.formats.table_suite import is_table_suite, load_table_suite
from gardenpath.eval.suites.library.generated import GENERATORS, TEMPLATES
from gardenpath.eval.suites.library.lint import check
from gardenpath.eval.suites.library.modifiers import ORDER_FILE
from gardenpath.settings.check import nearest

MATERIALS = Path(__file__).parents[1] / "materials"


def _load_csv(path: Path) -> Suite:
    """Read any of the CSV formats, which the header distinguishes."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as lines:
            first = lines.readline()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error
    names = {name.strip().strip('"') for name in first.split(separator_of(first))}
    if "item_number" in names:
        return load_syntaxgym_csv(path)
    if {"item", "condition"} <= names:
        raise InputError(
            "is a table of items without predictions",
            path=path,
            line=1,
            remedy=f"write a YAML file with 'table: {path.name}', regions and predictions, and "
            "give that as the suite (docs/suites.md)",
        )
    return load_climp(path)


def _load_yaml(path: Path) -> Suite:
    return load_table_suite(path) if is_table_suite(path) else load_compact(path)


_LOADERS: dict[str, Callable[[Path], Suite]] = {
    ".yaml": _load_yaml,
    ".yml": _load_yaml,
    ".json": load_syntaxgym,
    ".jsonl": load_blimp,
    ".csv": _load_csv,
    ".tsv": _load_csv,
}

_log = logging.getLogger(__name__)


def suite_names() -> list[str]:
    """Return the names of all suites, authored and generated, in alphabetical order."""
    return sorted({**_authored(), **GENERATORS})


def load_suites(pattern: str | Sequence[str]) -> list[Suite]:
    """Return the suites that match one or more patterns, each once.

    A pattern is a name (``mandarin/verb_noun/none``), a prefix of names up to a slash
    (``mandarin``), a glob pattern (``*/none``), or the path of a file (YAML, SyntaxGym's JSON or
    CSV, minimal pairs as JSON Lines or CSV). Suites that cannot be scored raise an error; warnings
    of the linter are logged.
    """
    patterns = [pattern] if isinstance(pattern, str) else list(pattern)
    sources: dict[str, Callable[[], Suite]] = {}
    for each in patterns:
        if Path(each).suffix in _LOADERS:
            sources[each] = _from_file(Path(each))
        else:
            sources.update(_matching(each))
    return [_checked(make()) for make in sources.values()]


def load_suite_file(path: Path) -> Suite:
    """The suite in a file, whose suffix says its format."""
    if path.suffix not in _LOADERS:
        remedy = f"choose one of {', '.join(_LOADERS)}"
        raise InputError("is not a file of a suite", path=path, remedy=remedy)
    return _checked(_LOADERS[path.suffix](path))


def _checked(suite: Suite) -> Suite:
    if warnings := check(suite):
        more = f"; {len(warnings) - 1} more" if len(warnings) > 1 else ""
        _log.warning("suite %s: %s%s", suite.name, warnings[0], more)
    return suite


def _matching(pattern: str) -> dict[str, Callable[[], Suite]]:
    authored = {name: _from_file(path) for name, path in _authored().items()}
    known = {**authored, **GENERATORS}
    if twice := set(authored) & set(GENERATORS):
        raise SuiteError(f"suite {min(twice)} is both in a file and generated")
    found = {
        name: known[name]
        for name in sorted(known)
        if fnmatch.fnmatchcase(name, pattern) or name.startswith(f"{pattern.rstrip('/')}/")
    }
    if not found:
        heads = sorted({name.split("/")[0] for name in known})
        hint = nearest(pattern, [*known, *heads], heads)
        raise SuiteError(f"unknown suite {pattern!r}; {hint}")
    return found


def _from_file(path: Path) -> Callable[[], Suite]:
    return lambda: _LOADERS[path.suffix](path)


def _authored() -> dict[str, Path]:
    """Return names and files of the authored suites, without templates and the order file."""
    found: dict[str, Path] = {}
    for path in sorted(MATERIALS.rglob("*.yaml")):
        if path.is_relative_to(TEMPLATES) or path == ORDER_FILE:
            continue
        name = _name(path)
        if name in found:
            raise SuiteError(f"{path} and {found[name]} have the same name, {name}")
        found[name] = path
    return found


def _name(path: Path) -> str:
    """Return the name of a suite without reading its items."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("name:"):
                return str(yaml.safe_load(line)["name"])
    raise SuiteError(f"{path}: the suite has no name; add a line such as 'name: my_suite'")
