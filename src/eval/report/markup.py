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

from src.eval.report import style

VOID = frozenset({"meta", "input", "br", "link"})

# Colours of figures that follow the colours of the page, so that figures are dark on dark pages.
PAGE_COLOURS = {
    style.SKY: "var(--sky)",
    style.BLUE: "var(--blue)",
    style.ORANGE: "var(--orange)",
    style.VERMILLION: "var(--vermillion)",
    style.GREEN: "var(--green)",
    style.PURPLE: "var(--purple)",
    style.GREY: "var(--grey)",
    style.INK: "var(--ink)",
    style.MUTED: "var(--muted)",
    style.GRID: "var(--grid)",
    style.BAND: "var(--band)",
    style.PAPER: "var(--paper)",
}


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
    return Html(f"<{name}{written}>{join(children)}</{name}>")


def data_block(identifier: str, content: Any) -> Html:
    """JSON inside a page. Nothing in it can end the script element or begin a comment."""
    written = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        written = written.replace(letter, f"\\u{ord(letter):04x}")
    return element("script", Html(written), type="application/json", id=identifier)


def inline_svg(svg: str, *, name: str, label: str) -> Html:
    """A figure as part of a page: its own ids, the page's colours, and a label for listeners."""
    content = svg[svg.index("<svg") :]
    content = re.sub(r"<metadata>.*?</metadata>", "", content, flags=re.DOTALL)
    prefix = re.sub(r"\W", "-", name)
    content = re.sub(r'\bid="', f'id="{prefix}-', content)
    content = re.sub(r'href="#', f'href="#{prefix}-', content)
    content = content.replace("url(#", f"url(#{prefix}-")
    for colour, variable in PAGE_COLOURS.items():
        content = content.replace(colour, variable)
    head, body = content.split(">", 1)
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', head)
    width, height = (found[1], found[2]) if found else ("640", "320")
    opening = element(
        "svg",
        role="img",
        aria_label=label,
        viewBox=f"0 0 {width} {height}",
        # Narrow windows show figures smaller, but never so small that nobody can read them.
        style=f"--width:{float(width) * 4 / 3:.0f}px;--least:{float(width):.0f}px",
    )
    return Html(opening.removesuffix("</svg>") + body.strip())
