"""R functions from which the scripts of analyses are assembled.

A script collects its estimates with ``add`` and prints them as one table with the columns of the
split, followed by ``R_COLUMNS``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from gardenpath.eval.statistics.analysis import (
    WEIGHT,
    Analysis,
    AnalysisResult,
    FittedPart,
    MixedFit,
)
from gardenpath.eval.statistics.answering import is_asked
from gardenpath.eval.statistics.formulas import Coding, Correction, parse_model_formula
from gardenpath.store.files import write_text
from gardenpath.store.tables import write_table
from gardenpath.util import file_stem

# Kind of a row ("fixed", "variance", "correlation", "fit", "mean", "permutation"), its term, the
# variant of the model ("main", the name of a robustness check, or "lme4 default"), and its numbers.
# Empty cells are missing values.
R_COLUMNS = (
    *("kind", "term", "variant", "estimate", "standard_error", "statistic", "df"),
    *("p", "p_satterthwaite", "low", "high", "effect_size", "effect_size_low", "effect_size_high"),
    *("n", "p_adjusted"),
)
MAIN_VARIANT, LME4_VARIANT = "main", "lme4 default"

# The data are in the folder of the script, whatever the working directory is.
BESIDE = """\
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
if (length(script) == 1) setwd(dirname(gsub("~+~", " ", script, fixed = TRUE)))
"""

UNICODE = """\
# This script is encoded in UTF-8, which may not be the default of the locale.
for (locale in c("C.UTF-8", "en_US.UTF-8"))
  if (!l10n_info()[["UTF-8"]]) suppressWarnings(Sys.setlocale("LC_CTYPE", locale))
"""

LME4 = """\
if (!requireNamespace("lme4", quietly = TRUE))
  stop("this script needs the package lme4: install.packages(\\"lme4\\")")
suppressPackageStartupMessages(library(lme4))
"""

LMER_TEST = """\
# lmerTest adds Satterthwaite's degrees of freedom, and therefore p values, to linear models.
if (requireNamespace("lmerTest", quietly = TRUE)) {
  suppressPackageStartupMessages(library(lmerTest))
} else {
  message("no p values without the package lmerTest: install.packages(\\"lmerTest\\")")
}
"""

ADD = """\
# Adds a row to the table of estimates.
rows <- list()
add <- function(labels, kind, term, estimate = NA, standard_error = NA, statistic = NA,
                df = NA, p = NA, p_satterthwaite = NA, low = NA, high = NA, size = NULL, n = NA,
                variant = "main") {
  row <- list(kind = kind, term = term, variant = variant, estimate = estimate,
              standard_error = standard_error, statistic = statistic, df = df, p = p,
              p_satterthwaite = p_satterthwaite, low = low, high = high,
              effect_size = if (is.null(size)) NA else size[[1]],
              effect_size_low = if (is.null(size)) NA else size[[2]],
              effect_size_high = if (is.null(size)) NA else size[[3]], n = n)
  rows[[length(rows) + 1]] <<- data.frame(c(labels, row), check.names = FALSE, row.names = NULL)
}
"""

# R's names of corrections.
_METHODS: dict[Correction, str] = {
    "none": "none",
    "bonferroni": "bonferroni",
    "holm": "holm",
    "benjamini_hochberg": "BH",
}


def print_table(asked: str, correction: Correction) -> str:
    """Return the code that adjusts the p values of some terms (R code) and prints the table."""
    return f"""\
found <- do.call(rbind, rows)
# The p values of the estimates that the analysis asks for are adjusted together.
asked <- found$variant == "main" & found$kind %in% c("fixed", "mean", "permutation") &
  found$term %in% {asked}
found$p_adjusted <- NA
found$p_adjusted[asked] <- p.adjust(found$p[asked], "{_METHODS[correction]}")
write.csv(found, stdout(), row.names = FALSE, na = "")
"""


CODED = """\
# Returns a factor whose coefficients are named by levels: modifier[subject].
coded <- function(values, levels, contrast) {
  values <- factor(values, levels = levels)
  codes <- contrast(length(levels))
  named <- if (all(codes[1, ] == 0)) levels[-1] else levels[-length(levels)]
  dimnames(codes) <- list(levels, paste0("[", named, "]"))
  contrasts(values) <- codes
  values
}
"""

REPORT = """\
# Fitted models, for inspection after source("<this script>").
models <- list()

