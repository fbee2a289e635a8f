"""Checks of the settings of an analysis that their types do not express."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, get_args

from gardenpath.eval.statistics.choices import ContrastKind
from gardenpath.eval.statistics.formulas.model_formula_parser import parse_model_formula
from gardenpath.eval.statistics.statistics_error import StatisticsError
from gardenpath.store.tables import ERROR_COLUMNS

if TYPE_CHECKING:
    from gardenpath.eval.statistics.questions.analysis import Analysis

# Sentence templates for effects above zero, below zero, and not significantly different from zero.
SENTENCE_CASES = ("more", "less", "none")

_MAPPINGS = ("where", "derive", "contrasts", "codings", "sentences", "robustness")
_NESTED = ("derive", "contrasts", "codings", "sentences")


def analysis_mistakes(analysis: Analysis) -> list[str]:
    """Return descriptions of missing or inconsistent settings."""
    if found := _shape_mistakes(analysis):
        return found
    return [
        *_test_mistakes(analysis),
        *_formula_mistakes(analysis),
        *_weight_mistakes(analysis),
        *_derive_mistakes(analysis),
        *_contrast_mistakes(analysis),
        *(m for column, rule in analysis.codings.items() for m in _coding_mistakes(column, rule)),
        *_sentence_mistakes(analysis),
    ]


def _shape_mistakes(analysis: Analysis) -> list[str]:
    """Return errors for settings that must be mappings, at the first or second level."""
    found = [
        f"{name} must be a mapping"
        for name in _MAPPINGS
        if not isinstance(getattr(analysis, name), Mapping)
    ]
    return found or [
        f"{name}.{column} must be a mapping"
        for name in _NESTED
        for column, rule in getattr(analysis, name).items()
        if not isinstance(rule, Mapping)
    ]


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
    formulas = {"": analysis.formula, **analysis.robustness}
    for name, text in formulas.items():
        try:
            parsed = parse_model_formula(str(text))
        except StatisticsError as error:
            yield f"robustness.{name}: {error}" if name else str(error)
            continue
        if analysis.responses and parsed.response != "value":
            yield "with responses, the response of a formula must be 'value'"
        if name and parsed.response != parse_model_formula(analysis.formula).response:
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


def _derive_mistakes(analysis: Analysis) -> Iterator[str]:
    for column, rule in analysis.derive.items():
        if not {"from", "values"} <= set(rule) <= {"from", "values", "otherwise"}:
            yield f"derive.{column} needs 'from' and 'values', and may have 'otherwise'"
        elif not isinstance(rule["values"], Mapping):
            yield f"derive.{column}.values must be a mapping"


def _contrast_mistakes(analysis: Analysis) -> Iterator[str]:
    if len(analysis.contrasts) > 1:
        yield "contrasts can have one column only"
    for column, rule in analysis.contrasts.items():
        if set(rule) != {"from", "pairs"}:
            yield f"contrasts.{column} needs exactly 'from' and 'pairs'"
        elif any(isinstance(pair, str) or len(pair) != 2 for pair in rule["pairs"]):
            yield f"contrasts.{column}.pairs must be pairs of values"


def _coding_mistakes(column: str, rule: Mapping[str, Any]) -> Iterator[str]:
    if wrong := sorted(set(rule) - {"kind", "levels"}):
        yield f"codings.{column} has {', '.join(wrong)}, not kind or levels"
    if rule.get("kind", "treatment") not in get_args(ContrastKind):
        yield f"codings.{column}.kind must be {' or '.join(get_args(ContrastKind))}"


def _sentence_mistakes(analysis: Analysis) -> Iterator[str]:
    for effect, cases in analysis.sentences.items():
        if wrong := sorted(set(cases) - set(SENTENCE_CASES)):
            yield f"sentences.{effect} has {', '.join(wrong)}, not more, less or none"
