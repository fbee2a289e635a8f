"""Formulas of mixed models in lme4's notation, codings of factors, and values of settings.

``parse_model_formula`` reads ``value ~ gap + (1 + gap | item)``; analyses, their settings and
designs use its result. Formulas are parsed and never evaluated, and an error names the character
at which it cannot be read. Settings load this module, so it imports no numerical library at its
top; design matrices are made in ``design``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from gardenpath.errors import StatisticsError
from gardenpath.util import is_count

if TYPE_CHECKING:
    from gardenpath.data.arrays import Floats

INTERCEPT = "(Intercept)"

# Distribution of the response given the linear predictor.
Distribution = Literal["gaussian", "binomial"]
# Contrasts that code the levels of a factor.
ContrastKind = Literal["treatment", "sum"]
# Within-item intervals: Loftus and Masson (1994); Cousineau (2005) with Morey's correction; or 1.96
# standard errors of values centred by item, which is Cousineau's interval without the correction.
WithinMethod = Literal["masson_loftus", "cousineau_morey", "item_centred"]
# The distribution to which t statistics of linear models are compared.
Reference = Literal["satterthwaite", "normal"]
# Weights of rows of linear mixed models: none, or precisions by the standard errors of responses.
Weighting = Literal["none", "error"]
# Adjustment of p values for the number of tests of an analysis.
Correction = Literal["none", "bonferroni", "holm", "benjamini_hochberg"]


# Contrast coding of factors. With *treatment* coding a coefficient is the difference between a
# level and the first level, with *sum* coding that between a level and the mean of all levels,
# which is the intercept.


@dataclass(frozen=True, slots=True, kw_only=True)
class Coding:
    """The ordered levels of a factor and the kind of their contrasts."""

    levels: tuple[str, ...]
    kind: ContrastKind = "treatment"

    def __post_init__(self) -> None:
        if len(self.levels) < 2 or len(set(self.levels)) != len(self.levels):
            raise StatisticsError(
                f"a factor needs at least two different levels, not {', '.join(self.levels)!r}"
            )

    @property
    def matrix(self) -> Floats:
        """Contrast matrix, (levels, coefficients)."""
        import numpy as np

        count = len(self.levels)
        if self.kind == "treatment":
            return np.eye(count)[:, 1:]
        return np.vstack([np.eye(count - 1), -np.ones(count - 1)])

    @property
    def names(self) -> tuple[str, ...]:
        """The level to which each column of the matrix belongs."""
        return self.levels[1:] if self.kind == "treatment" else self.levels[:-1]

    def columns(self, values: Iterable[Any]) -> Floats:
        """Return the contrast-coded values, (values, coefficients)."""
        return self.matrix[self.places(values)]

    def places(self, values: Iterable[Any]) -> list[int]:
        """Return the index of each value's level."""
        numbers = {level: number for number, level in enumerate(self.levels)}
        texts = [str(value) for value in values]
        if unknown := sorted(set(texts) - numbers.keys()):
            raise StatisticsError(f"not among the levels of the factor: {', '.join(unknown)}")
        return [numbers[text] for text in texts]


def coding_of(
    values: Iterable[Any], *, kind: ContrastKind, order: Sequence[str] = ()
) -> Coding | None:
    """Code the levels that occur: those in ``order`` first, then all others, sorted.

    Return None if there are fewer than two levels, because there is nothing to compare.
    """
    present = {str(value) for value in values}
    known = [level for level in order if level in present]
    levels = (*known, *sorted(present - set(known)))
    return Coding(levels=levels, kind=kind) if len(levels) > 1 else None


# Parsed formulas. As in R, terms are sorted by their number of variables, and the variables of a
# term by their first occurrence in the formula.

_PLAIN_NAME = re.compile(r"(?:[^\W\d]|\.)[\w.]*")

Quote = Callable[[str], str]


def backticked(name: str) -> str:
    """Return a name as written in formulas: in backticks unless it is a word."""
    return name if _PLAIN_NAME.fullmatch(name) else in_backticks(name)


def in_backticks(name: str) -> str:
    """Return a name in backticks, which R and formulas read alike."""
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