# Adds the estimates of a model. If a model fails with an error, the script continues. With
# is_normal, tests of linear models are z tests.
report <- function(labels, model, variant = "main", is_normal = FALSE) {
  model <- try(model)
  if (inherits(model, "try-error"))
    return(add(labels, "fit", "converged", 0, variant = variant))
  models[[length(models) + 1]] <<- model
  is_mixed <- inherits(model, "merMod")
  is_binomial <- inherits(model, c("glm", "glmerMod"))
  coefficients <- coef(if (inherits(model, "glm")) summary(model, dispersion = 1)
                       else summary(model))
  # A z test is a t test with infinitely many degrees of freedom.
  df <- if (is_binomial) Inf
        else if (!is_mixed) df.residual(model)
        else if ("df" %in% colnames(coefficients)) coefficients[, "df"] else NA
  tested <- if (is_normal) Inf else df
  estimate <- coefficients[, "Estimate"]
  error <- coefficients[, "Std. Error"]
  statistic <- estimate / error
  low <- estimate - qt(0.975, tested) * error
  high <- estimate + qt(0.975, tested) * error
  add(labels, "fixed", rownames(coefficients), estimate, error, statistic,
      if (is_binomial) NA else df, 2 * pt(-abs(statistic), tested),
      if (is_binomial) NA else 2 * pt(-abs(statistic), df), low, high,
      effect_sizes(model, list(estimate, low, high), is_mixed, is_binomial), nobs(model), variant)
  if (is_mixed) report_random(labels, model, is_binomial, variant)
  likelihood <- if (is_mixed || is_binomial) logLik(model) else logLik(model, REML = TRUE)
  add(labels, "fit", "log_likelihood", as.numeric(likelihood), variant = variant)
  if (is_mixed) {
    said <- unlist(model@optinfo$conv$lme4$messages)
    add(labels, "fit", "singular", as.numeric(isSingular(model)), variant = variant)
    add(labels, "fit", "converged", as.numeric(!any(grepl("converge|unidentifiable", said))),
        variant = variant)
  }
}

# Odds ratios of binomial models. Coefficients of linear models are divided by the standard
# deviation of single responses given the fixed effects.
effect_sizes <- function(model, numbers, is_mixed, is_binomial) {
  if (is_binomial) return(lapply(numbers, exp))
  deviation <- sigma(model)
  if (is_mixed) {
    loadings <- as.matrix(getME(model, "Lambdat") %*% getME(model, "Zt"))
    deviation <- deviation * sqrt(1 + mean(colSums(loadings^2)))
  }
  lapply(numbers, function(number) number / deviation)
}

