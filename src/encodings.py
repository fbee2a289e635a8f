"""The encoding of text that is not UTF-8, guessed, and the command that converts it."""

from __future__ import annotations

import shlex
from pathlib import PurePath

_MARKS = (
    # UTF-32 begins like UTF-16, so it goes first.
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)
_LOOKED_AT = 100_000
# Chinese characters in GB18030 are nearly always pairs of bytes from this one on; letters with
# accents in the encodings of Europe stand alone between others.
_FIRST_OF_PAIRS = 0xA1


def probable_encoding(content: bytes) -> str:
    """Return the name, for iconv, of the encoding that bytes which are no UTF-8 probably have."""
    head = content[:_LOOKED_AT]
    if by_mark := marked_encoding(head):
        return by_mark
    if by_zeros := zeros_encoding(head):
        return by_zeros
    if _is_in_pairs(head):
        return "GB18030"
    return "WINDOWS-1252" if any(0x80 <= one <= 0x9F for one in head) else "LATIN1"


def marked_encoding(head: bytes) -> str:
    """Return the encoding that a byte order mark states; empty without one."""
    return next((name for mark, name in _MARKS if head.startswith(mark)), "")


def zeros_encoding(head: bytes) -> str:
    """Return the form of UTF-16 in which every second byte of Latin text is zero, or nothing."""
    for name, zeros in (("UTF-16LE", head[1::2]), ("UTF-16BE", head[::2])):
        if b"\x00" in zeros and zeros.count(0) * 2 > len(zeros):
            return name
    return ""


def how_to_convert(encoding: str, path: str | PurePath | None) -> str:
    """Return the command that writes a file, or standard input (None), as UTF-8."""
    convert = f"iconv -f {encoding} -t UTF-8"
    if path is None:
        return f"convert it with: {convert} FILE | python evaluate.py …"
    given = PurePath(path)
    new = given.with_name(f"{given.stem}.utf8{given.suffix}")
    return f"convert it with: {convert} {shlex.quote(str(given))} > {shlex.quote(str(new))}"


def _is_in_pairs(head: bytes) -> bool:
    high = paired = place = 0
    while place < len(head):
        is_high = head[place] >= 0x80
        is_pair = is_high and min(head[place : place + 2]) >= _FIRST_OF_PAIRS
        is_pair = is_pair and place + 1 < len(head)
        high += 1 + is_pair if is_high else 0
        paired += 2 * is_pair
        place += 2 if is_pair else 1
    return high > 0 and paired * 10 > high * 9
