"""Minimal pairs, one good and one bad sentence, as suites that compare whole sentences.

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
from gardenpath.eval.suites.regions import exact_mean, exact_sum
from gardenpath.eval.suites.suite import Item, Prediction, Suite, SuiteError, Variant, split_words
from gardenpath.safe_text import MalformedTextError, parse_json
from gardenpath.settings.schema import nearest
from gardenpath.store.files import read_text

GOOD, BAD = "good", "bad"
REGION = "sentence"
PREDICTION = Prediction("good_preferred", Formula.parse(f"(*;%{BAD}%) > (*;%{GOOD}%)"))


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
        regions=(REGION,),
        conditions=(GOOD, BAD),
        predictions=(PREDICTION,),
        items=items,
        kind=kind,
        spaced=not is_chinese,
        critical=(REGION,),
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


# ----------------------------------------------------------------------------
# Minimal pairs in JSON Lines, as in BLiMP and its successors.
#
# Every line has the keys ``sentence_good`` and ``sentence_bad``. The paradigm is ``UID`` in BLiMP
# and ZhoBLiMP and ``paradigm`` (or ``Paradigm``) in SLING; the class of phenomenon is
# ``linguistics_term`` in BLiMP and ``phenomenon`` (or ``Phenomenon``) in the others.


_GOOD_FIELDS = ("sentence_good", "good_sentence")
_BAD_FIELDS = ("sentence_bad", "bad_sentence")
_LABELS = {
    "paradigm": ("UID", "paradigm", "Paradigm"),
    "phenomenon": ("linguistics_term", "phenomenon", "Phenomenon"),
    "field": ("field",),
}


def load_blimp(path: str | Path, *, name: str = "", language: str | None = None) -> Suite:
    """Read a file of pairs; a suite with a single paradigm is named after it, else after the file.

    Paradigm, phenomenon and field become labels of the items, so results can be grouped by them.
    """
    pairs = blimp_pairs(read_text(path), path)
    paradigms = {pair.labels.get("paradigm", "") for pair in pairs}
    phenomena = {pair.labels.get("phenomenon", "") for pair in pairs}
    called = name or (paradigms.pop() if len(paradigms) == 1 else "") or Path(path).stem
    kind = phenomena.pop() if len(phenomena) == 1 else ""
    return pair_suite(pairs, path=path, name=called, language=language, kind=kind)


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
    good, bad = (
        _sentence(entry, _GOOD_FIELDS, number, path),
        _sentence(entry, _BAD_FIELDS, number, path),
    )
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


# ----------------------------------------------------------------------------
# Minimal pairs in CSV files: one row per sentence and two rows per pair, or one row per pair.
#
# In CLiMP, the columns are phenomenon, paradigm, sentence and label (1 for good), but one of the
# files has no header and a different order. The sentence is therefore the column of that name,
# else the last column with Chinese characters in every row; the label is a column of ones and
# zeros. Without labels, the good sentence of each pair comes first. Files with one row per pair
# have the columns ``sentence_good`` and ``sentence_bad``. Separators may be commas, semicolons or
# tabs.


_NAMES = ("phenomenon", "paradigm")
_GOOD_SENTENCE, _BAD_SENTENCE = "sentence_good", "sentence_bad"


@dataclass(frozen=True, slots=True)
class _Columns:
    sentence: int
    label: int | None
    names: Mapping[str, int]


def load_climp(path: str | Path, *, name: str = "") -> Suite:
    """Read a file of pairs; the suite is named after the file unless ``name`` is given."""
    pairs = climp_pairs(read_text(path), path)
    phenomena = {pair.labels.get("phenomenon", "") for pair in pairs}
    kind = phenomena.pop() if len(phenomena) == 1 else ""
    called = name or Path(path).stem
    return pair_suite(pairs, path=path, name=called, kind=kind)


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
    if {_GOOD_SENTENCE, _BAD_SENTENCE} <= set(header):
        good, bad = header.index(_GOOD_SENTENCE), header.index(_BAD_SENTENCE)
        labels = {name: header.index(name) for name in _NAMES if name in header}
        return [
            Pair(row[good], row[bad], line, {name: row[n].strip() for name, n in labels.items()})
            for line, row in rows
        ]
    columns = _columns([row for _, row in rows], header, path)
    if len(rows) % 2:
        raise InputError("the last sentence has no partner", path=path, line=rows[-1][0])
    return [
        _climp_pair(first, second, columns, path)
        for first, second in zip(rows[::2], rows[1::2], strict=True)
    ]


def _rows(content: str, path: str | Path) -> list[tuple[int, list[str]]]:
    text = content.removeprefix("\N{BYTE ORDER MARK}")
    separator = separator_of(text.partition("\n")[0])
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    found = csv_rows(reader, path)
    rows = [(line, row) for line, row in found if any(cell.strip() for cell in row)]
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
            f"or {_GOOD_SENTENCE} and {_BAD_SENTENCE}; "
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


def _climp_pair(
    first: tuple[int, list[str]],
    second: tuple[int, list[str]],
    columns: _Columns,
    path: str | Path,
) -> Pair:
    (line, good), (_, bad) = first, second
    if columns.label is not None:
        found = good[columns.label].strip(), bad[columns.label].strip()
        if found == ("0", "1"):
            good, bad = bad, good
        elif found != ("1", "0"):
            problem = f"a pair needs one good and one bad sentence, not two labelled {found[0]}"
            raise InputError(problem, path=path, line=line)
    labels = {name: good[place].strip() for name, place in columns.names.items()}
    return Pair(good[columns.sentence], bad[columns.sentence], line, labels)


# ----------------------------------------------------------------------------
# Predictions in the form of the evaluation pipeline of BabyLM.
#
# ``{UID: {"predictions": [{"id": "UID_0", "pred": "the preferred sentence"}, …]}}``: the sentence
# of each pair with the larger probability, as its file writes it. The pipeline prefers the first,
# good sentence of a pair if both are equally probable.


# The label of the items of published pairs that the pipeline calls UID.
_UID = "paradigm"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairPrediction:
    """The preferred sentence of a pair."""

    id: str
    pred: str


# The predictions of every paradigm, in the order of its pairs.
Predictions = Mapping[str, Sequence[PairPrediction]]


def paired_conditions(suite: Suite) -> tuple[str, str]:
    """Return the good and the bad condition of a suite of minimal pairs."""
    found = _compared(suite)
    is_paired = found is not None and all(
        len(item.of_condition(name)) == 1 for item in suite.items for name in found
    )
    if found is None or not is_paired or suite.metric != "sum" or suite.normalised:
        raise SuiteError(
            f"{suite.name}: BabyLM's predictions are for minimal pairs, of which the probabilities "
            "of whole sentences are compared; leave babylm out of task.also, or choose such suites"
        )
    return found


def _compared(suite: Suite) -> tuple[str, str] | None:
    comparisons = [one for each in suite.predictions for one in each.formula.comparisons]
    if len(suite.predictions) != 1 or len(comparisons) != 1:
        return None
    (one,) = comparisons
    left, right = one.left, one.right
    if not (isinstance(left, Term) and isinstance(right, Term)) or one.operator == "=":
        return None
    is_whole = all(
        term.region == WHOLE_SENTENCE or len(suite.regions) == 1 for term in (left, right)
    )
    if not is_whole or left.condition == right.condition:
        return None
    good, bad = (left, right) if one.operator == "<" else (right, left)
    return good.condition, bad.condition


def pair_predictions(scored: Iterable[tuple[Suite, Sequence[Sequence[float]]]]) -> Predictions:
    """Return the preferred sentences of suites, each with the surprisals of its variants (bits)."""
    found: dict[str, list[PairPrediction]] = {}
    for suite, rows in scored:
        good, bad = paired_conditions(suite)
        remaining = iter(rows)
        for item in suite.items:
            totals = {one.condition: exact_sum(next(remaining)) for one in item.variants}
            if math.isnan(totals[good]) or math.isnan(totals[bad]):
                raise SuiteError(
                    f"{suite.name}, item {item.number}: a word has no surprisal, so neither "
                    "sentence is preferred; leave babylm out of task.also"
                )
            chosen = bad if totals[bad] < totals[good] else good
            uid = item.labels.get(_UID, suite.name)
            own = found.setdefault(uid, [])
            own.append(
                PairPrediction(
                    id=f"{uid}_{len(own)}", pred=written_sentence(suite, _of(item, chosen))
                )
            )
    return found


def _of(item: Item, condition: str) -> Variant:
    return item.of_condition(condition)[0]


def written_sentence(suite: Suite, variant: Variant) -> str:
    """Return a sentence as its file writes it, else its words."""
    return variant.written or suite.text(variant)


def dump_predictions(predictions: Predictions) -> str:
    """Return predictions as JSON."""
    content = {
        uid: {"predictions": [{"id": one.id, "pred": one.pred} for one in group]}
        for uid, group in predictions.items()
    }
    return json.dumps(content, ensure_ascii=False) + "\n"


def read_predictions(path: Path) -> Predictions:
    """Read a file of predictions, of this package or of the pipeline."""
    try:
        content = parse_json(read_text(path))
    except MalformedTextError as error:
        raise InputError(error.problem, path=path, line=error.line) from error
    try:
        return {
            str(uid): [
                PairPrediction(id=_text(one["id"]), pred=_text(one["pred"]))
                for one in group["predictions"]
            ]
            for uid, group in content.items()
        }
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(
            f"is not a file of predictions: {type(error).__name__} {error}",
            path=path,
            remedy='it has the form {"UID": {"predictions": [{"id": "UID_0", "pred": "…"}]}}',
        ) from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def prediction_accuracies(
    predictions: Predictions, suites: Iterable[Suite], path: Path
) -> dict[str, float]:
    """Return the share of good sentences among the predictions of each paradigm.

    Every prediction must be one of the two sentences of its pair.
    """
    pairs: dict[str, list[tuple[str, str]]] = {}
    for suite in suites:
        good, bad = paired_conditions(suite)
        for item in suite.items:
            both = [written_sentence(suite, _of(item, name)) for name in (good, bad)]
            pairs.setdefault(item.labels.get(_UID, suite.name), []).append((both[0], both[1]))
    found = {}
    for uid, group in predictions.items():
        own = pairs.get(uid, [])
        if len(own) != len(group):
            problem = f"{uid}: {len(group)} predictions for {len(own)} pairs of the suites"
            raise InputError(problem, path=path)
        found[uid] = exact_mean(
            [_is_good(one, both, path) for one, both in zip(group, own, strict=True)]
        )
    return found


def _is_good(one: PairPrediction, both: tuple[str, str], path: Path) -> float:
    good, bad, pred = (text.strip() for text in (*both, one.pred))
    if pred not in (good, bad):
        raise InputError(f"{one.id}: {pred!r} is neither {good!r} nor {bad!r}", path=path)
    return float(pred == good)
