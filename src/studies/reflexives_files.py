"""The published reflexive stimuli (Hu et al. 2020), and the surprisals of BERT that go with them.

``layouts`` imports surprisals for them, and scores runs of our own on them. There is one CSV file
per experiment and pronoun, ``exp2-rc/herself.csv``. An item has several rows per condition, in
which the nouns are exchanged; these become variants, which are averaged before conditions are
compared. Rows of an item need not be contiguous.

Conditions come from the sentences: a sentence is ungrammatical if the noun that binds the pronoun
differs from it in number, a distractor if the other noun does. ``mismatch_position`` says the same;
a file in which it does not is refused. The labels ``grammatical`` and ``locality`` contradict the
sentences in some rows of one experiment. The authors' script used ``grammatical``, as does
``conditions="labels"`` here.

A row gives its sentence twice, with and without ``<eos>``. In one row the two differ in a word;
surprisals may be those of either.
"""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gardenpath.errors import InputError
from gardenpath.eval.published.files import (
    ConditionSource,
    ScoredSentence,
    check_folders,
    number_of,
    read_lines,
)
from gardenpath.eval.published.pairing import Materials
from gardenpath.eval.suites.formula import Formula
from gardenpath.eval.suites.nodes import csv_columns, csv_rows
from gardenpath.eval.suites.regions import is_edge
from gardenpath.eval.suites.suite import Item, Prediction, Suite, Variant
from gardenpath.util import Words, is_count

_PRONOUNS = ("herself", "himself", "themselves")
_CONDITIONS = ("baseline", "distractor", "ungrammatical")
# Name of each experiment in the paper, and which of the two nouns binds the pronoun.
EXPERIMENTS = {
    "exp1a-ml-rc": ("exp1a", 0),
    "exp1b-ml-comp": ("exp1b", 1),
    "exp2-rc": ("exp2a", 0),
    "exp3-comp": ("exp2b", 1),
    "exp4-pp": ("exp3", 0),
}

_CONDITION_OF_POSITION = {
    "none": "baseline",
    **dict.fromkeys(("rc_subj", "nonlocal_subj", "distractor"), "distractor"),
    **dict.fromkeys(("matrix_subj", "local_subj", "head"), "ungrammatical"),
}

# Items that Table 3 of the paper leaves out, by pronoun, in the experiments with 75 released items.
UNUSED_ITEMS = {"himself": range(46, 61), "themselves": range(46, 61), "herself": range(61, 76)}
EXPERIMENTS_WITH_UNUSED_ITEMS = ("exp2a", "exp2b", "exp3")

_LICENSING = Prediction(
    "licensing",
    Formula.parse(
        "(reflexive;%ungrammatical%) > (reflexive;%baseline%)"
        " & (reflexive;%ungrammatical%) > (reflexive;%distractor%)"
    ),
)

_COLUMNS = (
    *("item", "grammatical", "mismatch_position", "pronoun", "verb"),
    *("sentence", "sentence_no_eos"),
)


@dataclass(frozen=True)
class Stimuli:
    """The suite of one experiment and pronoun, and the rows of its file.

    ``contradicting`` counts rows by wrong label.
    """

    materials: Materials
    contradicting: Mapping[str, int]
    rows: tuple[Mapping[str, str], ...]

    @property
    def notes(self) -> list[str]:
        name = self.materials.suite.name
        return [
            f"{name}: {label} contradicts the sentence in {count} rows"
            for label, count in self.contradicting.items()
        ]


@dataclass(frozen=True, slots=True)
class _Row:
    line: int
    item: int
    condition: str
    labelled: tuple[str, ...]
    words: Words
    other: tuple[Words, ...]
    cells: Mapping[str, str]


def load_reflexives(
    folders: Sequence[Path], conditions: ConditionSource = "sentences"
) -> dict[tuple[str, str], Stimuli]:
    """Read the suites in folders of experiments, by experiment (its folder) and pronoun."""
    check_folders(folders)
    stimuli: dict[tuple[str, str], Stimuli] = {}
    for path in sorted({path for folder in folders for path in folder.rglob("*.csv")}):
        key = (path.parent.name, path.stem)
        if path.stem not in _PRONOUNS or path.parent.name not in EXPERIMENTS:
            continue
        if key in stimuli:
            raise InputError(f"is the same suite as {stimuli[key].materials.path}", path=path)
        stimuli[key] = read_stimuli(path, conditions)
    if not stimuli:
        known = ", ".join(EXPERIMENTS)
        raise InputError(
            "contains no reflexive stimuli",
            path=", ".join(map(str, folders)),
            remedy=f"stimuli are tables such as exp2-rc/herself.csv; experiments: {known}",
        )
    return stimuli


