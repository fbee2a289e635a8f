"""The published Mandarin suites (Wang et al. 2021), read from their files and checked.

``layouts`` imports surprisals for them, and scores runs of our own on them. A suite is a text file,
``cls_none_txt.txt``, with one sentence per line and spaces between words; consecutive lines form an
item. Whether the lines of an item are in the conditions that the layout says is checked by their
words. Where the sentences of an item alone do not show it, sister suites do: suites of one class
have the same frames, so a classifier or verb that is right in one of them is not wrong in another.

All published tables of surprisals were made from an earlier version of two suites: the relative
clauses of three items (twelve sentences) have other words, the critical words are the same.
These wordings are accepted, and listed in the receipt; the suite of an imported run has the
sentences that were scored.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from gardenpath.errors import InputError
from gardenpath.eval.published.files import check_folders, read_lines
from gardenpath.eval.published.pairing import Materials, in_file_order
from gardenpath.eval.suites.formula import Formula
from gardenpath.eval.suites.suite import Item, Prediction, Suite, Variant
from gardenpath.util import Words

GENERAL_CLASSIFIER = "个"
RELATIVISER = "的"

_ORDER = "the lines of an item must be in the order of the layout"
# Words that a classifier follows: numerals and demonstratives.
_BEFORE_CLASSIFIERS = frozenset("一两二三四五六七八九十几那这每")


def check_item(kind: str, sentences: Sequence[Words], path: Path, line: int) -> None:
    """Refuse an item whose lines are not in the order of the conditions of its class."""
    if any(len(words) < 3 for words in sentences):
        raise InputError("a sentence has fewer than three words", path=path, line=line)
    problem = _CHECKS[kind](*sentences)
    if problem:
        shown = " / ".join("".join(words) for words in sentences)
        problem = f"is not an item of class {kind}: {problem}\n  {shown}"
        raise InputError(problem, path=path, line=line, remedy=_ORDER)


def _classifier_noun(*lines: Words) -> str:
    first, second, third, fourth = lines
    if first[-2:] != second[-2:] or third[-2:] != fourth[-2:]:
        return "lines 1 and 2, and lines 3 and 4, must end in the same noun"
    classifiers = _exchanged(first, second), _exchanged(fourth, third)
    if None in classifiers:
        return "lines 1 and 2, and lines 3 and 4, must differ in the classifier only"
    is_same = classifiers[0] == classifiers[1]
    return "" if is_same else "lines 1 and 4, and lines 2 and 3, must have one classifier"


def _garden_path(specific: Words, general: Words, *, is_object: bool) -> str:
    is_at_object = [words[-3] == RELATIVISER for words in (specific, general)]
    if is_object and not all(is_at_object):
        return f"the lines must end in a verb, {RELATIVISER}, a noun and a full stop"
    if not is_object and any(is_at_object):
        return "the relative clause must modify the subject"
    pairs = [(a, b) for a, b in zip(specific, general, strict=False) if a != b]
    is_general = bool(pairs) and pairs[0][1] == GENERAL_CLASSIFIER != pairs[0][0]
    return "" if is_general else f"line 2 must have {GENERAL_CLASSIFIER} for a classifier of line 1"


def _verb_noun(compatible: Words, incompatible: Words) -> str:
    if _exchanged(compatible, incompatible) is None:
        return "the lines must differ in the verb only"
    place = next(n for n, word in enumerate(compatible) if word != incompatible[n])
    is_classifier = place > 0 and compatible[place - 1] in _BEFORE_CLASSIFIERS
    return "the lines differ in a classifier, not in the verb" if is_classifier else ""


def _missing_object(missing: Words, present: Words) -> str:
    is_part = missing[:-1] == present[: len(missing) - 1] and len(missing) < len(present)
    return "" if is_part else "line 1 must be line 2 without its object"


def _subordination(complete: Words, incomplete: Words) -> str:
    is_longer = len(complete) > len(incomplete) and complete[0] == incomplete[0]
    return "" if is_longer else "line 2 must be the subordinate clause of line 1"


_CHECKS: Mapping[str, Callable[..., str]] = {
    "classifier_noun": _classifier_noun,
    "garden_path_object": partial(_garden_path, is_object=True),
    "garden_path_subject": partial(_garden_path, is_object=False),
    "verb_noun": _verb_noun,
    "missing_object": _missing_object,
    "subordination": _subordination,
}


def _exchanged(first: Words, second: Words) -> tuple[str, str] | None:
    """Return the words in which two sentences differ, if they differ in exactly one."""
    if len(first) != len(second):
        return None
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a != b]
    return pairs[0] if len(pairs) == 1 else None


def check_sisters(suites: Iterable[Materials]) -> None:
    """Refuse suites in which what is right and wrong is exchanged against their sister suites."""
    by_kind: dict[str, list[Materials]] = {}
    for materials in suites:
        if materials.suite.kind in ("classifier_noun", "verb_noun"):
            by_kind.setdefault(materials.suite.kind, []).append(materials)
    for sisters in by_kind.values():
        for materials, item in (
            (sister, item) for sister in sisters for item in sister.suite.items
        ):
            words = _right_and_wrong(materials, item.number)
            votes = [_right_and_wrong(sister, item.number) for sister in sisters]
            if words and 0 < votes.count(words) <= votes.count(words[::-1]):
                before = materials.suite.items[: item.number - 1]
                raise InputError(
                    f"item {item.number}: {words[0]} is right and {words[1]} wrong, which is "
                    "the other way round in other suites of the class",
                    path=materials.path,
                    line=materials.lines[sum(len(other.variants) for other in before)],
                    remedy=_ORDER,
                )


def _right_and_wrong(materials: Materials, number: int) -> tuple[str, str] | None:
    items = [item for item in materials.suite.items if item.number == number]
    if not items:
        return None
    first, second = items[0].variants[:2]
    return _exchanged(first.words, second.words)


# The material between the dependent words, by the suffix of a file's name.
_MODIFIERS = {
    "none": "none",
    "adj": "adjective",
    "obj": "object_rc",
    "sub": "subject_rc",
    "sub2": "coordinated_rc",
    "subh": "embedded_rc",
}


# The earlier wordings (see ``pairing.wording_digest``) of object_rc, items 5 and 7, and of
# subject_rc, item 28, of classifier-noun.
_EARLIER_WORDINGS = frozenset(
    {
        *("be626ae95a67", "b10d5fa7a752", "3997bbb7d3c8", "1564141d8e01"),
        *("68694f2910da", "b781a3e7d2a2", "17509181026f", "18dd8f1409a4"),
        *("956e718cec48", "54fd0c10c081", "5ed9df67ac16", "f0eb8bbac055"),
    }
)

# In two published folders of the LSTM, the files of classifier-noun and of garden path object give
# equal beginnings of sentences other surprisals than the files beside them: they are of other
# models (see ``checks.numbers_digest``). In the second folder, classifier-noun without modifier
# agrees with the rest.
OTHER_MODELS = frozenset(
    {
        *("5a13e5e910e1", "3fc92db0b739", "46659b04eddc", "3231d2e2a34c"),
        *("66fcb1a5f755", "77e70c8ee971", "5677212b9292", "1d83b03ffbf0"),
        *("3550cbd0193c", "8aae4a77ffad", "dab53708c8b5"),
        *("971b1d13cb93", "44420dc1ed81", "edfd3a8fe80a", "1aedabd118f5"),
    }
)


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of the files of a class.

    ``conditions``: the conditions of the lines of an item; ``predictions``: pairs of a condition
    with higher and one with lower surprisal; ``target``: a function that returns start and end of
    the critical region.
    """

    key: str
    kind: str
    conditions: tuple[str, ...]
    predictions: tuple[tuple[str, str], ...]
    target: Callable[[Words], tuple[int, int]]


