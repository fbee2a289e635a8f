"""The published values of a study, and their comparison with computed ones.

``report`` and ``replicate`` show a ``ComparedPart`` for every table and figure, and ``filler_gap``
reads published counts. Nothing is computed from surprisals here. A file ``values/<study>.yaml`` has
an entry for each table and figure::

    Table 6:
      digits: 3
      columns: [classifier_noun, verb_noun]
      printed:
        lstm ctb: [.598, .624]
    Figure 4:
      columns: [ctb, xinhua]
      released:
        object: {lstm: [0.333 ± 0.097, 0.394 ± 0.080]}

``printed`` values stand in the paper; ``released`` values were computed from the files that its
authors released, for figures and for cells that the paper does not print. Rows may be grouped by
panels. A value is a number, a number with its half-width (``±``) or stars, or a text.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from gardenpath.errors import InputError
from gardenpath.eval.display import family_of, family_style
from gardenpath.eval.report.content import ReportedAnalysis, reported_analyses, write_analyses
from gardenpath.eval.report.figures import style
from gardenpath.eval.report.figures.all import InlineFigures, WrittenFigure, write_figures
from gardenpath.eval.report.page import (
    FIGURES_FOLDER,
    REPORT_FILE,
    ReportTable,
    analysis_tables,
    finished_page,
)
from gardenpath.eval.statistics.answers import prose_name
from gardenpath.safe_text import parse_yaml
from gardenpath.store.files import write_text
from gardenpath.store.tables import write_table
from gardenpath.studies.study import FigureStyle, StudyCell, StudyPart, StudyResult
from gardenpath.util import key

VALUES = Path(__file__).with_name("values")

Origin = Literal["printed", "released"]
_ORIGINS: tuple[Origin, ...] = ("printed", "released")
_NUMBER = re.compile(
    r"(?P<number>[-−+]?\d*\.?\d+)\s*(?:±\s*(?P<reach>\d*\.?\d+))?\s*(?P<stars>\**)"
)

# Panel, row and column of a cell.
Place = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedValue:
    """A published value: its text, number, half-width of its interval and stars, as far as given.

    ``digits`` and ``reach_digits`` are the numbers of decimals to which number and half-width are
    known.
    """

    text: str
    value: float = math.nan
    reach: float = math.nan
    stars: str | None = None
    digits: int = 0
    reach_digits: int = 0

    def agrees(self, cell: StudyCell) -> bool | None:
        """Whether a computed cell has this value; None if it has none to compare.

        Numbers agree if rounding or truncation to the published digits gives the same, as printed
        tables do either.
        """
        if math.isnan(self.value):
            return None if not cell.text else cell.text == self.text
        if math.isnan(cell.value):
            return None
        if self.stars is not None and cell.stars is not None and self.stars != cell.stars:
            return False
        return _is_same(cell.value, self.value, self.digits)

    def interval_agrees(self, cell: StudyCell) -> bool | None:
        """Whether a computed interval has this half-width; None if one of them is missing."""
        if math.isnan(self.reach) or math.isnan(cell.low):
            return None
        return _is_same((cell.high - cell.low) / 2.0, self.reach, self.reach_digits)


@dataclass(frozen=True)
class PublishedPart:
    """The published values of one table or figure, by origin and place; columns in order."""

    values: Mapping[Origin, Mapping[Place, PublishedValue]]
    columns: Sequence[str] = ()

    @property
    def places(self) -> tuple[Place, ...]:
        """All places with a value, printed ones first."""
        return tuple(dict.fromkeys(place for values in self.values.values() for place in values))


_NOTHING = PublishedPart({origin: {} for origin in _ORIGINS})


@cache
def published_values(study: str) -> Mapping[str, PublishedPart]:
    path = VALUES / f"{study}.yaml"
    content = parse_yaml(path.read_text(encoding="utf-8"))
    return {number: _part(entry, f"{number}", path) for number, entry in content.items()}


def published_part(study: str, number: str) -> PublishedPart:
    """Return the published values of a table or figure; none if it has no entry."""
    return published_values(study).get(number, _NOTHING)


def _part(entry: Mapping[str, Any], number: str, path: Path) -> PublishedPart:
    columns, digits = [str(name) for name in entry["columns"]], int(entry.get("digits", 3))
    values: dict[Origin, dict[Place, PublishedValue]] = {}
    for origin in _ORIGINS:
        values[origin] = {}
        for panel, row, cells in _rows(entry.get(origin, {})):
            if len(cells) != len(columns):
                problem = f"{number}, {row}: {len(cells)} values for {len(columns)} columns"
                raise InputError(problem, path=path)
            for column, cell in zip(columns, cells, strict=True):
                if cell is not None:
                    values[origin][panel, row, column] = _value(cell, digits)
    return PublishedPart(values, columns)


def _rows(content: Mapping[str, Any]) -> Iterator[tuple[str, str, Sequence[Any]]]:
    """Yield panel, row and values; the panel is empty if rows are not grouped."""
    for name, entry in content.items():
        if isinstance(entry, Mapping):
            yield from ((str(name), str(row), values) for row, values in entry.items())
        else:
            yield "", str(name), entry


def _value(cell: object, digits: int) -> PublishedValue:
    if isinstance(cell, int | float):
        return PublishedValue(text=f"{cell:.{digits}f}", value=float(cell), digits=digits)
    text = str(cell).strip()
    parts = _NUMBER.fullmatch(text)
    if parts is None:
        return PublishedValue(text=text)
    number, reach = parts["number"].replace("−", "-"), parts["reach"] or ""
    return PublishedValue(
        text=text, value=float(number), reach=float(reach) if reach else math.nan,
        stars=None if reach else parts["stars"], digits=len(number.partition(".")[2]),
        reach_digits=len(reach.partition(".")[2]),
    )  # fmt: skip


def _is_same(value: float, published: float, digits: int) -> bool:
    """Whether rounding or truncation to the published digits gives the published number."""
    unit = 10.0**-digits
    is_cut = math.trunc(value / unit + math.copysign(1e-9, value)) == round(published / unit)
    return is_cut or abs(value - published) <= unit / 2.0 + 1e-9


# Computed cells beside the published ones, for tables, figures and files.

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
        cells = list(self.part.cells)
        if self.part.style is None or not cells:
            known = {(cell.source, cell.panel, cell.row, cell.column) for cell in cells}
            cells += [
                StudyCell(source=source, panel=panel, row=row, column=column)
                for source in self.sources
                for panel, row, column in self.published.places
                if (source, panel, row, column) not in known
            ]
        places = [(cell.panel, cell.row, cell.column) for cell in cells]
        printed, released = (self.published.values[origin] for origin in _ORIGINS)
        return [
            ComparedCell(cell=cell, printed=printed.get(place), released=released.get(place))
            for cell, place in zip(cells, places, strict=True)
        ]

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of the cells; one without a name if nothing was computed."""
        return self.part.sources or ("",)

    @cached_property
    def panels(self) -> list[str]:
        """The panels of a figure, in order; one empty key if it has no panels."""
        return list(dict.fromkeys(cell.cell.panel for cell in self.cells)) or [""]

    def columns_of(self, panel: str) -> list[str]:
        """Return the columns of a panel: those of the paper in its order, then others."""
        keys = dict.fromkeys(cell.cell.column for cell in self.cells if cell.cell.panel == panel)
        return _in_order(keys, self.published.columns)

    def rows_of(self, panel: str) -> list[str]:
        """Return the rows of a panel: those of the paper in its order, then others."""
        keys = dict.fromkeys(cell.cell.row for cell in self.cells if cell.cell.panel == panel)
        published = [row for where, row, _ in self.published.places if where == panel]
        return _in_order(keys, list(dict.fromkeys(published)))

    def row_cells(self, panel: str, source: str, row: str) -> dict[str, ComparedCell]:
        """Return the cells of a row of a source, by column."""
        place = (panel, source, row)
        return {
            cell.cell.column: cell
            for cell in self.cells
            if (cell.cell.panel, cell.cell.source, cell.cell.row) == place
        }

    def grid(self, panel: str) -> Iterator[tuple[str, list[ComparedCell | None]]]:
        """Yield the rows of a panel: a label, and the cells of all columns."""
        for row, source in itertools.product(self.rows_of(panel), self.sources):
            if cells := self.row_cells(panel, source, row):
                columns = [cells.get(column) for column in self.columns_of(panel)]
                yield self.row_label(row, source), columns

    def label(self, key: str) -> str:
        return self.part.labels.get(key) or prose_name(key)

    def row_label(self, row: str, source: str) -> str:
        """Return the label of a row, with its source if there are several."""
        return self.label(row) + (f" ({source})" if len(self.sources) > 1 else "")

    def shown(self, cell: StudyCell) -> str:
        """Return a computed value as it is shown."""
        if cell.text:
            return cell.text
        if math.isnan(cell.value):
            return "–"
        text = f"{cell.value:.{self.part.digits}f}".replace("-", "−")
        if math.isfinite(cell.low):
            text += f" ± {(cell.high - cell.low) / 2.0:.{self.part.digits}f}"
        return text + (cell.stars or "")

    def counts(self, source: str) -> tuple[int, int]:
        """Return how many cells of a source agree with published values, of how many."""
        agreeing = [cell.agrees for cell in self.cells if cell.cell.source == source]
        known = [agrees for agrees in agreeing if agrees is not None]
        return sum(known), len(known)

    def remarks(self, *, differing: bool) -> list[str]:
        """Return the notes on cells, each once with its cells; all, or of cells that differ."""
        groups: dict[str, list[str]] = {}
        for compared in self.cells:
            cell = compared.cell
            if cell.note and (compared.agrees is False or not differing):
                keys = [self.label(key) for key in (cell.panel, cell.row, cell.column) if key]
                name = ", ".join(keys) + (f" ({cell.source})" if len(self.sources) > 1 else "")
                groups.setdefault(cell.note, []).append(name)
        return [f"{'; '.join(names)}: {note}" for note, names in groups.items()]

    def frame(self) -> pd.DataFrame:
        """Return one row per cell, with published values and differences."""
        rows = []
        for compared in self.cells:
            cell = compared.cell
            values = (compared.printed, compared.released)
            rows.append(
                (
                    *(cell.source, cell.panel, cell.row, cell.column),
                    *(cell.value, cell.low, cell.high, cell.n, self.shown(cell)),
                    *(value.text if value else "" for value in values),
                    *(compared.difference, compared.agrees, compared.interval_agrees, cell.note),
                )
            )
        return pd.DataFrame(rows, columns=list(_COLUMNS))


