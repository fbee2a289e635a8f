"""Lexica of the templates: classes of words with their forms, and scenes of words that go together.

A lexicon file has three entries::

    forms:    {family: [sg, pl]}                          # names of the forms of a class
    classes:  {family: [father / fathers, son / sons]}    # available to every item
    scenes:   {meals: [{agents: [cook], dishes: [soup]}]} # an item uses one scene of a group

All combinations of words within a scene are plausible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gardenpath.errors import InputError

# An entry of the lexicon: the words of each form.
Lexeme = Mapping[str, tuple[str, ...]]
Classes = Mapping[str, tuple[Lexeme, ...]]

_BETWEEN_FORMS = " / "

# The name of the form in classes with a single form; a slot without a dot has this form.
_ONLY_FORM = ""


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
