"""Display of models: names of families in text, the order of models, colours and markers.

Colours have the hues of the colour-blind safe palette of Okabe and Ito, darkened to a contrast of
at least 3:1 with white; families differ in marker as well as in colour, for print without colours.
Each sequential model shares a hue with its syntactic counterpart: lstm and rnng are blue,
transformer and plm are orange and red. A family that is not listed here is shown under its own
name, after the listed ones, in a colour that depends only on its name.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass

SKY, BLUE, ORANGE, VERMILLION = "#2a8fc7", "#005a8e", "#b87a00", "#b84400"
GREEN, PURPLE, GREY = "#00795a", "#b0558a", "#767676"

# The model that generated a corpus: a yardstick, not a subject.
EXACT = "exact grammar"

# A colour and a matplotlib marker.
ModelStyle = tuple[str, str]


@dataclass(frozen=True, slots=True)
class FamilyDisplay:
    """Name of a family in text and its style in figures; ``aliases`` are other spellings."""

    name: str
    style: ModelStyle
    aliases: tuple[str, ...] = ()


# In the order of tables and figures, from simple to syntactic models.
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
# For sweeps, which show many models of a family; no family has these markers.
_MORE_STYLES: tuple[ModelStyle, ...] = tuple(
    (colour, marker)
    for marker in ("d", "H", "D", "1", "2", "3")
    for colour in (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, GREY)
)


def family_of(model: str) -> str:
    """Return the family that a model's name starts with (``LSTM (3)``: lstm), else the name."""
    name = model.lower().replace("-", "").replace(" ", "_")
    found = [spelling for spelling in _FAMILIES if name.startswith(spelling)]
    return _FAMILIES[max(found, key=len)] if found else model


def family_rank(model: str) -> int:
    """Return the rank of a model's family in ``FAMILY_DISPLAYS``; unknown families come last."""
    return [*FAMILY_DISPLAYS, family_of(model)].index(family_of(model))


def models_in_order(models: Iterable[str]) -> list[str]:
    """Return distinct models: known families in order, others, then the exact grammar."""
    return sorted(dict.fromkeys(models), key=lambda model: (model == EXACT, family_rank(model)))


def family_style(model: str, taken: Collection[ModelStyle] = ()) -> ModelStyle:
    """Return the colour and marker of a model: those of its family unless they are ``taken``.

    Otherwise, return the first spare style that is not ``taken``, starting from one that depends
    on the model's name. Styles repeat only if there are dozens of models.
    """
    family = family_of(model)
    if family in FAMILY_DISPLAYS and FAMILY_DISPLAYS[family].style not in taken:
        return FAMILY_DISPLAYS[family].style
    first = zlib.crc32(model.encode()) % len(_SPARE_STYLES)
    spares = [*_SPARE_STYLES[first:], *_SPARE_STYLES[:first]]
    styles = (*spares, *_MORE_STYLES)
    return next((style for style in styles if style not in taken), spares[0])
