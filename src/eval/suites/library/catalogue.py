"""Catalogue of suites: a table with counts and examples, and export to files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gardenpath.eval.suites.design.suite import Suite, SuiteError
from gardenpath.eval.suites.formats.compact import dump_compact
from gardenpath.eval.suites.formats.syntaxgym import dump_syntaxgym
from gardenpath.fitted_table import FittedTable
from gardenpath.settings.check import nearest
from gardenpath.store.files import write_text
from gardenpath.text import short_stem

ExportFormat = Literal["syntaxgym", "text", "compact"]


@dataclass(frozen=True, slots=True)
class SuiteEntry:
    """One suite.

    ``example`` has a sentence for each condition of the first item, and gloss and translation of
    the first sentence if the item has them.
    """

    name: str
    language: str
    kind: str
    modifier: str
    items: int
    sentences: int
    conditions: tuple[str, ...]
    predictions: tuple[str, ...]
    example: tuple[tuple[str, str], ...]


def suite_entries(suites: Iterable[Suite]) -> list[SuiteEntry]:
    """Return one entry per suite; ``sentences`` counts distinct sentences."""
    return [
        SuiteEntry(
            name=suite.name,
            language=suite.language,
            kind=suite.kind,
            modifier=suite.modifier,
            items=len(suite.items),
            sentences=len(suite.sentences),
            conditions=suite.conditions,
            predictions=tuple(str(one.formula) for one in suite.predictions),
            example=_example(suite),
        )
        for suite in suites
    ]


def _example(suite: Suite) -> tuple[tuple[str, str], ...]:
    if not suite.items:
        return ()
    first: dict[str, str] = {}
    for variant in suite.items[0].variants:
        first.setdefault(variant.condition, suite.text(variant))
    item = suite.items[0]
    gloss = " ".join(word for words in item.gloss for word in words)
    said = {"gloss": gloss, "translation": item.translation}
    return (*first.items(), *((name, text) for name, text in said.items() if text))


def suite_table(entries: Sequence[SuiteEntry], *, examples: bool = False) -> FittedTable:
    """Return a table for the terminal with a line per suite, or with an example of each."""
    found = FittedTable("Test suites")
    found.show_lines = examples
    found.column("suite")
    found.column("language")
    for heading in ("items", "sentences", "conditions"):
        found.column(heading, right=True)
    if examples:
        found.column("example")
    for entry in entries:
        counts = (f"{entry.items:,}", f"{entry.sentences:,}", str(len(entry.conditions)))
        lines = "\n".join(f"{name}: {text}" for name, text in entry.example)
        found.add_row(entry.name, entry.language, *counts, *([lines] if examples else []))
    return found


def class_table(entries: Sequence[SuiteEntry]) -> FittedTable:
    """Return a table with a line for each class of suites of one language."""
    classes: dict[tuple[str, str], list[SuiteEntry]] = {}
    for entry in entries:
        classes.setdefault((_group(entry), entry.language), []).append(entry)
    found = FittedTable(
        "Test suites, by class", "task.show=NAME lists a class, or shows one suite with an example"
    )
    found.column("class")
    found.column("language")
    for heading in ("suites", "items", "sentences"):
        found.column(heading, right=True)
    for (name, language), members in classes.items():
        counts = (len(members), sum(x.items for x in members), sum(x.sentences for x in members))
        found.add_row(name, language, *(f"{count:,}" for count in counts))
    return found


def _group(entry: SuiteEntry) -> str:
    """Return the beginning of a suite's name, which selects all suites of its class."""
    return entry.name.rpartition("/")[0] or entry.name


def described_suite(entry: SuiteEntry) -> list[str]:
    """Return lines about one suite: counts, predictions, and an example of each condition."""
    about = f"{entry.items:,} items, {entry.sentences:,} sentences, {len(entry.conditions)}"
    return [
        f"{entry.name} ({entry.language})",
        f"class {entry.kind}" + (f", modifier {entry.modifier}" if entry.modifier else ""),
        f"{about} conditions: {', '.join(entry.conditions)}",
        *(f"prediction: {formula}" for formula in entry.predictions),
        "first item:",
        *(f"  {name}: {text}" for name, text in entry.example),
    ]


def dump_text(suite: Suite) -> str:
    """Return one sentence per line, item by item, with spaces between words.

    Spaces are written for all languages, so that other programs read the same words.
    """
    lines = (" ".join(variant.words) for item in suite.items for variant in item.variants)
    return "".join(f"{line}\n" for line in lines)


_FORMS: Mapping[str, tuple[str, Callable[[Suite], str]]] = {
    "syntaxgym": (".json", dump_syntaxgym),
    "text": (".txt", dump_text),
    "compact": (".yaml", dump_compact),
}


def export(suite: Suite, folder: Path, form: ExportFormat = "syntaxgym") -> Path:
    """Write a suite to a folder, under its name with ``_`` for slashes, and return the path."""
    if form not in _FORMS:
        raise SuiteError(f"unknown export format {form!r}; {nearest(form, _FORMS)}")
    suffix, dump = _FORMS[form]
    # The name may come from an untrusted file and must not point outside the folder.
    stem = re.sub(r"[^\w-]+", "_", suite.name).strip("_")
    stem = short_stem(stem) or "suite"
    path = folder / f"{stem}{suffix}"
    write_text(path, dump(suite))
    return path
