"""R functions for means: t tests, intervals within items, and normal intervals."""

from __future__ import annotations

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
