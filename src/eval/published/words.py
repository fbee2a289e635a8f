"""What the tokens of a file spell: characters, words, and the sentences that were asked for.

Readers of files make tokens readable here; the import of tables and adopted models look for their
sentences by text and add up the numbers of tokens to those of words. No number is divided, moved
or left out without a refusal: a token with characters of two words has no place in either. Nothing
here knows forms of files, units or suites.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from gardenpath.errors import InputError
from gardenpath.eval.published.files import ScoredSentence, without_edges
from gardenpath.eval.suites.regions import AlignmentError, is_edge, is_unknown, token_spans
from gardenpath.util import Words, plural

# The characters of tokens as vocabularies spell them.
#
# Vocabularies over bytes spell every byte by a printable character (``Ġ`` is a blank, ``Ã©`` is
# *é*); vocabularies with byte fallback write ``<0xE4>``, and some servers ``bytes:\xe4``. A token
# may end within a character. Such tokens are joined with those that follow them until the
# character is complete; their values are added, so that no number is attributed to half a
# character.

_BLANK = "Ġ"
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_ESCAPED = re.compile(r"bytes:((?:\\x[0-9A-Fa-f]{2})+)")
_REPLACEMENT = "\ufffd"


@cache
def byte_alphabet() -> dict[str, int]:
    """Return the byte of each character of the alphabet of GPT-2.

    Printable bytes are spelt by themselves, all others by the characters from U+0100 on, in order.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in set(printable)]
    alphabet = {chr(byte): byte for byte in printable}
    return alphabet | {chr(0x100 + place): byte for place, byte in enumerate(others)}


def is_byte_level(sentences: Iterable[Sequence[str]]) -> bool:
    """Whether the tokens of a file are spelt in the alphabet of bytes, with at least one blank."""
    has_blank = False
    for tokens in sentences:
        for token in tokens:
            if is_edge(token) or is_unknown(token):
                continue
            if any(char not in byte_alphabet() for char in token):
                return False
            has_blank = has_blank or _BLANK in token
    return has_blank


def readable(
    tokens: Sequence[str], values: Sequence[float], *, byte_level: bool
) -> tuple[tuple[str, ...], tuple[float, ...]] | None:
    """Return tokens of whole characters and their values; None if bytes are not UTF-8 text."""
    texts: list[str] = []
    sums: list[float] = []
    pending = b""
    begun = 0.0
    for token, value in zip(tokens, values, strict=True):
        content = _content(token, byte_level=byte_level)
        if content is None:
            if pending:
                return None
            texts.append(token)
            sums.append(value)
            continue
        begun = begun + value if pending else value
        pending += content
        try:
            text = pending.decode("utf-8")
        except UnicodeDecodeError as error:
            if error.reason != "unexpected end of data":
                return None
        else:
            texts.append(text)
            sums.append(begun)
            pending = b""
    return None if pending else (tuple(texts), tuple(sums))


def _content(token: str, *, byte_level: bool) -> bytes | None:
    """Return the bytes of a token; None for tokens that are not text, and those that are whole."""
    if is_edge(token) or is_unknown(token):
        return None
    if byte_level:
        return bytes(byte_alphabet()[char] for char in token)
    if match := _BYTE.fullmatch(token):
        return bytes.fromhex(match[1])
    if match := _ESCAPED.fullmatch(token):
        return bytes.fromhex(match[1].replace("\\x", ""))
    return token.encode("utf-8", "surrogatepass")


def readable_sentences(sentences: Sequence[ScoredSentence], path: Path) -> list[ScoredSentence]:
    """Return sentences with readable tokens; those that cannot be read are refused."""
    byte_level = is_byte_level(sentence.tokens for sentence in sentences)
    results = []
    for number, sentence in enumerate(sentences, start=1):
        for token in sentence.tokens:
            if _REPLACEMENT in token:
                raise InputError(
                    f"sentence {number}: token {token!r} is a part of a character that is not "
                    "shown",
                    path=path,
                    line=sentence.line,
                    remedy="write the tokens of the vocabulary, not their decoded text",
                )
        parts = readable(sentence.tokens, sentence.values, byte_level=byte_level)
        if parts is None:
            raise InputError(
                f"sentence {number}: {' '.join(sentence.tokens[:8])!r} … does not end with a "
                "character",
                path=path,
                line=sentence.line,
            )
        results.append(replace(sentence, tokens=parts[0], values=parts[1]))
    return results


# Words from tokens: the tokens must spell the characters of the words. Without the words, they are
# found by the marks with which tokens show where words begin or go on; tokens without any marks
# are words.

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
    after = itertools.accumulate(len(word) + 1 for word in words)  # with the blank
    ends = [place - 1 for place in after]
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


def words_by_marks(sentences: Sequence[ScoredSentence], path: Path) -> list[Words]:
    """Return the words of the sentences of a file, as their texts or the marks of tokens say."""
    kept = [without_edges(sentence).tokens for sentence in sentences]
    spell = _speller({token for tokens in kept for token in tokens})
    words = []
    for number, (sentence, tokens) in enumerate(zip(sentences, kept, strict=True), start=1):
        unknown = next(filter(is_unknown, tokens), None)
        if unknown is not None and not sentence.text:
            problem = f"sentence {number}: {unknown!r} stands for a word that is not in the file"
            remedy = "name the file of the sentences, as in model.network.sentences=FILE"
            raise InputError(problem, path=path, line=sentence.line, remedy=remedy)
        words.append(tuple((sentence.text or spell(tokens)).split()))
    return words


