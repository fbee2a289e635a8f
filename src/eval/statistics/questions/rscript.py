"""Export of analyses to R: the tidy data, and a script that repeats the analysis.

A script prints its estimates as one table (CSV), for comparison with the estimates of this package.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from gardenpath.eval.statistics.formulas.coding import Coding
from gardenpath.eval.statistics.formulas.model_formula_parser import parse_model_formula
from gardenpath.eval.statistics.mixed.mixed_fit import MixedFit
from gardenpath.eval.statistics.questions import r_functions as r
from gardenpath.eval.statistics.questions import r_means
from gardenpath.eval.statistics.questions.analysis import (
    WEIGHT,
    Analysis,
    AnalysisResult,
    FittedPart,
)
from gardenpath.eval.statistics.questions.mixed_answer import is_asked
from gardenpath.store.files import write_text
from gardenpath.store.tables import write_table
from gardenpath.text import file_stem

_PLAIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.]*")
# Reserved words of R that need backticks as column names.
_RESERVED = frozenset(
    [
        *("if", "else", "repeat", "while", "function", "for", "next", "break", "in"),
        *("TRUE", "FALSE", "NULL", "Inf", "NaN", "NA"),
    ]
)


def r_script(result: AnalysisResult) -> str:
    """Return a script that repeats the analysis of ``<name>.csv`` with lme4 or base R."""
    analysis = result.analysis
    name = file_stem(analysis.name)
    about = f"{analysis.title}\n{analysis.description.strip()}".strip()
    heading = [
        *(f"# {line}" for line in about.splitlines()),
        f"# Data: {name}.csv. Usage: Rscript {name}.R",
        "# The script prints its estimates as a table (CSV).\n",
    ]
    blocks = [*_functions(result), r.BESIDE, _reading(result)]
    if analysis.test == "mixed":
        blocks += [_fit(analysis, part) for part in result.fits]
    else:
        blocks += [_part(names) + _means(analysis) for names in result.parts]
    if not all(block.isascii() for block in blocks):
        blocks.insert(0, r.UNICODE)
    return "\n".join(
        ["\n".join(heading), *blocks, r.print_table(_asked(result), analysis.correction)]
    )


def _asked(result: AnalysisResult) -> str:
    """Return R code for the terms whose p values the analysis adjusts."""
    analysis = result.analysis
    if analysis.test != "mixed":
        return f"c({_text(analysis.measured)})"
    effects = dict.fromkeys(effect.name for part in result.fits for effect in part.fit.fixed)
    asked = [name for name in effects if is_asked(analysis, name)]
    tests = analysis.predictors if any(part.strata is not None for part in result.fits) else ()
    return f"c({', '.join(map(_text, dict.fromkeys([*asked, *tests])))})"


def _functions(result: AnalysisResult) -> list[str]:
    """Return the R functions that a script needs."""
    analysis, fits = result.analysis, result.fits
    if analysis.test == "t_test":
        return [r.ADD, *([r_means.DIFFERENCES] if analysis.contrasts else []), r_means.T_TEST]
    if analysis.test == "means":
        return [r.ADD, r_means.NORMAL_MEAN]
    if analysis.test == "within_item":
        return [r.ADD, r_means.WITHIN_ITEM[analysis.method]]
    called = {_call(one) for part in fits if _is_fitted(part) for one in _fits(part)}
    needed = {
        r.LME4: called & {"lmer", "glmer"},
        r.LMER_TEST: "lmer" in called,
        r.ADD: True,
        r.CODED: any(part.codings for part in fits),
        r.TIES: any(part.has_ties for part in fits if _is_fitted(part)),
        r.EXACT_LMER: "lmer" in called,
        r.BEST: any(_is_searched_again(one) for part in fits for one in _fits(part)),
        r.EXACT_GLMER: "glmer" in called,
        r.REPORT: called,
        r.PERMUTATION: any(part.strata is not None for part in fits),
    }
    return [function for function, is_needed in needed.items() if is_needed]


def _fits(part: FittedPart) -> list[MixedFit]:
    """Return the model of a part and those that check its robustness."""
    return [part.fit, *part.robustness.values()]


def _call(fit: MixedFit) -> str:
    """Return the R function that fits a model."""
    return ("g" if fit.family == "binomial" else "") + ("lmer" if fit.groups else "lm")


def _is_searched_again(fit: MixedFit) -> bool:
    """Whether lme4 may need our parameters to find the maximum of the likelihood."""
    return _call(fit) == "lmer" and fit.singular and bool(fit.theta)


def _is_fitted(part: FittedPart) -> bool:
    """Whether the script fits a model to a part, instead of a permutation test or nothing."""
    return part.strata is None and part.fit.failure != "separation"


def _reading(result: AnalysisResult) -> str:
    """Return the code that reads the data: all columns as text, then numeric ones converted."""
    analysis = result.analysis
    factors = {name for part in result.fits for name in part.codings}
    used = [analysis.measured, *analysis.predictors, *analysis.slopes, *analysis.contrasts]
    numbers = dict.fromkeys([*used, *([WEIGHT] if analysis.is_weighted else [])])
    name = file_stem(analysis.name)
    lines = [
        f'd <- read.csv({_text(f"{name}.csv")}, check.names = FALSE, encoding = "UTF-8",',
        '              colClasses = "character", na.strings = character(0))',
        *(
            f"d${_name(name)} <- as.numeric(d${_name(name)})"
            for name in numbers
            if name not in factors and name != analysis.condition
        ),
    ]
    return "\n".join(lines) + "\n"


def _part(part: Mapping[str, str]) -> str:
    """Return the code that selects the rows of a part."""
    names = ", ".join(f"{_name(column)} = {_text(value)}" for column, value in part.items())
    tests = " & ".join(f"d${_name(column)} == {_text(value)}" for column, value in part.items())
    rows = f"d[{tests}, ]" if tests else "d"
    return f"labels <- list({names})\npart <- {rows}\n"


def _fit(analysis: Analysis, part: FittedPart) -> str:
    """Return the code for a part: its rows, factors, and model or permutation test."""
    lines = [_coding(name, coding) for name, coding in part.codings.items()]
    if part.strata is not None:
        lines.append(_permutation(analysis, part, part.strata))
    elif _is_fitted(part):
        lines += _models(analysis, part)
    else:
        lines.append("# No model, because it has no finite estimates for these rows.\n")
        lines.append('add(labels, "fit", "converged", 0)\n')
    return _part(part.part) + "".join(lines)


def _coding(name: str, coding: Coding) -> str:
    column, levels = f"part${_name(name)}", ", ".join(map(_text, coding.levels))
    return f"{column} <- coded({column}, c({levels}), contr.{coding.kind})\n"


def _models(analysis: Analysis, part: FittedPart) -> list[str]:
    """Return the calls that fit and report all models of a part."""
    codes = [_model(analysis, part, part.fit, r.MAIN_VARIANT)]
    if analysis.lme4_default and part.fit.groups:
        codes.append(_reported(analysis, part.fit, _fitting(part, part.fit, ""), r.LME4_VARIANT))
    codes += [
        _model(analysis, part, fit, name)
        for name, fit in part.robustness.items()
        if fit.failure != "separation"
    ]
    return codes


def _model(analysis: Analysis, part: FittedPart, fit: MixedFit, variant: str) -> str:
    """Return the call that fits a model with strict tolerances, and reports it."""
    call = _call(fit)
    if call == "glmer":
        inner = _fitting(part, fit, ", control = exact")
        fitted = f"strictly(function(exact)\n  {inner})"
    elif _is_searched_again(fit):
        inner = _fitting(part, fit, ", control = exact, start = start")
        theta = ",\n    ".join(f"{_text(name)} = {value!r}" for name, value in fit.theta.items())
        fitted = f"best(function(start)\n  {inner},\n  c({theta}))"
    else:
        fitted = _fitting(part, fit, ", control = exact" if call == "lmer" else "")
    return _reported(analysis, fit, fitted, variant)


def _fitting(part: FittedPart, fit: MixedFit, settings: str) -> str:
    formula = parse_model_formula(fit.formula).written(_name)
    family = ""
    if fit.family == "binomial":
        family = f", family = {'shares' if part.has_ties else 'binomial'}"
    weights = f", weights = {WEIGHT}" if part.is_weighted else ""
    return f"{_call(fit)}({formula}, data = part{family}{weights}{settings})"


def _reported(analysis: Analysis, fit: MixedFit, fitted: str, variant: str) -> str:
    settings = "" if variant == r.MAIN_VARIANT else f", variant = {_text(variant)}"
    if analysis.reference == "normal" and fit.family == "gaussian":
        settings += ", is_normal = TRUE"
    return f"report(labels, {fitted}{settings})\n"


def _permutation(analysis: Analysis, part: FittedPart, strata: tuple[str, ...]) -> str:
    (predictor,) = analysis.predictors
    columns = [f"part${_name(name)}" for name in strata] or ["rep(1, nrow(part))"]
    values = f"part${_name(predictor)}"
    if predictor in part.codings:
        values = f"contrasts({values})[{values}, 1]"
    return (
        f"permutation_test(labels, {_text(predictor)}, {values}, part${_name(analysis.measured)},\n"
        f'  paste({", ".join(columns)}, sep = "\\t"))\n'
    )


def _means(analysis: Analysis) -> str:
    response, term = f"part${_name(analysis.measured)}", _text(analysis.measured)
    if analysis.test == "t_test" and analysis.contrasts:
        sides = f"part${_name(analysis.contrast_column)}"
        return f"report_mean(labels, {term}, differences({response}, part$item, {sides}))\n"
    if analysis.test == "t_test":
        return f"report_mean(labels, {term}, {response})\n"
    if analysis.test == "means":
        return f"report_normal(labels, {term}, {response})\n"
    return f"report_conditions(labels, {response}, part$item, part${_name(analysis.condition)})\n"


def _name(column: str) -> str:
    """Return a column name in R syntax, in backticks if necessary."""
    if _PLAIN_NAME.fullmatch(column) and column not in _RESERVED:
        return column
    escaped = column.replace("\\", "\\\\").replace("`", "\\`")
    return f"`{escaped}`"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def write_result(folder: Path, result: AnalysisResult) -> None:
    """Write the data, the R script, the tables and the sentences of an analysis."""
    name = file_stem(result.analysis.name)
    said = [
        *result.sentences,
        *(f"Note: {note}" for note in result.notes),
        *(f"Skipped: {reason}" for reason in result.skipped),
    ]
    write_text(folder / f"{name}.txt", "\n".join([result.analysis.title, "", *said]) + "\n")
    if result.is_empty:
        return
    write_table(folder / f"{name}.csv", result.data, _header(result, "data"))
    write_text(folder / f"{name}.R", r_script(result))
    for title, table in result.tables.items():
        write_table(folder / f"{name}_{file_stem(title)}.csv", table, _header(result, title))


def _header(result: AnalysisResult, title: str) -> dict[str, object]:
    """Return what the numbers of a table are, for the file beside it."""
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
