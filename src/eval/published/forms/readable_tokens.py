"""The characters of tokens as vocabularies spell them.

Vocabularies over bytes spell every byte by a printable character (``Ġ`` is a blank, ``Ã©`` is
*é*); vocabularies with byte fallback write ``<0xE4>``, and some servers ``bytes:\\xe4``. A token
may end within a character. Such tokens are joined with those that follow them until the character
is complete; their values are added, so that no number is attributed to half a character.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from gardenpath.errors import InputError
from gardenpath.eval.published.forms.foreign import ForeignSentence
from gardenpath.eval.suites.scoring.alignment import is_edge, is_unknown

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
    found = {chr(byte): byte for byte in printable}
    found.update({chr(0x100 + place): byte for place, byte in enumerate(others)})
    return found


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
        pending += content
        begun = begun + value if len(pending) > len(content) else value
        text = _decoded(pending)
        if text is not None:
            texts.append(text)
            sums.append(begun)
            pending = b""
        elif not _may_continue(pending):
            return None
    return None if pending else (tuple(texts), tuple(sums))


def _content(token: str, *, byte_level: bool) -> bytes | None:
    """Return the bytes of a token; None for tokens that are not text, and those that are whole."""
    if is_edge(token) or is_unknown(token):
        return None
    if byte_level:
        return bytes(byte_alphabet()[char] for char in token)
    if found := _BYTE.fullmatch(token):
        return bytes.fromhex(found[1])
    if found := _ESCAPED.fullmatch(token):
        return bytes.fromhex(found[1].replace("\\x", ""))
    return token.encode("utf-8", "surrogatepass")


def _decoded(content: bytes) -> str | None:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _may_continue(content: bytes) -> bool:
    """Whether the bytes are text up to a character that is not complete."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return True


def readable_sentences(
    sentences: Sequence[ForeignSentence], path: Path
) -> tuple[ForeignSentence, ...]:
    """Return sentences with readable tokens; those that cannot be read are refused."""
    byte_level = is_byte_level(one.scored.tokens for one in sentences)
    found = []
    for one in sentences:
        scored = one.scored
        for token in scored.tokens:
            if _REPLACEMENT in token:
                raise InputError(
                    f"{one.place}: token {token!r} is a part of a character that is not shown",
                    path=path,
                    line=scored.line,
                    remedy="write the tokens of the vocabulary, not their decoded text",
                )
        parts = readable(scored.tokens, scored.values, byte_level=byte_level)
        if parts is None:
            raise InputError(
                f"{one.place}: {' '.join(scored.tokens[:8])!r} … does not end with a character",
                path=path,
                line=scored.line,
            )
        found.append(replace(one, scored=replace(scored, tokens=parts[0], values=parts[1])))
    return tuple(found)
