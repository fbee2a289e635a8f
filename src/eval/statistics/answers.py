"""Names, numbers and sentences in the style of a paper.

Analyses, studies and reports word their results with these functions, so that a p value or a model
is written alike everywhere. ``ALPHA`` is the level of significance. No table is read here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from string import Template
from typing import Any

import pandas as pd

from gardenpath.errors import StatisticsError
from gardenpath.eval.display import FAMILY_NAMES
from gardenpath.eval.statistics.analysis import CONTRAST, Analysis, FittedPart
from gardenpath.eval.statistics.formulas import Correction
from gardenpath.eval.statistics.inference import CORRECTION_NAMES, EffectSize, adjusted
from gardenpath.eval.statistics.tidy import contrast_label
from gardenpath.eval.suites.outcomes import USABLE, is_enough, too_few
from gardenpath.util import spaced

_NAMES = {
    **FAMILY_NAMES,
    "classifier_noun": "classifier-noun",
    "verb_noun": "verb-noun",
    "ctb": "CTB",
    "ptb": "PTB",
    "xinhua": "Xinhua",
    "wh_effect_gap": "wh-effect with a gap",
    "wh_effect_nogap": "wh-effect without a gap",
    "comp_quant": "comparison of quantities",
    "embwhq": "embedded question",
    "topic": "topicalisation",
    "object_rc": "object RC",
    "subject_rc": "subject RC",
    "coordinated_rc": "coordinated RCs",
    "embedded_rc": "embedded RCs",
    "cleft_adj": "cleft with adjective",
    "cleft_noun": "cleft with noun",
    "tough": "tough-movement",
    "complex_np": "complex NP",
    "over_complex_np": "past a complex NP",
    "over_adjunct": "past an adjunct",
    "cnp_discharge": "complex NP discharge",
    "local_bits": "local surprisal",
    "global_bits_per_word": "global surprisal",
    "slor": "SLOR",
    "": "none",
}

ALPHA = 0.05


def is_significant(p: float) -> bool:
    """Whether a p value is below ``ALPHA``; a missing one is not."""
    return p < ALPHA


def corpus_name(value: object) -> str:
    """Format the name of a training corpus, which surprisals from files may lack."""
    return prose_name(value) if str(value) else "an unnamed corpus"


def prose_name(value: object) -> str:
    """Format a table value for prose: ``rnng`` as RNNG, ``missing_object`` as missing object.

    What follows a name in parentheses, such as settings of a model, stays as it is.
    """
    text, bracket, more = str(value).partition(" (")
    return _NAMES.get(text.lower(), text.replace("_", " ")) + bracket + more


def rounded(value: float) -> str:
    """Format a number with two decimals, or with three if its absolute value is below 0.1."""
    if not math.isfinite(value):
        return "undefined"
    text = f"{value:.2f}" if abs(value) >= 0.1 or value == 0.0 else f"{value:.3f}"
    # No minus sign if the number is rounded to zero.
    return text.removeprefix("-") if float(text) == 0.0 else text.replace("-", "−")


def p_value(value: float) -> str:
    """Format a p value without the leading zero, as ``p = .010`` or ``p < .001``."""
    if not math.isfinite(value):
        return "p undefined"
    if value < 0.001:
        return "p < .001"
    if value > 0.9995:
        return "p > .999"
    # One more digit where three do not tell on which side of ALPHA the value is.
    digits = 4 if f"{value:.3f}" == f"{ALPHA:.3f}" else 3
    return f"p = {value:.{digits}f}".replace("0.", ".", 1)


def coefficient(estimate: float, error: float, statistic: float, df: float | None, p: float) -> str:
    """Format ``b = 0.51, SE 0.20, z = 2.57, p = .010``; t instead of z if ``df`` is given."""
    test = f"z = {rounded(statistic)}" if df is None else f"t({df:.1f}) = {rounded(statistic)}"
    return f"b = {rounded(estimate)}, SE {rounded(error)}, {test}, {p_value(p)}"


def stated(
    cases: Mapping[str, str],
    values: Mapping[str, str],
    *,
    estimate: float,
    p: float,
    numbers: Sequence[str],
) -> str:
    """Fill in the template that matches an estimate, and append the numbers.

    Without a matching template, the sentence says that there is no evidence for ``more``.
    """
    is_shown = is_significant(p) and math.isfinite(estimate)
    direction = "more" if estimate > 0 else "less"
    case = direction if is_shown else "none"
    template = cases.get(case) or f"No evidence that {cases.get('more', '')}"
    filled = Template(template).safe_substitute(values).strip()
    return f"{filled[:1].upper()}{filled[1:]}: {'; '.join(numbers)}"


def undecided(
    cases: Mapping[str, str], values: Mapping[str, str], *, numbers: Sequence[str]
) -> str:
    """Return the sentence for an effect without a test: the question and the numbers."""
    claim = cases.get("more") or cases.get("less") or "there is an effect"
    filled = Template(claim).safe_substitute(values).strip()
    return f"The analysis cannot determine whether {filled}: {'; '.join(numbers)}"


def counts(groups: Sequence[tuple[str, float, int]]) -> str:
    """Format names, sums and totals: ``right in all 30 comparisons (LSTM), in 23 of 30 (RNNG)``."""
    texts = []
    for place, (name, right, total) in enumerate(groups):
        share = "all" if right == total else f"{'none' if right == 0 else f'{right:.4g}'} of"
        before, after = ("right ", " comparisons") if place == 0 else ("", "")
        texts.append(f"{before}in {share} {total}{after} ({name})")
    return ", ".join(texts)


def stated_means(groups: Sequence[tuple[str, float]]) -> str:
    """Format names and means: ``mean 0.41 (CTB), 0.52 (xinhua)``."""
    return "mean " + ", ".join(f"{rounded(mean)} ({name})" for name, mean in groups)


def joined_names(names: Sequence[str]) -> str:
    """Join names: ``item``, ``item and seed``, ``item, modifier and seed``."""
    words = [prose_name(name) for name in names]
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


# ----------------------------------------------------------------------------
# The rows and sentences of an analysis, collected part by part, and the items they need.
#
# ``answering`` adds what it has computed to ``Answers``, which adjusts all p values at the end,
# and words the values of sentence templates with the functions here. ``ESTIMATE_COLUMNS`` are the
# columns of every table of estimates. Nothing is estimated here.


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
    return [f"{p_value(row['p_adjusted'])} after {row['correction']} correction"]


def label(part: Part, *more: object) -> str:
    """Return the label of a part, such as ``CTB · verb-noun · syntax``."""
    names = [*(value for value in part.values() if value), *more]
    return " · ".join(prose_name(name) for name in names)


def meaning(analysis: Analysis, rows: pd.DataFrame, column: str, value: object = None) -> str:
    """Return the original values behind a derived column, or behind one value of it."""
    rule = analysis.derive.get(column) or analysis.contrasts.get(column)
    source = rule["from"] if rule else column
    names = [source] if isinstance(source, str) else list(source)
    if not set(names) <= set(rows.columns):
        names = [column]
    chosen = rows if value is None else rows[rows[column] == value]
    combinations = chosen[names].drop_duplicates().itertuples(index=False)
    return ", ".join(dict.fromkeys(" ".join(map(prose_name, c)) for c in combinations))


def template_values(analysis: Analysis, part: Part, rows: pd.DataFrame) -> dict[str, str]:
    """Return the variables of sentence templates.

    They are the values of the part, the training corpora, the extremes of each derived predictor,
    and the two sides of a contrast.
    """
    values = {name: prose_name(value) for name, value in part.items()}
    if "corpus" in values:
        values["corpus"] = corpus_name(part["corpus"])
    if "corpus" in rows.columns:
        corpora = sorted(dict.fromkeys(map(corpus_name, rows["corpus"])))
        values["corpora"] = joined_names(corpora)
    for column in analysis.derive:
        if column in rows.columns and rows[column].nunique() > 1:
            ordered = sorted(rows[column].unique())
            values[f"{column}_0"] = meaning(analysis, rows, column, ordered[0])
            values[f"{column}_1"] = meaning(analysis, rows, column, ordered[-1])
    for rule in analysis.contrasts.values():
        for first, second in rule["pairs"]:
            if contrast_label(first, second) == part.get(CONTRAST):
                values["first"], values["second"] = map(prose_name, (first, second))
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
