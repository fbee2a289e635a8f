"""What all figures share: fonts, colours, layout, output formats, panels and legends.

``results`` draws with it, as do studies and the benchmarks; the colours and markers
of models are in ``gardenpath.eval.display``. Figures are drawn inside ``look()``, without pyplot.

Each character is taken from the first font that has it: matplotlib's DejaVu Sans, then the bundled
Han characters (GB 2312, from Noto Sans CJK SC), then system fonts for rarer characters. The first
two are always available, so figures look the same on all systems. A character that no font has is
drawn as the geta mark, the typographical symbol for a missing character.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import pandas as pd
from fontTools import subset
from fontTools.ttLib import TTFont
from matplotlib import font_manager, image
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.path import Path as MarkerPath
from matplotlib.text import Text

from gardenpath.eval.display import (
    BLUE,
    EXACT,
    GREEN,
    GREY,
    PURPLE,
    VERMILLION,
    ModelStyle,
    family_style,
    models_in_order,
)
from gardenpath.eval.means import NORMAL
from gardenpath.eval.report.means import IF_RIGHT, IF_WRONG, MOSTLY_NEAR, NEAR_SHARE
from gardenpath.util import spaced

ASSETS = Path(__file__).parents[1] / "assets"
BUNDLED = ASSETS / "GardenpathHan-Regular.otf"
BUNDLED_NAME = "Gardenpath Han"
LATIN_NAME = "DejaVu Sans"
MISSING_GLYPH = "〓"

# Families with Han characters on common systems, the most complete first.
SYSTEM_FAMILIES = (
    *("Noto Sans CJK SC", "Noto Sans CJK TC", "Noto Sans CJK JP", "Source Han Sans SC"),
    *("Source Han Sans CN", "PingFang SC", "Hiragino Sans GB", "Microsoft YaHei", "SimHei"),
    *("WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Droid Sans Fallback", "Arial Unicode MS"),
)


@cache
def bundled_families() -> tuple[str, ...]:
    """Return the bundled font families; the Han family is registered with matplotlib."""
    manager = font_manager.fontManager
    if BUNDLED_NAME not in {font.name for font in manager.ttflist}:
        manager.addfont(BUNDLED)
    return (LATIN_NAME, BUNDLED_NAME)


@cache
def families() -> tuple[str, ...]:
    """Return all font families that figures use, in order."""
    own = bundled_families()
    known = {font.name for font in font_manager.fontManager.ttflist}
    return (*own, *(name for name in SYSTEM_FAMILIES if name in known))


@cache
def _characters(names: tuple[str, ...]) -> frozenset[int]:
    points: set[int] = set()
    for name in names:
        path = font_manager.findfont(name, fallback_to_default=False)
        points.update(font_manager.get_font(str(path)).get_charmap())
    return frozenset(points)


def _has(families: tuple[str, ...], letter: str) -> bool:
    return ord(letter) in _characters(families) or letter == "\n"


def is_bundled(text: str) -> bool:
    return all(_has(bundled_families(), letter) for letter in text)


def drawable(text: object) -> str:
    """Return the text with every character that no font has replaced by the geta mark."""
    if is_bundled(written := str(text)):
        return written
    return "".join(letter if _has(families(), letter) else MISSING_GLYPH for letter in written)


def embedded(text: str) -> str:
    """Return the bundled Han characters of a text as a ``data:`` URL; empty if it has none.

    Most systems have better Chinese fonts; the embedded font is only a fallback.
    """
    font = TTFont(BUNDLED, recalcTimestamp=False, recalcBBoxes=False)
    wanted = {ord(letter) for letter in set(text)} & set(font.getBestCmap())
    wanted = {point for point in wanted if point >= 0x2E80}
    if not wanted:
        return ""
    options = subset.Options()
    options.layout_features = []
    # Every subset of the font keeps the copyright notice and the licence.
    options.name_IDs = [0, 1, 2, 4, 6, 13, 14]
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=wanted)
    subsetter.subset(font)
    content = io.BytesIO()
    font.save(content)
    return "data:font/otf;base64," + base64.b64encode(content.getvalue()).decode("ascii")


# Style: colours, lines, layout, and output formats.

Pixels = npt.NDArray[np.uint8]

INK = "#1f2933"
MUTED = "#5f6b76"
GRID = "#d5dae0"
BAND = "#faf3da"
PAPER = "#ffffff"

MIN_WIDTH = 5.6  # inches
PNG_DPI = 200

EXACT_STYLE: ModelStyle = (INK, "D")
# Colours and dashes of series that are not models: variants of an item, corpora. Words are
# written in these colours, so they have the contrast of text; dashes tell more series apart.
SERIES = (BLUE, VERMILLION, GREEN, INK, PURPLE, GREY)
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), "-.")

RC: dict[str, Any] = {
    "figure.facecolor": PAPER,
    # The same as in the PNG, so the layout is computed only once.
    "figure.dpi": PNG_DPI,
    "savefig.facecolor": PAPER,
    "font.size": 9.0,
    "axes.titlesize": 10.5,
    # The bundled Han characters have one weight; a bold title would mix two.
    "axes.titleweight": "normal",
    "axes.titlelocation": "left",
    "axes.titlecolor": INK,
    # No panel has ticks at the top; a fixed position avoids a slow check in every draw.
    "axes.titley": 1.0,
    "axes.labelsize": 9.0,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.facecolor": PAPER,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.size": 3.0,
    "ytick.major.size": 0.0,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "text.color": INK,
    "lines.markersize": 5.5,
    # Identical content gives identical files.
    "svg.hashsalt": "gardenpath",
    "svg.fonttype": "path",
    # Dollar signs and underscores in words are not mathematics.
    "text.parse_math": False,
    # Hinting is not needed at this resolution, and letters are the same as in the SVG.
    "text.hinting": "none",
}


@contextmanager
def look() -> Iterator[None]:
    """Apply the style to figures drawn and saved in this block; restore the settings after it."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(RC)  # type: ignore[arg-type]
        mpl.rcParams["font.family"] = list(bundled_families())
        yield


