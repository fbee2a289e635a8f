"""SyntaxGym's formats: suites as JSON, suites as CSV, and results.

The library reads and exports suites here, and result folders get SyntaxGym's form of results. What
is written can be read again; nothing is scored here.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np

from gardenpath.errors import InputError
from gardenpath.eval.suites.formula import WHOLE_SENTENCE, Formula, FormulaError, Number, Term
from gardenpath.eval.suites.nodes import csv_columns, csv_rows
from gardenpath.eval.suites.regions import ByRegion, exact_mean, exact_sum, region_tokens
from gardenpath.eval.suites.suite import (
    Item,
    Metric,
    Prediction,
    Suite,
    SuiteError,
    Variant,
    chance_of,
    named,
    split_words,
    with_single_variants,
)
from gardenpath.safe_text import MalformedTextError, parse_json
from gardenpath.store.files import read_text
from gardenpath.util import json_number

# Suites as JSON.
#
# Information that SyntaxGym's format does not support (language, labels and glosses of items, names
# of predictions) is written as additional entries, which SyntaxGym ignores, and is read back. If a
# file has no such entries, predictions are numbered, the regions of the predictions are the
# critical regions, and regions in which the variants of at least half of the items differ are
# treated as differing. All entries of ``meta`` are kept. Consecutive spaces within a region count
# as one.

_CONDITION = re.compile(r"[A-Za-z0-9_-]+")
# Entries of ``meta`` that are fields of a suite; all other entries are kept unchanged.
OWN_META = (
    *("name", "language", "version", "kind", "modifier", "metric", "normalised", "spaced"),
    *("conditions", "critical", "differing", "chance", "ties", "comment", "reference"),
)
_NOT_IN_TERMS = re.compile(r"[;()\[\]%]")


def load_syntaxgym(path: str | Path) -> Suite:
    """Read a suite; formulas refer to regions by name afterwards."""
    try:
        content: Any = parse_json(read_text(path))
    except MalformedTextError as error:
        raise InputError(error.problem, path=path, line=error.line) from error
    try:
        return _suite(content, path)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        problem = f"is not a suite: {type(error).__name__} {error}"
        remedy = "SyntaxGym's JSON has meta, region_meta, predictions and items"
        raise InputError(problem, path=path, remedy=remedy) from error
    except FormulaError as error:
        raise InputError(str(error), path=path) from error


def _suite(content: Mapping[str, Any], path: str | Path) -> Suite:
    meta = content["meta"]
    numbered = sorted((int(number), str(name)) for number, name in content["region_meta"].items())
    if [number for number, _ in numbered] != list(range(1, len(numbered) + 1)):
        raise InputError("region_meta must number the regions from 1", path=path)
    regions = unique_regions(name for _, name in numbered)
    items = tuple(_item(item, regions, path) for item in content["items"])
    if not items:
        raise InputError("a suite must have at least one item", path=path)
    predictions = tuple(
        _prediction(entry, number, regions)
        for number, entry in enumerate(content.get("predictions", ()), start=1)
    )
    conditions = dict.fromkeys(v.condition for item in items for v in item.variants)
    metric = _text(meta, "metric", "sum")
    if metric == "all":  # SyntaxGym computes all metrics under this name and compares sums.
        metric = "sum"
    if metric not in get_args(Metric):
        remedy = f"valid: {', '.join(get_args(Metric))}"
        raise InputError(f"unknown metric {metric!r}", path=path, remedy=remedy)
    return Suite(
        name=str(meta["name"]).strip(),
        language=_text(meta, "language", "en"),
        regions=regions,
        conditions=tuple(meta.get("conditions", conditions)),
        predictions=predictions,
        items=items,
        kind=_text(meta, "kind"),
        modifier=_text(meta, "modifier"),
        version=_text(meta, "version", "1"),
        metric=cast(Metric, metric),
        normalised=bool(meta.get("normalised", False)),
        spaced=bool(meta.get("spaced", True)),
        critical=tuple(meta.get("critical", critical_regions(predictions, regions))),
        differing=tuple(meta.get("differing", differing_regions(items, regions))),
        chance=None if meta.get("chance") is None else chance_of(meta["chance"]),
        ties="complete" if meta.get("ties") == "complete" else "any",
        description=_text(meta, "comment"),
        reference=_text(meta, "reference"),
        meta=_further(meta),
    )


def _text(meta: Mapping[str, Any], key: str, otherwise: str = "") -> str:
    value = meta.get(key)
    return otherwise if value is None else str(value).strip()


def _further(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries that are kept in ``meta``; an empty author is always written."""
    further = {key: value for key, value in meta.items() if key not in OWN_META}
    return {key: value for key, value in further.items() if (key, value) != ("author", "")}


