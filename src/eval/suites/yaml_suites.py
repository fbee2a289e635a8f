"""The YAML format of suites, designed to be written by hand.

The conditions of an item are lines with ``|`` between regions and spaces between words::

    name: mandarin/classifier_noun/none
    language: zh
    spaced: false
    critical: [noun]
    differing: [classifier]
    regions: [context, classifier, noun, end]
    predictions:
      mismatch: (noun;%mismatch%) > (noun;%match%)
    items:
      1:
        match: 他 看见 了 一 | 只 | 猫 | 。
        mismatch: 他 看见 了 一 | 本 | 猫 | 。

A condition may have a list of lines, whose surprisals are averaged. An item may have ``labels``, a
``gloss`` of its first line, word by word, and a ``translation``; ``glosses: {歌: song}`` of the
suite glosses words that no first line has. ``chance`` gives the chance level if it does not follow
from the predictions; ``ties: complete`` counts only ties of all compared quantities as ties.
Further information about the suite (author, tags) belongs in ``meta``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, cast, get_args

import yaml

from gardenpath.errors import InputError
from gardenpath.eval.suites.nodes import YamlEntry, YamlNodes, flow, scalar
from gardenpath.eval.suites.suite import (
    CountedTies,
    Item,
    Metric,
    Suite,
    SuiteError,
    Variant,
    chance_of,
    split_words,
)
from gardenpath.eval.suites.syntaxgym import OWN_META
from gardenpath.eval.suites.tables import CRITERIA_KEYS, CriteriaReader
from gardenpath.safe_text import MalformedTextError, parse_yaml
from gardenpath.settings.schema import nearest
from gardenpath.store.files import open_text
from gardenpath.util import is_count

_REQUIRED = ("name", "language", "regions", "predictions", "items")
_TEXTS = ("name", "language", "version", "kind", "modifier", "description", "reference")
_FLAGS = ("spaced", "normalised")
_LISTS = ("conditions", "critical", "differing", "regions")
_KEYS = (
    *_TEXTS,
    *_FLAGS,
    *_LISTS,
    "metric",
    "chance",
    "ties",
    "glosses",
    "meta",
    *CRITERIA_KEYS,
    "items",
)
_LABELS, _GLOSS, _TRANSLATION = "labels", "gloss", "translation"
# Entries of an item that are not conditions.
_NO_CONDITIONS = (_LABELS, _GLOSS, _TRANSLATION)


def load_compact(path: str | Path) -> Suite:
    """Read a suite; errors name the file and the line."""
    nodes = YamlNodes(str(path))
    return suite_of_nodes(nodes, nodes.root())


def suite_of_nodes(nodes: YamlNodes, root: yaml.Node) -> Suite:
    """Return the suite that a mapping describes; ``nodes`` is the file that errors name."""
    return _Reader(nodes).suite(root)


@dataclass(frozen=True, slots=True)
class _Reader:
    nodes: YamlNodes

    def suite(self, root: yaml.Node) -> Suite:
        entries = self.nodes.entries(root, "a suite", known=_KEYS, required=_REQUIRED)
        settings: dict[str, Any] = {
            **{name: self.text(entries[name], name) for name in _TEXTS if name in entries},
            **{name: self.flag(entries[name], name) for name in _FLAGS if name in entries},
        }
        lists = {name: self.names(entries[name], name) for name in _LISTS if name in entries}
        for name in ("critical", "differing"):
            for region in lists.get(name, ()):
                self.known(region, lists["regions"], f"{name}: region", entries[name].value)
        items = self.items(entries["items"].value, lists["regions"], lists.get("conditions"))
        conditions = lists.setdefault("conditions", _conditions(items))
        criteria = CriteriaReader(self.nodes, lists["regions"], conditions)
        settings.update(lists)
        return Suite(
            **settings,
            metric=self.metric(entries.get("metric")),
            chance=self.chance(entries.get("chance")),
            ties=self.ties(entries.get("ties")),
            glosses=self.glosses(entries.get("glosses")),
            meta=self.meta(entries.get("meta")),
            items=items,
            predictions=criteria.predictions(entries),
            effects=criteria.effects(entries),
            factors=criteria.factors(entries.get("factors")),
        )

    def text(self, entry: YamlEntry, name: str) -> str:
        return self.nodes.text(entry.value, name).strip()

    def flag(self, entry: YamlEntry, name: str) -> bool:
        return self.nodes.choice(entry.value, name, ("true", "false")) == "true"

    def metric(self, entry: YamlEntry | None) -> Metric:
        chosen = self.nodes.choice(entry.value, "metric", get_args(Metric)) if entry else "sum"
        return cast(Metric, chosen)

    def ties(self, entry: YamlEntry | None) -> CountedTies:
        chosen = self.nodes.choice(entry.value, "ties", get_args(CountedTies)) if entry else "any"
        return cast(CountedTies, chosen)

    def chance(self, entry: YamlEntry | None) -> float | None:
        if entry is None:
            return None
        try:
            return chance_of(self.text(entry, "chance"))
        except ValueError as error:
            raise self.nodes.error(f"chance: {error}", entry.value) from error

    def glosses(self, entry: YamlEntry | None) -> dict[str, str]:
        found = self.nodes.mapping(entry.value, "glosses") if entry else {}
        return {word: self.text(gloss, f"the gloss of {word}") for word, gloss in found.items()}

    def meta(self, entry: YamlEntry | None) -> dict[str, Any]:
        found = self.nodes.mapping(entry.value, "meta") if entry else {}
        for name, one in found.items():
            if name in OWN_META:
                problem = f"meta: {name!r} must be an entry of the suite, not of meta"
                raise self.nodes.error(problem, one.key)
        return {name: self.nodes.plain(one.value, f"meta: {name}") for name, one in found.items()}

    def names(self, entry: YamlEntry, what: str) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for node in self.nodes.items(entry.value):
            name = self.nodes.text(node, what)
            if name in found:
                raise self.nodes.error(f"{what}: {name!r} occurs twice", node)
            found[name] = None
        return tuple(found)

    def known(self, name: str, valid: Iterable[str], what: str, node: yaml.Node) -> None:
        names = tuple(valid)
        if name not in names:
            raise self.nodes.error(f"{what} {name!r} is unknown", node, nearest(name, names))

    def items(
        self, node: yaml.Node, regions: tuple[str, ...], conditions: tuple[str, ...] | None
    ) -> tuple[Item, ...]:
        found: dict[int, Item] = {}
        for key, entry in self.nodes.mapping(node, "items").items():
            if not is_count(key):
                raise self.nodes.error(f"item {key[:50]!r}: the key must be a number", entry.key)
            if int(key) in found:
                raise self.nodes.error(f"item {int(key)} occurs twice", entry.key)
            found[int(key)] = self.item(int(key), entry.value, regions, conditions)
        if not found:
            raise self.nodes.error("a suite must have at least one item", node)
        return tuple(found.values())

    def item(
        self,
        number: int,
        node: yaml.Node,
        regions: tuple[str, ...],
        conditions: tuple[str, ...] | None,
    ) -> Item:
        entries = self.nodes.mapping(node, f"item {number}")
        variants = []
        for name, entry in entries.items():
            if name in _NO_CONDITIONS:
                continue
            if conditions is not None:
                self.known(name, conditions, f"item {number}: condition", entry.key)
            for line in self.nodes.items(entry.value):
                variants.append(self.variant(name, line, number, regions))
        return Item(
            number,
            tuple(variants),
            labels=self.labels(entries.get(_LABELS), number),
            gloss=self.gloss(entries.get(_GLOSS), number, regions),
            translation=self.translation(entries.get(_TRANSLATION), number),
        )

    def labels(self, entry: YamlEntry | None, number: int) -> dict[str, str]:
        what = f"the labels of item {number}"
        found = self.nodes.mapping(entry.value, what) if entry else {}
        return {name: self.text(label, name) for name, label in found.items()}

    def gloss(
        self, entry: YamlEntry | None, number: int, regions: tuple[str, ...]
    ) -> tuple[tuple[str, ...], ...]:
        return self.words(entry.value, f"item {number}, gloss", regions) if entry else ()

    def translation(self, entry: YamlEntry | None, number: int) -> str:
        return self.text(entry, f"item {number}, translation") if entry else ""

    def variant(
        self, condition: str, node: yaml.Node, number: int, regions: tuple[str, ...]
    ) -> Variant:
        what = f"item {number}, {condition}"
        return Variant(condition, self.words(node, what, regions))

    def words(
        self, node: yaml.Node, what: str, regions: tuple[str, ...]
    ) -> tuple[tuple[str, ...], ...]:
        """Return the words of a line, region by region."""
        parts = self.nodes.text(node, what).split("|")
        if len(parts) != len(regions):
            raise self.nodes.error(
                f"{what}: {len(parts)} regions, but the suite has {len(regions)}",
                node,
                f"write {len(regions) - 1} bars: {' | '.join(regions)}",
            )
        words = tuple(split_words(part) for part in parts)
        if not any(words):
            raise self.nodes.error(f"{what}: no words", node)
        return words


def _conditions(items: Iterable[Item]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(v.condition for item in items for v in item.variants))


def dump_compact(suite: Suite) -> str:
    """Return the suite as YAML, which loads as the same suite.

    Variants of one condition are written together, in their order within the item.
    """
    return "\n".join([*_head(suite), *_predictions(suite), "items:", *_items(suite)]) + "\n"


def _head(suite: Suite) -> Iterator[str]:
    for name in _TEXTS:
        text = getattr(suite, name)
        if text or name in ("name", "language", "version"):
            yield f"{name}: {scalar(text)}"
    yield f"spaced: {str(suite.spaced).lower()}"
    if suite.metric != "sum":
        yield f"metric: {suite.metric}"
    if suite.normalised:
        yield "normalised: true"
    if suite.chance is not None:
        yield f"chance: {suite.chance!r}"
    if suite.ties != "any":
        yield f"ties: {suite.ties}"
    for name in ("critical", "differing", "regions"):
        if names := getattr(suite, name):
            yield f"{name}: {flow(names)}"
    if suite.conditions != _conditions(suite.items):
        yield f"conditions: {flow(suite.conditions)}"
    if suite.glosses:
        yield f"glosses: {flow(suite.glosses)}"
    if suite.meta:
        yield f"meta: {flow(suite.meta)}"


def _predictions(suite: Suite) -> Iterator[str]:
    yield "predictions:" if suite.predictions else "predictions: {}"
    for prediction in suite.predictions:
        yield f"  {scalar(prediction.name)}: {scalar(str(prediction.formula))}"


def _items(suite: Suite) -> Iterator[str]:
    for item in suite.items:
        yield f"  {item.number}:"
        if item.labels:
            yield f"    {_LABELS}: {flow(item.labels)}"
        for condition in dict.fromkeys(variant.condition for variant in item.variants):
            if condition in _NO_CONDITIONS:
                raise SuiteError(f"{suite.name}: in YAML, no condition can be named {condition!r}")
            lines = [scalar(_line(suite, v.regions)) for v in item.of_condition(condition)]
            if len(lines) == 1:
                yield f"    {scalar(condition)}: {lines[0]}"
            else:
                yield f"    {scalar(condition)}:"
                yield from (f"      - {line}" for line in lines)
        if item.gloss:
            yield f"    {_GLOSS}: {scalar(_line(suite, item.gloss))}"
        if item.translation:
            yield f"    {_TRANSLATION}: {scalar(item.translation)}"


def _line(suite: Suite, regions: Sequence[tuple[str, ...]]) -> str:
    for word in (word for words in regions for word in words):
        if "|" in word or split_words(word) != (word,):
            raise SuiteError(
                f"{suite.name}: the word {word!r} cannot be written to YAML; words must not be "
                "empty or contain bars or spaces"
            )
    return "|".join(f" {' '.join(words)} " if words else " " for words in regions).strip(" ")


# ----------------------------------------------------------------------------
# The framed YAML format: the suites of a class in one file, which differ only in the modifier.
#
# A frame is an item of the compact format in which ``{modifier}`` stands for the modifier, and
# ``modifiers`` gives the modifiers of the class and those of each item::
#
#     name: mandarin/classifier_noun          # suites are named mandarin/classifier_noun/none, ...
#     modifiers:
#       none: no modifier
#       adjective: an adjective
#     items:
#       1:
#         match: 他 看见 了 一 | 只 | {modifier} | 猫 | 。
#         mismatch: 他 看见 了 一 | 本 | {modifier} | 猫 | 。
#         gloss: he see PFV one | CL.animal | {modifier} | cat | .
#         modifiers:
#           none: {translation: He saw a cat.}
#           adjective: {text: 可爱 的, gloss: cute DE, translation: He saw a cute cat.}
#
# ``{clause}`` stands for the modifier without its last word (的 of a Mandarin relative clause). All
# other entries are those of the compact format. Modifiers cannot be confounded with items, because
# every item has every modifier in the same frame.


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
