"""How model families are shown: their names in sentences, their order, colours and marks.

Colours are those of Okabe and Ito, which readers with any kind of colour vision can tell apart, and
families differ in mark as well as in colour. Sequential models and their structured counterparts
are pairs: lstm and rnng are blue, transformer and plm orange and red. A family that is not listed
here is shown by its own name, after the listed ones, with a colour that depends on its name alone.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection
from dataclasses import dataclass

SKY, BLUE, ORANGE, VERMILLION = "#56b4e9", "#0072b2", "#e69f00", "#d55e00"
GREEN, PURPLE, GREY = "#009e73", "#cc79a7", "#8c8c8c"

# A colour and a matplotlib marker.
ModelStyle = tuple[str, str]


@dataclass(frozen=True, slots=True)
class FamilyDisplay:
    """A family as sentences name it and figures draw it; ``aliases`` are other spellings."""

    name: str
    style: ModelStyle
    aliases: tuple[str, ...] = ()


# In the order of tables and figures, from plain to structured.
FAMILY_DISPLAYS = {
    "unigram": FamilyDisplay("unigram", (GREY, "v")),
    "ngram": FamilyDisplay("n-gram", (GREEN, "^")),
    "lstm": FamilyDisplay("LSTM", (SKY, "o")),
    "rnng": FamilyDisplay("RNNG", (BLUE, "s")),
    "transformer": FamilyDisplay("Transformer", (ORANGE, "P"), aliases=("trans",)),
    "plm": FamilyDisplay("PLM", (VERMILLION, "X")),
    "plm_mask": FamilyDisplay("PLM-mask", (PURPLE, "p")),
}

_FAMILIES = {
    spelling: family
    for family, shown in FAMILY_DISPLAYS.items()
    for spelling in (family, *shown.aliases)
}

FAMILY_NAMES = {spelling: FAMILY_DISPLAYS[family].name for spelling, family in _FAMILIES.items()}

_SPARE_STYLES: tuple[ModelStyle, ...] = (
    *((PURPLE, "h"), (GREEN, "<"), (GREY, ">"), (VERMILLION, "*"), (BLUE, "8")),
)


def family_of(model: str) -> str:
    """Return the family that a model's name begins with, else the name: ``LSTM (3)`` is an lstm."""
    name = model.lower().replace("-", "").replace(" ", "_")
    found = [spelling for spelling in _FAMILIES if name.startswith(spelling)]
    return _FAMILIES[max(found, key=len)] if found else model


def family_rank(model: str) -> int:
    """Return the place of a model's family in the order above; unknown families come last."""
    return [*FAMILY_DISPLAYS, family_of(model)].index(family_of(model))


def family_style(model: str, taken: Collection[ModelStyle] = ()) -> ModelStyle:
    """Return the colour and mark of a model: that of its family, unless another model has it.

    Other models get a spare style that is not ``taken``; their name decides with which one the
    choice begins.
    """
    family = family_of(model)
    if family in FAMILY_DISPLAYS and FAMILY_DISPLAYS[family].style not in taken:
        return FAMILY_DISPLAYS[family].style
    first = zlib.crc32(model.encode()) % len(_SPARE_STYLES)
    spares = [*_SPARE_STYLES[first:], *_SPARE_STYLES[:first]]
    return next((style for style in spares if style not in taken), spares[0])
