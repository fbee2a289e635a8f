"""The one look of all figures: colours, marks, lines, and how they are saved.

Colours are those of Okabe and Ito, which people with any kind of colour vision tell apart, and
models differ in mark as well as in colour. Sentence models and their structured counterparts are
pairs of one hue: lstm and rnng are blue, transformer and plm orange and red.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from src.eval.comparison import EXACT
from src.eval.report import fonts
from src.eval.report.study import family

INK = "#1f2933"
MUTED = "#5f6b76"
GRID = "#d5dae0"
BAND = "#f3e9c6"
PAPER = "#ffffff"

SKY, BLUE, ORANGE, VERMILLION = "#56b4e9", "#0072b2", "#e69f00", "#d55e00"
GREEN, PURPLE, GREY = "#009e73", "#cc79a7", "#8c8c8c"

MIN_WIDTH = 5.6  # inches

FAMILY_STYLES = {
    "unigram": (GREY, "v"),
    "ngram": (GREEN, "^"),
    "lstm": (SKY, "o"),
    "rnng": (BLUE, "s"),
    "transformer": (ORANGE, "P"),
    "plm": (VERMILLION, "X"),
    "plm_mask": (PURPLE, "p"),
}
SPARE_STYLES = ((PURPLE, "h"), (GREEN, "<"), (GREY, ">"), (VERMILLION, "*"), (BLUE, "8"))
EXACT_STYLE = (INK, "D")
# Colours and dashes for things that are not models: variants of an item, corpora. Words are
# written in these, so the pale ones come last.
SERIES = (BLUE, VERMILLION, GREEN, INK, PURPLE, GREY, ORANGE, SKY)
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), "-.")

RC: dict[str, Any] = {
    "figure.facecolor": PAPER,
    "figure.dpi": 100,
    "savefig.facecolor": PAPER,
    "savefig.bbox": None,
    "font.size": 9.0,
    "axes.titlesize": 10.5,
    # The bundled Han characters have one weight; a bold title would mix two.
    "axes.titleweight": "normal",
    "axes.titlelocation": "left",
    "axes.titlecolor": INK,
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
    # Equal content gives equal files.
    "svg.hashsalt": "gardenpath",
    "svg.fonttype": "path",
    # Dollars and underscores in words are words.
    "text.parse_math": False,
    "text.usetex": False,
    "axes.unicode_minus": True,
}


@contextmanager
def look() -> Iterator[None]:
    """Draw and save figures inside this block; settings of the caller come back afterwards."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(RC)  # type: ignore[arg-type]
        mpl.rcParams["font.family"] = list(fonts.families())
        yield


def panels(
    count: int, *, columns: int, width: float, height: float, foot: float = 0.0, sharey: bool = True
) -> tuple[Figure, list[Axes]]:
    """A figure with a grid of axes, ``width`` × ``height`` inches each; surplus ones removed.

    ``foot`` is what a legend below them needs.
    """
    columns = min(columns, count)
    rows = -(-count // columns)
    # A legend needs some room even below a single small panel.
    size = (max(columns * width, MIN_WIDTH), rows * height + foot)
    figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(h_pad=0.08, w_pad=0.06))
    FigureCanvasAgg(figure)
    grid = figure.subplots(rows, columns, squeeze=False, sharey=sharey)
    axes = [axis for row in grid for axis in row]
    for axis in axes[count:]:
        axis.remove()
    return figure, axes[:count]


def model_styles(models: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Colour and mark of each model: that of its family, where no other model has it already."""
    styles: dict[str, tuple[str, str]] = {}
    for model in models:
        style = EXACT_STYLE if model == EXACT else FAMILY_STYLES.get(family(model))
        if style is None or style in styles.values():
            left = [one for one in SPARE_STYLES if one not in styles.values()]
            style = left[0] if left else SPARE_STYLES[len(styles) % len(SPARE_STYLES)]
        styles[model] = style
    return styles


def readable(name: object) -> str:
    """A name as it stands in figures and headings: ``classifier_noun`` → ``classifier noun``."""
    return fonts.drawable(str(name).replace("_", " "))


def as_svg(figure: Figure) -> str:
    """The figure as SVG: text as outlines, nothing that changes from run to run."""
    content = io.StringIO()
    metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(content, format="svg", metadata=metadata)
    return content.getvalue()


def as_png(figure: Figure) -> bytes:
    """The figure as PNG, fine enough for print; to be called after ``as_svg``."""
    content = io.BytesIO()
    # The places are those of the SVG already; to compute them anew takes as long as to draw.
    figure.set_layout_engine("none")
    figure.savefig(content, format="png", dpi=200, metadata={"Software": None})
    return content.getvalue()
