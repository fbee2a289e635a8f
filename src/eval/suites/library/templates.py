"""Templates: sentences with slots, from which the items of a suite are generated.

A template gives each condition one or more lines, divided into regions by ``|``; a token in braces
is a slot, with a form after the dot if its words have several forms::

    baseline:       The | {x.sg} | near the | {y.sg} | {verb} | himself | .
    ungrammatical:  The | {x.pl} | near the | {y.sg} | {verb} | himself | .

Slots are filled once per item (``word_choice.py``), so its variants differ only in the text of
their lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gardenpath.eval.suites.design.suite import Item, Variant
from gardenpath.eval.suites.library.lexicon import Classes, Lexeme, Lexicon, TemplateError

_BETWEEN_REGIONS = "|"

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
        return cls(
            condition,
            tuple(
                tuple(_token(token) for token in region.split())
                for region in text.split(_BETWEEN_REGIONS)
            ),
        )

    def fill(self, words: ItemWords) -> Variant:
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
        placed.sort(key=lambda one: one[:2])
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

    def checked_scenes(self) -> tuple[Classes, ...]:
        """Return the classes of every scene; all slots have enough words in all used forms."""
        scenes = self.lexicon.scene_classes(self.scenes)
        for name, slots in self.slots_of_class().items():
            count = min(len(classes.get(name, ())) for classes in scenes)
            if count < len(slots):
                raise TemplateError(
                    f"{self.name}: {len(slots)} slots of class {name!r}, which has only "
                    f"{count} words in some scene",
                    path=self.path,
                    remedy=f"add words to {self.lexicon.path}",
                )
        for slot in sorted(set(self._used_slots()), key=lambda slot: (slot.name, slot.form)):
            self._check_slot(slot, scenes)
        return scenes

    def _used_slots(self) -> Iterator[Slot]:
        for cell in self.cells:
            for line in cell.lines:
                for region in line.regions:
                    yield from (token for token in region if isinstance(token, Slot))

    def _check_slot(self, slot: Slot, scenes: Sequence[Classes]) -> None:
        if slot.name not in self.slots:
            raise TemplateError(
                f"{self.name}: unknown slot {slot.name!r}",
                path=self.path,
                remedy=f"available: {', '.join(sorted(self.slots))}",
            )
        for classes in scenes:
            for word in classes[self.slots[slot.name]]:
                if slot.form not in word:
                    raise TemplateError(
                        f"{self.name}: slot {slot.name!r} has no form {slot.form!r}",
                        path=self.path,
                        remedy=f"available: {', '.join(map(repr, word))}",
                    )


def _token(token: str) -> str | Slot:
    if not (token.startswith("{") and token.endswith("}")):
        return token
    name, _, form = token[1:-1].partition(".")
    return Slot(name, form)


def _spell(token: str | Slot, words: ItemWords) -> tuple[str, ...]:
    return (token,) if isinstance(token, str) else words[token.name][token.form]
