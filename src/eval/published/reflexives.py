"""The published reflexive stimuli (Hu et al. 2020) and two-column surprisals for them.

There is one CSV file per experiment and pronoun, ``exp2-rc/herself.csv``. An item has several rows
per condition, in which the nouns are exchanged; these become variants, which are averaged before
conditions are compared. Surprisals are ``token surprisal`` lines, in the order of the rows.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

from gardenpath.errors import InputError
from gardenpath.eval.published.fitting import FittedSurprisals, fit
from gardenpath.eval.published.surprisal_files import ScoredSentence, read_lines
from gardenpath.eval.suites.design.formula import Formula
from gardenpath.eval.suites.design.suite import Item, Prediction, Suite, Variant
from gardenpath.eval.suites.scoring.alignment import is_edge, is_unknown

_REFERENCE = "Hu, Chen and Levy 2020: A closer look at the performance of neural language models"

_PRONOUNS = ("herself", "himself", "themselves")
_CONDITIONS = ("baseline", "distractor", "ungrammatical")
_REGIONS = ("context", "reflexive", "end")

# The material between the subject and its reflexive, by the suffix of the experiment's name.
_MODIFIERS = {
    "rc": "relative_clause",
    "sc": "sentential_complement",
    "pp": "prepositional_phrase",
}

_LICENSING = Prediction(
    "licensing",
    Formula.parse(
        "(reflexive;%ungrammatical%) > (reflexive;%baseline%)"
        " & (reflexive;%ungrammatical%) > (reflexive;%distractor%)"
    ),
)

_COLUMNS = ("item", "grammatical", "mismatch_position", "pronoun", "sentence_no_eos")


def load_reflexives(folder: Path) -> dict[tuple[str, str], Suite]:
    """Read the suites in a folder of experiments, by experiment and pronoun."""
    paths = [path for path in sorted(folder.rglob("*.csv")) if path.stem in _PRONOUNS]
    if not paths:
        raise InputError(
            "contains no reflexive stimuli",
            path=folder,
            remedy="stimuli are tables such as exp2-rc/herself.csv",
        )
    return {(path.parent.name, path.stem): read_stimuli(path) for path in paths}


def read_stimuli(path: Path) -> Suite:
    """Read the suite of one experiment and pronoun."""
    experiment, pronoun = path.parent.name, path.stem
    variants: dict[int, list[Variant]] = {}
    for line, row in _rows(path):
        try:
            number = int(row["item"])
        except ValueError:
            problem = f"item {row['item']!r} is not a number"
            raise InputError(problem, path=path, line=line) from None
        variants.setdefault(number, []).append(_variant(row, path, line))
    suffix = experiment.rpartition("-")[2]
    return Suite(
        name=f"reflexives/{experiment}/{pronoun}",
        language="en",
        regions=_REGIONS,
        conditions=_CONDITIONS,
        predictions=(_LICENSING,),
        items=tuple(
            Item(number, tuple(rows), {"pronoun": pronoun}) for number, rows in variants.items()
        ),
        kind="reflexives",
        modifier=_MODIFIERS.get(suffix, experiment),
        critical=("reflexive",),
        reference=_REFERENCE,
    )


def _rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    reader = csv.DictReader(io.StringIO("\n".join(read_lines(path))))
    names = reader.fieldnames or []
    if missing := [column for column in _COLUMNS if column not in names]:
        raise InputError(f"has no column {', '.join(missing)}", path=path, line=1)
    rows = []
    for row in reader:
        if any(row.get(column) is None for column in _COLUMNS):
            raise InputError("has too few columns", path=path, line=reader.line_num)
        rows.append((reader.line_num, row))
    return rows


def _variant(row: Mapping[str, str], path: Path, line: int) -> Variant:
    words = tuple(row["sentence_no_eos"].split())
    if row["pronoun"] not in words:
        raise InputError(f"the sentence does not contain {row['pronoun']!r}", path=path, line=line)
    place = len(words) - 1 - words[::-1].index(row["pronoun"])
    if row["grammatical"] == "0":
        condition = "ungrammatical"
    else:
        condition = "baseline" if row["mismatch_position"] == "none" else "distractor"
    return Variant(condition, (words[:place], words[place : place + 1], words[place + 1 :]))


def read_two_columns(path: Path, suite: Suite) -> FittedSurprisals:
    """Read the surprisals of a run on a suite, from lines in the order of the suite's rows.

    Sentences are separated by one or more edge tokens; in a file without such tokens, sentences
    have the lengths of the suite's sentences.
    """
    rows = _pairs(path)
    lengths = [len(variant.words) for item in suite.items for variant in item.variants]
    if any(is_edge(token) for _, token, _ in rows):
        marks = [is_edge(token) for _, token, _ in rows]
        runs = itertools.groupby(zip(marks, rows, strict=True), key=lambda pair: pair[0])
        parts = [[row for _, row in run] for is_mark, run in runs if not is_mark]
    else:
        if len(rows) != sum(lengths):
            raise InputError(
                f"has {len(rows)} words, but suite {suite.name} has {sum(lengths)}", path=path
            )
        ends = list(itertools.accumulate(lengths))
        parts = [rows[end - length : end] for end, length in zip(ends, lengths, strict=True)]
    return fit(suite, [_sentence(n, part) for n, part in enumerate(parts, 1)], path=path)


def _pairs(path: Path) -> list[tuple[int, str, float]]:
    rows = []
    for line, text in enumerate(read_lines(path), start=1):
        if not text.strip():
            continue
        fields = text.split()
        try:
            token, surprisal = fields
            rows.append((line, token, float(surprisal)))
        except ValueError:
            raise InputError(
                f"{text!r} is not a token and its surprisal", path=path, line=line
            ) from None
    return rows


def _sentence(number: int, rows: Sequence[tuple[int, str, float]]) -> ScoredSentence:
    return ScoredSentence(
        run="",
        sentence_id=str(number),
        tokens=tuple(token for _, token, _ in rows),
        surprisal_bits=tuple(surprisal for _, _, surprisal in rows),
        seen=tuple(not is_unknown(token) for _, token, _ in rows),
        line=rows[0][0],
    )