class ReportFigure(Figure):
    """A figure with ``numbers``: the table of what is drawn."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.numbers = pd.DataFrame()


def empty(width: float, height: float) -> ReportFigure:
    """Return an empty figure of this size in inches."""
    figure = ReportFigure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def balanced(count: int, most: int) -> int:
    """Return a number of columns, at most ``most``, that fills the last row if possible.

    At least half of the columns that fit are used.
    """
    most = max(1, min(most, count))
    fewest = min(most, max(2, (most + 1) // 2))
    return min(range(most, fewest - 1, -1), key=lambda columns: -count % columns)


def panels(
    count: int,
    *,
    columns: int,
    width: float,
    height: float,
    foot: float = 0.0,
    sharey: bool = True,
    least: float = MIN_WIDTH,
) -> tuple[ReportFigure, list[Axes]]:
    """Return a figure with a grid of ``count`` axes, ``width`` × ``height`` inches each.

    ``columns`` is the maximum number of columns, ``foot`` the height of a legend below the grid,
    ``least`` the least width of the figure.
    """
    columns = balanced(count, columns)
    rows = -(-count // columns)
    # A legend needs some width even below a single small panel.
    size = (max(columns * width, least), rows * height + foot)
    figure = empty(*size)
    figure.set_layout_engine(ConstrainedLayoutEngine(h_pad=0.08, w_pad=0.06))
    grid = figure.subplots(rows, columns, squeeze=False, sharey=sharey)
    axes = [axis for row in grid for axis in row]
    for axis in axes[count:]:
        axis.remove()
    return figure, axes[:count]


def is_first(axis: Axes) -> bool:
    """Whether a panel is the first of its row, where the axis is labelled."""
    place = axis.get_subplotspec()
    return place is None or place.is_first_col()


def model_styles(models: Sequence[str]) -> dict[str, ModelStyle]:
    """Return colour and marker of each model: those of its family, if not already in use."""
    styles: dict[str, ModelStyle] = {}
    for model in models:
        taken = styles.values()
        styles[model] = EXACT_STYLE if model == EXACT else family_style(model, taken)
    return styles


def figure_label(name: object) -> str:
    """Return a name for figures: ``classifier_noun`` → ``classifier noun``."""
    return drawable(spaced(name))


def settle(figure: Figure) -> None:
    """Compute the layout, once for all formats; must be called before a figure is saved.

    Only texts with rare characters use system fonts, because searching them is slow.
    """
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        if not is_bundled(text.get_text()):
            text.set_fontfamily(list(families()))
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if not axis.get_label_text():
                # An empty label needs no space beside the ticks.
                axis.set_label_coords(0.5, 0.0)
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)


def as_svg(figure: Figure) -> str:
    """Return the figure as reproducible SVG, with text as outlines."""
    content = io.StringIO()
    metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(content, format="svg", metadata=metadata)
    return content.getvalue()


def pixels(figure: Figure) -> Pixels:
    canvas: Any = figure.canvas
    canvas.draw()
    return np.array(canvas.buffer_rgba())


def as_png(drawn: Pixels) -> bytes:
    """Return rendered pixels as PNG; independent of the figure, so it can run in a thread."""
    content = io.BytesIO()
    unsigned: dict[str, Any] = {"Software": None}
    # Higher compression takes 50 % longer and saves only 10 %.
    options = {"compress_level": 3}
    image.imsave(content, drawn, format="png", dpi=PNG_DPI, metadata=unsigned, pil_kwargs=options)
    return content.getvalue()


# Marks of near ties: a zigzag over the accuracies they could make, and hollow means in bits.

ZIGZAG: dict[str, Any] = {"linewidth": 0.9, "zorder": 1.4}
RANGE_LABEL = "near ties as wrong … as right"
MEAN_LABEL = "hollow: half or more near ties"

_STEP = 0.018  # of the axis of accuracies
_MARK = MarkerPath([(-2.0, -0.5), (-1.0, 0.5), (0.0, -0.5), (1.0, 0.5), (2.0, -0.5)])


def is_mostly_near(row: Mapping[str, Any]) -> bool:
    """Whether half or more of the values of a mean are near ties."""
    return bool(row.get(NEAR_SHARE, 0.0) >= MOSTLY_NEAR)


# The two kinds of panels in most figures: models as rows, and models side by side.
#
# Both require a table with the columns model, corpus, mean, low and high. If it has the column
# error, a broad pale bar shows the 95 % interval of the search error.

CEILING_LINE: dict[str, Any] = {
    "color": INK,
    "linewidth": 1.3,
    "linestyle": (0, (6, 2, 1, 2)),
}
CHANCE_LINE: dict[str, Any] = {"color": MUTED, "linewidth": 1.0, "linestyle": (0, (2, 2))}
# The interval of the search error, behind the interval over items.
SEARCH_BAR: dict[str, Any] = {"linewidth": 5.0, "alpha": 0.3, "zorder": 1.5}
SEARCH_ENDS: dict[str, Any] = {"markersize": 6.0, "markeredgewidth": 0.9, "zorder": 1.6}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The scale of an axis: its label, reference line and limits."""

    label: str
    reference: float
    reference_label: str
    exact_label: str = EXACT
    limits: tuple[float, float] | None = None


