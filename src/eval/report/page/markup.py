"""HTML and JSON in which no text can become code.

Pages are written by the Jinja2 templates of the folder ``templates``: whatever is a plain ``str``
is text and is escaped; only ``Markup`` is taken as it is.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from gardenpath.text import plural, unbroken

PAGE_TEMPLATES = Path(__file__).with_name("templates")


@cache
def _environment() -> Environment:
    found = Environment(
        loader=FileSystemLoader(PAGE_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(unbroken=unbroken, plural=plural)
    return found


def render(template: str, **data: Any) -> Markup:
    """Fill in a template, ``page.html``, with data."""
    return Markup(_environment().get_template(template).render(data))


def data_block(identifier: str, content: Any) -> Markup:
    """JSON inside a page. Nothing in it can end the script element or begin a comment."""
    written = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        written = written.replace(letter, f"\\u{ord(letter):04x}")
    block = Markup('<script type="application/json" id="{}">{}</script>')
    return block.format(identifier, Markup(written))
