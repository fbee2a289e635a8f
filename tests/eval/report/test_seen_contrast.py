"""Contrast of everything that a browser shows: texts of the page, letters and marks of figures.

The contrast of WCAG depends on the luminance alone, so it is the same in greyscale print.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.eval.report.browser import Browser
from tests.eval.report.test_contrast import contrast

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
