"""What all readers of corpora need: their interface, parts of files, checks of text, hashes.

Used by `readers.files` and `readers.treebanks`, by the preparation, and wherever text of users is
checked (kinds of files, sentences). Hashes of unchanged files are remembered, large files are cut
into parts that processes read on their own, and files that are not what they should be are refused
with their kind and a remedy. Settings import this module, so it must load neither NumPy nor torch.
"""

from __future__ import annotations

import abc
import codecs
import contextlib
import csv
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from pathlib import Path
from typing import IO, Any, ClassVar, Literal, Protocol, TypeVar, runtime_checkable

from gardenpath.data.sentence import SPLITS, Sentence, Split
from gardenpath.data.trees.tree import format_tree
from gardenpath.errors import ConfigError, InputError
from gardenpath.safe_text import how_to_convert, marked_encoding, parse_json, zeros_encoding
from gardenpath.store.files import Json, fingerprint, sha256_of, whole_file, write_text

# ----------------------------------------------------------------------------
# Remembered hashes of files, so that an unchanged corpus is not read at every start.
#
# A hash is remembered together with the file's size, inode and times of modification and of
# change. If any of these differs, the file is read again. A file that was modified in the last two
# seconds is not remembered, because it could be modified again without a visible change of time.


HASHES_FILE = ".hashes.json"

# Age from which on a time of modification is trusted, in nanoseconds; the coarsest file systems
# (FAT) store times in units of two seconds.
_LEAST_AGE = 2_000_000_000


@contextmanager
def remembered_hashes(folder: Path) -> Iterator[None]:
    """Use the hashes remembered in a cache folder while the block runs, and add new ones."""
    memory = _HashMemory(folder / HASHES_FILE)
    token = _current.set(memory)
    try:
        yield
    finally:
        _current.reset(token)
        memory.save()


def content_hash(path: Path) -> str:
    """Return the SHA-256 of a file; it is not read if its hash is remembered."""
    return known_hash(path, "sha256", lambda: sha256_of(path))


def known_hash(path: Path, kind: str, compute: Callable[[], str]) -> str:
    """Return a hash of a file, of some kind; ``compute`` is called if it is not remembered."""
    memory = _current.get()
    return compute() if memory is None else memory.value(path, kind, compute)


