"""Tests of design matrices, against those of R."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gardenpath.data.arrays import Floats
from gardenpath.errors import StatisticsError
from gardenpath.eval.statistics.design import build_design
from gardenpath.eval.statistics.formulas import (
    Coding,
    model_matrix,
    parse_model_formula,
    with_all_codings,
)
from tests.eval.statistics.r_program import r_table

CODINGS = {
    "a": Coding(levels=("u", "v", "w"), kind="sum"),
    "b": Coding(levels=("q", "p"), kind="treatment"),
}
FIXED = [
    *("y ~ x", "y ~ 1", "y ~ 0 + x", "y ~ x * z", "y ~ I(x^3) + x:z"),
    *("y ~ a", "y ~ b", "y ~ 0 + a", "y ~ 0 + a + b", "y ~ 0 + x + a + b", "y ~ a + b"),
    *("y ~ a * b", "y ~ a:b", "y ~ a + a:b", "y ~ 0 + a:b", "y ~ a:x", "y ~ x + a:x", "y ~ a * x"),
    *("y ~ a * b * x", "y ~ b + a:b:x", "y ~ 0 + b:x", "y ~ x:a:b + a", "y ~ c", "y ~ c * b"),
]
RANDOM = [
    *("(1 | g)", "(x | g)", "(0 + x | g)", "(a | g)", "(0 + a | g)", "(1 | g:h)", "(1 | g/h)"),
    *("(x + z | g)", "(x || g)", "(a || g)", "(0 + b | h) + (x | g)"),
]
# The coding of the factors in R, and matrices as data frames: one row per cell of the matrix.
CODE = """
library(lme4)
d$a <- factor(d$a, levels = c("u", "v", "w")); contrasts(d$a) <- contr.sum(3)
d$b <- factor(d$b, levels = c("q", "p")); contrasts(d$b) <- contr.treatment(2)
cells <- function(text, values) data.frame(text = text, row = as.vector(row(values)),
  column = as.vector(col(values)), value = as.vector(values))
"""


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    dice = np.random.default_rng(2)
    cells = list(itertools.product("uvw", "pq", "rst", range(2)))
    made = pd.DataFrame(cells, columns=["a", "b", "c", "again"]).drop(columns="again")
    made["x"], made["z"], made["y"] = dice.normal(size=(3, len(made))).round(3)
    return made.assign(g=dice.integers(0, 5, len(made)), h=dice.integers(0, 3, len(made)))


def _matrix(found: pd.DataFrame, text: str) -> Floats:
    wide = found[found["text"] == text].pivot(index="row", columns="column", values="value")
    return np.asarray(wide.to_numpy(dtype=np.float64))


def test_fixed_effects_have_the_columns_of_r(tmp_path: Path, table: pd.DataFrame) -> None:
    code = f"""{CODE}
    made <- do.call(rbind, lapply(texts$text, function(text)
      cells(text, model.matrix(as.formula(text), d))))
    """
    texts = pd.DataFrame({"text": FIXED})
    found = r_table(tmp_path, code, "made", d=table, texts=texts)
    for text in FIXED:
        parsed = parse_model_formula(text)
        codings = with_all_codings(parsed.fixed_variables, table, CODINGS)
        ours = model_matrix(parsed.fixed, table, codings)
        theirs = _matrix(found, text)
        assert ours.values.shape == theirs.shape, text
        assert ours.values == pytest.approx(theirs, abs=1e-12), text
        assert len(set(ours.names)) == len(ours.names) == theirs.shape[1]


def test_random_effects_have_the_columns_of_lme4(tmp_path: Path, table: pd.DataFrame) -> None:
    """Columns may stand in another order, so that the products of rows are compared."""
    code = f"""{CODE}
    settings <- lmerControl(check.nobs.vs.nRE = "ignore")
    made <- do.call(rbind, lapply(texts$text, function(text) {{
      found <- lFormula(as.formula(paste("y ~ x +", text)), d, control = settings)
      cells(text, as.matrix(crossprod(found$reTrms$Zt)))
    }}))
    sizes <- do.call(rbind, lapply(texts$text, function(text) {{
      found <- lFormula(as.formula(paste("y ~ x +", text)), d, control = settings)
      data.frame(text = text, thetas = length(found$reTrms$theta))
    }}))
    made <- merge(made, sizes)
    """
    texts = pd.DataFrame({"text": RANDOM})
    found = r_table(tmp_path, code, "made", d=table, texts=texts)
    for text in RANDOM:
        design = build_design(f"y ~ x + {text}", table, codings=CODINGS)
        products = (design.random @ design.random.T).toarray()
        assert products == pytest.approx(_matrix(found, text), abs=1e-12), text
        thetas = found.loc[found["text"] == text, "thetas"].iloc[0]
        assert len(design.entries) == thetas, text


def test_columns_are_named_by_levels(table: pd.DataFrame) -> None:
    design = build_design("y ~ a * b + x:c + (0 + b | g)", table, codings=CODINGS)
    assert design.names == (
        *("(Intercept)", "a[u]", "a[v]", "b[p]"),
        *("a[u]:b[p]", "a[v]:b[p]", "x:c[r]", "x:c[s]", "x:c[t]"),
    )
    assert [term.names for term in design.terms] == [("b[q]", "b[p]")]


def test_columns_that_no_table_allows(table: pd.DataFrame) -> None:
    unknown = {"a": Coding(levels=("u", "v"))}
    with pytest.raises(StatisticsError, match="a: not among the levels of the factor: w"):
        build_design("y ~ a", table, codings=unknown)
    with pytest.raises(StatisticsError, match="a has only one value, u"):
        build_design("y ~ a", table[table["a"] == "u"])
    with pytest.raises(StatisticsError, match="a is a factor and cannot be raised to the power 2"):
        build_design("y ~ I(a^2)", table)
    with pytest.raises(StatisticsError, match="the response b is not numeric"):
        build_design("b ~ x", table)


def test_without_fixed_effects_there_are_no_columns(table: pd.DataFrame) -> None:
    assert build_design("y ~ 0 + (1 | g)", table).fixed.shape == (len(table), 0)
