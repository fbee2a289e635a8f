"""Criteria of suites of one's own: predictions, effects in bits, and factors.

::

    predictions:
      agreement: (verb;%mismatch%) > (verb;%match%)
    effects:
      mismatch_effect: (verb;%mismatch%) - (verb;%match%)
    factors:
      match: {number: same}
      mismatch: {number: different}

Without predictions, each effect is predicted to be above zero.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

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
from gardenpath.settings.schema import nearest
from gardenpath.store.tables import SENTENCES
from gardenpath.util import enumeration, is_count

CRITERIA_KEYS = ("predictions", "effects", "factors")

_WRITE_A_COMPARISON = "write a comparison, as in (verb;%a%) > (verb;%b%), or move it to effects:"
_WRITE_A_QUANTITY = "write a difference, as in (verb;%a%) - (verb;%b%), or move it to predictions:"


@dataclass(frozen=True, slots=True)
class CriteriaReader:
    """Reads criteria; names of regions and conditions must be those of the suite."""

    nodes: YamlNodes
    regions: tuple[str, ...]
    conditions: tuple[str, ...]

    def predictions(self, entries: Mapping[str, YamlEntry]) -> tuple[Prediction, ...]:
        """Return the predictions; without any, that effects are above zero."""
        if "predictions" not in entries:
            effects = self.effects(entries)
            return tuple(
                Prediction(one.name, Formula.parse(f"[{one.formula}] > 0")) for one in effects
            )
        node = entries["predictions"].value
        found = [self._formula("prediction", name, one) for name, one in self._named(node)]
        for one, (_, entry) in zip(found, self._named(node), strict=True):
            if not one.formula.is_claim:
                problem = f"prediction {one.name}: compares nothing"
                raise self.nodes.error(problem, entry.value, _WRITE_A_COMPARISON)
        return tuple(found)

    def effects(self, entries: Mapping[str, YamlEntry]) -> tuple[Prediction, ...]:
        """Return the quantities in bits."""
        if "effects" not in entries:
            return ()
        node = entries["effects"].value
        found = [self._formula("effect", name, one) for name, one in self._named(node)]
        for one, (_, entry) in zip(found, self._named(node), strict=True):
            if one.formula.is_claim:
                problem = f"effect {one.name}: is a comparison, which is true or false"
                raise self.nodes.error(problem, entry.value, _WRITE_A_QUANTITY)
        return tuple(found)

    def factors(self, entry: YamlEntry | None) -> dict[str, dict[str, str]]:
        """Return the levels of all factors, by condition."""
        if entry is None:
            return {}
        found = {}
        for condition, own in self.nodes.mapping(entry.value, "factors").items():
            self._known(condition, self.conditions, "factors: condition", own.key)
            levels = self.nodes.mapping(own.value, f"factors of {condition}")
            found[condition] = {
                name: self.nodes.text(one.value, name).strip() for name, one in levels.items()
            }
            for name, one in levels.items():
                if name in SENTENCES.names:
                    problem = f"factor {name!r} has the name of a column of the results"
                    raise self.nodes.error(problem, one.key, "give it another name")
        named_factors = {frozenset(levels) for levels in found.values()}
        missing = [one for one in self.conditions if one not in found]
        if missing or len(named_factors) > 1:
            lacking = f"condition {missing[0]} has none" if missing else "conditions differ"
            raise self.nodes.error(
                f"factors: {lacking}", entry.value, "give every condition a level of every factor"
            )
        return found

    def _named(self, node: yaml.Node) -> list[tuple[str, YamlEntry]]:
        return list(self.nodes.mapping(node, "criteria").items())

    def _formula(self, what: str, name: str, entry: YamlEntry) -> Prediction:
        try:
            text = self.nodes.text(entry.value, f"{what} {name}")
            formula = named(Formula.parse(text), self.regions)
        except FormulaError as error:
            raise self.nodes.error(f"{what} {name}: {error}", entry.value) from error
        for term in formula.terms:
            places = (*self.regions, WHOLE_SENTENCE)
            self._known(term.region, places, f"{what} {name}: region", entry.value)
            self._known(term.condition, self.conditions, f"{what} {name}: condition", entry.value)
        return Prediction(name, formula)

    def _known(self, name: str, valid: tuple[str, ...], what: str, node: yaml.Node) -> None:
        if name not in valid:
            raise self.nodes.error(f"{what} {name!r} is unknown", node, nearest(name, valid))


# ----------------------------------------------------------------------------
# Suites whose items are in a table, described by a short YAML file.
#
# The YAML file names the table, its regions and conditions, and the predictions::
#
#     name: agreement
#     language: en
#     table: items.csv
#     regions: [subject, verb, rest]
#     conditions: {a: match, b: mismatch}
#     predictions:
#       agreement: (verb;%mismatch%) > (verb;%match%)
#
# A table has one row per sentence, with a column for each region; or one row per word or region,
# with a column ``region``; or one row per sentence with a column ``sentence``, which is then the
# only region. ``regions`` and ``conditions`` may be mappings: from the names in the suite to
# columns, and from the values in the table to names. ``columns`` maps roles (``item``,
# ``condition``, ``region``, ``word``, ``content``, ``sentence``) to the names of columns, and
# ``only`` selects rows: ``{suite: agreement}``.


_TEXTS = ("name", "language", "version", "kind", "modifier", "description", "reference")
_LISTS = ("critical", "differing")
_KEYS = (
    *(*_TEXTS, *_LISTS, "table", "sheet", "columns", "only", "regions", "conditions"),
    *CRITERIA_KEYS,
    *("spaced", "normalised", "metric", "chance", "ties"),
)
_REQUIRED = ("name", "language", "table")
_SENTENCE = "sentence"

# Entry of ``meta`` that says how the table of a suite is laid out, for files of its surprisals: its
# ``path``, its ``columns`` by role, the rows that belong to it (``only``), the names of
# ``conditions`` by the values of the table, the numbers of ``items`` by their names, if these are
# not numbers, and for each variant the ``lines`` in which it starts.
TABLE_META = "table"

# Rows of the table, each with its line.
_Rows = Sequence[tuple[int, Mapping[str, str]]]


def is_table_suite(path: Path) -> bool:
    """Whether a YAML file describes a table, that is, has an entry ``table``."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError):
        return False
    return any(line.startswith("table:") for line in lines)


