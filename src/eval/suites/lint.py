"""The linter of suites: mistakes of form, words that a model does not know, and a checklist.

The library lints what it loads, the task ``lint`` also against the vocabulary and corpus of a run.
The checklist knows what the six Mandarin classes test. Nothing here needs a model or changes a
suite: complaints are returned, and only :func:`check` raises.
"""

from __future__ import annotations

import itertools
import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from gardenpath.eval.suites.formula import WHOLE_SENTENCE, Term, walk
from gardenpath.eval.suites.suite import Glosses, Item, Suite, SuiteError, Variant
from gardenpath.safe_text import parse_yaml
from gardenpath.settings.schema import nearest
from gardenpath.util import Words

# Pairs of words that alternate between the variants of an item, with their corpus frequencies: a
# model may prefer a word for its frequency alone.


@dataclass(frozen=True, slots=True)
class WordPair:
    """Two words that alternate in a region, their counts, and the number of such items."""

    region: str
    first: str
    second: str
    first_count: int
    second_count: int
    items: int

    @property
    def ratio(self) -> float:
        """Ratio of the higher to the lower count; infinite if only one word was seen."""
        rare, frequent = sorted((self.first_count, self.second_count))
        if frequent == 0:
            return 1.0
        return frequent / rare if rare else math.inf


def word_pairs(suite: Suite, count: Callable[[str], int]) -> tuple[WordPair, ...]:
    """Return all pairs with their counts, in descending order of ratio."""
    pairs: Counter[tuple[str, str, str]] = Counter()
    for item in suite.items:
        # Count each pair once per item, regardless of the order of the two words.
        pairs.update({(region, min(a, b), max(a, b)) for region, a, b in _pairs(suite, item)})
    rows = [
        WordPair(region, first, second, count(first), count(second), items)
        for (region, first, second), items in pairs.items()
    ]
    rows.sort(key=lambda pair: (-pair.ratio, -pair.items, pair.region, pair.first, pair.second))
    return tuple(rows)


def _pairs(suite: Suite, item: Item) -> Iterator[tuple[str, str, str]]:
    """Yield region and words, for the critical and differing regions of two variants of an item.

    Regions with different numbers of words are skipped because their words cannot be paired.
    """
    regions = [*suite.critical, *suite.differing] or list(suite.regions)
    for region in dict.fromkeys(regions):
        place = suite.region_index(region)
        for first, second in itertools.combinations(item.variants, 2):
            left, right = first.regions[place], second.regions[place]
            if len(left) == len(right):
                pairs = zip(left, right, strict=True)
                yield from ((region, a, b) for a, b in pairs if a != b)


# Linter for suites, which needs no model.
#
# An ``error`` makes predictions meaningless (an unknown region, a region of interest without
# words); a ``warning`` marks a possible mistake (an item with the same sentence twice).

Severity = Literal["error", "warning"]

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
    complaints = list(_shapes(suite))
    if not any(each.severity == "error" for each in complaints):
        # The other checks require valid regions and terms.
        complaints += [
            *_strange_words(suite),
            *_empty_targets(suite),
            *_differences(suite),
            *_repetitions(suite),
            *_glosses(suite),
        ]
    return sorted(complaints, key=lambda each: each.severity)


def check(suite: Suite) -> list[Complaint]:
    """Return the warnings about a suite; raise SuiteError if there are errors."""
    complaints = lint(suite)
    if errors := [each for each in complaints if each.severity == "error"]:
        shown = "\n".join(f"  - {error}" for error in errors[:10])
        more = f"\n  and {len(errors) - 10} more" if len(errors) > 10 else ""
        raise SuiteError(f"suite {suite.name} cannot be used:\n{shown}{more}")
    return complaints


def _terms(suite: Suite) -> Iterator[Term]:
    return (term for prediction in suite.predictions for term in prediction.formula.terms)


def _shapes(suite: Suite) -> Iterator[Complaint]:
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
    for number, times in Counter(item.number for item in suite.items).items():
        if times > 1:
            message = f"{times} items have this number; number each item once"
            yield Complaint("error", number, "", "", message)
    if not suite.items:
        yield Complaint("error", None, "", "", "no items; write at least one below items:")
    if not suite.predictions:
        remedy = "add predictions:, as in mismatch: (verb;%b%) > (verb;%a%)"
        yield Complaint("warning", None, "", "", f"no predictions; {remedy}")
    compared = {term.condition for term in _terms(suite)}
    usual = {
        condition: Counter(len(item.of_condition(condition)) for item in suite.items)
        for condition in suite.conditions
    }
    for item in suite.items:
        yield from _item_shape(suite, item, compared, usual)


