"""Results that replace those of a failed mixed model: counts, and a permutation test.

Estimates of a failed model are never reported in sentences, tables or figures. Counts and a
permutation test within the grouping factors of the model are reported instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gardenpath.data.arrays import Floats
from gardenpath.errors import StatisticsError
from gardenpath.eval.means import NORMAL, normal_interval
from gardenpath.eval.statistics import wording
from gardenpath.eval.statistics.analysis import (
    ANY_EFFECT,
    RESIDUAL,
    RESPONSE_SE,
    WEIGHT,
    Analysis,
    AnalysisResult,
    FitFailure,
    FittedPart,
    FixedEffect,
    MixedFit,
)
from gardenpath.eval.statistics.answers import (
    Answers,
    Part,
    Row,
    adjustment,
    estimate_row,
    label,
    meaning,
    require_items,
    template_values,
)
from gardenpath.eval.statistics.design import identifiable
from gardenpath.eval.statistics.formulas import (
    INTERCEPT,
    Coding,
    Reference,
    coding_of,
    parse_model_formula,
)
from gardenpath.eval.statistics.inference import (
    EffectSize,
    PermutationTest,
    TTest,
    cohens_d,
    cohens_dz,
    odds_ratio,
    permutation_test,
    t_test,
    within_item_intervals,
)
from gardenpath.eval.statistics.mixed import fit_mixed
from gardenpath.eval.statistics.tidy import mean_table, parts, tidy
from gardenpath.eval.suites.outcomes import MIN_ITEMS
from gardenpath.store.tables import ERROR_COLUMNS
from gardenpath.util import key

FAILURES: dict[FitFailure, str] = {
    "separation": "the mixed model has no finite estimate because the predictors separate outcomes",
    "divergence": "the estimates of the mixed model diverge",
    "no convergence": "the mixed model did not converge",
}
# Maximum number of groups that a sentence lists.
_FEW_GROUPS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Substitute:
    """Replacement of a failed model: the reason, raw results, and a test if available."""

    reason: str
    raw: str
    strata: tuple[str, ...]
    test: PermutationTest | None

    @property
    def name(self) -> str:
        """The name of the test; empty if there is no test."""
        if self.test is None:
            return ""
        within = f" within {wording.joined_names(self.strata)}" if self.strata else ""
        return f"permutation test{within}"

    @property
    def numbers(self) -> list[str]:
        """Raw results, test and reason, for the end of a sentence."""
        tested = f"{self.name}, {wording.p_value(self.test.p)}" if self.test else ""
        return [part for part in (self.raw, tested, self.reason) if part]


def substitute(
    analysis: Analysis,
    fit: MixedFit,
    effect: str,
    rows: pd.DataFrame,
    codings: Mapping[str, Coding],
) -> Substitute:
    """Return results for an effect that do not depend on the failed model."""
    assert fit.failure is not None
    predictor = next((name for name in analysis.predictors if effect.split("[")[0] == name), None)
    strata = parse_model_formula(fit.formula).grouping_factors
    reason = FAILURES[fit.failure]
    if predictor is None:
        return Substitute(reason=reason, raw="", strata=strata, test=None)
    test = _permuted(analysis, rows, codings, strata)
    return Substitute(reason=reason, raw=_raw(analysis, rows, predictor), strata=strata, test=test)


def _permuted(
    analysis: Analysis,
    rows: pd.DataFrame,
    codings: Mapping[str, Coding],
    strata: tuple[str, ...],
) -> PermutationTest | None:
    """Test the only predictor of a binomial model by permutations within strata."""
    if len(analysis.predictors) != 1 or analysis.family != "binomial":
        return None
    values = _values(rows, analysis.predictors[0], codings)
    if values is None:
        return None
    columns = [rows[name].astype(str) for name in strata]
    names = ["\t".join(row) for row in zip(*columns, strict=True)] or [""] * len(rows)
    return permutation_test(values, rows[analysis.measured].to_numpy(), names)


def _values(rows: pd.DataFrame, predictor: str, codings: Mapping[str, Coding]) -> Floats | None:
    """Return the predictor as one number per row; None if a factor has more than two levels."""
    if predictor not in codings:
        return np.asarray(rows[predictor], dtype=np.float64)
    columns = codings[predictor].columns(rows[predictor].tolist())
    return columns[:, 0] if columns.shape[1] == 1 else None


def _raw(analysis: Analysis, rows: pd.DataFrame, predictor: str) -> str:
    """Format the counts of right outcomes, or the means, for each value of a predictor."""
    found = rows.groupby(predictor, sort=True)[analysis.measured].agg(["sum", "count"])
    if len(found) > _FEW_GROUPS:
        return ""
    is_made = predictor in analysis.derive or predictor in analysis.contrasts
    before = "" if is_made else f"{wording.prose_name(predictor)} "
    groups = [
        (before + meaning(analysis, rows, predictor, value), float(total), int(count))
        for value, total, count in found.itertuples()
    ]
    if analysis.family == "binomial":
        return wording.counts(groups)
    return wording.stated_means([(name, total / count) for name, total, count in groups])


# ----------------------------------------------------------------------------
# Other models of the same rows, reported beside the model of an analysis.


@dataclass(frozen=True, slots=True)
class Check:
    """An effect in another model; ``agrees`` if direction and significance are the same."""

    name: str
    effect: FixedEffect | None
    agrees: bool
    problem: str = ""

    @property
    def said(self) -> str:
        """The result in words if it differs: ``with intercepts only, b = 0.052, p < .001``."""
        if self.effect is None:
            return f"with {self.name}, {self.problem}"
        numbers = f"b = {wording.rounded(self.effect.estimate)}, {wording.p_value(self.effect.p)}"
        return f"with {self.name}, {numbers}"


def robustness_fits(
    analysis: Analysis, rows: pd.DataFrame, codings: Mapping[str, Coding]
) -> dict[str, MixedFit | str]:
    """Fit the other models of an analysis; the reason if one cannot be fitted."""
    found: dict[str, MixedFit | str] = {}
    for name, formula in analysis.robustness.items():
        kept, _ = identifiable(formula, rows, family=analysis.family)
        try:
            found[name] = fit_mixed(
                kept,
                rows,
                family=analysis.family,
                codings=codings,
                weights=weight_column(analysis, rows),
            )
        except StatisticsError as error:
            found[name] = str(error)
    return found


def weight_column(analysis: Analysis, rows: pd.DataFrame) -> str | None:
    """Return the column of weights of a weighted analysis, if its rows have weights."""
    return WEIGHT if analysis.is_weighted and rows[WEIGHT].notna().all() else None


def check_effect(
    name: str, other: MixedFit | str, effect: FixedEffect, reference: Reference
) -> Check:
    """Compare an effect with the same effect in another model."""
    if isinstance(other, str):
        return Check(name, None, False, other)
    if other.failure is not None:
        return Check(name, None, False, FAILURES[other.failure])
    theirs = tested(other.effect(effect.name), reference)
    is_same = wording.is_significant(effect.p) == wording.is_significant(theirs.p)
    is_turned = wording.is_significant(effect.p) and effect.estimate * theirs.estimate < 0.0
    return Check(name, theirs, is_same and not is_turned)


def tested(effect: FixedEffect, reference: Reference) -> FixedEffect:
    """Return an effect with the test that an analysis asks for."""
    return effect.with_normal_test() if reference == "normal" else effect


def add_checks(
    answers: Answers, part: Part, term: str, checks: list[Check], fits: Mapping[str, MixedFit | str]
) -> None:
    """Add the checks of an effect to the table ``robustness``."""
    for one in checks:
        fit = fits[one.name]
        row: Row = {"term": term, "alternative": one.name}
        row["formula"] = fit.formula if isinstance(fit, MixedFit) else ""
        for column in ("estimate", "standard_error", "statistic", "df", "p", "low", "high"):
            row[column] = getattr(one.effect, column) if one.effect else math.nan
        row["singular"] = fit.singular if isinstance(fit, MixedFit) else False
        answers.add("robustness", part, {**row, "agrees": one.agrees, "remark": one.problem})


# ----------------------------------------------------------------------------
# Results of mixed models, and of permutation tests if a model fails.


# With fewer degrees of freedom, a t value has no finite variance: it rests on two or three runs.
_FEW_DEGREES = 2.0


def answer_mixed(analysis: Analysis, part: Part, rows: pd.DataFrame, answers: Answers) -> None:
    """Fit the model of an analysis to a part of its rows."""
    model = model_of(analysis, rows)
    codings, notes = model.codings, [*model.notes, *_weight_notes(analysis, rows)]
    fit = fit_mixed(
        model.formula,
        rows,
        family=analysis.family,
        codings=codings,
        weights=weight_column(analysis, rows),
    )
    others = robustness_fits(analysis, rows, codings)
    substitutes = {
        effect.name: substitute(analysis, fit, effect.name, rows, codings)
        for effect in (fit.fixed if fit.failure else ())
    }
    strata = next((s.strata for s in substitutes.values() if s.test), None)
    answers.fits.append(
        FittedPart(
            part=part,
            formula=model.formula,
            codings=codings,
            fit=fit,
            is_weighted=weight_column(analysis, rows) is not None,
            strata=strata,
            has_ties=analysis.family == "binomial" and not _is_right_or_wrong(analysis, rows),
            robustness={name: one for name, one in others.items() if isinstance(one, MixedFit)},
        )
    )
    for found in fit.fixed:
        effect = tested(found, analysis.reference)
        replaced = substitutes.get(effect.name)
        checks = (
            []
            if replaced
            else [
                check_effect(name, one, effect, analysis.reference) for name, one in others.items()
            ]
        )
        row = _effect_row(fit, found, effect, replaced, checks, analysis)
        answers.add("coefficients", part, {**row, "term": effect.name})
        if is_asked(analysis, effect.name):
            asked = answers.add("estimates", part, {**row, "term": label(part, effect.name)})
            add_checks(answers, part, label(part, effect.name), checks, others)
            usual = analysis.sentences.get(ANY_EFFECT)
            if cases := analysis.sentences.get(effect.name, usual):
                values = template_values(analysis, part, rows) | {"effect": effect.name}
                say = partial(_sentence, cases, values, found, replaced, checks, analysis)
                answers.state(asked, say)
    for random in fit.random_rows():
        answers.add("random effects", part, random)
    answers.add("fits", part, _fit_row(fit, notes))


@dataclass(frozen=True, slots=True)
class PartModel:
    """The model of a part: random effects that its rows allow, codings of factors, and notes."""

    formula: str
    codings: dict[str, Coding]
    notes: list[str]


def model_of(analysis: Analysis, rows: pd.DataFrame) -> PartModel:
    """Return the model of an analysis for a part of its rows."""
    for name in dict.fromkeys([*analysis.predictors, *analysis.slopes]):
        if rows[name].nunique() < 2:
            raise StatisticsError(f"{name} has only one value, {meaning(analysis, rows, name)}")
    formula, notes = identifiable(analysis.formula, rows, family=analysis.family)
    return PartModel(formula, _codings(analysis, rows), notes)


def _weight_notes(analysis: Analysis, rows: pd.DataFrame) -> list[str]:
    column = weight_column(analysis, rows)
    if column is None:
        return []
    low, high = rows[column].min(), rows[column].max()
    return [f"weighted by search error: weights from {low:.3g} to {high:.3g}"]


def _codings(analysis: Analysis, rows: pd.DataFrame) -> dict[str, Coding]:
    """Return the configured codings; other text columns get treatment coding."""
    codings = {}
    for name in dict.fromkeys([*analysis.predictors, *analysis.slopes]):
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
        assert coding is not None, "the caller rejects predictors with one value"
        codings[name] = coding
    return codings


def _is_right_or_wrong(analysis: Analysis, rows: pd.DataFrame) -> bool:
    """Whether every outcome is 0 or 1."""
    return bool(rows[analysis.measured].isin([0.0, 1.0]).all())


def is_asked(analysis: Analysis, effect: str) -> bool:
    """Whether the analysis asks about an effect."""
    if analysis.sentences and ANY_EFFECT not in analysis.sentences:
        return effect in analysis.sentences
    return effect != INTERCEPT or not analysis.predictors


def _effect_row(
    fit: MixedFit,
    found: FixedEffect,
    effect: FixedEffect,
    replaced: Substitute | None,
    checks: list[Check],
    analysis: Analysis,
) -> Row:
    """Return the numbers of an effect; ``found`` has the t test, ``effect`` the chosen one."""
    if replaced is not None:
        return estimate_row(
            p=replaced.test.p if replaced.test else math.nan,
            n=fit.n,
            test=replaced.name,
            remark=replaced.reason,
        )
    is_linear = effect.df is not None
    return estimate_row(
        estimate=effect.estimate,
        standard_error=effect.standard_error,
        statistic=effect.statistic,
        df=effect.df if is_linear else math.nan,
        p=effect.p,
        p_normal=effect.p_normal,
        p_satterthwaite=found.p if is_linear else math.nan,
        low=effect.low,
        high=effect.high,
        n=fit.n,
        size=_size(fit, effect),
        singular=fit.singular,
        robustness="; ".join(one.said for one in checks if not one.agrees),
        test="t test" if is_linear and analysis.reference == "satterthwaite" else "z test",
    )


def _size(fit: MixedFit, effect: FixedEffect) -> EffectSize:
    if fit.family == "binomial":
        return odds_ratio(effect.estimate, effect.low, effect.high)
    return cohens_d(effect.estimate, effect.low, effect.high, fit.total_deviation)


def _sentence(
    cases: Mapping[str, str],
    values: Mapping[str, str],
    found: FixedEffect,
    replaced: Substitute | None,
    checks: list[Check],
    analysis: Analysis,
    row: Row,
) -> str:
    """Return the sentence about an effect, whose row is complete by now."""
    p = row["p_adjusted"]
    if replaced is None:
        numbers = [_numbers(row), *_remarks(row, found, analysis)]
        numbers += [one.said for one in checks if not one.agrees]
        return wording.stated(cases, values, estimate=found.estimate, p=p, numbers=numbers)
    numbers = [*replaced.numbers, *adjustment(row)]
    if replaced.test is None:
        return wording.undecided(cases, values, numbers=numbers)
    return wording.stated(cases, values, estimate=replaced.test.excess, p=p, numbers=numbers)


def _numbers(row: Row) -> str:
    df = row["df"] if row["test"] == "t test" else None
    return wording.coefficient(
        row["estimate"], row["standard_error"], row["statistic"], df, row["p"]
    )


def _remarks(row: Row, found: FixedEffect, analysis: Analysis) -> list[str]:
    """Return what a reader must know about a p value."""
    remarks = adjustment(row)
    if row["singular"]:
        remarks.append("singular fit")
    if found.df is not None and found.df < _FEW_DEGREES:
        remarks.append("so few degrees of freedom that more runs are needed")
    if found.df is not None and wording.is_significant(found.p) != wording.is_significant(
        found.p_normal
    ):
        other = (
            f"with Satterthwaite's degrees of freedom ({found.df:.1f}), {wording.p_value(found.p)}"
            if analysis.reference == "normal"
            else f"by the normal approximation, {wording.p_value(found.p_normal)}"
        )
        remarks.append(other)
    return remarks


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


# ----------------------------------------------------------------------------
# Precision weights of rows whose response has a standard error.
#
# In two steps, as in a random-effects meta-analysis: a model without weights gives the residual
# variance s²; a row with the standard error se then has the weight 1 / (s² + se²), scaled to a
# mean of 1 over the rows of the model. Rows without a standard error count as exact.


def precision_weights(standard_errors: Floats, residual_variance: float) -> Floats:
    """Return 1 / (s² + se²), scaled to a mean of 1; NaN counts as no error."""
    errors = np.nan_to_num(np.asarray(standard_errors, dtype=np.float64), nan=0.0)
    weights = 1.0 / (residual_variance + errors**2)
    return np.asarray(weights / weights.mean())


def with_weights(analysis: Analysis, data: pd.DataFrame) -> pd.DataFrame:
    """Add the weight of every row; it is missing in parts whose model cannot be fitted."""
    weights = np.full(len(data), np.nan)
    for places in _places(analysis, data):
        rows = data.iloc[places].reset_index(drop=True)
        try:
            variance = _residual_variance(analysis, rows)
        except StatisticsError:  # the analysis of this part says why
            continue
        weights[places] = precision_weights(rows[RESPONSE_SE].to_numpy(np.float64), variance)
    return data.assign(**{WEIGHT: weights})


def _places(analysis: Analysis, data: pd.DataFrame) -> Iterator[NDArray[np.intp]]:
    """Yield the positions of the rows of each part."""
    by = list(analysis.parts_by)
    if not by:
        yield np.arange(len(data))
        return
    yield from data.groupby(by, sort=True, observed=True).indices.values()


def _residual_variance(analysis: Analysis, rows: pd.DataFrame) -> float:
    """Return the residual variance of the model of an analysis without weights."""
    model = model_of(analysis, rows)
    fit = fit_mixed(model.formula, rows, family=analysis.family, codings=model.codings)
    return next(one.variance for one in fit.random if one.group == RESIDUAL)


def why_not_weighted(analysis: Analysis, table: pd.DataFrame | None) -> str:
    """Return why an analysis of a table cannot be weighted by search errors; empty if it can."""
    if analysis.test != "mixed" or analysis.family != "gaussian":
        return "only linear mixed models have weights"
    responses = analysis.responses or (analysis.measured,)
    lacking = [name for name in responses if name not in ERROR_COLUMNS]
    if lacking:
        return f"{', '.join(lacking)} has no standard error"
    columns = [ERROR_COLUMNS[name] for name in responses]
    if table is None or not all(
        name in table.columns and table[name].notna().any() for name in columns
    ):
        return "no standard error is known"
    return ""


# ----------------------------------------------------------------------------
# Run analyses on a table, giving estimates and sentences.


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
