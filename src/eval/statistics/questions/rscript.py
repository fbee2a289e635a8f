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
from gardenpath.eval.statistics.questions import r_functions as r
from gardenpath.eval.statistics.questions.analysis import Analysis, AnalysisResult, FittedPart
from gardenpath.store.files import write_text
from gardenpath.store.tables import write_table

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
    about = f"{analysis.title}\n{analysis.description.strip()}".strip()
    heading = [
        *(f"# {line}" for line in about.splitlines()),
        f"# Data: {analysis.name}.csv. Usage: Rscript {analysis.name}.R",
        "# The script prints its estimates as a table (CSV).\n",
    ]
    blocks = [*_functions(result), r.BESIDE, _reading(result)]
    if analysis.test == "mixed":
        blocks += [_fit(analysis, part) for part in result.fits]
    else:
        blocks += [_part(names) + _means(analysis) for names in result.parts]
    if not all(block.isascii() for block in blocks):
        blocks.insert(0, r.UNICODE)
    return "\n".join(["\n".join(heading), *blocks, r.PRINT])


def _functions(result: AnalysisResult) -> list[str]:
    """Return the R functions that a script needs."""
    analysis, fits = result.analysis, result.fits
    if analysis.test == "t_test":
        return [r.ADD, r.T_TEST]
    if analysis.test == "within_item":
        return [r.ADD, r.WITHIN_ITEM[analysis.method]]
    called = {_call(part) for part in fits if _is_fitted(part)}
    needed = {
        r.LME4: called & {"lmer", "glmer"},
        r.LMER_TEST: "lmer" in called,
        r.ADD: True,
        r.CODED: any(part.codings for part in fits),
        r.TIES: any(part.has_ties for part in fits if _is_fitted(part)),
        r.EXACT_LMER: "lmer" in called,
        r.EXACT_GLMER: "glmer" in called,
        r.REPORT: called,
        r.PERMUTATION: any(part.strata is not None for part in fits),
    }
    return [function for function, is_needed in needed.items() if is_needed]


def _call(part: FittedPart) -> str:
    """Return the R function that fits the model of a part."""
    return ("g" if part.fit.family == "binomial" else "") + ("lmer" if part.fit.groups else "lm")


def _is_fitted(part: FittedPart) -> bool:
    """Whether the script fits a model to a part, instead of a permutation test or nothing."""
    return part.strata is None and part.fit.failure != "separation"


def _reading(result: AnalysisResult) -> str:
    """Return the code that reads the data: all columns as text, then numeric ones converted."""
    analysis = result.analysis
    factors = {name for part in result.fits for name in part.codings}
    numbers = dict.fromkeys([analysis.measured, *analysis.predictors, *analysis.slopes])
    lines = [
        f'd <- read.csv({_text(f"{analysis.name}.csv")}, check.names = FALSE, encoding = "UTF-8",',
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
        lines.append(_model(part))
    else:
        lines.append("# No model, because it has no finite estimates for these rows.\n")
        lines.append('add(labels, "fit", "converged", 0)\n')
    return _part(part.part) + "".join(lines)


def _coding(name: str, coding: Coding) -> str:
    column, levels = f"part${_name(name)}", ", ".join(map(_text, coding.levels))
    return f"{column} <- coded({column}, c({levels}), contr.{coding.kind})\n"


def _model(part: FittedPart) -> str:
    call = _call(part)
    formula = parse_model_formula(part.formula).written(_name)
    settings = "data = part"
    if part.fit.family == "binomial":
        settings += f", family = {'shares' if part.has_ties else 'binomial'}"
    if call == "lmer":
        settings += ", control = exact"
    fitted = f"{call}({formula}, {settings})"
    if call == "glmer":
        fitted = f"strictly(function(exact)\n  {fitted.removesuffix(')')}, control = exact))"
    return f"report(labels, {fitted})\n"


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
    response = f"part${_name(analysis.response)}"
    if analysis.test == "t_test":
        return f"report_mean(labels, {_text(analysis.response)}, {response})\n"
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
    name = result.analysis.name
    said = [*result.sentences, *(f"Skipped: {reason}" for reason in result.skipped)]
    write_text(folder / f"{name}.txt", "\n".join([result.analysis.title, "", *said]) + "\n")
    if result.is_empty:
        return
    write_table(folder / f"{name}.csv", result.data)
    write_text(folder / f"{name}.R", r_script(result))
    for title, table in result.tables.items():
        write_table(folder / f"{name}_{title.replace(' ', '_')}.csv", table)