def load_table_suite(path: str | Path | YamlNodes) -> Suite:
    """Read a suite from its description and the table that it names, relative to the file."""
    return _TableReader(path if isinstance(path, YamlNodes) else YamlNodes(str(path))).suite()


@dataclass(frozen=True, slots=True)
class _TableReader:
    nodes: YamlNodes

    def suite(self) -> Suite:
        root = self.nodes.root()
        entries = self.nodes.entries(root, "a suite", known=_KEYS, required=_REQUIRED)
        table = self.table(entries)
        renamed = self.mapping(entries.get("conditions"))
        chosen = [self.mapping(entries.get(name)) for name in ("columns", "regions", "only")]
        columns, regions, only = chosen
        places = _Places(table, columns, regions, renamed, only)
        items = places.items()
        conditions = tuple(dict.fromkeys(v.condition for item in items for v in item.variants))
        names = places.region_names
        criteria = CriteriaReader(self.nodes, names, conditions)
        if not {"predictions", "effects"} & set(entries):
            remedy = "add predictions:, or effects: in bits (docs/suites.md)"
            raise self.nodes.error("the suite says nothing to test", root, remedy)
        predictions = criteria.predictions(entries)
        settings: dict[str, Any] = {
            **{name: self.text(entries[name], name) for name in _TEXTS if name in entries},
            "critical": critical_regions(predictions, names) or names,
            "differing": differing_regions(items, names),
        }
        settings.update({name: self.names(entries[name]) for name in _LISTS if name in entries})
        for name in ("spaced", "normalised"):
            if name in entries:
                flag = self.nodes.choice(entries[name].value, name, ("true", "false"))
                settings[name] = flag == "true"
        return Suite(
            **settings,
            regions=names,
            conditions=conditions,
            predictions=predictions,
            effects=criteria.effects(entries),
            factors=criteria.factors(entries.get("factors")),
            items=items,
            metric=cast(Metric, self.choice(entries.get("metric"), "metric", get_args(Metric))),
            ties=cast(CountedTies, self.choice(entries.get("ties"), "ties", get_args(CountedTies))),
            chance=self.chance(entries.get("chance")),
            meta={TABLE_META: places.order()},
        )

    def table(self, entries: Mapping[str, YamlEntry]) -> CsvTable:
        given = Path(self.text(entries["table"], "table"))
        sheet = self.text(entries["sheet"], "sheet") if "sheet" in entries else None
        return read_items_table(Path(self.nodes.path).parent / given, sheet=sheet)

    def text(self, entry: YamlEntry, name: str) -> str:
        return self.nodes.text(entry.value, name).strip()

    def names(self, entry: YamlEntry) -> tuple[str, ...]:
        return tuple(self.nodes.text(node, "a name") for node in self.nodes.items(entry.value))

    def mapping(self, entry: YamlEntry | None) -> dict[str, str]:
        """Return a mapping of texts; a list maps every text to itself."""
        if entry is None:
            return {}
        if not isinstance(entry.value, yaml.MappingNode):
            return {name: name for name in self.names(entry)}
        found = self.nodes.mapping(entry.value, "a mapping")
        return {name: self.text(one, name) for name, one in found.items()}

    def choice(self, entry: YamlEntry | None, name: str, choices: tuple[str, ...]) -> str:
        return self.nodes.choice(entry.value, name, choices) if entry else choices[0]

    def chance(self, entry: YamlEntry | None) -> float | None:
        if entry is None:
            return None
        try:
            return chance_of(self.text(entry, "chance"))
        except ValueError as error:
            raise self.nodes.error(f"chance: {error}", entry.value) from error


