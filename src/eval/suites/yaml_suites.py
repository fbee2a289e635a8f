"""The YAML formats of suites, designed to be written by hand: compact and framed.

The library and the studies read suites here, and export writes the compact format. Errors name the
file and the line; whether a suite makes sense is for the linter to say.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from gardenpath.errors import InputError
from gardenpath.eval.suites.nodes import YamlEntry, YamlNodes
from gardenpath.eval.suites.suite import Item, Suite, SuiteError, Variant, split_words
from gardenpath.eval.suites.syntaxgym import OWN_META
from gardenpath.eval.suites.tables import SHARED_KEYS, TEXT_KEYS, CriteriaReader, suite_settings
from gardenpath.safe_text import MalformedTextError, parse_yaml
from gardenpath.settings.schema import nearest
from gardenpath.store.files import open_text
from gardenpath.util import is_count

# The compact format: the conditions of an item are lines with ``|`` between regions and spaces
# between words. docs/suites.md has an example and explains all entries.

_REQUIRED = ("name", "language", "regions", "predictions", "items")
_LISTS = ("conditions", "critical", "differing", "regions")
_KEYS = (*SHARED_KEYS, "glosses", "meta", "items")
# Entries of an item that are not conditions.
_NO_CONDITIONS = ("labels", "gloss", "translation")


def load_compact(path: str | Path) -> Suite:
    """Read a suite; errors name the file and the line."""
    nodes = YamlNodes(str(path))
    return _compact_suite(nodes, nodes.root())


def _compact_suite(nodes: YamlNodes, root: yaml.Node) -> Suite:
    entries = nodes.entries(root, "a suite", known=_KEYS, required=_REQUIRED)
    lists = {name: _names(nodes, entries[name], name) for name in _LISTS if name in entries}
    regions = lists["regions"]
    for name in ("critical", "differing"):
        for region in lists.get(name, ()):
            nodes.require_known(region, regions, f"{name}: region", entries[name].value)
    items = _Items(nodes, regions, lists.get("conditions")).all(entries["items"].value)
    lists.setdefault("conditions", _conditions(items))
    criteria = CriteriaReader(nodes, regions, lists["conditions"])
    glosses = nodes.texts(entries["glosses"].value, "glosses") if "glosses" in entries else {}
    meta = nodes.mapping(entries["meta"].value, "meta") if "meta" in entries else {}
    for name, entry in meta.items():
        if name in OWN_META:
            problem = f"meta: {name!r} must be an entry of the suite, not of meta"
            raise nodes.error(problem, entry.key)
    settings: dict[str, Any] = {**suite_settings(nodes, entries), **lists}
    return Suite(
        **settings,
        glosses=glosses,
        meta={name: nodes.plain(entry.value, f"meta: {name}") for name, entry in meta.items()},
        items=items,
        predictions=criteria.predictions(entries),
        effects=criteria.effects(entries),
        factors=criteria.factors(entries.get("factors")),
    )


def _names(nodes: YamlNodes, entry: YamlEntry, what: str) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for node in nodes.items(entry.value):
        name = nodes.text(node, what)
        if name in names:
            raise nodes.error(f"{what}: {name!r} occurs twice", node)
        names[name] = None
    return tuple(names)


@dataclass(frozen=True, slots=True)
class _Items:
    """Reads items; without ``conditions``, those of the items are allowed."""

    nodes: YamlNodes
    regions: tuple[str, ...]
    conditions: tuple[str, ...] | None

    def all(self, node: yaml.Node) -> tuple[Item, ...]:
        items: dict[int, Item] = {}
        for key, entry in self.nodes.mapping(node, "items").items():
            if not is_count(key):
                raise self.nodes.error(f"item {key[:50]!r}: the key must be a number", entry.key)
            if int(key) in items:
                raise self.nodes.error(f"item {int(key)} occurs twice", entry.key)
            items[int(key)] = self.item(int(key), entry.value)
        if not items:
            raise self.nodes.error("a suite must have at least one item", node)
        return tuple(items.values())

    def item(self, number: int, node: yaml.Node) -> Item:
        what = f"item {number}"
        entries = self.nodes.mapping(node, what)
        variants = []
        for name, entry in entries.items():
            if name in _NO_CONDITIONS:
                continue
            if self.conditions is not None:
                self.nodes.require_known(name, self.conditions, f"{what}: condition", entry.key)
            for line in self.nodes.items(entry.value):
                variants.append(Variant(name, self.words(line, f"{what}, {name}")))
        labels, gloss, translation = (entries.get(name) for name in _NO_CONDITIONS)
        return Item(
            number,
            tuple(variants),
            labels=self.nodes.texts(labels.value, f"the labels of {what}") if labels else {},
            gloss=self.words(gloss.value, f"{what}, gloss") if gloss else (),
            translation=self.nodes.text(translation.value, f"{what}, translation").strip()
            if translation
            else "",
        )

    def words(self, node: yaml.Node, what: str) -> tuple[tuple[str, ...], ...]:
        parts = self.nodes.text(node, what).split("|")
        if len(parts) != len(self.regions):
            problem = f"{what}: {len(parts)} regions, but the suite has {len(self.regions)}"
            remedy = f"write {len(self.regions) - 1} bars: {' | '.join(self.regions)}"
            raise self.nodes.error(problem, node, remedy)
        words = tuple(split_words(part) for part in parts)
        if not any(words):
            raise self.nodes.error(f"{what}: no words", node)
        return words


def _conditions(items: Iterable[Item]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(v.condition for item in items for v in item.variants))


# What is written before predictions and items, in this order.
_HEAD = (
    *(*TEXT_KEYS, "spaced", "metric", "normalised", "chance", "ties"),
    *("critical", "differing", "regions", "conditions", "glosses", "meta"),
)


class _Dumper(yaml.SafeDumper):
    """Writes no references between equal labels, and line breaks of any kind as escapes."""

    def ignore_aliases(self, _data: object) -> bool:
        return True

    def represent_str(self, data: str) -> yaml.ScalarNode:
        style = None if data.isprintable() else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(str, _Dumper.represent_str)


def dump_compact(suite: Suite) -> str:
    """Return the suite as YAML, which loads as the same suite.

    Variants of one condition are written together, in their order within the item.
    """
    usual = {field.name: field.default for field in fields(Suite)}
    head = {name: getattr(suite, name) for name in _HEAD}
    if suite.conditions == _conditions(suite.items):
        del head["conditions"]
    kept = {
        name: dict(value) if isinstance(value, Mapping) else value
        for name, value in head.items()
        if name in ("version", "spaced") or value not in (usual[name], {})
    }
    body = {
        "predictions": {each.name: str(each.formula) for each in suite.predictions},
        "items": {item.number: _item_entries(suite, item) for item in suite.items},
    }
    # With None, lists and mappings without others inside are on one line.
    return _dumped(kept, flow_style=None) + _dumped(body, flow_style=False)


def _dumped(content: Mapping[str, Any], *, flow_style: bool | None) -> str:
    return yaml.dump(
        content,
        Dumper=_Dumper,
        default_flow_style=flow_style,
        sort_keys=False,
        allow_unicode=True,
        width=float("inf"),
    )


def _item_entries(suite: Suite, item: Item) -> dict[str, object]:
    lines: dict[str, list[str]] = {}
    for variant in item.variants:
        lines.setdefault(variant.condition, []).append(_line(suite, variant.regions))
    for condition in lines:
        if condition in _NO_CONDITIONS:
            raise SuiteError(f"{suite.name}: in YAML, no condition can be named {condition!r}")
    entries = {
        "labels": dict(item.labels),
        **{condition: own if len(own) > 1 else own[0] for condition, own in lines.items()},
        "gloss": _line(suite, item.gloss),
        "translation": item.translation,
    }
    return {name: entry for name, entry in entries.items() if entry or name in lines}


def _line(suite: Suite, regions: Sequence[tuple[str, ...]]) -> str:
    for word in itertools.chain(*regions):
        if "|" in word or split_words(word) != (word,):
            raise SuiteError(
                f"{suite.name}: the word {word!r} cannot be written to YAML; words must not be "
                "empty or contain bars or spaces"
            )
    return "|".join(f" {' '.join(words)} " if words else " " for words in regions).strip(" ")


# The framed format: the suites of a class in one file, which differ only in the modifier. A frame
# is an item of the compact format in which ``{modifier}`` stands for the modifier, and ``{clause}``
# for the modifier without its last word (的 of a Mandarin relative clause); docs/suites.md has an
# example. Modifiers cannot be confounded with items: every item has every modifier.

_MODIFIERS, _MODIFIER, _CLAUSE = "modifiers", "modifier", "clause"
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def load_yaml(path: str | Path) -> list[Suite]:
    """Read the suites of a file in the framed or in the compact format.

    A framed file has one suite per modifier. Errors name the file and the line.
    """
    nodes = YamlNodes(str(path))
    root = nodes.root()
    if _MODIFIERS not in nodes.mapping(root, "a suite"):
        return [_compact_suite(nodes, root)]
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
        head = "".join(itertools.takewhile(lambda line: not line.startswith("items:"), lines))
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
        entries = self.nodes.mapping(root, "a file of framed suites")
        for name in (_MODIFIERS, "name", "items"):
            if name not in entries:
                raise self.nodes.error(f"missing: {name}", root)
        if _MODIFIER in entries:
            remedy = f"list the modifiers in {_MODIFIERS!r}"
            raise self.nodes.error("a framed file has no entry 'modifier'", root, remedy)
        modifiers = self.nodes.mapping(entries[_MODIFIERS].value, _MODIFIERS)
        if not modifiers:
            raise self.nodes.error("no modifiers", entries[_MODIFIERS].key)
        return {name: self.nodes.text(entry.value, name) for name, entry in modifiers.items()}

    def suite(self, root: yaml.Node, modifier: str) -> Suite:
        described = self.modifiers(root)
        entries = self.nodes.mapping(root, "a file of framed suites")
        name, items = entries["name"], entries["items"]
        numbered = self.nodes.mapping(items.value, "items")
        full_name = f"{self.nodes.text(name.value, 'name')}/{modifier}"
        changed = {
            "name": _scalar(full_name, name.value),
            _MODIFIER: _scalar(modifier, entries[_MODIFIERS].value),
            "items": _replaced(
                numbered,
                items.value,
                {
                    number: self.item(entry, f"item {number}", modifier, tuple(described))
                    for number, entry in numbered.items()
                },
            ),
        }
        if "description" in entries:
            old = entries["description"].value
            text = f"{self.nodes.text(old, 'description').strip()} Modifier: {described[modifier]}."
            changed["description"] = _scalar(text, old)
        return _compact_suite(self.nodes, _replaced(entries, root, changed))

    def item(
        self, entry: YamlEntry, what: str, modifier: str, modifiers: tuple[str, ...]
    ) -> yaml.Node:
        entries = self.nodes.mapping(entry.value, what)
        if _MODIFIERS not in entries:
            raise self.nodes.error(f"{what}: missing: {_MODIFIERS}", entry.key)
        if "translation" in entries:
            problem = f"{what}: a translation depends on the modifier"
            remedy = "write it in the modifiers of the item"
            raise self.nodes.error(problem, entries["translation"].key, remedy)
        own = self.nodes.mapping(entries[_MODIFIERS].value, f"{_MODIFIERS} of {what}")
        for name, used in own.items():
            self.nodes.require_known(name, modifiers, f"{what}: modifier", used.key)
        if missing := [name for name in modifiers if name not in own]:
            problem = f"{what}: no modifier {', '.join(missing)}"
            raise self.nodes.error(problem, entries[_MODIFIERS].key)
        fields = self.fields(own[modifier], f"{what}, {modifier}")
        changed: dict[str, yaml.Node] = {}
        for name, line in entries.items():
            if name not in ("labels", _MODIFIERS):
                filler = fields["gloss" if name == "gloss" else "text"]
                changed[name] = self.filled(line.value, filler, f"{what}, {name}")
        if fields["translation"]:
            changed["translation"] = _scalar(fields["translation"], own[modifier].value)
        return _replaced(entries, entry.value, changed)

    def fields(self, entry: YamlEntry, what: str) -> dict[str, str]:
        """Return text, gloss and translation of a modifier, each of which may be empty."""
        fields = dict.fromkeys(("text", "gloss", "translation"), "")
        for name, own in self.nodes.mapping(entry.value, what).items():
            if name not in fields:
                problem = f"{what}: unknown entry {name!r}"
                raise self.nodes.error(problem, own.key, nearest(name, fields))
            fields[name] = self.nodes.text(own.value, f"{what}: {name}").strip()
            if name != "translation" and ("|" in fields[name] or "{" in fields[name]):
                raise self.nodes.error(f"{what}: a modifier has no bars or braces", own.value)
        return fields

    def filled(self, node: yaml.Node, filler: str, what: str) -> yaml.Node:
        """Return a line, or a list of lines, with its placeholders replaced."""
        if isinstance(node, yaml.SequenceNode):
            lines = [self.filled(line, filler, what) for line in node.value]
            return yaml.SequenceNode(node.tag, lines, node.start_mark, node.end_mark)
        line = self.nodes.text(node, what)
        fillers = {_MODIFIER: filler, _CLAUSE: " ".join(split_words(filler)[:-1])}
        placeholders = _PLACEHOLDER.findall(line)
        for name in placeholders:
            self.nodes.require_known(name, tuple(fillers), f"{what}: placeholder", node)
        if not placeholders:
            remedy = "write {modifier} where the modifier belongs"
            raise self.nodes.error(f"{what}: no placeholder", node, remedy)
        return _scalar(_PLACEHOLDER.sub(lambda match: fillers[match[1]], line), node)


def _scalar(text: str, like: yaml.Node) -> yaml.ScalarNode:
    return yaml.ScalarNode("tag:yaml.org,2002:str", text, like.start_mark, like.end_mark)


def _replaced(
    entries: dict[str, YamlEntry], like: yaml.Node, changed: dict[str, yaml.Node]
) -> yaml.MappingNode:
    """Return a mapping with some entries changed or added, and without ``modifiers``."""
    pairs = [
        (entry.key, changed.get(name, entry.value))
        for name, entry in entries.items()
        if name != _MODIFIERS
    ]
    pairs += [(_scalar(name, node), node) for name, node in changed.items() if name not in entries]
    return yaml.MappingNode(like.tag, pairs, like.start_mark, like.end_mark)
