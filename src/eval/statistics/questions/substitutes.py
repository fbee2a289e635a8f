"""Results that replace those of a failed mixed model: counts, and a permutation test.

Estimates of a failed model are never reported in sentences, tables or figures. Counts and a
permutation test within the grouping factors of the model are reported instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from gardenpath.data.arrays import Floats
from gardenpath.eval.statistics.formulas.coding import Coding
from gardenpath.eval.statistics.formulas.model_formula_parser import parse_model_formula
from gardenpath.eval.statistics.inference.permutation import PermutationTest, permutation_test
from gardenpath.eval.statistics.mixed.mixed_fit import FitFailure, MixedFit
from gardenpath.eval.statistics.questions import wording
from gardenpath.eval.statistics.questions.analysis import Analysis
from gardenpath.eval.statistics.questions.answers import meaning

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