@dataclass(frozen=True, slots=True)
class _Places:
    """Which columns of a table hold what."""

    table: CsvTable
    columns: Mapping[str, str]
    regions: Mapping[str, str]
    renamed: Mapping[str, str]
    only: Mapping[str, str]

    @property
    def region_names(self) -> tuple[str, ...]:
        """The regions of the suite, in order."""
        if self.regions:
            return tuple(self.regions)
        if self.column("region") is None:
            return (_SENTENCE,)
        column = self.required("region")
        sentences = [rows for own in self.groups().values() for rows in own.values()]
        return _merged([[row[column].strip() for _, row in rows] for rows in sentences])

    def column(self, role: str) -> str | None:
        """Return the column of a role, by its given or one of its usual names."""
        if role in self.columns:
            if self.columns[role] not in self.table.header:
                raise self._lacks(self.columns[role])
            return self.columns[role]
        return self.table.column(COLUMN_ROLES[role])

    def required(self, role: str) -> str:
        found = self.column(role)
        if found is None:
            regions = "list the columns of the regions, as in regions: [subject, verb], or "
            named = f"name it, as in 'columns: {{{role}: …}}'; "
            raise self._lacks(role, (regions if role == _SENTENCE else "") + named)
        return found

    def _lacks(self, column: str, remedy: str = "") -> InputError:
        return InputError(
            f"has no column {column!r}",
            path=self.table.path,
            line=self.table.line,
            remedy=f"{remedy}its columns: {', '.join(self.table.header)}",
        )

    def rows(self) -> _Rows:
        """Return the selected rows."""
        for column in self.only:
            if column not in self.table.header:
                raise self._lacks(column)
        found = [
            (line, row)
            for line, row in self.table.rows
            if all(row[column].strip() == value for column, value in self.only.items())
        ]
        if not found:
            shown = ", ".join(f"{column} {value!r}" for column, value in self.only.items())
            problem = f"has no rows with {shown}" if shown else "has no rows"
            raise InputError(problem, path=self.table.path)
        suite = self.column("suite")
        names = dict.fromkeys(row[suite].strip() for _, row in found) if suite else {}
        if suite and len(names) > 1:
            raise InputError(
                f"holds several suites: {enumeration(list(names)[:3])}",
                path=self.table.path,
                remedy=f"select one, as in 'only: {{{suite}: {next(iter(names))}}}'",
            )
        return found

    def items(self) -> tuple[Item, ...]:
        """Return the items, each with its sentences in the order of the table."""
        names = {number: name for name, number in self.item_numbers().items()}
        return tuple(
            Item(
                number,
                tuple(
                    Variant(self.renamed.get(key[0], key[0]), self.cut(rows))
                    for key, rows in sentences.items()
                ),
                {"item_name": names[number]} if names else {},
            )
            for number, sentences in self.groups().items()
        )

    def order(self) -> dict[str, Any]:
        """Return where the sentences of the suite are in the table (see ``TABLE_META``)."""
        groups = self.groups().values()
        return {
            "path": str(self.table.path),
            "columns": dict(self.columns),
            "conditions": dict(self.renamed),
            "only": dict(self.only),
            "items": self.item_numbers(),
            "lines": [rows[0][0] for sentences in groups for rows in sentences.values()],
        }

    def groups(self) -> dict[int, dict[tuple[str, ...], list[tuple[int, Mapping[str, str]]]]]:
        """Return the rows of each sentence of each item."""
        item, condition = self.required("item"), self.required("condition")
        groups: dict[int, dict[tuple[str, ...], list[tuple[int, Mapping[str, str]]]]] = {}
        extra = [name for role in ("variant", "sentence_id") if (name := self.column(role))]
        is_long = self.is_long
        numbers = self.item_numbers()
        for line, row in self.rows():
            name = row[item].strip()
            if not name:
                raise InputError("the item is missing", path=self.table.path, line=line)
            number = numbers[name] if numbers else int(name)
            key = (row[condition].strip(), *(row[name] for name in extra))
            key = key if is_long else (*key, str(line))
            groups.setdefault(number, {}).setdefault(key, []).append((line, row))
        return groups

    def item_numbers(self) -> dict[str, int]:
        """Number the items in order of appearance by their names; empty if these are numbers."""
        column = self.required("item")
        names = dict.fromkeys(row[column].strip() for _, row in self.rows())
        if all(is_count(name) for name in names if name):
            return {}
        return {name: number for number, name in enumerate(names, start=1)}

    @property
    def is_long(self) -> bool:
        """Whether a sentence has several rows, one per word or region."""
        return self.column("region") is not None and not set(self.regions.values()) & set(
            self.table.header
        )

    def cut(self, rows: _Rows) -> tuple[tuple[str, ...], ...]:
        """Return the words of each region of a sentence."""
        if not self.is_long:
            (line, row), *_ = rows
            columns = list(self.regions.values()) or [self.required("sentence")]
            if missing := [name for name in columns if name not in row]:
                raise self._lacks(missing[0])
            found = tuple(_words(row[name]) for name in columns)
            if not any(found):
                raise InputError("the sentence is empty", path=self.table.path, line=line)
            return found
        region = self.required("region")
        text = self.column("word") or self.required("content")
        codes = {code: place for place, code in enumerate(self.codes())}
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

    def codes(self) -> tuple[str, ...]:
        """Return the values of the column region, in the order of the regions."""
        return tuple(self.regions.values()) or self.region_names


