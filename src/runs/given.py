"""Sentences given in Python: strings, lists of words, or trees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gardenpath.data.segmenting.writing_style import WritingStyle
from gardenpath.data.sentence import Sentence, Source
from gardenpath.data.trees.brackets import parse_tree
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.trees.tree import Tree
from gardenpath.errors import GardenpathError

# One sentence: words separated by spaces, a bracketed tree, a list of words, or a tree.
OneGiven = str | Sequence[str] | Tree
Given = OneGiven | Sequence[OneGiven]

# Name of sentences that are not from a file, in messages.
_SOURCE = "sentence"


def is_single(given: Given) -> bool:
    """Whether a single sentence is given, not a list of sentences."""
    return isinstance(given, str | Tree)


def sentences_of_given(
    given: Given, cleaning: Cleaning, style: WritingStyle | None = None
) -> list[Sentence]:
    """Return sentences, cleaned like the corpus of a model; none may be empty.

    A list of strings is a list of sentences; a list of lists of strings is a list of tokenised
    sentences. Strings are divided into words as the corpus is (``style``), else at blanks.
    """
    members = [given] if isinstance(given, str | Tree) else list(given)
    sentences = [_sentence(one, number) for number, one in enumerate(members, start=1)]
    cleaned = list(replace(cleaning, max_tokens=None).apply(sentences))
    if style is not None:
        written = {number for number, one in enumerate(members, start=1) if isinstance(one, str)}
        cleaned = [
            _divided(one, style) if one.source.line in written and one.tree is None else one
            for one in cleaned
        ]
    if len(cleaned) < len(sentences) or not sentences:
        kept = {sentence.source.line for sentence in cleaned}
        empty = next((n for n in range(1, len(sentences) + 1) if n not in kept), 1)
        raise GardenpathError(f"sentence {empty} has no words")
    return cleaned


def _divided(sentence: Sentence, style: WritingStyle) -> Sentence:
    words = style.words(sentence.words, sentence.source)
    return replace(sentence, words=tuple(word for word, _ in words))


def _sentence(one: OneGiven, number: int) -> Sentence:
    source = Source(_SOURCE, number)
    if isinstance(one, str) and one.lstrip().startswith("("):
        one = parse_tree(one)
    if isinstance(one, Tree):
        return Sentence(one.words(), source, one)
    if isinstance(one, str) and len(one.strip().splitlines()) > 1:
        raise GardenpathError(
            f"sentence {number} contains line breaks; give a list with one string per sentence, "
            "such as text.splitlines()"
        )
    words = tuple(one.split()) if isinstance(one, str) else tuple(_words(one))
    if not words:
        raise GardenpathError(f"sentence {number} has no words")
    return Sentence(words, source)


def _words(one: Iterable[str]) -> Iterable[str]:
    for word in one:
        if not isinstance(word, str) or word.split() != [word]:
            raise GardenpathError(f"{word!r} is not a word; give strings, lists of words, or trees")
        yield word
