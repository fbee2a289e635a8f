"""The English suites, generated from the templates in ``materials/templates``.

A template file contains designs; settings above ``designs`` apply to all of them. A design may
define several suites that differ in a few words: ``for`` lists the values of its ``$variables``,
one entry per suite. A design with ``cells`` generates several kinds of items: every cell has its
own values (``with``), labels and number of items. Designs of a file with the same ``share`` have
the same words in items of the same number.

Files are read only when a suite is requested.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import cast, get_args

from gardenpath.eval.suites.design.formula import Formula, FormulaError
from gardenpath.eval.suites.design.suite import CountedTies, Prediction, Suite, chance_of
from gardenpath.eval.suites.library.lexicon import Lexicon, TemplateError
from gardenpath.eval.suites.library.templates import Cell, Template, TemplateLine
from gardenpath.eval.suites.library.word_choice import Choice, choose_words
from gardenpath.safe_text import parse_yaml

TEMPLATES = Path(__file__).parents[1] / "materials" / "templates"

_LEXICA = "lexica"
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
        """Return the kinds of items; a design without cells has one kind."""
        cells = self.settings.get("cells", [{}])
        if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
            raise TemplateError("'cells' is not a list of mappings", path=self.path)
        return tuple(self._cell(cell) for cell in cells)

    def _cell(self, cell: _Settings) -> Cell:
        _refuse_unknown(cell, _CELL_SETTINGS, self.path)
        variables = {**self.variables, **self._values(cell, "with")}
        labels = {**self.mapping("labels"), **self._values(cell, "labels")}
        items = self._number({**self.settings, **cell}, "items")
        return Cell(tuple(self._lines(variables)), items, labels)

    def _lines(self, variables: Mapping[str, str]) -> Iterator[TemplateLine]:
        conditions = self.settings.get("conditions")
        if not isinstance(conditions, dict):
            raise TemplateError("a design needs 'conditions'", path=self.path)
        for condition, texts in conditions.items():
            for text in texts if isinstance(texts, list) else [texts]:
                # Twice, because the value of a cell's variable may contain a suite's variable.
                filled = self._filled(self._filled(str(text), variables), variables)
                line = TemplateLine.parse(condition, filled)
                if len(line.regions) != len(self.texts("regions")):
                    raise TemplateError(
                        f"{filled!r} has {len(line.regions)} regions, not "
                        f"{len(self.texts('regions'))}",
                        path=self.path,
                    )
                yield line

    def _values(self, settings: _Settings, key: str) -> dict[str, str]:
        value = settings.get(key, {})
        if not isinstance(value, dict):
            raise TemplateError(f"{key!r} is not a mapping", path=self.path)
        kept = {name: str(entry) for name, entry in value.items()}
        if key == "with":
            return kept
        return {name: self._filled(entry, self.variables) for name, entry in kept.items()}

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
            path = self._folder / _LEXICA / f"{name}.yaml"
            self._lexica[name] = Lexicon.from_mapping(_read_yaml(path), path)
        return self._lexica[name]


GENERATORS: Mapping[str, Callable[[], Suite]] = Catalogue(folder=TEMPLATES)


def _criteria(design: _Design, key: str) -> tuple[Prediction, ...]:
    """Return the predictions, which are comparisons, or the effects, which are differences."""
    found = []
    for name, text in design.mapping(key).items():
        try:
            formula = Formula.parse(text)
        except FormulaError as error:
            raise TemplateError(f"{design.text('name')}: {error}", path=design.path) from error
        if formula.is_claim != (key == "predictions"):
            wanted = "a difference" if formula.is_claim else "a comparison"
            problem = f"{design.text('name')}: {key}: {name} must be {wanted}"
            raise TemplateError(problem, path=design.path)
        found.append(Prediction(name, formula))
    return tuple(found)


def _chance(design: _Design) -> float | None:
    if "chance" not in design.settings:
        return None
    try:
        return chance_of(design.text("chance"))
    except ValueError as error:
        raise TemplateError(f"chance: {error}", path=design.path) from error


def _ties(design: _Design) -> CountedTies:
    """Return the rule for ties of a design."""
    given = design.text("ties") or "any"
    if given not in get_args(CountedTies):
        known = " or ".join(get_args(CountedTies))
        raise TemplateError(f"ties: {given!r} is not {known}", path=design.path)
    return cast(CountedTies, given)


def _read_designs(path: Path) -> Iterator[_Design]:
    common = dict(_read_yaml(path))
    designs = common.pop("designs", None)
    if not isinstance(designs, list) or not all(isinstance(each, dict) for each in designs):
        raise TemplateError("'designs' is not a list of mappings", path=path)
    for design in designs:
        settings = {**common, **design}
        _refuse_unknown(settings, _SETTINGS, path)
        chosen = settings.get("for", [{}])
        if not isinstance(chosen, list) or not all(isinstance(one, dict) for one in chosen):
            raise TemplateError("'for' is not a list of mappings", path=path)
        for variables in chosen:
            yield _Design(path, settings, {key: str(value) for key, value in variables.items()})


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
        raise TemplateError(
            f"unknown settings: {', '.join(unknown)}",
            path=path,
            remedy=f"valid: {', '.join(sorted(known))}",
        )
