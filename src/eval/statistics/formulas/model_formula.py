"""Parsed formulas of mixed models, such as ``value ~ gap + (1 + gap | item)``.

As in R, terms are sorted by their number of variables, and the variables of a term by their first
occurrence in the formula.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

_PLAIN_NAME = re.compile(r"(?:[^\W\d]|\.)[\w.]*")

Quote = Callable[[str], str]


def backticked(name: str) -> str:
    """Return a name as written in formulas: in backticks unless it is a word."""
    if _PLAIN_NAME.fullmatch(name):
        return name
    escaped = name.replace("\\", "\\\\").replace("`", "\\`")
    return f"`{escaped}`"


@dataclass(frozen=True, slots=True)
class Variable:
    """A column of a table, or a power of it: ``depth``, ``I(depth^2)``."""

    name: str
    power: int = 1

    def written(self, quote: Quote = backticked) -> str:
        """Return the variable as written in formulas."""
        name = quote(self.name)
        return name if self.power == 1 else f"I({name}^{self.power})"


# The variables of an interaction; the intercept has none.
ModelTerm = tuple[Variable, ...]
INTERCEPT_TERM: ModelTerm = ()


@dataclass(frozen=True, slots=True)
class RandomPart:
    """Random effects of a grouping factor: ``(1 + gap | suite:item)``.

    With two bars, ``(1 + gap || item)``, terms are not correlated with each other.
    """

    terms: tuple[ModelTerm, ...]
    group: tuple[str, ...]
    is_correlated: bool = True

    @property
    def blocks(self) -> tuple[tuple[ModelTerm, ...], ...]:
        """Groups of correlated terms; two bars give one group per term, as in lme4."""
        return (self.terms,) if self.is_correlated else tuple((term,) for term in self.terms)

    def written(self, quote: Quote = backticked) -> str:
        """Return the random effects as written in formulas."""
        intercept = "1" if INTERCEPT_TERM in self.terms else "0"
        terms = [intercept, *(_written_term(term, quote) for term in self.terms if term)]
        bar = "|" if self.is_correlated else "||"
        return f"({' + '.join(terms)} {bar} {':'.join(map(quote, self.group))})"


@dataclass(frozen=True, slots=True)
class ModelFormula:
    """A parsed formula: the response, the terms of its fixed effects, and its random effects."""

    response: str
    fixed: tuple[ModelTerm, ...]
    random: tuple[RandomPart, ...] = ()

    @property
    def fixed_variables(self) -> tuple[str, ...]:
        """The columns of the fixed effects, sorted."""
        return _names(self.fixed)

    @property
    def slope_variables(self) -> tuple[str, ...]:
        """The columns whose effects vary by group, sorted."""
        return _names(term for part in self.random for term in part.terms)

    @property
    def grouping_factors(self) -> tuple[str, ...]:
        """The columns by which random effects are grouped, sorted."""
        return tuple(sorted({name for part in self.random for name in part.group}))

    @property
    def variables(self) -> tuple[str, ...]:
        """All columns, sorted."""
        used = {*self.fixed_variables, *self.slope_variables, *self.grouping_factors}
        return tuple(sorted({self.response, *used}))

    def written(self, quote: Quote = backticked) -> str:
        """Return the formula as text; ``quote`` quotes names if necessary."""
        terms = [_written_term(term, quote) for term in self.fixed if term]
        if INTERCEPT_TERM not in self.fixed:
            terms = ["0", *terms]
        terms = terms or ["1"]
        terms += [part.written(quote) for part in self.random]
        return f"{quote(self.response)} ~ {' + '.join(terms)}"

    def __str__(self) -> str:
        return self.written()


def _written_term(term: ModelTerm, quote: Quote) -> str:
    return ":".join(variable.written(quote) for variable in term)


def _names(terms: Iterable[ModelTerm]) -> tuple[str, ...]:
    return tuple(sorted({variable.name for term in terms for variable in term}))
