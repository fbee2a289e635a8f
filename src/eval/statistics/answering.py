"""Run analyses on tables of results, giving estimates and sentences.

``run_analysis`` is called for every analysis of an evaluation, a report or a study. It prepares the
rows of an analysis (``tidy``), fits mixed models or computes means part by part, and words what was
found. Estimates of a failed model are never reported in sentences, tables or figures: counts and a
permutation test within the grouping factors of the model are reported instead. Parts that cannot be
computed are skipped with a reason; files are written elsewhere (``rscript``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from gardenpath.data.arrays import Floats
from gardenpath.errors import StatisticsError
from gardenpath.eval.means import NORMAL, Interval, normal_interval
from gardenpath.eval.statistics import answers as wording
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
# With fewer degrees of freedom, a t value has no finite variance: it rests on two or three runs.
_FEW_DEGREES = 2.0


def run_analysis(
    analysis: Analysis, table: pd.DataFrame | None, *, min_items: int = MIN_ITEMS
) -> AnalysisResult:
    """Run an analysis on a table; parts that cannot be computed are skipped with a reason.

    Every model in a part, and every level of a predictor, needs ``min_items`` usable items. The
    result is empty, with the reason, if there is no table or no row for the analysis.
    """
    try:
        if table is None or table.empty:
            raise StatisticsError(f"there is no table of {analysis.table}")
        rows = tidy(analysis, table)
    except StatisticsError as error:
        return AnalysisResult(
            analysis=analysis, data=pd.DataFrame(), tables={}, sentences=(), skipped=(str(error),)
        )
    data = with_weights(analysis, rows.rows) if analysis.is_weighted else rows.rows
    answers = Answers(analysis.correction)
    answer = {
        "mixed": _mixed,
        "t_test": _t_test,
        "within_item": _within_item,
        "means": _means,
    }[analysis.test]
    # Rows before averaging have the same parts, in the same order.
    counted = parts(analysis, rows.counted)
    for (part, chosen), (_, of_items) in zip(parts(analysis, data), counted, strict=True):
        try:
            require_items(analysis, part, of_items, min_items)
            answer(analysis, part, chosen, answers)
        except StatisticsError as error:
            answers.skipped.append(f"{label(part)}: {error}" if part else str(error))
        else:
            answers.parts.append(part)
    sentences = answers.finish()
    tables = {name: pd.DataFrame(of_table) for name, of_table in answers.rows.items()}
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
        notes=tuple(rows.notes),
    )


# ----------------------------------------------------------------------------
# Mixed models.


def _mixed(analysis: Analysis, part: Part, rows: pd.DataFrame, answers: Answers) -> None:
    """Fit the model of an analysis, and those that check its robustness, to a part of its rows."""
    model = _model_of(analysis, rows)
    weights = WEIGHT if analysis.is_weighted and rows[WEIGHT].notna().all() else None
    fitting = partial(
        fit_mixed, table=rows, family=analysis.family, codings=model.codings, weights=weights
    )
    fit = fitting(model.formula)
    others: dict[str, MixedFit | str] = {}
    for name, formula in analysis.robustness.items():
        try:
            others[name] = fitting(identifiable(formula, rows, family=analysis.family)[0])
        except StatisticsError as error:
            others[name] = str(error)
    substitutes = {
        effect.name: _substitute(analysis, fit, effect.name, rows, model.codings)
        for effect in (fit.fixed if fit.failure else ())
    }
    answers.fits.append(
        FittedPart(
            part=part,
            formula=model.formula,
            codings=model.codings,
            fit=fit,
            is_weighted=weights is not None,
            strata=next((s.strata for s in substitutes.values() if s.test), None),
            has_ties=analysis.family == "binomial"
            and not rows[analysis.measured].isin([0.0, 1.0]).all(),
            robustness={n: other for n, other in others.items() if isinstance(other, MixedFit)},
        )
    )
    for effect in fit.fixed:
        _answer_effect(
            analysis, part, rows, answers, fit, effect, substitutes.get(effect.name), others
        )
    for random in fit.random_rows():
        answers.add("random effects", part, random)
    notes = [*model.notes, *fit.warnings]
    if weights is not None:
        span = f"weights from {rows[weights].min():.3g} to {rows[weights].max():.3g}"
        notes.insert(len(model.notes), f"weighted by search error: {span}")
    row = {
        "formula": fit.formula,
        "n": fit.n,
        "log_likelihood": fit.log_likelihood,
        "converged": fit.converged,
        "singular": fit.singular,
        "engine": fit.engine,
        "notes": "; ".join(notes),
    }
    answers.add("fits", part, row)


@dataclass(frozen=True, slots=True)
class _PartModel:
    """The model of a part: random effects that its rows allow, codings of factors, and notes."""

    formula: str
    codings: dict[str, Coding]
    notes: list[str]


def _model_of(analysis: Analysis, rows: pd.DataFrame) -> _PartModel:
    """Return the model of an analysis for a part of its rows.

    Factors have the configured codings; other text columns get treatment coding.
    """
    codings = {}
    for name in dict.fromkeys([*analysis.predictors, *analysis.slopes]):
        if rows[name].nunique() < 2:
            raise StatisticsError(f"{name} has only one value, {meaning(analysis, rows, name)}")
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
        assert coding is not None, "the column has several values"
        codings[name] = coding
    formula, notes = identifiable(analysis.formula, rows, family=analysis.family)
    return _PartModel(formula, codings, notes)


def is_asked(analysis: Analysis, effect: str) -> bool:
    """Whether the analysis asks about an effect."""
    if analysis.sentences and ANY_EFFECT not in analysis.sentences:
        return effect in analysis.sentences
    return effect != INTERCEPT or not analysis.predictors


def _answer_effect(
    analysis: Analysis,
    part: Part,
    rows: pd.DataFrame,
    answers: Answers,
    fit: MixedFit,
    effect: FixedEffect,
    replaced: _Substitute | None,
    others: Mapping[str, MixedFit | str],
) -> None:
    """Add the rows and the sentence about an effect, which has the t test if it has any."""
    tested = _tested(effect, analysis.reference)
    checks = [
        check_effect(n, o, tested, analysis.reference) for n, o in others.items() if not replaced
    ]
    row = _effect_row(fit, effect, tested, replaced, checks, analysis)
    answers.add("coefficients", part, {**row, "term": effect.name})
    if not is_asked(analysis, effect.name):
        return
    term = label(part, effect.name)
    row = answers.add("estimates", part, {**row, "term": term})
    for check in checks:
        answers.add("robustness", part, {"term": term, **check.row(others[check.name])})
    if cases := analysis.sentences.get(effect.name, analysis.sentences.get(ANY_EFFECT)):
        values = template_values(analysis, part, rows) | {"effect": effect.name}
        sentence = partial(_sentence, cases, values, effect, replaced, checks, analysis)
        answers.state(row, sentence)


def _tested(effect: FixedEffect, reference: Reference) -> FixedEffect:
    """Return an effect with the test that an analysis asks for."""
    return effect.with_normal_test() if reference == "normal" else effect


def _effect_row(
    fit: MixedFit,
    effect: FixedEffect,
    tested: FixedEffect,
    replaced: _Substitute | None,
    checks: Sequence[_Check],
    analysis: Analysis,
) -> Row:
    """Return the numbers of an effect; ``effect`` has the t test, ``tested`` the chosen one."""
    if replaced is not None:
        return estimate_row(
            p=replaced.test.p if replaced.test else math.nan,
            n=fit.n,
            test=replaced.name,
            remark=replaced.reason,
        )
    is_linear = effect.df is not None
    ends = (tested.estimate, tested.low, tested.high)
    same = ("estimate", "standard_error", "statistic", "p", "low", "high")
    return estimate_row(
        **{name: getattr(tested, name) for name in same},
        df=effect.df if is_linear else math.nan,
        p_normal=effect.p_normal,
        p_satterthwaite=effect.p if is_linear else math.nan,
        n=fit.n,
        size=cohens_d(*ends, fit.total_deviation) if is_linear else odds_ratio(*ends),
        singular=fit.singular,
        robustness="; ".join(check.text for check in checks if not check.agrees),
        test="t test" if is_linear and analysis.reference == "satterthwaite" else "z test",
    )


def _sentence(
    cases: Mapping[str, str],
    values: Mapping[str, str],
    effect: FixedEffect,
    replaced: _Substitute | None,
    checks: Sequence[_Check],
    analysis: Analysis,
    row: Row,
) -> str:
    """Return the sentence about an effect, whose row is complete by now."""
    p = row["p_adjusted"]
    if replaced is None:
        df = row["df"] if row["test"] == "t test" else None
        numbers = [
            wording.coefficient(
                row["estimate"], row["standard_error"], row["statistic"], df, row["p"]
            ),
            *_remarks(row, effect, analysis),
            *(check.text for check in checks if not check.agrees),
        ]
        return wording.stated(cases, values, estimate=effect.estimate, p=p, numbers=numbers)
    numbers = [*replaced.numbers, *adjustment(row)]
    if replaced.test is None:
        return wording.undecided(cases, values, numbers=numbers)
    return wording.stated(cases, values, estimate=replaced.test.excess, p=p, numbers=numbers)


def _remarks(row: Row, effect: FixedEffect, analysis: Analysis) -> list[str]:
    """Return what a reader must know about a p value."""
    remarks = adjustment(row)
    if row["singular"]:
        remarks.append("singular fit")
    if effect.df is None:
        return remarks
    if effect.df < _FEW_DEGREES:
        remarks.append("so few degrees of freedom that more runs are needed")
    if wording.is_significant(effect.p) != wording.is_significant(effect.p_normal):
        remarks.append(
            f"with Satterthwaite's degrees of freedom ({effect.df:.1f}), "
            f"{wording.p_value(effect.p)}"
            if analysis.reference == "normal"
            else f"by the normal approximation, {wording.p_value(effect.p_normal)}"
        )
    return remarks


# ----------------------------------------------------------------------------
# Other models of the same rows, reported beside the model of an analysis.


@dataclass(frozen=True, slots=True)
class _Check:
    """An effect in another model; ``agrees`` if direction and significance are the same."""

    name: str
    effect: FixedEffect | None
    agrees: bool
    problem: str = ""

    @property
    def text(self) -> str:
        """The result in words if it differs: ``with intercepts only, b = 0.052, p < .001``."""
        if self.effect is None:
            return f"with {self.name}, {self.problem}"
        numbers = f"b = {wording.rounded(self.effect.estimate)}, {wording.p_value(self.effect.p)}"
        return f"with {self.name}, {numbers}"

    def row(self, fit: MixedFit | str) -> Row:
        """Return the row of the table ``robustness``, without the term."""
        row: Row = {
            "alternative": self.name,
            "formula": "" if isinstance(fit, str) else fit.formula,
        }
        for column in ("estimate", "standard_error", "statistic", "df", "p", "low", "high"):
            row[column] = getattr(self.effect, column) if self.effect else math.nan
        row["singular"] = False if isinstance(fit, str) else fit.singular
        return {**row, "agrees": self.agrees, "remark": self.problem}


def check_effect(
    name: str, other: MixedFit | str, effect: FixedEffect, reference: Reference
) -> _Check:
    """Compare an effect with the same effect in another model, or why that cannot be fitted."""
    if isinstance(other, str):
        return _Check(name, None, False, other)
    if other.failure is not None:
        return _Check(name, None, False, FAILURES[other.failure])
    theirs = _tested(other.effect(effect.name), reference)
    is_same = wording.is_significant(effect.p) == wording.is_significant(theirs.p)
    is_turned = wording.is_significant(effect.p) and effect.estimate * theirs.estimate < 0.0
    return _Check(name, theirs, is_same and not is_turned)


# ----------------------------------------------------------------------------
# Results that replace those of a failed model: counts, and a permutation test.


@dataclass(frozen=True, slots=True, kw_only=True)
class _Substitute:
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


def _substitute(
    analysis: Analysis,
    fit: MixedFit,
    effect: str,
    rows: pd.DataFrame,
    codings: Mapping[str, Coding],
) -> _Substitute:
    """Return results for an effect that do not depend on the failed model.

    The only predictor of a binomial model is tested by permutations within strata, unless it is a
    factor of more than two levels.
    """
    assert fit.failure is not None
    predictor = next((name for name in analysis.predictors if effect.split("[")[0] == name), None)
    strata = parse_model_formula(fit.formula).grouping_factors
    raw, test = "", None
    if predictor is not None:
        raw = _raw(analysis, rows, predictor)
        values = rows[[predictor]].to_numpy()
        if predictor in codings:
            values = codings[predictor].columns(rows[predictor].tolist())
        if analysis.family == "binomial" and len(analysis.predictors) == values.shape[1] == 1:
            columns = [rows[name].astype(str) for name in strata]
            names = ["\t".join(row) for row in zip(*columns, strict=True)] or [""] * len(rows)
            outcomes = rows[analysis.measured].to_numpy()
            test = permutation_test(values[:, 0].astype(np.float64), outcomes, names)
    return _Substitute(reason=FAILURES[fit.failure], raw=raw, strata=strata, test=test)


def _raw(analysis: Analysis, rows: pd.DataFrame, predictor: str) -> str:
    """Format the counts of right outcomes, or the means, for each value of a predictor."""
    sums = rows.groupby(predictor, sort=True)[analysis.measured].agg(["sum", "count"])
    if len(sums) > _FEW_GROUPS:
        return ""
    is_made = predictor in analysis.derive or predictor in analysis.contrasts
    before = "" if is_made else f"{wording.prose_name(predictor)} "
    groups = [
        (before + meaning(analysis, rows, predictor, value), float(total), int(count))
        for value, total, count in sums.itertuples()
    ]
    if analysis.family == "binomial":
        return wording.counts(groups)
    return wording.stated_means([(name, total / count) for name, total, count in groups])


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
    by = list(analysis.parts_by)
    groups = data.groupby(by, sort=True, observed=True).indices if by else {(): slice(None)}
    for places in groups.values():
        rows = data.iloc[places].reset_index(drop=True)
        try:
            model = _model_of(analysis, rows)
            fit = fit_mixed(model.formula, rows, family=analysis.family, codings=model.codings)
        except StatisticsError:  # the analysis of this part says why
            continue
        variance = next(effect.variance for effect in fit.random if effect.group == RESIDUAL)
        weights[places] = precision_weights(rows[RESPONSE_SE].to_numpy(np.float64), variance)
    return data.assign(**{WEIGHT: weights})


def why_not_weighted(analysis: Analysis, table: pd.DataFrame | None) -> str:
    """Return why an analysis of a table cannot be weighted by search errors; empty if it can."""
    if analysis.test != "mixed" or analysis.family != "gaussian":
        return "only linear mixed models have weights"
    responses = analysis.responses or (analysis.measured,)
    if lacking := [name for name in responses if name not in ERROR_COLUMNS]:
        return f"{', '.join(lacking)} has no standard error"
    columns = [ERROR_COLUMNS[name] for name in responses]
    if table is None or not all(
        name in table.columns and table[name].notna().any() for name in columns
    ):
        return "no standard error is known"
    return ""


# ----------------------------------------------------------------------------
# Tests and intervals of means.


def _t_test(analysis: Analysis, part: Part, rows: pd.DataFrame, answers: Answers) -> None:
    values = rows[analysis.measured]
    if column := analysis.contrast_column:
        # The second minus the first side of the contrast, for every item that has both.
        if rows[column].nunique() < 2:
            raise StatisticsError(f"{column} has only one value, {meaning(analysis, rows, column)}")
        wide = rows.pivot_table(
            index="item", columns=column, values=analysis.measured, aggfunc="mean"
        )
        values = (wide[0.5] - wide[-0.5]).dropna()
    test = t_test(np.asarray(values, dtype=np.float64))
    row = estimate_row(
        term=label(part) or wording.prose_name(analysis.measured),
        estimate=test.mean,
        standard_error=test.standard_error,
        statistic=test.statistic,
        df=test.df,
        p=test.p,
        low=test.low,
        high=test.high,
        deviation=test.deviation,
        half_width=NORMAL * test.standard_error,
        n=test.n,
        size=cohens_dz(test),
        test="paired t test" if analysis.contrasts else "t test",
    )
    row = answers.add("estimates", part, row)
    if cases := analysis.sentences.get(analysis.measured):
        unit = " bits" if analysis.measured.endswith("_bits") else ""
        words = template_values(analysis, part, rows)
        answers.state(row, partial(_mean_sentence, cases, words, test, unit))


def _mean_sentence(
    cases: Mapping[str, str], values: Mapping[str, str], test: TTest, unit: str, row: Row
) -> str:
    text = (
        f"mean {wording.rounded(test.mean)}{unit} (SD {wording.rounded(test.deviation)}), "
        f"t({test.df}) = {wording.rounded(test.statistic)}, {wording.p_value(test.p)}"
    )
    numbers = [text, *adjustment(row)]
    return wording.stated(cases, values, estimate=test.mean, p=row["p_adjusted"], numbers=numbers)


def _within_item(analysis: Analysis, part: Part, rows: pd.DataFrame, answers: Answers) -> None:
    intervals = within_item_intervals(
        rows,
        value=analysis.measured,
        condition=analysis.condition,
        item="item",
        method=analysis.method,
    )
    for condition, interval in intervals.items():
        row = estimate_row(term=label(part, condition), **_interval_numbers(interval))
        answers.add("estimates", part, {analysis.condition: condition, **row})


def _means(analysis: Analysis, part: Part, rows: pd.DataFrame, answers: Answers) -> None:
    values = rows[analysis.measured].to_numpy()
    numbers = _interval_numbers(normal_interval(values))
    row = estimate_row(
        term=label(part) or wording.prose_name(analysis.measured),
        standard_error=numbers["half_width"] / NORMAL,
        deviation=float(np.std(values, ddof=1)) if len(values) > 1 else np.nan,
        **numbers,
    )
    answers.add("estimates", part, row)


def _interval_numbers(interval: Interval) -> Row:
    return {
        **{"estimate": interval.mean, "low": interval.low, "high": interval.high},
        **{"half_width": interval.high - interval.mean, "n": interval.n},
    }
