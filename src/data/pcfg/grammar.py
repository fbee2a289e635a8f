"""Probabilistic grammars with features: grammar files, quantities in closed form, sampled trees.

Called by toy treebanks and by `exact`. A grammar file is expanded into plain rules over categories
such as ``NP[sg,f]``. In a tree, a category shows only its name, ``NP``. A category whose name
begins with ``_`` is auxiliary and does not appear in trees: its children take its place. Files are
user input: sizes are checked before anything is computed.
"""

from __future__ import annotations

import bisect
import difflib
import itertools
import math
import random
import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from gardenpath.data.arrays import Floats
from gardenpath.data.trees.tree import CLOSE, Event, Open, Tree, Word, from_events
from gardenpath.errors import GrammarError
from gardenpath.store.files import open_text

# The check of consistency takes time that is cubic in the number of categories.
_MOST_CATEGORIES = 1500


@dataclass(frozen=True, slots=True)
class Rule:
    """``left -> right`` with its probability given ``left``; a lexical rule has one word."""

    left: str
    right: tuple[str, ...]
    probability: float
    is_lexical: bool
    line: int


def tree_label(category: str) -> str:
    """Return the label that a category shows in a tree; empty for auxiliary categories."""
    name = category.split("[", 1)[0]
    return "" if name.startswith("_") else name


class Grammar:
    """A proper and consistent probabilistic context-free grammar without empty rules."""

    def __init__(self, *, start: str, rules: Iterable[Rule], path: str) -> None:
        self.start = start
        self.path = path
        by_left: dict[str, list[Rule]] = defaultdict(list)
        for rule in rules:
            by_left[rule.left].append(rule)
        self._require_defined(by_left)
        reachable = self._reachable(by_left)
        if len(reachable) > _MOST_CATEGORIES:
            raise GrammarError(
                f"has {len(reachable):,} categories; at most {_MOST_CATEGORIES:,} are possible",
                path=path,
                remedy="use fewer features, or features with fewer values",
            )
        self.rules: Mapping[str, tuple[Rule, ...]] = {
            left: tuple(by_left[left]) for left in reachable
        }
        self._require_consistent()

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """All categories reachable from the start category, in a fixed order."""
        return tuple(self.rules)

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Maps each category to its position in :attr:`categories`."""
        return {category: number for number, category in enumerate(self.categories)}

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All words, sorted."""
        return tuple(sorted({rule.right[0] for rule in self._all_rules() if rule.is_lexical}))

    @cached_property
    def expected_children(self) -> Floats:
        """``[A, B]``: mean number of children ``B`` in one expansion of ``A``."""
        matrix = np.zeros((len(self.categories), len(self.categories)))
        for rule in self._all_rules():
            if not rule.is_lexical:
                for child, count in Counter(rule.right).items():
                    matrix[self.index[rule.left], self.index[child]] += rule.probability * count
        return matrix

    @cached_property
    def derivation_entropy_bits(self) -> float:
        """The entropy in bits of a derivation, that is, of a sentence together with its tree.

        For an unambiguous grammar, this is the entropy of a sentence; otherwise it exceeds that
        entropy by the mean uncertainty about the tree of a given sentence. A derivation's
        information adds up over its rules, so the mean solves a linear system: H = h + M H.
        """
        local = np.array(
            [
                -sum(rule.probability * math.log2(rule.probability) for rule in rules)
                for rules in self.rules.values()
            ]
        )
        return self.total_over_derivation(local)

    def total_over_derivation(self, per_category: Floats) -> float:
        """Return the mean sum, over the categories of a derivation, of a value of each."""
        identity = np.eye(len(self.categories))
        totals = np.linalg.solve(identity - self.expected_children, per_category)
        return float(totals[self.index[self.start]])

    def _all_rules(self) -> Iterable[Rule]:
        return (rule for rules in self.rules.values() for rule in rules)

    def _require_defined(self, by_left: Mapping[str, list[Rule]]) -> None:
        if self.start not in by_left:
            raise GrammarError(f"the start category {self.start} has no rule", path=self.path)
        for rules in by_left.values():
            for rule in rules:
                missing = [] if rule.is_lexical else [c for c in rule.right if c not in by_left]
                if missing:
                    raise GrammarError(
                        f"{missing[0]} has no rule",
                        path=self.path,
                        line=rule.line,
                        remedy="add one, or restrict the features of this rule",
                    )

    def _reachable(self, by_left: Mapping[str, list[Rule]]) -> list[str]:
        seen = {self.start: None}  # a dict keeps the order of discovery
        pending = deque([self.start])
        while pending:
            for rule in by_left[pending.popleft()]:
                for child in () if rule.is_lexical else rule.right:
                    if child not in seen:
                        seen[child] = None
                        pending.append(child)
        return list(seen)

    def _require_consistent(self) -> None:
        """Require spectral radius of M < 1, so that infinite trees have probability zero."""
        radius = float(np.abs(np.linalg.eigvals(self.expected_children)).max())
        if radius >= 1.0 - 1e-9:
            raise GrammarError(
                f"recursion does not terminate (spectral radius {radius:.3f}, must be below 1)",
                path=self.path,
                remedy="lower the weights of recursive rules",
            )


