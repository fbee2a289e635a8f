"""The surprisals of words in a file of any form, checked as those of an import."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gardenpath.data.surprisal_forms import SurprisalForm
from gardenpath.errors import InputError
from gardenpath.eval.published.beginnings import RunBeginnings, check_beginnings
from gardenpath.eval.published.forms.foreign import ForeignFile, numbered
from gardenpath.eval.published.forms.readable_tokens import readable_sentences
from gardenpath.eval.published.forms.recognition import read_foreign
from gardenpath.eval.published.forms.text_matching import find_sentences
from gardenpath.eval.published.forms.word_merging import merged_words, words_by_marks
from gardenpath.eval.published.import_settings import PairingRules
from gardenpath.eval.published.surprisal_files import ScoredSentence, without_edges
from gardenpath.eval.published.token_tables import TokenTable, read_words
from gardenpath.eval.published.value_checks import (
    check_values,
    in_bits,
    not_scored,
)
from gardenpath.text import Words, plural


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
    path: Path,
    form: SurprisalForm,
    rules: PairingRules,
    *,
    sentences: Sequence[Words] | None = None,
    run: str | None = None,
) -> ScoredWords:
    """Read a file of a form other than our own tables.

    ``sentences`` are those that were scored. Files that contain the text of sentences may be in
    another order; all others must be in this order.
    """
    if form == "table":
        file = _of_table(read_words(path, rules, {}), run)
    else:
        file = read_foreign(path, form, rules.unit)
    if file.is_whole or form == "syntaxgym":
        raise InputError(
            "has no numbers of words",
            path=path,
            remedy="numbers of sentences and regions are scored with task=rescore",
        )
    return _scored(file, rules, sentences)


def _of_table(table: TokenTable, run: str | None) -> ForeignFile:
    """Return the sentences of one run of a table."""
    names = [one.run or one.model for one in table.runs]
    chosen = [one for one, name in zip(table.runs, names, strict=True) if run in (None, name)]
    if len(chosen) != 1:
        raise InputError(
            f"has {len(names)} runs, such as {', '.join(names[:3])}",
            path=table.path,
            remedy="choose one, as in model.network.run=NAME",
        )
    sentences = numbered(one.scored for one in chosen[0].sentences)
    return ForeignFile(
        path=table.path,
        form="table",
        unit=table.unit,
        sentences=readable_sentences(sentences, table.path),
        is_by_text=False,
    )


def _scored(file: ForeignFile, rules: PairingRules, asked: Sequence[Words] | None) -> ScoredWords:
    path = file.path
    wanted = _own_sentences(file) if asked is None else list(asked)
    found = _by_text(file, wanted) if file.is_by_text else _in_order(file, wanted)
    bits = in_bits([without_edges(one) for one in found], file.unit, path)
    check_values(bits, path)
    bits, count = not_scored(bits)
    words = [
        merged_words(one, own, path, number)
        for number, (one, own) in enumerate(zip(bits, wanted, strict=True), start=1)
    ]
    notes = []
    if unscored := sum(math.isnan(one.values[0]) for one in words):
        first = f"first words of {plural(unscored, 'sentence')} are not scored"
        notes.append(f"{path}: {first}")
    if rules.prefixes:
        check_beginnings(words, path, shifts=count == 0)
        beginnings = RunBeginnings(str(path), is_strict=False)
        beginnings.add(words, "", path)
        notes += beginnings.check_sums()
    return ScoredWords(
        sentences=tuple(words),
        unit=file.unit.unit,
        has_pieces=any(len(one.tokens) > len(own) for one, own in zip(bits, wanted, strict=True)),
        notes=tuple(notes),
    )


def _own_sentences(file: ForeignFile) -> list[Words]:
    """Return the words of all sentences, as far as the file says them."""
    if any(one.is_first_hidden and not one.text for one in file.sentences):
        raise InputError(
            "does not contain the first tokens of its sentences",
            path=file.path,
            remedy="write the prompt of each sentence beside its numbers, as 'prompt', or name the "
            "file of the sentences, as in model.network.sentences=FILE",
        )
    return words_by_marks(file.sentences, file.path)


def _by_text(file: ForeignFile, wanted: Sequence[Words]) -> list[ScoredSentence]:
    found = find_sentences(file, wanted)
    rows = [found.of(words) for words in wanted]
    if missing := [words for words, row in zip(wanted, rows, strict=True) if row is None]:
        raise InputError(
            f"has no numbers for {len(missing)} of {len(wanted)} sentences, such as "
            f"{' '.join(missing[0])!r}",
            path=file.path,
        )
    return [row for row in rows if row is not None]


def _in_order(file: ForeignFile, wanted: Sequence[Words]) -> list[ScoredSentence]:
    if len(wanted) != len(file.sentences):
        raise InputError(
            f"has {len(file.sentences)} sentences, but {len(wanted)} were to be scored",
            path=file.path,
            remedy="the file of the sentences has one line for each, in the same order",
        )
    return [one.scored for one in file.sentences]
