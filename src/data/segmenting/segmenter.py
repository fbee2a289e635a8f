"""Segmenters divide text into words, and are chosen by name.

A segmenter never changes the text: its words, joined, are the text without its blanks. ``version``
is that of the program that decides where words end, and empty if a rule of ours does. Both stand
in results, because other words have other probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Protocol

from gardenpath.data.segmenting.jieba_segmenter import JiebaSegmenter
from gardenpath.data.segmenting.plain_segmenters import CharacterSegmenter, WhitespaceSegmenter
from gardenpath.errors import GardenpathError
from gardenpath.settings.check import nearest


class Segmenter(Protocol):
    """Divides text into words."""

    @property
    def name(self) -> str:
        """The name by which settings choose it."""

    @property
    def version(self) -> str:
        """Version of the program that divides the text; empty for a rule of ours."""

    def segment(self, text: str) -> list[str]:
        """Return the words of a text, without blanks."""


SEGMENTERS: Mapping[str, Callable[[], Segmenter]] = {
    "characters": CharacterSegmenter,
    "whitespace": WhitespaceSegmenter,
    "jieba": JiebaSegmenter,
}


@cache
def segmenter_named(name: str) -> Segmenter:
    """Return a segmenter; raise an error if there is none of this name, or if it is not installed.

    Segmenters load their dictionaries once per process.
    """
    if name not in SEGMENTERS:
        raise GardenpathError(f"unknown segmenter {name!r}; {nearest(name, SEGMENTERS)}")
    return SEGMENTERS[name]()


def segmenter_label(segmenter: Segmenter) -> str:
    """Return name and version, as they stand in results: ``jieba 0.42.1``."""
    return f"{segmenter.name} {segmenter.version}".strip()