def _words(text: str) -> tuple[str, ...]:
    """Return the words of a text without tokens that mark the edges of a sentence."""
    return tuple(word for word in split_words(text) if not is_edge(word))


def _merged(sequences: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the names in an order that fits all sequences, from which names may be missing.

    Of names that could come next, the one that appears first does. If no order fits, the rest is in
    order of appearance, and the sentence that does not fit is reported later.
    """
    left = list(dict.fromkeys(name for names in sequences for name in names))
    before = {
        (one, other)
        for names in sequences
        for one, other in itertools.pairwise(names)
        if one != other
    }
    found: list[str] = []
    while left:
        free = [one for one in left if not any((other, one) in before for other in left)]
        found.append(free[0] if free else left[0])
        left.remove(found[-1])
    return tuple(found)


# ----------------------------------------------------------------------------
# Criteria of a table of items that are given on the command line, without a description in YAML.
#
# ::
#
#     python evaluate.py suite=file 'suite.suites=[items.csv]' 'regions=[subject,verb,rest]' \
#         predictions="agreement: (verb;%mismatch%) > (verb;%match%)"


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
        if formulas:
            entries[f"{what}s"] = _by_name(what, formulas, path)
    return load_table_suite(YamlNodes(str(path), json.dumps(entries)))


def _by_name(what: str, formulas: Sequence[str], path: Path) -> dict[str, str]:
    """Return the formulas by their names; those without one are numbered if there are several."""
    found: dict[str, str] = {}
    for number, text in enumerate(formulas, start=1):
        parts = _NAMED.fullmatch(text)
        usual = what if len(formulas) == 1 else f"{what}_{number}"
        name, formula = parts.groups() if parts else (usual, text)
        if name in found:
            remedy = 'give each a name of its own, as in "first: (…) > (…)"'
            raise InputError(f"two {what}s are called {name!r}", path=path, remedy=remedy)
        found[name] = formula
    return found
