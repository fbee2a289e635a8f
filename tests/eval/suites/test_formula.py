"""Formulas: reading, printing, truth."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.eval.suites.formula import (
    And,
    Arithmetic,
    Claim,
    Comparison,
    Formula,
    FormulaError,
    Node,
    Number,
    Or,
    Term,
    Value,
    are_equal,
)
from gardenpath.eval.suites.outcomes import outcome
from gardenpath.eval.suites.regions import quantity
from tests.eval.suites.suite_samples import holds

SURPRISALS = {("noun", "a"): 3.0, ("noun", "b"): 5.0, ("6", "a"): 1.5, ("*", "a"): 20.0}


def lookup(region: str, condition: str) -> float:
    return SURPRISALS[region, condition]


REGIONS = st.sampled_from(["noun", "6", "*", "NP/Z", "main clause", "verb.1", "名"])
CONDITIONS = st.sampled_from(["a", "no-obj_comma", "b 2"])
TERMS: st.SearchStrategy[Value] = st.builds(Term, REGIONS, CONDITIONS)
NUMBERS: st.SearchStrategy[Value] = st.builds(
    Number, st.floats(allow_nan=False, allow_infinity=False) | st.integers(-5, 5).map(float)
)
VALUES: st.SearchStrategy[Value] = st.recursive(
    TERMS | NUMBERS,
    lambda inner: st.builds(Arithmetic, inner, st.sampled_from(["+", "-"]), inner),
    max_leaves=5,
)
COMPARISONS: st.SearchStrategy[Claim] = st.builds(
    Comparison, VALUES, st.sampled_from(["<", ">", "="]), VALUES
)


def _joins(inner: st.SearchStrategy[Claim]) -> st.SearchStrategy[Claim]:
    parts = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.builds(And, parts) | st.builds(Or, parts)


CLAIMS: st.SearchStrategy[Claim] = st.recursive(COMPARISONS, _joins, max_leaves=5)


@given(CLAIMS | VALUES)
def test_what_is_printed_is_read_as_the_same_tree(tree: Node) -> None:
    text = str(Formula(tree))
    assert Formula.parse(text).tree == tree
    assert str(Formula.parse(text)) == text


@given(CLAIMS, st.data())
def test_truth_agrees_with_full_bracketing(tree: Claim, data: st.DataObject) -> None:
    """Text with brackets around everything, of either kind, means the same as the tree."""
    values: dict[tuple[str, str], float] = {}

    def chance(region: str, condition: str) -> float:
        if (region, condition) not in values:
            values[region, condition] = data.draw(st.integers(0, 3)) / 2
        return values[region, condition]

    def show(node: Node) -> str:
        opening, closing = data.draw(st.sampled_from([("(", ")"), ("[", "]")]))
        match node:
            case Term():
                return f"( {node.region} ;%{node.condition}% )"
            case Number():
                return repr(node.value)
            case Arithmetic() | Comparison():
                inside = f"{show(node.left)}{node.operator}{show(node.right)}"
            case And() | Or():
                sign = "&" if isinstance(node, And) else "|"
                inside = sign.join(show(part) for part in node.parts)
        return f"{opening}{inside}{closing}"

    assert holds(Formula.parse(show(tree)), chance) == oracle(tree, chance)


def oracle(node: Claim, values: Callable[[str, str], float]) -> bool:
    """Truth by Python's and numpy's own operators."""

    def bits(part: Value) -> float:
        if isinstance(part, Term):
            return values(part.region, part.condition)
        if isinstance(part, Number):
            return part.value
        signs = {"+": operator.add, "-": operator.sub}
        return float(signs[part.operator](bits(part.left), bits(part.right)))

    if isinstance(node, Comparison):
        left, right = bits(node.left), bits(node.right)
        if node.operator == "=":
            return bool(np.isclose(left, right, rtol=1e-5, atol=1e-3))
        return {"<": left < right, ">": left > right}[node.operator]
    results = [oracle(part, values) for part in node.parts]
    return all(results) if isinstance(node, And) else any(results)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(noun;%a%) < (noun;%b%)", True),
        ("(noun;%a%) > (noun;%b%)", False),
        ("(noun;%a%) + 2 = (noun;%b%)", True),
        ("(noun;%b%) - (noun;%a%) - 1 > 0.5", True),
        ("(noun;%b%) - [(noun;%a%) - 1] > 2.5", True),
        ("[(6;%a%) < 2] & ((noun;%a%) > 4)", False),
        ("(6;%a%) < 2 | (noun;%a%) > 4", True),
        ("(*;%a%)>(noun;%a%)+(noun;%b%)", True),
        ("(6;%a%) > -1", True),
        ("(6;%a%) - -1 = 2.5", True),
        # From left to right, as SyntaxGym reads it: (true | false) & false.
        ("1 < 2 | 1 > 2 & 1 > 2", False),
    ],
)
def test_truth(text: str, expected: bool) -> None:
    assert holds(Formula.parse(text), lookup) is expected


def test_quantities() -> None:
    effect = Formula.parse("(noun;%b%) - (noun;%a%) + 0.25")
    assert quantity(effect.quantity, lookup) == 2.25
    assert not effect.is_claim
    with pytest.raises(FormulaError, match="is not a claim"):
        outcome(effect, lookup)
    with pytest.raises(FormulaError, match="no numeric value"):
        _ = Formula.parse("1 > 2").quantity


def test_parts() -> None:
    formula = Formula.parse("[(5;%a%) > (5;%b%)] & [(6;%a%) + (5;%a%) < 3]")
    assert formula.terms == (Term("5", "a"), Term("5", "b"), Term("6", "a"))
    assert [c.operator for c in formula.comparisons] == [">", "<"]
    assert isinstance(formula.tree, And) and formula.is_claim
    doubled = formula.replace(lambda leaf: Arithmetic(leaf, "+", leaf))
    assert str(doubled).startswith(
        "[(5;%a%) + (5;%a%) > (5;%b%) + (5;%b%)] & [(6;%a%) + (6;%a%) + ["
    )


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("", 0, "the end of the formula"),
        ("(noun;%a%) >", 12, "the end of the formula"),
        ("(noun;%a%) > x", 13, "not 'x'"),
        ("(noun;%a%) 3", 11, "unexpected '3'"),
        ("[(noun;%a%) > 3)", 15, "'[' at character 1 is not closed"),
        ("[(noun;%a%) > 3", 15, "'[' at character 1 is not closed"),
        ("(noun;%%) > 3", 0, "a region and a condition"),
        ("1 < 2 < 3", 6, "a comparison has two operands"),
        ("[1 < 2] + 1", 0, "'+' needs quantities"),
        ("1 + [1 < 2]", 4, "'+' needs quantities"),
        ("[1 < 2] > 1", 0, "'>' needs quantities"),
        ("1 < 2 & 3", 8, "'&' joins comparisons"),
        ("3 | 1 < 2", 0, "'|' joins comparisons"),
        ("1e999 > 0", 0, "too large"),
        ("__import__('os')", 0, "not '_'"),
        ("(" * 100 + "1" + ")" * 100, 50, "nested more than"),
        ("[" * 100_000, 50, "nested more than"),
    ],
)
def test_mistakes_have_a_place(text: str, position: int, problem: str) -> None:
    with pytest.raises(FormulaError, match=re.escape(problem)) as caught:
        Formula.parse(text)
    assert caught.value.position == position
    assert f"character {position + 1}:" in str(caught.value)


def test_the_older_form() -> None:
    old = {"relation": "greaterthan", "region_number": 3, "l_operand": "that", "r_operand": "what"}
    assert str(Formula.from_relation(old)) == "(3;%that%) > (3;%what%)"
    assert str(Formula.from_relation({**old, "relation": "lessthan"})) == "(3;%that%) < (3;%what%)"
    with pytest.raises(FormulaError, match="'larger' is not one of lessthan, greaterthan"):
        Formula.from_relation({**old, "relation": "larger"})
    with pytest.raises(FormulaError, match="missing: l_operand"):
        Formula.from_relation({k: v for k, v in old.items() if k != "l_operand"})


def test_equality_has_a_tolerance() -> None:
    assert are_equal(10.0, 10.001) and not are_equal(10.0, 10.01)
    assert not holds(Formula.parse("(noun;%a%) = 3.01"), lookup)


def test_all_published_formulas(reference_data: Path) -> None:
    found = 0
    for path in sorted((reference_data / "published" / "syntaxgym").glob("*.json")):
        for entry in json.loads(path.read_text(encoding="utf-8")).get("predictions", []):
            if "formula" in entry:
                formula = Formula.parse(entry["formula"])
                assert Formula.parse(str(formula)) == formula
                found += 1
    assert found == 14
