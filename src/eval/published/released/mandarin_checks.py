"""Whether the lines of a Mandarin item are in the conditions that the layout says.

Where the sentences of an item alone do not show it, sister suites do: suites of one class have the
same frames, so a classifier or verb that is right in one of them is not wrong in another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from gardenpath.errors import InputError
from gardenpath.eval.published.pairing import Materials
from gardenpath.text import Words

GENERAL_CLASSIFIER = "个"
RELATIVISER = "的"

# Words that a classifier follows: numerals and demonstratives.
_BEFORE_CLASSIFIERS = frozenset("一两二三四五六七八九十几那这每")


def check_item(kind: str, sentences: Sequence[Words], path: Path, line: int) -> None:
    """Refuse an item whose lines are not in the order of the conditions of its class."""
    if any(len(words) < 3 for words in sentences):
        raise InputError("a sentence has fewer than three words", path=path, line=line)
    problem = _CHECKS[kind](*sentences)
    if problem:
        shown = " / ".join("".join(words) for words in sentences)
        raise InputError(
            f"is not an item of class {kind}: {problem}\n  {shown}",
            path=path,
            line=line,
            remedy="the lines of an item must be in the order of the layout",
        )


def _classifier_noun(*lines: Words) -> str:
    first, second, third, fourth = lines
    if first[-2:] != second[-2:] or third[-2:] != fourth[-2:]:
        return "lines 1 and 2, and lines 3 and 4, must end in the same noun"
    one, other = _exchanged(first, second), _exchanged(fourth, third)
    if one is None or other is None:
        return "lines 1 and 2, and lines 3 and 4, must differ in the classifier only"
    return "" if one == other else "lines 1 and 4, and lines 2 and 3, must have one classifier"


def _garden_path(specific: Words, general: Words) -> str:
    pairs = [(a, b) for a, b in zip(specific, general, strict=False) if a != b]
    is_general = bool(pairs) and pairs[0][1] == GENERAL_CLASSIFIER != pairs[0][0]
    return "" if is_general else f"line 2 must have {GENERAL_CLASSIFIER} for a classifier of line 1"


def _garden_path_object(specific: Words, general: Words) -> str:
    if specific[-3] != RELATIVISER or general[-3] != RELATIVISER:
        return f"the lines must end in a verb, {RELATIVISER}, a noun and a full stop"
    return _garden_path(specific, general)


def _garden_path_subject(specific: Words, general: Words) -> str:
    if RELATIVISER in (specific[-3], general[-3]):
        return "the relative clause must modify the subject"
    return _garden_path(specific, general)


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
    "garden_path_object": _garden_path_object,
    "garden_path_subject": _garden_path_subject,
    "verb_noun": _verb_noun,
    "missing_object": _missing_object,
    "subordination": _subordination,
}


def _exchanged(one: Words, other: Words) -> tuple[str, str] | None:
    """Return the words in which two sentences differ, if they differ in exactly one."""
    if len(one) != len(other):
        return None
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
    return pairs[0] if len(pairs) == 1 else None


def check_sisters(suites: Iterable[Materials]) -> None:
    """Refuse suites in which what is right and wrong is exchanged against their sister suites."""
    by_kind: dict[str, list[Materials]] = {}
    for one in suites:
        if one.suite.kind in ("classifier_noun", "verb_noun"):
            by_kind.setdefault(one.suite.kind, []).append(one)
    for sisters in by_kind.values():
        for one in sisters:
            for item in one.suite.items:
                found = _right_and_wrong(one, item.number)
                votes = [_right_and_wrong(other, item.number) for other in sisters]
                reverse = votes.count(found[::-1]) if found else 0
                if found and 0 < votes.count(found) <= reverse:
                    place = sum(len(before.variants) for before in one.suite.items[: item.number])
                    raise InputError(
                        f"item {item.number}: {found[0]} is right and {found[1]} wrong, which is "
                        "the other way round in other suites of the class",
                        path=one.path,
                        line=one.lines[place - len(item.variants)],
                        remedy="the lines of an item must be in the order of the layout",
                    )


def _right_and_wrong(materials: Materials, number: int) -> tuple[str, str] | None:
    """Return the words that distinguish the first two lines of an item."""
    items = [item for item in materials.suite.items if item.number == number]
    if not items:
        return None
    first, second = items[0].variants[:2]
    return _exchanged(first.words, second.words)
