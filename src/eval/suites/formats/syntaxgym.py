"""Reader and writer of SyntaxGym's JSON format.

Information that SyntaxGym's format does not support (language, labels and glosses of items, names
of predictions) is written as additional entries, which SyntaxGym ignores, and is read back. If a
file has no such entries, predictions are numbered, the regions of the predictions are the critical
regions, and regions in which the variants of at least half of the items differ are treated as
differing.

All entries of ``meta`` are kept. Consecutive spaces within a region count as one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast, get_args

from gardenpath.errors import InputError
from gardenpath.eval.suites.design.averaging import with_single_variants
from gardenpath.eval.suites.design.formula import (
    WHOLE_SENTENCE,
    Formula,
    FormulaError,
    Number,
    Term,
)
from gardenpath.eval.suites.design.suite import (
    Item,
    Metric,
    Prediction,
    Suite,
    SuiteError,
    Variant,
    chance_of,
    named,
    split_words,
)
from gardenpath.safe_text import MalformedTextError, parse_json
from gardenpath.store.files import read_text

# SyntaxGym computes all metrics under this name and compares sums.
_ALL_METRICS = "all"
_CONDITION = re.compile(r"[A-Za-z0-9_-]+")
# Entries of ``meta`` that are fields of a suite; all other entries are kept unchanged.
OWN_META = (
    *("name", "language", "version", "kind", "modifier", "metric", "normalised", "spaced"),
    *("conditions", "critical", "differing", "chance", "ties", "comment", "reference"),
)
_NOT_IN_TERMS = re.compile(r"[;()\[\]%]")


def load_syntaxgym(path: str | Path) -> Suite:
    """Read a suite; formulas refer to regions by name afterwards."""
    content = _read(path)
    try:
        return _suite(content, path)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        problem = f"is not a suite: {type(error).__name__} {error}"
        remedy = "SyntaxGym's JSON has meta, region_meta, predictions and items"
        raise InputError(problem, path=path, remedy=remedy) from error
    except FormulaError as error:
        raise InputError(str(error), path=path) from error


def _read(path: str | Path) -> Any:
    try:
        return parse_json(read_text(path))
    except MalformedTextError as error:
        raise InputError(error.problem, path=path, line=error.line) from error


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
    found = dict.fromkeys(v.condition for item in items for v in item.variants)
    return Suite(
        name=str(meta["name"]).strip(),
        language=_text(meta, "language", "en"),
        regions=regions,
        conditions=tuple(meta.get("conditions", found)),
        predictions=predictions,
        items=items,
        kind=_text(meta, "kind"),
        modifier=_text(meta, "modifier"),
        version=_text(meta, "version", "1"),
        metric=_metric(_text(meta, "metric", "sum"), path),
        normalised=bool(meta.get("normalised", False)),
        spaced=bool(meta.get("spaced", True)),
        critical=tuple(meta.get("critical", critical_regions(predictions, regions))),
        differing=tuple(meta.get("differing", differing_regions(items, regions))),
        chance=None if meta.get("chance") is None else chance_of(meta["chance"]),
        ties="complete" if meta.get("ties") == "complete" else "any",
        description=_text(meta, "comment"),
        reference=_text(meta, "reference"),
        meta={key: value for key, value in meta.items() if _is_further(key, value)},
    )


def _text(meta: Mapping[str, Any], key: str, otherwise: str = "") -> str:
    value = meta.get(key)
    return otherwise if value is None else str(value).strip()


def _is_further(key: str, value: object) -> bool:
    """Whether an entry must be kept in ``meta``; an empty author is always written."""
    return key not in OWN_META and (key, value) != ("author", "")


def _metric(name: str, path: str | Path) -> Metric:
    if name == _ALL_METRICS:
        return "sum"
    if name not in get_args(Metric):
        raise InputError(
            f"unknown metric {name!r}", path=path, remedy=f"valid: {', '.join(get_args(Metric))}"
        )
    return cast(Metric, name)


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
    found: dict[str, None] = {}
    for number, name in enumerate(names, start=1):
        plain = " ".join(_NOT_IN_TERMS.sub(" ", name).split())
        if not plain or plain.isdecimal() or plain == WHOLE_SENTENCE:
            plain = f"region_{number}"
        found[f"{plain}.{number}" if plain in found else plain] = None
    return tuple(found)


def critical_regions(
    predictions: Iterable[Prediction], regions: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the regions that occur in predictions."""
    terms = {term.region for one in predictions for term in one.formula.terms}
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
    for condition in single.conditions:
        if not _CONDITION.fullmatch(condition):
            raise SuiteError(
                f"{suite.name}: SyntaxGym cannot read the condition {condition!r}; use only "
                "letters, digits, _ and -"
            )
    content = {
        "meta": _meta(single),
        "region_meta": {str(n): name for n, name in enumerate(single.regions, start=1)},
        "predictions": [
            {"type": "formula", "formula": _numbered(single, one.formula), "name": one.name}
            for one in single.predictions
        ],
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
        **{key: value for key, value in suite.meta.items() if key not in OWN_META},
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


def _numbered(suite: Suite, formula: Formula) -> str:
    """Return the formula with region numbers and round brackets for all SyntaxGym versions."""

    def number(leaf: Term | Number) -> Term | Number:
        if isinstance(leaf, Number) or leaf.region == WHOLE_SENTENCE:
            return leaf
        return Term(str(suite.region_index(leaf.region) + 1), leaf.condition)

    return str(formula.replace(number)).replace("[", "(").replace("]", ")")
