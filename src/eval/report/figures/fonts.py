"""Fonts for figures, which cover Chinese characters.

Each character is taken from the first font that has it: matplotlib's DejaVu Sans, then the bundled
Han characters (GB 2312, from Noto Sans CJK SC), then system fonts for rarer characters. The first
two are always available, so figures look the same on all systems. A character that no font has is
drawn as the geta mark, the typographical symbol for a missing character.
"""

from __future__ import annotations

import base64
import io
from functools import cache
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont
from matplotlib import font_manager

ASSETS = Path(__file__).parents[1] / "page" / "assets"
BUNDLED = ASSETS / "GardenpathHan-Regular.otf"
BUNDLED_NAME = "Gardenpath Han"
LATIN_NAME = "DejaVu Sans"
MISSING_GLYPH = "〓"

# Families with Han characters on common systems, the most complete first.
SYSTEM_FAMILIES = (
    "Noto Sans CJK SC",
    "Noto Sans CJK TC",
    "Noto Sans CJK JP",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "PingFang SC",
    "Hiragino Sans GB",
    "Microsoft YaHei",
    "SimHei",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "Arial Unicode MS",
)


@cache
def bundled_families() -> tuple[str, ...]:
    """Return the bundled font families; the Han family is registered with matplotlib."""
    manager = font_manager.fontManager
    if BUNDLED_NAME not in {font.name for font in manager.ttflist}:
        manager.addfont(BUNDLED)
    return (LATIN_NAME, BUNDLED_NAME)


@cache
def families() -> tuple[str, ...]:
    """Return all font families that figures use, in order."""
    own = bundled_families()
    known = {font.name for font in font_manager.fontManager.ttflist}
    return (*own, *(name for name in SYSTEM_FAMILIES if name in known))


@cache
def _characters(names: tuple[str, ...]) -> frozenset[int]:
    """Return the code points that the given families cover."""
    points: set[int] = set()
    for name in names:
        path = font_manager.findfont(name, fallback_to_default=False)
        points.update(font_manager.get_font(str(path)).get_charmap())
    return frozenset(points)


def is_bundled(text: str) -> bool:
    """Whether the bundled fonts have every character."""
    known = _characters(bundled_families())
    return all(ord(letter) in known or letter == "\n" for letter in text)


def drawable(text: object) -> str:
    """Return the text with every character that no font has replaced by the geta mark."""
    written = str(text)
    if is_bundled(written):
        return written
    known = _characters(families())
    return "".join(
        letter if ord(letter) in known or letter == "\n" else MISSING_GLYPH for letter in written
    )


def embedded(text: str) -> str:
    """Return the bundled Han characters of a text as a ``data:`` URL; empty if it has none.

    Most systems have better Chinese fonts; the embedded font is only a fallback.
    """
    font = TTFont(BUNDLED, recalcTimestamp=False, recalcBBoxes=False)
    wanted = {ord(letter) for letter in set(text)} & set(font.getBestCmap())
    wanted = {point for point in wanted if point >= 0x2E80}
    if not wanted:
        return ""
    options = subset.Options()
    options.layout_features = []
    # Every subset of the font keeps the copyright notice and the licence.
    options.name_IDs = [0, 1, 2, 4, 6, 13, 14]
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=wanted)
    subsetter.subset(font)
    content = io.BytesIO()
    font.save(content)
    return "data:font/otf;base64," + base64.b64encode(content.getvalue()).decode("ascii")
