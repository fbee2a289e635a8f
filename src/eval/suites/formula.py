"""Predictions and effects as formulas over region surprisals, in SyntaxGym's notation.

Suites hold formulas, their readers parse them, and ``outcomes`` and ``effects`` evaluate them. A
formula is parsed into a tree and never executed as code; printing the tree gives text that parses
to the same tree. ``(noun;%match%)`` is the surprisal of the region ``noun`` in the condition
``match``; regions can also be given by number, counted from 1, and ``*`` is the whole sentence.
Terms and numbers are added and subtracted, sums are compared with ``<``, ``>`` and ``=``, and
comparisons are joined with ``&`` and ``|``. Operators of the same precedence associate to the left,
and ``&`` and ``|`` have the same precedence; ``( )`` and ``[ ]`` group::

    [(6;%match_sing%) < (6;%mismatch_sing%)] & [(6;%match_plural%) < (6;%mismatch_plural%)]
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn, TypeAlias, assert_never, cast

from gardenpath.errors import GardenpathError

WHOLE_SENTENCE = "*"

Lookup: TypeAlias = Callable[[str, str], float]
"""The surprisal of a region (by the name or number that the formula uses) in a condition."""


@dataclass(frozen=True, slots=True)
class Term:
    """The surprisal of a region in a condition."""

    region: str
    condition: str


@dataclass(frozen=True, slots=True)
class Number:
    """A constant, in bits."""

    value: float


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """A sum or a difference."""

    left: Value
    operator: Literal["+", "-"]
    right: Value


@dataclass(frozen=True, slots=True)
class Comparison:
    """A claim about two quantities."""

    left: Value
    operator: Literal["<", ">", "="]
    right: Value


@dataclass(frozen=True, slots=True)
class And:
    """A claim that is true if all parts are true."""

    parts: tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """A claim that is true if at least one part is true."""

    parts: tuple[Claim, ...]


Value: TypeAlias = Term | Number | Arithmetic
Claim: TypeAlias = Comparison | And | Or
Node: TypeAlias = Value | Claim


def walk(node: Node) -> Iterator[Node]:
    """Yield the node and all its descendants, from left to right, parents first."""
    yield node
    match node:
        case Term() | Number():
            pass
        case Arithmetic() | Comparison():
            yield from walk(node.left)
            yield from walk(node.right)
        case And() | Or():
            for part in node.parts:
                yield from walk(part)
        case _:
            assert_never(node)


def signed_terms(node: Value, sign: int = 1) -> Iterator[tuple[int, Term | Number]]:
    """Yield the terms and numbers of a quantity, each with its sign in the whole sum."""
    if isinstance(node, Arithmetic):
        yield from signed_terms(node.left, sign)
        yield from signed_terms(node.right, sign if node.operator == "+" else -sign)
    else:
        yield sign, node


def are_equal(left: float, right: float) -> bool:
    """Whether two surprisals are equal within the tolerance of ``=``."""
    return abs(left - right) <= equality_tolerance(right)


def equality_tolerance(right: float) -> float:
    """Return the largest difference from ``right`` that counts as equal, in bits, as SyntaxGym."""
    return 1e-3 + 1e-5 * abs(right)


def _show(node: Node) -> str:
    """Return the canonical text, with square brackets around nested sums and joined claims."""
    match node:
        case Term():
            return f"({node.region};%{node.condition}%)"
        case Number():
            is_plain = node.value.is_integer() and abs(node.value) < 1e15
            return f"{node.value:.0f}" if is_plain else repr(node.value)
        case Arithmetic():
            right = _show(node.right)
            grouped = f"[{right}]" if isinstance(node.right, Arithmetic) else right
            return f"{_show(node.left)} {node.operator} {grouped}"
        case Comparison():
            return f"{_show(node.left)} {node.operator} {_show(node.right)}"
        case And() | Or():
            sign = " & " if isinstance(node, And) else " | "
            return sign.join(f"[{_show(part)}]" for part in node.parts)
        case _:
            assert_never(node)


# Recursive-descent parser of formulas, which reports the position of every mistake::
#
#     claim      = comparison { ( "&" | "|" ) comparison }
#     comparison = sum [ ( "<" | ">" | "=" ) sum ]
#     sum        = operand { ( "+" | "-" ) operand }
#     operand    = term | number | "(" claim ")" | "[" claim "]"
#
# ``&`` and ``|`` have the same precedence and associate to the left, as in SyntaxGym. The same
# rules parse quantities and claims because brackets may contain either; the types of operands are
# checked while the tree is built.

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
        if len(text) > 2 * _SHOWN:
            start, end = max(0, (position or 0) - _SHOWN), (position or 0) + _SHOWN
            text = f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
        super().__init__(f"formula {text!r}{place}: {problem}")


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.depth = 0
        self.operands = 0
        self.advance(0)

    def parse(self) -> Node:
        tree = self.claim()
        if self.position < len(self.text):
            self.fail(f"unexpected {self.text[self.position]!r}")
        return tree

    def fail(self, problem: str, position: int | None = None) -> NoReturn:
        place = self.position if position is None else position
        raise FormulaError(problem, text=self.text, position=place)

    def advance(self, position: int) -> None:
        rest = self.text[position:]
        self.position = position + len(rest) - len(rest.lstrip())

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
        leaf: Term | Number
        if match := _TERM.match(self.text, self.position):
            region, condition = (name.strip() for name in match.groups())
            if not region or not condition:
                self.fail("a term needs a region and a condition: (noun;%match%)")
            leaf = Term(region, condition)
        elif match := _NUMBER.match(self.text, self.position):
            leaf = Number(float(match.group()))
            if not math.isfinite(leaf.value):
                self.fail(f"the number {match.group()[:30]} is too large")
        elif self.next_is("(["):
            return self.group()
        else:
            rest = self.text[self.position : self.position + 1]
            seen = repr(rest) if rest else "the end of the formula"
            self.fail(f"expected a term such as (noun;%match%) or a number, not {seen}")
        self.advance(match.end())
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

    def as_value(self, node: Node, start: int, operator: str) -> Value:
        if isinstance(node, Comparison | And | Or):
            self.fail(f"{operator!r} needs quantities, but this is a comparison", start)
        return node

    def as_claim(self, node: Node, start: int, operator: str) -> Claim:
        if not isinstance(node, Comparison | And | Or):
            self.fail(f"{operator!r} joins comparisons, but this is a quantity", start)
        return node


# SyntaxGym's older form of a prediction.
_RELATIONS: Mapping[str, Literal["<", ">", "="]]
_RELATIONS = {"lessthan": "<", "greaterthan": ">", "equal": "=", "equals": "="}


@dataclass(frozen=True, slots=True)
class Formula:
    """A prediction (a claim) or an effect (a quantity)."""

    tree: Node

    @classmethod
    def parse(cls, text: str) -> Formula:
        """Parse a formula; a FormulaError gives the position of a mistake."""
        return cls(_Parser(text).parse())

    @classmethod
    def from_relation(cls, relation: Mapping[str, object]) -> Formula:
        """Read the older form ``{relation, region_number, l_operand, r_operand}``."""
        text = str(dict(relation))
        wanted = ("relation", "region_number", "l_operand", "r_operand")
        if missing := [name for name in wanted if name not in relation]:
            raise FormulaError(f"missing: {', '.join(missing)}", text=text)
        name, region, left, right = (str(relation[key]) for key in wanted)
        if name not in _RELATIONS:
            raise FormulaError(f"{name!r} is not one of {', '.join(_RELATIONS)}", text=text)
        return cls(Comparison(Term(region, left), _RELATIONS[name], Term(region, right)))

    @property
    def is_claim(self) -> bool:
        """Whether the formula is a claim, which is true or false, rather than a quantity."""
        return isinstance(self.tree, Comparison | And | Or)

    @property
    def quantity(self) -> Value:
        """The tree of an effect; a claim has no numeric value."""
        if isinstance(self.tree, Comparison | And | Or):
            raise FormulaError("a claim has no numeric value", text=str(self))
        return self.tree

    @property
    def terms(self) -> tuple[Term, ...]:
        """The distinct terms of the formula, in order of appearance."""
        return tuple(dict.fromkeys(node for node in walk(self.tree) if isinstance(node, Term)))

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """All comparisons, in order of appearance."""
        return tuple(node for node in walk(self.tree) if isinstance(node, Comparison))

    def replace(self, change: Callable[[Term | Number], Value]) -> Formula:
        """Return the formula with every term and number replaced."""

        def changed(node: Node) -> Any:
            match node:
                case Term() | Number():
                    return change(node)
                case Arithmetic() | Comparison():
                    return replace(node, left=changed(node.left), right=changed(node.right))
                case And() | Or():
                    return replace(node, parts=tuple(map(changed, node.parts)))

        return Formula(changed(self.tree))

    def __str__(self) -> str:
        return _show(self.tree)