def _in_order(keys: Iterable[str], order: Sequence[str]) -> list[str]:
    keys = list(keys)
    return [*(key for key in order if key in keys), *(key for key in keys if key not in order)]


def compared_parts(result: StudyResult) -> Sequence[ComparedPart]:
    """Return all tables and figures of a study with their published values."""
    return [ComparedPart(part, published_part(result.name, part.number)) for part in result.parts]


# ----------------------------------------------------------------------------
# What a study writes: figures beside published values, tables, claims, statistics, the page.
#
# ``replicate`` calls ``write_study``. Figures and page are made of the parts of the report on
# suites (``gardenpath.eval.report``); their numbers are those of ``compared``.


# Width of a group of points, as a share of the distance between two positions.
_GROUP = 0.7
# Width of a letter of a panel's title, in inches.
_LETTER = 0.075
_PUBLISHED: dict[str, Any] = {
    "marker": "_",
    "color": style.INK,
    "markersize": 9.0,
    "linestyle": "none",
    "zorder": 4,
}


@dataclass(frozen=True, slots=True)
class _Series:
    """A row of one source; ``hollow`` tells corpora or sources of one model apart."""

    source: str
    row: str
    label: str
    colour: str
    marker: str
    hollow: bool

    @property
    def face(self) -> str:
        """The colour of the inside of markers."""
        return style.PAPER if self.hollow else self.colour


