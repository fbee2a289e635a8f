"""Records of analyses (questions about a table), of fitted models, and of their results.

``load_analyses`` reads the files in ``conf/analysis``, and ``own_analysis`` makes the analysis of a
user's formula. ``answering`` runs an analysis, and reports and studies read its ``AnalysisResult``.
Settings load this module, so numerical libraries are imported only by modules that compute, and
all mistakes in the settings of an analysis are reported at once.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, get_args

from gardenpath.errors import GardenpathError, InputError, StatisticsError
from gardenpath.eval.statistics.formulas import (
    ContrastKind,
    Correction,
    Distribution,
    ModelFormula,
    Reference,
    Weighting,
    WithinMethod,
    parse_model_formula,
)
from gardenpath.safe_text import parse_yaml
from gardenpath.settings.schema import nearest, read
from gardenpath.store.tables import ERROR_COLUMNS
from gardenpath.util import enumeration

if TYPE_CHECKING:
    import pandas as pd

    from gardenpath.eval.statistics.formulas import Coding

# Level of all intervals.
CONFIDENCE = 0.95

# The likelihood that is maximised: Laplace approximation, or profiled restricted likelihood.
Engine = Literal["laplace", "profiled"]
# Why estimates are invalid. Separation: predictors separate right from wrong outcomes. Divergence:
# estimates diverge for another reason.
FitFailure = Literal["separation", "divergence", "no convergence"]

RESIDUAL = "Residual"


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedEffect:
    """A coefficient with a t test, or with a z test if ``df`` is None.

    Degrees of freedom are Satterthwaite's (residual ones without random effects).
    """

    name: str
    estimate: float
    standard_error: float
    statistic: float
    df: float | None
    p: float
    low: float
    high: float

    @property
    def p_normal(self) -> float:
        """The p value of a z test: the normal approximation of a t test."""
        return math.erfc(abs(self.statistic) / math.sqrt(2.0))

    def with_normal_test(self) -> FixedEffect:
        """Return the same coefficient with the p value and the interval of a z test."""
        reach = self.standard_error * NormalDist().inv_cdf(0.5 + CONFIDENCE / 2.0)
        return dataclasses.replace(
            self, p=self.p_normal, low=self.estimate - reach, high=self.estimate + reach
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomEffect:
    """A variance; ``correlations`` are with the preceding effects of the same term."""

    group: str
    name: str
    variance: float
    correlations: tuple[float, ...] = ()

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.variance)


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedFit:
    """A fitted model with its diagnostics.

    If ``failure`` is not None, the estimates are invalid (NaN in case of separation). ``singular``
    means that a random effect has no variance of its own. ``warnings`` describe problems in words.
    ``log_likelihood`` is restricted for linear models. ``engine`` names the maximised likelihood.
    ``theta`` are the relative Cholesky factors of the random effects, named as in lme4.
    ``total_deviation`` is the standard deviation of single responses of a linear model given its
    fixed effects.
    """

    formula: str
    family: Distribution
    fixed: tuple[FixedEffect, ...]
    random: tuple[RandomEffect, ...]
    groups: Mapping[str, int]
    log_likelihood: float
    n: int
    failure: FitFailure | None
    singular: bool
    engine: Engine
    warnings: tuple[str, ...] = ()
    theta: Mapping[str, float] = field(default_factory=dict)
    total_deviation: float = math.nan

    @property
    def converged(self) -> bool:
        """Whether the estimates are valid."""
        return self.failure is None

    def effect(self, name: str) -> FixedEffect:
        """Return the fixed effect with this name."""
        for effect in self.fixed:
            if effect.name == name:
                return effect
        raise KeyError(name)

    def random_rows(self) -> list[dict[str, Any]]:
        """Return one row per random effect, the residual last."""
        return [
            {
                "group": effect.group,
                "effect": effect.name,
                "levels": self.groups.get(effect.group, self.n),
                "variance": effect.variance,
                "deviation": effect.deviation,
                "correlations": " ".join(f"{value:.2f}" for value in effect.correlations),
            }
            for effect in self.random
        ]


# A configured analysis and its result.

TableName = Literal["items", "effects", "sentences"]
Test = Literal["mixed", "t_test", "within_item", "means"]

# Columns of the rows that ``responses`` and ``contrasts`` make.
METRIC, VALUE, CONTRAST = "metric", "value", "contrast"
# Columns of the rows of weighted analyses: the standard error of the response, and the weight.
RESPONSE_SE, WEIGHT = "response_se", "weight"
# Key of the sentences about all effects of a mixed model but the intercept.
ANY_EFFECT = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """A question about a table of items, effects or sentences.

    ``study`` is the key of the study that defines the analysis (``mandarin``), empty for analyses
    of our own; ``source`` is its publication.

    ``where`` selects rows (column: values, which may contain ``*``). ``derive`` adds columns by
    looking up values of others (``syntax: {from: model, values: {lstm: 0, rnng: 1}}``). Values may
    contain ``*``, and the first that matches counts; with several columns in ``from`` they are
    written ``rnng/ctb``. Rows without an entry take the value of the column ``otherwise``, or are
    left out. With ``responses`` every row becomes one row per response, with its name in ``metric``
    and its number in ``value``, and each metric is analysed separately. With ``average`` the
    response is averaged over all rows that agree in these columns. ``contrasts`` compare values of
    a column pair by pair (``position: {from: modifier, pairs: [[object, adjunct]]}``): the new
    column is −0.5 for the first and 0.5 for the second. Each combination of the columns in
    ``split`` is analysed separately.

    A *mixed* model needs a formula and a family; ``codings`` specify the contrasts of its factors
    (``modifier: {kind: sum, levels: [none, adjective]}``). ``reference`` is the distribution of the
    test statistics of linear models. ``robustness`` are formulas of other models of the same rows,
    by name, reported beside the first. With ``lme4_default``, the R script also fits each model
    with lme4's default settings. With ``weights: error``, rows of a linear model are
    weighted by the search error of their response. A *t test* compares the mean of ``response``, or
    in contrasts the difference within items, with zero. *Within-item* intervals are computed for
    the mean ``response`` in each ``condition``, with the given ``method``. *Means* have intervals
    of 1.96 standard errors. ``correction`` adjusts the p values of all estimates of the analysis.

    ``sentences`` map the name of an effect (the response in a t test) to templates ``more``,
    ``less`` and ``none``; ``*`` stands for all effects, and ``$effect`` for the name of one. In
    templates, ``$column`` is the value of a split column, ``$corpora`` are the training corpora of
    the rows, ``$x_0`` and ``$x_1`` are the original values behind the lowest and highest value of a
    derived column x, and ``$first`` and ``$second`` are the two sides of a contrast.
    """

    name: str
    title: str
    test: Test = "mixed"
    table: TableName = "items"
    formula: str = ""
    family: Distribution = "gaussian"
    reference: Reference = "satterthwaite"
    robustness: Mapping[str, str] = field(default_factory=dict)
    lme4_default: bool = False
    weights: Weighting = "none"
    correction: Correction = "none"
    response: str = ""
    responses: Sequence[str] = ()
    condition: str = ""
    method: WithinMethod = "masson_loftus"
    description: str = ""
    study: str = ""
    source: str = ""
    where: Mapping[str, Sequence[str]] = field(default_factory=dict)
    derive: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    contrasts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    average: Sequence[str] = ()
    split: Sequence[str] = ()
    codings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    sentences: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def model(self) -> ModelFormula | None:
        """The parsed formula of a mixed model; None for other tests."""
        return parse_model_formula(self.formula) if self.test == "mixed" else None

    @property
    def models(self) -> tuple[ModelFormula, ...]:
        """The formula of a mixed model and those that check its robustness."""
        formulas = (self.formula, *self.robustness.values()) if self.test == "mixed" else ()
        return tuple(map(parse_model_formula, formulas))

    @property
    def measured(self) -> str:
        """The response column."""
        if self.responses:
            return VALUE
        return self.model.response if self.model else self.response

    @property
    def is_weighted(self) -> bool:
        """Whether rows are weighted by the search error of their response."""
        return self.weights == "error"

    @property
    def parts_by(self) -> tuple[str, ...]:
        """The columns whose combinations are analysed separately."""
        more = ((METRIC, self.responses), (CONTRAST, self.contrasts))
        return (*self.split, *(name for name, is_used in more if is_used))

    @property
    def contrast_column(self) -> str:
        """The column that is −0.5 and 0.5 in contrasts; empty without contrasts."""
        return next(iter(self.contrasts), "")

    @property
    def predictors(self) -> tuple[str, ...]:
        """The columns of the fixed effects, or the condition."""
        if self.model:
            return self.model.fixed_variables
        return (self.condition,) if self.condition else ()

    @property
    def slopes(self) -> tuple[str, ...]:
        """The columns whose effects vary by group."""
        return tuple(dict.fromkeys(name for model in self.models for name in model.slope_variables))

    @property
    def groups(self) -> tuple[str, ...]:
        """The columns by which random effects are grouped, in any of the models."""
        used = (name for model in self.models for name in model.grouping_factors)
        return tuple(dict.fromkeys(used))

    def mistakes(self) -> list[str]:
        """Return descriptions of missing or inconsistent settings."""
        checks = (_test_mistakes, _formula_mistakes, _weight_mistakes, _rule_mistakes)
        return _shape_mistakes(self) or [text for check in checks for text in check(self)]


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedPart:
    """A combination of the split columns, and the models fitted to its rows.

    If the model failed and a permutation test was used instead, ``strata`` are the columns within
    which outcomes were permuted. ``has_ties``: whether any binomial outcome is neither 0 nor 1.
    ``robustness`` are the other models, by name. ``is_weighted``: whether rows have weights.
    """

    part: Mapping[str, str]
    formula: str
    codings: Mapping[str, Coding]
    fit: MixedFit
    strata: tuple[str, ...] | None = None
    has_ties: bool = False
    robustness: Mapping[str, MixedFit] = field(default_factory=dict)
    is_weighted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisResult:
    """The result of an analysis: tables, sentences, and reasons for skipped parts.

    ``data`` is the tidy table that was analysed. The table ``estimates`` has the columns of the
    parts, followed by ``ESTIMATE_COLUMNS`` (``questions.answers``), whatever the test is; so has
    ``coefficients``, with all effects of mixed models. ``notes`` say which rows were left out.
    """

    analysis: Analysis
    data: pd.DataFrame
    tables: Mapping[str, pd.DataFrame]
    sentences: tuple[str, ...]
    skipped: tuple[str, ...]
    fits: tuple[FittedPart, ...] = ()
    parts: tuple[Mapping[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether every part was skipped."""
        return not self.parts

    @property
    def estimates(self) -> pd.DataFrame:
        """One row per estimate that the analysis asks for.

        Raises KeyError if the analysis was skipped; ``skipped`` says why.
        """
        return self.tables["estimates"]


