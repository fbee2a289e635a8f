{#-
The R script of an analysis, rendered by rscript.py. A script collects its estimates with add() and
prints them as one table. Blocks are R functions, of which a script has those that it needs.
Filters: name (a column in R syntax), text (a string), formula, call (lm, glm, lmer or glmer).
-#}
{% for line in about %}
# {{ line }}
{% endfor %}
# Data: {{ file }}.csv. Usage: Rscript {{ file }}.R
# The script prints its estimates as a table (CSV).

# This script is encoded in UTF-8, which may not be the default of the locale.
for (locale in c("C.UTF-8", "en_US.UTF-8"))
  if (!l10n_info()[["UTF-8"]]) suppressWarnings(Sys.setlocale("LC_CTYPE", locale))

{% if 'lmer' in calls or 'glmer' in calls %}
{% block lme4 scoped %}
if (!requireNamespace("lme4", quietly = TRUE))
  stop("this script needs the package lme4: install.packages(\"lme4\")")
suppressPackageStartupMessages(library(lme4))

{% endblock %}
{% endif %}
{% if 'lmer' in calls %}
{% block lmer_test scoped %}
# lmerTest adds Satterthwaite's degrees of freedom, and therefore p values, to linear models.
if (requireNamespace("lmerTest", quietly = TRUE)) {
  suppressPackageStartupMessages(library(lmerTest))
} else {
  message("no p values without the package lmerTest: install.packages(\"lmerTest\")")
}

{% endblock %}
{% endif %}
{% block add scoped %}
# Adds a row to the table of estimates: its kind ("fixed", "variance", "correlation", "fit", "mean"
# or "permutation"), its term, and its numbers. Empty cells are missing values.
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

{% endblock %}
{% if has_codings %}
{% block coded scoped %}
# Returns a factor whose coefficients are named by levels: modifier[subject].
coded <- function(values, levels, contrast) {
  values <- factor(values, levels = levels)
  codes <- contrast(length(levels))
  named <- if (all(codes[1, ] == 0)) levels[-1] else levels[-length(levels)]
  dimnames(codes) <- list(levels, paste0("[", named, "]"))
  contrasts(values) <- codes
  values
}

{% endblock %}
{% endif %}
{% if has_ties %}
{% block ties scoped %}
# Binomial family for outcomes with ties, which count as fractions of a success. R's binomial()
# would round them.
shares <- binomial()
shares$family <- "binomial with shares"
shares$aic <- function(y, n, mu, wt, dev) -2 * sum(wt * (y * log(mu) + (1 - y) * log1p(-mu)))
shares$initialize <- expression({
  n <- rep.int(1, nobs)
  mustart <- (weights * y + 0.5) / (weights + 1)
})

{% endblock %}
{% endif %}
{% if 'lmer' in calls %}
{% block exact_lmer scoped %}
# Tolerances at which estimates are accurate to at least four digits.
exact <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-9, maxfun = 1e5))

{% endblock %}
{% endif %}
{% if is_searched_again %}
{% block best scoped %}
# Where a random effect has no variance of its own, lme4 can stop before the maximum of the
# likelihood. The search is repeated from given parameters, and the better fit counts.
best <- function(fit, theta) {
  first <- fit(NULL)
  names <- names(getME(first, "theta"))
  if (!all(names %in% names(theta))) return(first)
  again <- try(fit(as.vector(theta[names])), silent = TRUE)
  if (inherits(again, "try-error") || logLik(again) < logLik(first)) first else again
}

{% endblock %}
{% endif %}
{% if 'glmer' in calls %}
{% block exact_glmer scoped %}
# By default, glmer stops its inner iterations if the relative change of the penalised deviance is
# below 1e-7, which is too early for accurate estimates and standard errors. This function uses the
# smallest tolerance at which glmer does not fail because of rounding.
strictly <- function(fit) {
  for (tolerance in c(1e-14, 1e-13, 1e-12, 1e-10)) {
    exact <- glmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-9, maxfun = 1e5), tolPwrss = tolerance)
    model <- try(fit(exact), silent = TRUE)
    if (!inherits(model, "try-error")) return(model)
  }
  fit(glmerControl())
}

{% endblock %}
{% endif %}
{% if calls %}
{% block report scoped %}
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
  group <- sub("\\.[0-9]+$", "", found$grp)  # lme4 numbers the terms of a group
  effects <- paste(ifelse(is.na(found$var1), "", found$var1),
                   ifelse(is.na(found$var2), "", found$var2))
  is_variance <- is.na(found$var2)
  add(labels, ifelse(is_variance, "variance", "correlation"), trimws(paste(group, effects)),
      ifelse(is_variance, found$vcov, found$sdcor), variant = variant)
}

{% endblock %}
{% endif %}
{% if has_permutation %}
{% block permutation scoped %}
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

{% endblock %}
{% endif %}
{% if analysis.test == 't_test' %}
{% if analysis.contrasts %}
{% block differences scoped %}
# The second minus the first side of a contrast, for every item that has both.
differences <- function(values, items, sides) {
  cells <- tapply(values, list(items, sides > 0), mean)
  as.vector(na.omit(cells[, "TRUE"] - cells[, "FALSE"]))
}

{% endblock %}
{% endif %}
{% block t_test scoped %}
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

{% endblock %}
{% elif analysis.test == 'means' %}
{% block normal_mean scoped %}
report_normal <- function(labels, term, values) {
  error <- sd(values) / sqrt(length(values))
  add(labels, "mean", term, mean(values), error, low = mean(values) - 1.96 * error,
      high = mean(values) + 1.96 * error, n = length(values))
}

