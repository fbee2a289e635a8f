"""Figures of training and corpora: loss curves, sentence lengths and excess surprisal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from gardenpath.eval.display import EXACT, models_in_order
from gardenpath.eval.perplexity.comparison import JOINT, MARGINAL, PerplexityRow
from gardenpath.eval.report.figures import style
from gardenpath.eval.report.figures.panels import CEILING_LINE, place_legend
from gardenpath.eval.report.study import Curve

TRAINING = (0, (2, 2))


def loss_curves(curves: Sequence[Curve]) -> style.ReportFigure:
    """Draw one panel per corpus: the loss after each epoch, one thin line per seed."""
    corpora = list(dict.fromkeys(curve.corpus for curve in curves))
    models = models_in_order([curve.model for curve in curves])
    styles = style.model_styles(models)
    figure, axes = style.panels(len(corpora), columns=2, width=3.7, height=2.9, sharey=False)
    for axis, corpus in zip(axes, corpora, strict=True):
        for curve in (curve for curve in curves if curve.corpus == corpus):
            _draw_loss(axis, curve, *styles[curve.model])
        axis.set_title(style.figure_label(corpus))
        axis.set_xlabel("epoch")
        axis.set_ylabel("loss, nats per event")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    joint = {curve.model for curve in curves if curve.is_joint}
    handles = [
        Line2D([], [], color=colour, marker=mark, label=_with_trees(model, joint))
        for model, (colour, mark) in styles.items()
    ]
    handles += [
        Line2D([], [], color=style.MUTED, label="validation"),
        Line2D([], [], color=style.MUTED, linestyle=TRAINING, label="training"),
    ]
    place_legend(figure, handles)
    figure.numbers = pd.concat([_loss_numbers(curve) for curve in curves])
    return figure


def _loss_numbers(curve: Curve) -> pd.DataFrame:
    drawn = [name for name in ("train/loss", "valid/loss") if name in curve.metrics.columns]
    epochs = curve.metrics[["epoch", *drawn]].dropna(subset=drawn, how="all")
    names = {"model": curve.model, "corpus": curve.corpus, "seed": curve.seed}
    return pd.DataFrame(names, index=epochs.index).join(epochs.assign(epoch=epochs["epoch"] + 1))


def _draw_loss(axis: Axes, curve: Curve, colour: str, mark: str) -> None:
    """Draw validation and training loss of a run, with a marker at the end of the line."""
    table = curve.metrics
    if "train/loss" in table.columns:
        points = table[["epoch", "train/loss"]].dropna()
        axis.plot(
            points["epoch"] + 1, points["train/loss"], color=colour, linestyle=TRAINING,
            linewidth=0.9,
        )  # fmt: skip
    if "valid/loss" in table.columns:
        points = table[["epoch", "valid/loss"]].dropna()
        axis.plot(
            points["epoch"] + 1, points["valid/loss"], color=colour, marker=mark,
            markevery=[len(points) - 1] if len(points) else None, linewidth=1.2,
        )  # fmt: skip


def _with_trees(model: str, joint: set[str]) -> str:
    return style.figure_label(model) + (" (with trees)" if model in joint else "")


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
            {
                "corpus": corpus,
                "words": length,
                "sentences": counts.get(length, 0),
                "percent": share,
            }
            for length, share in zip(span, shares, strict=True)
        ]
        axis.fill_between(list(span), shares, color=colour, alpha=0.12, linewidth=0)
    axis.set_xlabel("words in the sentence")
    axis.set_ylabel("% of sentences")
    axis.set_ylim(bottom=0)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.legend(loc="outside lower center", ncols=1)
    figure.numbers = pd.DataFrame(numbers)
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
        axis.axvline(0.0, **CEILING_LINE)
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
