"""Parser of mixed model formulas in the notation of lme4.

Formulas are parsed by recursive descent and never evaluated::

    formula     = name "~" sum
    sum         = [ sign ] summand { sign summand }
    sign        = "+" | "-"
    summand     = "1" | "0" | product | random
    product     = interaction { "*" interaction }
    interaction = operand { ":" operand }
    operand     = name | "I" "(" name "^" number ")" | "(" sum ")"
    random      = "(" sum ( "|" | "||" ) group ")"
    group       = name { ( ":" | "/" ) name }

Names that are not words are quoted with backticks. Intercepts and random effects can be summands of
a formula, but not part of a product.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal, NoReturn

from gardenpath.eval.statistics.formulas.model_formula import (
    INTERCEPT_TERM,
    ModelFormula,
    ModelTerm,
    RandomPart,
    Variable,
)
from gardenpath.eval.statistics.statistics_error import StatisticsError
from gardenpath.text import is_count

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
        self._tokens = self._read_tokens()
        self._place = 0
        self._depth = 0
        self._random: list[RandomPart] = []
        # Variables of the fixed effects, or of one random term, in the order of occurrence.
        self._named: dict[Variable, int] = {}

    def _read_tokens(self) -> list[_Token]:
        tokens: list[_Token] = []
        position = 0
        if len(self._text) > _LONGEST:
            problem = f"has {len(self._text):,} characters; at most {_LONGEST:,} are read"
            raise StatisticsError(f"the formula {self._text[:100]!r}… {problem}")
        while True:
            blanks = _BLANKS.match(self._text, position)
            position = blanks.end() if blanks else position
            if position == len(self._text):
                return [*tokens, _Token("end", "", position)]
            found = _TOKEN.match(self._text, position)
            if found is None:
                self._fail(f"unexpected {self._text[position]!r}", position)
            kind = str(found.lastgroup)
            value = found.group(kind)
            if kind == "quoted":
                kind, value = "name", re.sub(r"\\(.)", r"\1", value)
            tokens.append(_Token(kind, value, position))
            position = found.end()

    def _fail(self, problem: str, position: int | None = None) -> NoReturn:
        start = self._next.position if position is None else position
        place = f"at character {start + 1}" if start < len(self._text) else "at its end"
        raise StatisticsError(f"the formula {self._text!r} is invalid {place}: {problem}")

    @property
    def _next(self) -> _Token:
        return self._tokens[self._place]

    def _take(self, *signs: str) -> str | None:
        """Consume the next token if it is one of these signs."""
        token = self._next
        if token.kind != "sign" or token.value not in signs:
            return None
        self._place += 1
        return token.value

    def _expect(self, *signs: str) -> str:
        taken = self._take(*signs)
        if taken is None:
            self._fail(f"expected {' or '.join(repr(sign) for sign in signs)}")
        return taken

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
                self._check_random(where, sign)
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
            tuple(sorted({*one, *other}, key=self._named.__getitem__))
            for one in left
            for other in right
        ]

    def _operand(self) -> list[ModelTerm]:
        if self._is_random():
            self._fail("random effects cannot be part of a product")
        start = self._next.position
        if self._take("("):
            return self._in_brackets(start)
        name = self._name("a column or '('")
        if self._next.kind == "sign" and self._next.value == "(":
            variable = self._power(name, start)
        else:
            variable = Variable(name)
        self._named.setdefault(variable, len(self._named))
        return [(variable,)]

    def _in_brackets(self, start: int) -> list[ModelTerm]:
        self._depth += 1
        if self._depth > _DEEPEST:
            self._fail("brackets are nested too deeply", start)
        terms = self._sum("brackets")
        self._expect(")")
        self._depth -= 1
        return list(terms)

    def _power(self, function: str, start: int) -> Variable:
        """Parse ``I(depth^2)`` after its ``I``."""
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
        """Whether the next token opens a bracket that contains a bar."""
        depth = 0
        for token in self._tokens[self._place :]:
            if token.kind == "sign":
                depth += {"(": 1, ")": -1}.get(token.value, 0)
            if depth == 1 and token.kind == "sign" and token.value in ("|", "||"):
                return True
            if depth < 1:
                return False
        return False

    def _check_random(self, where: _Where, sign: str) -> None:
        if where != "formula":
            self._fail("random effects cannot occur within brackets or other random effects")
        if sign == "-":
            self._fail("random effects cannot be subtracted")

    def _random_part(self) -> None:
        """Parse random effects, bar and group; ``a/b`` abbreviates ``a`` and ``a:b``."""
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
