"""Generation of items from templates: sentences with slots, words for the slots, and a random seed.

A template gives each condition one or more lines, divided into regions by ``|``; a token in braces
is a slot, with a form after the dot if its words have several forms::

    baseline:       The | {x.sg} | near the | {y.sg} | {verb} | himself | .
    ungrammatical:  The | {x.pl} | near the | {y.sg} | {verb} | himself | .

Slots are filled once per item, so its variants differ only in the text of their lines. Words come
from classes (``family: [father / fathers, son / sons]``). Words that are compatible in meaning are
grouped in scenes: an item takes all its words from one scene or from the classes that all scenes
share, and all combinations within a scene are plausible. Two slots of one class never have the same
word, and no sentence occurs in two items. The same seed gives the same items on every machine.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gardenpath.errors import InputError
from gardenpath.eval.suites.design.suite import Item, Variant

# An entry of the lexicon: the words of each form.
Lexeme = Mapping[str, tuple[str, ...]]
Classes = Mapping[str, tuple[Lexeme, ...]]

_BETWEEN_FORMS = " / "
_BETWEEN_REGIONS = "|"

# The name of the form in classes with a single form; a slot without a dot has this form.
_ONLY_FORM = ""

# Number of consecutive draws that may repeat earlier items before the template is exhausted.
_PATIENCE = 1000


class TemplateError(InputError):
    """A template or a lexicon is invalid."""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Classes of words that every item may use, and scenes with additional classes."""

    path: Path
    shared: Classes
    scenes: Mapping[str, tuple[Classes, ...]]  # by the name of the group they belong to

    @classmethod
    def from_mapping(cls, content: Mapping[str, object], path: Path) -> Lexicon:
        """Build the lexicon from the content of its file: ``forms``, ``classes``, ``scenes``."""
        forms = {name: _strings(value, path) for name, value in _mapping(content, "forms", path)}
        shared = _classes(dict(_mapping(content, "classes", path)), forms, path)
        groups: dict[str, tuple[Classes, ...]] = {}
        for group, scenes in _mapping(content, "scenes", path):
            if not isinstance(scenes, list):
                raise TemplateError(f"scenes: {group!r} is not a list", path=path)
            groups[group] = tuple(_classes(scene, forms, path) for scene in scenes)
        return cls(path, shared, groups)

    def scene_classes(self, group: str) -> tuple[Classes, ...]:
        """Return, for each scene of a group, the classes from which its items are drawn."""
        if not group:
            return (self.shared,)
        if group not in self.scenes:
            known = ", ".join(sorted(self.scenes)) or "none"
            raise TemplateError(
                f"unknown scenes {group!r}", path=self.path, remedy=f"available: {known}"
            )
        return tuple({**self.shared, **scene} for scene in self.scenes[group])


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot in a line: its name and the form of the word that fills it."""

    name: str
    form: str


Region = tuple[str | Slot, ...]


@dataclass(frozen=True, slots=True)
class TemplateLine:
    """One sentence with slots."""

    condition: str
    regions: tuple[Region, ...]

    @classmethod
    def parse(cls, condition: str, text: str) -> TemplateLine:
        """Parse a line such as ``The | {x.sg} | near the | ...``; a slot is a whole token."""
        return cls(
            condition,
            tuple(
                tuple(_token(token) for token in region.split())
                for region in text.split(_BETWEEN_REGIONS)
            ),
        )

    def fill(self, words: Mapping[str, Lexeme]) -> Variant:
        """Return the sentence with a word in each slot."""
        regions = (
            tuple(word for token in region for word in _spell(token, words))
            for region in self.regions
        )
        return Variant(self.condition, tuple(regions))


@dataclass(frozen=True, slots=True)
class Cell:
    """A kind of items: their lines, their number and their labels."""

    lines: tuple[TemplateLine, ...]
    items: int
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Template:
    """The definition from which the items of a suite are generated.

    ``slots`` maps each slot to its class; ``scenes`` is the name of a group of scenes, or empty.
    """

    name: str
    path: Path
    lexicon: Lexicon
    slots: Mapping[str, str]
    cells: tuple[Cell, ...]
    seed: int
    scenes: str = ""

    def items(self) -> tuple[Item, ...]:
        """Return all items, numbered from 1, cell by cell; no sentence occurs in two items."""
        generator = random.Random(f"{self.seed} {self.name}")
        scenes = self.lexicon.scene_classes(self.scenes)
        self._check(scenes)
        seen: set[tuple[str, ...]] = set()
        items: list[Item] = []
        for cell in self.cells:
            for variants in self._cell(cell, scenes, generator, seen):
                items.append(Item(len(items) + 1, variants, dict(cell.labels)))
        return tuple(items)

    def _cell(
        self,
        cell: Cell,
        scenes: Sequence[Classes],
        generator: random.Random,
        seen: set[tuple[str, ...]],
    ) -> list[tuple[Variant, ...]]:
        """Return the items of one cell; scenes alternate so that they are used about equally."""
        order = generator.sample(range(len(scenes)), len(scenes))
        made: list[tuple[Variant, ...]] = []
        repeats = draws = 0
        while len(made) < cell.items:
            words = self._draw(scenes[order[draws % len(order)]], generator)
            draws += 1
            variants = tuple(line.fill(words) for line in cell.lines)
            sentences = {variant.words for variant in variants}
            if not sentences.isdisjoint(seen):
                repeats += 1
                if repeats > _PATIENCE:
                    raise self._exhausted(cell, len(made))
                continue
            repeats = 0
            seen |= sentences
            made.append(variants)
        return made

    def _draw(self, classes: Classes, generator: random.Random) -> dict[str, Lexeme]:
        """Draw a word for each slot; slots of the same class get different words."""
        words: dict[str, Lexeme] = {}
        for name, slots in self._slots_of_class().items():
            chosen = generator.sample(classes[name], len(slots))
            words.update(zip(slots, chosen, strict=True))
        return words

    def _slots_of_class(self) -> dict[str, list[str]]:
        slots: dict[str, list[str]] = {}
        for slot, name in self.slots.items():
            slots.setdefault(name, []).append(slot)
        return slots

    def _check(self, scenes: Sequence[Classes]) -> None:
        """Check that every slot has enough words, in all forms that the lines use."""
        for name, slots in self._slots_of_class().items():
            for classes in scenes:
                count = len(classes.get(name, ()))
                if count < len(slots):
                    raise TemplateError(
                        f"{self.name}: {len(slots)} slots of class {name!r}, which has only "
                        f"{count} words in some scene",
                        path=self.path,
                        remedy=f"add words to {self.lexicon.path}",
                    )
        asked = {
            token
            for cell in self.cells
            for line in cell.lines
            for region in line.regions
            for token in region
            if isinstance(token, Slot)
        }
        for slot in sorted(asked, key=lambda slot: (slot.name, slot.form)):
            self._check_slot(slot, scenes)

    def _check_slot(self, slot: Slot, scenes: Sequence[Classes]) -> None:
        if slot.name not in self.slots:
            raise TemplateError(
                f"{self.name}: unknown slot {slot.name!r}",
                path=self.path,
                remedy=f"available: {', '.join(sorted(self.slots))}",
            )
        words = [word for classes in scenes for word in classes[self.slots[slot.name]]]
        for word in words:
            if slot.form not in word:
                raise TemplateError(
                    f"{self.name}: slot {slot.name!r} has no form {slot.form!r}",
                    path=self.path,
                    remedy=f"available: {', '.join(map(repr, word))}",
                )

    def _exhausted(self, cell: Cell, made: int) -> TemplateError:
        return TemplateError(
            f"{self.name}: the words allow {made} different items, but {cell.items} are requested",
            path=self.path,
            remedy=f"add words to {self.lexicon.path} or request fewer items",
        )


def _token(token: str) -> str | Slot:
    if not (token.startswith("{") and token.endswith("}")):
        return token
    name, _, form = token[1:-1].partition(".")
    return Slot(name, form)


def _spell(token: str | Slot, words: Mapping[str, Lexeme]) -> tuple[str, ...]:
    return (token,) if isinstance(token, str) else words[token.name][token.form]


def _classes(content: object, forms: Mapping[str, tuple[str, ...]], path: Path) -> Classes:
    if not isinstance(content, dict):
        raise TemplateError(f"classes of words must be a mapping, not {content!r}", path=path)
    return {
        name: tuple(_word(text, forms.get(name, (_ONLY_FORM,)), path) for text in texts)
        for name, value in content.items()
        for texts in [_strings(value, path)]
    }


def _word(text: str, forms: Sequence[str], path: Path) -> Lexeme:
    spelled = text.split(_BETWEEN_FORMS)
    if len(spelled) != len(forms):
        raise TemplateError(
            f"{text!r} has {len(spelled)} forms, not {len(forms)}",
            path=path,
            remedy=f"separate the forms with '{_BETWEEN_FORMS}'",
        )
    return {form: tuple(words.split()) for form, words in zip(forms, spelled, strict=True)}


def _mapping(content: Mapping[str, object], key: str, path: Path) -> list[tuple[str, object]]:
    value = content.get(key) or {}
    if not isinstance(value, dict):
        raise TemplateError(f"{key!r} is not a mapping", path=path)
    return list(value.items())


def _strings(value: object, path: Path) -> tuple[str, ...]:
    """Return a list of strings; a single string becomes a list of one."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise TemplateError(
            f"not a list of words: {value!r}",
            path=path,
            remedy="put quotation marks around words that YAML reads as numbers or true/false",
        )
    return tuple(texts)
