"""Records of a configured analysis (a question about a table) and of its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gardenpath.errors import InputError
from gardenpath.eval.statistics.choices import (
    Correction,
    Distribution,
    Reference,
    Weighting,
    WithinMethod,
)
from gardenpath.eval.statistics.formulas.model_formula import ModelFormula
from gardenpath.eval.statistics.formulas.model_formula_parser import parse_model_formula
from gardenpath.eval.statistics.mixed.mixed_fit import MixedFit
from gardenpath.eval.statistics.questions.analysis_mistakes import analysis_mistakes
from gardenpath.safe_text import parse_yaml
from gardenpath.settings.check import read

# Numerical libraries are imported only by modules that compute, so analyses load quickly.
if TYPE_CHECKING:
    import pandas as pd

    from gardenpath.eval.statistics.formulas.coding import Coding

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
    by name, reported beside the first. With ``lme4_default``, the standard errors that lme4 has
    with its default settings are computed too. With ``weights: error``, rows of a linear model are
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
        texts = (self.formula, *self.robustness.values()) if self.test == "mixed" else ()
        return tuple(map(parse_model_formula, texts))

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
        return analysis_mistakes(self)


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
    found = tuple(map(load_analysis, paths))
    return tuple(one for one in found if study is None or one.study == study)