ACCURACY = Scale(
    label="accuracy",
    reference=0.5,
    reference_label="chance",
    exact_label=f"{EXACT} (ceiling)",
    limits=(-0.03, 1.05),
)
BITS = Scale(label="bits", reference=0.0, reference_label="no difference")


def spread(axis: Axes, *, scale: Scale, vertical: bool) -> None:
    if scale.limits is None:
        axis.margins(0.08)
        return
    ticks, labels = [0.0, 0.25, 0.5, 0.75, 1.0], ["0", ".25", ".5", ".75", "1"]
    if vertical:
        axis.set(ylim=scale.limits)
        axis.set_yticks(ticks, labels)
    else:
        axis.set(xlim=scale.limits)
        axis.set_xticks(ticks, labels)


def offsets(count: int, total: float) -> list[float]:
    """Return the positions of marks side by side, around zero."""
    step = total / max(count, 1)
    return [(place - (count - 1) / 2) * step for place in range(count)]


def placed_rows(
    table: pd.DataFrame, *, models: Sequence[str], corpora: Sequence[str]
) -> Iterator[tuple[float, dict[str, Any]]]:
    """Yield the position and values of every model; the exact grammar has no row."""
    rows = [model for model in models if model != EXACT]
    places = offsets(len(corpora), 0.6 if len(corpora) > 1 else 0.0)
    for record in table.to_dict("records"):
        if record["model"] != EXACT:
            yield rows.index(record["model"]) + places[corpora.index(record["corpus"])], record


