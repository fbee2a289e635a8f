"""What a test suite is: items, each in several conditions, each cut into the same named regions.

The running example has the regions ``classifier``, ``noun`` and ``end`` and the conditions
``match`` and ``mismatch``; an item says the same twice, once with a classifier that fits the noun::

    match:     一 只 | 猫 | 。
    mismatch:  一 本 | 猫 | 。

and the suite predicts ``(noun;%mismatch%) > (noun;%match%)``: surprisal is higher where the
classifier does not fit.
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

Metric = Literal["sum", "mean", "max", "first"]

_BLANKS = re.compile(r"[ \t\n\r]+")


class SuiteError(GardenpathError):
    """A suite that cannot be used, or not be written in the form that is asked for."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One sentence of an item: its condition and the words of each region, in order.

    Regions may be empty. An item may have several variants of one condition (counterbalanced
    nouns, say); their surprisals are averaged before anything is compared.
    """

    condition: str
    regions: tuple[tuple[str, ...], ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The whole sentence."""
        return tuple(word for region in self.regions for word in region)


@dataclass(frozen=True, slots=True)
class Item:
    """Variants that differ in what is tested and in nothing else.

    ``labels`` hold what the item's results are broken down by: the pronoun, the depth of embedding.
    """

    number: int
    variants: tuple[Variant, ...]
    labels: Mapping[str, str] = field(default_factory=dict)

    def numbered_variants(self) -> Iterator[tuple[int, Variant]]:
        """The variants, each with its number among those of its condition, from 1."""
        counts: Counter[str] = Counter()
        for variant in self.variants:
            counts[variant.condition] += 1
            yield counts[variant.condition], variant

    def of_condition(self, condition: str) -> tuple[Variant, ...]:
        """The variants of a condition, often one."""
        return tuple(variant for variant in self.variants if variant.condition == condition)


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model that has learnt the grammar should do, as a formula over region surprisals."""

    name: str
    formula: Formula


@dataclass(frozen=True)
class Suite:
    """A test suite.

    ``kind`` is the class of phenomenon (``classifier_noun``), ``modifier`` the type of the material
    between the words that depend on each other; both are empty where a suite has none. ``spaced``
    says whether words are written with blanks between them. ``critical`` names the region that the
    conditions are about: only there and where a suite says so may the variants differ. ``chance``
    is the accuracy of guessing if the suite gives it. ``meta`` is what else a file says about the
    suite, such as author and tags; it is kept and not used.
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
    description: str = ""
    reference: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def sentences(self) -> tuple[tuple[str, ...], ...]:
        """Every different sentence of the suite once, in order of first appearance."""
        words = (variant.words for item in self.items for variant in item.variants)
        return tuple(dict.fromkeys(words))

    @cached_property
    def chance_level(self) -> float:
        """The accuracy of guessing: as given, else the mean of what the predictions imply."""
        if self.chance is not None:
            return self.chance
        levels = [chance_level(one.formula) for one in self.predictions]
        known = [USUAL_CHANCE if level is None else level for level in levels]
        return math.fsum(known) / len(known) if known else USUAL_CHANCE

    def region_index(self, name: str) -> int:
        """The place of a region, by name or by number from 1."""
        if name in self.regions:
            return self.regions.index(name)
        if name.isdecimal() and 1 <= int(name) <= len(self.regions):
            return int(name) - 1
        raise SuiteError(f"suite {self.name} has no region {name!r}; {nearest(name, self.regions)}")

    def text(self, variant: Variant) -> str:
        """The sentence as it is written."""
        return (" " if self.spaced else "").join(variant.words)


def chance_of(text: object) -> float:
    """Read an accuracy of guessing, ``0.25`` or ``1/3``; ValueError if it is none."""
    problem = f"{text} is not a number in [0, 1], such as 0.25 or 1/3"
    try:
        level = float(Fraction(str(text)))
    except (ValueError, ZeroDivisionError):
        raise ValueError(problem) from None
    if not 0.0 <= level <= 1.0:
        raise ValueError(problem)
    return level


def chance_by_class(suites: Iterable[Suite]) -> dict[str, float]:
    """The accuracy of guessing in each class: the mean over its suites."""
    levels: dict[str, list[float]] = {}
    for suite in suites:
        levels.setdefault(suite.kind, []).append(suite.chance_level)
    return {kind: math.fsum(found) / len(found) for kind, found in levels.items()}


def split_words(text: str) -> tuple[str, ...]:
    """The words of a region, as written with blanks between them.

    Other signs that look like blanks, such as the full-width one, stay where the linter finds them.
    """
    return tuple(word for word in _BLANKS.split(text) if word)


def named(formula: Formula, regions: Sequence[str]) -> Formula:
    """The formula with the names of regions in place of their numbers."""

    def name(leaf: Term | Number) -> Term | Number:
        if isinstance(leaf, Number) or leaf.region in regions or not leaf.region.isdecimal():
            return leaf
        place = int(leaf.region)
        return Term(regions[place - 1], leaf.condition) if 1 <= place <= len(regions) else leaf

    return formula.replace(name)
