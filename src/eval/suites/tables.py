"""Suites whose items are in a table, and what all YAML descriptions of suites share.

The library loads tables with or without a description here; ``yaml_suites`` takes the settings and
criteria that its formats have in common. Errors name the file and the line; nothing is guessed
about columns that have none of the usual names.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import yaml

from gardenpath.data.words.segmenting import has_han
from gardenpath.errors import InputError
from gardenpath.eval.suites.formula import WHOLE_SENTENCE, Formula, FormulaError
from gardenpath.eval.suites.nodes import (
    COLUMN_ROLES,
    CsvTable,
    YamlEntry,
    YamlNodes,
    read_items_table,
)
from gardenpath.eval.suites.regions import is_edge
from gardenpath.eval.suites.suite import (
    CountedTies,
    Item,
    Metric,
    Prediction,
    Suite,
    Variant,
    chance_of,
    named,
    split_words,
)
from gardenpath.eval.suites.syntaxgym import critical_regions, differing_regions
from gardenpath.store.tables import SENTENCES
from gardenpath.util import enumeration, is_count

# Settings and criteria: predictions, effects in bits, and factors. Without predictions, each effect
# is predicted to be above zero.

TEXT_KEYS = ("name", "language", "version", "kind", "modifier", "description", "reference")
# Entries of the same names in all descriptions of suites.
SHARED_KEYS = (
    *(*TEXT_KEYS, "critical", "differing", "spaced", "normalised", "metric", "chance", "ties"),
    *("conditions", "regions", "predictions", "effects", "factors"),
)


def suite_settings(nodes: YamlNodes, entries: Mapping[str, YamlEntry]) -> dict[str, Any]:
    """Return texts, flags, metric, chance and ties of a suite, as far as they are given."""
    settings: dict[str, Any] = {}
    choices = {"spaced": ("true", "false"), "normalised": ("true", "false")}
    choices |= {"metric": get_args(Metric), "ties": get_args(CountedTies)}
    for name, entry in entries.items():
        if name in TEXT_KEYS:
            settings[name] = nodes.text(entry.value, name).strip()
        elif name in choices:
            chosen = nodes.choice(entry.value, name, choices[name])
            settings[name] = chosen == "true" if "true" in choices[name] else chosen
        elif name == "chance":
            try:
                settings[name] = chance_of(nodes.text(entry.value, name).strip())
            except ValueError as error:
                raise nodes.error(f"chance: {error}", entry.value) from error
    return settings


@dataclass(frozen=True, slots=True)
class CriteriaReader:
    """Reads criteria; names of regions and conditions must be those of the suite."""

    nodes: YamlNodes
    regions: tuple[str, ...]
    conditions: tuple[str, ...]

    def predictions(self, entries: Mapping[str, YamlEntry]) -> tuple[Prediction, ...]:
        """Return the predictions; without any, that effects are above zero."""
        if "predictions" in entries:
            return self._formulas("prediction", entries["predictions"].value)
        return tuple(
            Prediction(effect.name, Formula.parse(f"[{effect.formula}] > 0"))
            for effect in self.effects(entries)
        )

    def effects(self, entries: Mapping[str, YamlEntry]) -> tuple[Prediction, ...]:
        """Return the quantities in bits."""
        if "effects" not in entries:
            return ()
        return self._formulas("effect", entries["effects"].value)

    def _formulas(
        self, what: Literal["prediction", "effect"], node: yaml.Node
    ) -> tuple[Prediction, ...]:
        entries = self.nodes.mapping(node, "criteria")
        criteria = [self._formula(what, name, entry) for name, entry in entries.items()]
        for criterion in criteria:
            place = f"{what} {criterion.name}"
            if what == "prediction" and not criterion.formula.is_claim:
                problem = f"{place}: compares nothing"
                remedy = "write a comparison, as in (verb;%a%) > (verb;%b%), or move it to effects:"
            elif what == "effect" and criterion.formula.is_claim:
                problem = f"{place}: is a comparison, which is true or false"
                example = "(verb;%a%) - (verb;%b%)"
                remedy = f"write a difference, as in {example}, or move it to predictions:"
            else:
                continue
            raise self.nodes.error(problem, entries[criterion.name].value, remedy)
        return tuple(criteria)

    def factors(self, entry: YamlEntry | None) -> dict[str, dict[str, str]]:
        """Return the levels of all factors, by condition."""
        if entry is None:
            return {}
        factors = {}
        for condition, own in self.nodes.mapping(entry.value, "factors").items():
            self.nodes.require_known(condition, self.conditions, "factors: condition", own.key)
            what = f"factors of {condition}"
            for name, level in self.nodes.mapping(own.value, what).items():
                if name in SENTENCES.names:
                    problem = f"factor {name!r} has the name of a column of the results"
                    raise self.nodes.error(problem, level.key, "give it another name")
            factors[condition] = self.nodes.texts(own.value, what)
        missing = [condition for condition in self.conditions if condition not in factors]
        if missing or len({frozenset(levels) for levels in factors.values()}) > 1:
            lacking = f"condition {missing[0]} has none" if missing else "conditions differ"
            remedy = "give every condition a level of every factor"
            raise self.nodes.error(f"factors: {lacking}", entry.value, remedy)
        return factors

    def _formula(self, what: str, name: str, entry: YamlEntry) -> Prediction:
        try:
            text = self.nodes.text(entry.value, f"{what} {name}")
            formula = named(Formula.parse(text), self.regions)
        except FormulaError as error:
            raise self.nodes.error(f"{what} {name}: {error}", entry.value) from error
        regions = (*self.regions, WHOLE_SENTENCE)
        place = f"{what} {name}"
        for term in formula.terms:
            self.nodes.require_known(term.region, regions, f"{place}: region", entry.value)
            self.nodes.require_known(
                term.condition, self.conditions, f"{place}: condition", entry.value
            )
        return Prediction(name, formula)


# Suites whose items are in a table, described by a short YAML file (docs/suites.md#tables).
#
# A table has one row per sentence, with a column for each region; or one row per word or region,
# with a column ``region``; or one row per sentence with a column ``sentence``, which is then the
# only region. ``regions`` and ``conditions`` may be mappings: from the names in the suite to
# columns, and from the values in the table to names.

_FILE = {"table", "sheet"}
_KEYS = (*SHARED_KEYS, *sorted(_FILE), "columns", "only")
_SENTENCE = "sentence"

# Entry of ``meta`` that says how the table of a suite is laid out, for files of its surprisals: its
# ``path``, its ``columns`` by role, the rows that belong to it (``only``), the names of
# ``conditions`` by the values of the table, the numbers of ``items`` by their names, if these are
# not numbers, and for each variant the ``lines`` in which it starts.
TABLE_META = "table"

# Rows of the table, each with its line.
_Rows = list[tuple[int, Mapping[str, str]]]


def is_table_suite(path: Path) -> bool:
    """Whether a YAML file describes a table, that is, has an entry ``table``."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError):
        return False
    return any(line.startswith("table:") for line in lines)


