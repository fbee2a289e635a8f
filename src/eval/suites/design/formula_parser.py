"""Recursive-descent parser of formulas, which reports the position of every mistake.

::

    claim      = comparison { ( "&" | "|" ) comparison }
    comparison = sum [ ( "<" | ">" | "=" ) sum ]
    sum        = operand { ( "+" | "-" ) operand }
    operand    = term | number | "(" claim ")" | "[" claim "]"

``&`` and ``|`` have the same precedence and associate to the left, as in SyntaxGym. The same rules
parse quantities and claims because brackets may contain either; the types of operands are checked
while the tree is built.
"""

from __future__ import annotations

import math
import re
from typing import Literal, NoReturn, cast

from gardenpath.errors import GardenpathError
from gardenpath.eval.suites.design.formula_tree import (
    And,
    Arithmetic,
    Claim,
    Comparison,
    Node,
    Number,
    Or,
    Term,
    Value,
)

_BLANKS = re.compile(r"\s*")
# No two parts of the pattern match the same character, so that matching takes linear time; blanks
# around names are removed afterwards.
_TERM = re.compile(r"\(([^;()\[\]%]*);\s*%([^%]*)%\s*\)")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_CLOSING = {"(": ")", "[": "]"}

# Maximum nesting depth; it prevents a stack overflow in the recursive parser.
_DEEPEST = 50
# Maximum number of terms and numbers: a sum is a tree as deep as it is long.
_MOST_OPERANDS = 200
# Characters of a formula that messages show on each side of a mistake.
_SHOWN = 60


class FormulaError(GardenpathError):
    """A formula that cannot be parsed or evaluated; ``position`` counts characters from 0."""

    def __init__(self, problem: str, *, text: str, position: int | None = None) -> None:
        self.problem = problem
        self.text = text
        self.position = position
        place = "" if position is None else f", character {position + 1}"
        super().__init__(f"formula {_excerpt(text, position or 0)!r}{place}: {problem}")


def _excerpt(text: str, position: int) -> str:
    """Return a formula for a message: if it is long, the part around a position."""
    start, end = max(0, position - _SHOWN), position + _SHOWN
    if len(text) <= 2 * _SHOWN:
        return text
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def parse(text: str) -> Node:
    """Parse a formula into a tree."""
    parser = _Parser(text)
    tree = parser.claim()
    if parser.position < len(text):
        parser.fail(f"unexpected {text[parser.position]!r}")
    return tree


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.depth = 0
        self.operands = 0
        self.advance(0)

    def fail(self, problem: str, position: int | None = None) -> NoReturn:
        place = self.position if position is None else position
        raise FormulaError(problem, text=self.text, position=place)

    def advance(self, position: int) -> None:
        found = _BLANKS.match(self.text, position)
        self.position = found.end() if found else position

    def next_is(self, signs: str) -> bool:
        sign = self.text[self.position : self.position + 1]
        return sign != "" and sign in signs

    def take(self, signs: str) -> str:
        """Consume and return the next sign if it is one of ``signs``, else return ``""``."""
        if not self.next_is(signs):
            return ""
        sign = self.text[self.position]
        self.advance(self.position + 1)
        return sign

    def claim(self) -> Node:
        start = self.position
        tree = self.comparison()
        while self.next_is("&|"):
            sign = self.text[self.position]
            parts = [self.as_claim(tree, start, sign)]
            while self.take(sign):
                place = self.position
                parts.append(self.as_claim(self.comparison(), place, sign))
            tree = And(tuple(parts)) if sign == "&" else Or(tuple(parts))
        return tree

    def comparison(self) -> Node:
        start = self.position
        left = self.sum()
        operator = self.take("<>=")
        if not operator:
            return left
        left = self.as_value(left, start, operator)
        start = self.position
        right = self.as_value(self.sum(), start, operator)
        if self.next_is("<>="):
            self.fail("a comparison has two operands; join two comparisons with &")
        return Comparison(left, cast(Literal["<", ">", "="], operator), right)

    def sum(self) -> Node:
        start = self.position
        total = self.operand()
        while operator := self.take("+-"):
            left = self.as_value(total, start, operator)
            place = self.position
            right = self.as_value(self.operand(), place, operator)
            total = Arithmetic(left, cast(Literal["+", "-"], operator), right)
        return total

    def operand(self) -> Node:
        if found := _TERM.match(self.text, self.position):
            return self.counted(self.term(found))
        if found := _NUMBER.match(self.text, self.position):
            return self.counted(self.number(found))
        if self.next_is("(["):
            return self.group()
        rest = self.text[self.position : self.position + 1]
        seen = repr(rest) if rest else "the end of the formula"
        self.fail(f"expected a term such as (noun;%match%) or a number, not {seen}")

    def counted(self, leaf: Term | Number) -> Term | Number:
        self.operands += 1
        if self.operands > _MOST_OPERANDS:
            self.fail(f"a formula has at most {_MOST_OPERANDS} terms and numbers")
        return leaf

    def group(self) -> Node:
        start = self.position
        opening = self.take("([")
        self.depth += 1
        if self.depth > _DEEPEST:
            self.fail(f"brackets are nested more than {_DEEPEST} deep", start)
        inside = self.claim()
        if not self.take(_CLOSING[opening]):
            self.fail(f"{opening!r} at character {start + 1} is not closed")
        self.depth -= 1
        return inside

    def term(self, found: re.Match[str]) -> Term:
        region, condition = (name.strip() for name in found.groups())
        if not region or not condition:
            self.fail("a term needs a region and a condition: (noun;%match%)")
        self.advance(found.end())
        return Term(region, condition)

    def number(self, found: re.Match[str]) -> Number:
        value = float(found.group())
        if not math.isfinite(value):
            self.fail(f"the number {found.group()[:30]} is too large")
        self.advance(found.end())
        return Number(value)

    def as_value(self, node: Node, start: int, operator: str) -> Value:
        if isinstance(node, Comparison | And | Or):
            self.fail(f"{operator!r} needs quantities, but this is a comparison", start)
        return node

    def as_claim(self, node: Node, start: int, operator: str) -> Claim:
        if not isinstance(node, Comparison | And | Or):
            self.fail(f"{operator!r} joins comparisons, but this is a quantity", start)
        return node
