"""Add files of other forms than tables to an import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gardenpath.errors import InputError
from gardenpath.eval.published.beginnings import MOST_DIFFERENT
from gardenpath.eval.published.forms.foreign import ForeignFile
from gardenpath.eval.published.forms.text_matching import find_sentences
from gardenpath.eval.published.imported import FileForm, Importing
from gardenpath.eval.published.pairing import in_file_order
from gardenpath.eval.published.token_tables import TableRun, TableSentence, TokenTable
from gardenpath.eval.suites.design.formula import WHOLE_SENTENCE
from gardenpath.eval.suites.design.suite import Suite
from gardenpath.eval.suites.scoring.scored_items import RunName
from gardenpath.text import plural


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
