"""Predictions as formulas over region surprisals, in SyntaxGym's notation.

``(noun;%match%)`` is the surprisal of the region ``noun`` in the condition ``match``; regions may
also be numbered from 1, and ``*`` is the whole sentence. Terms and numbers are added and subtracted,
compared with ``<``, ``>`` and ``=``, and comparisons are joined by ``&`` and ``|``, binding in this
order. ``( )`` and ``[ ]`` group::

    [(6;%match_sing%) < (6;%mismatch_sing%)] & [(6;%match_plural%) < (6;%mismatch_plural%)]

A formula is parsed to a tree and never run as code. Joins of equal rank stay flat, sums associate
to the left, and printing a tree gives text that parses to the same tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, assert_never

from src.errors import GardenpathError

WHOLE_SENTENCE = "*"

Lookup: TypeAlias = Callable[[str, str], float]
"""The surprisal of a region (by the name or number that the formula uses) in a condition."""


class FormulaError(GardenpathError):
    """A formula that cannot be read, or that is used as what it is not."""

    def __init__(self, problem: str, *, text: str, position: int | None = None) -> None:
        self.problem = problem
        self.text = text
        self.position = position
        place = "" if position is None else f", character {position + 1}"
        super().__init__(f"formula {text!r}{place}: {problem}")


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
    """Claims that must all hold."""

    parts: tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Claims of which one must hold."""

    parts: tuple[Claim, ...]


Value: TypeAlias = Term | Number | Arithmetic
Claim: TypeAlias = Comparison | And | Or
Node: TypeAlias = Value | Claim


@dataclass(frozen=True, slots=True)
class Formula:
    """A prediction (a claim) or an effect (a quantity)."""

    tree: Node

    @classmethod
    def parse(cls, text: str) -> Formula:
        """Read a formula; FormulaError says where it goes wrong."""
        from src.eval.suites.formula_parser import parse

        return cls(parse(text))

    @classmethod
    def from_relation(cls, relation: Mapping[str, object]) -> Formula:
        """The older form ``{relation, region_number, l_operand, r_operand}``: two conditions."""
        wanted = ("relation", "region_number", "l_operand", "r_operand")
        if missing := [name for name in wanted if name not in relation]:
            raise FormulaError(f"{', '.join(missing)} missing", text=str(dict(relation)))
        name, region, left, right = (str(relation[key]) for key in wanted)
        if name not in _RELATIONS:
            raise FormulaError(
                f"relation {name!r} is none of {', '.join(_RELATIONS)}", text=str(dict(relation))
            )
        return cls(Comparison(Term(region, left), _RELATIONS[name], Term(region, right)))

    @property
    def is_claim(self) -> bool:
        """Whether the formula is true or false, rather than a quantity."""
        return isinstance(self.tree, Comparison | And | Or)

    @property
    def terms(self) -> tuple[Term, ...]:
        """The different region surprisals that the formula is about, in order of appearance."""
        return tuple(dict.fromkeys(node for node in walk(self.tree) if isinstance(node, Term)))

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """All comparisons, in order of appearance."""
        return tuple(node for node in walk(self.tree) if isinstance(node, Comparison))

    def value(self, lookup: Lookup) -> float:
        """The quantity, in the unit of the lookup (bits)."""
        if isinstance(self.tree, Comparison | And | Or):
            raise FormulaError("a comparison is true or false and has no value", text=str(self))
        return value(self.tree, lookup)

    def holds(self, lookup: Lookup) -> bool:
        """Whether the claim is true; equal quantities satisfy ``=`` alone."""
        if isinstance(self.tree, Term | Number | Arithmetic):
            raise FormulaError("a quantity without a comparison cannot be true", text=str(self))
        return holds(self.tree, lookup)

    def replace(self, change: Callable[[Term | Number], Value]) -> Formula:
        """The same formula with every term and number replaced."""
        return Formula(_replace(self.tree, change))

    def __str__(self) -> str:
        return show(self.tree)


_RELATIONS: Mapping[str, Literal["<", ">", "="]] = {
    "lessthan": "<",
    "greaterthan": ">",
    "equal": "=",
    "equals": "=",
    "equalto": "=",
}


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, from left to right, parents first."""
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


def value(node: Value, lookup: Lookup) -> float:
    """The quantity that a part of a formula denotes."""
    match node:
        case Term():
            return lookup(node.region, node.condition)
        case Number():
            return node.value
        case Arithmetic():
            left, right = value(node.left, lookup), value(node.right, lookup)
            return left + right if node.operator == "+" else left - right
        case _:
            assert_never(node)


def holds(node: Claim, lookup: Lookup) -> bool:
    """Whether a part of a formula is true."""
    match node:
        case Comparison():
            left, right = value(node.left, lookup), value(node.right, lookup)
            return {"<": left < right, ">": left > right, "=": left == right}[node.operator]
        case And():
            return all(holds(part, lookup) for part in node.parts)
        case Or():
            return any(holds(part, lookup) for part in node.parts)
        case _:
            assert_never(node)


def show(node: Node) -> str:
    """The canonical text: brackets wherever a reader might need them, and only square ones."""
    match node:
        case Term():
            return f"({node.region};%{node.condition}%)"
        case Number():
            return f"{node.value:.0f}" if _is_plain(node.value) else repr(node.value)
        case Arithmetic():
            right = f"[{show(node.right)}]" if isinstance(node.right, Arithmetic) else None
            return f"{show(node.left)} {node.operator} {right or show(node.right)}"
        case Comparison():
            return f"{show(node.left)} {node.operator} {show(node.right)}"
        case And() | Or():
            sign = " & " if isinstance(node, And) else " | "
            return sign.join(f"[{show(part)}]" for part in node.parts)
        case _:
            assert_never(node)


def _is_plain(number: float) -> bool:
    return number.is_integer() and abs(number) < 1e15


def _replace(node: Node, change: Callable[[Term | Number], Value]) -> Node:
    match node:
        case Term() | Number():
            return change(node)
        case Arithmetic() | Comparison():
            left, right = _replace(node.left, change), _replace(node.right, change)
            return type(node)(left, node.operator, right)  # type: ignore[arg-type]
        case And() | Or():
            return type(node)(tuple(_replace(part, change) for part in node.parts))  # type: ignore[misc]
        case _:
            assert_never(node)
