"""Text has a contrast of at least 4.5:1 and marks of at least 3:1, in light, dark and print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gardenpath.eval import display
from gardenpath.eval.report.figures import style
from gardenpath.eval.report.figures import style as fonts
from gardenpath.eval.report.figures.all import PAGE_COLOURS
from tests.eval.report.browser import Browser

CSS = (fonts.ASSETS / "report.css").read_text(encoding="utf-8")
SCHEMES = ("light", "dark", "print")
MARKS = ("sky", "blue", "orange", "vermillion", "green", "purple", "grey", "ink", "muted", "mark")
# Colours of text: of the page, of verdicts, and of the words of a figure (style.SERIES).
TEXTS = ("ink", "muted", "accent", "mark", "vermillion", "green", "blue", "purple", "grey")
STRONGEST_CELL = 0.62  # cells.js


def _variables(start: str) -> dict[str, str]:
    """The variables of the first block of :root after a text of the style sheet."""
    block = CSS[CSS.index(start) :]
    block = block[block.index(":root {") : block.index("}")]
    return dict(re.findall(r"--([\w-]+): ([^;]+);", block))


def _scheme(name: str) -> dict[str, str]:
    own = {"light": ":root {", "dark": "prefers-color-scheme: dark", "print": "@media print"}
    return _variables(":root {") | _variables(own[name])


def _parts(colour: str) -> tuple[float, float, float]:
    if not colour.startswith("#"):
        red, green, blue = map(float, colour.split(","))
        return red, green, blue
    digits = colour[1:] if len(colour) == 7 else "".join(2 * one for one in colour[1:])
    red, green, blue = (float(int(digits[at : at + 2], 16)) for at in (0, 2, 4))
    return red, green, blue


def luminance(parts: tuple[float, float, float]) -> float:
    """Relative luminance as WCAG 2 defines it, of parts from 0 to 255."""
    scaled = [part / 255 for part in parts]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in scaled]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: tuple[float, float, float], other: tuple[float, float, float]) -> float:
    """The contrast of two colours, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_measure_is_that_of_wcag() -> None:
    assert contrast(_parts("#000"), _parts("#ffffff")) == pytest.approx(21.0)
    assert contrast(_parts("#e69f00"), _parts("#fff")) == pytest.approx(2.25, abs=0.01)
    assert contrast(_parts("#767676"), _parts("#fff")) == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("text", TEXTS)
def test_text_can_be_read(scheme: str, text: str) -> None:
    colours = _scheme(scheme)
    assert contrast(_parts(colours[text]), _parts(colours["paper"])) >= 4.5


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("text", ["ink", "muted", "accent"])
def test_text_outside_of_chapters_can_be_read(scheme: str, text: str) -> None:
    colours = _scheme(scheme)
    assert contrast(_parts(colours[text]), _parts(colours["page"])) >= 4.5


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("ground", ["paper", "band"])
def test_marks_can_be_seen(scheme: str, mark: str, ground: str) -> None:
    colours = _scheme(scheme)
    assert contrast(_parts(colours[mark]), _parts(colours[ground])) >= 3.0


@pytest.mark.parametrize("scheme", SCHEMES)
def test_words_can_be_read_in_the_strongest_cell(scheme: str) -> None:
    colours = _scheme(scheme)
    heat, paper = _parts(colours["heat"]), _parts(colours["paper"])
    red, green, blue = (
        STRONGEST_CELL * hot + (1 - STRONGEST_CELL) * cold
        for hot, cold in zip(heat, paper, strict=True)
    )
    assert contrast(_parts(colours["ink"]), (red, green, blue)) >= 4.5
    cells = (fonts.ASSETS / "cells.js").read_text(encoding="utf-8")
    assert f"STRONGEST = {STRONGEST_CELL};" in cells


def test_files_of_figures_have_the_colours_of_the_light_page() -> None:
    light = _scheme("light")
    assert len(PAGE_COLOURS) == 12
    for colour, variable in PAGE_COLOURS.items():
        assert light[variable.removeprefix("var(--").removesuffix(")")] == colour


def test_series_of_figures_and_of_the_explorer_are_the_same() -> None:
    light = _scheme("light")
    names = [light[f"series-{number}"] for number in range(len(style.SERIES))]
    assert [PAGE_COLOURS[colour] for colour in style.SERIES] == names
    assert f"series-{len(style.SERIES)}" not in light
    chart = (fonts.ASSETS / "chart.js").read_text(encoding="utf-8")
    assert f"number % {len(style.SERIES)}" in chart


def test_print_without_colours_tells_models_and_series_apart() -> None:
    marks = [shown.style[1] for shown in display.FAMILY_DISPLAYS.values()]
    assert len(set(marks)) == len(marks)
    # A sequential model and its syntactic counterpart have the same hue, so they differ in grey.
    for plain, syntactic in ((display.SKY, display.BLUE), (display.ORANGE, display.VERMILLION)):
        assert contrast(_parts(plain), _parts(syntactic)) > 1.4
    assert len(set(map(str, style.DASHES))) == len(style.DASHES) >= 4


# ----------------------------------------------------------------------------
# Contrast of everything that a browser shows: texts of the page, letters and marks of figures.
#
# The contrast of WCAG depends on the luminance alone, so it is the same in greyscale print.


# Colours that carry no information: lines of the grid, shading behind the critical region, paper.
DECORATION = ("--grid", "--band", "--paper", "--page", "--line")

SEEN = (Path(__file__).parent / "seen.js").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_all_that_is_seen_has_contrast(shown: Browser, report: Path, scheme: str) -> None:
    shown.open(report, dark=scheme == "dark")
    shown.run("(() => { for (const d of document.querySelectorAll('details')) d.open = true; })()")
    if scheme == "print":
        shown.page.emulate_media(media="print", color_scheme="light")
    found, plain = shown.page.evaluate(SEEN, list(DECORATION))
    shown.page.emulate_media(media="screen")
    counts = {kind: sum(one[0] == kind for one in found) for kind in ("text", "mark")}
    assert counts["text"] >= 10 and counts["mark"] >= 8, counts
    faint = []
    for kind, front, back, colour, sample in found:
        if kind == "mark" and colour in plain:
            continue
        reached = contrast(tuple(front), tuple(back))
        if reached < (4.5 if kind == "text" else 3.0):
            faint.append(f"{kind} {sample!r}: {reached:.2f} ({front} on {back})")
    assert not faint, "\n".join(faint)
