"""Computed cells beside the published ones, for tables, figures and files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from gardenpath.eval.statistics.questions.wording import prose_name
from gardenpath.eval.studies.published_values import (
    PublishedPart,
    PublishedValue,
    published_part,
)
from gardenpath.eval.studies.study_parts import StudyCell, StudyPart, StudyResult

# Columns of the files of tables and figures.
_COLUMNS = (
    *("source", "panel", "row", "column", "value", "low", "high", "n", "text"),
    *("printed", "released", "difference", "agrees", "interval_agrees", "note"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedCell:
    """A computed cell and its published values: printed in the paper, or from released files."""

    cell: StudyCell
    printed: PublishedValue | None
    released: PublishedValue | None

    @property
    def published(self) -> PublishedValue | None:
        """The value to compare with: the printed one, if there is one."""
        return self.printed or self.released

    @property
    def agrees(self) -> bool | None:
        """Whether the computed value is the published one; None if one of them is missing."""
        return None if self.published is None else self.published.agrees(self.cell)

    @property
    def interval_agrees(self) -> bool | None:
        """Whether the interval has the published half-width; None if one of them is missing."""
        return None if self.published is None else self.published.interval_agrees(self.cell)

    @property
    def difference(self) -> float:
        """Computed minus published value; NaN if one of them is missing."""
        return math.nan if self.published is None else self.cell.value - self.published.value


@dataclass(frozen=True)
class ComparedPart:
    """A table or figure with its published values."""

    part: StudyPart
    published: PublishedPart

    @cached_property
    def cells(self) -> list[ComparedCell]:
        """All computed cells, in order, and the places with a published value only.

        The latter are left out of figures that have computed cells.
        """
        return [
            ComparedCell(
                cell=cell,
                printed=self.published.find(cell, "printed"),
                released=self.published.find(cell, "released"),
            )
            for cell in (*self.part.cells, *self._published_only())
        ]

    def _published_only(self) -> list[StudyCell]:
        if self.part.kind == "figure" and self.part.cells:
            return []
        known = {(cell.source, cell.panel, cell.row, cell.column) for cell in self.part.cells}
        return [
            StudyCell(source=source, panel=panel, row=row, column=column)
            for source in self.sources
            for panel, row, column in self.published.places
            if (source, panel, row, column) not in known
        ]

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of the cells; one without a name if nothing was computed."""
        return self.part.sources or ("",)

    @cached_property
    def panels(self) -> list[str]:
        """The panels of a figure, in order; one empty key if it has no panels."""
        return list(dict.fromkeys(one.cell.panel for one in self.cells)) or [""]

    def columns_of(self, panel: str) -> list[str]:
        """Return the columns of a panel: those of the paper in its order, then others."""
        return self._keys(panel, "column", self.published.columns)

    def rows_of(self, panel: str) -> list[str]:
        """Return the rows of a panel: those of the paper in its order, then others."""
        return self._keys(panel, "row", self.published.rows(panel))

    def _keys(self, panel: str, name: str, order: Sequence[str]) -> list[str]:
        cells = (one.cell for one in self.cells if one.cell.panel == panel)
        found = dict.fromkeys(getattr(cell, name) for cell in cells)
        return [
            *(key for key in order if key in found),
            *(key for key in found if key not in order),
        ]

    def label(self, key: str) -> str:
        """Return the label of a row, column or panel."""
        return self.part.labels.get(key) or prose_name(key)

    def shown(self, cell: StudyCell) -> str:
        """Return a computed value as it is shown."""
        if cell.text:
            return cell.text
        if math.isnan(cell.value):
            return "–"
        text = f"{cell.value:.{self.part.digits}f}".replace("-", "−")
        if math.isfinite(cell.low):
            reach = (cell.high - cell.low) / 2.0
            text += f" ± {reach:.{self.part.digits}f}"
        return text + (cell.stars or "")

    def counts(self, source: str) -> tuple[int, int]:
        """Return how many cells of a source agree with published values, of how many."""
        found = [one.agrees for one in self.cells if one.cell.source == source]
        known = [one for one in found if one is not None]
        return sum(known), len(known)

    def remarks(self, *, differing: bool) -> list[str]:
        """Return the notes on cells, each once with its cells; all, or of cells that differ."""
        groups: dict[str, list[str]] = {}
        for one in self.cells:
            if one.cell.note and (one.agrees is False or not differing):
                groups.setdefault(one.cell.note, []).append(self._name(one.cell))
        return [f"{'; '.join(names)}: {note}" for note, names in groups.items()]

    def _name(self, cell: StudyCell) -> str:
        keys = [self.label(key) for key in (cell.panel, cell.row, cell.column) if key]
        return ", ".join(keys) + (f" ({cell.source})" if len(self.sources) > 1 else "")

    def frame(self) -> pd.DataFrame:
        """Return one row per cell, with published values and differences."""
        return pd.DataFrame([self._row(one) for one in self.cells], columns=list(_COLUMNS))

    def _row(self, one: ComparedCell) -> dict[str, object]:
        cell = one.cell
        return {
            "source": cell.source,
            "panel": cell.panel,
            "row": cell.row,
            "column": cell.column,
            "value": cell.value,
            "low": cell.low,
            "high": cell.high,
            "n": cell.n,
            "text": self.shown(cell),
            "printed": one.printed.text if one.printed else "",
            "released": one.released.text if one.released else "",
            "difference": one.difference,
            "agrees": one.agrees,
            "interval_agrees": one.interval_agrees,
            "note": cell.note,
        }


def compared_parts(result: StudyResult) -> Sequence[ComparedPart]:
    """Return all tables and figures of a study with their published values."""
    return [ComparedPart(part, published_part(result.name, part.number)) for part in result.parts]
