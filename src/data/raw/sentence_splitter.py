"""Divide passages into sentences, each with the line on which it begins."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise

from gardenpath.data.raw.chinese_sentences import chinese_ends_of
from gardenpath.data.raw.english_sentences import english_ends_of
from gardenpath.data.raw.passages import Passage
from gardenpath.data.raw.raw_settings import SentenceSettings
from gardenpath.data.words.unknown_words import Language
from gardenpath.errors import GardenpathError

# From a text to the positions after its sentences, except that of its end.
_Ends = Callable[[str], list[int]]

_DEFAULT = SentenceSettings()
_PUNKT = "tokenizers/punkt_tab/english/"
_LATIN = re.compile(r"[\w.,;:!?%)\]'\"-]", re.ASCII)


def split_sentences(
    text: str, *, language: Language, settings: SentenceSettings = _DEFAULT
) -> list[str]:
    """Return the sentences of a paragraph; joined, they are the paragraph up to blanks."""
    return [text[begin:end].strip() for begin, end in _spans(text, _ends_of(language, settings))]


def passage_sentences(
    passage: Passage, *, language: Language, settings: SentenceSettings
) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a passage with the numbers of the lines on which they begin."""
    text, starts = _joined(passage, language)
    numbers = [number for number, _ in passage.lines]
    line = 0
    for begin, end in _spans(text, _ends_of(language, settings)):
        begin += len(text[begin:end]) - len(text[begin:end].lstrip())
        while line + 1 < len(starts) and starts[line + 1] <= begin:
            line += 1
        yield numbers[line], text[begin:end].rstrip()


def splitter_problem(language: Language, settings: SentenceSettings) -> str:
    """Return why a splitter cannot be used; empty if it can."""
    if settings.splitter != "punkt":
        return ""
    if language != "en":
        return "splitter=punkt is for English; use splitter=rules"
    import nltk

    try:
        nltk.data.find(_PUNKT)
    except LookupError:
        return (
            "splitter=punkt needs its model: python -m nltk.downloader punkt_tab; or use "
            "splitter=rules, which needs none"
        )
    return ""


def _ends_of(language: Language, settings: SentenceSettings) -> _Ends:
    if settings.splitter == "lines":
        return lambda text: []
    if settings.splitter == "punkt":
        return _punkt_ends(language, settings)
    if language == "zh":
        return lambda text: chinese_ends_of(text, settings.chinese_ends)
    return english_ends_of


@cache
def _punkt_ends(language: Language, settings: SentenceSettings) -> _Ends:
    if problem := splitter_problem(language, settings):
        raise GardenpathError(problem)
    from nltk.tokenize.punkt import PunktTokenizer

    tokeniser = PunktTokenizer("english")
    return lambda text: [end for _, end in tokeniser.span_tokenize(text)][:-1]


def _spans(text: str, ends_of: _Ends) -> Iterator[tuple[int, int]]:
    for begin, end in pairwise([0, *ends_of(text), len(text)]):
        if text[begin:end].strip():
            yield begin, end


def _joined(passage: Passage, language: Language) -> tuple[str, list[int]]:
    """Join the lines of a passage; return the text and where each line begins in it.

    Chinese lines are joined without a blank, unless both sides are Latin.
    """
    text = ""
    starts = []
    for _, line in passage.lines:
        content = line.strip()
        is_latin = bool(text and _LATIN.match(text[-1]) and _LATIN.match(content[:1]))
        if text and (language != "zh" or is_latin):
            text += " "
        starts.append(len(text))
        text += content
    return text, starts
