"""The words of the items of a template: drawn at random, or crossed systematically.

*Random*: an item takes all its words from one scene or from the classes that all scenes share. Two
slots of one class never have the same word, and no sentence occurs in two items. The same seed
gives the same words on every machine.

*Crossed* (``cross: [x, verb]``): one item for every word of the class of ``x`` with every word of
the class of ``verb``. Further slots of a crossed class have the words that follow in the list, the
first word after the last, so that every word occurs equally often in every slot. Slots of other
classes rotate through their words.

Templates that share their words (``share``) have the same words in items of the same number, so
that their items can be compared one by one.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

from gardenpath.eval.suites.library.lexicon import Classes, Lexeme, TemplateError
from gardenpath.eval.suites.library.templates import Cell, ItemWords, Template

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
        _check_alike(first, template)
        template.checked_scenes()
    if first.cross:
        return _crossed(first, scenes)
    generator = random.Random(f"{first.seed} {first.share or first.name}")
    seen: set[_Sentence] = set()
    cells = zip(*(template.cells for template in templates), strict=True)
    return tuple(_drawn(templates, together, scenes, generator, seen) for together in cells)


def _check_alike(first: Template, other: Template) -> None:
    """Check that two templates that share their words have the same slots and numbers of items."""

    def shape(template: Template) -> tuple[object, ...]:
        numbers = [cell.items for cell in template.cells]
        slots = sorted(template.slots.items())
        rest = (template.scenes, template.cross, template.seed)
        return (template.lexicon.path, slots, numbers, *rest)

    if shape(first) != shape(other):
        raise TemplateError(
            f"{first.name} and {other.name} share their words ({first.share}), but differ in "
            "lexicon, slots, scenes, seed, crossing or number of items",
            path=other.path,
            remedy="write these settings once, above the designs",
        )


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
        words = _draw(templates[0], scenes[order[draws % len(order)]], generator)
        draws += 1
        sentences = {
            (template.name, line.fill(words).words)
            for template, cell in zip(templates, cells, strict=True)
            for line in cell.lines
        }
        if not sentences.isdisjoint(seen):
            repeats += 1
            if repeats > _PATIENCE:
                raise _exhausted(templates[0], cells[0].items, len(made))
            continue
        repeats = 0
        seen |= sentences
        made.append(words)
    return tuple(made)


def _draw(template: Template, classes: Classes, generator: random.Random) -> ItemWords:
    words: dict[str, Lexeme] = {}
    for name, slots in template.slots_of_class().items():
        chosen = generator.sample(classes[name], len(slots))
        words.update(zip(slots, chosen, strict=True))
    return words


def _crossed(template: Template, scenes: Sequence[Classes]) -> Choice:
    if unknown := [slot for slot in template.cross if slot not in template.slots]:
        raise TemplateError(
            f"{template.name}: 'cross' names unknown slots: {', '.join(unknown)}",
            path=template.path,
            remedy=f"available: {', '.join(template.slots)}",
        )
    names = [template.slots[slot] for slot in template.cross]
    if template.scenes or len(set(names)) < len(names):
        raise TemplateError(
            f"{template.name}: 'cross' needs slots of different classes, and no scenes",
            path=template.path,
        )
    (classes,) = scenes
    places = itertools.product(*(range(len(classes[name])) for name in names))
    chosen = tuple(_rotated(template, classes, dict(zip(names, at, strict=True))) for at in places)
    for cell in template.cells:
        if cell.items != len(chosen):
            raise TemplateError(
                f"{template.name}: {' x '.join(names)} gives {len(chosen)} items, "
                f"but {cell.items} are requested",
                path=template.path,
            )
    return tuple(chosen for _ in template.cells)


def _rotated(template: Template, classes: Classes, at: dict[str, int]) -> ItemWords:
    """Return the words of one item; ``at`` has the place of the word of each crossed class."""
    words: dict[str, Lexeme] = {}
    for name, slots in template.slots_of_class().items():
        listed = classes[name]
        begin = at[name] if name in at else sum(at.values())
        for step, slot in enumerate(slots):
            words[slot] = listed[(begin + step) % len(listed)]
    return words


def _exhausted(template: Template, wanted: int, made: int) -> TemplateError:
    return TemplateError(
        f"{template.name}: the words allow {made} different items, but {wanted} are requested",
        path=template.path,
        remedy=f"add words to {template.lexicon.path} or request fewer items",
    )
