"""Results of mixed models, and of permutation tests if a model fails.

Estimates of a failed model are never reported in sentences, tables or figures. Counts and a
permutation test within the grouping factors of the model are reported instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from gardenpath.data.arrays import Floats
from gardenpath.eval.statistics.formulas.coding import Coding, coding_of
from gardenpath.eval.statistics.formulas.model_formula_parser import parse_model_formula
from gardenpath.eval.statistics.formulas.model_matrix import INTERCEPT
from gardenpath.eval.statistics.inference.permutation import PermutationTest, permutation_test
from gardenpath.eval.statistics.mixed.mixed_fit import FitFailure, FixedEffect, MixedFit
from gardenpath.eval.statistics.mixed.mixed_model import fit_mixed
from gardenpath.eval.statistics.mixed.random_terms import identifiable
from gardenpath.eval.statistics.questions import wording
from gardenpath.eval.statistics.questions.analysis import Analysis, FittedPart
from gardenpath.eval.statistics.questions.answers import (
    Answers,
    Part,
    label,
    meaning,
    template_values,
)
from gardenpath.eval.statistics.statistics_error import StatisticsError
from gardenpath.text import key

_REASONS: dict[FitFailure, str] = {
    "separation": "the mixed model has no finite estimate because the predictors separate outcomes",
    "divergence": "the estimates of the mixed model diverge",
    "no convergence": "the mixed model did not converge",
}
# Maximum number of groups that a sentence lists.
_FEW_GROUPS = 6


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
    def numbers(self) -> str:
        """Raw results, test and reason, formatted for the end of a sentence."""
        tested = f"{self.name}, {wording.p_value(self.test.p)}" if self.test else ""
        return "; ".join(filter(None, [self.raw, tested, self.reason]))


def answer_mixed(analysis: Analysis, part: Part, rows: pd.DataFrame, answers: Answers) -> None:
    """Fit the model of an analysis to a part of its rows."""
    for name in (*analysis.predictors, *analysis.slopes):
        if rows[name].nunique() < 2:
            raise StatisticsError(f"{name} has only one value, {meaning(analysis, rows, name)}")
    codings = _codings(analysis, rows)
    formula, notes = identifiable(analysis.formula, rows, family=analysis.family)
    fit = fit_mixed(formula, rows, family=analysis.family, codings=codings)
    substitutes = {
        effect.name: _substitute(analysis, fit, effect.name, rows, codings)
        for effect in (fit.fixed if fit.failure else ())
    }
    strata = next((s.strata for s in substitutes.values() if s.test), None)
    answers.fits.append(
        FittedPart(
            part=part,
            formula=formula,
            codings=codings,
            fit=fit,
            strata=strata,
            has_ties=analysis.family == "binomial" and not _is_right_or_wrong(analysis, rows),
        )
    )
    for effect in fit.fixed:
        row = _effect_row(effect, substitutes.get(effect.name))
        answers.add("coefficients", part, {"term": effect.name, **row})
        if _is_asked(analysis, effect.name):
            answers.add("estimates", part, {"term": label(part, effect.name), **row})
            if cases := analysis.sentences.get(effect.name):
                values = template_values(analysis, part, rows)
                said = _sentence(cases, values, effect, substitutes.get(effect.name))
                answers.sentences.append(said)
    for random in fit.random_rows():
        answers.add("random effects", part, random)
    answers.add("fits", part, _fit_row(fit, notes))


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


def _is_asked(analysis: Analysis, effect: str) -> bool:
    """Whether the analysis asks about an effect."""
    if analysis.sentences:
        return effect in analysis.sentences
    return effect != INTERCEPT or not analysis.predictors


def _substitute(
    analysis: Analysis,
    fit: MixedFit,
    effect: str,
    rows: pd.DataFrame,
    codings: Mapping[str, Coding],
) -> _Substitute:
    """Return results for an effect that do not depend on the failed model."""
    assert fit.failure is not None
    predictor = next((name for name in analysis.predictors if effect.split("[")[0] == name), None)
    strata = parse_model_formula(fit.formula).grouping_factors
    reason = _REASONS[fit.failure]
    if predictor is None:
        return _Substitute(reason=reason, raw="", strata=strata, test=None)
    test = _permuted(analysis, rows, codings, strata)
    return _Substitute(reason=reason, raw=_raw(analysis, rows, predictor), strata=strata, test=test)


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
    before = "" if predictor in analysis.derive else f"{wording.prose_name(predictor)} "
    groups = [
        (before + meaning(analysis, rows, predictor, value), float(total), int(count))
        for value, total, count in found.itertuples()
    ]
    if analysis.family == "binomial":
        return wording.counts(groups)
    return wording.stated_means([(name, total / count) for name, total, count in groups])


def _sentence(
    cases: Mapping[str, str],
    values: Mapping[str, str],
    effect: FixedEffect,
    substitute: _Substitute | None,
) -> str:
    if substitute is None:
        numbers = wording.coefficient(
            effect.estimate, effect.standard_error, effect.statistic, effect.df, effect.p
        )
        return wording.stated(cases, values, estimate=effect.estimate, p=effect.p, numbers=numbers)
    if substitute.test is None:
        return wording.undecided(cases, values, numbers=substitute.numbers)
    test = substitute.test
    return wording.stated(cases, values, estimate=test.excess, p=test.p, numbers=substitute.numbers)


def _effect_row(effect: FixedEffect, substitute: _Substitute | None) -> dict[str, Any]:
    row = {
        "estimate": effect.estimate,
        "standard_error": effect.standard_error,
        "statistic": effect.statistic,
        "df": effect.df,
        "p": effect.p,
        "low": effect.low,
        "high": effect.high,
        "test": "z test" if effect.df is None else "t test",
        "remark": "",
    }
    if substitute is None:
        return row
    return {
        **dict.fromkeys(row, math.nan),
        "p": substitute.test.p if substitute.test else math.nan,
        "test": substitute.name,
        "remark": substitute.reason,
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
