"""Helpers for names and sentences shown to users."""

from __future__ import annotations

import re
from collections.abc import Sequence

# The words of a sentence.
Words = tuple[str, ...]

_MOST_DIGITS = 18
# File systems allow names of 255 bytes; temporary files have longer names than their targets.
_LONGEST_STEM = 150
_NOT_IN_FILE_NAMES = re.compile(r"[^\w.-]+")

NO_BREAK = "\N{NO-BREAK SPACE}"
_KEPT_TOGETHER = re.compile(
    r"(?<=\S) (?=[=<>] )|(?<=[=<>]) (?=\S)|(?<=\bS[ED]) (?=[\d−])|(?<=\bmean) (?=[\d−])"
    r"|(?<=\d) (?=bits\b|%)"
)


def unbroken(content: str) -> str:
    """Replace the spaces inside numbers by no-break spaces: ``p = .061``, ``95 %``."""
    return _KEPT_TOGETHER.sub(NO_BREAK, content)


def key(value: object) -> str:
    """Convert a value to the spelling used in configurations: ``Verb-Noun`` is ``verb_noun``."""
    return str(value).strip().lower().replace("-", "_").replace(" ", "_")


def spaced(name: object) -> str:
    """Replace underscores in a name by spaces: ``classifier noun``."""
    return str(name).replace("_", " ")


def heading(name: str) -> str:
    """Format a name as the beginning of a title: ``wh_discharge`` becomes ``Wh discharge``."""
    words = spaced(name)
    return f"{words[:1].upper()}{words[1:]}"


def enumeration(values: Sequence[object], *, last: str = ", ") -> str:
    """List distinct values once each; ``last`` separates the last two."""
    texts = list(dict.fromkeys(str(value) for value in values))
    return last.join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


def file_stem(name: str) -> str:
    """Return a name, which may come from a file, as a name within a folder: ``a/b`` is ``a_b``."""
    return short_stem(_NOT_IN_FILE_NAMES.sub("_", name).strip("_.")) or "unnamed"


def short_stem(stem: str) -> str:
    """Return the beginning of a name, as much as file systems allow with some letters added."""
    return stem.encode("utf-8", "replace")[:_LONGEST_STEM].decode("utf-8", "ignore")


def is_count(text: str) -> bool:
    """Whether a text is a whole number that any count or identifier could have.

    Python refuses to convert numbers of thousands of digits.
    """
    return text.isdecimal() and len(text) <= _MOST_DIGITS


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 model``, ``2 models``."""
    return f"{count} {noun}{'s' * (count != 1)}"