def make_analysis(settings: Mapping[str, Any], *, name: str) -> Analysis:
    """Create an analysis from settings; all errors are reported at once."""
    return read(Analysis, {"name": name, **settings}, place=f"analysis.{name}")


def load_analysis(path: Path) -> Analysis:
    """Load an analysis from a YAML file; its name is that of the file."""
    try:
        settings = parse_yaml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"is not an analysis: {error}", path=path) from error
    if not isinstance(settings, dict):
        raise InputError("is not an analysis: it must be a mapping of settings", path=path)
    return make_analysis(settings, name=path.stem)


def load_analyses(folder: Path, *, study: str | None = None) -> tuple[Analysis, ...]:
    """Load all analyses in a folder and its subfolders, by path; ``study`` selects one study's."""
    paths = sorted(folder.rglob("[!_]*.yaml"))
    names: dict[str, Path] = {}
    for path in paths:
        if (other := names.setdefault(path.stem, path)) != path:
            raise InputError(f"has the name of another analysis, {other}", path=path)
    analyses = map(load_analysis, paths)
    return tuple(analysis for analysis in analyses if study is None or analysis.study == study)


# Checks of the settings of an analysis that their types do not express.

_MAPPINGS = ("where", "derive", "contrasts", "codings", "sentences", "robustness")
_NESTED = ("derive", "contrasts", "codings", "sentences")


