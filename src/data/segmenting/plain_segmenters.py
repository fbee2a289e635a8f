"""Segmenters without a dictionary: every character a word, or words between blanks."""

from __future__ import annotations

import re

_CHARACTERS = re.compile(r"[A-Za-z0-9]+|\S")


class CharacterSegmenter:
    """Every character is a word; consecutive Latin letters and digits form one word."""

    name = "characters"
    version = ""

    def segment(self, text: str) -> list[str]:
        """Return the characters of a text."""
        return _CHARACTERS.findall(text)


class WhitespaceSegmenter:
    """Words are separated by blanks already."""

    name = "whitespace"
    version = ""

    def segment(self, text: str) -> list[str]:
        """Return what stands between blanks."""
        return text.split()
