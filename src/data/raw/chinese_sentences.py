"""Sentences of Chinese text, by rules.

A sentence ends after one or more final marks, and quotes and brackets that close after them belong
to it: ``他说：“好。”我走了。`` has two sentences. Marks inside of titles, 《…》, end none.
"""

from __future__ import annotations

import re

_CLOSING = frozenset("”’」』）》〉】〕］｝)]}»")
_STRAIGHT = '"'
_TITLE = re.compile("《[^《》]*》|〈[^〈〉]*〉")


def chinese_ends_of(text: str, ends: str) -> list[int]:
    """Return the positions after the sentences of a text, except that of its end."""
    marks = frozenset(ends)
    titles = {match.start(): match.end() for match in _TITLE.finditer(text)}
    found: list[int] = []
    position, quotes = 0, 0
    last = len(text.rstrip())
    while position < last:
        if position in titles:
            position = titles[position]
            continue
        character = text[position]
        position += 1
        quotes += character == _STRAIGHT
        if character not in marks:
            continue
        while position < len(text) and text[position] in marks:
            position += 1
        position, quotes = _after_closing(text, position, quotes)
        if position < last:
            found.append(position)
    return found


def _after_closing(text: str, position: int, quotes: int) -> tuple[int, int]:
    """Return the position after closing quotes and brackets, and the number of straight quotes."""
    while position < len(text):
        if text[position] == _STRAIGHT and _closes(text, position, quotes):
            quotes += 1
        elif text[position] not in _CLOSING:
            break
        position += 1
    return position, quotes


def _closes(text: str, position: int, quotes: int) -> bool:
    """Whether a straight quote closes: one is open, or nothing follows directly."""
    following = text[position + 1 : position + 2]
    return quotes % 2 == 1 or not following or following.isspace()
