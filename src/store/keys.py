"""Keys that identify entries of the store; equal keys mean equal content.

All keys have the same form: 20 hexadecimal digits of the SHA-256 of canonical JSON, which contains
the kind of the entry, its format version and everything that determines its content.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]

_DIGITS = 20


def fingerprint(kind: str, version: int, **parts: Json) -> str:
    """Return the key of an entry.

    ``kind`` separates entries of different kinds; ``version`` must be incremented whenever the same
    parts lead to different content. Large content enters as its :func:`digest`, files by
    :func:`gardenpath.store.files.sha256_of`.
    """
    return digest(canonical({"kind": kind, "version": version, "parts": parts}))[:_DIGITS]


def canonical(value: Json) -> str:
    """Write a value as JSON in canonical form, for hashing.

    Keys are sorted, lists and tuples are treated alike, and all characters are ASCII, so that any
    string can be hashed, even if it is not valid Unicode.
    """
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"))


def digest(content: bytes | str) -> str:
    """Return the SHA-256 of bytes, or of a text in UTF-8, in hexadecimal digits."""
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()


def _plain(value: Any) -> Any:
    """Convert a value to plain JSON types; raise TypeError for values that JSON would change."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        if wrong := [key for key in value if not isinstance(key, str)]:
            raise TypeError(f"a key of a fingerprint must be a string, not {wrong[0]!r}")
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    raise TypeError(f"{type(value).__name__} cannot be part of a fingerprint: {value!r}")