def load_table_suite(path: str | Path | YamlNodes) -> Suite:
    """Read a suite from its description and the table that it names, relative to the file."""
    nodes = path if isinstance(path, YamlNodes) else YamlNodes(str(path))
    root = nodes.root()
    required = ("name", "language", "table")
    entries = nodes.entries(root, "a suite", known=_KEYS, required=required)
    settings = suite_settings(nodes, entries)
    roles = ("columns", "regions", "conditions", "only")
    texts = {name: nodes.text(entries[name].value, name).strip() for name in _FILE & set(entries)}
    table = read_items_table(Path(nodes.path).parent / texts["table"], sheet=texts.get("sheet"))
    places = _Places(table, **{role: _mapping(nodes, entries.get(role)) for role in roles})
    items = places.items()
    conditions = tuple(dict.fromkeys(v.condition for item in items for v in item.variants))
    names = places.region_names
    criteria = CriteriaReader(nodes, names, conditions)
    if not {"predictions", "effects"} & set(entries):
        remedy = "add predictions:, or effects: in bits (docs/suites.md)"
        raise nodes.error("the suite has no predictions or effects", root, remedy)
    predictions = criteria.predictions(entries)
    settings |= {
        "critical": critical_regions(predictions, names) or names,
        "differing": differing_regions(items, names),
    }
    for name in ("critical", "differing"):
        if name in entries:
            settings[name] = tuple(_mapping(nodes, entries[name]))
    return Suite(
        **settings,
        regions=names,
        conditions=conditions,
        predictions=predictions,
        effects=criteria.effects(entries),
        factors=criteria.factors(entries.get("factors")),
        items=items,
        meta={TABLE_META: places.order()},
    )


