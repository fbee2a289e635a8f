"""SyntaxGym's suites in long CSV format: one row per item, condition and region.

::

    item_number,condition_name,region_number,region_name,content
    1,near,1,demonstrative,This
    1,near,2,rest,is an example .

These files contain no predictions, which are passed separately. Further columns are ignored.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gardenpath.errors import InputError
from gardenpath.eval.suites.design.formula import Formula
from gardenpath.eval.suites.design.suite import Item, Prediction, Suite, Variant, named, split_words
from gardenpath.eval.suites.formats.csv_tables import csv_columns, csv_rows
from gardenpath.eval.suites.formats.syntaxgym import (
    critical_regions,
    differing_regions,
    unique_regions,
)
from gardenpath.store.files import read_text

_COLUMNS = ("item_number", "condition_name", "region_number", "content")


@dataclass(frozen=True, slots=True)
class _Row:
    line: int
    item: int
    condition: str
    region: int
    region_name: str
    content: str


def load_syntaxgym_csv(
    path: str | Path, *, name: str = "", predictions: Mapping[str, str] | None = None
) -> Suite:
    """Read a suite, named after the file by default; ``predictions`` maps names to formulas."""
    rows = list(_rows(path))
    if not rows:
        raise InputError("contains no items", path=path)
    regions = unique_regions(_region_names(rows, path))
    items = _items(rows, len(regions), path)
    formulas = tuple(
        Prediction(each, named(Formula.parse(text), regions))
        for each, text in (predictions or {}).items()
    )
    conditions = dict.fromkeys(v.condition for item in items for v in item.variants)
    return Suite(
        name=name or Path(path).stem,
        language="en",
        regions=regions,
        conditions=tuple(conditions),
        predictions=formulas,
        items=items,
        critical=critical_regions(formulas, regions),
        differing=differing_regions(items, regions),
    )


def _rows(path: str | Path) -> Iterator[_Row]:
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""))
    if missing := [column for column in _COLUMNS if column not in csv_columns(reader, path)]:
        raise InputError(f"the header has no column {', '.join(missing)}", path=path, line=1)
    for line, row in csv_rows(reader, path):
        try:
            item, region = int(row["item_number"]), int(row["region_number"])
        except (TypeError, ValueError) as error:
            problem = "item_number and region_number must be integers"
            raise InputError(problem, path=path, line=line) from error
        region_name = row.get("region_name") or f"region_{region}"
        content = row["content"] or ""
        yield _Row(line, item, str(row["condition_name"]), region, region_name, content)


def _region_names(rows: list[_Row], path: str | Path) -> list[str]:
    names: dict[int, str] = {}
    for row in rows:
        if names.setdefault(row.region, row.region_name) != row.region_name:
            problem = f"region {row.region} is named {names[row.region]!r} in an earlier line"
            raise InputError(problem, path=path, line=row.line)
    if sorted(names) != list(range(1, len(names) + 1)):
        raise InputError(f"regions {sorted(names)} are not numbered from 1", path=path)
    return [names[number] for number in sorted(names)]


def _items(rows: list[_Row], regions: int, path: str | Path) -> tuple[Item, ...]:
    contents: dict[int, dict[str, dict[int, str]]] = {}
    for row in rows:
        places = contents.setdefault(row.item, {}).setdefault(row.condition, {})
        if row.region in places:
            problem = f"item {row.item}, {row.condition}: region {row.region} occurs twice"
            raise InputError(problem, path=path, line=row.line)
        places[row.region] = row.content
    return tuple(
        Item(
            number,
            tuple(
                Variant(
                    condition,
                    tuple(split_words(places.get(n, "")) for n in range(1, regions + 1)),
                )
                for condition, places in conditions.items()
            ),
        )
        for number, conditions in contents.items()
    )
