"""What an analysis is: a question about a table, as a configuration names it, and its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import yaml

from gardenpath.errors import InputError
from gardenpath.eval.statistics.choices import ContrastKind, Distribution, WithinMethod
from gardenpath.eval.statistics.mixed.mixed_fit import MixedFit
from gardenpath.eval.statistics.mixed.model_formula import ModelFormula
from gardenpath.eval.statistics.mixed.model_formula_parser import parse_model_formula
from gardenpath.eval.statistics.statistics_error import StatisticsError
from gardenpath.settings.check import read

# Libraries for numbers are imported where numbers are computed, not where questions are read.
if TYPE_CHECKING:
    import pandas as pd

    from gardenpath.eval.statistics.mixed.coding import Coding

TableName = Literal["items", "effects"]
Test = Literal["mixed", "t_test", "within_item"]

# Template words: what is said of an effect above zero, below zero, and not shown to be either.
SENTENCE_CASES = ("more", "less", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """A question about a table of items or effects.

    Rows are kept as ``where`` says (column: values, which may have ``*``); ``derive`` makes columns
    from others by looking values up (``syntax: {from: model, values: {lstm: 0, rnng: 1}}``), and
    rows without an entry go. With ``average`` the response is averaged over all rows that agree in
    these columns. Each combination of the columns in ``split`` is answered by itself.

    A *mixed* model has a formula and a family; ``codings`` say how its factors are coded
    (``modifier: {kind: sum, levels: [none, adjective]}``). A *t test* compares the mean of
    ``response`` with zero. *Within-item* intervals are of the means of ``response`` by
    ``condition``, by the ``method`` named.

    ``sentences`` say in words what an effect means, by its name (that of the response in a t test):
    ``more``, ``less`` and ``none`` with ``$column`` for a value of the split, ``$x_0`` and ``$x_1``
    for what the derived column x stands for.
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
        """The formula of a mixed model, parsed; None for other tests."""
        return parse_model_formula(self.formula) if self.test == "mixed" else None

    @property
    def measured(self) -> str:
        """The column that is explained, or whose mean is taken."""
        return self.model.response if self.model else self.response

    @property
    def predictors(self) -> tuple[str, ...]:
        """The columns whose effect is asked for."""
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
        """What does not go together."""
        if found := self._shape_mistakes():
            return found
        if self.test == "mixed" and not self.formula:
            found.append("a mixed model needs a formula")
        if self.test != "mixed" and not self.response:
            found.append(f"a {self.test} needs a response")
        if self.test == "within_item" and not self.condition:
            found.append("intervals within items need a condition")
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
        """Settings that should be mappings, at the first or second level, and are not."""
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
    """One combination of the split, and the model that was fitted to its rows.

    Where the model failed and outcomes were exchanged instead, ``strata`` are the columns within
    which they were. ``has_ties`` says whether some binomial outcome is neither 0 nor 1.
    """

    part: Mapping[str, str]
    formula: str
    codings: Mapping[str, Coding]
    fit: MixedFit
    strata: tuple[str, ...] | None = None
    has_ties: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisResult:
    """The answer: tables, sentences, and what could not be answered and why.

    ``data`` is the tidy table behind it. Tables of estimates have the columns ``term``,
    ``estimate``, ``low`` and ``high``; those of mixed models also ``test`` and ``remark``: what p
    is of, and why there is no estimate where there is none.
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
        """Whether nothing at all could be answered."""
        return not self.parts


def make_analysis(settings: Mapping[str, Any], *, name: str) -> Analysis:
    """An analysis from plain settings; all mistakes are reported at once."""
    return read(Analysis, {"name": name, **settings}, place=f"analysis.{name}")


def load_analysis(path: Path) -> Analysis:
    """An analysis from its file, which gives it its name."""
    try:
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise InputError(f"is not an analysis: {error}", path=path) from error
    if not isinstance(settings, dict):
        raise InputError("is not an analysis: it has no settings", path=path)
    return make_analysis(settings, name=path.stem)


def load_analyses(folder: Path) -> tuple[Analysis, ...]:
    """All analyses of a folder, by name."""
    return tuple(load_analysis(path) for path in sorted(folder.glob("[!_]*.yaml")))
