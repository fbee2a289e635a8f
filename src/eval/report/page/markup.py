"""HTML and JSON in which no text can become code.

Whatever is a plain ``str`` is text and is escaped; only ``Html``, which these functions return, is
taken as it is.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable
from typing import Any

VOID = frozenset({"meta", "input", "br", "link"})
# Parts of figures, which may be closed where they are opened.
SHAPES = frozenset({"path", "use", "rect"})


class Html(str):
    """A text that is HTML already."""

    __slots__ = ()


def text(content: object) -> Html:
    """Anything as text."""
    return content if isinstance(content, Html) else Html(html.escape(str(content)))


def join(parts: Iterable[object], between: str = "") -> Html:
    """Several pieces in a row."""
    return Html(between.join(text(part) for part in parts))


def element(name: str, *children: object, **attributes: object) -> Html:
    """An element: ``class_`` is class, ``aria_label`` aria-label; None and False are left out."""
    written = ""
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        written += f" {key}" if value is True else f' {key}="{html.escape(str(value))}"'
    if name in VOID:
        return Html(f"<{name}{written}>")
    if name in SHAPES and not children:
        return Html(f"<{name}{written}/>")
    return Html(f"<{name}{written}>{join(children)}</{name}>")


def data_block(identifier: str, content: Any) -> Html:
    """JSON inside a page. Nothing in it can end the script element or begin a comment."""
    written = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        written = written.replace(letter, f"\\u{ord(letter):04x}")
    return element("script", Html(written), type="application/json", id=identifier)


NO_BREAK = "\N{NO-BREAK SPACE}"
_KEPT_TOGETHER = re.compile(
    r"(?<=\S) (?=[=<>] )|(?<=[=<>]) (?=\S)|(?<=\bS[ED]) (?=[\d−])|(?<=\bmean) (?=[\d−])"
    r"|(?<=\d) (?=bits\b|%)"
)


def unbroken(content: str) -> str:
    """The text with blanks that never end a line inside numbers: ``p = .061``, ``95 %``."""
    return _KEPT_TOGETHER.sub(NO_BREAK, content)
