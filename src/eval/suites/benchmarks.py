"""Files of minimal pairs as suites: BLiMP's JSON Lines, CLiMP's CSV; BabyLM's predictions.

A pair is one good and one bad sentence, and its suite compares whole sentences. The library and the
published sets (``pairs``) read files here, and results are written for BabyLM; nothing is scored.

English sentences are tokenised as in treebanks: they are split at spaces, and punctuation and
clitics are separated. ``She doesn't like Bill's dog.`` has the words ``She does n't like Bill 's
dog .``. Full stops of titles and initials (``Mr.``, ``J.``) stay with their word except at the end
of the sentence.

If a Chinese file has spaces between words, these delimit the words; otherwise a segmenter divides
its sentences, by default into characters. A file may not mix the two.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gardenpath.data.words.segmenting import Segmenter, english_words, has_han, segmenter_named
from gardenpath.errors import InputError
from gardenpath.eval.suites.formula import WHOLE_SENTENCE, Formula, Term
from gardenpath.eval.suites.nodes import csv_rows, separator_of
from gardenpath.eval.suites.regions import exact_sum
from gardenpath.eval.suites.suite import Item, Prediction, Suite, SuiteError, Variant, split_words
from gardenpath.safe_text import MalformedTextError, parse_json
from gardenpath.settings.schema import nearest
from gardenpath.store.files import read_text

GOOD, BAD = "good", "bad"
_REGION = "sentence"


@dataclass(frozen=True, slots=True)
class Pair:
    """A minimal pair as read from a file."""

    good: str
    bad: str
    line: int
    labels: Mapping[str, str] = field(default_factory=dict)


def pair_suite(
    pairs: Sequence[Pair],
    *,
    path: str | Path,
    name: str,
    language: str | None = None,
    kind: str = "",
    segmenter: Segmenter | None = None,
) -> Suite:
    """Return a suite of minimal pairs.

    Without ``language``, the suite is Chinese if any sentence contains a Chinese character and
    English otherwise. All languages except Chinese are tokenised like English. ``segmenter``
    divides Chinese sentences without blanks; None makes every character a word.
    """
    if not pairs:
        raise InputError("contains no pairs", path=path)
    written = "zh" if any(has_han(pair.good + pair.bad) for pair in pairs) else "en"
    chosen = language or written
    is_chinese = chosen.split("-")[0] in ("zh", "cmn", "yue")
    split: Callable[[str], Sequence[str]] = english_words
    if is_chinese:
        segment = (segmenter or segmenter_named("characters")).segment
        split = split_words if has_blanks(pairs, path) else segment
    items = tuple(_item(number, pair, split, path) for number, pair in enumerate(pairs, start=1))
    return Suite(
        name=name,
        language=chosen,
        regions=(_REGION,),
        conditions=(GOOD, BAD),
        predictions=(Prediction("good_preferred", Formula.parse(f"(*;%{BAD}%) > (*;%{GOOD}%)")),),
        items=items,
        kind=kind,
        spaced=not is_chinese,
        critical=(_REGION,),
    )


def _item(number: int, pair: Pair, split: Callable[[str], Sequence[str]], path: str | Path) -> Item:
    variants = []
    for condition, sentence in ((GOOD, pair.good), (BAD, pair.bad)):
        words = tuple(split(sentence))
        if not words:
            raise InputError(f"the {condition} sentence is empty", path=path, line=pair.line)
        variants.append(Variant(condition, (words,), sentence))
    return Item(number, tuple(variants), dict(pair.labels))


def has_blanks(pairs: Sequence[Pair], path: str | Path) -> bool:
    """Whether words are separated by spaces, which must be the case for all pairs or for none."""
    separated = [
        any(len(split_words(sentence)) > 1 for sentence in (pair.good, pair.bad)) for pair in pairs
    ]
    if len(set(separated)) > 1:
        line = next(p.line for p, each in zip(pairs, separated, strict=True) if not each)
        remedy = "put spaces between words in all lines or in none"
        problem = "no spaces between words, unlike other lines of the file"
        raise InputError(problem, path=path, line=line, remedy=remedy)
    return separated[0]


# JSON Lines, as in BLiMP, ZhoBLiMP and SLING, which spell the same labels differently.

_LABELS = {
    "paradigm": ("UID", "paradigm", "Paradigm"),
    "phenomenon": ("linguistics_term", "phenomenon", "Phenomenon"),
    "field": ("field",),
}


def load_blimp(path: str | Path) -> Suite:
    """Read a file of pairs; a suite with a single paradigm is named after it, else after the file.

    Paradigm, phenomenon and field become labels of the items, so results can be grouped by them.
    """
    pairs = blimp_pairs(read_text(path), path)
    paradigms = {pair.labels.get("paradigm", "") for pair in pairs}
    phenomena = {pair.labels.get("phenomenon", "") for pair in pairs}
    name = (paradigms.pop() if len(paradigms) == 1 else "") or Path(path).stem
    kind = phenomena.pop() if len(phenomena) == 1 else ""
    return pair_suite(pairs, path=path, name=name, kind=kind)


def blimp_pairs(text: str, path: str | Path) -> list[Pair]:
    """Return the pairs of a file, one per line; errors name ``path``."""
    lines = enumerate(text.split("\n"), start=1)
    return [_blimp_pair(line, number, path) for number, line in lines if line.strip()]


def _blimp_pair(line: str, number: int, path: str | Path) -> Pair:
    try:
        entry = parse_json(line)
    except MalformedTextError as error:
        raise InputError(error.problem, path=path, line=number) from error
    if not isinstance(entry, dict):
        raise InputError("every line must be a JSON object", path=path, line=number)
    good = _sentence(entry, ("sentence_good", "good_sentence"), number, path)
    bad = _sentence(entry, ("sentence_bad", "bad_sentence"), number, path)
    labels = {
        label: " ".join(str(entry[key]).split())
        for label, spellings in _LABELS.items()
        if (key := next((each for each in spellings if each in entry), None)) is not None
    }
    return Pair(good, bad, number, labels)


def _sentence(
    entry: Mapping[str, Any], spellings: tuple[str, ...], number: int, path: str | Path
) -> str:
    for key in spellings:
        if isinstance(entry.get(key), str):
            return str(entry[key])
    hint = nearest(spellings[0], entry)
    raise InputError(f"missing key {spellings[0]!r}", path=path, line=number, remedy=hint)


# CSV files: one row per sentence and two rows per pair, or one row per pair.
#
# In CLiMP, the columns are phenomenon, paradigm, sentence and label (1 for good), but one of the
# files has no header and a different order. The sentence is therefore the column of that name,
# else the last column with Chinese characters in every row; the label is a column of ones and
# zeros. Without labels, the good sentence of each pair comes first. Files with one row per pair
# have the columns ``sentence_good`` and ``sentence_bad``. Separators may be commas, semicolons or
# tabs.

_NAMES = ("phenomenon", "paradigm")


@dataclass(frozen=True, slots=True)
class _Columns:
    sentence: int
    label: int | None
    names: Mapping[str, int]


def load_climp(path: str | Path) -> Suite:
    """Read a file of pairs; the suite is named after the file."""
    pairs = climp_pairs(read_text(path), path)
    phenomena = {pair.labels.get("phenomenon", "") for pair in pairs}
    kind = phenomena.pop() if len(phenomena) == 1 else ""
    return pair_suite(pairs, path=path, name=Path(path).stem, kind=kind)


def climp_pairs(text: str, path: str | Path) -> list[Pair]:
    """Return the pairs of a file; errors name ``path``."""
    rows = _rows(text, path)
    headed = [cell.strip().lower() for cell in rows[0][1]]
    has_header = not any(has_han(cell) for cell in rows[0][1])
    if has_header:
        rows.pop(0)
    if not rows:
        raise InputError("contains no sentences", path=path)
    # The header of the published files only numbers the columns.
    is_named = has_header and any(cell and not cell.isdecimal() for cell in headed)
    return _pairs(rows, headed if is_named else [], path)


def _pairs(
    rows: Sequence[tuple[int, list[str]]], header: Sequence[str], path: str | Path
) -> list[Pair]:
    if {"sentence_good", "sentence_bad"} <= set(header):
        good_place, bad_place = header.index("sentence_good"), header.index("sentence_bad")
        places = {name: header.index(name) for name in _NAMES if name in header}
        return [
            Pair(
                row[good_place],
                row[bad_place],
                line,
                {name: row[n].strip() for name, n in places.items()},
            )
            for line, row in rows
        ]
    columns = _columns([row for _, row in rows], header, path)
    if len(rows) % 2:
        raise InputError("the last sentence has no partner", path=path, line=rows[-1][0])
    pairs = []
    for (line, good), (_, bad) in zip(rows[::2], rows[1::2], strict=True):
        if columns.label is not None:
            signs = good[columns.label].strip(), bad[columns.label].strip()
            if signs == ("0", "1"):
                good, bad = bad, good
            elif signs != ("1", "0"):
                problem = f"a pair needs one good and one bad sentence, not two labelled {signs[0]}"
                raise InputError(problem, path=path, line=line)
        labels = {name: good[place].strip() for name, place in columns.names.items()}
        pairs.append(Pair(good[columns.sentence], bad[columns.sentence], line, labels))
    return pairs


def _rows(content: str, path: str | Path) -> list[tuple[int, list[str]]]:
    text = content.removeprefix("\N{BYTE ORDER MARK}")
    separator = separator_of(text.partition("\n")[0])
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    rows = [(line, row) for line, row in csv_rows(reader, path) if any(map(str.strip, row))]
    if not rows:
        raise InputError("is empty", path=path)
    widest = max(len(row) for _, row in rows)
    for line, row in rows:
        if len(row) != widest:
            problem = f"{len(row)} columns, but other lines have {widest}"
            raise InputError(problem, path=path, line=line)
    return rows


def _columns(rows: Sequence[Sequence[str]], header: Sequence[str], path: str | Path) -> _Columns:
    places = range(len(rows[0]))
    headed = {name: place for place, name in enumerate(header)}
    chinese = [place for place in places if all(has_han(row[place]) for row in rows)]
    sentence = headed.get("sentence", chinese[-1] if chinese else None)
    if sentence is None:
        raise InputError(
            "no column is named sentence or contains a Chinese sentence in every row",
            path=path,
            line=1,
            remedy="pairs have the columns sentence and label (1, 0), "
            "or sentence_good and sentence_bad; "
            "tables of items need a YAML file (docs/suites.md)",
        )
    labels = [place for place in places if {row[place].strip() for row in rows} == {"0", "1"}]
    texts = [
        place
        for place in places
        if place != sentence and not all(row[place].strip().isdecimal() for row in rows)
    ]
    named = {each: headed[each] for each in _NAMES if each in headed}
    return _Columns(
        sentence=sentence,
        label=labels[-1] if labels else None,
        names=named or ({} if header else dict(zip(_NAMES, texts, strict=False))),
    )


# Predictions in the form of BabyLM's evaluation pipeline, ``{UID: {"predictions": [{"id": "UID_0",
# "pred": "the preferred sentence"}, …]}}``, where the UID is the paradigm of a pair.


def paired_conditions(suite: Suite) -> tuple[str, str]:
    """Return the good and the bad condition of a suite of minimal pairs."""
    formulas = [prediction.formula for prediction in suite.predictions]
    comparisons = [each for formula in formulas for each in formula.comparisons]
    sides = [side for each in comparisons for side in (each.left, each.right)]
    terms = [side for side in sides if isinstance(side, Term)]
    conditions = [term.condition for term in terms]
    is_paired = (
        len(formulas) == len(comparisons) == 1
        and len(set(conditions)) == 2
        and comparisons[0].operator != "="
        and (len(suite.regions) == 1 or all(term.region == WHOLE_SENTENCE for term in terms))
        and all(len(item.of_condition(name)) == 1 for item in suite.items for name in conditions)
    )
    if not is_paired or suite.metric != "sum" or suite.normalised:
        raise SuiteError(
            f"{suite.name}: BabyLM's predictions are for minimal pairs, of which the probabilities "
            "of whole sentences are compared; leave babylm out of task.also, or choose such suites"
        )
    good, bad = conditions if comparisons[0].operator == "<" else conditions[::-1]
    return good, bad


def dump_predictions(scored: Iterable[tuple[Suite, Sequence[Sequence[float]]]]) -> str:
    """Return the preferred sentences of suites, each with the surprisals of its variants (bits).

    Like the pipeline, it prefers the good sentence of two that are equally probable.
    """
    content: dict[str, dict[str, list[dict[str, str]]]] = {}
    for suite, rows in scored:
        good, bad = paired_conditions(suite)
        remaining = iter(rows)
        for item in suite.items:
            totals = {each.condition: exact_sum(next(remaining)) for each in item.variants}
            if math.isnan(totals[good]) or math.isnan(totals[bad]):
                raise SuiteError(
                    f"{suite.name}, item {item.number}: a word has no surprisal, so neither "
                    "sentence is preferred; leave babylm out of task.also"
                )
            preferred = item.of_condition(bad if totals[bad] < totals[good] else good)[0]
            uid = item.labels.get("paradigm", suite.name)
            own = content.setdefault(uid, {"predictions": []})["predictions"]
            # The pipeline compares texts, so sentences are those of the file, to the letter.
            text = preferred.written or suite.text(preferred)
            own.append({"id": f"{uid}_{len(own)}", "pred": text})
    return json.dumps(content, ensure_ascii=False) + "\n"
