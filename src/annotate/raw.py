"""Raw text: files and their lines, the passages in them, and where sentences end.

Called by `annotate.annotation`, and by the settings of the task, which begin here. Lines are
decoded one by one, so that damage stays local; SGML of newswire becomes plain passages, which
sentences never cross; and passages are divided into sentences by rules for English and Chinese,
which need no model and so are the same everywhere. What is left out is always reported, with its
line. Nothing here divides sentences into words.
"""

from __future__ import annotations

import codecs
import glob
import gzip
import html
import itertools
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, ClassVar, Literal, cast

from gardenpath.data.readers.base import FileRange, binary_kind
from gardenpath.data.trees.tree import is_tree
from gardenpath.data.words.vocabulary import Language
from gardenpath.errors import GardenpathError, InputError
from gardenpath.settings.schema import Fraction, PositiveInt

# ----------------------------------------------------------------------------
# Sentences of Chinese text.
#
# A sentence ends after one or more final marks, and quotes and brackets that close after them
# belong to it: ``他说：“好。”我走了。`` has two sentences. Marks inside of titles, 《…》, end none.


_CLOSING = frozenset("”’」』）》〉】〕］｝)]}»")
_STRAIGHT = '"'
_TITLE = re.compile("《[^《》]*》|〈[^〈〉]*〉")


def chinese_ends_of(text: str, ends: str) -> list[int]:
    """Return the positions after the sentences of a text, except that of its end."""
    marks = frozenset(ends)
    titles = {match.start(): match.end() for match in _TITLE.finditer(text)}
    positions: list[int] = []
    position, quotes = 0, 0
    last = len(text.rstrip())
    while position < last:
        if position in titles:
            position = titles[position]
            continue
        character = text[position]
        position += 1
        quotes += character == _STRAIGHT
        if character not in marks:
            continue
        while position < len(text) and text[position] in marks:
            position += 1
        position, quotes = _after_closing(text, position, quotes)
        if position < last:
            positions.append(position)
    return positions


def _after_closing(text: str, position: int, quotes: int) -> tuple[int, int]:
    """Return the position after closing quotes and brackets, and the number of straight quotes."""
    while position < len(text):
        # A straight quote closes if one is open or nothing follows directly.
        is_last = not text[position + 1 : position + 2].strip()
        if text[position] == _STRAIGHT and (quotes % 2 == 1 or is_last):
            quotes += 1
        elif text[position] not in _CLOSING:
            break
        position += 1
    return position, quotes


# ----------------------------------------------------------------------------
# Sentences of English text.
#
# A final mark (``.``, ``!``, ``?``, ``…``) with the quotes and brackets that close after it ends a
# sentence if a blank follows and then something that may begin one. A period does not if it
# belongs to an abbreviation, an initial or the number of a list.


# Never followed by a new sentence, because a name or a number follows.
_TITLES = """
mr mrs ms messrs mme mlle dr prof gen sen rep reps sens gov capt cmdr lt col sgt maj adm rev hon
pres supt det insp fr vs cf fig figs eq eqs sec ch vol no nos pp ed eds approx e.g i.e viz ca
"""
# Followed by a new sentence only if its first word is one that often begins sentences.
_SHORTENED = """
inc corp co cos ltd llc plc bros jr sr etc al a.m p.m u.s u.k u.n u.s.a u.s.s.r e.u d.c b.c a.d ph.d
m.d b.a m.a jan feb mar apr jun jul aug sept sep oct nov dec mon tue tues wed thu thurs fri st ave
blvd rd mt ft dept univ assn est op p n.y calif penn conn tex fla ariz ala ark colo kan mich minn
mont neb nev okla ore tenn wash wis wyo ext hr hrs lb lbs oz sq yd
"""
_FIRST_WORDS = """
the a an this that these those it he she they we you i there here in on at by for from with as if
when while after before since although though because but and or so yet however moreover meanwhile
then also his her its their our my your what who why how where which no not all some many most one
two another each every such even still now
"""
_BEFORE_NAMES = frozenset(_TITLES.split())
_AMBIGUOUS = frozenset(_SHORTENED.split())
_STARTERS = frozenset(_FIRST_WORDS.split())

