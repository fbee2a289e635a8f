"""The figures of accuracies, effects, training, corpora, estimates, and surprisal by word.

``all`` lists them for a report and ``style`` has the panels that they share. Each function takes
the content of a report, or a part of it, and returns a figure with the table of its ``numbers``.
"""

from __future__ import annotations

import itertools
import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from gardenpath.eval.display import BLUE, EXACT, models_in_order
from gardenpath.eval.means import NORMAL
from gardenpath.eval.perplexity import JOINT, MARGINAL, PerplexityRow
from gardenpath.eval.report.content import Curve, ReportContent, ReportedAnalysis
from gardenpath.eval.report.figures import style
from gardenpath.eval.report.means import in_numbers, with_near_range, with_near_share
from gardenpath.store.tables import ESTIMATES, SURPRISAL_SE

# Inches: on the screen of a phone, all of the figure has to be seen at once.
_PHONE = 4.8


def accuracy_by_class(content: ReportContent, corpora: Sequence[str]) -> style.ReportFigure:
    """Draw one panel per class, with one row per model."""
    items = content.items[content.items["corpus"].isin(corpora)]
    table = content.by_class[content.by_class["corpus"].isin(corpora)]
    table = with_near_range(table, items, ["model", "corpus", "class"])
    models, classes = models_in_order(items["model"]), list(dict.fromkeys(items["class"]))
    rows = sum(model != EXACT for model in models)
    height = 0.65 + rows * (0.22 + 0.1 * (len(corpora) - 1))
    figure, axes = style.panels(len(classes), columns=3, width=2.6, height=height, foot=0.3)
    for axis, name in zip(axes, classes, strict=True):
        scale = replace(style.ACCURACY, reference=content.chance_of(name))
        part = table[table["class"] == name]
        style.models_as_rows(axis, part, models=models, corpora=corpora, scale=scale)
        axis.set_title(style.figure_label(name or "all items"))
    style.add_legend(
        figure, table, models=models, corpora=corpora, scale=style.ACCURACY, marks=False
    )
    return figure


def mean_accuracy(content: ReportContent, corpora: Sequence[str]) -> style.ReportFigure:
    """Draw one row per model: the mean over all classes, as a marker and as a number."""
    items = content.items[content.items["corpus"].isin(corpora)]
    table = content.by_model[content.by_model["corpus"].isin(corpora)]
    table = with_near_range(table, items, ["model", "corpus"])
    models = models_in_order(items["model"])
    rows = sum(model != EXACT for model in models) * max(1.0, 0.75 * len(corpora))
    figure, (axis,) = style.panels(
        1, columns=1, width=_PHONE, height=1.1 + rows * 0.3, least=_PHONE
    )
    chances = [content.chance_of(name) for name in dict.fromkeys(items["class"])]
    scale = replace(style.ACCURACY, reference=sum(chances) / max(len(chances), 1))
    style.models_as_rows(axis, table, models=models, corpora=corpora, scale=scale)
    for place, row in style.placed_rows(table, models=models, corpora=corpora):
        axis.annotate(
            in_numbers(row),
            (1.02, place), xycoords=("axes fraction", "data"), va="center", fontsize=8.5,
            annotation_clip=False,
        )  # fmt: skip
    axis.set_xlabel("mean accuracy over classes, 95 % interval over items")
    style.add_legend(figure, table, models=models, corpora=corpora, scale=scale, marks=False)
    return figure


def accuracy_by_modifier(content: ReportContent, corpus: str) -> style.ReportFigure:
    """Draw one panel per class, with modifiers from simple to complex on the x axis."""
    table = content.by_modifier[content.by_modifier["corpus"] == corpus]
    return _by_modifier(content, corpus, table, scale=style.ACCURACY)