def draw_part(part: ComparedPart) -> style.ReportFigure:
    """Draw one panel per panel key: columns along the axis, rows as series side by side."""
    series = _all_series(part)
    labels = [[part.label(column) for column in part.columns_of(panel)] for panel in part.panels]
    # Series stand side by side, so the axis needs room for each.
    most = max(map(len, labels))
    titles = max(len(part.label(panel)) for panel in part.panels)
    width = max(
        2.4,
        style.widest_label(labels),
        0.35 + most * (0.2 + 0.1 * len(series)),
        0.4 + _LETTER * titles,
    )
    width = min(width, 10.0)
    columns = max(1, int(10.0 // width))
    look = part.part.style or FigureStyle()
    figure, axes = style.panels(
        len(part.panels), columns=columns, width=width, height=2.5, foot=0.6,
        sharey=look.same_scale,
    )  # fmt: skip
    for axis, panel in zip(axes, part.panels, strict=True):
        _draw_panel(axis, part, panel, series, look)
    handles = [
        Line2D([], [], color=row.colour, marker=row.marker, ls="none", label=row.label,
               markerfacecolor=row.face)
        for row in series
    ]  # fmt: skip
    if any(cell.published is not None for cell in part.cells):
        handles.append(Line2D([], [], **{**_PUBLISHED, "label": "published"}))
    style.place_legend(figure, handles)
    figure.numbers = part.frame()
    return figure


def _all_series(part: ComparedPart) -> list[_Series]:
    series: list[_Series] = []
    looks: dict[str, tuple[str, str]] = {}
    for source, row in dict.fromkeys((cell.cell.source, cell.cell.row) for cell in part.cells):
        # Rows such as "lstm ctb" and "lstm xinhua" are one model trained on two corpora.
        family = family_of(row.split(" ")[0])
        hollow = family in looks
        look = looks.setdefault(family, family_style(family, list(looks.values())))
        series.append(_Series(source, row, part.row_label(row, source), *look, hollow=hollow))
    return series


def _draw_panel(
    axis: Axes, part: ComparedPart, panel: str, series: Sequence[_Series], look: FigureStyle
) -> None:
    columns = part.columns_of(panel)
    if look.reference is not None:
        axis.axhline(look.reference, **style.CHANCE_LINE, zorder=1)
    for row, offset in zip(series, style.offsets(len(series), _GROUP), strict=True):
        cells = part.row_cells(panel, row.source, row.row)
        drawn = [(number + offset, cells[c]) for number, c in enumerate(columns) if c in cells]
        for x, cell in drawn:
            if math.isfinite(cell.cell.low) and math.isfinite(cell.cell.high):
                axis.vlines([x], [cell.cell.low], [cell.cell.high], color=row.colour, linewidth=1.4)
            if cell.published is not None and math.isfinite(cell.published.value):
                axis.plot([x], [cell.published.value], **_PUBLISHED)
        axis.plot(
            [x for x, _ in drawn], [cell.cell.value for _, cell in drawn], row.marker,
            color=row.colour, markerfacecolor=row.face,
            linestyle="-" if look.connected else "none", linewidth=0.7,
        )  # fmt: skip
    labels = [style.folded(part.label(column), width=10) for column in columns]
    axis.set_xticks(range(len(columns)), labels)
    axis.set_xlim(-0.55, len(columns) - 0.45)
    axis.grid(False, axis="x")
    if panel:
        axis.set_title(part.label(panel))
    if look.limits is not None:
        axis.set_ylim(*look.limits)
    if style.is_first(axis):
        axis.set_ylabel(look.y_label)


# The page: claims with verdicts, tables and figures in the paper's order.

STUDY_CHAPTERS = {
    "study_claims": "Claims",
    "study_parts": "Tables and figures",
    "statistics": "Statistics",
    "runs": "Sources and versions",
}
_OTHER_VERDICTS = {"depends": "depending on a choice", "not reproduced": "not reproduced",
                   "not tested": "not tested"}  # fmt: skip


def _study_page(
    result: StudyResult, compared: Sequence[ComparedPart], drawn: Mapping[str, WrittenFigure]
) -> str:
    """Return the report of a study as HTML; ``drawn`` maps names to figures."""
    inline = InlineFigures()
    titles = {part.part.name: part.part.title for part in compared}
    pictures = {
        name: inline.figure(figure.svg, label=titles[name]) for name, figure in drawn.items()
    }
    sources = {claim.source for claim in result.claims}
    values = {
        "claims": result.claims,
        "many_sources": len(sources) > 1,
        "notes": result.notes,
        "facts": result.facts,
        "run_tables": [],
        "answers": list(_verdicts(result)),
        "compared": compared,
        "pictures": pictures,
        "analyses": list(_analyses(result)),
        "figures": [],
    }
    return finished_page(
        title=result.title, description=result.reference, chapters=STUDY_CHAPTERS, folded=("runs",),
        values=values, inline=inline, drawn=drawn,
    )  # fmt: skip


def _verdicts(result: StudyResult) -> Iterator[str]:
    """Yield, for each source, how many claims of the paper have which verdict."""
    for source in dict.fromkeys(claim.source for claim in result.claims):
        counts = Counter[str](claim.verdict for claim in result.claims if claim.source == source)
        tested = counts.total() - counts["not tested"]
        parts = [f"{counts['reproduced']} of {tested} tested claims reproduced"] if tested else []
        parts += [
            f"{counts[kind]} {text}" for kind, text in _OTHER_VERDICTS.items() if counts[kind]
        ]
        yield f"{source[:1].upper()}{source[1:]}: {'; '.join(parts)}."


def _analyses(result: StudyResult) -> Iterator[tuple[ReportedAnalysis, list[ReportTable]]]:
    for source, analyses in result.analyses.items():
        for number, analysis in enumerate(reported_analyses(analyses)):
            if len(result.analyses) > 1:
                analysis = replace(analysis, title=f"{analysis.title} ({source})")
            yield analysis, analysis_tables(analysis, f"{key(source)}-{number}")


def claims_frame(result: StudyResult) -> pd.DataFrame:
    """Return one row per claim of the paper and source, with the verdict and its reason."""
    return pd.DataFrame([asdict(claim) for claim in result.claims])


def write_study(result: StudyResult, folder: Path) -> Path:
    """Write tables, figures, claims, statistics and the report to a folder; return its path."""
    compared = compared_parts(result)
    figures = {}
    for part in compared:
        name = part.part.name
        if part.cells:
            header = {"table": name, "title": part.part.title}
            write_table(folder / "tables" / f"{name}.csv", part.frame(), header)
        if part.part.style is not None and part.part.cells:
            figures[name] = partial(draw_part, part)
    write_table(folder / "claims.csv", claims_frame(result), {"table": "claims"})
    for source, analyses in result.analyses.items():
        place = folder / "statistics"
        write_analyses(place if len(result.analyses) == 1 else place / key(source), analyses)
    drawn = write_figures(figures, folder / FIGURES_FOLDER)
    path = folder / REPORT_FILE
    write_text(path, _study_page(result, compared, drawn))
    return path
