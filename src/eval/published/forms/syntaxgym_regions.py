"""Results of SyntaxGym: a suite with ``metric_value`` for every region.

Only the sums are read. A region is one token, the surprisal of which is the sum over the region;
it cannot be divided among its words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gardenpath.data.surprisal_forms import Unit
from gardenpath.errors import InputError
from gardenpath.eval.published.forms.foreign import ForeignFile, ForeignSentence, form_unit
from gardenpath.eval.published.forms.json_records import JsonObject, list_of, log_prob, read_records
from gardenpath.eval.published.surprisal_files import ScoredSentence

_METRIC = "metric_value"


def is_syntaxgym(record: object) -> bool:
    """Whether a document is a suite with values of regions."""
    if not isinstance(record, Mapping) or not {"region_meta", "items"} <= set(record):
        return False
    return any(_METRIC in region for region in _first_regions(record["items"]))


def _first_regions(items: Any) -> list[JsonObject]:
    item = items[0] if isinstance(items, list) and items else None
    conditions = item.get("conditions") if isinstance(item, Mapping) else None
    first = conditions[0] if isinstance(conditions, list) and conditions else None
    regions = first.get("regions") if isinstance(first, Mapping) else None
    return [one for one in regions if isinstance(one, Mapping)] if isinstance(regions, list) else []


def read_syntaxgym_results(path: Path, unit: Unit | None) -> ForeignFile:
    """Read the sums of the regions of a suite."""
    records = read_records(path)
    if len(records) != 1:
        raise InputError(f"has {len(records)} documents instead of one suite", path=path)
    sentences: list[ForeignSentence] = []
    for item in list_of(records[0], "items", path, 1):
        for condition in list_of(_object(item, path), "conditions", path, len(sentences) + 1):
            sentences.append(_region_sentence(item, _object(condition, path), len(sentences) + 1, path))
    return ForeignFile(
        path=path,
        form="syntaxgym",
        unit=form_unit("syntaxgym", "bits", unit),
        sentences=tuple(sentences),
        is_by_text=False,
    )


def _object(value: Any, path: Path) -> JsonObject:
    if not isinstance(value, Mapping):
        raise InputError("items and conditions must be objects", path=path)
    return value


def _region_sentence(item: JsonObject, condition: JsonObject, number: int, path: Path) -> ForeignSentence:
    tokens, values = [], []
    name = str(condition.get("condition_name", ""))
    for region in list_of(condition, "regions", path, number):
        content = _object(region, path).get("content")
        value = region.get(_METRIC)
        if not isinstance(content, str) or not isinstance(value, Mapping) or "sum" not in value:
            raise InputError(
                f"item {item.get('item_number')}, condition {name}: a region has no content or no "
                "sum in metric_value",
                path=path,
                remedy="compute it with the metric 'sum' or 'all'",
            )
        total = math.nan if value["sum"] is None else log_prob(value["sum"], path, number)
        if content.strip():
            tokens.append(content)
            values.append(total)
        elif total not in (0.0, math.inf) and not math.isnan(total):
            problem = f"item {item.get('item_number')}, condition {name}: {total} for no words"
            raise InputError(problem, path=path)
    return ForeignSentence(
        number=number,
        scored=ScoredSentence(tuple(tokens), tuple(values), number),
        item=str(item.get("item_number", "")),
        condition=name,
    )
