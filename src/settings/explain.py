"""Explanations of settings: the docstrings below the fields of their dataclasses."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap


@functools.cache
def explanations(record: type) -> dict[str, str]:
    """Return the explanation of each field of a dataclass, its own or that of a base class."""
    found: dict[str, str] = {}
    for base in reversed(record.__mro__):
        if base is not object:
            found |= _own(base)
    return found


def _own(record: type) -> dict[str, str]:
    try:
        source = textwrap.dedent(inspect.getsource(record))
    except (OSError, TypeError):
        return {}
    body = ast.parse(source).body[0]
    assert isinstance(body, ast.ClassDef)
    found = {}
    for node, after in zip(body.body, body.body[1:], strict=False):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            text = _text(after)
            if text:
                found[node.target.id] = text
    return found


def _text(node: ast.stmt) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        value = node.value.value
        # In a terminal, the marks around literals would only distract.
        return " ".join(value.replace("``", "").split()) if isinstance(value, str) else ""
    return ""
