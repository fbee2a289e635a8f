"""Probabilistic grammars with features: files, quantities in closed form, samples, exact scores.

Called by toy treebanks, by scoring and perplexity on them, and by tests as the truth. A grammar
file is expanded into plain rules over categories such as ``NP[sg,f]``. In a tree, a category shows
only its name, ``NP``. A category whose name begins with ``_`` is auxiliary and does not appear in
trees: its children take its place. Files are user input: sizes are checked before anything is
computed. No model's prediction enters here.
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

from gardenpath.data.arrays import Floats, Ints
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
        reachable = {start: None}  # a dict keeps the order of discovery
        pending = deque(reachable)
        while pending:
            for rule in by_left[pending.popleft()]:
                for child in () if rule.is_lexical else rule.right:
                    if child not in reachable:
                        reachable[child] = None
                        pending.append(child)
        if len(reachable) > _MOST_CATEGORIES:
            most = f"at most {_MOST_CATEGORIES:,} are possible"
            remedy = "use fewer features, or features with fewer values"
            raise GrammarError(
                f"has {len(reachable):,} categories; {most}", path=path, remedy=remedy
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
        for rule in itertools.chain.from_iterable(by_left.values()):
            missing = [] if rule.is_lexical else [c for c in rule.right if c not in by_left]
            if missing:
                problem = f"{missing[0]} has no rule"
                remedy = "add one, or restrict the features of this rule"
                raise GrammarError(problem, path=self.path, line=rule.line, remedy=remedy)

    def _require_consistent(self) -> None:
        """Require spectral radius of M < 1, so that infinite trees have probability zero."""
        radius = float(np.abs(np.linalg.eigvals(self.expected_children)).max())
        if radius >= 1.0 - 1e-9:
            raise GrammarError(
                f"recursion does not terminate (spectral radius {radius:.3f}, must be below 1)",
                path=self.path,
                remedy="lower the weights of recursive rules",
            )


# ---- Read grammar files
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
                declare = "declare it with %feature above"
                remedy = f"did you mean {close[0]!r}?" if close else declare
                problem = f"{feature!r} is neither a value nor a feature"
                raise self._error(problem, number, remedy)
        return _Category(match["name"], features)

    def _is_value(self, name: str) -> bool:
        return any(name in values for values in self._features.values())

    def _values(self, variable: str) -> tuple[str, ...] | None:
        name = variable if variable in self._features else variable.rstrip("0123456789")
        return self._features.get(name)

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


# ---- Exact word probabilities, for the best possible perplexity
#
# The probability that a sentence begins with w1 … wi is a sum over all trees, of which there are
# infinitely many if the grammar is left-recursive. Jelinek and Lafferty (1991) compute this sum in
# closed form: with the left-corner probabilities collected in L = (I - P)^-1, prefix probabilities
# follow from inside probabilities by a similar recursion (Stolcke 1995 gives an alternative)::
#
#     inside(A, i, k) = sum over A -> B C and j   p · inside(B, i, j) · inside(C, j, k)
#     prefix(A, i, k) = sum over D and D -> B C and j
#                                 L(A, D) · p · inside(B, i, j) · prefix(C, j, k)
#
# Rules are binarised first; unary rules are summed in closed form by U = (I - P_unary)^-1. All
# sentences of equal length are computed at once.

# Limits the memory of the two charts of one batch.
_CHART_BYTES = 256 * 2**20

# Scaled charts stay below this value. The scaled probability of a span, times the probability that
# the span is expected in its position, is at most 1, so only nearly impossible spans come close.
_CEILING = 1e100


@dataclass(frozen=True, slots=True)
class _Binarised:
    """A grammar with rules of at most two children, as arrays; binary rules sorted by parent."""

    size: int
    start: int
    lexicon: dict[str, tuple[Ints, Floats]]
    left: Ints
    right: Ints
    probability: Floats
    parents: Ints  # the distinct parents of binary rules
    first_of_parent: Ints  # index of the first rule of each parent
    unary_closure: Floats  # transposed, for chart @ closure
    left_corner_closure: Floats


class ExactModel:
    """The grammar as a language model; no other model predicts its sentences better."""

    def __init__(self, grammar: Grammar) -> None:
        self._rules = _binarise(grammar)

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return the log probability (nats) of each word given its prefix and, last, of the end.

        A word that the grammar excludes has log probability minus infinity; after it, no
        distribution is defined, and the remaining values are NaN.
        """
        with np.errstate(invalid="ignore"):
            return [np.diff(log_prob) for log_prob in self.prefix_log_probs(sentences)]

    def prefix_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return n + 2 values in nats for each sentence of n words.

        Entry i is log P(the sentence begins with its first i words); the last entry is
        log P(the sentence is exactly this one).
        """
        results: list[Floats] = [np.zeros(0)] * len(sentences)
        by_length: dict[int, list[int]] = defaultdict(list)
        for number, sentence in enumerate(sentences):
            by_length[len(sentence)].append(number)
        for length, numbers in by_length.items():
            chart_bytes = 2 * 8 * self._rules.size * (length + 1) ** 2
            step = max(1, _CHART_BYTES // max(1, chart_bytes))
            for begin in range(0, len(numbers), step):
                members = numbers[begin : begin + step]
                rows = self._same_length([sentences[number] for number in members])
                for number, row in zip(members, rows, strict=True):
                    results[number] = row
        return results

    def _same_length(self, sentences: list[Sequence[str]]) -> Floats:
        """``(sentences, words + 2)`` log probabilities of sentences of the same length."""
        count, length = len(sentences), len(sentences[0])
        if length == 0:
            return np.tile([0.0, -np.inf], (count, 1))
        words = np.zeros((count, length, self._rules.size))  # lexical probabilities
        for row, sentence in enumerate(sentences):
            for position, word in enumerate(sentence):
                if entry := self._rules.lexicon.get(word):
                    words[row, position, entry[0]] = entry[1]
        conditional, ends = self._charts(words)
        with np.errstate(divide="ignore"):
            begins = np.cumsum(np.log(conditional), axis=1)
            whole = begins[:, -1] + np.log(ends)
        return np.column_stack([np.zeros(count), begins, whole])

    def _charts(self, words: Floats) -> tuple[Floats, Floats]:
        """Return the probability of each word given its prefix, and of the end after the last one.

        Charts are ``[sentence, begin, end, category]``, filled from left to right. Each word is
        scaled by its probability in its position. A span is thus scaled by the product over its
        words, whatever its tree, and nothing underflows in long sentences.
        """
        count, length, size = words.shape
        start = self._rules.start
        inside = np.zeros((count, length + 1, length + 1, size))
        prefix = np.zeros_like(inside)
        conditional = np.zeros((count, length))
        for end in range(1, length + 1):
            self._fill_column(inside, prefix, words[:, end - 1], end)
            conditional[:, end - 1] = prefix[:, 0, end, start]
            scale = np.where(conditional[:, end - 1] > 0.0, conditional[:, end - 1], 1.0)
            inside[:, :end, end] /= scale[:, None, None]
            prefix[:, :end, end] /= scale[:, None, None]
        return conditional, inside[:, 0, length, start]

    def _fill_column(self, inside: Floats, prefix: Floats, word: Floats, end: int) -> None:
        """Compute all spans that end with a given word, from short to long."""
        rules = self._rules
        inside[:, end - 1, end] = word @ rules.unary_closure
        prefix[:, end - 1, end] = word @ rules.left_corner_closure
        # Before the closures are applied, only parents of binary rules have nonzero values.
        unary = rules.unary_closure[rules.parents]
        left_corner = rules.left_corner_closure[rules.parents]
        for begin in range(end - 2, -1, -1):
            left = inside[:, begin, begin + 1 : end][:, :, rules.left]
            inner = self._combine(left, inside[:, begin + 1 : end, end])
            open_ended = self._combine(left, prefix[:, begin + 1 : end, end])
            inside[:, begin, end] = np.minimum(inner @ unary, _CEILING)
            prefix[:, begin, end] = np.minimum(open_ended @ left_corner, _CEILING)

    def _combine(self, left: Floats, right: Floats) -> Floats:
        """Sum over splits and rules, per parent; ``left`` is per rule, ``right`` per category."""
        rules = self._rules
        per_rule = np.einsum("nsr,nsr->nr", left, right[:, :, rules.right]) * rules.probability
        if not rules.parents.size:
            return np.zeros((len(left), 0))
        return np.add.reduceat(per_rule, rules.first_of_parent, axis=1)


def _binarise(grammar: Grammar) -> _Binarised:
    index = dict(grammar.index)
    binary: dict[tuple[int, int, int], float] = defaultdict(float)
    unary: dict[tuple[int, int], float] = defaultdict(float)
    lexical: dict[str, list[tuple[int, float]]] = defaultdict(list)

    def rest(children: tuple[str, ...]) -> int:
        """Return the category of a sequence of children; rules with the same ending share it."""
        if len(children) == 1:
            return index[children[0]]
        name = f"<{' '.join(children)}>"
        if name not in index:
            index[name] = len(index)
            binary[index[name], index[children[0]], rest(children[1:])] = 1.0
        return index[name]

    for rules in grammar.rules.values():
        for rule in rules:
            parent = index[rule.left]
            if rule.is_lexical:
                lexical[rule.right[0]].append((parent, rule.probability))
            elif len(rule.right) == 1:
                unary[parent, index[rule.right[0]]] += rule.probability
            else:
                key = (parent, index[rule.right[0]], rest(rule.right[1:]))
                binary[key] += rule.probability
    size = len(index)
    keys = np.array(sorted(binary), dtype=np.int64).reshape(-1, 3)
    probability = np.array([binary[key] for key in sorted(binary)])
    parents, first = np.unique(keys[:, 0], return_index=True)
    one_step_unary = np.zeros((size, size))
    for (parent, child), value in unary.items():
        one_step_unary[parent, child] += value
    one_step_left = one_step_unary.copy()
    np.add.at(one_step_left, (keys[:, 0], keys[:, 1]), probability)
    return _Binarised(
        size=size,
        start=index[grammar.start],
        lexicon={
            word: (np.array([e[0] for e in entries]), np.array([e[1] for e in entries]))
            for word, entries in lexical.items()
        },
        left=keys[:, 1],
        right=keys[:, 2],
        probability=probability,
        parents=parents,
        first_of_parent=first,
        unary_closure=_closure(one_step_unary),
        left_corner_closure=_closure(one_step_left),
    )


def _closure(one_step: Floats) -> Floats:
    closure = np.linalg.inv(np.eye(len(one_step)) - one_step)
    return np.ascontiguousarray(closure.T, dtype=np.float64)