def _mapping(nodes: YamlNodes, entry: YamlEntry | None) -> dict[str, str]:
    if entry is None:
        return {}
    if isinstance(entry.value, yaml.MappingNode):
        return nodes.texts(entry.value, "a mapping")
    names = [nodes.text(node, "a name") for node in nodes.items(entry.value)]
    return dict(zip(names, names, strict=True))


@dataclass(frozen=True)
class _Places:
    """Which columns of a table hold what."""

    table: CsvTable
    columns: Mapping[str, str]
    regions: Mapping[str, str]
    conditions: Mapping[str, str]
    only: Mapping[str, str]

    @cached_property
    def region_names(self) -> tuple[str, ...]:
        if self.regions:
            return tuple(self.regions)
        if self.column("region") is None:
            return (_SENTENCE,)
        column = self.required("region")
        sentences = [rows for own in self.groups.values() for rows in own.values()]
        return _merged([[row[column].strip() for _, row in rows] for rows in sentences])

    def column(self, role: str) -> str | None:
        """Return the column of a role, by its given or one of its usual names."""
        if role in self.columns:
            if self.columns[role] not in self.table.header:
                raise self._lacks(self.columns[role])
            return self.columns[role]
        return self.table.column(COLUMN_ROLES[role])

    def required(self, role: str) -> str:
        column = self.column(role)
        if column is None:
            regions = "list the columns of the regions, as in regions: [subject, verb], or "
            remedy = f"name it, as in 'columns: {{{role}: …}}'; "
            raise self._lacks(role, (regions if role == _SENTENCE else "") + remedy)
        return column

    def _lacks(self, column: str, remedy: str = "") -> InputError:
        return InputError(
            f"has no column {column!r}",
            path=self.table.path,
            line=self.table.line,
            remedy=f"{remedy}its columns: {', '.join(self.table.header)}",
        )

    @cached_property
    def rows(self) -> _Rows:
        for column in self.only:
            if column not in self.table.header:
                raise self._lacks(column)
        rows = [
            (line, row)
            for line, row in self.table.rows
            if all(row[column].strip() == value for column, value in self.only.items())
        ]
        if not rows:
            shown = ", ".join(f"{column} {value!r}" for column, value in self.only.items())
            problem = f"has no rows with {shown}" if shown else "has no rows"
            raise InputError(problem, path=self.table.path)
        suite = self.column("suite")
        names = dict.fromkeys(row[suite].strip() for _, row in rows) if suite else {}
        if suite and len(names) > 1:
            raise InputError(
                f"holds several suites: {enumeration(list(names)[:3])}",
                path=self.table.path,
                remedy=f"select one, as in 'only: {{{suite}: {next(iter(names))}}}'",
            )
        return rows

    def items(self) -> tuple[Item, ...]:
        names = {number: name for name, number in self.item_numbers.items()}
        items = []
        for number, sentences in self.groups.items():
            variants = tuple(
                Variant(self.conditions.get(key[0], key[0]), self.cut(rows))
                for key, rows in sentences.items()
            )
            items.append(Item(number, variants, {"item_name": names[number]} if names else {}))
        return tuple(items)

    def order(self) -> dict[str, Any]:
        """Return where the sentences of the suite are in the table (see ``TABLE_META``)."""
        return {
            "path": str(self.table.path),
            "columns": dict(self.columns),
            "conditions": dict(self.conditions),
            "only": dict(self.only),
            "items": self.item_numbers,
            "lines": [rows[0][0] for own in self.groups.values() for rows in own.values()],
        }

    @cached_property
    def groups(self) -> dict[int, dict[tuple[str, ...], _Rows]]:
        item, condition = self.required("item"), self.required("condition")
        groups: dict[int, dict[tuple[str, ...], _Rows]] = {}
        extra = [name for role in ("variant", "sentence_id") if (name := self.column(role))]
        for line, row in self.rows:
            name = row[item].strip()
            if not name:
                raise InputError("the item is missing", path=self.table.path, line=line)
            number = self.item_numbers[name] if self.item_numbers else int(name)
            key = (row[condition].strip(), *(row[name] for name in extra))
            key = key if self.is_long else (*key, str(line))
            groups.setdefault(number, {}).setdefault(key, []).append((line, row))
        return groups

    @cached_property
    def item_numbers(self) -> dict[str, int]:
        """Number the items in order of appearance by their names; empty if these are numbers."""
        column = self.required("item")
        names = dict.fromkeys(row[column].strip() for _, row in self.rows)
        if all(is_count(name) for name in names if name):
            return {}
        return {name: number for number, name in enumerate(names, start=1)}

    @cached_property
    def is_long(self) -> bool:
        has_own_columns = set(self.regions.values()) & set(self.table.header)
        return self.column("region") is not None and not has_own_columns

    def cut(self, rows: _Rows) -> tuple[tuple[str, ...], ...]:
        if not self.is_long:
            (line, row), *_ = rows
            columns = list(self.regions.values()) or [self.required("sentence")]
            if missing := [name for name in columns if name not in row]:
                raise self._lacks(missing[0])
            words = tuple(_words(row[name]) for name in columns)
            if not any(words):
                raise InputError("the sentence is empty", path=self.table.path, line=line)
            return words
        region = self.required("region")
        text = self.column("word") or self.required("content")
        # The values of the column region, in the order of the regions.
        names = tuple(self.regions.values()) or self.region_names
        codes = {code: place for place, code in enumerate(names)}
        cut: list[list[str]] = [[] for _ in codes]
        last = 0
        for line, row in rows:
            place = codes.get(row[region].strip())
            if place is None or place < last:
                problem = f"region {row[region]!r} is unknown or out of order"
                remedy = f"list the regions in their order; now {', '.join(codes)}"
                raise InputError(problem, path=self.table.path, line=line, remedy=remedy)
            cut[place] += _words(row[text])
            last = place
        return tuple(map(tuple, cut))


