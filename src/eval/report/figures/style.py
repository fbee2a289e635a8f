"""The one look of all figures: colours, marks, lines, and how they are saved.

The colours and marks of models are in ``gardenpath.eval.display``.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib import image
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text

from gardenpath.eval.display import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    ModelStyle,
    family_style,
)
from gardenpath.eval.perplexity.comparison import EXACT
from gardenpath.eval.report.figures import fonts
from gardenpath.text import spaced

Pixels = npt.NDArray[np.uint8]

INK = "#1f2933"
MUTED = "#5f6b76"
GRID = "#d5dae0"
BAND = "#f3e9c6"
PAPER = "#ffffff"

MIN_WIDTH = 5.6  # inches
PNG_DPI = 200

EXACT_STYLE: ModelStyle = (INK, "D")
# Colours and dashes for things that are not models: variants of an item, corpora. Words are
# written in these, so the pale ones come last.
SERIES = (BLUE, VERMILLION, GREEN, INK, PURPLE, GREY, ORANGE, SKY)
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), "-.")

RC: dict[str, Any] = {
    "figure.facecolor": PAPER,
    # The same as in the PNG, so that what is measured for the layout is not measured again.
    "figure.dpi": PNG_DPI,
    "savefig.facecolor": PAPER,
    "savefig.bbox": None,
    "font.size": 9.0,
    "axes.titlesize": 10.5,
    # The bundled Han characters have one weight; a bold title would mix two.
    "axes.titleweight": "normal",
    "axes.titlelocation": "left",
    "axes.titlecolor": INK,
    # No panel has ticks above it; to look for them in every draw takes long.
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
    # Equal content gives equal files.
    "svg.hashsalt": "gardenpath",
    "svg.fonttype": "path",
    # Dollars and underscores in words are words.
    "text.parse_math": False,
    "text.usetex": False,
    # Letters are fine enough at this size, and the same as in the SVG.
    "text.hinting": "none",
    "axes.unicode_minus": True,
}


@contextmanager
def look() -> Iterator[None]:
    """Draw and save figures inside this block; settings of the caller come back afterwards."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(RC)  # type: ignore[arg-type]
        mpl.rcParams["font.family"] = list(fonts.bundled_families())
        yield


def empty(width: float, height: float) -> Figure:
    """A figure of this size in inches, with nothing on it."""
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def balanced(count: int, most: int) -> int:
    """How many columns a grid has, at most ``most``: if it can be, its last row is full.

    Fewer than half of what fits would waste the page.
    """
    most = max(1, min(most, count))
    fewest = min(most, max(2, (most + 1) // 2))
    return min(range(most, fewest - 1, -1), key=lambda columns: -count % columns)


def panels(
    count: int, *, columns: int, width: float, height: float, foot: float = 0.0, sharey: bool = True
) -> tuple[Figure, list[Axes]]:
    """A figure with a grid of axes, ``width`` × ``height`` inches each; surplus ones removed.

    ``columns`` is how many fit beside each other, ``foot`` what a legend below them needs.
    """
    columns = balanced(count, columns)
    rows = -(-count // columns)
    # A legend needs some room even below a single small panel.
    size = (max(columns * width, MIN_WIDTH), rows * height + foot)
    figure = empty(*size)
    figure.set_layout_engine(ConstrainedLayoutEngine(h_pad=0.08, w_pad=0.06))
    grid = figure.subplots(rows, columns, squeeze=False, sharey=sharey)
    axes = [axis for row in grid for axis in row]
    for axis in axes[count:]:
        axis.remove()
    return figure, axes[:count]


def is_first(axis: Axes) -> bool:
    """Whether a panel stands at the left of its row, where the label of the axis is written."""
    place = axis.get_subplotspec()
    return place is None or place.is_first_col()


def model_styles(models: Sequence[str]) -> dict[str, ModelStyle]:
    """Colour and mark of each model: that of its family, where no other model has it already."""
    styles: dict[str, ModelStyle] = {}
    for model in models:
        taken = styles.values()
        styles[model] = EXACT_STYLE if model == EXACT else family_style(model, taken)
    return styles


def figure_label(name: object) -> str:
    """A name as it stands in figures: ``classifier_noun`` → ``classifier noun``."""
    return fonts.drawable(spaced(name))


def settle(figure: Figure) -> None:
    """Find the place of everything, once for all formats; to be called before a figure is saved.

    Texts with rare characters get the fonts of the machine. The others need not look for them,
    which is what most of the time would go into.
    """
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        if not fonts.is_bundled(text.get_text()):
            text.set_fontfamily(list(fonts.families()))
    for axis in (one for axes in figure.axes for one in (axes.xaxis, axes.yaxis)):
        if not axis.get_label_text():
            # A label that is not there needs no place beside the ticks.
            axis.set_label_coords(0.5, 0.0)
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)


def as_svg(figure: Figure) -> str:
    """The figure as SVG: text as outlines, nothing that changes from run to run."""
    content = io.StringIO()
    metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(content, format="svg", metadata=metadata)
    return content.getvalue()


def pixels(figure: Figure) -> Pixels:
    """The figure as it is printed, in red, green, blue and opacity."""
    canvas: Any = figure.canvas
    canvas.draw()
    return np.array(canvas.buffer_rgba())


def as_png(drawn: Pixels) -> bytes:
    """What was drawn as PNG; knows no figure, so that the next one can be drawn meanwhile."""
    content = io.BytesIO()
    unsigned: dict[str, Any] = {"Software": None}
    # Harder compression takes half as long again for a tenth less.
    options = {"compress_level": 3}
    image.imsave(content, drawn, format="png", dpi=PNG_DPI, metadata=unsigned, pil_kwargs=options)
    return content.getvalue()