def differences_by_condition(content: ReportContent, corpus: str) -> style.ReportFigure:
    """Draw the mean surprisal difference of the compared conditions, by class and modifier.

    Classes with a single modifier each have one row per model.
    """
    scale = replace(style.BITS, label="difference, bits")
    items = content.items[content.items["corpus"] == corpus]
    if (items.groupby("class")["modifier"].nunique() != 1).any():
        keys = ["model", "class", "modifier"]
        table = content.bit_means(items, value="difference_bits", by=keys)
        return _by_modifier(content, corpus, table, scale=scale)
    keys = ["model", "corpus", "class"]
    table = content.bit_means(items, value="difference_bits", by=keys)
    table = with_near_share(table, items, keys)
    models = _models_of(table, items)
    classes = list(dict.fromkeys(items["class"]))
    height = 0.75 + 0.22 * sum(model != EXACT for model in models)
    figure, axes = style.panels(len(classes), columns=3, width=2.7, height=height, foot=0.3)
    for axis, name in zip(axes, classes, strict=True):
        part = table[table["class"] == name]
        style.models_as_rows(axis, part, models=models, corpora=[corpus], scale=scale)
        axis.set_title(style.figure_label(name or "all items"))
        axis.set_xlabel(scale.label)
    style.add_legend(figure, table, models=models, corpora=[], scale=scale, marks=False)
    return figure


def _by_modifier(
    content: ReportContent, corpus: str, table: pd.DataFrame, *, scale: style.Scale
) -> style.ReportFigure:
    items = content.items[content.items["corpus"] == corpus]
    table = with_near_share(table, items, ["model", "class", "modifier"])
    models = _models_of(table, items)
    along = {
        str(name): content.modifiers(part["modifier"])
        for name, part in items.groupby("class", sort=False)
    }
    is_accuracy = scale is style.ACCURACY
    most = max(map(len, along.values()))
    width = max(2.6, 0.4 + 0.14 * most * len(models), 0.5 + style.widest_label(along.values()))
    columns = 3 if width < 3.4 else 2
    figure, axes = style.panels(len(along), columns=columns, width=width, height=2.0, foot=0.5)
    for axis, (name, modifiers) in zip(axes, along.items(), strict=True):
        chance = content.chance_of(name) if is_accuracy else 0.0
        style.models_side_by_side(
            axis, table[table["class"] == name], x="modifier", values=modifiers, models=models,
            scale=replace(scale, reference=chance), connected=is_accuracy,
        )  # fmt: skip
        axis.set_title(style.figure_label(name or "all items"))
    style.add_legend(figure, table, models=models, corpora=[], scale=scale, marks=True)
    return figure


def _models_of(means: pd.DataFrame, rows: pd.DataFrame) -> list[str]:
    known = set(means["model"])
    return [model for model in models_in_order(rows["model"]) if model in known]