def _from_end(start: int, end: int = 0) -> Callable[[Words], tuple[int, int]]:
    return lambda words: (len(words) - start, len(words) - end)


def _last_de(words: Words) -> tuple[int, int]:
    """Return the relativiser of the outermost relative clause: the last 的."""
    last = max((number for number, word in enumerate(words) if word == RELATIVISER), default=-1)
    return last, last + 1


LAYOUTS = (
    Layout(
        "cls", "classifier_noun", ("match_a", "mismatch_a", "match_b", "mismatch_b"),
        (("mismatch_a", "match_a"), ("mismatch_b", "match_b"), ("mismatch_b", "match_a"),
         ("mismatch_a", "match_b")),
        _from_end(2),
    ),
    Layout(
        "gpo", "garden_path_object", ("specific", "general"), (("general", "specific"),),
        _from_end(4, 3),
    ),
    Layout(
        "gps", "garden_path_subject", ("specific", "general"), (("general", "specific"),), _last_de
    ),
    Layout(
        "vo", "verb_noun", ("compatible", "incompatible"), (("incompatible", "compatible"),),
        _from_end(2),
    ),
    Layout(
        "mobj", "missing_object", ("missing", "present"), (("missing", "present"),), _from_end(1)
    ),
    Layout(
        "sd", "subordination", ("with_main", "without_main"), (("without_main", "with_main"),),
        _from_end(1),
    ),
)  # fmt: skip