def models_as_rows(
    axis: Axes, table: pd.DataFrame, *, models: Sequence[str], corpora: Sequence[str], scale: Scale
) -> None:
    """Draw one row per model, with one marker per corpus.

    The exact grammar is a vertical line instead of a row because it is the ceiling, not a model.
    """
    rows = [model for model in models if model != EXACT]
    styles = model_styles(models)
    axis.axvline(scale.reference, **CHANCE_LINE, zorder=1)
    for ceiling in table[table["model"] == EXACT]["mean"]:
        axis.axvline(ceiling, **CEILING_LINE, zorder=1)
    for y, record in placed_rows(table, models=models, corpora=corpora):
        colour, mark = styles[record["model"]]
        corpus = corpora.index(record["corpus"])
        axis.plot(_interval(record), [y, y], color=colour, linewidth=1.6)
        # From the accuracy with near ties as wrong to that with near ties as right.
        low, high = record.get(IF_WRONG, np.nan), record.get(IF_RIGHT, np.nan)
        if high - low > 1e-9:
            along = np.linspace(low, high, 2 * max(1, round((high - low) / (2 * _STEP))) + 1)
            across = y + 0.13 * np.where(np.arange(len(along)) % 2, 1.0, -1.0)
            axis.plot(along, across, color=colour, **ZIGZAG)
        if (reach := search_reach(record)) > 0.0:
            ends = [record["mean"] - reach, record["mean"] + reach]
            axis.plot(ends, [y, y], color=colour, **SEARCH_BAR)
            axis.plot(ends, [y, y], "|", color=colour, **SEARCH_ENDS)
        look = _corpus_look(1 if is_mostly_near(record) else corpus, colour)
        axis.plot([record["mean"]], [y], mark, color=colour, **look)
    axis.set_yticks(range(len(rows)), [figure_label(row) for row in rows])
    axis.set_ylim(len(rows) - 0.45, -0.55)
    axis.grid(False, axis="y")
    spread(axis, scale=scale, vertical=False)


def models_side_by_side(
    axis: Axes,
    table: pd.DataFrame,
    *,
    x: str,
    values: Sequence[str],
    models: Sequence[str],
    scale: Scale,
    connected: bool,
) -> None:
    """Draw the values of ``x`` along the axis, with one marker per model at each value."""
    styles = model_styles(models)
    axis.axhline(scale.reference, **CHANCE_LINE, zorder=1)
    records = sorted(table.to_dict("records"), key=lambda row: values.index(row[x]))
    for model, offset in zip(models, offsets(len(models), 0.62), strict=True):
        rows = [row for row in records if row["model"] == model]
        places = [values.index(row[x]) + offset for row in rows]
        means = [row["mean"] for row in rows]
        colour, mark = styles[model]
        if model == EXACT:
            axis.plot(places, means, marker=mark, markerfacecolor=PAPER, **CEILING_LINE)
            continue
        lows, highs = zip(*map(_interval, rows), strict=True) if rows else ((), ())
        axis.vlines(places, lows, highs, color=colour, linewidth=1.4)
        for place, mean, reach in zip(places, means, map(search_reach, rows), strict=True):
            if reach > 0.0:
                axis.vlines(place, mean - reach, mean + reach, color=colour, **SEARCH_BAR)
                ends = [mean - reach, mean + reach]
                axis.plot([place, place], ends, "_", color=colour, **SEARCH_ENDS)
        line = "-" if connected else "none"
        axis.plot(places, means, mark, color=colour, linestyle=line, linewidth=0.7)
        near = [at for at, row in enumerate(rows) if is_mostly_near(row)]
        axis.plot(
            [places[at] for at in near], [means[at] for at in near], mark, color=colour,
            markerfacecolor=PAPER,
        )  # fmt: skip
    axis.set_xticks(range(len(values)), [folded(value or "all items", most=3) for value in values])
    axis.set_xlim(-0.55, len(values) - 0.45)
    axis.grid(False, axis="x")
    spread(axis, scale=scale, vertical=True)
    if is_first(axis):
        axis.set_ylabel(scale.label)