def _shape_mistakes(analysis: Analysis) -> list[str]:
    flat = [name for name in _MAPPINGS if not isinstance(getattr(analysis, name), Mapping)]
    nested = [
        f"{name}.{column}"
        for name in (() if flat else _NESTED)
        for column, rule in getattr(analysis, name).items()
        if not isinstance(rule, Mapping)
    ]
    return [f"{name} must be a mapping" for name in [*flat, *nested]]


def _test_mistakes(analysis: Analysis) -> Iterator[str]:
    is_mixed = analysis.test == "mixed"
    if is_mixed and not analysis.formula:
        yield "a mixed model needs a formula"
    if not is_mixed and not analysis.measured:
        yield f"a {analysis.test} needs a response"
    if analysis.test == "within_item" and not analysis.condition:
        yield "within-item intervals need a condition"
    if not is_mixed and analysis.robustness:
        yield "robustness is for mixed models"
    if not is_mixed and analysis.lme4_default:
        yield "lme4_default is for mixed models"
    if analysis.test not in ("mixed", "t_test") and analysis.correction != "none":
        yield f"a correction needs p values, which {analysis.test} does not have"


def _formula_mistakes(analysis: Analysis) -> Iterator[str]:
    if analysis.test != "mixed" or not analysis.formula:
        return
    for name, text in {"": analysis.formula, **analysis.robustness}.items():
        try:
            response = parse_model_formula(str(text)).response
        except StatisticsError as error:
            yield f"robustness.{name}: {error}" if name else str(error)
            continue
        if analysis.responses and response != VALUE:
            yield f"with responses, the response of a formula must be {VALUE!r}"
        if name and response != parse_model_formula(analysis.formula).response:
            yield f"robustness.{name} has another response than the formula"