def load_mandarin(folders: Sequence[Path]) -> dict[str, Materials]:
    """Read the suites in folders and their subfolders, by file key (``cls_none``)."""
    check_folders(folders)
    suites: dict[str, Materials] = {}
    for layout, modifier in itertools.product(LAYOUTS, _MODIFIERS):
        key = f"{layout.key}_{modifier}"
        names = (f"{key}_txt.txt", f"{key}.txt")
        paths = sorted({path for place in folders for name in names for path in place.rglob(name)})
        if len(paths) > 1:
            raise InputError(f"{paths[1]} is the same suite", path=paths[0])
        if paths:
            suites[key] = read_mandarin_suite(paths[0], layout, modifier)
    if not suites:
        problem = "contains no Mandarin suite"
        remedy = "suites are text files such as cls_none_txt.txt, in any subfolder"
        raise InputError(problem, path=", ".join(map(str, folders)), remedy=remedy)
    check_sisters(suites.values())
    return suites


def read_mandarin_suite(path: Path, layout: Layout, modifier: str) -> Materials:
    """Read one suite from its text file; the lines of every item must fit their conditions."""
    lines = read_lines(path)
    sentences = [(n, tuple(line.split())) for n, line in enumerate(lines, 1) if line.strip()]
    size = len(layout.conditions)
    if not sentences or len(sentences) % size:
        problem = f"{len(sentences)} sentences cannot be divided into items of {size}"
        raise InputError(problem, path=path)
    items = []
    for start in range(0, len(sentences), size):
        group = sentences[start : start + size]
        check_item(layout.kind, [words for _, words in group], path, group[0][0])
        variants = []
        for condition, (line, words) in zip(layout.conditions, group, strict=True):
            first, last = layout.target(words)
            if first < 0:
                raise InputError("the sentence has no critical region", path=path, line=line)
            variants.append(Variant(condition, (words[:first], words[first:last], words[last:])))
        items.append(Item(start // size + 1, tuple(variants)))
    predictions = tuple(
        Prediction(f"{more}>{less}", Formula.parse(f"(target;%{more}%) > (target;%{less}%)"))
        for more, less in layout.predictions
    )
    suite = Suite(
        name=f"mandarin/{layout.kind}/{_MODIFIERS[modifier]}", language="zh",
        regions=("context", "target", "rest"), conditions=layout.conditions,
        predictions=predictions, items=tuple(items), kind=layout.kind,
        modifier=_MODIFIERS[modifier], spaced=False, critical=("target",),
        reference="Wang, Hu, Levy and Qian 2021: Controlled evaluation of grammatical knowledge",
    )  # fmt: skip
    materials = in_file_order(path, suite, [line for line, _ in sentences])
    return replace(materials, known=_EARLIER_WORDINGS)