def _item(entry: Mapping[str, Any], regions: Sequence[str], path: str | Path) -> Item:
    number = int(entry["item_number"])
    variants = []
    for condition in entry["conditions"]:
        name = str(condition["condition_name"])
        contents = {int(r["region_number"]): str(r["content"]) for r in condition["regions"]}
        if sorted(contents) != list(range(1, len(regions) + 1)):
            what = f"item {number}, {name}: regions {sorted(contents)}"
            raise InputError(f"{what}, but region_meta has 1 to {len(regions)}", path=path)
        variants.append(Variant(name, tuple(split_words(contents[n]) for n in sorted(contents))))
    return Item(
        number,
        tuple(variants),
        labels=dict(entry.get("labels", {})),
        gloss=tuple(split_words(str(region)) for region in entry.get("gloss", ())),
        translation=_text(entry, "translation"),
    )


def _prediction(entry: Mapping[str, Any], number: int, regions: tuple[str, ...]) -> Prediction:
    is_formula = "formula" in entry
    formula = Formula.parse(entry["formula"]) if is_formula else Formula.from_relation(entry)
    return Prediction(str(entry.get("name", f"prediction_{number}")), named(formula, regions))


def unique_regions(names: Iterable[str]) -> tuple[str, ...]:
    """Return names that formulas can use: unique, not numeric and without brackets."""
    unique: dict[str, None] = {}
    for number, name in enumerate(names, start=1):
        plain = " ".join(_NOT_IN_TERMS.sub(" ", name).split())
        if not plain or plain.isdecimal() or plain == WHOLE_SENTENCE:
            plain = f"region_{number}"
        unique[f"{plain}.{number}" if plain in unique else plain] = None
    return tuple(unique)


