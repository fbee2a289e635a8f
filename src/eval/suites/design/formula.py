"""Predictions as formulas over region surprisals, in SyntaxGym's notation.

``(noun;%match%)`` is the surprisal of the region ``noun`` in the condition ``match``; regions can
also be given by number, counted from 1, and ``*`` is the whole sentence. Terms and numbers are
added and subtracted, sums are compared with ``<``, ``>`` and ``=``, and comparisons are joined with
``&`` and ``|``. Operators of the same precedence associate to the left, and ``&`` and ``|`` have
the same precedence; ``( )`` and ``[ ]`` group::

    [(6;%match_sing%) < (6;%mismatch_sing%)] & [(6;%match_plural%) < (6;%mismatch_plural%)]

A formula is parsed into a tree and never executed as code. Printing a tree gives text that parses
to the same tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from gardenpath.eval.suites.design import formula_parser
from gardenpath.eval.suites.design.formula_parser import FormulaError
from gardenpath.eval.suites.design.formula_tree import (
    And,
    Arithmetic,
    Claim,
    Comparison,
    Lookup,
    Node,
    Number,
    Or,
    Term,
    Value,
    are_equal,
    holds,
    replace_claim,
    replace_value,
    show,
    value,
    walk,
)

__all__ = [
    "WHOLE_SENTENCE",
    "And",
    "Arithmetic",
    "Claim",
    "Comparison",
    "Formula",
    "FormulaError",
    "Lookup",
    "Node",
    "Number",
    "Or",
    "Term",
    "Value",
    "are_equal",
    "holds",
    "value",
    "walk",
]

WHOLE_SENTENCE = "*"

_RELATIONS: Mapping[str, Literal["<", ">", "="]] = {
    "lessthan": "<",
    "greaterthan": ">",
    "equal": "=",
    "equals": "=",
}


@dataclass(frozen=True, slots=True)
class Formula:
    """A prediction (a claim) or an effect (a quantity)."""

    tree: Node

    @classmethod
    def parse(cls, text: str) -> Formula:
        """Parse a formula; a FormulaError gives the position of a mistake."""
        return cls(formula_parser.parse(text))

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
    def terms(self) -> tuple[Term, ...]:
        """The distinct terms of the formula, in order of appearance."""
        return tuple(dict.fromkeys(node for node in walk(self.tree) if isinstance(node, Term)))

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """All comparisons, in order of appearance."""
        return tuple(node for node in walk(self.tree) if isinstance(node, Comparison))

    def value(self, lookup: Lookup) -> float:
        """Return the value of a quantity, in the unit of the lookup (bits)."""
        if isinstance(self.tree, Comparison | And | Or):
            raise FormulaError("a claim has no numeric value", text=str(self))
        return value(self.tree, lookup)

    def holds(self, lookup: Lookup) -> bool:
        """Whether the claim is true; ties get no special treatment."""
        if isinstance(self.tree, Term | Number | Arithmetic):
            raise FormulaError("a quantity without a comparison is not a claim", text=str(self))
        return holds(self.tree, lookup)

    def replace(self, change: Callable[[Term | Number], Value]) -> Formula:
        """Return the formula with every term and number replaced."""
        if isinstance(self.tree, Comparison | And | Or):
            return Formula(replace_claim(self.tree, change))
        return Formula(replace_value(self.tree, change))

    def __str__(self) -> str:
        return show(self.tree)
