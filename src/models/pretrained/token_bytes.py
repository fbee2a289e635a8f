"""The bytes that each token of a vocabulary stands for, sorted.

Tokens are compared with text as bytes (UTF-8), because a token may be a part of a character. The
tokens that begin with given bytes are a range of the sorted vocabulary.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gardenpath.data.arrays import Ints
from gardenpath.data.words.spacing import Spacing, ending_beginnings, is_ending

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# SentencePiece writes blanks and bytes in this way.
BLANK = "▁"
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")

# A blank after something else; most vocabularies have no such tokens.
_INNER_BLANK = re.compile(rb"[^ ] ")

# Length of a character, by the highest bits of its first byte; 0 if no character begins with it.
_LENGTHS = [1] * 8 + [0] * 4 + [2] * 2 + [3, 4]


class TokenBytes:
    """The bytes of each token, None for special tokens.

    ``order`` are the tokens that have bytes, sorted by them; ``rank`` is the inverse, with −1 for
    tokens without bytes.
    """

    def __init__(self, content: Sequence[bytes | None], *, is_byte_level: bool = False) -> None:
        self.content = list(content)
        self.is_byte_level = is_byte_level
        # A token without any bytes could be repeated for ever.
        pairs = sorted((one, token) for token, one in enumerate(content) if one)
        self.order: Ints = np.array([token for _, token in pairs], dtype=np.int64)
        self.rank: Ints = np.full(len(content), -1, dtype=np.int64)
        self.rank[self.order] = np.arange(len(pairs))
        self._sorted = [one for one, _ in pairs]
        self.longest = max((len(one) for one in self._sorted), default=0)
        inner = [one for one in self._sorted if _INNER_BLANK.search(one)]
        self._longest_with_blank = max((len(one) for one in inner), default=0)

    @staticmethod
    def of(tokeniser: Tokenizer) -> TokenBytes:
        """Read the vocabulary of a tokeniser: byte-level, or with ▁ for blanks."""
        ids = tokeniser.get_vocab(with_added_tokens=True)
        added = tokeniser.get_added_tokens_decoder()
        is_byte_level = "ByteLevel" in f"{tokeniser.decoder!r} {tokeniser.pre_tokenizer!r}"
        content: list[bytes | None] = [None] * (max(ids.values(), default=-1) + 1)
        for text, token in ids.items():
            if token in added:
                known = added[token]
                text = known.content if is_byte_level else known.content.replace(BLANK, " ")
                content[token] = None if known.special else text.encode()
            elif is_byte_level:
                content[token] = _byte_level(text)
            else:
                content[token] = _with_blanks(text)
        return TokenBytes(content, is_byte_level=is_byte_level)

    def text(self, tokens: Sequence[int]) -> bytes | None:
        """Return the bytes of a sequence of tokens; None if one of them has no bytes."""
        parts = [self.content[token] for token in tokens]
        return b"".join(part for part in parts if part) if all(parts) else None

    def beginning_with(self, prefix: bytes) -> tuple[int, int]:
        """Return the range of the sorted vocabulary whose tokens begin with a prefix."""
        begin = bisect.bisect_left(self._sorted, prefix)
        if begin == len(self._sorted) or not self._sorted[begin].startswith(prefix):
            return begin, begin
        # Larger than anything that begins with the prefix.
        bound = prefix + b"\xff" * (self.longest - len(prefix) + 1)
        return begin, bisect.bisect_left(self._sorted, bound, lo=begin)

    def goes_on_after(self, ending: bytes) -> bool:
        """Whether a token begins with the last bytes of a character and goes on with another."""
        first = (ending + b"\x00", ending + b"\xc0")
        last = (ending + b"\x80", ending + b"\xff")  # no character begins with 80 to BF, or FF
        places = [bisect.bisect_left(self._sorted, one) for one in (*first, *last)]
        return places[0] < places[2] or places[1] < places[3]

    def is_too_long(self, text: bytes) -> bool:
        """Whether no token can contain a text because of its length or its blanks."""
        if len(text) <= self._longest_with_blank:
            return False
        return len(text) > self.longest or _INNER_BLANK.search(text) is not None

    def ending_after(self, prefix: bytes, spacing: Spacing) -> list[int]:
        """Return the ranks of tokens that begin with a prefix, and in which it then ends a word."""
        begin, end = self.beginning_with(prefix)
        length = len(prefix)
        return [n for n in range(begin, end) if ends_word(self._sorted[n][length:], spacing)]


def ends_word(following: bytes, spacing: Spacing) -> bool:
    """Whether a word before these bytes ends there: their first character cannot continue it.

    If they are only the beginning of a character, whether the character can be one that ends words.
    """
    if not following:
        return False
    length = _LENGTHS[following[0] >> 4]
    if len(following) < length:
        return following in ending_beginnings(spacing)
    try:
        return is_ending(following[:length].decode(), spacing) if length else False
    except UnicodeDecodeError:
        return False


def _with_blanks(text: str) -> bytes:
    byte = _BYTE.fullmatch(text)
    return bytes([int(byte[1], 16)]) if byte else text.replace(BLANK, " ").encode()


def _byte_level(text: str) -> bytes | None:
    codes = [_BYTES.get(character) for character in text]
    return None if None in codes else bytes(code for code in codes if code is not None)


def _byte_characters() -> dict[str, int]:
    """Return the byte that each character of a byte-level vocabulary stands for.

    Printable characters of Latin-1 stand for themselves, and those from U+0100 for the other bytes.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in printable]
    shown = {chr(0x100 + n): byte for n, byte in enumerate(others)}
    return {chr(byte): byte for byte in printable} | shown


_BYTES = _byte_characters()