def _item_shape(
    suite: Suite, item: Item, compared: set[str], usual: dict[str, Counter[int]]
) -> Iterator[Complaint]:
    for condition in suite.conditions:
        count = len(item.of_condition(condition))
        expected = usual[condition].most_common(1)[0][0]
        if count == 0:
            severity: Severity = "error" if condition in compared else "warning"
            message = "the item lacks this condition; add a sentence"
            yield Complaint(severity, item.number, condition, "", message)
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
    return ((item, variant) for item in suite.items for variant in item.variants)


def _strange_words(suite: Suite) -> Iterator[Complaint]:
    for item, variant in _variants(suite):
        for region, words in zip(suite.regions, variant.regions, strict=True):
            for word in words:
                if strange := _invisible_in(word):
                    message = f"the word {word!r} contains {strange}; delete it"
                    yield Complaint("error", item.number, variant.condition, region, message)


@cache
def _invisible_in(word: str) -> str:
    signs = [sign for sign in word if unicodedata.category(sign) in _INVISIBLE]
    names = [unicodedata.name(sign, f"U+{ord(sign):04X}") for sign in signs]
    return ", ".join(names) if word else "no characters"


def _empty_targets(suite: Suite) -> Iterator[Complaint]:
    """Yield a warning for an empty term of a sum, an error if a whole side has no words."""
    for item in suite.items:
        for prediction in suite.predictions:
            comparisons = prediction.formula.comparisons
            for side in (side for each in comparisons for side in (each.left, each.right)):
                terms = [node for node in walk(side) if isinstance(node, Term)]
                empty = [
                    term
                    for term in terms
                    if not all(
                        variant.words
                        if term.region == WHOLE_SENTENCE
                        else variant.regions[suite.region_index(term.region)]
                        for variant in item.of_condition(term.condition)
                    )
                ]
                severity: Severity = "error" if len(empty) == len(terms) else "warning"
                for term in empty:
                    message = (
                        f"no words in this region, which prediction {prediction.name} uses; fill "
                        "it, or leave it out of the prediction"
                    )
                    yield Complaint(severity, item.number, term.condition, term.region, message)


def _differences(suite: Suite) -> Iterator[Complaint]:
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
    terms = {term.region for term in _terms(suite)}
    if WHOLE_SENTENCE in terms:
        terms = {*suite.regions}
    targets = sorted({suite.region_index(region) for region in {*terms, *suite.critical}})
    unknown = [
        Complaint(
            *("warning", item.number, variant.condition, suite.regions[place]),
            f"out-of-vocabulary word {word!r}",
        )
        for item, variant in _variants(suite)
        for place in targets
        for word in dict.fromkeys(variant.regions[place])
        if not knows(word)
    ]
    return LexicalCheck(tuple(unknown), word_pairs(suite, count))


# What the items of the six Mandarin classes must have beyond their shape: a mismatched classifier
# must not be one that speakers accept for the noun, the main verb before a garden path must not
# take a clause, and so on. Each class has a function that yields what is wrong with an item.

# The folder of the lists of words.
CHECKLIST = Path(__file__).parent / "materials" / "checklist"

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


def checklist(suite: Suite) -> list[Complaint]:
    """Return what the items of a suite lack; nothing for suites of other classes or shapes."""
    rules = CLASSES.get(suite.kind)
    if rules is None or suite.language != "zh" or suite.regions != rules.regions:
        return []
    if suite.conditions != rules.conditions:
        message = f"conditions must be {', '.join(rules.conditions)}, in this order"
        return [Complaint("warning", None, "", "", message)]
    complaints = [*_whole_suite(suite, rules)]
    glosses = Glosses(suite)
    for item in suite.items:
        if [variant.condition for variant in item.variants] != list(rules.conditions):
            message = "needs one sentence in each condition, in the order of the suite"
            complaints.append(Complaint("warning", item.number, "", "", message))
            continue
        sentences = RegionWords(suite, item)
        findings = [*_every_class(sentences, rules), *rules.rules(sentences)]
        texts = glosses.of(item)
        for variant in item.variants if texts else ():
            for word, gloss in zip(variant.words, texts[variant.condition, 1], strict=True):
                if not gloss:
                    message = f"no gloss of {word}; add it to 'glosses' of the suite"
                    findings.append((variant.condition, "", message))
        complaints += [Complaint("warning", item.number, *each) for each in dict.fromkeys(findings)]
    return complaints


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
        verb = suite.region_index("verb")
        counts: Counter[Words] = Counter()
        for item in suite.items:
            for variant, sign in zip(item.variants, (1, -1), strict=False):
                counts[variant.regions[verb]] += sign
        for words, difference in counts.items():
            if difference:
                message = f"{' '.join(words)} is not compatible as often as it is incompatible"
                yield Complaint("warning", None, "", "verb", message)


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
