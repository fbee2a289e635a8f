"""What the items of the six Mandarin classes must have, and the words that decide it.

Each class has a function that yields what is wrong with an item. The lists of words are in
``materials/checklist``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gardenpath.eval.suites.design.suite import Item, Suite
from gardenpath.safe_text import parse_yaml
from gardenpath.text import Words

# The folder of the lists.
CHECKLIST = Path(__file__).parents[1] / "materials" / "checklist"

DE, STOP = "的", "。"
_GENERAL, _COMMA = "个", "，"
_DEMONSTRATIVES = ("那", "这")
_ASPECTS = ("了", "过", "着")

# A complaint: condition, region and message; item and severity are added later.
Finding = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class RegionWords:
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
    rules: Callable[[RegionWords], Iterator[Finding]]


def _classifier_noun(of: RegionWords) -> Iterator[Finding]:
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


def _verb_noun(of: RegionWords) -> Iterator[Finding]:
    if of.text("compatible", "verb") == of.text("incompatible", "verb"):
        yield "incompatible", "verb", "must differ from the compatible verb"


def _garden_path(of: RegionWords) -> Iterator[Finding]:
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
    if of.text("specific", "de") != DE:
        yield "specific", "de", f"must be {DE}"
    if not of.words("specific", "verb"):
        yield "specific", "verb", "no verb"
    if not {*of.words("specific", "context")[-1:]} & {*_DEMONSTRATIVES}:
        yield "specific", "context", f"must end in {' or '.join(_DEMONSTRATIVES)}"


def _garden_path_object(of: RegionWords) -> Iterator[Finding]:
    yield from _garden_path(of)
    lists = word_lists()
    context = {*of.words("specific", "context")}
    if not context & lists["plain_object_verbs"]:
        yield "specific", "context", "no main verb that is known to take only nouns"
    for verb in sorted(context & lists["clause_verbs"]):
        yield "specific", "context", f"{verb} may take a clause or a noun and its verb"


def _garden_path_subject(of: RegionWords) -> Iterator[Finding]:
    yield from _garden_path(of)
    if not of.words("specific", "predicate"):
        yield "specific", "predicate", "no predicate"


def _missing_object(of: RegionWords) -> Iterator[Finding]:
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
        yield "missing", "modifier", f"must be the modifier without {DE}"
    joined = bool({*modifier} & lists["conjunctions"])
    if joined != (of.suite.modifier == "coordinated_rc"):
        yield "present", "modifier", "must have a conjunction if it is coordinated, and only then"
    if (modifier.count(DE) > 1) != (of.suite.modifier == "embedded_rc"):
        yield "present", "modifier", f"must have {DE} twice if it is embedded, and only then"


def _subordination(of: RegionWords) -> Iterator[Finding]:
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
    content = parse_yaml(path.read_text(encoding="utf-8"))
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