_CLOSING_MARKS = "\"'”’»)\\]}"
_OPENING = "\"'“‘«([{`"
# A final mark with what closes after it, before a blank.
_CANDIDATE = re.compile(
    rf"(?<![.!?…])(?P<marks>[.!?…]++)(?P<closed>[{_CLOSING_MARKS}]*+)"
    r"(?:\s++(?:''|[”»)\]}]++)(?=\s|$))*+(?=\s)"
)
_NEXT = re.compile(rf"\s+(?P<opened>[{re.escape(_OPENING)}]*)(?P<word>\S*)")
_LAST_WORD = re.compile(r"\S*$")
_LONGEST_WORD = 100
_WORD = re.compile(r"\w+")
_LIST_NUMBER = re.compile(r"[(\[]?(?:\d{1,3}|[A-Za-z]|[ivxlIVXL]{1,5})")
_INITIAL = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")


def english_ends_of(text: str) -> list[int]:
    """Return the positions after the sentences of a text, except that of its end."""
    positions: list[int] = []
    begin = len(text) - len(text.lstrip())
    for match in _CANDIDATE.finditer(text):
        following = _NEXT.match(text, match.end())
        if following is None or not (following["opened"] or following["word"]):
            continue  # only blanks follow
        end = match.start()
        before = text[max(begin, end - _LONGEST_WORD) : end]
        # There is only one word, without blanks, from the beginning of the sentence.
        is_first = end - begin <= _LONGEST_WORD and not any(map(str.isspace, before))
        if _ends(before, match, following, is_first=is_first):
            positions.append(match.end())
            begin = following.start("opened")
    return positions


def _ends(before: str, mark: re.Match[str], following: re.Match[str], *, is_first: bool) -> bool:
    """Whether a sentence ends at a mark, by the word before it and what follows."""
    if following["word"][:1].islower() or not (following["word"] or following["opened"]):
        return False
    first = _WORD.match(following["word"])
    first_word = "" if first is None else first[0]
    if mark["marks"] != ".":
        is_ellipsis = mark["marks"].endswith(("…", ".."))
        return not (is_ellipsis and first_word in ("I", "i"))
    last = _LAST_WORD.search(before)
    word = ("" if last is None else last[0]).lstrip(_OPENING)
    if is_first and not mark["closed"] and _LIST_NUMBER.fullmatch(word):
        return False
    plain = word.lower()
    if mark["closed"] or not plain:
        return True
    if plain in _BEFORE_NAMES:
        return False
    is_uncertain = plain in _AMBIGUOUS or _INITIAL.fullmatch(word) is not None
    return not is_uncertain or first_word.lower() in _STARTERS


# ----------------------------------------------------------------------------
# Settings of raw text: how files are read, and where sentences end.


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
            is_plain = b"a\n".decode(codecs.lookup(self.encoding).name) == "a\n"
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


# ----------------------------------------------------------------------------
# Files of raw text and their lines, decoded line by line, so that damage stays local.


_HEAD = 64
_GZIP = b"\x1f\x8b"
# Longest line in bytes; longer ones are no text that anybody wrote.
LONGEST_LINE = 16_000_000
_MARKS = str.maketrans(dict.fromkeys(range(32), " ") | {127: " ", 0: None, 0xFEFF: None})


@dataclass(frozen=True, slots=True)
class RawLine:
    """A line of a file; ``problem`` says what is wrong with its bytes, or is empty."""

    number: int
    text: str
    problem: str = ""


def input_files(named: str | Sequence[str]) -> list[Path]:
    """Return the files that are named: files, patterns with ``*``, or folders with all below.

    They are sorted by name within a pattern or folder; a file that is named twice is read once.
    """
    files: dict[Path, None] = {}
    for name in [named] if isinstance(named, str) else named:
        paths = _matching(name)
        if not paths:
            raise GardenpathError(
                f"input={name}: no such file, and no folder or pattern with files; name files of "
                "raw text, as in input=news or 'input=news/*.sgm.gz'"
            )
        files |= dict.fromkeys(paths)
    return list(files)


def _matching(name: str) -> list[Path]:
    path = Path(name)
    if path.is_file():
        return [path]
    if path.is_dir():
        below = [file for file in path.rglob("*") if file.is_file()]
        return sorted(
            file
            for file in below
            if not any(part.startswith(".") for part in file.relative_to(path).parts)
        )
    # Not Path.glob, which takes no absolute patterns.
    matching = map(Path, glob.glob(name, recursive=True))  # noqa: PTH207
    return sorted(file for file in matching if file.is_file())


def chosen_encoding(path: Path, settings: RawSettings, language: Language) -> str:
    """Return the encoding in which most lines of a file can be decoded; the first if equal."""
    encodings = settings.encodings(language)
    if len(encodings) == 1:
        return encodings[0]
    failures = dict.fromkeys(encodings, 0)
    for _, line in _byte_lines(FileRange(path)):
        for encoding in encodings:
            try:
                line.decode(encoding)
            except UnicodeDecodeError:
                failures[encoding] += 1
    return min(encodings, key=failures.__getitem__)


