"""The rows and sentences of an analysis, collected part by part, and the items they need.

``answering`` adds what it has computed to ``Answers``, which adjusts all p values at the end, and
words the values of sentence templates with the functions here. ``ESTIMATE_COLUMNS`` are the columns
of every table of estimates. Nothing is estimated here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from gardenpath.errors import StatisticsError
from gardenpath.eval.statistics import wording
from gardenpath.eval.statistics.analysis import CONTRAST, Analysis, FittedPart
from gardenpath.eval.statistics.formulas import Correction
from gardenpath.eval.statistics.inference import CORRECTION_NAMES, EffectSize, adjusted
from gardenpath.eval.statistics.tidy import contrast_label
from gardenpath.eval.suites.outcomes import USABLE, is_enough, too_few
from gardenpath.util import spaced

Part = Mapping[str, str]
Row = dict[str, Any]

# The columns of the tables ``estimates`` and ``coefficients``, after those of the parts, for every
# test. Numbers that a test does not have are NaN, texts are empty. docs/statistics.md explains all.
ESTIMATE_COLUMNS = (
    *("term", "estimate", "standard_error", "statistic", "df"),
    *("p", "p_normal", "p_satterthwaite", "p_adjusted", "correction"),
    *("low", "high", "deviation", "half_width", "n"),
    *("effect_size", "effect_size_low", "effect_size_high", "effect_size_kind"),
    *("singular", "robustness", "test", "remark"),
)
_TEXTS = ("term", "correction", "effect_size_kind", "robustness", "test", "remark")


def estimate_row(*, size: EffectSize | None = None, **numbers: Any) -> Row:
    """Return a row with all ``ESTIMATE_COLUMNS``; ``size`` fills in those of the effect size."""
    row: Row = {name: "" if name in _TEXTS else math.nan for name in ESTIMATE_COLUMNS}
    row["singular"] = False
    if size is not None:
        row.update(
            effect_size=size.value,
            effect_size_low=size.low,
            effect_size_high=size.high,
            effect_size_kind=size.kind,
        )
    if unknown := set(numbers) - set(row):
        raise KeyError(f"not a column of estimates: {', '.join(sorted(unknown))}")
    return {**row, **numbers}


class Answers:
    """Results collected so far.

    Sentences are written last, because corrections depend on all p values of the analysis.
    """

    def __init__(self, correction: Correction = "none") -> None:
        self.rows: dict[str, list[Row]] = {}
        self.skipped: list[str] = []
        self.fits: list[FittedPart] = []
        self.parts: list[Part] = []
        self._correction = correction
        self._statements: list[tuple[Row, Callable[[Row], str]]] = []

    def add(self, table: str, part: Part, row: Mapping[str, Any]) -> Row:
        """Add a row about a part to a table, and return it."""
        added = {**part, **row}
        self.rows.setdefault(table, []).append(added)
        return added

    def state(self, row: Row, sentence: Callable[[Row], str]) -> None:
        """Add a sentence about a row of the estimates."""
        self._statements.append((row, sentence))

    def finish(self) -> tuple[str, ...]:
        """Adjust the p values of all estimates, and return the sentences."""
        rows = self.rows.get("estimates", [])
        p_values = adjusted([row["p"] for row in rows], self._correction)
        for row, p in zip(rows, p_values, strict=True):
            row["p_adjusted"] = float(p)
            row["correction"] = CORRECTION_NAMES[self._correction]
        return tuple(sentence(row) for row, sentence in self._statements)


def adjustment(row: Row) -> list[str]:
    """Return the adjusted p value in words; empty without a correction."""
    if not row["correction"]:
        return []
    return [f"{wording.p_value(row['p_adjusted'])} after {row['correction']} correction"]


def label(part: Part, *more: object) -> str:
    """Return the label of a part, such as ``CTB · verb-noun · syntax``."""
    names = [*(value for value in part.values() if value), *more]
    return " · ".join(wording.prose_name(name) for name in names)


def meaning(analysis: Analysis, rows: pd.DataFrame, column: str, value: object = None) -> str:
    """Return the original values behind a derived column, or behind one value of it."""
    rule = analysis.derive.get(column) or analysis.contrasts.get(column)
    source = rule["from"] if rule else column
    names = [source] if isinstance(source, str) else list(source)
    if not set(names) <= set(rows.columns):
        names = [column]
    chosen = rows if value is None else rows[rows[column] == value]
    combinations = chosen[names].drop_duplicates().itertuples(index=False)
    return ", ".join(dict.fromkeys(" ".join(map(wording.prose_name, c)) for c in combinations))


def template_values(analysis: Analysis, part: Part, rows: pd.DataFrame) -> dict[str, str]:
    """Return the variables of sentence templates.

    They are the values of the part, the training corpora, the extremes of each derived predictor,
    and the two sides of a contrast.
    """
    values = {name: wording.prose_name(value) for name, value in part.items()}
    if "corpus" in values:
        values["corpus"] = wording.corpus_name(part["corpus"])
    if "corpus" in rows.columns:
        corpora = sorted(dict.fromkeys(map(wording.corpus_name, rows["corpus"])))
        values["corpora"] = wording.joined_names(corpora)
    for column in analysis.derive:
        if column in rows.columns and rows[column].nunique() > 1:
            ordered = sorted(rows[column].unique())
            values[f"{column}_0"] = meaning(analysis, rows, column, ordered[0])
            values[f"{column}_1"] = meaning(analysis, rows, column, ordered[-1])
    for rule in analysis.contrasts.values():
        for first, second in rule["pairs"]:
            if contrast_label(first, second) == part.get(CONTRAST):
                values["first"], values["second"] = map(wording.prose_name, (first, second))
    return values


# ----------------------------------------------------------------------------
# Whether the rows of an analysis come from enough usable items.
#
# The independent units of a suite are its items: several seeds, conditions or predictions of an
# item do not add to them. Counts are taken before responses are averaged, so analyses of averages
# over items are held to the same minimum.


# Columns that name an item; those that a table lacks are not needed.
_ITEM = ("class", "suite", "item")
_MODEL = ("model", "corpus")
# Predictors with more values are continuous, and their values need no items of their own.
_FEW_VALUES = 12


def require_items(
    analysis: Analysis, part: Mapping[str, str], rows: pd.DataFrame, least: int
) -> None:
    """Raise a StatisticsError unless every model, and every level of a predictor, has enough items.

    ``rows`` are those of the part before averaging. Tables that are not about items are not
    counted.
    """
    if "item" not in rows.columns:
        return
    item = [name for name in _ITEM if name in rows.columns]
    models = [name for name in _MODEL if name in rows.columns]
    for predictor in (None, *analysis.predictors):
        if predictor in models or (predictor and rows[predictor].nunique() > _FEW_VALUES):
            continue
        by = [*models, predictor] if predictor else models
        keys = list(dict.fromkeys([*by, *item]))
        flags = rows.groupby(keys, sort=False, dropna=False, observed=True)[USABLE].all()
        groups = flags.groupby(level=by, sort=False, dropna=False) if by else [((), flags)]
        for values, group in groups:
            usable, items = int(group.sum()), len(group)
            if not is_enough(usable, items, least):
                # Groups are named by the values in which those of the part differ.
                whose = ", ".join(
                    spaced(value) if name in _MODEL else f"{spaced(name)} {value}"
                    for name, value in zip(by, values, strict=True)
                    if name not in part and value not in ("", None) and rows[name].nunique() > 1
                )
                raise StatisticsError(too_few(usable, items, least, whose=whose))
