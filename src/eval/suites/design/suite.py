"""Test suites: items in several conditions, each divided into the same named regions.

The running example has the regions ``classifier``, ``noun`` and ``end`` and the conditions
``match`` and ``mismatch``; the classifier agrees with the noun only in ``match``::

    match:     一 只 | 猫 | 。
    mismatch:  一 本 | 猫 | 。

The suite predicts ``(noun;%mismatch%) > (noun;%match%)``: the surprisal of the noun is higher if
the classifier does not agree.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from gardenpath.errors import GardenpathError
from gardenpath.eval.suites.design.chance import USUAL_CHANCE, chance_level
from gardenpath.eval.suites.design.formula import Formula, Number, Term
from gardenpath.settings.check import nearest
from gardenpath.text import is_count

Metric = Literal["sum", "mean", "max", "first"]

# Which ties of a prediction with several comparisons count as their expectation: those of any
# comparisons, or only if all comparisons are tied, else 0.
CountedTies = Literal["any", "complete"]

_BLANKS = re.compile(r"[ \t\n\r]+")


class SuiteError(GardenpathError):
    """A suite that cannot be used, or cannot be written in the requested format."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One sentence of an item: its condition and the words of each region, in order.

    Regions may be empty. An item may have several variants of one condition (for example, with
    counterbalanced nouns); their surprisals are averaged before conditions are compared.
    ``written`` is the sentence as its file writes it, if that is not its words with blanks.
    """

    condition: str
    regions: tuple[tuple[str, ...], ...]
    written: str = field(default="", compare=False)

    @property
    def words(self) -> tuple[str, ...]:
        """The whole sentence."""
        return tuple(word for region in self.regions for word in region)


@dataclass(frozen=True, slots=True)
class Item:
    """A set of variants that differ only in the tested property.

    ``labels`` are properties by which results can be grouped, such as the pronoun or the depth of
    embedding. ``gloss`` has one English word for each word of the first variant, region by region;
    ``translation`` is its meaning in English. Both may be empty.
    """

    number: int
    variants: tuple[Variant, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    gloss: tuple[tuple[str, ...], ...] = ()
    translation: str = ""

    def numbered_variants(self) -> Iterator[tuple[int, Variant]]:
        """Yield the variants, each with its number within its condition, counted from 1."""
        counts: Counter[str] = Counter()
        for variant in self.variants:
            counts[variant.condition] += 1
            yield counts[variant.condition], variant

    def of_condition(self, condition: str) -> tuple[Variant, ...]:
        """Return the variants of a condition, in most cases one."""
        return tuple(variant for variant in self.variants if variant.condition == condition)


@dataclass(frozen=True, slots=True)
class Prediction:
    """A prediction for a model that has learnt the grammar: a formula over region surprisals."""

    name: str
    formula: Formula


@dataclass(frozen=True)
class Suite:
    """A test suite.

    ``kind`` is the class of phenomenon (``classifier_noun``), ``modifier`` the type of the material
    between the dependent words; both may be empty. ``spaced``: whether words are written with
    spaces between them. ``critical``: the critical regions; variants may differ only in these and
    in the regions listed in ``differing``. ``chance``: the chance level, if the suite specifies it.
    ``ties``: ``complete`` if a prediction counts 0 where only some of its comparisons are tied.
    ``effects``: quantities in bits, by name, such as a difference or an interaction. ``factors``:
    the levels of factors by condition (``{a: {number: singular}}``), columns of the results.
    ``glosses``: glosses of words that no first variant has, by word (``{歌: song}``).
    ``meta``: further entries of the file, such as author and tags, which are kept but not used.
    """

    name: str
    language: str
    regions: tuple[str, ...]
    conditions: tuple[str, ...]
    predictions: tuple[Prediction, ...]
    items: tuple[Item, ...]
    kind: str = ""
    modifier: str = ""
    version: str = "1"
    metric: Metric = "sum"
    normalised: bool = False
    spaced: bool = True
    critical: tuple[str, ...] = ()
    differing: tuple[str, ...] = ()
    chance: float | None = None
    ties: CountedTies = "any"
    description: str = ""
    reference: str = ""
    effects: tuple[Prediction, ...] = ()
    factors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    glosses: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def sentences(self) -> tuple[tuple[str, ...], ...]:
        """The distinct sentences of the suite, in order of first appearance."""
        words = (variant.words for item in self.items for variant in item.variants)
        return tuple(dict.fromkeys(words))

    @cached_property
    def chance_level(self) -> float:
        """The chance level: ``chance`` if given, else the mean over the predictions."""
        if self.chance is not None:
            return self.chance
        levels = [chance_level(one.formula) for one in self.predictions]
        known = [USUAL_CHANCE if level is None else level for level in levels]
        return math.fsum(known) / len(known) if known else USUAL_CHANCE

    def region_index(self, name: str) -> int:
        """Return the index of a region, given by name or by number from 1."""
        if name in self.regions:
            return self.regions.index(name)
        if is_count(name) and 1 <= int(name) <= len(self.regions):
            return int(name) - 1
        raise SuiteError(f"suite {self.name} has no region {name!r}; {nearest(name, self.regions)}")

    def text(self, variant: Variant) -> str:
        """Return the sentence as text."""
        return (" " if self.spaced else "").join(variant.words)


def chance_of(text: object) -> float:
    """Parse a chance level such as ``0.25`` or ``1/3``; raise ValueError if it is invalid."""
    problem = f"{text} is not a number in [0, 1], such as 0.25 or 1/3"
    try:
        level = float(Fraction(str(text)))
    except (ValueError, ZeroDivisionError):
        raise ValueError(problem) from None
    if not 0.0 <= level <= 1.0:
        raise ValueError(problem)
    return level


def chance_by_class(suites: Iterable[Suite]) -> dict[str, float]:
    """Return the chance level of each class: the mean over its suites."""
    levels: dict[str, list[float]] = {}
    for suite in suites:
        levels.setdefault(suite.kind, []).append(suite.chance_level)
    return {kind: math.fsum(found) / len(found) for kind, found in levels.items()}


def split_words(text: str) -> tuple[str, ...]:
    """Return the words of a region, which are separated by spaces.

    Other characters that look like spaces, such as the full-width space, are kept so that the
    linter can report them.
    """
    return tuple(word for word in _BLANKS.split(text) if word)


def named(formula: Formula, regions: Sequence[str]) -> Formula:
    """Return the formula with the numbers of regions replaced by their names."""

    def name(leaf: Term | Number) -> Term | Number:
        if isinstance(leaf, Number) or leaf.region in regions or not is_count(leaf.region):
            return leaf
        place = int(leaf.region)
        return Term(regions[place - 1], leaf.condition) if 1 <= place <= len(regions) else leaf

    return formula.replace(name)
