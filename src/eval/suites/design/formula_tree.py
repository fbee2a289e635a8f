"""The syntax tree of a formula: quantities, claims about them, and their evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias, assert_never

# Tolerance of ``=``: |left - right| <= absolute + relative · |right|. These are SyntaxGym's values,
# in bits, so predictions of equality have the same results as in SyntaxGym.
EQUAL_ABSOLUTE = 1e-3
EQUAL_RELATIVE = 1e-5

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


def value(node: Value, lookup: Lookup) -> float:
    """Return the value of a quantity, in the unit of the lookup."""
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
    """Whether a claim is true. ``<`` and ``>`` are strict, ``=`` has a tolerance."""
    match node:
        case Comparison():
            left, right = value(node.left, lookup), value(node.right, lookup)
            if node.operator == "=":
                return are_equal(left, right)
            return left < right if node.operator == "<" else left > right
        case And():
            return all(holds(part, lookup) for part in node.parts)
        case Or():
            return any(holds(part, lookup) for part in node.parts)
        case _:
            assert_never(node)


def are_equal(left: float, right: float) -> bool:
    """Whether two surprisals are equal within the tolerance of ``=``."""
    return abs(left - right) <= equality_tolerance(right)


def equality_tolerance(right: float) -> float:
    """Return the largest difference from ``right`` that counts as equal, in bits."""
    return EQUAL_ABSOLUTE + EQUAL_RELATIVE * abs(right)


def show(node: Node) -> str:
    """Return the canonical text, with square brackets around nested sums and joined claims."""
    match node:
        case Term():
            return f"({node.region};%{node.condition}%)"
        case Number():
            is_plain = node.value.is_integer() and abs(node.value) < 1e15
            return f"{node.value:.0f}" if is_plain else repr(node.value)
        case Arithmetic():
            right = show(node.right)
            grouped = f"[{right}]" if isinstance(node.right, Arithmetic) else right
            return f"{show(node.left)} {node.operator} {grouped}"
        case Comparison():
            return f"{show(node.left)} {node.operator} {show(node.right)}"
        case And() | Or():
            sign = " & " if isinstance(node, And) else " | "
            return sign.join(f"[{show(part)}]" for part in node.parts)
        case _:
            assert_never(node)


def replace_claim(node: Claim, change: Callable[[Term | Number], Value]) -> Claim:
    """Return the claim with every term and number replaced."""
    match node:
        case Comparison():
            left, right = replace_value(node.left, change), replace_value(node.right, change)
            return Comparison(left, node.operator, right)
        case And():
            return And(tuple(replace_claim(part, change) for part in node.parts))
        case Or():
            return Or(tuple(replace_claim(part, change) for part in node.parts))
        case _:
            assert_never(node)


def replace_value(node: Value, change: Callable[[Term | Number], Value]) -> Value:
    """Return the quantity with every term and number replaced."""
    if isinstance(node, Arithmetic):
        left, right = replace_value(node.left, change), replace_value(node.right, change)
        return Arithmetic(left, node.operator, right)
    return change(node)