report_random <- function(labels, model, is_binomial, variant) {
  found <- as.data.frame(if (is_binomial) VarCorr(model, sigma = 1) else VarCorr(model))
  if (is_binomial) found <- found[found$grp != "Residual", ]
  group <- sub("\\\\.[0-9]+$", "", found$grp)  # lme4 numbers the terms of a group
  effects <- paste(ifelse(is.na(found$var1), "", found$var1),
                   ifelse(is.na(found$var2), "", found$var2))
  is_variance <- is.na(found$var2)
  add(labels, ifelse(is_variance, "variance", "correlation"), trimws(paste(group, effects)),
      ifelse(is_variance, found$vcov, found$sdcor), variant = variant)
}
"""

BEST = """\
# Where a random effect has no variance of its own, lme4 can stop before the maximum of the
# likelihood. The search is repeated from given parameters, and the better fit counts.
best <- function(fit, theta) {
  first <- fit(NULL)
  names <- names(getME(first, "theta"))
  if (!all(names %in% names(theta))) return(first)
  again <- try(fit(as.vector(theta[names])), silent = TRUE)
  if (inherits(again, "try-error") || logLik(again) < logLik(first)) first else again
}
"""

# With lme4's default tolerances, not all estimates are accurate to four digits.
_SEARCH = 'optimizer = "bobyqa", optCtrl = list(rhoend = 1e-9, maxfun = 1e5)'
EXACT_LMER = f"""\
# Tolerances at which estimates are accurate to at least four digits.
exact <- lmerControl({_SEARCH})
"""

EXACT_GLMER = f"""\
# By default, glmer stops its inner iterations if the relative change of the penalised deviance is
# below 1e-7, which is too early for accurate estimates and standard errors. This function uses the
# smallest tolerance at which glmer does not fail because of rounding.
strictly <- function(fit) {{
  for (tolerance in c(1e-14, 1e-13, 1e-12, 1e-10)) {{
    exact <- glmerControl({_SEARCH}, tolPwrss = tolerance)
    model <- try(fit(exact), silent = TRUE)
    if (!inherits(model, "try-error")) return(model)
  }}
  fit(glmerControl())
}}
"""

TIES = """\
# Binomial family for outcomes with ties, which count as fractions of a success. R's binomial()
# would round them.
shares <- binomial()
shares$family <- "binomial with shares"
shares$aic <- function(y, n, mu, wt, dev) -2 * sum(wt * (y * log(mu) + (1 - y) * log1p(-mu)))
shares$initialize <- expression({
  n <- rep.int(1, nobs)
  mustart <- (weights * y + 0.5) / (weights + 1)
})
"""

# The permutation test that replaces a failed model, as in ``inference.permutation``.
PERMUTATION = """\
# Exact permutation test, for use if the estimates of a mixed model are invalid: y is permuted
# within strata, and p is twice the smaller tail of the sum of x times y.
permutation_test <- function(labels, term, x, y, strata) {
  sums <- data.frame(sum = 0, share = 1)
  observed <- 0
  for (rows in split(seq_along(y), strata)) {
    if (length(unique(x[rows])) < 2 || length(unique(y[rows])) < 2) next
    sums <- sums_of_two(sums, sums_of_stratum(x[rows], y[rows]))
    observed <- observed + sum(x[rows] * y[rows])
  }
  lower <- sum(sums$share[sums$sum <= observed + 1e-7])
  upper <- sum(sums$share[sums$sum >= observed - 1e-7])
  add(labels, "permutation", term, p = min(1, 2 * min(lower, upper)), n = length(y))
}

# The distribution of the sum of two independent variables.
sums_of_two <- function(a, b) {
  shares <- tapply(as.vector(outer(a$share, b$share)),
                   as.vector(round(outer(a$sum, b$sum, "+"), 9)), sum)
  data.frame(sum = as.numeric(names(shares)), share = as.vector(shares))
}

# The distribution of the sum in a stratum: outcomes are assigned to one row after another.
sums_of_stratum <- function(x, y) {
  values <- sort(unique(y))
  left <- matrix(tabulate(match(y, values)), nrow = 1)  # unassigned values of each kind, by state
  sums <- 0
  share <- 1
  for (one in x) {
    dealt <- lapply(seq_along(values), function(k) {
      can <- left[, k] > 0
      rest <- left[can, , drop = FALSE]
      chance <- share[can] * rest[, k] / rowSums(rest)
      rest[, k] <- rest[, k] - 1
      list(left = rest, sums = sums[can] + one * values[k], share = chance)
    })
    left <- do.call(rbind, lapply(dealt, `[[`, "left"))
    sums <- round(unlist(lapply(dealt, `[[`, "sums")), 9)
    state <- paste(apply(left, 1, paste, collapse = " "), sums)
    share <- as.vector(tapply(unlist(lapply(dealt, `[[`, "share")),
                              factor(state, unique(state)), sum))
    left <- left[!duplicated(state), , drop = FALSE]
    sums <- sums[!duplicated(state)]
  }
  data.frame(sum = sums, share = share)
}
"""


# ----------------------------------------------------------------------------
# R functions for means: t tests, intervals within items, and normal intervals.


T_TEST = """\
report_mean <- function(labels, term, values) {
  test <- t.test(values)
  add(labels, "mean", term, test$estimate, test$stderr, test$statistic, test$parameter,
      test$p.value, low = test$conf.int[1], high = test$conf.int[2],
      size = cohens_dz(test$statistic, test$parameter), n = length(values))
}