def raw_lines(piece: FileRange, *, encoding: str, broken: str) -> Iterator[RawLine]:
    """Yield the lines of a file or of a part of it, without the marks of line ends.

    Control characters become blanks; NUL bytes and byte order marks are removed.
    """
    for number, content in _byte_lines(piece):
        try:
            yield RawLine(number, content.decode(encoding).translate(_MARKS))
        except UnicodeDecodeError as error:
            problem = f"not {encoding} at byte {error.start + 1}"
            if broken == "error":
                raise InputError(
                    problem,
                    path=piece.path,
                    line=number,
                    remedy="set task.raw.encoding, or task.raw.broken=skip or replace",
                ) from error
            text = content.decode(encoding, "replace") if broken == "replace" else ""
            yield RawLine(number, text.translate(_MARKS), problem)


def is_compressed(path: Path) -> bool:
    """Whether a file is compressed with gzip, whatever its name is."""
    try:
        with path.open("rb") as file:
            return file.read(len(_GZIP)) == _GZIP
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error


def _byte_lines(piece: FileRange) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers; lines end with LF, CR LF or CR."""
    number = piece.first_line
    with _opened(piece) as file:
        left = piece.size
        while left is None or left > 0:
            content = file.readline(LONGEST_LINE if left is None else min(LONGEST_LINE, left))
            if not content:
                return
            if left is not None:
                left -= len(content)
            for line in content.removesuffix(b"\n").removesuffix(b"\r").split(b"\r"):
                yield number, line
                number += 1


@contextmanager
def _opened(piece: FileRange) -> Iterator[IO[bytes]]:
    """Open a file at the beginning of a piece; damage of compressed files is an error of input."""
    path = piece.path
    try:
        if is_compressed(path):
            with gzip.open(path, "rb") as unpacked:
                yield cast(IO[bytes], unpacked)
        else:
            with path.open("rb") as file:
                file.seek(piece.begin)
                yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        remedy = "copy it again; test it with gzip -t"
        raise InputError(f"is damaged: {error}", path=path, remedy=remedy) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error


# ----------------------------------------------------------------------------
# Text of SGML newswire, as in the LDC's Xinhua and Gigaword corpora.
#
# Real files are not valid SGML: tags are not closed, ``<`` and ``&`` occur in text, and entities
# are undefined. So this is no parser of SGML. It looks for tags of the names in the settings, in
# any case; a tag that opens a document or a text closes whatever was open; other tags are removed.


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
class TextLine:
    """A line of text, or the end of a paragraph (``text`` is None).

    ``document`` is the number of this line if a document begins here.
    """

    line: int
    text: str | None = None
    document: int | None = None


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
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)


class _Reading:
    """What is open while a file is read."""

    def __init__(self, settings: RawSettings) -> None:
        self._document = settings.document_tag.upper()
        self._texts = {tag.upper() for tag in settings.text_tags}
        self._paragraphs = {tag.upper() for tag in settings.paragraph_tags}
        self._excluded = {tag.upper() for tag in settings.excluded_tags}
        self._in_text = not self._texts
        self._skipping: str | None = None

    def line(self, number: int, line: str) -> Iterator[TextLine]:
        """Yield what a line contains; a blank line within a text is yielded as it is."""
        line = without_comments(line)
        position = 0
        parts: list[str] = []
        has_tag = False
        for tag in _TAG.finditer(line):
            rest = (tag["rest"] or "").strip(" /")
            if rest and "=" not in rest and not self._is_boundary(tag["name"].upper()):
                continue  # a piece of text, as in ``x <y and z> w``
            parts.append(self._visible(line[position : tag.start()]))
            position = tag.end()
            has_tag = True
            name = (tag["name"] or "").upper()
            if self._is_boundary(name):
                yield from _text_of(number, parts)
                begins = name == self._document and not tag["close"]
                yield TextLine(number, None, number if begins else None)
                parts = []
                self._enter(name, is_close=bool(tag["close"]))
        parts.append(self._visible(line[position:]))
        if has_tag:
            yield from _text_of(number, parts)
        elif self._in_text and self._skipping is None:
            yield TextLine(number, resolve_entities(line))

    def _visible(self, text: str) -> str:
        return text if self._in_text and self._skipping is None else ""

    def _is_boundary(self, name: str) -> bool:
        return (
            name == self._document
            or name in self._texts
            or name in self._paragraphs
            or name in self._excluded
        )

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


def _text_of(number: int, parts: Sequence[str]) -> Iterator[TextLine]:
    text = "".join(parts)
    if text.strip():
        yield TextLine(number, resolve_entities(text))


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


# ----------------------------------------------------------------------------
# Passages: paragraphs of raw files, which sentences never cross, and what was left out.


# Lines of a file by which its format is decided.
_LOOKED_AT = 50

_IDEOGRAPHIC_SPACE = "\u3000"


@dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph: its lines with their numbers, and the line on which its document begins."""

    lines: tuple[tuple[int, str], ...]
    document: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that was left out: the line, the reason, and more about it."""

    line: int
    reason: str
    detail: str = ""


def format_of(path: Path, settings: RawSettings, encoding: str) -> str:
    """Return whether a file is ``text`` or ``sgml``; raise an error if it is no raw text."""
    with _opened(FileRange(path)) as file:
        binary = binary_kind(file.read(_HEAD), path)
    if binary is not None and binary[0] != "binary data":  # a NUL byte occurs in real newswire
        raise InputError(f"is {binary[0]}, not text", path=path, remedy=binary[1])
    lines = raw_lines(FileRange(path), encoding=encoding, broken="replace")
    head = [line.text for line in itertools.islice(lines, _LOOKED_AT)]
    if is_tree("\n".join(head)):
        raise InputError(
            "contains bracketed trees, not raw text", path=path, remedy="read it with data=brackets"
        )
    if settings.format != "auto":
        return settings.format
    first = next((line for line in head if line.strip()), "")
    return "sgml" if _FIRST_TAG.match(first) else "text"


def read_passages(
    piece: FileRange, settings: RawSettings, *, encoding: str, format: str
) -> Iterator[Passage | LeftOut]:
    """Yield the passages of a file or of a part of it, and what was left out."""
    problems: list[LeftOut] = []

    def noted() -> Iterator[tuple[int, str]]:
        for line in raw_lines(piece, encoding=encoding, broken=settings.broken):
            if line.problem:
                done = "replaced" if settings.broken == "replace" else "line left out"
                problems.append(LeftOut(line.number, "broken bytes", f"{line.problem}; {done}"))
            yield line.number, line.text

    if format != "sgml":
        yield from _passages(_plain_lines(noted(), settings), problems, None)
    else:
        has_text = False
        reading = _Reading(settings)
        # Without tags, and with entities resolved.
        texts = (reading.line(*line) for line in _with_whole_tags(noted()))
        for passage in _passages(itertools.chain.from_iterable(texts), problems, 1):
            has_text = has_text or isinstance(passage, Passage)
            yield passage
        if not has_text:
            tags = ", ".join(f"<{tag}>" for tag in settings.text_tags) or "tags"
            yield LeftOut(1, "no text", f"nothing in {tags}; set task.raw.text_tags")
    yield from problems


def _plain_lines(lines: Iterable[tuple[int, str]], settings: RawSettings) -> Iterator[TextLine]:
    for number, text in lines:
        yield TextLine(number, text)
        if settings.paragraphs == "lines":
            yield TextLine(number)


def _passages(
    lines: Iterable[TextLine], problems: list[LeftOut], document: int | None
) -> Iterator[Passage | LeftOut]:
    """Gather lines; yield problems in the order of their lines, and forget them.

    Without documents, each passage is one.
    """
    gathered: list[tuple[int, str]] = []
    for line in itertools.chain(lines, [None]):
        text = (line and line.text) or ""
        # A full-width blank begins a Chinese paragraph.
        if gathered and (not text.strip() or text.startswith(_IDEOGRAPHIC_SPACE)):
            yield Passage(tuple(gathered), document or gathered[0][0])
            gathered = []
        if line is None:
            return
        if line.document is not None:
            document = line.document
        if text.strip():
            gathered.append((line.line, text))
        yield from problems
        problems.clear()


# ----------------------------------------------------------------------------
# Divide passages into sentences, each with the line on which it begins.


# From a text to the positions after its sentences, except that of its end.
_Ends = Callable[[str], list[int]]

_PUNKT = "tokenizers/punkt_tab/english/"
_LATIN = re.compile(r"[\w.,;:!?%)\]'\"-]", re.ASCII)


def passage_sentences(
    passage: Passage, *, language: Language, settings: SentenceSettings
) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a passage with the numbers of the lines on which they begin."""
    text, starts = _joined(passage, language)
    numbers = [number for number, _ in passage.lines]
    line = 0
    ends = _ends_of(language, settings)(text)
    for begin, end in itertools.pairwise([0, *ends, len(text)]):
        if not text[begin:end].strip():
            continue
        begin += len(text[begin:end]) - len(text[begin:end].lstrip())
        while line + 1 < len(starts) and starts[line + 1] <= begin:
            line += 1
        yield numbers[line], text[begin:end].rstrip()


