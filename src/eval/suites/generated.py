"""The English suites, generated from the templates in ``materials/templates``.

The library finds them in ``GENERATORS``. A template has sentences with slots, whose words come from
a lexicon; the same seed gives the same suite on every machine. Files are read only when a suite is
requested, and nothing but these files is read.
"""

from __future__ import annotations

import itertools
import random
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import cast, get_args

from gardenpath.errors import InputError
from gardenpath.eval.suites.formula import Formula, FormulaError
from gardenpath.eval.suites.suite import CountedTies, Item, Prediction, Suite, Variant, chance_of
from gardenpath.safe_text import parse_yaml

# Lexica. A file has three entries::
#
#     forms:    {family: [sg, pl]}                          # names of the forms of a class
#     classes:  {family: [father / fathers, son / sons]}    # available to every item
#     scenes:   {meals: [{agents: [cook], dishes: [soup]}]} # an item uses one scene of a group
#
# All combinations of words within a scene are plausible.

# An entry of the lexicon: the words of each form.
Lexeme = Mapping[str, tuple[str, ...]]
Classes = Mapping[str, tuple[Lexeme, ...]]


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
            remedy = f"available: {', '.join(sorted(self.scenes)) or 'none'}"
            raise TemplateError(f"unknown scenes {group!r}", path=self.path, remedy=remedy)
        return tuple({**self.shared, **scene} for scene in self.scenes[group])


def _classes(content: object, forms: Mapping[str, tuple[str, ...]], path: Path) -> Classes:
    if not isinstance(content, dict):
        raise TemplateError(f"classes of words must be a mapping, not {content!r}", path=path)
    classes: dict[str, tuple[Lexeme, ...]] = {}
    for name, value in content.items():
        lexemes = []
        # Classes with a single form have no name for it, and their slots no dot.
        own = forms.get(name, ("",))
        for text in _strings(value, path):
            spelled = text.split(" / ")
            if len(spelled) != len(own):
                problem = f"{text!r} has {len(spelled)} forms, not {len(own)}"
                raise TemplateError(problem, path=path, remedy="separate the forms with ' / '")
            words = (tuple(form.split()) for form in spelled)
            lexemes.append(dict(zip(own, words, strict=True)))
        classes[name] = tuple(lexemes)
    return classes


def _mapping(content: Mapping[str, object], key: str, path: Path) -> list[tuple[str, object]]:
    value = content.get(key) or {}
    if not isinstance(value, dict):
        raise TemplateError(f"{key!r} is not a mapping", path=path)
    return list(value.items())


def _strings(value: object, path: Path) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise TemplateError(
            f"not a list of words: {value!r}",
            path=path,
            remedy="put quotation marks around words that YAML reads as numbers or true/false",
        )
    return tuple(texts)


# Templates: sentences with slots. A template gives each condition one or more lines, divided into
# regions by ``|``; a token in braces is a slot, with a form after the dot if its words have several
# forms::
#
#     baseline:       The | {x.sg} | near the | {y.sg} | {verb} | himself | .
#     ungrammatical:  The | {x.pl} | near the | {y.sg} | {verb} | himself | .
#
# Slots are filled once per item, so its variants differ only in the text of their lines.

