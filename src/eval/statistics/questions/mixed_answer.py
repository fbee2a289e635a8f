"""Results of mixed models, and of permutation tests if a model fails."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from gardenpath.eval.statistics.formulas.coding import Coding, coding_of
from gardenpath.eval.statistics.formulas.model_matrix import INTERCEPT
from gardenpath.eval.statistics.inference.effect_sizes import EffectSize, cohens_d, odds_ratio
from gardenpath.eval.statistics.mixed.mixed_fit import FixedEffect, MixedFit
from gardenpath.eval.statistics.mixed.mixed_model import fit_mixed
from gardenpath.eval.statistics.mixed.random_terms import identifiable
from gardenpath.eval.statistics.questions import wording
from gardenpath.eval.statistics.questions.analysis import ANY_EFFECT, Analysis, FittedPart
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
from gardenpath.eval.statistics.questions.robustness import (
    Check,
    add_checks,
    check_effect,
    robustness_fits,
    tested,
    weight_column,
)
from gardenpath.eval.statistics.questions.substitutes import Substitute, substitute
from gardenpath.eval.statistics.statistics_error import StatisticsError
from gardenpath.text import key

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
        lme4_default=analysis.lme4_default,
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
    for place, found in enumerate(fit.fixed):
        effect = tested(found, analysis.reference)
        replaced = substitutes.get(effect.name)
        checks = (
            []
            if replaced
            else [
                check_effect(name, one, effect, analysis.reference) for name, one in others.items()
            ]
        )
        theirs = tested(fit.lme4[place], analysis.reference) if fit.lme4 else None
        row = _effect_row(fit, found, effect, replaced, checks, theirs, analysis)
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
    theirs: FixedEffect | None,
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
        estimate_lme4=theirs.estimate if theirs else math.nan,
        standard_error_lme4=theirs.standard_error if theirs else math.nan,
        p_lme4=theirs.p if theirs else math.nan,
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
    is_found = wording.is_significant(row["p"])
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
    if math.isfinite(row["p_lme4"]) and wording.is_significant(row["p_lme4"]) != is_found:
        numbers = (
            f"SE {wording.rounded(row['standard_error_lme4'])}, {wording.p_value(row['p_lme4'])}"
        )
        remarks.append(f"with lme4's default settings, {numbers}")
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
