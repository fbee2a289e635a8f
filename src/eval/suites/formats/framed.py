"""The framed YAML format: the suites of a class in one file, which differ only in the modifier.

A frame is an item of the compact format in which ``{modifier}`` stands for the modifier, and
``modifiers`` gives the modifiers of the class and those of each item::

    name: mandarin/classifier_noun          # suites are named mandarin/classifier_noun/none, ...
    modifiers:
      none: no modifier
      adjective: an adjective
    items:
      1:
        match: 他 看见 了 一 | 只 | {modifier} | 猫 | 。
        mismatch: 他 看见 了 一 | 本 | {modifier} | 猫 | 。
        gloss: he see PFV one | CL.animal | {modifier} | cat | .
        modifiers:
          none: {translation: He saw a cat.}
          adjective: {text: 可爱 的, gloss: cute DE, translation: He saw a cute cat.}

``{clause}`` stands for the modifier without its last word (的 of a Mandarin relative clause). All
other entries are those of the compact format. Modifiers cannot be confounded with items, because
every item has every modifier in the same frame.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import yaml

from gardenpath.errors import InputError
from gardenpath.eval.suites.design.suite import Suite, SuiteError, split_words
from gardenpath.eval.suites.formats.compact import suite_of_nodes
from gardenpath.eval.suites.formats.yaml_nodes import YamlEntry, YamlNodes
from gardenpath.safe_text import MalformedTextError, parse_yaml
from gardenpath.settings.check import nearest
from gardenpath.store.files import open_text

_MODIFIERS, _MODIFIER, _CLAUSE = "modifiers", "modifier", "clause"
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_FIELDS = ("text", "gloss", "translation")


def load_yaml(path: str | Path) -> list[Suite]:
    """Read the suites of a file in the framed or in the compact format.

    A framed file has one suite per modifier. Errors name the file and the line.
    """
    nodes = YamlNodes(str(path))
    root = nodes.root()
    if _MODIFIERS not in nodes.mapping(root, "a suite"):
        return [suite_of_nodes(nodes, root)]
    frames = _Frames(nodes)
    return [frames.suite(root, modifier) for modifier in frames.modifiers(root)]


def load_framed_suite(path: str | Path, modifier: str) -> Suite:
    """Read the suite with one of the modifiers of a framed file."""
    frames = _Frames(YamlNodes(str(path)))
    root = frames.nodes.root()
    if modifier not in frames.modifiers(root):
        hint = nearest(modifier, tuple(frames.modifiers(root)))
        raise frames.nodes.error(f"no modifier {modifier!r}", root, hint)
    return frames.suite(root, modifier)


def names_in_head(path: Path) -> dict[str, str]:
    """Return names of the suites of a YAML file, with their modifiers, without reading its items.

    The modifier is empty if the file is not framed.
    """
    with open_text(path) as lines:
        head = "".join(takewhile(lambda line: not line.startswith("items:"), lines))
    try:
        entries: Any = parse_yaml(head)
    except MalformedTextError as error:
        raise InputError(error.problem, path=path, line=error.line) from error
    if not isinstance(entries, dict) or "name" not in entries:
        raise SuiteError(f"{path}: the suite has no name; add a line such as 'name: my_suite'")
    name = str(entries["name"])
    modifiers = entries.get(_MODIFIERS)
    if isinstance(modifiers, dict) and modifiers:
        return {f"{name}/{each}": str(each) for each in modifiers}
    return {name: ""}


@dataclass(frozen=True, slots=True)
class _Frames:
    """Rewrites the nodes of a framed file as those of compact files, with their lines."""

    nodes: YamlNodes

    def modifiers(self, root: yaml.Node) -> dict[str, str]:
        """Return the modifiers of the file with their descriptions."""
        entries = self.nodes.mapping(root, "a file of framed suites")
        for name in (_MODIFIERS, "name", "items"):
            if name not in entries:
                raise self.nodes.error(f"missing: {name}", root)
        if _MODIFIER in entries:
            remedy = f"list the modifiers in {_MODIFIERS!r}"
            raise self.nodes.error("a framed file has no entry 'modifier'", root, remedy)
        found = self.nodes.mapping(entries[_MODIFIERS].value, _MODIFIERS)
        if not found:
            raise self.nodes.error("no modifiers", entries[_MODIFIERS].key)
        return {name: self.nodes.text(one.value, name) for name, one in found.items()}

    def suite(self, root: yaml.Node, modifier: str) -> Suite:
        """Return the suite with one of the modifiers."""
        described = self.modifiers(root)
        entries = self.nodes.mapping(root, "a file of framed suites")
        name, items = entries["name"], entries["items"]
        full_name = f"{self.nodes.text(name.value, 'name')}/{modifier}"
        changed = {
            "name": _scalar(full_name, name.value),
            _MODIFIER: _scalar(modifier, entries[_MODIFIERS].value),
            "items": self.items(items.value, modifier, tuple(described)),
        }
        if "description" in entries:
            old = entries["description"].value
            text = f"{self.nodes.text(old, 'description').strip()} Modifier: {described[modifier]}."
            changed["description"] = _scalar(text, old)
        return suite_of_nodes(self.nodes, _replaced(entries, root, changed))

    def items(self, node: yaml.Node, modifier: str, modifiers: tuple[str, ...]) -> yaml.Node:
        items = self.nodes.mapping(node, "items")
        found = {
            number: self.item(entry, f"item {number}", modifier, modifiers)
            for number, entry in items.items()
        }
        return _replaced(items, node, found)

    def item(
        self, entry: YamlEntry, what: str, modifier: str, modifiers: tuple[str, ...]
    ) -> yaml.Node:
        """Return the item with the modifier in place of the placeholders."""
        entries = self.nodes.mapping(entry.value, what)
        if _MODIFIERS not in entries:
            raise self.nodes.error(f"{what}: missing: {_MODIFIERS}", entry.key)
        if "translation" in entries:
            problem = f"{what}: a translation depends on the modifier"
            remedy = "write it in the modifiers of the item"
            raise self.nodes.error(problem, entries["translation"].key, remedy)
        own = self.nodes.mapping(entries[_MODIFIERS].value, f"{_MODIFIERS} of {what}")
        for name, one in own.items():
            if name not in modifiers:
                problem = f"{what}: modifier {name!r} is unknown"
                raise self.nodes.error(problem, one.key, nearest(name, modifiers))
        if missing := [name for name in modifiers if name not in own]:
            problem = f"{what}: no modifier {', '.join(missing)}"
            raise self.nodes.error(problem, entries[_MODIFIERS].key)
        fields = self.fields(own[modifier], f"{what}, {modifier}")
        changed: dict[str, yaml.Node] = {}
        for name, one in entries.items():
            if name not in ("labels", _MODIFIERS):
                filler = fields["gloss" if name == "gloss" else "text"]
                changed[name] = self.filled(one.value, filler, f"{what}, {name}")
        if fields["translation"]:
            changed["translation"] = _scalar(fields["translation"], own[modifier].value)
        return _replaced(entries, entry.value, changed)

    def fields(self, entry: YamlEntry, what: str) -> dict[str, str]:
        """Return text, gloss and translation of a modifier, each of which may be empty."""
        found = dict.fromkeys(_FIELDS, "")
        for name, one in self.nodes.mapping(entry.value, what).items():
            if name not in _FIELDS:
                problem = f"{what}: unknown entry {name!r}"
                raise self.nodes.error(problem, one.key, nearest(name, _FIELDS))
            found[name] = self.nodes.text(one.value, f"{what}: {name}").strip()
            if name != "translation" and ("|" in found[name] or "{" in found[name]):
                raise self.nodes.error(f"{what}: a modifier has no bars or braces", one.value)
        return found

    def filled(self, node: yaml.Node, filler: str, what: str) -> yaml.Node:
        """Return a line, or a list of lines, with its placeholders replaced."""
        if isinstance(node, yaml.SequenceNode):
            lines = [self.filled(line, filler, what) for line in node.value]
            return yaml.SequenceNode(node.tag, lines, node.start_mark, node.end_mark)
        line = self.nodes.text(node, what)
        fillers = {_MODIFIER: filler, _CLAUSE: " ".join(split_words(filler)[:-1])}
        found = _PLACEHOLDER.findall(line)
        for name in found:
            if name not in fillers:
                remedy = nearest(name, tuple(fillers))
                raise self.nodes.error(f"{what}: placeholder {name!r} is unknown", node, remedy)
        if not found:
            remedy = "write {modifier} where the modifier belongs"
            raise self.nodes.error(f"{what}: no placeholder", node, remedy)
        return _scalar(_PLACEHOLDER.sub(lambda match: fillers[match[1]], line), node)


def _scalar(text: str, like: yaml.Node) -> yaml.ScalarNode:
    """Return text as a node with the line of another node."""
    return yaml.ScalarNode("tag:yaml.org,2002:str", text, like.start_mark, like.end_mark)


def _replaced(
    entries: dict[str, YamlEntry], like: yaml.Node, changed: dict[str, yaml.Node]
) -> yaml.MappingNode:
    """Return a mapping with some entries changed or added, and without ``modifiers``."""

    def pairs() -> Iterator[tuple[yaml.Node, yaml.Node]]:
        for name, entry in entries.items():
            if name != _MODIFIERS:
                yield entry.key, changed.get(name, entry.value)
        for name, node in _added(changed, entries):
            yield _scalar(name, node), node

    return yaml.MappingNode(like.tag, list(pairs()), like.start_mark, like.end_mark)


def _added(
    changed: dict[str, yaml.Node], entries: Iterable[str]
) -> Iterator[tuple[str, yaml.Node]]:
    return ((name, node) for name, node in changed.items() if name not in entries)
