"""Segmenters divide text into words, and are chosen by name.

A segmenter never changes the text: its words, joined, are the text without its blanks. ``version``
is that of the program that decides where words end, and empty if a rule of ours does. Both stand
in results, because other words have other probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Protocol

from gardenpath.data.segmenting.jieba_segmenter import JiebaSegmenter, jieba_problem
from gardenpath.data.segmenting.model_segmenters import (
    DEFAULT_PKUSEG_MODEL,
    DEFAULT_SPACY_MODEL,
    PkusegSegmenter,
    SpacySegmenter,
    pkuseg_problem,
    spacy_problem,
)
from gardenpath.data.segmenting.nltk_segmenter import NltkSegmenter
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
    "nltk": NltkSegmenter,
}
# Segmenters of which there are several models, written ``spacy:zh_core_web_sm``.
MODEL_SEGMENTERS: Mapping[str, Callable[[str], Segmenter]] = {
    "spacy": SpacySegmenter,
    "pkuseg": PkusegSegmenter,
}


@cache
def segmenter_named(name: str) -> Segmenter:
    """Return a segmenter; raise an error if there is none of this name, or if it is not installed.

    Segmenters load their dictionaries once per process.
    """
    if problem := segmenter_problem(name):
        raise GardenpathError(problem)
    kind, _, model = name.partition(":")
    return MODEL_SEGMENTERS[kind](model) if kind in MODEL_SEGMENTERS else SEGMENTERS[name]()


def segmenter_problem(name: str) -> str:
    """Return why a segmenter cannot be used, before its data are loaded; empty if it can."""
    kind, _, model = name.partition(":")
    if kind == "spacy":
        return spacy_problem(model or DEFAULT_SPACY_MODEL)
    if kind == "pkuseg":
        return pkuseg_problem(model or DEFAULT_PKUSEG_MODEL)
    if name not in SEGMENTERS:
        return f"unknown segmenter {name!r}; {nearest(name, [*SEGMENTERS, *MODEL_SEGMENTERS])}"
    return jieba_problem() if name == "jieba" else ""


def segmenter_label(segmenter: Segmenter) -> str:
    """Return name and version, as they stand in results: ``jieba 0.42.1``."""
    return f"{segmenter.name} {segmenter.version}".strip()
