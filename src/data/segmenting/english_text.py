"""English text as words of treebanks: punctuation and clitics are words of their own.

``She doesn't like Bill's dog.`` has the words ``She does n't like Bill 's dog .``. Full stops of
titles and initials (``Mr.``, ``J.``) stay with their word except at the end of the sentence.
"""

from __future__ import annotations

import re
from functools import lru_cache

_BLANKS = re.compile(r"[ \t\n\r]+")
_OPENING = "\"'“‘([{"
_CLOSING = ".,;:!?\"'”’…)]}"
_CLITIC = re.compile(r"(?i)n['’]t|['’](?:s|re|ve|ll|d|m)")
_ABBREVIATION = re.compile(r"(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|(?:[A-Za-z]\.)*[A-Za-z])\.")


def english_words(sentence: str) -> tuple[str, ...]:
    """Split a sentence into words, punctuation and clitics, as in treebanks."""
    chunks = [chunk for chunk in _BLANKS.split(sentence) if chunk]
    inner = [word for chunk in chunks[:-1] for word in english_parts(chunk, False)]
    return (*inner, *(word for chunk in chunks[-1:] for word in english_parts(chunk, True)))


@lru_cache(maxsize=50_000)
def english_parts(chunk: str, is_last: bool, clitics: bool = True) -> tuple[str, ...]:
    """Divide what stands between spaces; the sentences of a set have the same words again.

    ``is_last``: whether it ends the sentence; ``clitics``: whether these are words of their own.
    """
    before, word, after = _peel(chunk, is_last=is_last)
    size = _clitic(word) if clitics else 0
    middle = [word[:-size], word[-size:]] if size else [word] if word else []
    return (*before, *middle, *after)


def _clitic(word: str) -> int:
    """Return the length of the clitic at the end of a word, 0 if it has none."""
    sizes = (3, 2)
    return next((n for n in sizes if len(word) > n and _CLITIC.fullmatch(word[-n:])), 0)


def _peel(chunk: str, *, is_last: bool) -> tuple[list[str], str, list[str]]:
    start, end = 0, len(chunk)
    # A clitic on its own is not an opening quotation mark.
    while end - start > 1 and chunk[start] in _OPENING and not _CLITIC.fullmatch(chunk, start):
        start += 1
    before, after = list(chunk[:start]), list[str]()
    while end > start and chunk[end - 1] in _CLOSING:
        if not is_last and not after and _ABBREVIATION.fullmatch(chunk, start, end):
            break
        begin = end - 1
        while chunk[end - 1] == "." and begin > start and chunk[begin - 1] == ".":
            begin -= 1
        after.append(chunk[begin:end])
        end = begin
    return before, chunk[start:end], after[::-1]