# Cohen's d_z, whose interval comes from the noncentral t distribution.
cohens_dz <- function(statistic, df) {
  end <- function(share) {
    reach <- 8 * sqrt(1 + statistic^2 / (2 * df))
    # In the tails, R warns that pt is less precise.
    excess <- function(ncp) suppressWarnings(pt(statistic, df, ncp)) - share
    found <- try(uniroot(excess, statistic + c(-reach, reach), tol = 1e-10)$root, silent = TRUE)
    if (inherits(found, "try-error")) NA else found
  }
  lapply(list(statistic, end(0.975), end(0.025)), function(one) one / sqrt(df + 1))
}
"""

DIFFERENCES = """\
# The second minus the first side of a contrast, for every item that has both.
differences <- function(values, items, sides) {
  cells <- tapply(values, list(items, sides > 0), mean)
  as.vector(na.omit(cells[, "TRUE"] - cells[, "FALSE"]))
}
"""

NORMAL_MEAN = """\
report_normal <- function(labels, term, values) {
  error <- sd(values) / sqrt(length(values))
  add(labels, "mean", term, mean(values), error, low = mean(values) - 1.96 * error,
      high = mean(values) + 1.96 * error, n = length(values))
}
"""

_WITHIN = """\
# Condition means with intervals that exclude the variance between items.
report_conditions <- function(labels, values, items, conditions) {{
  cells <- aggregate(list(value = values), list(item = items, condition = conditions), mean)
  complete <- table(cells$item) == length(unique(cells$condition))
  cells <- cells[as.vector(complete[cells$item]), ]
  cells$item <- factor(cells$item)
  cells$condition <- factor(cells$condition)
  n <- nlevels(cells$item)
{reach}
  means <- tapply(cells$value, cells$condition, mean)
  add(labels, "mean", names(means), as.vector(means),
      low = as.vector(means - reach), high = as.vector(means + reach), n = n)
}}
"""
_MASSON_LOFTUS = """\
  # Loftus and Masson (1994): the error term is the interaction of items and conditions.
  model <- lm(value ~ item + condition, data = cells)
  error <- sum(residuals(model)^2) / df.residual(model)
  reach <- qt(0.975, df.residual(model)) * sqrt(error / n)"""
_COUSINEAU_MOREY = """\
  # Cousineau (2005), with the correction of Morey (2008).
  own <- cells$value - ave(cells$value, cells$item)
  j <- nlevels(cells$condition)
  variances <- tapply(own, cells$condition, var) * j / (j - 1)
  reach <- qt(0.975, n - 1) * sqrt(variances / n)"""
_ITEM_CENTRED = """\
  # 1.96 standard errors of values centred by item.
  own <- cells$value - ave(cells$value, cells$item)
  reach <- 1.96 * sqrt(tapply(own, cells$condition, var) / n)"""

WITHIN_ITEM = {
    "masson_loftus": _WITHIN.format(reach=_MASSON_LOFTUS),
    "cousineau_morey": _WITHIN.format(reach=_COUSINEAU_MOREY),
    "item_centred": _WITHIN.format(reach=_ITEM_CENTRED),
}


# ----------------------------------------------------------------------------
# Export of analyses to R: the tidy data, and a script that repeats the analysis.
#
# A script prints its estimates as one table (CSV), for comparison with the estimates of this
# package.


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
    blocks = [*_functions(result), BESIDE, _reading(result)]
    if analysis.test == "mixed":
        blocks += [_fit(analysis, part) for part in result.fits]
    else:
        blocks += [_part(names) + _means(analysis) for names in result.parts]
    if not all(block.isascii() for block in blocks):
        blocks.insert(0, UNICODE)
    return "\n".join(
        ["\n".join(heading), *blocks, print_table(_asked(result), analysis.correction)]
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
        return [ADD, *([DIFFERENCES] if analysis.contrasts else []), T_TEST]
    if analysis.test == "means":
        return [ADD, NORMAL_MEAN]
    if analysis.test == "within_item":
        return [ADD, WITHIN_ITEM[analysis.method]]
    called = {_call(one) for part in fits if _is_fitted(part) for one in _fits(part)}
    needed = {
        LME4: called & {"lmer", "glmer"},
        LMER_TEST: "lmer" in called,
        ADD: True,
        CODED: any(part.codings for part in fits),
        TIES: any(part.has_ties for part in fits if _is_fitted(part)),
        EXACT_LMER: "lmer" in called,
        BEST: any(_is_searched_again(one) for part in fits for one in _fits(part)),
        EXACT_GLMER: "glmer" in called,
        REPORT: called,
        PERMUTATION: any(part.strata is not None for part in fits),
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
    codes = [_model(analysis, part, part.fit, MAIN_VARIANT)]
    if analysis.lme4_default and part.fit.groups:
        codes.append(_reported(analysis, part.fit, _fitting(part, part.fit, ""), LME4_VARIANT))
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
    settings = "" if variant == MAIN_VARIANT else f", variant = {_text(variant)}"
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