# ----------------------------------------------------------------------------
# Read grammar files.
#
# ::
#
#     %start S                            # the category of whole sentences
#     %feature num = sg pl                # a feature and its values
#
#     S       -> NP[num] VP[num]          # one rule for each value of num: they agree
#     NP[num] -> Det N[num] {3} | NP[num] PP {1}
#     PP      -> P NP[num]                # num only on the right: any value, equally likely
#     N[sg]   : cat dog*2                 # a lexicon line: words, with optional weights
#     Det     : the
#
# Names in brackets are values or variables. A variable is the name of a feature, or that name
# followed by a digit if two independent variables are needed (``num``, ``num2``). If a variable
# occurs only on the right, the weight of its alternative is divided evenly among its values.
# Weights (``{3}``, ``*2``; default 1) are normalised to sum to one over all rules of a category. A
# line that begins with ``|`` adds alternatives to the rule above; an indented line adds words.


_CATEGORY = re.compile(r"(?P<name>[^\W\d][\w'$]*)(?:\[(?P<features>[^\]]*)\])?")
_WEIGHT = re.compile(r"\{\s*(?P<weight>[0-9.]+)\s*\}\s*$")
_WORD = re.compile(r"(?P<word>\S+?)(?:\*(?P<weight>[0-9.]+))?")

# Weights outside of this range would make probabilities 0 or infinite.
_LEAST_WEIGHT, _MOST_WEIGHT = 1e-9, 1e9
# A rule with many variables stands for the product of their values; this is the limit of all rules
# of a grammar together.
_MOST_RULES = 200_000


@dataclass(frozen=True, slots=True)
class _Category:
    """A category as written, whose features may be values or variables."""

    name: str
    features: tuple[str, ...]

    def bind(self, binding: Mapping[str, str]) -> str:
        if not self.features:
            return self.name
        return f"{self.name}[{','.join(binding.get(f, f) for f in self.features)}]"


@dataclass(frozen=True, slots=True)
class _Schema:
    """A rule as written, before its variables are replaced by values."""

    left: _Category
    right: tuple[_Category, ...] | str
    weight: float
    line: int


def read_grammar(path: Path) -> Grammar:
    """Read, expand and check a grammar file."""
    with open_text(path) as lines:
        return parse_grammar(list(lines), path=str(path))


def parse_grammar(lines: list[str], *, path: str) -> Grammar:
    """Like :func:`read_grammar`, for text that is already in memory."""
    return _Parser(path).parse(lines)


