"""Tests of the coding of factors."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.arrays import Floats
from gardenpath.errors import StatisticsError
from gardenpath.eval.statistics.analysis import load_analyses
from gardenpath.eval.statistics.design import build_design, model_matrix, with_all_codings
from gardenpath.eval.statistics.formulas import (
    Coding,
    ModelFormula,
    Variable,
    coding_of,
    parse_model_formula,
)
from tests.eval.statistics.r_program import r_table
from tests.eval.statistics.tables import random_matrix

LEVELS = ("none", "adjective", "rc")


def test_treatment_coding_compares_with_the_first_level() -> None:
    coding = Coding(levels=LEVELS)
    assert coding.names == ("adjective", "rc")
    assert coding.columns(["rc", "none", "adjective"]).tolist() == [[0, 1], [0, 0], [1, 0]]


def test_sum_coding_compares_with_the_mean() -> None:
    coding = Coding(levels=LEVELS, kind="sum")
    assert coding.names == ("none", "adjective")
    assert coding.columns(["rc", "none", "adjective"]).tolist() == [[-1, -1], [1, 0], [0, 1]]


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=6))
def test_sum_coded_coefficients_are_deviations_from_the_mean_of_levels(means: list[float]) -> None:
    coding = Coding(levels=tuple(f"l{number}" for number in range(len(means))), kind="sum")
    design = np.column_stack([np.ones(len(means)), coding.matrix])
    solved = np.linalg.solve(design, np.array(means))
    assert solved[0] == pytest.approx(np.mean(means), abs=1e-9)
    assert solved[1:] == pytest.approx(np.array(means[:-1]) - np.mean(means), abs=1e-9)


def test_levels_that_are_not_there_are_not_coded() -> None:
    coding = coding_of(["rc", "none", "rc"], kind="treatment", order=LEVELS)
    assert coding is not None and coding.levels == ("none", "rc")
    assert coding_of(["rc", "rc"], kind="sum") is None


def test_unknown_levels_and_single_levels_are_refused() -> None:
    with pytest.raises(StatisticsError, match="pp"):
        Coding(levels=LEVELS).columns(["pp"])
    with pytest.raises(StatisticsError, match="two different levels"):
        Coding(levels=("a", "a"))


# ----------------------------------------------------------------------------
# Tests of formulas, against R's own reading of them.


ANALYSES = Path(__file__).parents[3] / "conf" / "analysis"

# What is written, and what it says.
FORMULAS = {
    "y ~ x": "y ~ x",
    "y~1": "y ~ 1",
    "y ~ 1 + x + (1|g)": "y ~ x + (1 | g)",
    "y ~ x - 1": "y ~ 0 + x",
    "y ~ 0 + x + 1": "y ~ x",
    "y ~ a * b": "y ~ a + b + a:b",
    "y ~ a * b * c - a:b": "y ~ a + b + c + a:c + b:c + a:b:c",
    "y ~ (a + b):c": "y ~ a:c + b:c",
    "y ~ (a + b) * c - c": "y ~ a + b + a:c + b:c",
    "y ~ b + a + a:b": "y ~ b + a + b:a",
    "y ~ a:b + a": "y ~ a + a:b",
    "y ~ a:a + I(a^2)": "y ~ a + I(a^2)",
    "y ~ a * b - a": "y ~ b + a:b",
    "y ~ x + (x | g)": "y ~ x + (1 + x | g)",
    "y ~ x + (0 + x | g) + (1 | g:h)": "y ~ x + (0 + x | g) + (1 | g:h)",
    "y ~ x + (x - 1 || g)": "y ~ x + (0 + x || g)",
    "y ~ x + (1 | g/h)": "y ~ x + (1 | g) + (1 | g:h)",
    "`a b` ~ `c\\`d` + (1 | `e f`)": "`a b` ~ `c\\`d` + (1 | `e f`)",
}


@pytest.mark.parametrize("text", FORMULAS)
def test_what_formulas_say(text: str) -> None:
    assert str(parse_model_formula(text)) == FORMULAS[text]


@pytest.mark.slow
def test_terms_are_those_of_r(tmp_path: Path) -> None:
    """All formulas without random effects that the test above knows of."""
    plain = [text for text in FORMULAS if "|" not in text and "`" not in text]
    code = """
    described <- do.call(rbind, lapply(texts$text, function(text) {
      found <- terms(as.formula(text))
      labels <- attr(found, "term.labels")
      data.frame(text = text, intercept = attr(found, "intercept"),
                 terms = paste(labels, collapse = " + "))
    }))
    """
    found = r_table(tmp_path, code, "described", texts=pd.DataFrame({"text": plain}))
    assert found["text"].tolist() == plain
    for text, intercept, terms in found.fillna("").itertuples(index=False):
        parsed = parse_model_formula(text)
        assert ((() in parsed.fixed), _labels(parsed)) == (bool(intercept), terms)


def _labels(formula: ModelFormula) -> str:
    return " + ".join(":".join(v.written() for v in term) for term in formula.fixed if term)


def test_the_parts_of_a_formula() -> None:
    parsed = parse_model_formula("y ~ a * I(x^2) + (1 + x || g:h) + (0 + z | k)")
    assert parsed.response == "y"
    a, power = Variable("a"), Variable("x", 2)
    assert parsed.fixed == ((), (a,), (power,), (a, power))
    assert parsed.fixed_variables == ("a", "x")
    assert parsed.slope_variables == ("x", "z")
    assert parsed.grouping_factors == ("g", "h", "k")
    assert parsed.variables == ("a", "g", "h", "k", "x", "y", "z")
    first, second = parsed.random
    assert (first.group, first.is_correlated) == (("g", "h"), False)
    assert first.blocks == (((),), ((Variable("x"),),))
    assert second.blocks == (((Variable("z"),),),)


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("", "at its end", "expected the name of the response"),
        ("y", "at its end", "expected '~'"),
        ("y ~", "at its end", "a column or '('"),
        ("y ~ x +", "at its end", "a column or '('"),
        ("y ~ x + + z", "at character 9", "a column or '('"),
        ("y ~ x z", "at character 7", "unexpected 'z'"),
        ("y ~ x ~ z", "at character 7", "unexpected '~'"),
        ("y ~ x $ z", "at character 7", "unexpected '$'"),
        ("y ~ 2", "at character 5", "unexpected 2"),
        ("y ~ x:1", "at character 7", "a column or '('"),
        ("y ~ (1 + x):z", "at character 6", "unexpected 1"),
        ("y ~ (x", "at its end", "expected ')'"),
        ("y ~ x)", "at character 6", "unexpected ')'"),
        ("y ~ log(x)", "at character 5", "add a column to the table"),
        ("y ~ I(x)", "at character 8", "expected '^' or '**'"),
        ("y ~ I(x^z)", "at character 9", "a positive integer"),
        ("y ~ `x", "at character 5", "unexpected '`'"),
        ("y ~ x | g", "at character 7", "unexpected '|'"),
        ("y ~ (1 | ", "at its end", "the name of a grouping factor"),
        ("y ~ (1 | g", "at its end", "expected ')'"),
        ("y ~ (1 | g + h)", "at character 12", "expected ')'"),
        ("y ~ (0 | g)", "at character 8", "expected a random effect"),
        ("y ~ x - (1 | g)", "at character 9", "cannot be subtracted"),
        ("y ~ x * (1 | g)", "at character 9", "cannot be part of a product"),
        ("y ~ (x + (1 | g))", "at character 10", "cannot occur within brackets"),
        ("y ~ ((1 | g) | h)", "at character 6", "cannot occur within brackets"),
    ],
)
def test_mistakes_have_a_place(text: str, place: str, problem: str) -> None:
    with pytest.raises(StatisticsError) as raised:
        parse_model_formula(text)
    assert str(raised.value).startswith(f"the formula {text!r} is invalid {place}: ")
    assert problem in str(raised.value)


def test_brackets_without_end_are_refused_and_not_a_crash() -> None:
    with pytest.raises(StatisticsError, match="nested too deeply"):
        parse_model_formula("y ~ " + "(" * 5000 + "x" + ")" * 5000)


@given(st.text(alphabet="yxg~+-*:/|()^01I` .", max_size=30))
def test_any_text_is_a_formula_or_a_mistake(text: str) -> None:
    try:
        parsed = parse_model_formula(text)
    except StatisticsError:
        return
    again = parse_model_formula(str(parsed))
    assert _contents(again) == _contents(parsed)


def _contents(formula: ModelFormula) -> object:
    """What a formula says, whatever the order in which it names variables."""
    fixed = {frozenset(term) for term in formula.fixed}
    random = [
        ({frozenset(term) for term in part.terms}, part.group, part.is_correlated)
        for part in formula.random
    ]
    return formula.response, fixed, random


def test_formulas_of_analyses_stay_as_they_are_written() -> None:
    formulas = [analysis.formula for analysis in load_analyses(ANALYSES) if analysis.formula]
    plain = [formula for formula in formulas if "*" not in formula]
    assert plain and [str(parse_model_formula(formula)) for formula in plain] == plain


# ----------------------------------------------------------------------------
# Tests of design matrices, against those of R.


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


def _random_formulas(count: int) -> list[str]:
    """Formulas of one to four terms, of which many lack the margins of their interactions."""
    dice = random.Random(1)
    terms = [":".join(names) for k in (1, 2, 3) for names in itertools.combinations("abcxz", k)]
    starts = ("y ~ ", "y ~ 0 + ")
    return [
        dice.choice(starts) + " + ".join(dice.sample(terms, dice.randint(1, 4)))
        for _ in range(count)
    ]


def _matrix(found: pd.DataFrame, text: str) -> Floats:
    wide = found[found["text"] == text].pivot(index="row", columns="column", values="value")
    return np.asarray(wide.to_numpy(dtype=np.float64))


def test_fixed_effects_have_the_columns_of_r(tmp_path: Path, table: pd.DataFrame) -> None:
    code = f"""{CODE}
    made <- do.call(rbind, lapply(texts$text, function(text)
      cells(text, model.matrix(as.formula(text), d))))
    """
    formulas = list(dict.fromkeys([*FIXED, *_random_formulas(100)]))
    texts = pd.DataFrame({"text": formulas})
    found = r_table(tmp_path, code, "made", d=table, texts=texts)
    for text in formulas:
        parsed = parse_model_formula(text)
        codings = with_all_codings(parsed.fixed_variables, table, CODINGS)
        ours, names = model_matrix(parsed.fixed, table, codings)
        theirs = _matrix(found, text)
        assert ours.shape == theirs.shape, text
        assert ours == pytest.approx(theirs, abs=1e-12), text
        assert len(set(names)) == len(names) == theirs.shape[1]


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
        products = random_matrix(design) @ random_matrix(design).T
        assert products == pytest.approx(_matrix(found, text), abs=1e-12), text
        thetas = found.loc[found["text"] == text, "thetas"].iloc[0]
        assert len(design.is_scale) == thetas, text


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
