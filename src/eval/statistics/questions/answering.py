"""Run analyses on a table, giving estimates and sentences."""

from __future__ import annotations

import pandas as pd

from gardenpath.eval.statistics.inference.intervals import t_test, within_item_intervals
from gardenpath.eval.statistics.questions import wording
from gardenpath.eval.statistics.questions.analysis import Analysis, AnalysisResult
from gardenpath.eval.statistics.questions.answers import Answers, Part, label, template_values
from gardenpath.eval.statistics.questions.mixed_answer import answer_mixed
from gardenpath.eval.statistics.questions.tidy import mean_table, parts, tidy
from gardenpath.eval.statistics.statistics_error import StatisticsError


def run_analysis(analysis: Analysis, table: pd.DataFrame) -> AnalysisResult:
    """Run an analysis on a table; parts that cannot be computed are skipped with a reason."""
    answers = Answers()
    try:
        data = tidy(analysis, table)
    except StatisticsError as error:
        return _nothing(analysis, str(error))
    if data.empty:
        return _nothing(analysis, "the table has no matching rows")
    answer = {"mixed": answer_mixed, "t_test": _t_test, "within_item": _within_item}[analysis.test]
    for part, rows in parts(analysis, data):
        try:
            answer(analysis, part, rows, answers)
        except StatisticsError as error:
            answers.skipped.append(f"{label(part)}: {error}" if part else str(error))
        else:
            answers.parts.append(part)
    tables = answers.tables()
    if tables:
        tables["means"] = mean_table(analysis, data)
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


def _t_test(analysis: Analysis, part: Part, rows: pd.DataFrame, answers: Answers) -> None:
    found = t_test(rows[analysis.response].to_numpy())
    row = {
        "term": label(part) or wording.prose_name(analysis.response),
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
            f"mean {wording.rounded(found.mean)}{unit} (SD {wording.rounded(found.deviation)}), "
            f"t({found.df}) = {wording.rounded(found.statistic)}, {wording.p_value(found.p)}"
        )
        values = template_values(analysis, part, rows)
        answers.sentences.append(
            wording.stated(cases, values, estimate=found.mean, p=found.p, numbers=numbers)
        )


def _within_item(analysis: Analysis, part: Part, rows: pd.DataFrame, answers: Answers) -> None:
    intervals = within_item_intervals(
        rows,
        value=analysis.response,
        condition=analysis.condition,
        item="item",
        method=analysis.method,
    )
    for condition, interval in intervals.items():
        row = {
            "term": label(part, condition),
            analysis.condition: condition,
            "estimate": interval.mean,
            "low": interval.low,
            "high": interval.high,
            "items": interval.n,
        }
        answers.add("estimates", part, row)
