"""R functions from which the scripts of analyses are assembled.

A script collects its estimates with ``add`` and prints them as one table with the columns of the
split, followed by ``R_COLUMNS``.
"""

from __future__ import annotations

from gardenpath.eval.statistics.choices import Correction

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