def _corpus_look(place: int, colour: str) -> dict[str, Any]:
    """Return what tells corpora apart: filled and hollow markers, from the third on small ones."""
    face = PAPER if place % 2 else colour
    return {"markerfacecolor": face, "markersize": 5.5 if place < 2 else 3.5}


def search_reach(row: Mapping[str, float]) -> float:
    """Return half the width of the 95 % interval of the search error; 0 if it is not known."""
    error = row.get("error", math.nan)
    return NORMAL * error if math.isfinite(error) else 0.0


def _interval(row: Mapping[str, float]) -> tuple[float, float]:
    """Return both ends of the interval, or the mean twice if the interval is unknown."""
    low, high, mean = row["low"], row["high"], row["mean"]
    if not (math.isfinite(low) and math.isfinite(high)):
        return mean, mean
    return min(low, mean), max(high, mean)


def folded(name: object, *, width: int = 9, most: int | None = None) -> str:
    """Wrap a label to lines of about ``width`` characters, at most ``most`` of them."""
    lines = [""]
    for word in figure_label(name).split():
        if lines[-1] and len(lines[-1]) + len(word) > width and (not most or len(lines) < most):
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


def widest_label(panels: Iterable[Sequence[str]]) -> float:
    """Return the width, in inches, at which the labels of all panels do not overlap."""
    widths = [0.0]
    for values in panels:
        lines = "\n".join(folded(value or "all items", most=3) for value in values).split("\n")
        widths.append(len(values) * (0.1 + 0.075 * max(map(len, lines))))
    return max(widths)


def add_legend(
    figure: ReportFigure, table: pd.DataFrame, *, models: Sequence[str], corpora: Sequence[str],
    scale: Scale, marks: bool,
) -> None:  # fmt: skip
    """Add one legend below all panels; models are listed only if they are not rows (``marks``).

    ``table`` has the means that are drawn, and becomes the ``numbers`` of the figure.
    """
    handles = []
    for model, (colour, mark) in model_styles(models_in_order(models)).items():
        if model == EXACT:
            look = {**CEILING_LINE, "marker": mark if marks else "none", "markerfacecolor": PAPER}
            handles.append(Line2D([], [], **look, label=scale.exact_label))
        elif marks:
            label = figure_label(model)
            handles.append(Line2D([], [], color=colour, marker=mark, ls="none", label=label))
    dots: dict[str, Any] = {"color": MUTED, "marker": "o", "ls": "none"}
    for place, corpus in enumerate(corpora if len(corpora) > 1 else ()):
        look = {**dots, **_corpus_look(place, MUTED)}
        handles.append(Line2D([], [], **look, label=figure_label(corpus)))
    handles.append(Line2D([], [], **CHANCE_LINE, label=scale.reference_label))
    # The marks of near ties that the table leads to.
    known = table[table["model"] != EXACT]
    if IF_RIGHT in table.columns and (known[IF_RIGHT] - known[IF_WRONG] > 1e-9).any():
        look = {**dots, "marker": _MARK, "markersize": 18, "fillstyle": "none"}
        handles.append(Line2D([], [], **look, label=RANGE_LABEL))
    if NEAR_SHARE in table.columns and (known[NEAR_SHARE] >= MOSTLY_NEAR).any():
        handles.append(Line2D([], [], **dots, markerfacecolor=PAPER, label=MEAN_LABEL))
    place_legend(figure, handles)
    figure.numbers = table


def place_legend(figure: Figure, handles: Sequence[Line2D]) -> None:
    """Place a legend below all panels, in as few rows as possible, of about equal length."""
    widths = [0.5 + 0.07 * len(str(handle.get_label())) for handle in handles]
    fits = max(1, int(figure.get_figwidth() // max(widths)))
    if sum(widths) <= figure.get_figwidth():
        fits = len(handles)
    rows = -(-len(handles) // fits)
    columns = -(-len(handles) // rows)
    # Legends are filled column by column, but read row by row.
    by_rows = [handle for column in range(columns) for handle in handles[column::columns]]
    figure.legend(handles=by_rows, loc="outside lower center", ncols=columns, columnspacing=1.4)