def read_stimuli(path: Path, conditions: ConditionSource = "sentences") -> Stimuli:
    name, binder = EXPERIMENTS[path.parent.name]
    rows = [_row(line, cells, binder, path) for line, cells in _read_rows(path, _COLUMNS)]
    if not rows:
        raise InputError("contains no sentences", path=path)
    _check_items(rows, path)
    items: dict[int, list[tuple[int, Variant]]] = {}
    for place, row in enumerate(rows):
        start = len(row.words) - 1 - row.words[::-1].index(row.cells["pronoun"])
        regions = (row.words[:start], row.words[start : start + 1], row.words[start + 1 :])
        items.setdefault(row.item, []).append((place, Variant(row.condition, regions)))
    suite = Suite(
        name=f"reflexives/{name}/{path.stem}", language="en",
        regions=("context", "reflexive", "end"), conditions=_CONDITIONS, predictions=(_LICENSING,),
        items=tuple(
            Item(number, tuple(variant for _, variant in own), {"pronoun": path.stem})
            for number, own in items.items()
        ),
        kind="reflexives", modifier=name, critical=("reflexive",), ties="complete",
        reference="Hu, Chen and Levy 2020: A closer look at the performance of neural language "
        "models",
    )  # fmt: skip
    places = tuple(place for own in items.values() for place, _ in own)
    materials = Materials(
        path, suite, places, tuple(row.line for row in rows),
        other={place: row.other for place, row in enumerate(rows) if row.other},
        labels=tuple(rows[n].labelled for n in places) if conditions == "labels" else (),
    )  # fmt: skip
    return Stimuli(materials, _contradicting(rows), tuple(row.cells for row in rows))