# The word of each slot of one item.
ItemWords = Mapping[str, Lexeme]


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
        return cls(condition, tuple(tuple(map(_token, part.split())) for part in text.split("|")))

    def fill(self, words: ItemWords) -> Variant:
        """Return the sentence with a word in each slot."""
        spelled = (
            [
                words[token.name][token.form] if isinstance(token, Slot) else (token,)
                for token in part
            ]
            for part in self.regions
        )
        return Variant(self.condition, tuple(tuple(itertools.chain(*part)) for part in spelled))


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
    ``cross`` lists slots whose classes are crossed: there is one item for every combination of
    their words. ``share`` is the name of a group of templates that have the same words in the
    items of the same number, or empty.
    """

    name: str
    path: Path
    lexicon: Lexicon
    slots: Mapping[str, str]
    cells: tuple[Cell, ...]
    seed: int
    scenes: str = ""
    cross: tuple[str, ...] = ()
    share: str = ""

    def items(self, choice: Sequence[Sequence[ItemWords]]) -> tuple[Item, ...]:
        """Return all items, numbered from 1, from the words of the items of each cell.

        Cells alternate in proportion to their numbers of items, so that the first items of a suite
        are a fair sample of it.
        """
        placed = [
            ((place + 0.5) / len(chosen), number, words)
            for number, chosen in enumerate(choice)
            for place, words in enumerate(chosen)
        ]
        placed.sort(key=lambda entry: entry[:2])
        items: list[Item] = []
        for _, number, words in placed:
            cell = self.cells[number]
            variants = tuple(line.fill(words) for line in cell.lines)
            items.append(Item(len(items) + 1, variants, dict(cell.labels)))
        return tuple(items)

    def slots_of_class(self) -> dict[str, list[str]]:
        """Return the slots of each class, in the order in which they are declared."""
        slots: dict[str, list[str]] = {}
        for slot, name in self.slots.items():
            slots.setdefault(name, []).append(slot)
        return slots

    def error(self, problem: str, remedy: str = "") -> TemplateError:
        """Return an error that names the template and its file."""
        return TemplateError(f"{self.name}: {problem}", path=self.path, remedy=remedy)

    def checked_scenes(self) -> tuple[Classes, ...]:
        """Return the classes of every scene; all slots have enough words in all used forms."""
        scenes = self.lexicon.scene_classes(self.scenes)
        for name, slots in self.slots_of_class().items():
            count = min(len(classes.get(name, ())) for classes in scenes)
            if count < len(slots):
                problem = f"{len(slots)} slots of class {name!r}, which has only {count} words"
                raise self.error(f"{problem} in some scene", f"add words to {self.lexicon.path}")
        tokens = (
            token
            for cell in self.cells
            for line in cell.lines
            for region in line.regions
            for token in region
        )
        used = {token for token in tokens if isinstance(token, Slot)}
        for slot in sorted(used, key=lambda slot: (slot.name, slot.form)):
            if slot.name not in self.slots:
                remedy = f"available: {', '.join(sorted(self.slots))}"
                raise self.error(f"unknown slot {slot.name!r}", remedy)
            for word in (word for classes in scenes for word in classes[self.slots[slot.name]]):
                if slot.form not in word:
                    remedy = f"available: {', '.join(map(repr, word))}"
                    raise self.error(f"slot {slot.name!r} has no form {slot.form!r}", remedy)
        return scenes


def _token(token: str) -> str | Slot:
    if not (token.startswith("{") and token.endswith("}")):
        return token
    name, _, form = token[1:-1].partition(".")
    return Slot(name, form)


# The words of the items of a template: drawn at random, or crossed systematically.
#
# *Random*: an item takes all its words from one scene or from the classes that all scenes share.
# Two slots of one class never have the same word, and no sentence occurs in two items. The same
# seed gives the same words on every machine.
#
# *Crossed* (``cross: [x, verb]``): one item for every word of the class of ``x`` with every word
# of the class of ``verb``. Further slots of a crossed class have the words that follow in the
# list, the first word after the last, so that every word occurs equally often in every slot. Slots
# of other classes rotate through their words.
#
# Templates that share their words (``share``) have the same words in items of the same number, so
# that their items can be compared one by one.

# The words of the items of every cell.
Choice = tuple[tuple[ItemWords, ...], ...]

_Sentence = tuple[str, tuple[str, ...]]

# Number of consecutive draws that may repeat earlier items before the template is exhausted.
_PATIENCE = 1000


def choose_words(templates: Sequence[Template]) -> Choice:
    """Return the words of all items of one template, or of several that share their words."""
    first = templates[0]
    scenes = first.checked_scenes()
    for template in templates[1:]:
        if _shape(first) != _shape(template):
            raise TemplateError(
                f"{first.name} and {template.name} share their words ({first.share}), but differ "
                "in lexicon, slots, scenes, seed, crossing or number of items",
                path=template.path,
                remedy="write these settings once, above the designs",
            )
        template.checked_scenes()
    if first.cross:
        return _crossed(first, scenes)
    generator = random.Random(f"{first.seed} {first.share or first.name}")
    seen: set[_Sentence] = set()
    cells = zip(*(template.cells for template in templates), strict=True)
    return tuple(_drawn(templates, together, scenes, generator, seen) for together in cells)


def _shape(template: Template) -> tuple[object, ...]:
    numbers = [cell.items for cell in template.cells]
    slots = sorted(template.slots.items())
    rest = (template.scenes, template.cross, template.seed)
    return (template.lexicon.path, slots, numbers, *rest)


def _drawn(
    templates: Sequence[Template],
    cells: Sequence[Cell],
    scenes: Sequence[Classes],
    generator: random.Random,
    seen: set[_Sentence],
) -> tuple[ItemWords, ...]:
    """Draw the words of one cell; scenes alternate so that they are used about equally."""
    order = generator.sample(range(len(scenes)), len(scenes))
    made: list[ItemWords] = []
    repeats = draws = 0
    while len(made) < cells[0].items:
        classes = scenes[order[draws % len(order)]]
        draws += 1
        words: dict[str, Lexeme] = {}
        for name, slots in templates[0].slots_of_class().items():
            words.update(zip(slots, generator.sample(classes[name], len(slots)), strict=True))
        sentences = {
            (template.name, line.fill(words).words)
            for template, cell in zip(templates, cells, strict=True)
            for line in cell.lines
        }
        if not sentences.isdisjoint(seen):
            repeats += 1
            if repeats > _PATIENCE:
                raise templates[0].error(
                    f"the words allow {len(made)} different items, but {cells[0].items} are "
                    "requested",
                    f"add words to {templates[0].lexicon.path} or request fewer items",
                )
            continue
        repeats = 0
        seen |= sentences
        made.append(words)
    return tuple(made)


def _crossed(template: Template, scenes: Sequence[Classes]) -> Choice:
    if unknown := [slot for slot in template.cross if slot not in template.slots]:
        problem = f"'cross' names unknown slots: {', '.join(unknown)}"
        raise template.error(problem, f"available: {', '.join(template.slots)}")
    names = [template.slots[slot] for slot in template.cross]
    if template.scenes or len(set(names)) < len(names):
        raise template.error("'cross' needs slots of different classes, and no scenes")
    (classes,) = scenes
    places = itertools.product(*(range(len(classes[name])) for name in names))
    chosen: list[ItemWords] = []
    for numbers in places:
        at = dict(zip(names, numbers, strict=True))
        words: dict[str, Lexeme] = {}
        for name, slots in template.slots_of_class().items():
            listed = classes[name]
            begin = at[name] if name in at else sum(numbers)
            words |= {slot: listed[(begin + n) % len(listed)] for n, slot in enumerate(slots)}
        chosen.append(words)
    for cell in template.cells:
        if cell.items != len(chosen):
            problem = f"{' x '.join(names)} gives {len(chosen)} items, but {cell.items}"
            raise template.error(f"{problem} are requested")
    return tuple(tuple(chosen) for _ in template.cells)


# Designs. A template file contains designs; settings above ``designs`` apply to all of them. A
# design may define several suites that differ in a few words: ``for`` lists the values of its
# ``$variables``, one entry per suite. A design with ``cells`` generates several kinds of items:
# every cell has its own values (``with``), labels and number of items. Designs of a file with the
# same ``share`` have the same words in items of the same number.

TEMPLATES = Path(__file__).parent / "materials" / "templates"

_SETTINGS = frozenset(
    {
        *("name", "for", "lexicon", "seed", "scenes", "slots", "labels", "items", "cells"),
        *("cross", "share", "ties"),
        *("language", "kind", "modifier", "version", "reference", "description"),
        *("regions", "critical", "differing", "chance", "predictions", "effects", "conditions"),
    }
)
_CELL_SETTINGS = frozenset({"with", "labels", "items"})

_Settings = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class _Design:
    """The settings of one suite and the values of their ``$variables``."""

    path: Path
    settings: _Settings
    variables: Mapping[str, str]

    def text(self, key: str, default: str = "") -> str:
        return self._filled(str(self.settings.get(key, default)), self.variables)

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.settings.get(key, [])
        if not isinstance(value, list):
            raise TemplateError(f"{key!r} is not a list", path=self.path)
        return tuple(self._filled(str(entry), self.variables) for entry in value)

    def mapping(self, key: str) -> dict[str, str]:
        return self._values(self.settings, key)

    def number(self, key: str) -> int:
        return self._number(self.settings, key)

    def cells(self) -> tuple[Cell, ...]:
        made = []
        for cell in _mappings(self.settings.get("cells", [{}]), "cells", self.path):
            _refuse_unknown(cell, _CELL_SETTINGS, self.path)
            variables = {**self.variables, **self._values(cell, "with")}
            labels = {**self.mapping("labels"), **self._values(cell, "labels")}
            items = self._number({**self.settings, **cell}, "items")
            made.append(Cell(tuple(self._lines(variables)), items, labels))
        return tuple(made)

    def _lines(self, variables: Mapping[str, str]) -> Iterator[TemplateLine]:
        conditions = self.settings.get("conditions")
        if not isinstance(conditions, dict):
            raise TemplateError("a design needs 'conditions'", path=self.path)
        for condition, texts in conditions.items():
            for text in texts if isinstance(texts, list) else [texts]:
                # Twice, because the value of a cell's variable may contain a suite's variable.
                filled = self._filled(self._filled(str(text), variables), variables)
                line = TemplateLine.parse(condition, filled)
                wanted = len(self.texts("regions"))
                if len(line.regions) != wanted:
                    problem = f"{filled!r} has {len(line.regions)} regions, not {wanted}"
                    raise TemplateError(problem, path=self.path)
                yield line

    def _values(self, settings: _Settings, key: str) -> dict[str, str]:
        values = {name: str(entry) for name, entry in _mapping(settings, key, self.path)}
        if key == "with":
            return values
        return {name: self._filled(entry, self.variables) for name, entry in values.items()}

    def _number(self, settings: _Settings, key: str) -> int:
        value = settings.get(key)
        if not isinstance(value, int):
            raise TemplateError(f"{key!r} is not an integer: {value!r}", path=self.path)
        return value

    def _filled(self, text: str, variables: Mapping[str, str]) -> str:
        try:
            return string.Template(text).substitute(variables)
        except (KeyError, ValueError) as error:
            raise TemplateError(f"{text!r}: no value for {error}", path=self.path) from error


class Catalogue(Mapping[str, Callable[[], Suite]]):
    """Suites by name, each as a function that generates it."""

    def __init__(self, *, folder: Path) -> None:
        self._folder = folder
        self._lexica: dict[str, Lexicon] = {}
        self._choices: dict[tuple[Path, str], Choice] = {}

    def __getitem__(self, name: str) -> Callable[[], Suite]:
        return partial(self._suite, self._designs[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._designs)

    def __len__(self) -> int:
        return len(self._designs)

    @cached_property
    def _designs(self) -> dict[str, _Design]:
        designs: dict[str, _Design] = {}
        for path in sorted(self._folder.glob("*.yaml")):
            for design in _read_designs(path):
                name = design.text("name")
                if name in designs:
                    raise TemplateError(f"two suites have the name {name!r}", path=path)
                designs[name] = design
        return designs

    def _suite(self, design: _Design) -> Suite:
        template = self._template(design)
        conditions = (line.condition for cell in template.cells for line in cell.lines)
        return Suite(
            name=template.name,
            language=design.text("language", "en"),
            regions=design.texts("regions"),
            conditions=tuple(dict.fromkeys(conditions)),
            predictions=_criteria(design, "predictions"),
            effects=_criteria(design, "effects"),
            items=template.items(self._choice(template)),
            kind=design.text("kind"),
            modifier=design.text("modifier"),
            version=design.text("version", "1"),
            critical=design.texts("critical"),
            differing=design.texts("differing"),
            chance=_chance(design),
            description=f"{design.text('description')} (Generated with seed {template.seed}.)",
            reference=design.text("reference"),
            ties=_ties(design),
        )

    def _template(self, design: _Design) -> Template:
        return Template(
            name=design.text("name"),
            path=design.path,
            lexicon=self._lexicon(design.text("lexicon")),
            slots=design.mapping("slots"),
            cells=design.cells(),
            seed=design.number("seed"),
            scenes=design.text("scenes"),
            cross=design.texts("cross"),
            share=design.text("share"),
        )

    def _choice(self, template: Template) -> Choice:
        """Return the words of the items; those of designs that share them are chosen once."""
        if not template.share:
            return choose_words([template])
        key = (template.path, template.share)
        if key not in self._choices:
            sharing = [
                self._template(design)
                for design in self._designs.values()
                if (design.path, design.text("share")) == key
            ]
            self._choices[key] = choose_words(sharing)
        return self._choices[key]

    def _lexicon(self, name: str) -> Lexicon:
        if name not in self._lexica:
            path = self._folder / "lexica" / f"{name}.yaml"
            self._lexica[name] = Lexicon.from_mapping(_read_yaml(path), path)
        return self._lexica[name]


GENERATORS: Mapping[str, Callable[[], Suite]] = Catalogue(folder=TEMPLATES)


def _criteria(design: _Design, key: str) -> tuple[Prediction, ...]:
    """Return the predictions, which are comparisons, or the effects, which are differences."""
    criteria = []
    for name, text in design.mapping(key).items():
        try:
            formula = Formula.parse(text)
        except FormulaError as error:
            raise TemplateError(f"{design.text('name')}: {error}", path=design.path) from error
        if formula.is_claim != (key == "predictions"):
            wanted = "a difference" if formula.is_claim else "a comparison"
            problem = f"{design.text('name')}: {key}: {name} must be {wanted}"
            raise TemplateError(problem, path=design.path)
        criteria.append(Prediction(name, formula))
    return tuple(criteria)


def _chance(design: _Design) -> float | None:
    if "chance" not in design.settings:
        return None
    try:
        return chance_of(design.text("chance"))
    except ValueError as error:
        raise TemplateError(f"chance: {error}", path=design.path) from error


def _ties(design: _Design) -> CountedTies:
    ties = design.text("ties") or "any"
    if ties not in get_args(CountedTies):
        known = " or ".join(get_args(CountedTies))
        raise TemplateError(f"ties: {ties!r} is not {known}", path=design.path)
    return cast(CountedTies, ties)


def _read_designs(path: Path) -> Iterator[_Design]:
    common = dict(_read_yaml(path))
    for design in _mappings(common.pop("designs", None), "designs", path):
        settings = {**common, **design}
        _refuse_unknown(settings, _SETTINGS, path)
        for variables in _mappings(settings.get("for", [{}]), "for", path):
            yield _Design(path, settings, {key: str(value) for key, value in variables.items()})


def _mappings(value: object, key: str, path: Path) -> list[dict[str, object]]:
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise TemplateError(f"{key!r} is not a list of mappings", path=path)
    return value


def _read_yaml(path: Path) -> _Settings:
    try:
        content = parse_yaml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TemplateError(f"cannot be read: {error}", path=path) from error
    if not isinstance(content, dict):
        raise TemplateError("is not a mapping", path=path)
    return content


def _refuse_unknown(settings: _Settings, known: frozenset[str], path: Path) -> None:
    if unknown := sorted(str(name) for name in settings if name not in known):
        remedy = f"valid: {', '.join(sorted(known))}"
        raise TemplateError(f"unknown settings: {', '.join(unknown)}", path=path, remedy=remedy)
