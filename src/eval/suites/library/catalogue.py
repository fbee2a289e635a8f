"""Catalogue of suites: a table with counts and examples, and export to files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.table import Table
from rich.text import Text

from gardenpath.eval.suites.design.suite import Suite, SuiteError
from gardenpath.eval.suites.formats.compact import dump_compact
from gardenpath.eval.suites.formats.syntaxgym import dump_syntaxgym
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


def suite_table(entries: Sequence[SuiteEntry], *, examples: bool = True) -> Table:
    """Return the catalogue as a table for the terminal."""
    found = Table(title="Test suites", title_justify="left", show_lines=examples)
    found.add_column("suite", overflow="fold")
    found.add_column("language")
    for heading in ("items", "sentences", "conditions"):
        found.add_column(heading, justify="right")
    if examples:
        found.add_column("example", overflow="fold")
    for entry in entries:
        counts = (f"{entry.items:,}", f"{entry.sentences:,}", str(len(entry.conditions)))
        lines = "\n".join(f"{name}: {text}" for name, text in entry.example)
        cells = (entry.name, entry.language, *counts, *([lines] if examples else []))
        # Square brackets in a sentence must not be read as markup.
        found.add_row(*map(Text, cells))
    return found


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