{% endblock %}
{% elif analysis.test == 'within_item' %}
{% block within_item scoped %}
# Condition means with intervals that exclude the variance between items.
report_conditions <- function(labels, values, items, conditions) {
  cells <- aggregate(list(value = values), list(item = items, condition = conditions), mean)
  complete <- table(cells$item) == length(unique(cells$condition))
  cells <- cells[as.vector(complete[cells$item]), ]
  cells$item <- factor(cells$item)
  cells$condition <- factor(cells$condition)
  n <- nlevels(cells$item)
{% if analysis.method == 'masson_loftus' %}
  # Loftus and Masson (1994): the error term is the interaction of items and conditions.
  model <- lm(value ~ item + condition, data = cells)
  error <- sum(residuals(model)^2) / df.residual(model)
  reach <- qt(0.975, df.residual(model)) * sqrt(error / n)
{% elif analysis.method == 'cousineau_morey' %}
  # Cousineau (2005), with the correction of Morey (2008).
  own <- cells$value - ave(cells$value, cells$item)
  j <- nlevels(cells$condition)
  variances <- tapply(own, cells$condition, var) * j / (j - 1)
  reach <- qt(0.975, n - 1) * sqrt(variances / n)
{% else %}
  # 1.96 standard errors of values centred by item.
  own <- cells$value - ave(cells$value, cells$item)
  reach <- 1.96 * sqrt(tapply(own, cells$condition, var) / n)
{% endif %}
  means <- tapply(cells$value, cells$condition, mean)
  add(labels, "mean", names(means), as.vector(means),
      low = as.vector(means - reach), high = as.vector(means + reach), n = n)
}

{% endblock %}
{% endif %}
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
if (length(script) == 1) setwd(dirname(gsub("~+~", " ", script, fixed = TRUE)))

d <- read.csv({{ (file ~ ".csv") | text }}, check.names = FALSE, encoding = "UTF-8",
              colClasses = "character", na.strings = character(0))
{% for column in numbers %}
d${{ column | name }} <- as.numeric(d${{ column | name }})
{% endfor %}

{% macro strings(values) %}c({% for value in values %}{{ value | text }}{{ ", " if not loop.last }}{% endfor %}){% endmacro %}
{% macro call(part, fit, settings="") %}
{{ fit | call }}({{ fit.formula | formula }}, data = part
  {%- if fit.family == "binomial" %}, family = {{ "shares" if part.has_ties else "binomial" }}{% endif %}
  {%- if part.is_weighted %}, weights = {{ weight }}{% endif %}{{ settings }})
{%- endmacro %}
{% macro fitted(part, fit, variant) %}
{% if variant == "lme4 default" %}
{{ call(part, fit) }}
{%- elif fit | call == "glmer" %}
strictly(function(exact)
  {{ call(part, fit, ", control = exact") }})
{%- elif fit is searched_again %}
best(function(start)
  {{ call(part, fit, ", control = exact, start = start") }},
  c({% for name, value in fit.theta.items() %}{{ name | text }} = {{ value }}{{ ",\n    " if not loop.last }}{% endfor %}))
{%- else %}
{{ call(part, fit, ", control = exact" if fit | call == "lmer" else "") }}
{%- endif %}
{% endmacro %}
{% for labels, part, models in parts %}
labels <- list({% for column, value in labels.items() %}{{ column | name }} = {{ value | text }}{{ ", " if not loop.last }}{% endfor %})
part <- d
  {%- if labels %}[{% for column, value in labels.items() %}d${{ column | name }} == {{ value | text }}{{ " & " if not loop.last }}{% endfor %}, ]{% endif %}

{% if analysis.test == "mixed" %}
{% for column, coding in part.codings.items() %}
part${{ column | name }} <- coded(part${{ column | name }}, {{ strings(coding.levels) }}, contr.{{ coding.kind }})
{% endfor %}
{% if part.strata is not none %}
{% set column = "part$" ~ (analysis.predictors[0] | name) %}
permutation_test(labels, {{ analysis.predictors[0] | text }}, {{ "contrasts(%s)[%s, 1]" % (column, column) if analysis.predictors[0] in part.codings else column }}, part${{ analysis.measured | name }},
  paste({% for name in part.strata %}part${{ name | name }}, {% else %}rep(1, nrow(part)), {% endfor %}sep = "\t"))
{% else %}
{% for variant, fit in models %}
report(labels, {{ fitted(part, fit, variant) }}
  {%- if variant != "main" %}, variant = {{ variant | text }}{% endif %}
  {%- if analysis.reference == "normal" and fit.family == "gaussian" %}, is_normal = TRUE{% endif %})
{% else %}
# No model, because it has no finite estimates for these rows.
add(labels, "fit", "converged", 0)
{% endfor %}
{% endif %}
{% else %}
{% set values = "part$" ~ (analysis.measured | name) %}
{% set term = analysis.measured | text %}
{% if analysis.test == "t_test" and analysis.contrasts %}
report_mean(labels, {{ term }}, differences({{ values }}, part$item, part${{ analysis.contrast_column | name }}))
{% elif analysis.test == "t_test" %}
report_mean(labels, {{ term }}, {{ values }})
{% elif analysis.test == "means" %}
report_normal(labels, {{ term }}, {{ values }})
{% else %}
report_conditions(labels, {{ values }}, part$item, part${{ analysis.condition | name }})
{% endif %}
{% endif %}

{% endfor %}
found <- do.call(rbind, rows)
# The p values of the estimates that the analysis asks for are adjusted together.
adjusted <- found$variant == "main" & found$kind %in% c("fixed", "mean", "permutation") &
  found$term %in% {{ strings(terms) }}
found$p_adjusted <- NA
found$p_adjusted[adjusted] <- p.adjust(found$p[adjusted], "{{ correction }}")
write.csv(found, stdout(), row.names = FALSE, na = "")
