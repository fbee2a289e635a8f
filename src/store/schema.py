"""Table schemas: columns with names, types and descriptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd

ColumnType = Literal["text", "integer", "optional integer", "number", "flag", "optional flag"]

_DTYPES = {
    "integer": "int64",
    "optional integer": "Int64",
    "number": "float64",
    "optional flag": "boolean",
}
# Truth values in files: R's spelling, and those of older tables.
_TRUE, _FALSE = ("TRUE", "True", "true", "1"), ("FALSE", "False", "false", "0")
# Representations of a missing number in files.
_MISSING = ["", "nan", "NaN"]


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column: its name, the type of its values, and their meaning with unit."""

    name: str
    type: ColumnType
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The columns of a kind of table, in order.

    ``name`` is used in messages, and ``file`` is the name of the file in a results folder.
    ``optional`` columns occur in some tables only. ``others`` is the type of any further column
    (None: unchanged). ``remedy`` says in error messages how to obtain such a table.
    """

    name: str
    file: str = ""
    columns: tuple[TableColumn, ...]
    optional: tuple[TableColumn, ...] = ()
    others: ColumnType | None = None
    remedy: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that every such table has."""
        return tuple(column.name for column in self.columns)

    def missing(self, columns: Iterable[str]) -> list[str]:
        """Return the names of required columns that are not among ``columns``."""
        given = set(columns)
        return [name for name in self.names if name not in given]

    def frame(self, rows: Sequence[Mapping[str, Any]] | Sequence[tuple[Any, ...]]) -> pd.DataFrame:
        """Build a table from rows: mappings, whose extra keys become columns, or tuples."""
        import pandas as pd

        known = set(self.names)
        named = [row for row in rows if isinstance(row, Mapping)]
        further = dict.fromkeys(name for row in named for name in row if name not in known)
        return self.typed(pd.DataFrame(rows, columns=[*self.names, *further]))

    def typed(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Convert the columns of a table to their types; missing text becomes empty.

        Raises ValueError if a value has the wrong type.
        """
        changed = {
            name: _converted(frame[name], kind)
            for name in frame.columns
            if (kind := self.type_of(name)) is not None
        }
        return frame.assign(**changed)

    def meanings(self, columns: Iterable[str]) -> dict[str, str]:
        """Return the meanings, with units, of those of these columns that are known."""
        known = {column.name: column.meaning for column in (*self.columns, *self.optional)}
        return {name: known[name] for name in columns if name in known}

    def header(self, columns: Iterable[str], **facts: object) -> dict[str, object]:
        """Return the header of a table: what it is, facts, and what its columns mean."""
        return {"table": self.name, **facts, "columns": self.meanings(columns)}

    def type_of(self, name: str) -> ColumnType | None:
        """Return the type of a column; None if its values are not converted."""
        known = {column.name: column.type for column in (*self.columns, *self.optional)}
        return known.get(name, self.others)


def flag_text(value: object) -> str:
    """Return a truth value as tables write it, which R reads."""
    return _TRUE[0] if value else _FALSE[0]


def _converted(values: pd.Series, kind: ColumnType) -> pd.Series:
    import pandas as pd

    if kind == "text":
        return values.fillna("").astype(str)
    if kind == "flag":
        return values.astype(str).isin(_TRUE)
    if kind == "optional flag":
        spelled: dict[object, bool] = {True: True, False: False}
        spelled |= {**dict.fromkeys(_TRUE, True), **dict.fromkeys(_FALSE, False)}
        values = values.map(spelled)
        return values.astype(_DTYPES[kind])
    if not pd.api.types.is_numeric_dtype(values):
        values = pd.to_numeric(values.replace(_MISSING, None))
    return values.astype(_DTYPES[kind])