def _weight_mistakes(analysis: Analysis) -> Iterator[str]:
    if analysis.weights == "none":
        return
    if analysis.test != "mixed" or analysis.family != "gaussian":
        kind = "a binomial model" if analysis.test == "mixed" else f"a {analysis.test}"
        yield f"weights are for linear mixed models (family: gaussian), not for {kind}"
        return
    responses = analysis.responses
    if not responses and analysis.formula:
        with contextlib.suppress(StatisticsError):  # another mistake, of the formula
            responses = [parse_model_formula(analysis.formula).response]
    for name in responses:
        if name not in ERROR_COLUMNS:
            yield (
                f"weights: error needs a response that has a standard error "
                f"({', '.join(ERROR_COLUMNS)}), not {name}"
            )


def _rule_mistakes(analysis: Analysis) -> Iterator[str]:
    for column, rule in analysis.derive.items():
        if not {"from", "values"} <= set(rule) <= {"from", "values", "otherwise"}:
            yield f"derive.{column} needs 'from' and 'values', and may have 'otherwise'"
        elif not isinstance(rule["values"], Mapping):
            yield f"derive.{column}.values must be a mapping"
    if len(analysis.contrasts) > 1:
        yield "contrasts can have one column only"
    for column, rule in analysis.contrasts.items():
        if set(rule) != {"from", "pairs"}:
            yield f"contrasts.{column} needs exactly 'from' and 'pairs'"
        elif any(isinstance(pair, str) or len(pair) != 2 for pair in rule["pairs"]):
            yield f"contrasts.{column}.pairs must be pairs of values"
    for column, rule in analysis.codings.items():
        if wrong := sorted(set(rule) - {"kind", "levels"}):
            yield f"codings.{column} has {', '.join(wrong)}, not kind or levels"
        if rule.get("kind", "treatment") not in get_args(ContrastKind):
            yield f"codings.{column}.kind must be {' or '.join(get_args(ContrastKind))}"
    for effect, cases in analysis.sentences.items():
        if wrong := sorted(set(cases) - {"more", "less", "none"}):
            yield f"sentences.{effect} has {', '.join(wrong)}, not more, less or none"


# The analysis of a user's formula, as in ``formula="local_bits ~ filler * gap + (1 | item)"``.
#
# The response says which table is analysed. Factors of text have treatment coding, as in R, so
# that the interaction of two factors of two levels is the difference of differences in bits. Each
# suite, corpus and model is analysed separately, unless the formula names it.

# The numbers that can be explained, and the tables that have them.
_TABLES: Mapping[str, TableName] = {
    "local_bits": "sentences",
    "global_bits_per_word": "sentences",
    "slor": "sentences",
    "difference_bits": "items",
    "outcome": "items",
    "value_bits": "effects",
}
_APART = ("suite", "corpus", "model")


def formula_mistake(formula: str) -> str:
    """Return what is wrong with a formula, as far as that shows without data; else nothing."""
    try:
        response = parse_model_formula(formula).response
    except StatisticsError as error:
        return str(error)
    if response not in _TABLES:
        return f"the response {response!r} is unknown; {nearest(response, _TABLES)}"
    return ""


def own_analysis(formula: str, tables: Mapping[str, pd.DataFrame | None]) -> Analysis:
    """Return the analysis of a formula; its columns must be in the table of its response."""
    parsed = parse_model_formula(formula)
    name = _TABLES[parsed.response]
    table = tables[name]
    columns = [] if table is None else list(table.columns)
    if missing := [column for column in parsed.variables if column not in columns]:
        remedy = nearest(missing[0], [column for column in columns if not column.startswith("_")])
        if name != "sentences":
            remedy += "; factors of conditions are columns of sentences: local_bits ~ …"
        problem = f"the table of {name} has no column {enumeration(missing)}"
        raise GardenpathError(f"formula={formula}: {problem} ({remedy})")
    split = [column for column in _APART if column not in parsed.variables]
    texts = {"model": " for $model", "corpus": ", trained on $corpus", "suite": " ($suite)"}
    whose = "".join(text for column, text in texts.items() if column in split)
    return Analysis(
        name="own",
        title=formula,
        table=name,
        formula=formula,
        family="binomial" if parsed.response == "outcome" else "gaussian",
        split=split,
        sentences={
            ANY_EFFECT: {
                "more": f"$effect raises {parsed.response}{whose}",
                "less": f"$effect lowers {parsed.response}{whose}",
                "none": f"no effect of $effect on {parsed.response} could be shown{whose}",
            }
        },
    )
