"""Running analyses: from a question and a table to estimates and sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from src.eval.statistics import wording
from src.eval.statistics.analysis import Analysis, AnalysisResult, FittedPart
from src.eval.statistics.coding import Coding, StatisticsError, coding_of
from src.eval.statistics.intervals import t_test, within_item_intervals
from src.eval.statistics.mixed import fit_mixed
from src.eval.statistics.mixed_fit import FixedEffect, MixedFit
from src.eval.statistics.random_terms import identifiable
from src.eval.statistics.tidy import key, means, parts, tidy

INTERCEPT = "(Intercept)"

Part = Mapping[str, str]


class _Answers:
    """What has been found so far, part by part."""

    def __init__(self) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self.sentences: list[str] = []
        self.skipped: list[str] = []
        self.fits: list[FittedPart] = []
        self.parts: list[Part] = []

    def add(self, table: str, part: Part, row: Mapping[str, Any]) -> None:
        self.rows.setdefault(table, []).append({**part, **row})

    def tables(self) -> dict[str, pd.DataFrame]:
        return {name: pd.DataFrame(rows) for name, rows in self.rows.items()}


def run_analysis(analysis: Analysis, table: pd.DataFrame) -> AnalysisResult:
    """Answer a question as far as the table allows; what it does not allow is skipped, and said."""
    answers = _Answers()
    try:
        data = tidy(analysis, table)
    except StatisticsError as error:
        return _nothing(analysis, str(error))
    if data.empty:
        return _nothing(analysis, "the table has no such rows")
    answer = {"mixed": _mixed, "t_test": _t_test, "within_item": _within_item}[analysis.test]
    for part, rows in parts(analysis, data):
        try:
            answer(analysis, part, rows, answers)
        except StatisticsError as error:
            answers.skipped.append(f"{_named(part)}: {error}" if part else str(error))
        else:
            answers.parts.append(part)
    tables = answers.tables()
    if tables:
        tables["means"] = means(analysis, data)
    return AnalysisResult(
        analysis=analysis,
        data=data,
        tables=tables,
        sentences=tuple(answers.sentences),
        skipped=tuple(answers.skipped),
        fits=tuple(answers.fits),
        parts=tuple(answers.parts),
    )


def _nothing(analysis: Analysis, reason: str) -> AnalysisResult:
    return AnalysisResult(
        analysis=analysis, data=pd.DataFrame(), tables={}, sentences=(), skipped=(reason,)
    )


def _named(part: Part) -> str:
    return " · ".join(wording.readable(value) for value in part.values() if value)


def _mixed(analysis: Analysis, part: Part, rows: pd.DataFrame, answers: _Answers) -> None:
    for name in analysis.predictors:
        if rows[name].nunique() < 2:
            raise StatisticsError(f"only one value of {name}, {_of(analysis, rows, name)}")
    codings = _codings(analysis, rows)
    formula, notes = identifiable(analysis.formula, rows, family=analysis.family)
    fit = fit_mixed(formula, rows, family=analysis.family, codings=codings)
    answers.fits.append(FittedPart(part=part, formula=formula, codings=codings, fit=fit))
    asked = [effect for effect in fit.fixed if _is_asked(analysis, effect.name)]
    for effect in fit.fixed:
        answers.add("coefficients", part, _effect_row(effect.name, effect))
    for effect in asked:
        label = " · ".join(filter(None, [_named(part), wording.readable(effect.name)]))
        answers.add("estimates", part, _effect_row(label, effect))
        if cases := analysis.sentences.get(effect.name):
            answers.sentences.append(_sentence(analysis, cases, part, rows, effect, fit))
    for row in fit.random_table().to_dict("records"):
        answers.add("random effects", part, row)
    answers.add("fits", part, _fit_row(fit, notes))


def _codings(analysis: Analysis, rows: pd.DataFrame) -> dict[str, Coding]:
    """Factors as the analysis codes them; texts of which it says nothing get treatment coding."""
    codings = {}
    for name in analysis.predictors:
        rule = analysis.codings.get(name, {})
        if not rule and pd.api.types.is_numeric_dtype(rows[name]):
            continue
        order = [
            level
            for wanted in rule.get("levels", ())
            for level in rows[name].astype(str).unique()
            if key(level) == key(wanted)
        ]
        coding = coding_of(rows[name], kind=rule.get("kind", "treatment"), order=order)
        assert coding is not None, "predictors with one value were refused before"
        codings[name] = coding
    return codings


def _is_asked(analysis: Analysis, effect: str) -> bool:
    """Whether an effect is what the question is about."""
    if analysis.sentences:
        return effect in analysis.sentences
    return effect != INTERCEPT or not analysis.predictors


def _of(analysis: Analysis, rows: pd.DataFrame, column: str, value: object = None) -> str:
    """What a (derived) column stands for: the values it was looked up from."""
    rule = analysis.derive.get(column)
    source = str(rule["from"]) if rule else column
    if source not in rows.columns:
        source = column
    chosen = rows if value is None else rows[rows[column] == value]
    return ", ".join(dict.fromkeys(wording.readable(name) for name in chosen[source]))


def _effect_row(label: str, effect: FixedEffect) -> dict[str, Any]:
    return {
        "term": label,
        "estimate": effect.estimate,
        "standard_error": effect.standard_error,
        "statistic": effect.statistic,
        "df": effect.df,
        "p": effect.p,
        "low": effect.low,
        "high": effect.high,
    }


def _fit_row(fit: MixedFit, notes: list[str]) -> dict[str, Any]:
    return {
        "formula": fit.formula,
        "n": fit.n,
        "log_likelihood": fit.log_likelihood,
        "converged": fit.converged,
        "singular": fit.singular,
        "engine": fit.engine,
        "notes": "; ".join([*notes, *fit.warnings]),
    }


def _values(analysis: Analysis, part: Part, rows: pd.DataFrame) -> dict[str, str]:
    """What templates may speak of: the part, and the two ends of each derived predictor."""
    values = {name: wording.readable(value) for name, value in part.items()}
    for column in analysis.derive:
        if column in rows.columns and rows[column].nunique() > 1:
            ordered = sorted(rows[column].unique())
            values[f"{column}_0"] = _of(analysis, rows, column, ordered[0])
            values[f"{column}_1"] = _of(analysis, rows, column, ordered[-1])
    return values


def _sentence(
    analysis: Analysis,
    cases: Mapping[str, str],
    part: Part,
    rows: pd.DataFrame,
    effect: FixedEffect,
    fit: MixedFit,
) -> str:
    numbers = wording.coefficient(
        effect.estimate, effect.standard_error, effect.statistic, effect.df, effect.p
    )
    said = wording.sentence(
        cases,
        _values(analysis, part, rows),
        estimate=effect.estimate,
        p=effect.p,
        numbers=numbers,
    )
    return said if fit.converged else f"{said} (the model did not converge: do not rely on it)"


def _t_test(analysis: Analysis, part: Part, rows: pd.DataFrame, answers: _Answers) -> None:
    found = t_test(rows[analysis.response].to_numpy())
    row = {
        "term": _named(part) or wording.readable(analysis.response),
        "estimate": found.mean,
        "deviation": found.deviation,
        "n": found.n,
        "statistic": found.statistic,
        "df": found.df,
        "p": found.p,
        "low": found.low,
        "high": found.high,
    }
    answers.add("estimates", part, row)
    if cases := analysis.sentences.get(analysis.response):
        unit = " bits" if analysis.response.endswith("_bits") else ""
        numbers = (
            f"mean {wording.number(found.mean)}{unit} (SD {wording.number(found.deviation)}), "
            f"t({found.df}) = {wording.number(found.statistic)}, {wording.p_value(found.p)}"
        )
        values = _values(analysis, part, rows)
        answers.sentences.append(
            wording.sentence(cases, values, estimate=found.mean, p=found.p, numbers=numbers)
        )


def _within_item(analysis: Analysis, part: Part, rows: pd.DataFrame, answers: _Answers) -> None:
    intervals = within_item_intervals(
        rows,
        value=analysis.response,
        condition=analysis.condition,
        item="item",
        method=analysis.method,
    )
    for condition, interval in intervals.items():
        label = " · ".join(filter(None, [_named(part), wording.readable(condition)]))
        row = {
            "term": label,
            analysis.condition: condition,
            "estimate": interval.mean,
            "low": interval.low,
            "high": interval.high,
            "items": interval.n,
        }
        answers.add("estimates", part, row)
