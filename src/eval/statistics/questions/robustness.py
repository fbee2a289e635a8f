"""Other models of the same rows, reported beside the model of an analysis."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from gardenpath.eval.statistics.choices import Reference
from gardenpath.eval.statistics.formulas.coding import Coding
from gardenpath.eval.statistics.mixed.mixed_fit import FixedEffect, MixedFit
from gardenpath.eval.statistics.mixed.mixed_model import fit_mixed
from gardenpath.eval.statistics.mixed.random_terms import identifiable
from gardenpath.eval.statistics.questions import wording
from gardenpath.eval.statistics.questions.analysis import WEIGHT, Analysis
from gardenpath.eval.statistics.questions.answers import Answers, Part, Row
from gardenpath.eval.statistics.questions.substitutes import FAILURES
from gardenpath.eval.statistics.statistics_error import StatisticsError


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