class _HashMemory:
    """Hashes by path and kind, with what they were valid for, in a JSON file.

    If two processes write the file at once, hashes of one may be lost; they are computed again.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = self._load()
        self._new: dict[str, list[Any]] = {}

    def value(self, path: Path, kind: str, compute: Callable[[], str]) -> str:
        name = f"{kind}: {path.resolve()}"
        before = _signature(path)  # None if the file cannot be found
        match self._known.get(name):
            case [list(seen), str(value)] if before is not None and seen == before:
                return value
        begin = time.time_ns()
        value = compute()
        is_same = before == _signature(path)
        if before is not None and is_same and max(before[1:3]) < begin - _LEAST_AGE:
            self._known[name] = self._new[name] = [before, value]
        return value

    def save(self) -> None:
        """Add new hashes to the file; a folder that cannot be written is no reason to stop."""
        if self._new:
            content = {**self._load(), **self._new}
            with contextlib.suppress(OSError):
                write_text(self._path, json.dumps(content, indent=0) + "\n")

    def _load(self) -> dict[str, Any]:
        try:
            content = parse_json(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}


_current: ContextVar[_HashMemory | None] = ContextVar("remembered hashes", default=None)


def _signature(path: Path) -> list[int] | None:
    """Return size, times and inode: what changes whenever a file is written or replaced."""
    try:
        status = path.stat()
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


# ----------------------------------------------------------------------------
# Pieces of corpora that can be read on their own: files, or parts of large files.
#
# A large file is cut at ends of lines; files of brackets only where no bracket is open. The cuts
# depend on the file alone, and the sentences of the pieces are those of the file, with the same
# line numbers.


# Size of the pieces of large files, in bytes.
PIECE_BYTES = 2_000_000

# In these encodings, the bytes of line ends and brackets have no other meaning.
_PLAIN = {"utf-8", "ascii", "iso8859-1", "gb2312", "gbk", "gb18030", "big5"}


@dataclass(frozen=True, slots=True)
class FileRange:
    """A file or, if ``size`` is given, the bytes of a file from ``begin`` on."""

    path: Path
    begin: int = 0
    size: int | None = None
    first_line: int = 1

    @property
    def part(self) -> tuple[int, int] | None:
        """The position and size of a part of a file; None for a whole file."""
        return None if self.size is None else (self.begin, self.size)

    @property
    def byte_count(self) -> int:
        """Number of bytes."""
        return self.path.stat().st_size if self.size is None else self.size


def cut_file(path: Path, *, encoding: str, is_bracketed: bool) -> Iterator[FileRange]:
    """Yield the pieces of a file, in order; a small file is one piece."""
    if path.stat().st_size <= PIECE_BYTES or not _is_plain(encoding):
        yield FileRange(path)
        return
    begin, line = 0, 1
    try:
        with path.open("rb") as file:
            while (counts := _next_piece(file, is_bracketed))[0]:
                size, lines = counts
                yield FileRange(path, begin, size, line)
                begin += size
                line += lines
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error


def _next_piece(file: IO[bytes], is_bracketed: bool) -> tuple[int, int]:
    """Read up to the next cut; return the numbers of bytes and of ends of lines."""
    size = lines = depth = 0
    content = file.read(PIECE_BYTES) + file.readline()
    while content:
        size += len(content)
        # As Python counts them when it reads text: LF, CR LF or CR.
        lines += content.count(b"\n") + content.count(b"\r") - content.count(b"\r\n")
        depth += content.count(b"(") - content.count(b")")
        # A file with too many closing brackets is not cut after them, so its error is the same.
        content = file.readline() if is_bracketed and depth != 0 else b""
    return size, lines


def _is_plain(encoding: str) -> bool:
    try:
        return codecs.lookup(encoding).name in _PLAIN
    except LookupError:
        return False


Part = TypeVar("Part")


def in_groups(parts: Iterable[Part], size: Callable[[Part], int]) -> list[list[Part]]:
    """Gather parts of files, in order, for processes that read them: large ones stay alone."""
    groups: list[list[Part]] = []
    room = 0
    for part in parts:
        if not groups or size(part) > room:
            groups.append([])
            room = PIECE_BYTES
        groups[-1].append(part)
        room -= size(part)
    return groups


# ----------------------------------------------------------------------------
# The interface of corpus readers, and helpers shared by several of them.


class Reader(Protocol):
    """A corpus: three splits of sentences with their sources."""

    @property
    def has_trees(self) -> bool:
        """Whether sentences come with trees."""

    def read(self, split: str) -> Iterator[Sentence]:
        """Yield the sentences of ``train``, ``valid`` or ``test``, not yet cleaned."""

    def fingerprint(self, splits: Sequence[str] = SPLITS) -> str:
        """Return a hash that changes whenever the sentences of these splits may change.

        Other splits need not exist.
        """


class FileReader(abc.ABC):
    """Base class of readers of files of trees or text, each of which can be read on its own."""

    has_trees: ClassVar[bool] = True

    def read(self, split: str) -> Iterator[Sentence]:
        for path in self._files(split):
            yield from self.read_piece(FileRange(path))

    def pieces(self, split: str) -> list[FileRange]:
        return [FileRange(path) for path in self._files(split)]

    @abc.abstractmethod
    def read_piece(self, piece: FileRange) -> Iterator[Sentence]:
        """Yield the sentences of a piece."""

    @abc.abstractmethod
    def _files(self, split: str) -> list[Path]:
        """Return the files of a split, in order; at least one."""


@runtime_checkable
class PieceReader(Reader, Protocol):
    """A corpus whose splits consist of pieces, which several processes can read at once."""

    def pieces(self, split: str) -> list[FileRange]:
        """Return the pieces of a split, in order."""

    def read_piece(self, piece: FileRange) -> Iterator[Sentence]:
        """Yield the sentences of a piece, not yet cleaned."""


def parse_ids(text: str | int, *, setting: str) -> frozenset[int]:
    """Parse a list of numbers and ranges: ``"2-21"``, ``"1-43, 144-169, 900"`` or just ``23``."""
    numbers: set[int] = set()
    for part in str(text).replace(",", " ").split():
        first, dash, last = part.partition("-")
        try:
            begin, end = int(first), int(last if dash else first)
        except ValueError:
            raise _bad_range(part, setting) from None
        if begin > end:
            raise _bad_range(part, setting)
        numbers.update(range(begin, end + 1))
    if not numbers:
        raise _bad_range(str(text), setting)
    return frozenset(numbers)


@dataclass(frozen=True, kw_only=True)
class SplitByIds:
    """Settings of corpora split by lists of numbers (of files, sections or sentences)."""

    train: str
    """Numbers of the training split: ``2-21``, or ``1-43, 900``."""
    valid: str
    """Numbers of the validation split."""
    test: str
    """Numbers of the test split."""

    @cached_property
    def ids(self) -> dict[str, frozenset[int]]:
        """The numbers of the three splits."""
        return {
            split: parse_ids(getattr(self, split), setting=f"data.reader.{split}")
            for split in SPLITS
        }

    def mistakes(self) -> list[str]:
        """Return the mistakes in the lists of numbers."""
        mistakes = []
        for split in SPLITS:
            try:
                parse_ids(getattr(self, split), setting=split)
            except ConfigError as error:
                mistakes += error.mistakes
        return mistakes


def _bad_range(part: str, setting: str) -> ConfigError:
    return ConfigError(
        [f"{setting}: {part!r} is not a list of numbers such as '2-21' or '1-43, 900'"]
    )


def hash_files(paths: Iterable[Path], **settings: Json) -> str:
    """Return a key of the names and contents of files and of the settings to read them."""
    files = [[path.name, content_hash(path)] for path in paths]
    return fingerprint("files", 1, files=files, settings=settings)


def listed_ids(
    ids: Mapping[str, frozenset[int]], splits: Sequence[str] = SPLITS
) -> dict[str, list[int]]:
    """Return the numbers of these splits as sorted lists, for use in a key."""
    return {split: sorted(ids[split]) for split in splits}


# ----------------------------------------------------------------------------
# Write the sentences of a corpus to files: bracketed trees or plain text, one per line.


CorpusForm = Literal["trees", "text"]


def write_corpus(
    folder: Path, splits: Mapping[Split, Iterable[Sentence]], *, form: CorpusForm
) -> dict[Split, int]:
    """Write one file per split, in the format of ``data=brackets`` or ``data=text``.

    Returns the number of sentences of each split.
    """
    counts = dict.fromkeys(splits, 0)
    for split, sentences in splits.items():
        path = folder / f"{split}.txt"
        with whole_file(path) as temporary, temporary.open("w", encoding="utf-8") as file:
            for sentence in sentences:
                file.write(_line(sentence, form) + "\n")
                counts[split] += 1
    return counts


def _line(sentence: Sentence, form: CorpusForm) -> str:
    if form == "text":
        return " ".join(sentence.words)
    path, line = sentence.source.path, sentence.source.line
    if sentence.tree is None:
        remedy = "write plain text with task.form=text"
        raise InputError("has no tree", path=path, line=line, remedy=remedy)
    try:
        return format_tree(sentence.tree)
    except ValueError as error:
        raise InputError(str(error), path=path, line=line) from error


# ----------------------------------------------------------------------------
# Kinds of files that are not plain text, recognised by their first bytes.


# Beginnings of files, what they are, and what to do with them.
_BEGINNINGS: tuple[tuple[bytes, str, str], ...] = (
    (b"\x1f\x8b", "a gzip archive", "unpack it with gunzip"),
    (b"BZh", "a bzip2 archive", "unpack it with bunzip2"),
    (b"\xfd7zXZ\x00", "an xz archive", "unpack it with unxz"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive", "unpack it with unzstd"),
    (b"PK\x03\x04", "a zip archive or an Excel or Word document", "save its text as a .txt file"),
    (b"\xd0\xcf\x11\xe0", "an old Excel or Word document", "save its text as a .txt file"),
    (b"%PDF", "a PDF document", "save its text as a .txt file"),
    (b"PAR1", "a Parquet table", "write its sentences to a text file, one per line"),
    (b"SQLite format 3\x00", "an SQLite database", "write its sentences to a text file"),
    (b"\x89PNG", "an image", "name a text file"),
)
_HEAD = 64


def binary_kind(head: bytes, path: str | Path | None = None) -> tuple[str, str] | None:
    """Return what a file is that begins with these bytes, and a remedy; None if it may be text.

    ``path`` is the file, or None for standard input.
    """
    if encoding := marked_encoding(head):
        return f"{encoding} text", how_to_convert(encoding, path)
    for beginning, kind, remedy in _BEGINNINGS:
        if head.startswith(beginning):
            return kind, remedy
    if b"\x00" not in head:
        return None
    if encoding := zeros_encoding(head):
        return "UTF-16 text without a byte order mark", how_to_convert(encoding, path)
    return "binary data", "name a text file"


def require_text(path: Path, *, encoding: str = "utf-8") -> None:
    """Raise an error if a file that should be UTF-8 text is an archive, a document or the like."""
    if encoding.lower().replace("_", "-") not in ("utf-8", "utf8", "utf-8-sig"):
        return
    try:
        with path.open("rb") as file:
            binary = binary_kind(file.read(_HEAD), path)
    except OSError:
        return  # whoever opens the file says what is wrong
    if binary is not None:
        wanted = "UTF-8 text" if " text" in binary[0] else "text"
        raise InputError(f"is {binary[0]}, not {wanted}", path=path, remedy=binary[1])


# ----------------------------------------------------------------------------
# Recognise tables, JSON, YAML and mark-up in what should be one sentence per line.
#
# Recognition is by content. It must not reject text: commas and semicolons of text are followed by
# a space or stand between digits, speakers (``Anna: …``) are not keys of nested YAML, and words in
# square brackets are not JSON.


# Lines of a file that are looked at.
_LOOKED_AT = 50
# Longest sentence in words; treebanks stay far below.
MOST_WORDS = 1000

_EXTENSIONS = {
    ".csv": "a CSV table",
    ".tsv": "a TSV table",
    ".json": "JSON",
    ".jsonl": "JSON",
    ".yaml": "YAML",
    ".yml": "YAML",
    ".xml": "XML",
    ".html": "HTML",
}
_SEPARATORS = {"\t": "a TSV table", ",": "a CSV table", ";": "a CSV table", "|": "a table"}
_MARKUP = re.compile(r"<\?xml|<!doctype|<html", re.IGNORECASE)
_JSON_OBJECT = re.compile(r'[{\[]\s*$|\[?\s*\{\s*"[^"]*"\s*:')
_YAML_LINE = re.compile(r"\s*(- |-$|[\w.-]+:(\s|$)|#)")
_YAML_KEY = re.compile(r"\s*(- )?[\w.-]+:\s*$")
# Line breaks that are not ends of lines, and so join sentences.
_OTHER_BREAKS = re.compile("[\u2028\u2029\x85]")


def require_sentences(lines: Sequence[str], *, path: str) -> None:
    """Raise an error if lines are not sentences of plain text, one per line."""
    kind = _EXTENSIONS.get(Path(path).suffix.lower()) or kind_of_lines(lines)
    if kind is not None:
        raise InputError(
            f"is {kind}, not sentences",
            path=path,
            remedy="write the sentences alone to a .txt file, one per line",
        )
    for number, line in enumerate(lines, start=1):
        problem = ""
        if "\x00" in line:
            problem = "contains NUL bytes, which text does not"
            remedy = "name a text file, or convert it to UTF-8"
        elif mark := _OTHER_BREAKS.search(line.strip()):
            code = f"U+{ord(mark[0]):04X}"
            problem = f"contains the line separator {code}, which joins sentences"
            remedy = "replace it by an ordinary end of line"
        elif (words := len(line.split())) > MOST_WORDS:
            problem = f"has {words:,} words; a sentence has at most {MOST_WORDS:,}"
            remedy = "write one sentence per line"
        if problem:
            raise InputError(problem, path=path, line=number, remedy=remedy)


def kind_of_lines(lines: Sequence[str]) -> str | None:
    """Return what lines are that are not plain text; None if they may be."""
    filled = list(islice((line for line in lines if line.strip()), _LOOKED_AT))
    if not filled:
        return None
    if _MARKUP.match(filled[0].lstrip()):
        return "HTML or XML"
    if _is_json(filled):
        return "JSON"
    if _is_yaml(filled):
        return "YAML"
    body = [line.rstrip("\r\n") for line in filled if not line.startswith("#")]
    return next((kind for mark, kind in _SEPARATORS.items() if _is_table(body, mark)), None)


def _is_json(lines: Sequence[str]) -> bool:
    first = lines[0].strip()
    if not first.startswith(("{", "[")):
        return False
    if _JSON_OBJECT.match(first):
        return len(lines) > 1 or len(first) > 1
    try:
        content = parse_json(first)
    except (ValueError, RecursionError):
        return False
    return bool(content) and isinstance(content, dict | list)


def _is_yaml(lines: Sequence[str]) -> bool:
    """Whether most lines are entries of YAML, and some contain others."""
    entries = [bool(_YAML_LINE.match(line)) for line in lines]
    if not entries[0] or 2 * sum(entries) <= len(entries):
        return lines[0].rstrip() == "---" and len(lines) > 1
    nested = (
        _YAML_KEY.match(line) and (after[:1].isspace() or after.lstrip().startswith("- "))
        for line, after in pairwise(lines)
    )
    return any(nested)


def _is_table(lines: Sequence[str], mark: str) -> bool:
    """Whether all lines have the same number of fields, with a mark that text does not have."""
    if len(lines) < 2 or not _structural(lines[0], mark):
        return False
    try:
        counts = {len(row) for row in csv.reader(lines, delimiter=mark) if row}
    except csv.Error:
        return False
    return len(counts) == 1 and counts.pop() > 1


def _structural(line: str, mark: str) -> bool:
    """Whether each such mark in a line separates fields: no space around it, not in a number."""
    if mark not in line:
        return False
    if mark == "\t":
        return True
    parts = re.sub(r'"[^"]*"', '""', line).split(mark)
    pairs = list(pairwise(parts))
    return bool(pairs) and all(
        not before[-1:].isspace()
        and not after[:1].isspace()
        and not (before[-1:].isdigit() and after[:1].isdigit())
        for before, after in pairs
    )


# ----------------------------------------------------------------------------
# Names of the forms in which surprisals and results are read and written.
#
# ``table`` One row per word, in columns that are recognised by their names, as ``task=surprisal``
#     and many programs write them. ``lm_zoo`` LM Zoo's table: ``sentence_id token_id token
#     surprisal``, separated by tabs, in bits. ``minicons`` Lists ``(token, score)`` of minicons as
#     JSON, or its tables with a column of scores. ``lm_eval`` Samples of lm-evaluation-harness:
#     one log likelihood per sentence. ``vllm`` Prompt log probabilities of vLLM. ``openai``
#     Completions with ``echo`` and ``logprobs``, as OpenAI's and compatible servers return them.
#     ``syntaxgym`` Results of SyntaxGym: one number per region.


# Forms of files of surprisals; auto recognises them by their content.
SurprisalForm = Literal[
    "auto", "table", "lm_zoo", "minicons", "lm_eval", "vllm", "openai", "syntaxgym"
]

# Unit of the numbers in a file: surprisals, or log probabilities to the base e, 2 or 10.
Unit = Literal["bits", "nats", "log10", "log_prob_nats", "log_prob_bits", "log_prob_log10"]

# Columns of the table of task=surprisal: ours, or those of LM Zoo.
TableForm = Literal["own", "lm_zoo"]

# Columns of tables of surprisals: also what a search knows about each word, or the surprisal only.
TableColumns = Literal["all", "surprisal"]

# Forms in which results on suites are also written.
ResultForm = Literal["syntaxgym", "babylm"]
