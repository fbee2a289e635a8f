"""Embedding of figures in a page, with shared letter outlines and styles.

matplotlib writes the outlines of letters into every figure and the style into every line. The
figures of a page share both, which reduces their size to about a third.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from xml.etree import ElementTree

from markupsafe import Markup, escape

from gardenpath.eval import display
from gardenpath.eval.report.figures import style

# Colours that are replaced by colours of the page, so that figures support dark mode.
PAGE_COLOURS = {
    display.SKY: "var(--sky)",
    display.BLUE: "var(--blue)",
    display.ORANGE: "var(--orange)",
    display.VERMILLION: "var(--vermillion)",
    display.GREEN: "var(--green)",
    display.PURPLE: "var(--purple)",
    display.GREY: "var(--grey)",
    style.INK: "var(--ink)",
    style.MUTED: "var(--muted)",
    style.GRID: "var(--grid)",
    style.BAND: "var(--band)",
    style.PAPER: "var(--paper)",
}

# Outlines of letters are scaled; markers of lines are not.
_LETTER_SCALE = "scale("
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_SHIFT = re.compile(r"translate\((-?[\d.]+) (-?[\d.]+)\)")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_LEFT_OUT = ("metadata", "style", "title")
# The page has its own background.
_BACKGROUND = f"fill: {style.PAPER}"


class InlineFigures:
    """Converts the figures of a page one by one and collects what they share."""

    def __init__(self) -> None:
        self._outlines: dict[tuple[str, str], str] = {}
        self._styles: dict[str, str] = {}
        self._count = 0

    def figure(self, svg: str, *, label: str) -> Markup:
        """Return a figure with unique ids, the page's colours, and a label for screen readers."""
        self._count += 1
        root = ElementTree.fromstring(svg)
        letters = {
            node.get("id", ""): self._outline(node.get("d", ""), node.get("transform", ""))
            for node in root.iter()
            if _is_letter(node)
        }
        width, height = root.get("viewBox", "0 0 640 320").split()[2:]
        attributes = {
            "role": "img",
            "aria-label": label,
            "viewBox": f"0 0 {width} {height}",
            # Figures shrink in narrow windows, down to a minimum width that is still readable.
            "style": f"--width:{float(width) * 4 / 3:.0f}px;--least:{float(width):.0f}px",
        }
        return _element("svg", attributes, (self._node(child, letters) for child in root))

    def outlines(self) -> Markup:
        """Return the letter outlines of all figures so far, which the page must contain."""
        paths = [
            _element("path", {"id": name, "d": d, "transform": transform})
            for (d, transform), name in self._outlines.items()
        ]
        hidden = {"width": "0", "height": "0", "aria-hidden": "true", "style": "position:absolute"}
        return _element("svg", hidden, [_element("defs", {}, paths)]) if paths else Markup("")

    def css(self) -> str:
        """Return the styles of all figures so far."""
        return "".join(f".{name}{{{rules}}}\n" for rules, name in self._styles.items())

    def _outline(self, d: str, transform: str) -> str:
        key = (re.sub(r"\s+", " ", d).strip(), transform)
        return self._outlines.setdefault(key, f"g{len(self._outlines)}")

    def _node(self, node: ElementTree.Element, letters: dict[str, str]) -> Markup:
        """Return an element and its content; groups without attributes are unwrapped."""
        name = node.tag.rpartition("}")[2]
        if name in _LEFT_OUT or _is_letter(node) or node.get("style") == _BACKGROUND:
            return Markup("")
        inside = [self._node(child, letters) for child in node]
        attributes = dict(self._attributes(name, node, letters))
        if name in ("g", "defs") and not (attributes and any(inside)):
            content = _joined(inside)
            return _element("defs", {}, [content]) if name == "defs" and content else content
        return _element(name, attributes, inside)

    def _attributes(
        self, name: str, node: ElementTree.Element, letters: dict[str, str]
    ) -> Iterator[tuple[str, str]]:
        for key, value in node.attrib.items():
            key = key.rpartition("}")[2]
            if key == "id":
                if name in ("path", "clipPath"):
                    yield "id", self._own(value)
            elif key == "href":
                target = value.removeprefix("#")
                yield "href", f"#{letters.get(target) or self._own(target)}"
            elif key == "style":
                yield "class", self._class(value)
            elif name == "use" and key == "transform" and (shift := _SHIFT.fullmatch(value)):
                # Outlines have large coordinates: one unit is a hundredth of a letter.
                yield "x", f"{float(shift[1]):.0f}"
                if float(shift[2]):
                    yield "y", f"{float(shift[2]):.0f}"
            else:
                value = _REFERENCE.sub(lambda found: f"url(#{self._own(found[1])})", value)
                yield key, _shortened(value)

    def _own(self, identifier: str) -> str:
        return f"f{self._count}-{identifier}"

    def _class(self, rules: str) -> str:
        for colour, variable in PAGE_COLOURS.items():
            rules = rules.replace(colour, variable)
        compact = re.sub(r"\s*([:;])\s*", r"\1", rules.strip())
        return self._styles.setdefault(compact, f"s{len(self._styles)}")


def _joined(parts: Iterable[Markup]) -> Markup:
    return Markup("").join(parts)


def _element(name: str, attributes: Mapping[str, str], inside: Iterable[Markup] = ()) -> Markup:
    """Return an element of a figure, self-closing if it has no content."""
    written = "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())
    content = _joined(inside)
    return Markup(f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>")


def _is_letter(node: ElementTree.Element) -> bool:
    return (
        node.tag.endswith("}path")
        and "id" in node.attrib
        and node.get("transform", "").startswith(_LETTER_SCALE)
    )


def _shortened(value: str) -> str:
    """Round coordinates to two decimals, which is visually lossless."""
    short = _LONG_NUMBER.sub(lambda found: _two_digits(float(found[0])), value)
    return re.sub(r"\s+", " ", short).strip()


def _two_digits(number: float) -> str:
    if abs(number) < 1:
        return f"{number:.4g}"
    return f"{number:.2f}".rstrip("0").rstrip(".")
