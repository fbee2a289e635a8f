"""Words from the tokens of a sentence: numbers are added up over the tokens of each word.

The tokens must spell the characters of the words; a token with characters of two words has no place
in either. Without the words, they are found by the marks with which tokens show where words begin
or go on; tokens without any marks are words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gardenpath.data.readers.base import SurprisalForm
from gardenpath.errors import InputError
from gardenpath.eval.published.checks import (
    RunBeginnings,
    check_beginnings,
    check_values,
    in_bits,
    not_scored,
)
from gardenpath.eval.published.files import PairingRules, ScoredSentence, without_edges
from gardenpath.eval.published.forms import read_foreign
from gardenpath.eval.published.tables import find_sentences
from gardenpath.eval.published.token_tables import (
    ForeignFile,
    ForeignSentence,
    TokenTable,
    numbered,
    read_words,
    readable_sentences,
)
from gardenpath.eval.suites.regions import AlignmentError, is_edge, is_unknown, token_spans
from gardenpath.util import Words, plural

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


# ----------------------------------------------------------------------------
# The surprisals of words in a file of any form, checked as those of an import.


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredWords:
    """Sentences with the surprisals (bits) of their words, and notes for the reader.

    ``has_pieces``: whether numbers of several tokens were added up for some words.
    """

    sentences: tuple[ScoredSentence, ...]
    unit: str
    has_pieces: bool
    notes: tuple[str, ...]


def read_scored_words(
    path: Path,
    form: SurprisalForm,
    rules: PairingRules,
    *,
    sentences: Sequence[Words] | None = None,
    run: str | None = None,
) -> ScoredWords:
    """Read a file of a form other than our own tables.

    ``sentences`` are those that were scored. Files that contain the text of sentences may be in
    another order; all others must be in this order.
    """
    if form == "table":
        file = _of_table(read_words(path, rules, {}), run)
    else:
        file = read_foreign(path, form, rules.unit)
    if file.is_whole or form == "syntaxgym":
        raise InputError(
            "has no numbers of words",
            path=path,
            remedy="numbers of sentences and regions are scored with task=rescore",
        )
    return _scored(file, rules, sentences)


def _of_table(table: TokenTable, run: str | None) -> ForeignFile:
    """Return the sentences of one run of a table."""
    names = [one.run or one.model for one in table.runs]
    chosen = [one for one, name in zip(table.runs, names, strict=True) if run in (None, name)]
    if len(chosen) != 1:
        raise InputError(
            f"has {len(names)} runs, such as {', '.join(names[:3])}",
            path=table.path,
            remedy="choose one, as in model.network.run=NAME",
        )
    sentences = numbered(one.scored for one in chosen[0].sentences)
    return ForeignFile(
        path=table.path,
        form="table",
        unit=table.unit,
        sentences=readable_sentences(sentences, table.path),
        is_by_text=False,
    )


def _scored(file: ForeignFile, rules: PairingRules, asked: Sequence[Words] | None) -> ScoredWords:
    path = file.path
    wanted = _own_sentences(file) if asked is None else list(asked)
    found = _by_text(file, wanted) if file.is_by_text else _in_order(file, wanted)
    bits = in_bits([without_edges(one) for one in found], file.unit, path)
    check_values(bits, path)
    bits, count = not_scored(bits)
    words = [
        merged_words(one, own, path, number)
        for number, (one, own) in enumerate(zip(bits, wanted, strict=True), start=1)
    ]
    notes = []
    if unscored := sum(math.isnan(one.values[0]) for one in words):
        first = f"first words of {plural(unscored, 'sentence')} are not scored"
        notes.append(f"{path}: {first}")
    if rules.prefixes:
        check_beginnings(words, path, shifts=count == 0)
        beginnings = RunBeginnings(str(path), is_strict=False)
        beginnings.add(words, "", path)
        notes += beginnings.check_sums()
    return ScoredWords(
        sentences=tuple(words),
        unit=file.unit.unit,
        has_pieces=any(len(one.tokens) > len(own) for one, own in zip(bits, wanted, strict=True)),
        notes=tuple(notes),
    )


def _own_sentences(file: ForeignFile) -> list[Words]:
    """Return the words of all sentences, as far as the file says them."""
    if any(one.is_first_hidden and not one.text for one in file.sentences):
        raise InputError(
            "does not contain the first tokens of its sentences",
            path=file.path,
            remedy="write the prompt of each sentence beside its numbers, as 'prompt', or name the "
            "file of the sentences, as in model.network.sentences=FILE",
        )
    return words_by_marks(file.sentences, file.path)


def _by_text(file: ForeignFile, wanted: Sequence[Words]) -> list[ScoredSentence]:
    found = find_sentences(file, wanted)
    rows = [found.of(words) for words in wanted]
    if missing := [words for words, row in zip(wanted, rows, strict=True) if row is None]:
        raise InputError(
            f"has no numbers for {len(missing)} of {len(wanted)} sentences, such as "
            f"{' '.join(missing[0])!r}",
            path=file.path,
        )
    return [row for row in rows if row is not None]


def _in_order(file: ForeignFile, wanted: Sequence[Words]) -> list[ScoredSentence]:
    if len(wanted) != len(file.sentences):
        raise InputError(
            f"has {len(file.sentences)} sentences, but {len(wanted)} were to be scored",
            path=file.path,
            remedy="the file of the sentences has one line for each, in the same order",
        )
    return [one.scored for one in file.sentences]