# The parser, by recursive descent::
#
#     formula     = name "~" sum
#     sum         = [ sign ] summand { sign summand }
#     sign        = "+" | "-"
#     summand     = "1" | "0" | product | random
#     product     = interaction { "*" interaction }
#     interaction = operand { ":" operand }
#     operand     = name | "I" "(" name "^" number ")" | "(" sum ")"
#     random      = "(" sum ( "|" | "||" ) group ")"
#     group       = name { ( ":" | "/" ) name }
#
# Names that are not words are quoted with backticks. Intercepts and random effects can be summands
# of a formula, but not part of a product.

_TOKEN = re.compile(
    r"(?P<name>(?:[^\W\d]|\.)[\w.]*)|`(?P<quoted>(?:[^`\\]|\\.)+)`|(?P<number>\d+)"
    r"|(?P<sign>\|\||\*\*|[~+\-*:/|()^])"
)
_BLANKS = re.compile(r"\s*")
# Maximum depth of nested brackets.
_DEEPEST = 50
# Limits of the length of a formula, and of the terms that products such as a*b*c make.
_LONGEST = 20_000
_MOST_TERMS = 500
_LARGEST_POWER = 20

# Context of a sum: random effects are valid only in the formula itself; 1 and 0 not in brackets.
_Where = Literal["formula", "group", "brackets"]