def _speller(tokens: Collection[str]) -> Callable[[Sequence[str]], str]:
    if any(token.startswith(_CONTINUES) and token != _CONTINUES for token in tokens):
        return lambda own: "".join(
            token.removeprefix(_CONTINUES) if token.startswith(_CONTINUES) else f" {token}"
            for token in own
        )
    if any(token.endswith(_IS_CONTINUED) and token != _IS_CONTINUED for token in tokens):
        return lambda own: "".join(
            token.removesuffix(_IS_CONTINUED) if token.endswith(_IS_CONTINUED) else f"{token} "
            for token in own
        )
    if any(token.endswith(_END_OF_WORD) for token in tokens):
        return lambda own: "".join(own).replace(_END_OF_WORD, " ")
    if any(mark in token for token in tokens for mark in _BLANKS):
        return lambda own: re.sub("|".join(_BLANKS), " ", "".join(own))
    return " ".join


# The sentences of a file by their text.
#
# The characters of a sentence, without blanks, must be those of a sentence that is asked for. Files
# of vLLM do not contain the first token: it is the mark of the beginning, or the beginning of the
# first word, which then has no number. Which of the two must be the same for all sentences of a
# file.

# Longest first token, in characters.
_LONGEST_TOKEN = 30

# Numbers of one sentence that differ by less came from the same computation.
_SAME = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSentences:
    """The sentences of a file by their text without blanks; ``others`` were not asked for."""

    by_text: Mapping[str, ScoredSentence]
    others: int

    def of(self, words: Words) -> ScoredSentence | None:
        """Return the sentence with these words."""
        return self.by_text.get(_without_blanks(words))


def _without_blanks(parts: Iterable[str]) -> str:
    return "".join("".join(parts).split())


def find_sentences(
    sentences: Sequence[ScoredSentence], wanted: Sequence[Words], path: Path
) -> FoundSentences:
    """Return the wanted sentences that a file contains; doubtful and doubled ones are refused."""
    counts = Counter(map(_without_blanks, wanted))
    sentences = list(map(without_edges, sentences))
    tails = [_without_blanks(sentence.tokens) for sentence in sentences]
    texts = _texts(sentences, tails, counts, path)
    groups: dict[str, list[ScoredSentence]] = {}
    for text, tail, sentence in zip(texts, tails, sentences, strict=True):
        if text not in counts:
            continue
        if text != tail:  # the first token has no number
            tokens = (text.removesuffix(tail), *sentence.tokens)
            sentence = replace(sentence, tokens=tokens, values=(math.nan, *sentence.values))
        groups.setdefault(text, []).append(sentence)
    for text, group in groups.items():
        _require_single(group, counts[text], path)
    return FoundSentences(
        by_text={text: group[0] for text, group in groups.items()},
        others=len(sentences) - sum(map(len, groups.values())),
    )


def _texts(
    sentences: Sequence[ScoredSentence], tails: Sequence[str], wanted: Collection[str], path: Path
) -> list[str]:
    """Return the texts of sentences that end in ``tails``; empty if a hidden text is not known."""
    longer: dict[str, set[str]] = {}
    known = set(wanted)
    for text in wanted if any(sentence.is_first_hidden for sentence in sentences) else ():
        for cut in range(1, min(len(text), _LONGEST_TOKEN) + 1):
            longer.setdefault(text[cut:], set()).add(text)
    options: list[set[str]] = []
    for number, (sentence, tail) in enumerate(zip(sentences, tails, strict=True), start=1):
        most = _LONGEST_TOKEN if sentence.is_first_hidden else 0
        if sentence.text:
            whole = _without_blanks([sentence.text])
            if not whole.endswith(tail) or len(whole) - len(tail) > most:
                raise InputError(
                    f"sentence {number}: the tokens {' '.join(sentence.tokens)!r} do not spell "
                    f"{sentence.text!r}",
                    path=path,
                    line=sentence.line,
                )
            options.append({whole})
        elif sentence.is_first_hidden:
            options.append(({tail} & known) | longer.get(tail, set()))
        else:
            options.append({tail})
    # Whether first tokens are marks, as the sentences say that allow one answer.
    answers = [{text == tail for text in own} for own, tail in zip(options, tails, strict=True)]
    marks = {is_mark for answer in answers if len(answer) == 1 for is_mark in answer}
    remedy = "write the prompt of each sentence beside its numbers, as 'prompt'"
    if len(marks) == 2:
        problem = "some sentences have a number for their first word and others have none"
        raise InputError(problem, path=path, remedy=remedy)
    texts = []
    for number, (sentence, tail) in enumerate(zip(sentences, tails, strict=True), start=1):
        fitting = [text for text in options[number - 1] if (text == tail) == (marks != {False})]
        if len(fitting) > 1:
            problem = (
                f"sentence {number}: {' '.join(sentence.tokens)!r} may be the end of "
                f"{len(fitting)} sentences that begin differently"
            )
            raise InputError(problem, path=path, line=sentence.line, remedy=remedy)
        texts.append(fitting[0] if fitting else "")
    return texts


def _require_single(group: Sequence[ScoredSentence], count: int, path: Path) -> None:
    first = group[0]
    for other in group[1:]:
        is_same = first.tokens == other.tokens and all(map(_is_close, first.values, other.values))
        if len(group) > count or not is_same:
            what = "with different numbers" if not is_same else f"of {plural(count, 'sentence')}"
            problem = f"{' '.join(first.tokens)!r} occurs {len(group)} times {what}"
            raise InputError(problem, path=path, line=other.line, remedy="give every sentence once")


def _is_close(value: float, other: float) -> bool:
    if math.isnan(value) or math.isnan(other):
        return math.isnan(value) and math.isnan(other)
    return math.isclose(value, other, rel_tol=_SAME, abs_tol=_SAME)
