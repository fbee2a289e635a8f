"""Checklist of the Mandarin suites: what every item of a class must have, apart from its shape.

The linter finds mistakes of form that any suite can have. The checklist knows what the six classes
test: a mismatched classifier must not be one that speakers accept for the noun, the main verb
before a garden path must not take a clause, and so on (``class_rules``). It applies to suites with
the regions of these classes and to no others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from gardenpath.eval.suites.design.glosses import Glosses
from gardenpath.eval.suites.design.suite import Item, Suite
from gardenpath.eval.suites.library.class_rules import (
    CLASSES,
    DE,
    STOP,
    ClassRules,
    Finding,
    RegionWords,
)
from gardenpath.eval.suites.library.lint import Complaint
from gardenpath.text import Words


def checklist(suite: Suite) -> list[Complaint]:
    """Return what the items of a suite lack; nothing for suites of other classes or shapes."""
    rules = CLASSES.get(suite.kind)
    if rules is None or suite.language != "zh" or suite.regions != rules.regions:
        return []
    if suite.conditions != rules.conditions:
        message = f"conditions must be {', '.join(rules.conditions)}, in this order"
        return [Complaint("warning", None, "", "", message)]
    found = [*_whole_suite(suite, rules)]
    glosses = Glosses(suite)
    for item in suite.items:
        if [variant.condition for variant in item.variants] != list(rules.conditions):
            message = "needs one sentence in each condition, in the order of the suite"
            found.append(Complaint("warning", item.number, "", "", message))
            continue
        sentences = RegionWords(suite, item)
        findings = [*_every_class(sentences, rules), *rules.rules(sentences)]
        findings += _unglossed(item, glosses)
        found += [Complaint("warning", item.number, *each) for each in dict.fromkeys(findings)]
    return found


def compare_sisters(suites: Sequence[Suite]) -> list[Complaint]:
    """Return differences between suites of one class beyond the modifier.

    All must have the same items, and item n must be the same frame in all of them.
    """
    frames = [{item.number: _frame(suite, item) for item in suite.items} for suite in suites]
    found = []
    for suite, own in zip(suites[1:], frames[1:], strict=True):
        for number in sorted({*own, *frames[0]}):
            if own.get(number) != frames[0].get(number):
                message = f"not the frame that it has in {suites[0].name}"
                found.append(Complaint("warning", number, "", "", f"{suite.name}: {message}"))
    return found


def _frame(suite: Suite, item: Item) -> tuple[tuple[str, tuple[Words, ...]], ...]:
    place = suite.region_index("modifier")
    return tuple(
        (variant.condition, (*variant.regions[:place], *variant.regions[place + 1 :]))
        for variant in item.variants
    )


def _whole_suite(suite: Suite, rules: ClassRules) -> Iterator[Complaint]:
    if len(suite.items) < rules.items:
        message = f"{len(suite.items)} items; the class needs at least {rules.items}"
        yield Complaint("warning", None, "", "", message)
    places = [suite.region_index(region) for region in rules.unique]
    seen: dict[tuple[Words, ...], int] = {}
    for item in suite.items:
        key = tuple(item.variants[0].regions[place] for place in places)
        if (first := seen.setdefault(key, item.number)) != item.number:
            message = f"repeats {', '.join(rules.unique)} of item {first}"
            yield Complaint("warning", item.number, "", "", message)
    if suite.kind == "verb_noun":
        yield from _balance(suite)


def _balance(suite: Suite) -> Iterator[Complaint]:
    """Each verb must be compatible as often as it is incompatible."""
    place = suite.region_index("verb")
    counts: Counter[Words] = Counter()
    for item in suite.items:
        for variant, sign in zip(item.variants, (1, -1), strict=False):
            counts[variant.regions[place]] += sign
    for verb, difference in counts.items():
        if difference:
            message = f"{' '.join(verb)} is not compatible as often as it is incompatible"
            yield Complaint("warning", None, "", "verb", message)


def _unglossed(item: Item, glosses: Glosses) -> Iterator[Finding]:
    found = glosses.of(item)
    for variant in item.variants if found else ():
        for word, gloss in zip(variant.words, found[variant.condition, 1], strict=True):
            if not gloss:
                yield variant.condition, "", f"no gloss of {word}; add it to 'glosses' of the suite"


def _every_class(of: RegionWords, rules: ClassRules) -> Iterator[Finding]:
    first = rules.conditions[0]
    if not of.item.gloss:
        yield first, "", "no gloss"
    if not of.item.translation:
        yield first, "", "no translation"
    for condition in rules.conditions:
        for region in rules.single:
            if len(of.words(condition, region)) > 1:
                yield condition, region, "must be one word"
        if of.words(condition, "end") != (STOP,):
            yield condition, "end", f"must be {STOP}"
    modifier = of.words(first, "modifier")
    if bool(modifier) != (of.suite.modifier != "none"):
        yield first, "modifier", f"does not suit the suite, whose modifier is {of.suite.modifier}"
    if modifier and (modifier[-1] != DE or len(modifier) < 2):
        yield first, "modifier", f"must end in {DE}"
