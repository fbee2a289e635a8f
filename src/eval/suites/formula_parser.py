"""The grammar of formulas: recursive descent over tokens, with the place of every mistake.

    claim      = conjunction { "|" conjunction }
    conjunction = comparison { "&" comparison }
    comparison = sum [ ( "<" | ">" | "=" ) sum ]
    sum        = operand { ( "+" | "-" ) operand }
    operand    = term | number | "(" claim ")" | "[" claim "]"

One rule serves quantities and claims, since a bracket may hold either; what may stand where is
checked as the tree is built.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NoReturn

from src.eval.suites.formula import (
    And,
    Arithmetic,
    Claim,
    Comparison,
    FormulaError,
    Node,
    Number,
    Or,
    Term,
    Value,
)

_BLANKS = re.compile(r"\s*")
_TERM = re.compile(r"\(\s*([^;()\[\]%]*?)\s*;\s*%\s*([^%]*?)\s*%\s*\)")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_CLOSING = {"(": ")", "[": "]"}

# Deeper than any linguist nests, shallower than Python's stack.
_DEEPEST = 50


def parse(text: str) -> Node:
    """The tree of a formula."""
    parser = _Parser(text)
    tree = parser.claim()
    if parser.position < len(text):
        parser.fail(f"{text[parser.position]!r} is not expected here")
    return tree


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.depth = 0
        self.skip_blanks()

    def fail(self, problem: str, position: int | None = None) -> NoReturn:
        place = self.position if position is None else position
        raise FormulaError(problem, text=self.text, position=place)

    def skip_blanks(self) -> None:
        found = _BLANKS.match(self.text, self.position)
        self.position = found.end() if found else self.position

    def take(self, signs: str) -> str:
        """The sign that comes next if it is one of ``signs``, else nothing."""
        sign = self.text[self.position : self.position + 1]
        if not sign or sign not in signs:
            return ""
        self.position += 1
        self.skip_blanks()
        return sign

    def claim(self) -> Node:
        return self.joined("|", self.conjunction, Or)

    def conjunction(self) -> Node:
        return self.joined("&", self.comparison, And)

    def joined(self, sign: str, part: Callable[[], Node], kind: type[And] | type[Or]) -> Node:
        start = self.position
        first = part()
        if self.text[self.position : self.position + 1] != sign:
            return first
        parts = [self.as_claim(first, start, sign)]
        while self.take(sign):
            start = self.position
            parts.append(self.as_claim(part(), start, sign))
        return kind(tuple(parts))

    def comparison(self) -> Node:
        start = self.position
        left = self.sum()
        operator = self.take("<>=")
        if not operator:
            return left
        left = self.as_value(left, start, operator)
        start = self.position
        right = self.as_value(self.sum(), start, operator)
        if self.text[self.position : self.position + 1] in ("<", ">", "="):
            self.fail("a comparison compares two quantities; join two comparisons by &")
        return Comparison(left, operator, right)  # type: ignore[arg-type]

    def sum(self) -> Node:
        start = self.position
        total = self.operand()
        while operator := self.take("+-"):
            left = self.as_value(total, start, operator)
            place = self.position
            right = self.as_value(self.operand(), place, operator)
            total = Arithmetic(left, operator, right)  # type: ignore[arg-type]
        return total

    def operand(self) -> Node:
        if found := _TERM.match(self.text, self.position):
            return self.term(found)
        if found := _NUMBER.match(self.text, self.position):
            return self.number(found)
        start = self.position
        opening = self.take("([")
        if not opening:
            rest = self.text[start : start + 1]
            seen = f"not {rest!r}" if rest else "but the formula ends"
            self.fail(f"a term such as (noun;%match%) or a number is expected, {seen}")
        self.depth += 1
        if self.depth > _DEEPEST:
            self.fail(f"brackets are nested more than {_DEEPEST} deep", start)
        inside = self.claim()
        if not self.take(_CLOSING[opening]):
            self.fail(f"{opening!r} of character {start + 1} is not closed here")
        self.depth -= 1
        return inside

    def term(self, found: re.Match[str]) -> Term:
        region, condition = found.groups()
        if not region or not condition:
            self.fail("a term names a region and a condition: (noun;%match%)")
        self.position = found.end()
        self.skip_blanks()
        return Term(region, condition)

    def number(self, found: re.Match[str]) -> Number:
        value = float(found.group())
        if not math.isfinite(value):
            self.fail(f"{found.group()} is too large a number")
        self.position = found.end()
        self.skip_blanks()
        return Number(value)

    def as_value(self, node: Node, start: int, operator: str) -> Value:
        if isinstance(node, Comparison | And | Or):
            self.fail(f"{operator!r} takes quantities, and this is a comparison", start)
        return node

    def as_claim(self, node: Node, start: int, operator: str) -> Claim:
        if not isinstance(node, Comparison | And | Or):
            self.fail(f"{operator!r} joins comparisons, and this is a quantity", start)
        return node