class _Parser:
    def __init__(self, path: str) -> None:
        self._path = path
        self._start: str | None = None
        self._features: dict[str, tuple[str, ...]] = {}
        self._schemas: list[_Schema] = []

    def parse(self, lines: list[str]) -> Grammar:
        for number, text in _logical_lines(lines):
            self._read_line(text, number)
        if self._start is None:
            raise self._error("no start category", 1, "write, for example, '%start S'")
        return Grammar(start=self._start, rules=self._expand(), path=self._path)

    def _read_line(self, text: str, number: int) -> None:
        if text.startswith("%"):
            self._read_directive(text, number)
        elif "->" in text:
            left, right = text.split("->", 1)
            for alternative in right.split("|"):
                self._read_alternative(left, alternative, number)
        elif ":" in text:
            left, words = text.split(":", 1)
            self._read_lexicon(left, words.split(), number)
        else:
            raise self._error(
                f"cannot read {text!r}", number, "expected 'A -> B C', 'A : word' or '%…'"
            )

    def _read_directive(self, text: str, number: int) -> None:
        name, *rest = text[1:].replace("=", " ").split() or [""]
        if name == "start" and len(rest) == 1:
            self._start = rest[0]
        elif name == "feature" and len(rest) >= 2:
            self._features[rest[0]] = tuple(rest[1:])
        else:
            raise self._error(
                f"cannot read {text!r}", number, "expected '%start S' or '%feature num = sg pl'"
            )

    def _read_alternative(self, left: str, alternative: str, number: int) -> None:
        match = _WEIGHT.search(alternative)
        weight = self._weight(match["weight"] if match else None, number)
        names = (alternative[: match.start()] if match else alternative).split()
        if not names:
            raise self._error("this alternative has no children", number, "add at least one")
        right = tuple(self._category(name, number) for name in names)
        self._schemas.append(_Schema(self._category(left.strip(), number), right, weight, number))

    def _read_lexicon(self, left: str, words: list[str], number: int) -> None:
        category = self._category(left.strip(), number)
        if not words:
            raise self._error(f"no words for {left.strip()}", number, "list at least one word")
        for word in words:
            match = _WORD.fullmatch(word)
            assert match is not None  # any string without spaces matches
            weight = self._weight(match["weight"], number)
            self._schemas.append(_Schema(category, match["word"], weight, number))

    def _weight(self, text: str | None, number: int) -> float:
        try:
            weight = 1.0 if text is None else float(text)
        except ValueError:
            weight = 0.0
        if not _LEAST_WEIGHT <= weight <= _MOST_WEIGHT:
            remedy = f"use a number from {_LEAST_WEIGHT:g} to {_MOST_WEIGHT:g}"
            raise self._error(f"{_short(text)!r} is not a weight", number, remedy)
        return weight

    def _category(self, text: str, number: int) -> _Category:
        match = _CATEGORY.fullmatch(text)
        if match is None:
            raise self._error(f"{text!r} is not a category", number, "for example NP or NP[sg]")
        features = tuple(f.strip() for f in (match["features"] or "").split(",") if f.strip())
        for feature in features:
            if not self._is_value(feature) and self._values(feature) is None:
                known = [*self._features, *itertools.chain(*self._features.values())]
                close = difflib.get_close_matches(feature[:100], known[:1000], n=1)
                remedy = (
                    f"did you mean {close[0]!r}?" if close else "declare it with %feature above"
                )
                problem = f"{feature!r} is neither a value nor a feature"
                raise self._error(problem, number, remedy)
        return _Category(match["name"], features)

    def _is_value(self, name: str) -> bool:
        return any(name in values for values in self._features.values())

    def _values(self, variable: str) -> tuple[str, ...] | None:
        exact = self._features.get(variable)
        return exact if exact is not None else self._features.get(variable.rstrip("0123456789"))

    def _expand(self) -> Iterator[Rule]:
        """Replace variables by values and normalise the weights of each category."""
        weights: dict[tuple[str, tuple[str, ...], bool], float] = defaultdict(float)
        lines: dict[tuple[str, tuple[str, ...], bool], int] = {}
        self._require_bounded()
        for schema in self._schemas:
            for left, right, weight in self._instances(schema):
                key = (left, right, isinstance(schema.right, str))
                weights[key] += weight
                lines.setdefault(key, schema.line)
        totals: dict[str, float] = defaultdict(float)
        for (left, _, _), weight in weights.items():
            totals[left] += weight
        for key, weight in weights.items():
            left, right, is_lexical = key
            yield Rule(left, right, weight / totals[left], is_lexical, lines[key])

    def _require_bounded(self) -> None:
        """Count the rules before any is made."""
        total = 0
        for schema in self._schemas:
            right = () if isinstance(schema.right, str) else schema.right
            free = self._free([schema.left, *right], {})
            made = math.prod(len(self._values(name) or ()) for name in free)
            total += made
            if total > _MOST_RULES:
                raise self._error(
                    f"the values of {len(free)} variables make {_short(made)} rules; a grammar "
                    f"may have {_MOST_RULES:,}",
                    schema.line,
                    "use fewer features in one rule, or give some of them values",
                )

    def _instances(self, schema: _Schema) -> Iterator[tuple[str, tuple[str, ...], float]]:
        for outer in self._bindings([schema.left]):
            left = schema.left.bind(outer)
            if isinstance(schema.right, str):
                yield left, (schema.right,), schema.weight
                continue
            inner_bindings = list(self._bindings(schema.right, bound=outer))
            for inner in inner_bindings:
                right = tuple(category.bind({**inner, **outer}) for category in schema.right)
                yield left, right, schema.weight / len(inner_bindings)

    def _bindings(
        self, categories: Sequence[_Category], bound: Mapping[str, str] = {}
    ) -> Iterator[dict[str, str]]:
        """Yield all assignments of values to the variables that are not bound yet."""
        free = self._free(categories, bound)
        choices = [self._values(name) or () for name in free]
        for values in itertools.product(*choices):
            yield dict(zip(free, values, strict=True))

    def _free(self, categories: Sequence[_Category], bound: Mapping[str, str]) -> list[str]:
        """Return the variables of categories that are not bound yet."""
        names = dict.fromkeys(f for category in categories for f in category.features)
        return [name for name in names if name not in bound and not self._is_value(name)]

    def _error(self, problem: str, line: int, remedy: str) -> GrammarError:
        return GrammarError(problem, path=self._path, line=line, remedy=remedy)


