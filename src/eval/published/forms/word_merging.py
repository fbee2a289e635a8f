"""Words from the tokens of a sentence: numbers are added up over the tokens of each word.

The tokens must spell the characters of the words; a token with characters of two words has no place
in either. Without the words, they are found by the marks with which tokens show where words begin
or go on; tokens without any marks are words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

from gardenpath.errors import InputError
from gardenpath.eval.published.forms.foreign import ForeignSentence
from gardenpath.eval.published.surprisal_files import ScoredSentence
from gardenpath.eval.suites.scoring.alignment import (
    AlignmentError,
    is_edge,
    is_unknown,
    token_spans,
)
from gardenpath.text import Words

_BLANKS = ("▁", "Ġ", " ")
_CONTINUES = "##"
_IS_CONTINUED = "@@"
_END_OF_WORD = "</w>"


def merged_words(scored: ScoredSentence, words: Words, path: Path, number: int) -> ScoredSentence:
    """Return the numbers of the words; the tokens must spell them, edge tokens are left out.

    ``number`` is that of the sentence, from 1.
    """
    if scored.tokens == words:
        return scored
    text = " ".join(words)
    ends, position = [], 0
    for word in words:
        position += len(word)
        ends.append(position)
        position += 1
    place = f"sentence {number}"
    try:
        spans = token_spans(text, scored.tokens, word_ends=ends, place=place)
    except AlignmentError as error:
        raise InputError(str(error), path=path, line=scored.line) from error
    parts: list[list[float]] = [[] for _ in words]
    here = 0
    for token, span, value in zip(scored.tokens, spans, scored.values, strict=True):
        if span is None:
            continue
        while here < len(words) - 1 and span.start >= ends[here]:
            here += 1
        if span.end > ends[here]:
            raise InputError(
                f"{place}: token {token!r} has characters of two words, {words[here]!r} and "
                f"{words[here + 1]!r}",
                path=path,
                line=scored.line,
                remedy="numbers of such tokens cannot be divided; score words with their "
                "probabilities of characters (docs/models.md)",
            )
        parts[here].append(value)
    if empty := [word for word, part in zip(words, parts, strict=True) if not part]:
        raise InputError(f"{place}: no token for {empty[0]!r}", path=path, line=scored.line)
    return replace(scored, tokens=words, values=tuple(map(math.fsum, parts)))


def words_by_marks(sentences: Sequence[ForeignSentence], path: Path) -> list[Words]:
    """Return the words of the sentences of a file, as their texts or the marks of tokens say."""
    tokens = [[token for token in one.scored.tokens if not is_edge(token)] for one in sentences]
    spell = _speller({token for own in tokens for token in own})
    found = []
    for one, own in zip(sentences, tokens, strict=True):
        if not one.text and (unknown := [token for token in own if is_unknown(token)]):
            raise InputError(
                f"{one.place}: {unknown[0]!r} stands for a word that is not in the file",
                path=path,
                line=one.scored.line,
                remedy="name the file of the sentences, as in model.network.sentences=FILE",
            )
        found.append(tuple((one.text or spell(own)).split()))
    return found


def _speller(tokens: Collection[str]) -> Callable[[Sequence[str]], str]:
    """Return the function that joins tokens with the marks of a file, with blanks between words."""
    if any(token.startswith(_CONTINUES) and token != _CONTINUES for token in tokens):
        return _with_continuations
    if any(token.endswith(_IS_CONTINUED) and token != _IS_CONTINUED for token in tokens):
        return _with_continued
    if any(token.endswith(_END_OF_WORD) for token in tokens):
        return lambda own: "".join(own).replace(_END_OF_WORD, " ")
    if any(mark in token for token in tokens for mark in _BLANKS):
        return _with_blanks
    return " ".join


def _with_continuations(tokens: Sequence[str]) -> str:
    return "".join(
        token.removeprefix(_CONTINUES) if token.startswith(_CONTINUES) else f" {token}"
        for token in tokens
    )


def _with_continued(tokens: Sequence[str]) -> str:
    return "".join(
        token.removesuffix(_IS_CONTINUED) if token.endswith(_IS_CONTINUED) else f"{token} "
        for token in tokens
    )


def _with_blanks(tokens: Sequence[str]) -> str:
    text = "".join(tokens)
    for mark in _BLANKS:
        text = text.replace(mark, " ")
    return text
