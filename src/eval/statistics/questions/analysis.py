"""Records of a configured analysis (a question about a table) and of its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import yaml

from gardenpath.errors import InputError
from gardenpath.eval.statistics.choices import ContrastKind, Distribution, WithinMethod
from gardenpath.eval.statistics.formulas.model_formula import ModelFormula
from gardenpath.eval.statistics.formulas.model_formula_parser import parse_model_formula
from gardenpath.eval.statistics.mixed.mixed_fit import MixedFit
from gardenpath.eval.statistics.statistics_error import StatisticsError
from gardenpath.settings.check import read

# Numerical libraries are imported only by modules that compute, so analyses load quickly.
if TYPE_CHECKING:
    import pandas as pd

    from gardenpath.eval.statistics.formulas.coding import Coding

TableName = Literal["items", "effects"]
Test = Literal["mixed", "t_test", "within_item"]

# Sentence templates for effects above zero, below zero, and not significantly different from zero.
SENTENCE_CASES = ("more", "less", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """A question about a table of items or effects.

    ``where`` selects rows (column: values, which may contain ``*``). ``derive`` adds columns by
    looking up values of others (``syntax: {from: model, values: {lstm: 0, rnng: 1}}``) and drops
    rows without an entry. With ``average`` the response is averaged over all rows that agree in
    these columns. Each combination of the columns in ``split`` is analysed separately.

    A *mixed* model needs a formula and a family; ``codings`` specify the contrasts of its factors
    (``modifier: {kind: sum, levels: [none, adjective]}``). A *t test* compares the mean of
    ``response`` with zero. *Within-item* intervals are computed for the mean ``response`` in each
    ``condition``, with the given ``method``.

    ``sentences`` map the name of an effect (the response in a t test) to templates ``more``,
    ``less`` and ``none``. In templates, ``$column`` is the value of a split column, and ``$x_0``
    and ``$x_1`` are the original values behind the lowest and highest value of a derived column x.
    """

    name: str
    title: str
    test: Test = "mixed"
    table: TableName = "items"
    formula: str = ""
    family: Distribution = "gaussian"
    response: str = ""
    condition: str = ""
    method: WithinMethod = "masson_loftus"
    description: str = ""
    study: str = ""
    where: Mapping[str, Sequence[str]] = field(default_factory=dict)
    derive: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    average: Sequence[str] = ()
    split: Sequence[str] = ()
    codings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    sentences: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def model(self) -> ModelFormula | None:
        """The parsed formula of a mixed model; None for other tests."""
        return parse_model_formula(self.formula) if self.test == "mixed" else None

    @property
    def measured(self) -> str:
        """The response column."""
        return self.model.response if self.model else self.response

    @property
    def predictors(self) -> tuple[str, ...]:
        """The columns of the fixed effects, or the condition."""
        if self.model:
            return self.model.fixed_variables
        return (self.condition,) if self.condition else ()

    @property
    def slopes(self) -> tuple[str, ...]:
        """The columns whose effects vary by group."""
        return self.model.slope_variables if self.model else ()

    @property
    def groups(self) -> tuple[str, ...]:
        """The columns by which random effects are grouped."""
        return self.model.grouping_factors if self.model else ()

    def mistakes(self) -> list[str]:
        """Return descriptions of missing or inconsistent settings."""
        if found := self._shape_mistakes():
            return found
        if self.test == "mixed" and not self.formula:
            found.append("a mixed model needs a formula")
        if self.test != "mixed" and not self.response:
            found.append(f"a {self.test} needs a response")
        if self.test == "within_item" and not self.condition:
            found.append("within-item intervals need a condition")
        if self.test == "mixed" and self.formula:
            try:
                parse_model_formula(self.formula)
            except StatisticsError as error:
                found.append(str(error))
        for column, rule in self.derive.items():
            if set(rule) != {"from", "values"}:
                found.append(f"derive.{column} needs exactly 'from' and 'values'")
        for column, rule in self.codings.items():
            found += _coding_mistakes(column, rule)
        for effect, cases in self.sentences.items():
            if wrong := sorted(set(cases) - set(SENTENCE_CASES)):
                found.append(f"sentences.{effect} has {', '.join(wrong)}, not more, less or none")
        return found

    def _shape_mistakes(self) -> list[str]:
        """Return errors for settings that must be mappings, at the first or second level."""
        found = [
            f"{name} must be a mapping"
            for name in ("where", "derive", "codings", "sentences")
            if not isinstance(getattr(self, name), Mapping)
        ]
        return found or [
            f"{name}.{column} must be a mapping"
            for name in ("derive", "codings", "sentences")
            for column, rule in getattr(self, name).items()
            if not isinstance(rule, Mapping)
        ]


def _coding_mistakes(column: str, rule: Mapping[str, Any]) -> list[str]:
    found = []
    if wrong := sorted(set(rule) - {"kind", "levels"}):
        found.append(f"codings.{column} has {', '.join(wrong)}, not kind or levels")
    if rule.get("kind", "treatment") not in get_args(ContrastKind):
        found.append(f"codings.{column}.kind must be {' or '.join(get_args(ContrastKind))}")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedPart:
    """A combination of the split columns, and the model fitted to its rows.

    If the model failed and a permutation test was used instead, ``strata`` are the columns within
    which outcomes were permuted. ``has_ties``: whether any binomial outcome is neither 0 nor 1.
    """

    part: Mapping[str, str]
    formula: str
    codings: Mapping[str, Coding]
    fit: MixedFit
    strata: tuple[str, ...] | None = None
    has_ties: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisResult:
    """The result of an analysis: tables, sentences, and reasons for skipped parts.

    ``data`` is the tidy table that was analysed. Tables of estimates have the columns ``term``,
    ``estimate``, ``low`` and ``high``. Those of mixed models also have ``test``, the test to which
    p belongs, and ``remark``, the reason for a missing estimate.
    """

    analysis: Analysis
    data: pd.DataFrame
    tables: Mapping[str, pd.DataFrame]
    sentences: tuple[str, ...]
    skipped: tuple[str, ...]
    fits: tuple[FittedPart, ...] = ()
    parts: tuple[Mapping[str, str], ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether every part was skipped."""
        return not self.parts


def make_analysis(settings: Mapping[str, Any], *, name: str) -> Analysis:
    """Create an analysis from settings; all errors are reported at once."""
    return read(Analysis, {"name": name, **settings}, place=f"analysis.{name}")


def load_analysis(path: Path) -> Analysis:
    """Load an analysis from a YAML file; its name is that of the file."""
    try:
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise InputError(f"is not an analysis: {error}", path=path) from error
    if not isinstance(settings, dict):
        raise InputError("is not an analysis: it must be a mapping of settings", path=path)
    return make_analysis(settings, name=path.stem)


def load_analyses(folder: Path) -> tuple[Analysis, ...]:
    """Load all analyses of a folder, sorted by name."""
    return tuple(load_analysis(path) for path in sorted(folder.glob("[!_]*.yaml")))