def splitter_problem(language: Language, settings: SentenceSettings) -> str:
    """Return why a splitter cannot be used; empty if it can."""
    if settings.splitter != "punkt":
        return ""
    if language != "en":
        return "splitter=punkt is for English; use splitter=rules"
    import nltk

    try:
        nltk.data.find(_PUNKT)
    except LookupError:
        return (
            "splitter=punkt needs its model: python -m nltk.downloader punkt_tab; or use "
            "splitter=rules, which needs none"
        )
    return ""


@cache
def _ends_of(language: Language, settings: SentenceSettings) -> _Ends:
    if settings.splitter == "lines":
        return lambda text: []
    if settings.splitter == "punkt":
        if problem := splitter_problem(language, settings):
            raise GardenpathError(problem)
        from nltk.tokenize.punkt import PunktTokenizer

        tokeniser = PunktTokenizer("english")
        return lambda text: [end for _, end in tokeniser.span_tokenize(text)][:-1]
    if language == "zh":
        return lambda text: chinese_ends_of(text, settings.chinese_ends)
    return english_ends_of


def _joined(passage: Passage, language: Language) -> tuple[str, list[int]]:
    """Join the lines of a passage; return the text and where each line begins in it.

    Chinese lines are joined without a blank, unless both sides are Latin.
    """
    text = ""
    starts = []
    for _, line in passage.lines:
        content = line.strip()
        is_latin = bool(text and _LATIN.match(text[-1]) and _LATIN.match(content[:1]))
        if text and (language != "zh" or is_latin):
            text += " "
        starts.append(len(text))
        text += content
    return text, starts


