"""Every analysis again in R: its tidy data, and a script that anyone can run on it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from src.data.files import whole_file, write_text
from src.eval.statistics.analysis import AnalysisResult, FittedPart
from src.eval.statistics.coding import Coding

_PLAIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.]*")
# Words that R keeps for itself and columns may be called.
_RESERVED = frozenset({"if", "else", "for", "while", "repeat", "function", "next", "break", "in"})


def r_script(result: AnalysisResult) -> str:
    """The calls of lme4 (or of base R) that answer the same question about ``<name>.csv``."""
    analysis = result.analysis
    lines = [
        f"# {analysis.title}",
        *(f"# {line}" for line in analysis.description.strip().splitlines()),
        f"# Run it where {analysis.name}.csv is: Rscript {analysis.name}.R",
        "",
    ]
    if analysis.test == "mixed":
        lines += [
            "library(lme4)",
            "# lmerTest adds p values to linear models (Satterthwaite).",
            "if (requireNamespace('lmerTest', quietly = TRUE)) library(lmerTest)",
            "",
        ]
    lines += _reading_lines(result)
    if analysis.test == "mixed":
        for part in result.fits:
            lines += ["", *_fit_lines(part)]
    else:
        for names in result.parts:
            lines += ["", *_other_lines(result, names)]
    return "\n".join(lines) + "\n"


def _reading_lines(result: AnalysisResult) -> list[str]:
    """Columns are read as texts, so that empty ones stay texts; what is measured is a number."""
    analysis = result.analysis
    factors = {name for part in result.fits for name in part.codings}
    numbers = dict.fromkeys([analysis.measured, *analysis.predictors])
    return [
        f"d <- read.csv({_text(f'{analysis.name}.csv')}, check.names = FALSE,",
        "              colClasses = 'character', na.strings = character(0))",
        *(
            f"d${_name(name)} <- as.numeric(d${_name(name)})"
            for name in numbers
            if name not in factors and name != analysis.condition
        ),
    ]


def _fit_lines(part: FittedPart) -> list[str]:
    lines = _part_lines(part.part)
    for name, coding in part.codings.items():
        lines += _coding_lines(name, coding)
    binomial = ", family = binomial" if part.fit.family == "binomial" else ""
    call = ("g" if binomial else "") + ("lmer" if part.fit.groups else "lm")
    return [*lines, f"print(summary({call}({part.formula}, data = part{binomial})))"]


def _part_lines(part: Mapping[str, str]) -> list[str]:
    tests = [f"d${_name(column)} == {_text(value)}" for column, value in part.items()]
    return [
        f"cat('\\n', {_text(', '.join(f'{c} = {v}' for c, v in part.items()) or 'all rows')}, "
        "'\\n')",
        f"part <- d[{' & '.join(tests)}, ]" if tests else "part <- d",
    ]


def _coding_lines(name: str, coding: Coding) -> list[str]:
    column = f"part${_name(name)}"
    contrast = "contr.treatment" if coding.kind == "treatment" else "contr.sum"
    return [
        f"{column} <- factor({column}, levels = c({_list(coding.levels)}))",
        f"contrasts({column}) <- {contrast}({len(coding.levels)})",
    ]


def _other_lines(result: AnalysisResult, names: Mapping[str, str]) -> list[str]:
    analysis = result.analysis
    lines = _part_lines(names)
    response = _name(analysis.response)
    if analysis.test == "t_test":
        return [*lines, f"print(t.test(part${response}))"]
    condition = _name(analysis.condition)
    return [
        *lines,
        f"cells <- aggregate({response} ~ item + {condition}, data = part, FUN = mean)",
        f"cells$item <- factor(cells$item); cells${condition} <- factor(cells${condition})",
        "# Loftus and Masson (1994): the interaction of items and conditions is the error.",
        f"model <- anova(lm({response} ~ item + {condition}, data = cells))",
        "error <- model['Residuals', ]",
        "n <- nlevels(cells$item)",
        "reach <- qt(0.975, error$Df) * sqrt(error$`Mean Sq` / n)",
        f"means <- tapply(cells${response}, cells${condition}, mean)",
        "print(cbind(mean = means, low = means - reach, high = means + reach))",
    ]


def _name(column: str) -> str:
    return column if _PLAIN_NAME.fullmatch(column) and column not in _RESERVED else f"`{column}`"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _list(values: Iterable[str]) -> str:
    return ", ".join(_text(value) for value in values)


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


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Write a table as CSV, whole."""
    with whole_file(path) as temporary:
        table.to_csv(temporary, index=False, encoding="utf-8", lineterminator="\n")
