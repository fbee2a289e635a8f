"""YAML as nodes with line numbers, so that every error message names a line.

Scalars are read as text, without conversion: ``no`` is a word, not false.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import yaml

from gardenpath.errors import InputError
from gardenpath.safe_text import MalformedTextError, parse_json, plain_data, yaml_tree
from gardenpath.settings.check import nearest
from gardenpath.store.files import read_text

_QUOTES = (
    "put quotation marks around text that starts with a character such as [ or |, or contains ': '"
)

# Several words without any special character of YAML, as in most lines of most suites.
_SURELY_PLAIN = re.compile(r"(?=.+ )[^\W\d_][\w |.'’，。？！、；-]*[\w.'’，。？！]")


@dataclass(frozen=True, slots=True)
class YamlEntry:
    """A key of a mapping and its value."""

    key: yaml.Node
    value: yaml.Node


@dataclass(frozen=True, slots=True)
class YamlNodes:
    """The nodes of one file, or of ``given`` text, of which messages name no lines."""

    path: str
    given: str | None = None

    def root(self) -> yaml.Node:
        """Return the whole file as one node. The safe loader constructs only plain data."""
        text = read_text(self.path) if self.given is None else self.given
        try:
            node = yaml_tree(text)
        except MalformedTextError as error:
            line, remedy = error.line, error.remedy or (_QUOTES if error.line else "")
            raise InputError(error.problem, path=self.path, line=line, remedy=remedy) from error
        if node is None:
            raise InputError("is empty", path=self.path)
        return node

    def error(self, problem: str, node: yaml.Node, remedy: str = "") -> InputError:
        """Return an error with the line of a node."""
        line = node.start_mark.line + 1 if self.given is None else None
        return InputError(problem, path=self.path, line=line, remedy=remedy)

    def mapping(self, node: yaml.Node, what: str) -> dict[str, YamlEntry]:
        """Return keys and values; raise an error if a key occurs twice."""
        if not isinstance(node, yaml.MappingNode):
            raise self.error(f"{what} must be lines of the form 'key: value'", node)
        found: dict[str, YamlEntry] = {}
        for key, value in node.value:
            name = self.text(key, f"a key of {what}")
            if name in found:
                first = found[name].key.start_mark.line + 1
                raise self.error(f"{name!r} occurs twice in {what}", key, f"first in line {first}")
            found[name] = YamlEntry(key, value)
        return found

    def entries(
        self, node: yaml.Node, what: str, *, known: Sequence[str], required: Sequence[str]
    ) -> dict[str, YamlEntry]:
        """Return keys and values; each must be ``known``, and all ``required`` ones are there."""
        found = self.mapping(node, what)
        for name, entry in found.items():
            if name not in known:
                raise self.error(f"unknown entry {name!r}", entry.key, nearest(name, known))
        if missing := [name for name in required if name not in found]:
            raise self.error(f"missing: {', '.join(missing)}", node)
        return found

    def text(self, node: yaml.Node, what: str) -> str:
        """Return a scalar as text."""
        if not isinstance(node, yaml.ScalarNode):
            raise self.error(f"{what} must be text", node, _QUOTES)
        return str(node.value)

    def items(self, node: yaml.Node) -> list[yaml.Node]:
        """Return the elements of a list; any other node becomes a list of one."""
        return list(node.value) if isinstance(node, yaml.SequenceNode) else [node]

    def choice(self, node: yaml.Node, what: str, choices: tuple[str, ...]) -> str:
        """Return a scalar that must be one of ``choices``."""
        chosen = self.text(node, what)
        if chosen not in choices:
            raise self.error(f"{what}: unknown value {chosen!r}", node, nearest(chosen, choices))
        return chosen

    def plain(self, node: yaml.Node, what: str) -> Any:
        """Return a nested value with the types of YAML; values that JSON lacks are errors."""
        try:
            return parse_json(json.dumps(plain_data(node)))
        except (TypeError, ValueError) as error:
            remedy = "put dates and the like in quotation marks"
            raise self.error(f"{what} must be text, numbers or lists", node, remedy) from error


def flow(value: Any) -> str:
    """Return a nested value as YAML on one line."""
    if isinstance(value, str):
        return scalar(value, in_brackets=True)
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{flow(name)}: {flow(one)}' for name, one in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(flow, value))}]"
    dumped: str = yaml.safe_dump([value], default_flow_style=True)
    return dumped.strip()[1:-1]


@lru_cache(maxsize=10_000)
def scalar(text: str, *, in_brackets: bool = False) -> str:
    """Return text as YAML: unquoted if it reads back as the same text, else quoted."""
    return text if _is_plain(text, in_brackets) else _quoted(text)


def _is_plain(text: str, in_brackets: bool) -> bool:
    if _SURELY_PLAIN.fullmatch(text):
        return True
    probe = f"{{key: {text}}}" if in_brackets else f"key: {text}"
    try:
        node = yaml_tree(probe)
    except MalformedTextError:
        return False
    if not isinstance(node, yaml.MappingNode) or len(node.value) != 1:
        return False
    value = node.value[0][1]
    is_text = isinstance(value, yaml.ScalarNode) and value.tag == "tag:yaml.org,2002:str"
    return is_text and not value.style and value.value == text


def _quoted(text: str) -> str:
    dumped = yaml.safe_dump(text, default_style='"', allow_unicode=True, width=float("inf"))
    return dumped.rstrip("\n")
