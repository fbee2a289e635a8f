"""Export of analyses: tidy data, tables, sentences, and an R script that repeats the analysis.

Evaluations and studies write their analyses with ``write_result``. The R code is in the template
``analysis.R``; a script needs lme4 (lmerTest for p values of linear models) or base R only, and
prints one table (CSV) for comparison with the estimates of this package. Nothing runs R here; the
tests do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from gardenpath.eval.statistics.analysis import (
    WEIGHT,
    Analysis,
    AnalysisResult,
    FittedPart,
    MixedFit,
)
from gardenpath.eval.statistics.answering import is_asked
from gardenpath.eval.statistics.formulas import Correction, in_backticks, parse_model_formula
from gardenpath.store.files import write_text
from gardenpath.store.tables import write_table
from gardenpath.util import file_stem

# Variants of a model that a script reports; others are the names of robustness checks.
MAIN_VARIANT, LME4_VARIANT = "main", "lme4 default"

# R's names of corrections.
_METHODS: dict[Correction, str] = {
    "none": "none",
    "bonferroni": "bonferroni",
    "holm": "holm",
    "benjamini_hochberg": "BH",
}
_PLAIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.]*")
# Reserved words of R that need backticks as column names.
_RESERVED = frozenset(
    [
        *("if", "else", "repeat", "while", "function", "for", "next", "break", "in"),
        *("TRUE", "FALSE", "NULL", "Inf", "NaN", "NA"),
    ]
)


@cache
def r_environment() -> Environment:
    """Return the environment of the template ``analysis.R``, whose blocks are R functions."""
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(
        name=_name,
        text=lambda value: json.dumps(value, ensure_ascii=False),
        formula=lambda formula: parse_model_formula(formula).written(_name),
        call=_call,
    )
    made.tests["searched_again"] = _is_searched_again
    return made


def r_script(result: AnalysisResult) -> str:
    """Return a script that repeats the analysis of ``<name>.csv`` with lme4 or base R."""
    analysis, fits = result.analysis, result.fits
    models = [(part, list(_models(analysis, part))) for part in fits]
    called = [(part, fit) for part, variants in models for _, fit in variants]
    return (
        r_environment()
        .get_template("analysis.R")
        .render(
            analysis=analysis,
            file=file_stem(analysis.name),
            about=f"{analysis.title}\n{analysis.description.strip()}".strip().splitlines(),
            parts=[(part.part, part, variants) for part, variants in models]
            if analysis.test == "mixed"
            else [(labels, None, []) for labels in result.parts],
            calls={_call(fit) for _, fit in called},
            has_codings=any(part.codings for part in fits),
            has_ties=any(part.has_ties for part, _ in called),
            has_permutation=any(part.strata is not None for part in fits),
            is_searched_again=any(_is_searched_again(fit) for _, fit in called),
            numbers=_numbers(result),
            weight=WEIGHT,
            terms=_terms(result),
            correction=_METHODS[analysis.correction],
        )
    )


def _models(analysis: Analysis, part: FittedPart) -> Iterator[tuple[str, MixedFit]]:
    """Yield the models that the script fits to a part, with the names of the variants.

    There is none for parts with a permutation test instead, or without finite estimates.
    """
    if part.strata is not None or part.fit.failure == "separation":
        return
    yield MAIN_VARIANT, part.fit
    if analysis.lme4_default and part.fit.groups:
        yield LME4_VARIANT, part.fit
    for name, fit in part.robustness.items():
        if fit.failure != "separation":
            yield name, fit


def _call(fit: MixedFit) -> str:
    return ("g" if fit.family == "binomial" else "") + ("lmer" if fit.groups else "lm")


def _is_searched_again(fit: MixedFit) -> bool:
    """Whether lme4 may need our parameters to find the maximum of the likelihood."""
    return _call(fit) == "lmer" and fit.singular and bool(fit.theta)


def _terms(result: AnalysisResult) -> list[str]:
    analysis = result.analysis
    if analysis.test != "mixed":
        return [analysis.measured]
    effects = dict.fromkeys(effect.name for part in result.fits for effect in part.fit.fixed)
    tests = analysis.predictors if any(part.strata is not None for part in result.fits) else ()
    return list(dict.fromkeys([*(e for e in effects if is_asked(analysis, e)), *tests]))


def _numbers(result: AnalysisResult) -> list[str]:
    """Return the columns that the script converts to numbers; it reads all columns as text."""
    analysis = result.analysis
    texts = {name for part in result.fits for name in part.codings} | {analysis.condition}
    used = [analysis.measured, *analysis.predictors, *analysis.slopes, *analysis.contrasts]
    used += [WEIGHT] if analysis.is_weighted else []
    return [name for name in dict.fromkeys(used) if name not in texts]


def _name(column: str) -> str:
    is_plain = _PLAIN_NAME.fullmatch(column) and column not in _RESERVED
    return column if is_plain else in_backticks(column)


def write_result(folder: Path, result: AnalysisResult) -> None:
    """Write the data, the R script, the tables and the sentences of an analysis."""
    name = file_stem(result.analysis.name)
    lines = [
        *result.sentences,
        *(f"Note: {note}" for note in result.notes),
        *(f"Skipped: {reason}" for reason in result.skipped),
    ]
    write_text(folder / f"{name}.txt", "\n".join([result.analysis.title, "", *lines]) + "\n")
    if result.is_empty:
        return
    write_table(folder / f"{name}.csv", result.data, _header(result, "data"))
    write_text(folder / f"{name}.R", r_script(result))
    for title, table in result.tables.items():
        write_table(folder / f"{name}_{file_stem(title)}.csv", table, _header(result, title))


def _header(result: AnalysisResult, title: str) -> dict[str, object]:
    analysis = result.analysis
    response = analysis.measured
    unit = "bits" if "_bits" in response or response == "value" else "nats per word"
    unit = "share of predictions that hold" if response == "outcome" else unit
    is_odds = analysis.test == "mixed" and analysis.family == "binomial" and title != "means"
    return {
        "table": title,
        "question": analysis.title,
        "test": analysis.test,
        "formula": analysis.formula or None,
        "response": response,
        "unit": "log odds" if is_odds and title != "data" else unit,
    }