def _read_rows(
    path: Path, columns: Sequence[str], where: str = ""
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a table, with their lines; ``where`` precedes what the header lacks."""
    reader = csv.DictReader(io.StringIO("\n".join(read_lines(path)) + "\n"))
    names = csv_columns(reader, path)
    if missing := [column for column in columns if column not in names]:
        raise InputError(f"{where}has no column {', '.join(missing)}", path=path, line=1)
    for line, row in csv_rows(reader, path):
        if any(row.get(column) is None for column in columns):
            raise InputError("has too few columns", path=path, line=line)
        yield line, row


def _row(line: int, cells: Mapping[str, str], binder: int, path: Path) -> _Row:
    pronoun, position = cells["pronoun"], cells["mismatch_position"]
    words = tuple(cells["sentence_no_eos"].split())
    spoken = tuple(word for word in cells["sentence"].split() if not is_edge(word))
    if pronoun != path.stem or pronoun not in words:
        raise InputError(f"the sentence does not contain {path.stem!r}", path=path, line=line)
    if not is_count(cells["item"]):
        raise InputError(f"item {cells['item']!r} is not a number", path=path, line=line)
    if position not in _CONDITION_OF_POSITION:
        known = ", ".join(_CONDITION_OF_POSITION)
        problem = f"mismatch_position is {position!r}"
        raise InputError(problem, path=path, line=line, remedy=f"known: {known}")
    condition = _CONDITION_OF_POSITION[position]
    said = [_condition_in(sentence, pronoun, binder) for sentence in (words, spoken)]
    if condition not in said:
        raise InputError(
            f"mismatch_position is {position!r} ({condition}), but the sentence is of condition "
            f"{said[0]}: {' '.join(words)!r}",
            path=path,
            line=line,
            remedy="the conditions of the stimuli are exchanged, or the file is of another "
            "experiment",
        )
    # The authors' script takes all rows with grammatical 0 as ungrammatical, even distractors.
    labelled = [condition] if condition != "ungrammatical" else []
    labelled += ["ungrammatical"] if cells["grammatical"] == "0" else []
    other = (spoken,) if spoken != words else ()
    return _Row(line, int(cells["item"]), condition, tuple(labelled), words, other, cells)


def _condition_in(words: Words, pronoun: str, binder: int) -> str:
    nouns = [words[n + 1] for n, word in enumerate(words[:-1]) if word.lower() == "the"]
    if len(nouns) != 2:
        return f"with {len(nouns)} nouns"
    fits = [_is_plural(noun) == (pronoun == "themselves") for noun in nouns]
    if not fits[binder]:
        return "ungrammatical" if fits[1 - binder] else "with two mismatches"
    return "baseline" if fits[1 - binder] else "distractor"


def _is_plural(noun: str) -> bool:
    is_regular = noun.endswith("s") and not noun.endswith("ss")
    return is_regular or noun.endswith(("men", "children", "people"))


def _check_items(rows: Sequence[_Row], path: Path) -> None:
    """Refuse item numbers that do not fit: every item has one verb and as many rows as others."""
    verbs: dict[int, str] = {}
    counts: Counter[tuple[int, str]] = Counter()
    for row in rows:
        if verbs.setdefault(row.item, row.cells["verb"]) != row.cells["verb"]:
            problem = f"item {row.item} has the verb {verbs[row.item]!r} in another row"
            raise InputError(problem, path=path, line=row.line, remedy="item numbers are wrong")
        counts[row.item, row.condition] += 1
    usual = Counter(counts.values()).most_common(1)[0][0]
    for item in verbs:
        for condition in _CONDITIONS:
            if counts[item, condition] != usual:
                raise InputError(
                    f"item {item} has {counts[item, condition]} rows of condition {condition}, "
                    f"others have {usual}",
                    path=path,
                    remedy="rows are missing or item numbers are wrong",
                )


def _contradicting(rows: Sequence[_Row]) -> dict[str, int]:
    wrong = [row.condition == "ungrammatical" for row in rows]
    counts = {
        "grammatical": sum(
            (row.cells["grammatical"] == "0") != is_wrong
            for row, is_wrong in zip(rows, wrong, strict=True)
        )
    }
    places = [row.cells.get("locality") for row in rows]
    # Where the label varies, it is "nonlocal" if and only if the sentence is ungrammatical.
    if len(set(places)) > 1:
        pairs = zip(places, wrong, strict=True)
        counts["locality"] = sum((place == "nonlocal") != is_wrong for place, is_wrong in pairs)
    return {label: count for label, count in counts.items() if count}


# Surprisals of masked language models as published with the stimuli.
#
# The file repeats the columns of the stimuli and adds ``bert_sentence``, in which the pronoun is
# masked, and its ``surprisal`` in bits. No other word has a surprisal.

_BERT_COLUMNS = ("pronoun", "sentence_no_eos", "bert_sentence", "surprisal")
_MASK = "***mask***"


def count_other_labels(path: Path, stimuli: Sequence[Mapping[str, str]]) -> int:
    """Return how many rows have another item or condition than the same row of the stimuli."""
    pairs = zip((row for _, row in _read_rows(path, ())), stimuli, strict=False)
    labels = ("item", "mismatch_position")
    return sum(any(row.get(name) != own[name] for name in labels) for row, own in pairs)


def read_bert(path: Path) -> list[ScoredSentence]:
    """Read one sentence per row; only the masked pronoun has a value, the others are NaN."""
    sentences = []
    for line, row in _read_rows(path, _BERT_COLUMNS, "the header "):
        words = tuple(row["sentence_no_eos"].split())
        masked = tuple(row["bert_sentence"].split())
        if masked.count(_MASK) != 1:
            raise InputError(f"{row['bert_sentence']!r} has not one mask", path=path, line=line)
        place = masked.index(_MASK)
        read = tuple(row["pronoun"] if word == _MASK else word for word in masked)
        if [word.lower() for word in words] != [word.lower() for word in read]:
            problem = f"{row['bert_sentence']!r} is not {row['sentence_no_eos']!r} with a mask"
            raise InputError(problem, path=path, line=line)
        values = [math.nan] * len(words)
        values[place] = number_of(row["surprisal"], path, line)
        sentences.append(ScoredSentence(words, tuple(values), line))
    return sentences