@cache
def parse_model_formula(text: str) -> ModelFormula:
    """Parse a formula; errors name the character at which parsing failed."""
    return _Parser(text).formula()


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # name, number, sign or end
    value: str
    position: int  # characters before it


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        if len(text) > _LONGEST:
            problem = f"has {len(text):,} characters; at most {_LONGEST:,} are read"
            raise StatisticsError(f"the formula {text[:100]!r}… {problem}")
        self._tokens = self._read_tokens()
        self._place = 0
        self._depth = 0
        self._random: list[RandomPart] = []
        # Variables of the fixed effects, or of one random term, in the order of occurrence.
        self._named: dict[Variable, int] = {}

    def _read_tokens(self) -> list[_Token]:
        tokens: list[_Token] = []
        position = 0
        while True:
            blanks = _BLANKS.match(self._text, position)
            position = blanks.end() if blanks else position
            if position == len(self._text):
                return [*tokens, _Token("end", "", position)]
            match = _TOKEN.match(self._text, position)
            if match is None:
                self._fail(f"unexpected {self._text[position]!r}", position)
            kind = str(match.lastgroup)
            value = match.group(kind)
            if kind == "quoted":
                kind, value = "name", re.sub(r"\\(.)", r"\1", value)
            tokens.append(_Token(kind, value, position))
            position = match.end()

    def _fail(self, problem: str, position: int | None = None) -> NoReturn:
        start = self._next.position if position is None else position
        place = f"at character {start + 1}" if start < len(self._text) else "at its end"
        raise StatisticsError(f"the formula {self._text!r} is invalid {place}: {problem}")

    @property
    def _next(self) -> _Token:
        return self._tokens[self._place]

    def _take(self, *signs: str) -> str | None:
        token = self._next
        if token.kind != "sign" or token.value not in signs:
            return None
        self._place += 1
        return token.value

    def _expect(self, *signs: str) -> str:
        if taken := self._take(*signs):
            return taken
        self._fail(f"expected {' or '.join(map(repr, signs))}")

    def _name(self, what: str) -> str:
        if self._next.kind != "name":
            self._fail(f"expected {what}")
        self._place += 1
        return self._tokens[self._place - 1].value

    def formula(self) -> ModelFormula:
        response = self._name("the name of the response")
        self._expect("~")
        fixed = self._sum("formula")
        if self._next.kind != "end":
            self._fail(f"unexpected {self._next.value!r}")
        return ModelFormula(response, fixed, tuple(self._random))

    def _sum(self, where: _Where) -> tuple[ModelTerm, ...]:
        """Return the terms after all additions and subtractions, in R's order."""
        terms = [] if where == "brackets" else [INTERCEPT_TERM]
        sign = self._take("+", "-") or "+"
        while True:
            if self._is_random():
                if where != "formula":
                    where_not = "within brackets or other random effects"
                    self._fail(f"random effects cannot occur {where_not}")
                if sign == "-":
                    self._fail("random effects cannot be subtracted")
                self._random_part()
            else:
                is_added, summand = self._summand(where)
                if is_added == (sign == "+"):
                    terms = list(dict.fromkeys([*terms, *summand]))
                    self._require_few(terms)
                else:
                    terms = [term for term in terms if term not in summand]
            taken = self._take("+", "-")
            if taken is None:
                return tuple(sorted(terms, key=len))
            sign = taken

    def _summand(self, where: _Where) -> tuple[bool, list[ModelTerm]]:
        """Return whether terms are added or removed, and which; 0 removes the intercept."""
        token = self._next
        if token.kind != "number":
            return True, self._product()
        if where == "brackets" or token.value not in ("0", "1"):
            self._fail(f"unexpected {token.value}")
        self._place += 1
        return token.value == "1", [INTERCEPT_TERM]

    def _product(self) -> list[ModelTerm]:
        terms = self._interaction()
        while self._take("*"):
            other = self._interaction()
            terms = [*terms, *other, *self._crossed(terms, other)]
            self._require_few(terms)
        return terms

    def _require_few(self, terms: list[ModelTerm]) -> None:
        if len(terms) > _MOST_TERMS:
            self._fail(f"the formula has more than {_MOST_TERMS} terms")

    def _interaction(self) -> list[ModelTerm]:
        terms = self._operand()
        while self._take(":"):
            terms = self._crossed(terms, self._operand())
        return terms

    def _crossed(self, left: list[ModelTerm], right: list[ModelTerm]) -> list[ModelTerm]:
        """Cross all pairs of terms; variables are unique and in the order of occurrence."""
        if len(left) * len(right) > _MOST_TERMS:
            self._fail(f"a product has more than {_MOST_TERMS} terms")
        return [
            tuple(sorted({*first, *second}, key=self._named.__getitem__))
            for first in left
            for second in right
        ]

    def _operand(self) -> list[ModelTerm]:
        if self._is_random():
            self._fail("random effects cannot be part of a product")
        start = self._next.position
        if self._take("("):
            self._depth += 1
            if self._depth > _DEEPEST:
                self._fail("brackets are nested too deeply", start)
            terms = self._sum("brackets")
            self._expect(")")
            self._depth -= 1
            return list(terms)
        name = self._name("a column or '('")
        if self._next.kind == "sign" and self._next.value == "(":
            variable = self._power(name, start)
        else:
            variable = Variable(name)
        self._named.setdefault(variable, len(self._named))
        return [(variable,)]

    def _power(self, function: str, start: int) -> Variable:
        if function != "I":
            remedy = "add a column to the table and use its name"
            self._fail(f"functions other than I(x^2) are not supported; {remedy}", start)
        self._expect("(")
        name = self._name("a column")
        self._expect("^", "**")
        power = self._next
        if power.kind != "number" or not is_count(power.value):
            self._fail("expected a positive integer")
        if not 1 <= int(power.value) <= _LARGEST_POWER:
            self._fail(f"expected a positive integer up to {_LARGEST_POWER}")
        self._place += 1
        self._expect(")")
        return Variable(name, int(power.value))

    def _is_random(self) -> bool:
        depth = 0
        for token in self._tokens[self._place :]:
            if token.kind == "sign":
                depth += {"(": 1, ")": -1}.get(token.value, 0)
            if depth == 1 and token.kind == "sign" and token.value in ("|", "||"):
                return True
            if depth < 1:
                return False
        return False

    def _random_part(self) -> None:
        self._expect("(")
        outer, self._named = self._named, {}
        terms = self._sum("group")
        if not terms:
            self._fail("expected a random effect")
        self._named = outer
        is_correlated = self._expect("|", "||") == "|"
        group: tuple[str, ...] = ()
        while True:
            group = tuple(dict.fromkeys([*group, self._name("the name of a grouping factor")]))
            joint = self._take(":", "/")
            if joint != ":":
                self._random.append(RandomPart(terms, group, is_correlated))
            if joint is None:
                break
        self._expect(")")
