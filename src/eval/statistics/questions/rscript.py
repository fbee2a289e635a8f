"""Every analysis again in R: its tidy data, and a script that anyone can run on it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from gardenpath.eval.statistics.mixed.coding import Coding
from gardenpath.eval.statistics.mixed.design_matrix import slope_variables
from gardenpath.eval.statistics.questions.analysis import Analysis, AnalysisResult, FittedPart
from gardenpath.store.files import write_text
from gardenpath.store.tables import write_table

_PLAIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.]*")
# What a formula names, quoted or not; I(x^2) is a power.
_NAME_IN_FORMULA = re.compile(r"`(?:[^`\\]|\\.)*`|I(?=\()|[^\W\d][\w.]*")
# Words that R keeps for itself and columns may be called.
_RESERVED = frozenset(
    [
        *("if", "else", "repeat", "while", "function", "for", "next", "break", "in"),
        *("TRUE", "FALSE", "NULL", "Inf", "NaN", "NA"),
    ]
)
# lme4 stops its inner iterations at 1e-7, too early for accurate second derivatives.
TOLERANCE = "1e-13"

# Data lie beside the script, from wherever it is run.
_BESIDE = [
    'script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))',
    'if (length(script) == 1) setwd(dirname(gsub("~+~", " ", script, fixed = TRUE)))',
    "",
]
_LME4 = [
    'if (!requireNamespace("lme4", quietly = TRUE))',
    '  stop("this script needs the package lme4: install.packages(\\"lme4\\")")',
    "library(lme4)",
]
_LMER_TEST = [
    "# lmerTest adds p values (Satterthwaite) to linear models.",
    'if (requireNamespace("lmerTest", quietly = TRUE)) library(lmerTest) else',
    '  message("without p values: for these, install.packages(\\"lmerTest\\")")',
]
# The test that stands in for a model that failed, by drawing exchanges, not going through them all.
_PERMUTATION = [
    "# For where no estimate of a mixed model can be relied on: y is exchanged within strata,",
    "# and p is twice the smaller tail of the sum of x times y.",
    "permutation_test <- function(x, y, strata) {",
    "  stratum <- as.integer(factor(strata))",
    "  x <- as.numeric(x)[order(stratum)]",
    "  y <- y[order(stratum)]",
    "  stratum <- sort(stratum)",
    "  observed <- sum(x * y)",
    "  set.seed(1)",
    "  drawn <- replicate(9999, sum(x * y[order(stratum, runif(length(y)))]))",
    "  tails <- c(mean(c(observed, drawn) <= observed + 1e-7),",
    "             mean(c(observed, drawn) >= observed - 1e-7))",
    '  cat("permutation test: p =", min(1, 2 * min(tails)), "\\n")',
    "}",
    "",
]


def r_script(result: AnalysisResult) -> str:
    """The calls of lme4 (or of base R) that answer the same question about ``<name>.csv``."""
    analysis = result.analysis
    about = f"{analysis.title}\n{analysis.description.strip()}".strip()
    lines = [
        *(f"# {line}" for line in about.splitlines()),
        f"# Its data: {analysis.name}.csv. Run it by: Rscript {analysis.name}.R",
        "",
    ]
    if any(_is_lme4(part) for part in result.fits):
        lines += [*_LME4, *(_LMER_TEST if analysis.family == "gaussian" else []), ""]
    if any(part.strata is not None for part in result.fits):
        lines += _PERMUTATION
    lines += [*_BESIDE, *_reading_lines(result)]
    if analysis.test == "mixed":
        for part in result.fits:
            lines += ["", *_fit_lines(analysis, part)]
    else:
        for names in result.parts:
            lines += ["", *_other_lines(analysis, names)]
    return "\n".join(lines) + "\n"


def _is_lme4(part: FittedPart) -> bool:
    """Whether there is a call of lme4 for a part."""
    return bool(part.fit.groups) and part.strata is None and part.fit.failure != "separation"


def _reading_lines(result: AnalysisResult) -> list[str]:
    """Columns are read as texts, so that empty ones stay texts; what is measured is a number."""
    analysis = result.analysis
    factors = {name for part in result.fits for name in part.codings}
    slopes = slope_variables(analysis.formula) if analysis.test == "mixed" else ()
    numbers = dict.fromkeys([analysis.measured, *analysis.predictors, *slopes])
    return [
        f'd <- read.csv({_text(f"{analysis.name}.csv")}, check.names = FALSE, encoding = "UTF-8",',
        '              colClasses = "character", na.strings = character(0))',
        *(
            f"d${_name(name)} <- as.numeric(d${_name(name)})"
            for name in numbers
            if name not in factors and name != analysis.condition
        ),
    ]


def _fit_lines(analysis: Analysis, part: FittedPart) -> list[str]:
    lines = _part_lines(part.part)
    for name, coding in part.codings.items():
        lines += _coding_lines(name, coding)
    if part.strata is not None:
        return [*lines, _permutation_line(analysis, part.strata)]
    if part.fit.failure == "separation":
        return [*lines, "# No model: its estimates have no finite value here."]
    formula = _NAME_IN_FORMULA.sub(_quoted, part.formula)
    binomial, mixed = part.fit.family == "binomial", bool(part.fit.groups)
    call = ("g" if binomial else "") + ("lmer" if mixed else "lm")
    settings = ", family = binomial" if binomial else ""
    if binomial and mixed:
        settings += f",\n  control = glmerControl(tolPwrss = {TOLERANCE})"
    # One model that stops with an error should not stop those after it.
    return [*lines, f"try(print(summary({call}({formula}, data = part{settings}))))"]


def _quoted(found: re.Match[str]) -> str:
    name = found.group()
    return name if name == "I" or name.startswith("`") else _name(name)


def _part_lines(part: Mapping[str, str]) -> list[str]:
    tests = [f"d${_name(column)} == {_text(value)}" for column, value in part.items()]
    named = ", ".join(f"{column} = {value}" for column, value in part.items()) or "all rows"
    return [
        f'cat("\\n", {_text(named)}, "\\n", sep = "")',
        f"part <- d[{' & '.join(tests)}, ]" if tests else "part <- d",
    ]


def _coding_lines(name: str, coding: Coding) -> list[str]:
    column = f"part${_name(name)}"
    lines = [f"{column} <- factor({column}, levels = c({_list(coding.levels)}))"]
    if coding.kind == "treatment":
        return [*lines, f"contrasts({column}) <- contr.treatment(levels({column}))"]
    named = ", ".join(f"{name}{number + 1} is {level}" for number, level in enumerate(coding.names))
    return [*lines, f"contrasts({column}) <- contr.sum({len(coding.levels)})  # {named}"]


def _permutation_line(analysis: Analysis, strata: tuple[str, ...]) -> str:
    (predictor,) = analysis.predictors
    columns = [f"part${_name(name)}" for name in strata] or ["rep(1, nrow(part))"]
    return (
        f"permutation_test(part${_name(predictor)}, part${_name(analysis.measured)}, "
        f'paste({", ".join(columns)}, sep = "\\t"))'
    )


def _other_lines(analysis: Analysis, names: Mapping[str, str]) -> list[str]:
    lines = _part_lines(names)
    response = _name(analysis.response)
    if analysis.test == "t_test":
        return [*lines, f"print(t.test(part${response}))"]
    condition = _name(analysis.condition)
    return [
        *lines,
        f"cells <- aggregate({response} ~ item + {condition}, data = part, FUN = mean)",
        f"complete <- table(cells$item) == length(unique(cells${condition}))",
        "cells <- cells[as.vector(complete[cells$item]), ]",
        f"cells$item <- factor(cells$item); cells${condition} <- factor(cells${condition})",
        "n <- nlevels(cells$item)",
        *_reach_lines(analysis, response, condition),
        f"means <- tapply(cells${response}, cells${condition}, mean)",
        "print(cbind(mean = means, low = means - reach, high = means + reach))",
    ]


def _reach_lines(analysis: Analysis, response: str, condition: str) -> list[str]:
    if analysis.method == "masson_loftus":
        return [
            "# Loftus and Masson (1994): the interaction of items and conditions is the error.",
            f"model <- anova(lm({response} ~ item + {condition}, data = cells))",
            'error <- model["Residuals", ]',
            "reach <- qt(0.975, error$Df) * sqrt(error$`Mean Sq` / n)",
        ]
    return [
        "# Cousineau (2005), with the correction of Morey (2008).",
        f"own <- cells${response} - ave(cells${response}, cells$item)",
        f"j <- nlevels(cells${condition})",
        f"variances <- tapply(own, cells${condition}, var) * j / (j - 1)",
        "reach <- qt(0.975, n - 1) * sqrt(variances / n)",
    ]


def _name(column: str) -> str:
    if _PLAIN_NAME.fullmatch(column) and column not in _RESERVED:
        return column
    escaped = column.replace("\\", "\\\\").replace("`", "\\`")
    return f"`{escaped}`"


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
