"""Text of SGML newswire, as in the LDC's Xinhua and Gigaword corpora.

Real files are not valid SGML: tags are not closed, ``<`` and ``&`` occur in text, and entities are
undefined. So this is no parser of SGML. It looks for tags of the names in the settings, in any
case; a tag that opens a document or a text closes whatever was open; other tags are removed.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gardenpath.data.raw.raw_settings import RawSettings

# A declaration or a tag. No two parts match the same characters.
_TAG = re.compile(
    r"<[!?][^<>]*>|<(?P<close>/?)(?P<name>[A-Za-z][\w.:-]*)(?P<rest>(?:[\s/][^<>]*)?)>"
)
# The beginning of a tag that ends on a following line.
_OPEN_END = re.compile(r"<[/!?]?[A-Za-z][^<>]*$")
_MOST_LINES_OF_A_TAG = 5
_MOST_CHARACTERS_OF_A_TAG = 2000

_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_FIRST_TAG = re.compile(r"\s*<(?:[A-Za-z][\w.:-]*[^<>]*>?|!DOCTYPE|!--|\?xml)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SgmlLine:
    """A line of text, or the end of a paragraph (``text`` is None).

    ``document`` is the number of this line if a document begins here.
    """

    line: int
    text: str | None = None
    document: int | None = None


def is_sgml(lines: Sequence[str]) -> bool:
    """Whether the first line with content begins with a tag."""
    first = next((line for line in lines if line.strip()), "")
    return _FIRST_TAG.match(first) is not None


def sgml_lines(lines: Iterable[tuple[int, str]], settings: RawSettings) -> Iterator[SgmlLine]:
    """Yield the lines of the texts of a file, without tags and with entities resolved."""
    reading = _Reading(settings)
    for number, line in _with_whole_tags(lines):
        yield from reading.line(number, without_comments(line))


def without_comments(line: str) -> str:
    """Remove the comments that begin and end on a line."""
    kept = []
    position = 0
    while (begin := line.find("<!--", position)) >= 0 and (end := line.find("-->", begin)) >= 0:
        kept.append(line[position:begin])
        position = end + len("-->")
    return "".join(kept) + line[position:]


def resolve_entities(text: str) -> str:
    """Replace ``&amp;`` and the like by their characters; unknown entities stay as they are."""
    return _ENTITY.sub(lambda found: html.unescape(found[0]), text)


class _Reading:
    """What is open while a file is read."""

    def __init__(self, settings: RawSettings) -> None:
        self._document = settings.document_tag.upper()
        self._texts = {tag.upper() for tag in settings.text_tags}
        self._paragraphs = {tag.upper() for tag in settings.paragraph_tags}
        self._excluded = {tag.upper() for tag in settings.excluded_tags}
        self._in_text = not self._texts
        self._skipping: str | None = None

    def line(self, number: int, line: str) -> Iterator[SgmlLine]:
        """Yield what a line contains; a blank line within a text is yielded as it is."""
        position = 0
        parts: list[str] = []
        has_tag = False
        for tag in filter(self._is_tag, _TAG.finditer(line)):
            parts.append(self._visible(line[position : tag.start()]))
            position = tag.end()
            has_tag = True
            name = (tag["name"] or "").upper()
            if self._is_boundary(name):
                yield from _text_of(number, parts)
                yield SgmlLine(number, None, number if self._begins_document(tag, name) else None)
                parts = []
                self._enter(name, is_close=bool(tag["close"]))
        parts.append(self._visible(line[position:]))
        if has_tag:
            yield from _text_of(number, parts)
        elif self._in_text and self._skipping is None:
            yield SgmlLine(number, resolve_entities(line))

    def _is_tag(self, found: re.Match[str]) -> bool:
        """Whether this is a tag and not a piece of text, as in ``x <y and z> w``."""
        rest = (found["rest"] or "").strip(" /")
        return not rest or "=" in rest or self._is_boundary(found["name"].upper())

    def _visible(self, text: str) -> str:
        return text if self._in_text and self._skipping is None else ""

    def _is_boundary(self, name: str) -> bool:
        return (
            name == self._document
            or name in self._texts
            or name in self._paragraphs
            or name in self._excluded
        )

    def _begins_document(self, tag: re.Match[str], name: str) -> bool:
        return name == self._document and not tag["close"]

    def _enter(self, name: str, *, is_close: bool) -> None:
        """Change what is open at a tag."""
        if name == self._document:
            self._in_text, self._skipping = not self._texts, None
        elif name in self._texts:
            self._in_text, self._skipping = not is_close, None
        elif name in self._excluded:
            if not is_close:
                self._skipping = name
            elif self._skipping == name:
                self._skipping = None
        elif self._texts and self._in_text and not is_close:
            # A paragraph of the text ends an excluded element that was never closed.
            self._skipping = None


def _text_of(number: int, parts: Sequence[str]) -> Iterator[SgmlLine]:
    text = "".join(parts)
    if text.strip():
        yield SgmlLine(number, resolve_entities(text))


def _with_whole_tags(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Join lines as long as a tag is open at their end, within limits.

    If the tag is not closed within them, its lines are text and are yielded one by one.
    """
    waiting: list[tuple[int, str]] = []
    for number, line in lines:
        waiting.append((number, line))
        joined = " ".join(text for _, text in waiting)
        if not _OPEN_END.search(joined[-_MOST_CHARACTERS_OF_A_TAG:]):
            yield waiting[0][0], joined
            waiting = []
        elif len(waiting) >= _MOST_LINES_OF_A_TAG or len(joined) > _MOST_CHARACTERS_OF_A_TAG:
            yield from waiting
            waiting = []
    yield from waiting
