"""Run analyses on a table, giving estimates and sentences."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import pandas as pd

from gardenpath.data.arrays import Floats
from gardenpath.eval.statistics.error_weights import with_weights
from gardenpath.eval.statistics.inference.effect_sizes import cohens_dz
from gardenpath.eval.statistics.inference.intervals import (
    NORMAL,
    TTest,
    normal_interval,
    t_test,
    within_item_intervals,
)
from gardenpath.eval.statistics.questions import wording
from gardenpath.eval.statistics.questions.analysis import Analysis, AnalysisResult
from gardenpath.eval.statistics.questions.answers import (
    Answers,
    Part,
    Row,
    adjustment,
    estimate_row,
    label,
    meaning,
    template_values,
)
from gardenpath.eval.statistics.questions.enough_items import require_items
from gardenpath.eval.statistics.questions.mixed_answer import answer_mixed
from gardenpath.eval.statistics.questions.tidy import mean_table, parts, tidy
from gardenpath.eval.statistics.statistics_error import StatisticsError
from gardenpath.eval.usable import MIN_ITEMS


def run_analysis(
    analysis: Analysis, table: pd.DataFrame | None, *, min_items: int = MIN_ITEMS
) -> AnalysisResult:
    """Run an analysis on a table; parts that cannot be computed are skipped with a reason.

    Every model in a part, and every level of a predictor, needs ``min_items`` usable items. The
    result is empty, with the reason, if there is no table or no row for the analysis.
    """
    if table is None or table.empty:
        return _nothing(analysis, f"there is no table of {analysis.table}")
    try:
        found = tidy(analysis, table)
    except StatisticsError as error:
        return _nothing(analysis, str(error))
    data = with_weights(analysis, found.rows) if analysis.is_weighted else found.rows
    answers = Answers(analysis.correction)
    answer = {
        "mixed": answer_mixed,
        "t_test": _t_test,
        "within_item": _within_item,
        "means": _means,
    }[analysis.test]
    # Rows before averaging have the same parts, in the same order.
    counted = parts(analysis, found.counted)
    for (part, rows), (_, of_items) in zip(parts(analysis, data), counted, strict=True):
        try:
            require_items(analysis, part, of_items, min_items)
            answer(analysis, part, rows, answers)
        except StatisticsError as error:
            answers.skipped.append(f"{label(part)}: {error}" if part else str(error))
        else:
            answers.parts.append(part)
    sentences = answers.finish()
    tables = answers.tables()
    if tables:
        tables["means"] = mean_table(analysis, data, answers.parts, min_items)
    return AnalysisResult(
        analysis=analysis,
        data=data,
        tables=tables,
        sentences=sentences,
        skipped=tuple(answers.skipped),
        fits=tuple(answers.fits),
        parts=tuple(answers.parts),
        notes=tuple(found.notes),
    )


def _nothing(analysis: Analysis, reason: str) -> AnalysisResult:
    return AnalysisResult(
        analysis=analysis, data=pd.DataFrame(), tables={}, sentences=(), skipped=(reason,)
    )


def _t_test(analysis: Analysis, part: Part, rows: pd.DataFrame, answers: Answers) -> None:
    values = _differences(analysis, rows) if analysis.contrasts else rows[analysis.measured]
    found = t_test(np.asarray(values, dtype=np.float64))
    row = estimate_row(
        term=label(part) or wording.prose_name(analysis.measured),
        estimate=found.mean,
        standard_error=found.standard_error,
        statistic=found.statistic,
        df=found.df,
        p=found.p,
        low=found.low,
        high=found.high,
        deviation=found.deviation,
        half_width=NORMAL * found.standard_error,
        n=found.n,
        size=cohens_dz(found),
        test="paired t test" if analysis.contrasts else "t test",
    )
    asked = answers.add("estimates", part, row)
    if cases := analysis.sentences.get(analysis.measured):
        unit = " bits" if analysis.measured.endswith("_bits") else ""
        values_of = template_values(analysis, part, rows)
        answers.state(asked, partial(_mean_sentence, cases, values_of, found, unit))


def _mean_sentence(
    cases: Mapping[str, str], values: Mapping[str, str], found: TTest, unit: str, row: Row
) -> str:
    numbers = (
        f"mean {wording.rounded(found.mean)}{unit} (SD {wording.rounded(found.deviation)}), "
        f"t({found.df}) = {wording.rounded(found.statistic)}, {wording.p_value(found.p)}"
    )
    said = [numbers, *adjustment(row)]
    return wording.stated(cases, values, estimate=found.mean, p=row["p_adjusted"], numbers=said)


def _differences(analysis: Analysis, rows: pd.DataFrame) -> Floats:
    """Return the second minus the first side of a contrast, for every item that has both."""
    column = analysis.contrast_column
    if rows[column].nunique() < 2:
        raise StatisticsError(f"{column} has only one value, {meaning(analysis, rows, column)}")
    wide = rows.pivot_table(index="item", columns=column, values=analysis.measured, aggfunc="mean")
    return np.asarray((wide[0.5] - wide[-0.5]).dropna(), dtype=np.float64)


def _within_item(analysis: Analysis, part: Part, rows: pd.DataFrame, answers: Answers) -> None:
    intervals = within_item_intervals(
        rows,
        value=analysis.measured,
        condition=analysis.condition,
        item="item",
        method=analysis.method,
    )
    for condition, interval in intervals.items():
        row = estimate_row(
            term=label(part, condition),
            estimate=interval.mean,
            low=interval.low,
            high=interval.high,
            half_width=interval.high - interval.mean,
            n=interval.n,
        )
        answers.add("estimates", part, {analysis.condition: condition, **row})


def _means(analysis: Analysis, part: Part, rows: pd.DataFrame, answers: Answers) -> None:
    values = rows[analysis.measured].to_numpy()
    interval = normal_interval(values)
    row = estimate_row(
        term=label(part) or wording.prose_name(analysis.measured),
        estimate=interval.mean,
        standard_error=(interval.high - interval.mean) / NORMAL,
        low=interval.low,
        high=interval.high,
        deviation=float(np.std(values, ddof=1)) if len(values) > 1 else np.nan,
        half_width=interval.high - interval.mean,
        n=interval.n,
    )
    answers.add("estimates", part, row)
