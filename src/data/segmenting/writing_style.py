"""How the corpus of a model writes its words, and text divided in the same way.

Text is divided at blanks first. Then punctuation and clitics become words of their own if they are
in the model's corpus, quotation marks and case are those of the corpus, and what the model knows as
a word stays whole (*Inc.*). Text that is divided already does not change: a sentence with
punctuation marks as words of their own, and none that ends a clause attached to a word, is not
divided further.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gardenpath.data.segmenting.chinese_text import (
    CHINESE_MARKS,
    chinese_parts,
    han_count,
    has_han,
)
from gardenpath.data.segmenting.english_text import english_parts
from gardenpath.data.segmenting.segmenter import segmenter_named
from gardenpath.data.sentence import Source
from gardenpath.errors import InputError

MARKS = (".", ",", "?", "!", ";", ":", *CHINESE_MARKS)
CLITICS = ("n't", "'s", "'re", "'ve", "'ll")
OPENING_QUOTE, CLOSING_QUOTE = "``", "''"

_SEPARATE = frozenset(MARKS)
# Before the end of a sentence, a full stop may belong to an abbreviation; these end a clause.
_ATTACHED = tuple(mark for mark in MARKS if mark != ".")
_HOW_TO_SEGMENT = (
    "separate words by blanks as the model's corpus does, as in 他 喜欢 猫 。, or choose "
    "what finds the words: segmenter=jieba (or spacy, pkuseg, characters)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WritingStyle:
    """How words are written in a corpus.

    ``keeps`` says whether what stands between blanks is a word of the model. ``segmenter`` divides
    Chinese text, whether or not it has blanks; ``without_blanks`` divides sentences that have none,
    and None refuses them.
    """

    keeps: Callable[[str], bool]
    splits_punctuation: bool = True
    splits_clitics: bool = True
    has_treebank_quotes: bool = False
    lowercase: bool = False
    segmenter: str | None = None
    without_blanks: str | None = None

    def words(self, chunks: Sequence[str], source: Source) -> list[tuple[str, int]]:
        """Return the words of a sentence, each with the place of the chunk that it is from.

        ``chunks`` are what stands between blanks, ``source`` is named in messages.
        """
        cased = [chunk.lower() for chunk in chunks] if self.lowercase else list(chunks)
        if (segmenter := self._segmenter(cased, source)) is not None:
            segment = segmenter_named(segmenter).segment
            return [(word, place) for place, chunk in enumerate(cased) for word in segment(chunk)]
        if not self.splits_punctuation or _is_divided(cased):
            return [(chunk, place) for place, chunk in enumerate(cased)]
        last = len(cased) - 1
        found = [
            (word, place)
            for place, chunk in enumerate(cased)
            for word in self._parts(chunk, is_last=place == last)
        ]
        return self._quoted(found) if self.has_treebank_quotes else found

    def _parts(self, chunk: str, *, is_last: bool) -> tuple[str, ...]:
        if self.keeps(chunk):
            return (chunk,)
        if any(mark in chunk for mark in CHINESE_MARKS) and has_han(chunk):
            return chinese_parts(chunk)
        return english_parts(chunk, is_last, self.splits_clitics)

    def _segmenter(self, chunks: Sequence[str], source: Source) -> str | None:
        """Return what divides a sentence; refuse Chinese without blanks if nothing does."""
        if self.segmenter is not None and any(map(has_han, chunks)):
            return self.segmenter
        has_blanks = len(chunks) > 1 or han_count(chunks[0]) < 2
        if has_blanks or self.keeps(chunks[0]):
            return None
        if self.without_blanks is None:
            raise InputError(
                f"the words of {chunks[0]!r} are not separated",
                path=source.path,
                line=source.line,
                remedy=_HOW_TO_SEGMENT,
            )
        return self.without_blanks

    def _quoted(self, words: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
        """Write double quotation marks as the Penn Treebank does."""
        is_open = False
        found = []
        for word, place in words:
            if word in ('"', "“", "”"):
                is_open = word == "“" or (word == '"' and not is_open)
                word = OPENING_QUOTE if is_open else CLOSING_QUOTE
            found.append((word, place))
        return found


def _is_divided(chunks: Sequence[str]) -> bool:
    """Whether punctuation marks stand alone, and none that ends a clause is attached."""
    if not any(chunk in _SEPARATE for chunk in chunks):
        return False
    return not any(
        len(chunk) > 1
        and chunk[0].isalnum()
        and chunk.endswith(MARKS if place == len(chunks) else _ATTACHED)
        for place, chunk in enumerate(chunks, start=1)
    )
