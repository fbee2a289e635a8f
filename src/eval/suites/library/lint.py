"""Linter for suites, which needs no model.

An ``error`` makes predictions meaningless (an unknown region, a region of interest without words);
a ``warning`` marks a possible mistake (an item with the same sentence twice).
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

from gardenpath.eval.suites.design.formula import (
    WHOLE_SENTENCE,
    Comparison,
    Formula,
    Term,
    Value,
    walk,
)
from gardenpath.eval.suites.design.suite import Item, Suite, SuiteError, Variant
from gardenpath.eval.suites.library.word_pairs import WordPair, word_pairs
from gardenpath.settings.check import nearest

Severity = Literal["error", "warning"]

_ADD_PREDICTIONS = "add predictions:, as in mismatch: (verb;%b%) > (verb;%a%)"

# Unicode categories of characters that are invisible or look like spaces.
_INVISIBLE = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})


@dataclass(frozen=True, slots=True)
class Complaint:
    """A message of the linter and the part of the suite that it is about."""

    severity: Severity
    item: int | None
    condition: str
    region: str
    message: str

    def __str__(self) -> str:
        item = "" if self.item is None else f"item {self.item}"
        place = ", ".join(part for part in (item, self.condition, self.region) if part)
        return ": ".join(part for part in (self.severity, place, self.message) if part)


def lint(suite: Suite) -> list[Complaint]:
    """Return all complaints, errors first."""
    found = list(_shapes(suite))
    if not any(one.severity == "error" for one in found):
        # The other checks require valid regions and terms.
        found += [
            *_strange_words(suite),
            *_empty_targets(suite),
            *_differences(suite),
            *_repetitions(suite),
            *_glosses(suite),
        ]
    return sorted(found, key=lambda one: one.severity)


def check(suite: Suite) -> list[Complaint]:
    """Return the warnings about a suite; raise SuiteError if there are errors."""
    found = lint(suite)
    if errors := [one for one in found if one.severity == "error"]:
        shown = "\n".join(f"  - {one}" for one in errors[:10])
        more = f"\n  and {len(errors) - 10} more" if len(errors) > 10 else ""
        raise SuiteError(f"suite {suite.name} cannot be used:\n{shown}{more}")
    return found


def target_regions(suite: Suite) -> tuple[str, ...]:
    """Return the critical regions and the regions that occur in predictions, in order."""
    terms = {term.region for one in suite.predictions for term in one.formula.terms}
    if WHOLE_SENTENCE in terms:
        return suite.regions
    places = {suite.region_index(region) for region in {*terms, *suite.critical}}
    return tuple(suite.regions[place] for place in sorted(places))


def _shapes(suite: Suite) -> Iterator[Complaint]:
    yield from _terms(suite)
    for number, times in Counter(item.number for item in suite.items).items():
        if times > 1:
            yield Complaint(
                "error", number, "", "", f"{times} items have this number; number each item once"
            )
    if not suite.items:
        yield Complaint("error", None, "", "", "no items; write at least one below items:")
    if not suite.predictions:
        yield Complaint("warning", None, "", "", f"no predictions; {_ADD_PREDICTIONS}")
    compared = {term.condition for one in suite.predictions for term in one.formula.terms}
    usual = {
        condition: Counter(len(item.of_condition(condition)) for item in suite.items)
        for condition in suite.conditions
    }
    for item in suite.items:
        yield from _item_shape(suite, item, compared, usual)


def _terms(suite: Suite) -> Iterator[Complaint]:
    numbers = [str(number) for number in range(1, len(suite.regions) + 1)]
    for prediction in suite.predictions:
        for term in prediction.formula.terms:
            what = f"prediction {prediction.name} refers to an unknown"
            if term.region not in (*suite.regions, *numbers, WHOLE_SENTENCE):
                hint = nearest(term.region, suite.regions)
                yield Complaint("error", None, "", term.region, f"{what} region; {hint}")
            if term.condition not in suite.conditions:
                hint = nearest(term.condition, suite.conditions)
                yield Complaint("error", None, term.condition, "", f"{what} condition; {hint}")


def _item_shape(
    suite: Suite, item: Item, compared: set[str], usual: dict[str, Counter[int]]
) -> Iterator[Complaint]:
    for condition in suite.conditions:
        count = len(item.of_condition(condition))
        expected = usual[condition].most_common(1)[0][0]
        if count == 0:
            severity: Severity = "error" if condition in compared else "warning"
            yield Complaint(
                severity,
                item.number,
                condition,
                "",
                "the item lacks this condition; add a sentence",
            )
        elif count != expected:
            message = f"{count} variants, but most items have {expected}; check the rows"
            yield Complaint("warning", item.number, condition, "", message)
    for variant in item.variants:
        if variant.condition not in suite.conditions:
            hint = nearest(variant.condition, suite.conditions)
            message = f"the suite has no such condition; {hint}"
            yield Complaint("warning", item.number, variant.condition, "", message)
        if len(variant.regions) != len(suite.regions):
            message = (
                f"{len(variant.regions)} regions, but the suite has {len(suite.regions)}; write "
                "a | between any two regions, also around empty ones"
            )
            yield Complaint("error", item.number, variant.condition, "", message)


def _variants(suite: Suite) -> Iterator[tuple[Item, Variant]]:
    for item in suite.items:
        for variant in item.variants:
            yield item, variant


def _strange_words(suite: Suite) -> Iterator[Complaint]:
    for item, variant in _variants(suite):
        for region, words in zip(suite.regions, variant.regions, strict=True):
            for word in words:
                if strange := _invisible_in(word):
                    message = f"the word {word!r} contains {strange}; delete it"
                    yield Complaint("error", item.number, variant.condition, region, message)


@cache
def _invisible_in(word: str) -> str:
    """Return the names of the invisible characters in a word."""
    signs = [sign for sign in word if unicodedata.category(sign) in _INVISIBLE]
    names = [unicodedata.name(sign, f"U+{ord(sign):04X}") for sign in signs]
    return ", ".join(names) if word else "no characters"


def _empty_targets(suite: Suite) -> Iterator[Complaint]:
    """Yield a warning for an empty term of a sum, an error if a whole side has no words."""
    for item in suite.items:
        for prediction in suite.predictions:
            for side in _sides(prediction.formula):
                empty = [term for term in side if _is_empty(suite, item, term)]
                severity: Severity = "error" if len(empty) == len(side) else "warning"
                for term in empty:
                    message = (
                        f"no words in this region, which prediction {prediction.name} uses; fill "
                        "it, or leave it out of the prediction"
                    )
                    yield Complaint(severity, item.number, term.condition, term.region, message)


def _sides(formula: Formula) -> Iterator[list[Term]]:
    sides: list[Value] = []
    for node in walk(formula.tree):
        if isinstance(node, Comparison):
            sides += [node.left, node.right]
    for side in sides:
        if terms := [node for node in walk(side) if isinstance(node, Term)]:
            yield terms


def _is_empty(suite: Suite, item: Item, term: Term) -> bool:
    variants = item.of_condition(term.condition)
    if term.region == WHOLE_SENTENCE:
        return not all(variant.words for variant in variants)
    place = suite.region_index(term.region)
    return not all(variant.regions[place] for variant in variants)


def _differences(suite: Suite) -> Iterator[Complaint]:
    """Yield regions that differ unexpectedly; nothing if the suite declares no such regions."""
    allowed = {*suite.critical, *suite.differing}
    if not allowed:
        return
    for item in suite.items:
        for place, region in enumerate(suite.regions):
            forms = dict.fromkeys(variant.regions[place] for variant in item.variants)
            if region not in allowed and len(forms) > 1:
                shown = " / ".join(" ".join(words) or "(empty)" for words in forms)
                message = (
                    f"differs between variants: {shown}; if that is meant, list the region in "
                    "differing:"
                )
                yield Complaint("warning", item.number, "", region, message)


def _repetitions(suite: Suite) -> Iterator[Complaint]:
    """Yield sentences that occur more than once, within an item or across items."""
    seen: dict[tuple[str, ...], tuple[Item, Variant]] = {}
    for item, variant in _variants(suite):
        if variant.words not in seen:
            seen[variant.words] = (item, variant)
            continue
        first, other = seen[variant.words]
        where = "this item" if first.number == item.number else f"item {first.number}"
        message = f"the same sentence as {other.condition} of {where}; change or delete one"
        yield Complaint("warning", item.number, variant.condition, "", message)


def _glosses(suite: Suite) -> Iterator[Complaint]:
    """Yield regions whose gloss has more or fewer words than the first variant of the item."""
    for item in suite.items:
        if not item.gloss:
            continue
        first = item.variants[0]
        if len(item.gloss) != len(suite.regions):
            message = (
                f"the gloss has {len(item.gloss)} regions, the suite {len(suite.regions)}; write "
                "the bars of the sentence"
            )
            yield Complaint("warning", item.number, first.condition, "", message)
            continue
        for region, gloss, words in zip(suite.regions, item.gloss, first.regions, strict=True):
            if len(gloss) != len(words):
                message = (
                    f"{len(words)} words, but {len(gloss)} in the gloss: {' '.join(gloss)}; gloss "
                    "every word by one, joined by dots if needed"
                )
                yield Complaint("warning", item.number, first.condition, region, message)


@dataclass(frozen=True, slots=True)
class LexicalCheck:
    """Result of a check against a model's vocabulary and training corpus."""

    complaints: tuple[Complaint, ...]
    pairs: tuple[WordPair, ...]


def lint_against(
    suite: Suite, knows: Callable[[str], bool], count: Callable[[str], int]
) -> LexicalCheck:
    """Find out-of-vocabulary words in regions of interest and the frequencies of word pairs.

    ``knows``: whether a word is in the model's vocabulary; ``count``: its frequency in the model's
    training corpus.
    """
    unknown = tuple(_unknown_words(suite, knows))
    return LexicalCheck(unknown, word_pairs(suite, count))


def _unknown_words(suite: Suite, knows: Callable[[str], bool]) -> Iterator[Complaint]:
    targets = [(region, suite.region_index(region)) for region in target_regions(suite)]
    for item, variant in _variants(suite):
        for region, place in targets:
            unknown = [word for word in variant.regions[place] if not knows(word)]
            for word in dict.fromkeys(unknown):
                message = f"out-of-vocabulary word {word!r}"
                yield Complaint("warning", item.number, variant.condition, region, message)
