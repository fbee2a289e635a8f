"""Segmenters without a dictionary: every character a word, or words between blanks."""

from __future__ import annotations

import re

# Latin words, numbers and names such as e-mail, 2.5 and Ph.D, else single characters.
_CHARACTERS = re.compile(r"[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*|\S")


class CharacterSegmenter:
    """Every character is a word, except that what is written in Latin letters and digits is one.

    Such words keep their hyphens and inner full stops, because the blank that separates words of
    Latin letters would change the text.
    """

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