def effects_by_condition(
    content: ReportContent, corpus: str, effects: Sequence[str]
) -> style.ReportFigure:
    """Draw one panel per effect, with conditions on the x axis and one marker per model.

    Conditions are told apart by the modifier, else by the class, else by the suite.
    """
    table = content.effects
    table = table[(table["corpus"] == corpus) & table["effect"].isin(effects)]
    columns = [column for column in ("modifier", "class") if table[column].nunique() > 1]
    by = columns[0] if columns else "suite"
    means = content.bit_means(table, value="value_bits", by=["model", "effect", by])
    means = with_near_share(means, table, ["model", "effect", by])
    models = _models_of(means, table)
    # Not every effect is defined in every condition: a panel shows only those where it is.
    along = {}
    for effect in effects:
        values = list(dict.fromkeys(means[means["effect"] == effect][by]))
        along[effect] = content.modifiers(values) if by == "modifier" else values
    most = max(map(len, along.values()))
    width = max(3.0, 0.5 + 0.1 * most * (len(models) + 1), 0.5 + style.widest_label(along.values()))
    width = min(width, 10.0)
    fitting = max(1, int(9.0 // width))
    figure, axes = style.panels(len(effects), columns=fitting, width=width, height=2.1, foot=0.5)
    for axis, (effect, values) in zip(axes, along.items(), strict=True):
        part = means[means["effect"] == effect]
        style.models_side_by_side(
            axis, part, x=by, values=values, models=models, scale=style.BITS, connected=False
        )
        axis.set_title(style.figure_label(effect))
    scale = replace(style.BITS, reference_label="no effect")
    style.add_legend(figure, means, models=models, corpora=[], scale=scale, marks=True)
    return figure


# Training and corpora: loss curves, sentence lengths and excess surprisal.

TRAINING = (0, (2, 2))


def loss_curves(curves: Sequence[Curve]) -> style.ReportFigure:
    """Draw one panel per corpus: the loss after each epoch, one thin line per seed.

    The line of the validation loss ends in a marker.
    """
    corpora = list(dict.fromkeys(curve.corpus for curve in curves))
    models = models_in_order([curve.model for curve in curves])
    styles = style.model_styles(models)
    figure, axes = style.panels(len(corpora), columns=2, width=3.7, height=2.9, sharey=False)
    panels = dict(zip(corpora, axes, strict=True))
    numbers = []
    for curve in curves:
        axis, (colour, mark) = panels[curve.corpus], styles[curve.model]
        names = [name for name in ("train/loss", "valid/loss") if name in curve.metrics.columns]
        for name in names:
            points = curve.metrics[["epoch", name]].dropna()
            looks: dict[str, Any] = {"linestyle": TRAINING, "linewidth": 0.9}
            if name == "valid/loss":
                last = [len(points) - 1] if len(points) else None
                looks = {"marker": mark, "markevery": last, "linewidth": 1.2}
            axis.plot(points["epoch"] + 1, points[name], color=colour, **looks)
        epochs = curve.metrics[["epoch", *names]].dropna(subset=names, how="all")
        run = {"model": curve.model, "corpus": curve.corpus, "seed": curve.seed}
        epochs = epochs.assign(epoch=epochs["epoch"] + 1)
        numbers.append(pd.DataFrame(run, index=epochs.index).join(epochs))
    for corpus, axis in panels.items():
        axis.set_title(style.figure_label(corpus))
        axis.set_xlabel("epoch")
        axis.set_ylabel("loss, nats per event")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    joint = {curve.model for curve in curves if curve.is_joint}
    handles = []
    for model, (colour, mark) in styles.items():
        label = style.figure_label(model) + (" (with trees)" if model in joint else "")
        handles.append(Line2D([], [], color=colour, marker=mark, label=label))
    handles += [
        Line2D([], [], color=style.MUTED, label="validation"),
        Line2D([], [], color=style.MUTED, linestyle=TRAINING, label="training"),
    ]
    style.place_legend(figure, handles)
    figure.numbers = pd.concat(numbers)
    return figure


def sentence_lengths(lengths: Mapping[str, Mapping[int, int]]) -> style.ReportFigure:
    """Draw the distribution of sentence lengths, one line per corpus."""
    figure, (axis,) = style.panels(1, columns=1, width=6.4, height=2.8)
    numbers = []
    for place, (corpus, counts) in enumerate(lengths.items()):
        total = sum(counts.values())
        span = range(min(counts, default=0), max(counts, default=0) + 1)
        shares = [100 * counts.get(length, 0) / max(total, 1) for length in span]
        mean = sum(length * count for length, count in counts.items()) / max(total, 1)
        colour = style.SERIES[place % len(style.SERIES)]
        dash = style.DASHES[place % len(style.DASHES)]
        label = f"{style.figure_label(corpus)}: {total:,} sentences, mean {mean:.1f} words"
        axis.plot(list(span), shares, color=colour, linestyle=dash, label=label)
        numbers += [
            (corpus, length, counts.get(length, 0), share)
            for length, share in zip(span, shares, strict=True)
        ]
        axis.fill_between(list(span), shares, color=colour, alpha=0.12, linewidth=0)
    axis.set_xlabel("words in the sentence")
    axis.set_ylabel("% of sentences")
    axis.set_ylim(bottom=0)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.legend(loc="outside lower center", ncols=1)
    columns = ["corpus", "words", "sentences", "percent"]
    figure.numbers = pd.DataFrame(numbers, columns=columns)
    return figure


def excess(rows: Sequence[PerplexityRow]) -> style.ReportFigure:
    """Draw the excess over the exact grammar in bits per word, one panel per toy corpus."""
    known = [row for row in rows if row.excess_bits_per_word is not None and row.model != EXACT]
    corpora = list(dict.fromkeys(row.corpus for row in known))
    models = models_in_order([row.model for row in known])
    styles = style.model_styles(models_in_order([_bare(model) for model in models]))
    height = 1.0 + 0.26 * len(models)
    figure, axes = style.panels(len(corpora), columns=2, width=3.7, height=height)
    numbers = []
    for axis, corpus in zip(axes, corpora, strict=True):
        for place, model in enumerate(models):
            bits = [
                row.excess_bits_per_word or 0.0
                for row in known
                if (row.corpus, row.model) == (corpus, model)
            ]
            if bits:
                colour, mark = styles[_bare(model)]
                face = style.PAPER if model.endswith(JOINT) else colour
                axis.plot([min(bits), max(bits)], [place, place], color=colour, linewidth=1.6)
                mean = sum(bits) / len(bits)
                axis.plot([mean], [place], mark, color=colour, markerfacecolor=face)
                numbers.append((corpus, model, mean, min(bits), max(bits), len(bits)))
        axis.axvline(0.0, **style.CEILING_LINE)
        axis.set_yticks(range(len(models)), [style.figure_label(model) for model in models])
        axis.set_ylim(len(models) - 0.4, -0.6)
        axis.grid(False, axis="y")
        axis.set_title(style.figure_label(corpus))
        axis.set_xlabel("excess over the exact grammar, bits per word")
    columns = ["corpus", "model", "mean", "lowest", "highest", "runs"]
    figure.numbers = pd.DataFrame(numbers, columns=columns)
    return figure


def _bare(model: str) -> str:
    """Return the model without the suffix of its perplexity: ``rnng (joint)`` is rnng."""
    return model.removesuffix(JOINT).removesuffix(MARGINAL)


# The estimates of an analysis with their intervals, one row each.

INTERCEPTS = ("(Intercept)", "Intercept", "1")
BETWEEN = " · "

AXIS_WIDTH = 2.9  # inches
ROW_HEIGHT = 0.23
LETTER = 0.07
PLAIN = (BLUE, "o")
# Intervals that extend this many times further than most others are cut.
TOO_FAR = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A row: label, estimate with its interval, and model."""

    label: str
    value: float
    low: float
    high: float
    model: str = ""

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0.0 or self.high < 0.0

    @property
    def in_numbers(self) -> str:
        text = f"{_number(self.value)}  [{_number(self.low)}, {_number(self.high)}]"
        return text.replace("-", "\N{MINUS SIGN}")


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.2g}"


def estimate_rows(analysis: ReportedAnalysis) -> list[Estimate]:
    """Return every term that can be drawn, without the parts that all labels share.

    Intercepts are omitted if there are other terms: they say little and would dominate the scale.
    """
    tables = analysis.tables
    if "estimates" in tables:
        tables = {"estimates": tables["estimates"]}
    intercepts: list[Estimate] = []
    rows: list[Estimate] = []
    for name, table in tables.items():
        if not set(ESTIMATES.names) <= set(table.columns):
            continue
        for record in table.to_dict("records"):
            label = term = str(record["term"])
            if len(tables) > 1:
                label = f"{name}: {term}" if len(table) > 1 else name
            value, low, high = (float(record[column]) for column in ESTIMATES.names[1:])
            if all(map(math.isfinite, (value, low, high))):
                model = str(record.get("model", ""))
                row = Estimate(label=label, value=value, low=low, high=high, model=model)
                (intercepts if term in INTERCEPTS else rows).append(row)
    rows = rows or intercepts
    parts = [row.label.split(BETWEEN) for row in rows]
    if len(rows) < 2 or len(set(map(len, parts))) > 1:
        return rows
    # Such as a corpus or the name of the term.
    differing = [len(set(column)) > 1 for column in zip(*parts, strict=True)]
    if not any(differing):
        return rows
    labels = [BETWEEN.join(itertools.compress(label, differing)) for label in parts]
    return [replace(row, label=label) for row, label in zip(rows, labels, strict=True)]


def estimates(analysis: ReportedAnalysis) -> style.ReportFigure:
    """Draw the estimates of an analysis with their intervals, one row per term, in groups."""
    rows = estimate_rows(analysis)
    # There is a gap where the first part of the label changes.
    heads = [row.label.split(BETWEEN)[0] for row in rows]
    has_groups = 1 < len(set(heads)) < len(heads)
    places = [0.0]
    for before, head in itertools.pairwise(heads):
        places.append(places[-1] + (1.5 if has_groups and head != before else 1.0))
    left = 0.2 + LETTER * max(len(row.label) for row in rows)
    right = 0.3 + LETTER * max(len(row.in_numbers) for row in rows)
    top, bottom = 0.1, 0.5
    width = max(left + AXIS_WIDTH + right, style.MIN_WIDTH)
    height = top + ROW_HEIGHT * (places[-1] + 1.2) + bottom
    figure = style.empty(width, height)
    axis = figure.add_axes(
        (left / width, bottom / height, 1 - (left + right) / width, 1 - (top + bottom) / height)
    )
    _draw(axis, rows, places)
    axis.set_yticks(places, [style.figure_label(row.label) for row in rows])
    axis.set_ylim(places[-1] + 0.6, -0.6)
    axis.grid(False, axis="y")
    figure.numbers = pd.DataFrame([asdict(row) for row in rows])
    return figure


def _draw(axis: Axes, rows: Sequence[Estimate], places: Sequence[float]) -> None:
    styles = style.model_styles(models_in_order([row.model for row in rows if row.model]))
    # All intervals and zero, without the ends of extreme intervals.
    ends = np.array([[row.low, row.high] for row in rows])
    usual = TOO_FAR * float(np.quantile(np.abs(ends).max(axis=1), 0.75))
    low, high = max(min(ends.min(), 0.0), -usual), min(max(ends.max(), 0.0), usual)
    margin = 0.06 * (high - low) or 1.0
    low, high = low - margin, high + margin
    axis.axvline(0.0, **style.CHANCE_LINE, zorder=1)
    looks = [(*styles.get(row.model, PLAIN), row.is_clear) for row in rows]
    for look in dict.fromkeys(looks):
        colour, mark, is_clear = look
        same = [(row, y) for row, y, own in zip(rows, places, looks, strict=True) if own == look]
        ys = [y for _, y in same]
        axis.hlines(
            ys, [row.low for row, _ in same], [row.high for row, _ in same], color=colour,
            linewidth=1.6,
        )  # fmt: skip
        # Filled marker: the interval excludes zero; hollow: it includes zero.
        face = colour if is_clear else style.PAPER
        axis.plot([row.value for row, _ in same], ys, mark, color=colour, markerfacecolor=face)
        for end, sign, beyond in (
            (low, "<", [y for row, y in same if row.low < low]),
            (high, ">", [y for row, y in same if row.high > high]),
        ):
            axis.plot([end] * len(beyond), beyond, sign, color=colour, markersize=4, clip_on=False)
    beside = axis.get_yaxis_transform()
    for row, place in zip(rows, places, strict=True):
        axis.text(1.03, place, row.in_numbers, transform=beside, va="center", fontsize=8.5)
    axis.set_xlim(low, high)
    is_cut = any(row.low < low or row.high > high for row in rows)
    goes_on = "; arrows: interval continues" if is_cut else ""
    axis.set_xlabel(f"estimate, 95 % interval (hollow: includes zero{goes_on})")


# Surprisal by word: the variants of an item, aligned by region, with the critical region marked.
# The words are written below, in the colours of the lines. All panels are drawn on one axis in
# inches, because an axis per panel would be much slower.

PAGE_WIDTH = 10.6  # inches
PANEL_HEIGHT = 0.85
GAP = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantLine:
    """One variant: its words and their positions in the figure."""

    label: str
    condition: str
    variant: object
    places: Mapping[int, int]  # word_id → position
    words: Mapping[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """The aligned variants of an item; ``critical`` are the ranges of positions to mark."""

    lines: Sequence[VariantLine]
    size: int
    critical: Sequence[tuple[int, int]]


def align(rows: pd.DataFrame, critical: Sequence[str]) -> Alignment:
    """Align the variants of an item; ``rows`` are those of a single run."""
    variants = list(rows.groupby(["condition", "variant"], sort=False))
    regions = _region_order([list(dict.fromkeys(part["region"])) for _, part in variants])
    widths = {
        region: max(int((part["region"] == region).sum()) for _, part in variants)
        for region in regions
    }
    ends = list(itertools.accumulate(widths.values()))
    starts = {region: end - widths[region] for region, end in zip(regions, ends, strict=True)}
    several = rows.groupby("condition", sort=False)["variant"].nunique()
    lines = []
    for (condition, variant), part in variants:
        within = part.groupby("region", sort=False).cumcount()
        places = part["region"].map(starts) + within
        ids = part["word_id"].tolist()
        lines.append(
            VariantLine(
                label=f"{condition} {variant}" if several[condition] > 1 else str(condition),
                condition=str(condition),
                variant=variant,
                places=dict(zip(ids, places.tolist(), strict=True)),
                words=dict(zip(ids, part["word"].astype(str).tolist(), strict=True)),
            )
        )
    marked = [
        (starts[region], starts[region] + widths[region])
        for region in regions
        if str(region) in critical
    ]
    return Alignment(lines=lines, size=ends[-1], critical=marked)


def _region_order(sequences: Sequence[Sequence[object]]) -> list[object]:
    """Merge the regions of all variants; a region that some lack follows its neighbour."""
    order: list[object] = []
    for sequence in sequences:
        place = 0
        for region in sequence:
            if region not in order:
                order.insert(place, region)
            place = order.index(region) + 1
    return order


def surprisal_figure(
    content: ReportContent, *, suite: str, item: int | str, corpus: str
) -> style.ReportFigure:
    """Draw an item: one panel per model, with the words of all variants below each column."""
    table = content.surprisals
    chosen = (table["suite"] == suite) & (table["item"] == item) & (table["corpus"] == corpus)
    table = table[chosen]
    first = table[table["run"] == table["run"].iloc[0]]
    alignment = align(first, content.critical.get(suite, ()))
    models = models_in_order(table["model"])
    bits = table["surprisal_bits"].to_numpy(dtype=np.float64)
    finite = bits[np.isfinite(bits)]
    grid = Grid.of(alignment, len(models), top=max(finite.max(initial=0.0) * 1.2, 1.0))
    figure = style.empty(grid.width, grid.height)
    axis = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axis.set_axis_off()
    axis.set_xlim(0.0, grid.width)
    axis.set_ylim(0.0, grid.height)
    keys = ["model", "condition", "variant", "word_id"]
    means = table.groupby(keys, sort=False)["surprisal_bits"].mean().to_dict()
    reaches = _search_reaches(table, keys)
    for place, model in enumerate(models):
        left, base = grid.corner(place)
        panel = _Panel(axis, grid, left, base, is_first=place % grid.columns == 0)
        panel.frame(style.figure_label(model), alignment.critical)
        for number, line in enumerate(alignment.lines):
            words = [(model, line.condition, line.variant, word) for word in line.places]
            panel.line(number, line, [(means.get(word), reaches.get(word, 0.0)) for word in words])
        if place + grid.columns >= grid.count:
            panel.words(alignment)
    numbers = table.groupby([*keys, "region", "word"], sort=False)["surprisal_bits"].mean()
    figure.numbers = numbers.reset_index()
    if reaches:
        names = figure.numbers[keys].itertuples(index=False, name=None)
        figure.numbers["search_error_95"] = [reaches.get(word) for word in names]
    return figure


def _search_reaches(table: pd.DataFrame, keys: list[str]) -> dict[Any, float]:
    """Return half the widths of the 95 % intervals of search errors of means over runs, if any."""
    if SURPRISAL_SE not in table.columns:
        return {}
    squares = table.assign(square=table[SURPRISAL_SE] ** 2).groupby(keys, sort=False)["square"]
    errors = NORMAL * np.sqrt(squares.sum(min_count=1)) / squares.size()
    return dict(errors.dropna().items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The positions of the panels, in inches from the lower left corner of the figure.

    There are as many columns as fit on the page, and every column has space for words at its foot.
    ``unit`` is the width of a word, ``top`` the surprisal (bits) at the upper edge of a panel.
    """

    count: int
    columns: int
    size: int
    unit: float
    margin: float
    between: float
    foot: float
    top: float

    @classmethod
    def of(cls, alignment: Alignment, count: int, *, top: float) -> Grid:
        # In half-width characters.
        widest = max(
            sum(2.0 if unicodedata.east_asian_width(letter) in "WF" else 1.0 for letter in word)
            for line in alignment.lines
            for word in line.words.values()
        )
        unit = max(0.4, 0.075 * widest + 0.1)
        # The names of conditions are left of the words in the first column.
        margin = 0.5 + 0.075 * max(len(line.label) for line in alignment.lines)
        fitting = int((PAGE_WIDTH - margin) // (unit * alignment.size + GAP))
        columns = style.balanced(count, fitting)
        foot = 0.15 + 0.2 * len(alignment.lines)
        # The last row may be shorter: columns without a panel there have their words one row above.
        between = 0.42 if count % columns == 0 else max(0.42, foot + 0.25)
        return cls(
            count=count, columns=columns, size=alignment.size, unit=unit, margin=margin,
            between=between, foot=foot, top=top,
        )  # fmt: skip

    @property
    def panel(self) -> float:
        return self.unit * self.size

    @property
    def width(self) -> float:
        return self.margin + self.columns * (self.panel + GAP) - GAP + 0.15

    @property
    def height(self) -> float:
        rows = -(-self.count // self.columns)
        return rows * (PANEL_HEIGHT + self.between) - self.between + self.foot + 0.35

    def corner(self, place: int) -> tuple[float, float]:
        """Return the lower left corner of a panel."""
        row, column = divmod(place, self.columns)
        above = 0.3 + PANEL_HEIGHT + row * (PANEL_HEIGHT + self.between)
        return self.margin + column * (self.panel + GAP), self.height - above


@dataclass(frozen=True, slots=True)
class _Panel:
    """A panel whose lower left corner is at ``left`` and ``base``; the first has labels."""

    axis: Axes
    grid: Grid
    left: float
    base: float
    is_first: bool

    def _x(self, place: float) -> float:
        return self.left + (place + 0.5) * self.grid.unit

    def _y(self, bits: float) -> float:
        return self.base + PANEL_HEIGHT * bits / self.grid.top

    def frame(self, title: str, critical: Sequence[tuple[int, int]]) -> None:
        axis, left, base = self.axis, self.left, self.base
        right = left + self.grid.panel
        steps = MaxNLocator(3, steps=[1, 2, 5, 10]).tick_values(0.0, self.grid.top)
        for tick in (tick for tick in steps if 0 <= tick <= self.grid.top):
            y = self._y(tick)
            axis.plot([left, right], [y, y], color=style.GRID, linewidth=0.7, zorder=0.5)
            if self.is_first:
                axis.text(left - 0.06, y, f"{tick:g}", ha="right", va="center")
        top = base + PANEL_HEIGHT
        axis.plot([left, left, right], [top, base, base], color=style.MUTED, linewidth=0.8)
        axis.text(left, top + 0.07, title, fontsize=10.5)
        if self.is_first:
            look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8.5}
            axis.text(left - 0.4, base + PANEL_HEIGHT / 2, "bits", rotation=90, **look)
        for start, end in critical:
            unit = self.grid.unit
            band = Rectangle(
                (left + start * unit, base), (end - start) * unit, PANEL_HEIGHT, color=style.BAND,
                linewidth=0, zorder=0,
            )  # fmt: skip
            axis.add_patch(band)

    def line(
        self, number: int, line: VariantLine, values: Sequence[tuple[float | None, float]]
    ) -> None:
        """Draw the surprisals of one variant, with bars as long as their search errors.

        A word with zero probability is an ∞ at the top.
        """
        axis, top = self.axis, self.grid.top
        colour = style.SERIES[number % len(style.SERIES)]
        points = [
            (self._x(place), math.nan if bits is None else bits, reach)
            for place, (bits, reach) in zip(line.places.values(), values, strict=True)
        ]
        finite = [(x, self._y(bits)) for x, bits, _ in points if math.isfinite(bits)]
        for x, bits, reach in points:
            if reach > 0.0 and math.isfinite(bits):
                ends = [self._y(max(0.0, bits - reach)), self._y(min(top, bits + reach))]
                axis.plot([x, x], ends, color=colour, linewidth=0.9)
        axis.plot(
            [x for x, _ in finite], [y for _, y in finite], color=colour, marker="o",
            markersize=3.6, linestyle=style.DASHES[number % len(style.DASHES)], linewidth=1.3,
        )  # fmt: skip
        look: dict[str, Any] = {"color": colour, "ha": "center", "va": "top", "fontsize": 11}
        for x in (x for x, bits, _ in points if math.isinf(bits)):
            axis.text(x, self.base + PANEL_HEIGHT, "∞", **look)

    def words(self, alignment: Alignment) -> None:
        for number, line in enumerate(alignment.lines):
            y = self.base - 0.11 - 0.2 * number
            colour = style.SERIES[number % len(style.SERIES)]
            look: dict[str, Any] = {"color": colour, "fontsize": 8.5, "va": "top"}
            if self.is_first:
                label = style.figure_label(line.label)
                self.axis.text(self.left - 0.06, y, label, ha="right", **look)
            for word_id, place in line.places.items():
                word = style.drawable(line.words[word_id])
                self.axis.text(self._x(place), y, word, ha="center", **look)