def _words(text: str) -> tuple[str, ...]:
    """Return the words of a text without tokens that mark the edges of a sentence."""
    return tuple(word for word in split_words(text) if not is_edge(word))


def _merged(sequences: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the names in an order that fits all sequences, from which names may be missing.

    Of names that could come next, the one that appears first does. If no order fits, the rest is in
    order of appearance, and the sentence that does not fit is reported later.
    """
    left = list(dict.fromkeys(name for names in sequences for name in names))
    before = {pair for names in sequences for pair in itertools.pairwise(names) if len({*pair}) > 1}
    merged: list[str] = []
    while left:
        free = [name for name in left if not any((other, name) in before for other in left)]
        merged.append(free[0] if free else left[0])
        left.remove(merged[-1])
    return tuple(merged)


# Criteria of a table of items that are given on the command line, without a description in YAML.

_NAMED = re.compile(r"\s*([^\W\d]\w*)\s*[:=]\s*([(\[].*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenCriteria:
    """Formulas, each with or without a name before it, and the regions of a table in order."""

    predictions: Sequence[str] = ()
    effects: Sequence[str] = ()
    regions: Sequence[str] = ()

    def __bool__(self) -> bool:
        return bool(self.predictions or self.effects or self.regions)


def load_given_table(path: Path, criteria: GivenCriteria) -> Suite:
    """Return the suite of a table of items, with the criteria; it has the name of its file."""
    text = " ".join(cell for _, row in read_items_table(path).rows for cell in row.values())
    entries: dict[str, object] = {
        "name": path.stem,
        "language": "zh" if has_han(text) else "en",
        "table": path.name,
    }
    if criteria.regions:
        entries["regions"] = list(criteria.regions)
    for what, formulas in (("prediction", criteria.predictions), ("effect", criteria.effects)):
        # Formulas without a name are numbered if there are several.
        by_name: dict[str, str] = {}
        for number, written in enumerate(formulas, start=1):
            parts = _NAMED.fullmatch(written)
            usual = what if len(formulas) == 1 else f"{what}_{number}"
            name, formula = parts.groups() if parts else (usual, written)
            if name in by_name:
                remedy = 'give each a name of its own, as in "first: (…) > (…)"'
                raise InputError(f"two {what}s are called {name!r}", path=path, remedy=remedy)
            by_name[name] = formula
        if by_name:
            entries[f"{what}s"] = by_name
    return load_table_suite(YamlNodes(str(path), json.dumps(entries)))