def critical_regions(
    predictions: Iterable[Prediction], regions: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the regions that occur in predictions."""
    terms = {term.region for prediction in predictions for term in prediction.formula.terms}
    return tuple(region for region in regions if region in terms)


def differing_regions(items: Sequence[Item], regions: tuple[str, ...]) -> tuple[str, ...]:
    """Return the regions in which the variants of at least half of the items differ."""
    counts = [
        sum(len({variant.regions[place] for variant in item.variants}) > 1 for item in items)
        for place in range(len(regions))
    ]
    return tuple(
        region for region, count in zip(regions, counts, strict=True) if 2 * count >= len(items)
    )


def dump_syntaxgym(suite: Suite) -> str:
    """Return the suite as SyntaxGym's JSON.

    Several variants of a condition become numbered conditions, and predictions compare their sums
    instead of their means.
    """
    single = with_single_variants(suite)

    def numbered(leaf: Term | Number) -> Term | Number:
        if isinstance(leaf, Number) or leaf.region == WHOLE_SENTENCE:
            return leaf
        return Term(str(suite.region_index(leaf.region) + 1), leaf.condition)

    predictions = []
    for prediction in single.predictions:
        # All versions of SyntaxGym read round brackets.
        formula = str(prediction.formula.replace(numbered)).replace("[", "(").replace("]", ")")
        predictions.append({"type": "formula", "formula": formula, "name": prediction.name})
    for condition in single.conditions:
        if not _CONDITION.fullmatch(condition):
            raise SuiteError(
                f"{suite.name}: SyntaxGym cannot read the condition {condition!r}; use only "
                "letters, digits, _ and -"
            )
    content = {
        "meta": _meta(single),
        "region_meta": {str(n): name for n, name in enumerate(single.regions, start=1)},
        "predictions": predictions,
        "items": [_item_entry(item) for item in single.items],
    }
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _meta(suite: Suite) -> dict[str, Any]:
    return {
        "name": suite.name,
        "metric": suite.metric,
        "comment": suite.description,
        "reference": suite.reference,
        "author": "",
        "language": suite.language,
        "version": suite.version,
        "kind": suite.kind,
        "modifier": suite.modifier,
        "normalised": suite.normalised,
        "spaced": suite.spaced,
        "conditions": list(suite.conditions),
        "critical": list(suite.critical),
        "differing": list(suite.differing),
        **({} if suite.chance is None else {"chance": suite.chance}),
        **({} if suite.ties == "any" else {"ties": suite.ties}),
        **_further(suite.meta),
    }


def _item_entry(item: Item) -> dict[str, Any]:
    conditions = [
        {
            "condition_name": variant.condition,
            "regions": [
                {"region_number": number, "content": " ".join(words)}
                for number, words in enumerate(variant.regions, start=1)
            ],
        }
        for variant in item.variants
    ]
    further = {
        "labels": dict(item.labels),
        "gloss": [" ".join(words) for words in item.gloss],
        "translation": item.translation,
    }
    kept = {name: value for name, value in further.items() if value}
    return {"item_number": item.number, "conditions": conditions, **kept}


# Suites in long CSV format: one row per item, condition and region::
#
#     item_number,condition_name,region_number,region_name,content
#     1,near,1,demonstrative,This
#     1,near,2,rest,is an example .
#
# These files contain no predictions. Further columns are ignored.

_COLUMNS = ("item_number", "condition_name", "region_number", "content")


def load_syntaxgym_csv(path: str | Path, *, predictions: Mapping[str, str] | None = None) -> Suite:
    """Read a suite, named after the file; ``predictions`` maps names to formulas."""
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""))
    if missing := [column for column in _COLUMNS if column not in csv_columns(reader, path)]:
        raise InputError(f"the header has no column {', '.join(missing)}", path=path, line=1)
    names: dict[int, str] = {}
    contents: dict[int, dict[str, dict[int, str]]] = {}
    for line, row in csv_rows(reader, path):
        try:
            item, region = int(row["item_number"]), int(row["region_number"])
        except (TypeError, ValueError) as error:
            problem = "item_number and region_number must be integers"
            raise InputError(problem, path=path, line=line) from error
        condition = str(row["condition_name"])
        name = row.get("region_name") or f"region_{region}"
        if names.setdefault(region, name) != name:
            problem = f"region {region} is named {names[region]!r} in an earlier line"
            raise InputError(problem, path=path, line=line)
        places = contents.setdefault(item, {}).setdefault(condition, {})
        if region in places:
            problem = f"item {item}, {condition}: region {region} occurs twice"
            raise InputError(problem, path=path, line=line)
        places[region] = row["content"] or ""
    if not contents:
        raise InputError("contains no items", path=path)
    numbers = sorted(names)
    if numbers != list(range(1, len(names) + 1)):
        raise InputError(f"regions {numbers} are not numbered from 1", path=path)
    items = tuple(
        Item(
            number,
            tuple(
                Variant(condition, tuple(split_words(places.get(n, "")) for n in numbers))
                for condition, places in conditions.items()
            ),
        )
        for number, conditions in contents.items()
    )
    regions = unique_regions(names[number] for number in numbers)
    formulas = tuple(
        Prediction(name, named(Formula.parse(text), regions))
        for name, text in (predictions or {}).items()
    )
    return Suite(
        name=Path(path).stem,
        language="en",
        regions=regions,
        conditions=tuple(dict.fromkeys(v.condition for item in items for v in item.variants)),
        predictions=formulas,
        items=items,
        critical=critical_regions(formulas, regions),
        differing=differing_regions(items, regions),
    )


# Results: the suite, with metrics over the units of every region. SyntaxGym computes sum, mean,
# median, range, maximum and minimum over the tokens of a region; the end of a sentence belongs to
# its last region. Where a run has only words, its units are words.


def word_regions(suite: Suite, rows: Sequence[Sequence[float]]) -> list[ByRegion]:
    """Return the surprisals of each region of every variant, from those of words (bits)."""
    variants = [variant for item in suite.items for variant in item.variants]
    units: list[ByRegion] = []
    for variant, row in zip(variants, rows, strict=True):
        values = iter(row)
        units.append(tuple(tuple(next(values) for _ in region) for region in variant.regions))
    return units


def token_regions(
    suite: Suite, sentences: Sequence[tuple[Sequence[str], Sequence[float]]]
) -> list[ByRegion]:
    """Return the surprisals of each region of every variant, from tokens and their bits."""
    variants = [(item, variant) for item in suite.items for variant in item.variants]
    return [
        region_tokens(suite, item, variant, tokens, values)
        for (item, variant), (tokens, values) in zip(variants, sentences, strict=True)
    ]


def dump_results(suite: Suite, by_region: Sequence[ByRegion], *, model: str) -> str:
    """Return the results of a model as SyntaxGym's JSON.

    ``by_region`` has the surprisals (bits) of the units of each region of every variant, in order.
    NaN is written as null.
    """
    content = parse_json(dump_syntaxgym(suite))
    content["meta"]["model"] = model
    rows = iter(by_region)
    for item in content["items"]:
        for condition in item["conditions"]:
            for region, values in zip(condition["regions"], next(rows), strict=True):
                metrics = region_metrics(values).items()
                region["metric_value"] = {name: json_number(value) for name, value in metrics}
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def region_metrics(surprisal_bits: Sequence[float]) -> dict[str, float]:
    """Return SyntaxGym's metrics of a region; only the sum of a region without units is defined."""
    total = exact_sum(surprisal_bits)
    if not surprisal_bits or any(map(math.isnan, surprisal_bits)):
        others = dict.fromkeys(("mean", "median", "range", "max", "min"), math.nan)
        return {"sum": total, **others}
    largest, smallest = max(surprisal_bits), min(surprisal_bits)
    return {
        "sum": total,
        "mean": exact_mean(surprisal_bits),
        "median": float(np.median(surprisal_bits)),
        "range": math.nan if largest == smallest == math.inf else largest - smallest,
        "max": largest,
        "min": smallest,
    }
