"""Chinese text: whether there is any, and punctuation attached to words."""

from __future__ import annotations

import re

CHINESE_MARKS = "。，、；：！？…「」『』《》（）“”‘’"

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_MARKS_OR_WORDS = re.compile(rf"(?:…+|[{CHINESE_MARKS}])|[^{CHINESE_MARKS}]+")


def has_han(text: str) -> bool:
    """Whether a text contains Chinese characters."""
    return _HAN.search(text) is not None


def han_count(text: str) -> int:
    """Return the number of Chinese characters of a text."""
    return len(_HAN.findall(text))


def chinese_parts(chunk: str) -> tuple[str, ...]:
    """Divide what stands between spaces: punctuation marks are words of their own."""
    return tuple(_MARKS_OR_WORDS.findall(chunk))
