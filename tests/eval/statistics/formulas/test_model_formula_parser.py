"""Tests of formulas, against R's own reading of them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.errors import StatisticsError
from gardenpath.eval.statistics.analysis import load_analyses
from gardenpath.eval.statistics.formulas import ModelFormula, Variable, parse_model_formula
from tests.eval.statistics.r_program import r_table

ANALYSES = Path(__file__).parents[4] / "conf" / "analysis"

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
