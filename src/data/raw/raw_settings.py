"""Settings of raw text: how files are read, and where sentences end."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gardenpath.data.words.unknown_words import Language

RawFormat = Literal["auto", "text", "sgml"]


@dataclass(frozen=True, kw_only=True)
class RawSettings:
    """How files of raw text are read; files that end in .gz are decompressed."""

    format: RawFormat = "auto"
    """Plain text, or SGML as in newswire; auto decides by the beginning of each file."""
    encoding: str = "auto"
    """Encoding of the files; auto is UTF-8 and, for Chinese, GB18030 in files that it fits better.
    """
    broken: Literal["skip", "replace", "error"] = "skip"
    """What to do with a line of bytes that are not text in the encoding: leave it out, replace the
    bytes by U+FFFD, or stop. Each is logged."""
    paragraphs: Literal["lines", "blank_lines"] = "lines"
    """What ends a paragraph of plain text: each line, or blank lines only, if lines are wrapped."""
    document_tag: str = "DOC"
    """SGML element of a document."""
    text_tags: Sequence[str] = ("TEXT", "BODY")
    """SGML elements that contain the text of a document; [] reads all that is not excluded."""
    paragraph_tags: Sequence[str] = ("P", "S", "SEG", "TURN", "BR")
    """SGML elements at which a paragraph begins and ends; a sentence never crosses them."""
    excluded_tags: Sequence[str] = (
        "HEADLINE", "DATELINE", "HEADER", "TRAILER", "FOOTER", "SLUG", "PREAMBLE", "POSTAMBLE",
        "HL", "DD", "SO", "DOCNO", "DOCID", "DOCTYPE", "DATE", "DATE_TIME", "TITLE", "AUTHOR",
        "KEYWORD", "ANNOTATION", "TABLE",
    )  # fmt: skip
    """SGML elements whose content is left out, also within the text."""

    def mistakes(self) -> list[str]:
        """Return a mistake if the encoding does not exist, or does not keep ends of lines."""
        if self.encoding == "auto":
            return []
        try:
            found = codecs.lookup(self.encoding)
            is_plain = b"a\n".decode(found.name) == "a\n"
        except (LookupError, UnicodeError):
            is_plain = False
        return [] if is_plain else [f"encoding={self.encoding} is not known, or not for text files"]

    def encodings(self, language: Language) -> tuple[str, ...]:
        """Return the encodings that files may have; the first is preferred."""
        if self.encoding != "auto":
            return (self.encoding,)
        return ("utf-8", "gb18030") if language == "zh" else ("utf-8",)


@dataclass(frozen=True, kw_only=True)
class SentenceSettings:
    """Where sentences end; a paragraph always ends one."""

    splitter: Literal["rules", "punkt", "lines"] = "rules"
    """Our own rules, NLTK's punkt for English (if its model is installed), or one sentence per
    paragraph."""
    chinese_ends: str = "。！？…!?"
    """Characters that end a Chinese sentence, with quotes and brackets that close after them; add
    the semicolon to divide there too."""

    def mistakes(self) -> list[str]:
        """Return a mistake if no character ends a sentence."""
        return [] if self.chinese_ends.strip() else ["chinese_ends has no character"]