# ----------------------------------------------------------------------------
# The settings of task=annotate.


@dataclass(frozen=True, kw_only=True)
class AnnotateTask:
    """Raw text to sentences, words and trees: files that data=brackets or data=text reads."""

    REMEDIES: ClassVar[Mapping[str, str]] = {
        "input": "files of raw text, as in input=news or 'input=[a.txt,news/*.sgm.gz]'"
    }
    OUTPUT_REMEDY: ClassVar[str] = "name the folder of the corpus, as in corpora/mine"
    SEGMENTERS: ClassVar[Mapping[Language, str]] = {"en": "nltk", "zh": "spacy"}

    name: Literal["annotate"] = "annotate"
    input: str | Sequence[str]
    """Files of raw text, patterns with *, or folders; several as [A,B]."""
    language: Language | None = None
    """Language of the text; null takes that of the run in parser=."""
    segmenter: str | None = None
    """How text is divided into words: whitespace, nltk, jieba, characters, spacy:MODEL or
    pkuseg:MODEL; null is nltk for English and spacy for Chinese (as in Wang et al. 2021)."""
    parser: str | None = None
    """What finds trees: the folder of a run of a syntactic model, benepar, stanza, or none for text
    without trees; null is benepar (as in Wang et al. 2021)."""
    quotes: Literal["keep", "treebank"] = "keep"
    """Whether double quotes stay as they are or are written as in the Penn Treebank."""
    max_tokens: PositiveInt | None = 100
    """Maximum number of words of a sentence; longer ones are left out. null keeps all."""
    deduplicate: bool = True
    """Whether to write each sequence of words once."""
    valid: Fraction = 0.0
    """Share of the documents (paragraphs of plain text) that go to valid.txt."""
    test: Fraction = 0.0
    """Share of the documents (paragraphs of plain text) that go to test.txt."""
    raw: RawSettings = RawSettings()
    """How files are read."""
    sentences: SentenceSettings = SentenceSettings()
    """Where sentences end."""
    processes: PositiveInt | None = None
    """Number of processes, of one thread each; null uses all cores. The result is the same."""
    allow_unknown: bool = False
    """Whether to parse text of which the run in parser= does not know most words."""

    def segmenter_for(self, language: Language) -> str:
        """Return the name of the segmenter for a language."""
        return self.segmenter or self.SEGMENTERS[language]

    def mistakes(self) -> list[str]:
        """Return a mistake if no text is left for training."""
        return ["valid and test leave nothing to train.txt"] if self.valid + self.test >= 1 else []
