"""Checklist of the Mandarin suites: what every item of a class must have, apart from its shape.

The linter finds mistakes of form that any suite can have. The checklist knows what the six classes
test: a mismatched classifier must not be one that speakers accept for the noun, the main verb
before a garden path must not take a clause, and so on. The words that decide this are listed in
``materials/checklist``. It applies to suites with the regions of these classes and to no others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from gardenpath.eval.suites.design.suite import Item, Suite
from gardenpath.eval.suites.library.lint import Complaint
from gardenpath.text import Words

CHECKLIST = Path(__file__).parents[1] / "materials" / "checklist"

_GENERAL, _DE, _STOP, _COMMA = "个", "的", "。", "，"
_DEMONSTRATIVES = ("那", "这")
_ASPECTS = ("了", "过", "着")

# A complaint: condition, region and message; item and severity are added later.
_Finding = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class _Sentences:
    """The words of an item by condition and region."""

    suite: Suite
    item: Item

    def words(self, condition: str, region: str) -> Words:
        (variant,) = self.item.of_condition(condition)
        return variant.regions[self.suite.region_index(region)]

    def text(self, condition: str, region: str) -> str:
        return " ".join(self.words(condition, region))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassRules:
    """What a class requires.

    ``conditions``: the first is well-formed and has the gloss. ``single``: regions that have one
    word where they are not empty. ``unique``: regions that together must not occur in two items.
    ``items``: the least number of items per suite, that of Table 2 of Wang et al. (2021).
    """

    regions: tuple[str, ...]
    conditions: tuple[str, ...]
    single: tuple[str, ...]
    unique: tuple[str, ...]
    items: int
    rules: Callable[[_Sentences], Iterator[_Finding]]


def checklist(suite: Suite) -> list[Complaint]:
    """Return what the items of a suite lack; nothing for suites of other classes or shapes."""
    rules = CLASSES.get(suite.kind)
    if rules is None or suite.language != "zh" or suite.regions != rules.regions:
        return []
    if suite.conditions != rules.conditions:
        message = f"conditions must be {', '.join(rules.conditions)}, in this order"
        return [Complaint("warning", None, "", "", message)]
    found = [*_whole_suite(suite, rules)]
    for item in suite.items:
        if [variant.condition for variant in item.variants] != list(rules.conditions):
            message = "needs one sentence in each condition, in the order of the suite"
            found.append(Complaint("warning", item.number, "", "", message))
            continue
        sentences = _Sentences(suite, item)
        findings = [*_every_class(sentences, rules), *rules.rules(sentences)]
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


def _every_class(of: _Sentences, rules: ClassRules) -> Iterator[_Finding]:
    first = rules.conditions[0]
    if not of.item.gloss:
        yield first, "", "no gloss"
    if not of.item.translation:
        yield first, "", "no translation"
    for condition in rules.conditions:
        for region in rules.single:
            if len(of.words(condition, region)) > 1:
                yield condition, region, "must be one word"
        if of.words(condition, "end") != (_STOP,):
            yield condition, "end", f"must be {_STOP}"
    modifier = of.words(first, "modifier")
    if bool(modifier) != (of.suite.modifier != "none"):
        yield first, "modifier", f"does not suit the suite, whose modifier is {of.suite.modifier}"
    if modifier and (modifier[-1] != _DE or len(modifier) < 2):
        yield first, "modifier", f"must end in {_DE}"


def _classifier_noun(of: _Sentences) -> Iterator[_Finding]:
    counted = countable()
    kinds = {name: of.text(f"match_{name}", "classifier") for name in "ab"}
    nouns = {name: of.text(f"match_{name}", "noun") for name in "ab"}
    for name, other in ("ab", "ba"):
        wrong = f"mismatch_{name}"
        if (of.text(wrong, "classifier"), of.text(wrong, "noun")) != (kinds[other], nouns[name]):
            yield wrong, "", f"must be noun {name} with the classifier of noun {other}"
        if nouns[name] not in counted.get(kinds[name], ()):
            yield f"match_{name}", "noun", f"{kinds[name]} is not listed for {nouns[name]}"
        if nouns[name] in counted.get(kinds[other], ()):
            yield wrong, "noun", f"{kinds[other]} can count {nouns[name]}"
    if kinds["a"] == kinds["b"] or nouns["a"] == nouns["b"]:
        yield "match_b", "", "both classifiers and both nouns must differ"
    if _GENERAL in kinds.values():
        yield "match_a", "classifier", f"{_GENERAL} counts almost anything"


def _verb_noun(of: _Sentences) -> Iterator[_Finding]:
    if of.text("compatible", "verb") == of.text("incompatible", "verb"):
        yield "incompatible", "verb", "must differ from the compatible verb"


def _garden_path(of: _Sentences) -> Iterator[_Finding]:
    lists = word_lists()
    specific, noun = of.text("specific", "classifier"), of.text("specific", "noun")
    if of.text("general", "classifier") != _GENERAL:
        yield "general", "classifier", f"must be {_GENERAL}"
    if specific in lists["person_classifiers"]:
        yield "specific", "classifier", f"{specific} counts persons"
    if noun not in countable().get(specific, ()):
        yield "specific", "noun", f"{specific} is not listed for {noun}"
    person = of.text("specific", "subject")
    if person not in lists["persons"]:
        yield "specific", "subject", f"{person} is not listed as a person"
    if person in countable().get(specific, ()):
        yield "specific", "subject", f"{specific} can count {person}"
    if of.text("specific", "de") != _DE:
        yield "specific", "de", f"must be {_DE}"
    if not of.words("specific", "verb"):
        yield "specific", "verb", "no verb"
    if not {*of.words("specific", "context")[-1:]} & {*_DEMONSTRATIVES}:
        yield "specific", "context", f"must end in {' or '.join(_DEMONSTRATIVES)}"


def _garden_path_object(of: _Sentences) -> Iterator[_Finding]:
    yield from _garden_path(of)
    lists = word_lists()
    context = {*of.words("specific", "context")}
    if not context & lists["plain_object_verbs"]:
        yield "specific", "context", "no main verb that is known to take only nouns"
    for verb in sorted(context & lists["clause_verbs"]):
        yield "specific", "context", f"{verb} may take a clause or a noun and its verb"


def _garden_path_subject(of: _Sentences) -> Iterator[_Finding]:
    yield from _garden_path(of)
    if not of.words("specific", "predicate"):
        yield "specific", "predicate", "no predicate"


def _missing_object(of: _Sentences) -> Iterator[_Finding]:
    lists = word_lists()
    verb, *rest = of.words("present", "verb") or ("",)
    if verb not in lists["transitive_verbs"] or not {*rest} <= {*_ASPECTS}:
        yield "present", "verb", f"{verb} is not listed as a verb that needs an object"
    if not of.words("present", "object"):
        yield "present", "object", "no object"
    if of.words("missing", "object"):
        yield "missing", "object", "must be empty"
    modifier = of.words("present", "modifier")
    if of.words("missing", "modifier") != modifier[:-1]:
        yield "missing", "modifier", f"must be the modifier without {_DE}"
    joined = bool({*modifier} & lists["conjunctions"])
    if joined != (of.suite.modifier == "coordinated_rc"):
        yield "present", "modifier", "must have a conjunction if it is coordinated, and only then"
    if (modifier.count(_DE) > 1) != (of.suite.modifier == "embedded_rc"):
        yield "present", "modifier", f"must have {_DE} twice if it is embedded, and only then"


def _subordination(of: _Sentences) -> Iterator[_Finding]:
    lists = word_lists()
    opening, main = of.text("with_main", "subordinator"), of.words("with_main", "main")
    if opening in lists["prepositions"]:
        yield "with_main", "subordinator", f"{opening} is a preposition"
    if opening not in lists["subordinators"]:
        yield "with_main", "subordinator", f"{opening} is not listed as a subordinator"
    for region in ("subject", "predicate"):
        if not of.words("with_main", region):
            yield "with_main", region, "the subordinate clause is not complete"
    if main[:1] != (_COMMA,) or len(main) < 3:
        yield "with_main", "main", f"must be {_COMMA} and a main clause"
    if of.words("without_main", "main"):
        yield "without_main", "main", "must be empty"


@cache
def countable() -> Mapping[str, frozenset[str]]:
    """Return the nouns of the suites that each classifier can count."""
    return _lists(CHECKLIST / "classifiers.yaml")


@cache
def word_lists() -> Mapping[str, frozenset[str]]:
    """Return the lists of words of the checklist by name."""
    return _lists(CHECKLIST / "words.yaml")


def _lists(path: Path) -> Mapping[str, frozenset[str]]:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {str(name): frozenset(map(str, words)) for name, words in content.items()}


CLASSES: Mapping[str, ClassRules] = {
    "classifier_noun": ClassRules(
        regions=("context", "classifier", "modifier", "noun", "end"),
        conditions=("match_a", "mismatch_a", "match_b", "mismatch_b"),
        single=("classifier", "noun"),
        unique=("classifier", "noun"),
        items=30,
        rules=_classifier_noun,
    ),
    "verb_noun": ClassRules(
        regions=("context", "verb", "link", "modifier", "noun", "end"),
        conditions=("compatible", "incompatible"),
        single=("verb", "noun"),
        unique=("verb", "noun"),
        items=31,
        rules=_verb_noun,
    ),
    "garden_path_object": ClassRules(
        regions=("context", "classifier", "modifier", "subject", "verb", "de", "noun", "end"),
        conditions=("specific", "general"),
        single=("classifier", "subject", "verb", "noun"),
        unique=("verb", "noun"),
        items=31,
        rules=_garden_path_object,
    ),
    "garden_path_subject": ClassRules(
        regions=(
            *("context", "classifier", "modifier", "subject", "verb", "de", "noun"),
            *("predicate", "end"),
        ),
        conditions=("specific", "general"),
        single=("classifier", "subject", "verb", "noun"),
        unique=("verb", "noun"),
        items=31,
        rules=_garden_path_subject,
    ),
    "missing_object": ClassRules(
        regions=("subject", "adverbial", "verb", "modifier", "object", "end"),
        conditions=("present", "missing"),
        single=("subject", "object"),
        unique=("subject", "verb"),
        items=30,
        rules=_missing_object,
    ),
    "subordination": ClassRules(
        regions=("subordinator", "modifier", "subject", "predicate", "main", "end"),
        conditions=("with_main", "without_main"),
        single=("subordinator",),
        unique=("subject", "predicate"),
        items=30,
        rules=_subordination,
    ),
}
