"""HTML and JSON with escaping, so that no text is interpreted as code.

Pages are rendered with the Jinja2 templates in the folder ``templates``: plain ``str`` values are
escaped, only ``Markup`` is inserted verbatim.
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
    """Render a template, such as ``page.html``, with data."""
    return Markup(_environment().get_template(template).render(data))


def data_block(identifier: str, content: Any) -> Markup:
    """Return JSON for embedding in a page; it cannot end the script element or start a comment."""
    written = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        written = written.replace(letter, f"\\u{ord(letter):04x}")
    block = Markup('<script type="application/json" id="{}">{}</script>')
    return block.format(identifier, Markup(written))