def _short(value: object) -> str:
    """Return a value for a message, which may be a number of thousands of digits."""
    if isinstance(value, int) and value >= 10**9:
        return "more than a billion"
    text = str(value)
    return text if len(text) <= 100 else f"{text[:100]}…"


def _logical_lines(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Join continuation lines and drop comments; yield each with the number of its first line."""
    current: tuple[int, str] | None = None
    for number, raw in enumerate(lines, start=1):
        text = re.sub(r"(^|\s)#.*$", "", raw).rstrip()
        if not text:
            continue
        if current is not None and (text[0].isspace() or text[0] == "|"):
            current = (current[0], f"{current[1]} {text.strip()}")
            continue
        if current is not None:
            yield current
        current = (number, text.strip())
    if current is not None:
        yield current


# ----------------------------------------------------------------------------
# Sample trees from a grammar, reproducibly for a given random seed.


class Sampler:
    """An endless stream of independent trees.

    The generator is Python's Mersenne Twister, which produces the same stream on every platform
    and in every version.
    """

    def __init__(self, grammar: Grammar, *, seed: int) -> None:
        self._grammar = grammar
        self._random = random.Random(seed)
        self._cumulative = {
            left: list(itertools.accumulate(rule.probability for rule in rules))
            for left, rules in grammar.rules.items()
        }

    def draw(self) -> Tree:
        """Draw one tree, expanding the leftmost category first."""
        events: list[Event] = []
        pending: list[str | None] = [self._grammar.start]  # None closes a constituent
        while pending:
            category = pending.pop()
            if category is None:
                events.append(CLOSE)
                continue
            cumulative = self._cumulative[category]
            point = self._random.random() * cumulative[-1]
            rule = self._grammar.rules[category][bisect.bisect_right(cumulative, point)]
            if label := tree_label(category):
                events.append(Open(label))
                pending.append(None)
            if rule.is_lexical:
                events.append(Word(rule.right[0]))
            else:
                pending.extend(reversed(rule.right))
        return from_events(events)
