"""Style of all figures: colours, lines, layout, and output formats.

The colours and markers of models are in ``gardenpath.eval.display``.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib import image
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
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
)
from gardenpath.eval.report.figures import fonts
from gardenpath.text import spaced

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
    "savefig.bbox": None,
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
    "axes.linewidth": 0.8,
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
    "lines.linewidth": 1.5,
    "lines.markersize": 5.5,
    # Identical content gives identical files.
    "svg.hashsalt": "gardenpath",
    "svg.fonttype": "path",
    # Dollar signs and underscores in words are not mathematics.
    "text.parse_math": False,
    "text.usetex": False,
    # Hinting is not needed at this resolution, and letters are the same as in the SVG.
    "text.hinting": "none",
    "axes.unicode_minus": True,
}


@contextmanager
def look() -> Iterator[None]:
    """Apply the style to figures drawn and saved in this block; restore the settings after it."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(RC)  # type: ignore[arg-type]
        mpl.rcParams["font.family"] = list(fonts.bundled_families())
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
    return fonts.drawable(spaced(name))


def settle(figure: Figure) -> None:
    """Compute the layout, once for all formats; must be called before a figure is saved.

    Only texts with rare characters use system fonts, because searching them is slow.
    """
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        if not fonts.is_bundled(text.get_text()):
            text.set_fontfamily(list(fonts.families()))
    for axis in (one for axes in figure.axes for one in (axes.xaxis, axes.yaxis)):
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
    """Return the rendered figure as RGBA pixels."""
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
