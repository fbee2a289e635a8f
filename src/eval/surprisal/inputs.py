"""Input sentences: plain text, one sentence per line, or bracketed trees; from a file or a pipe."""

from __future__ import annotations

import io
import itertools
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from gardenpath.data.readers.base import MOST_WORDS, binary_kind, require_sentences, require_text
from gardenpath.data.sentence import Sentence, Source
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.trees.tree import read_trees, text_lines
from gardenpath.data.words.segmenting import WritingStyle, has_han
from gardenpath.errors import InputError
from gardenpath.eval.suites.nodes import COLUMN_ROLES, TABLE_SUFFIXES, CsvTable, read_items_table
from gardenpath.safe_text import how_to_convert, probable_encoding
from gardenpath.store.files import open_text
from gardenpath.store.tables import PLL_BITS, SEARCH_COLUMN_NAMES, WORD_SURPRISALS

STANDARD_INPUT = "<stdin>"

Form = Literal["auto", "plain", "bracketed"]

# The default cleaning of corpora, which removes traces.
USUAL_CLEANING = Cleaning()

_BYTE_ORDER_MARK = "\ufeff"
_ONE_FORM = "write all sentences of a file as trees, or all as plain text"
# Text in parentheses and more text.
_PARENTHESES = re.compile(r"\([^()]*\)\s*[^\s()]")


@dataclass(frozen=True, slots=True)
class GivenText:
    """An input before cleaning; each model's own cleaning is applied to it.

    ``carried`` are further columns of a table: for each sentence, and each of its words, the values
    by the names of the columns. It is empty for other inputs.
    """

    name: str
    sentences: tuple[Sentence, ...]
    carried: tuple[tuple[Mapping[str, str], ...], ...] = ()

    def cleaned(self, cleaning: Cleaning | None) -> list[Sentence]:
        """Return the cleaned sentences; see :func:`read_sentences`."""
        found: Iterable[Sentence] = self.sentences
        if cleaning is not None:
            found = replace(cleaning, max_tokens=None).apply(found)
        sentences = list(found)
        if not sentences:
            remedy = "write one sentence per line"
            raise InputError("contains no sentences", path=self.name, remedy=remedy)
        return sentences


def read_given(path: Path | None, *, form: Form = "auto") -> GivenText:
    """Read a file, or standard input if ``path`` is None or ``-``.

    With ``form=auto``, a file is read as trees if its first non-blank line begins one. Tables, JSON
    and other content that is not sentences is refused.
    """
    name, lines = _read_lines(path)
    is_bracketed = _looks_bracketed(lines) if form == "auto" else form == "bracketed"
    if is_bracketed:
        return GivenText(name, tuple(_bracketed(lines, name)))
    if form == "auto":
        require_sentences(lines, path=name)
        lines = list(text_lines(lines, path=name, remedy=_ONE_FORM))
    return GivenText(name, tuple(_plain(lines, name)))


def read_sentences(
    path: Path | None,
    *,
    form: Form = "auto",
    cleaning: Cleaning | None = USUAL_CLEANING,
) -> list[Sentence]:
    """Read the sentences of a file, or of standard input (see :func:`read_given`).

    Words are cleaned like those of a corpus, to match the text that a model was trained on; if
    ``cleaning`` is None, they are not changed and include traces. Blank lines and trees that are
    empty after cleaning are skipped; long sentences are never skipped.
    """
    return read_given(path, form=form).cleaned(cleaning)


def check_alignment(inputs: Mapping[str, Sequence[Sentence]]) -> None:
    """Raise an error if runs, given by name, read different words from an input.

    The words of a table are numbered, and a number must denote the same word for all runs. Case
    may differ, so models of lower-cased and of ordinary text can be compared.
    """
    runs = list(inputs)
    for run in runs[1:]:
        for pair in itertools.zip_longest(inputs[runs[0]], inputs[run]):
            one, other = map(_as_compared, pair)
            if one != other:
                where = next(sentence for sentence in pair if sentence is not None)
                raise InputError(
                    f"{runs[0]} and {run} were trained on differently cleaned corpora and read "
                    f"different words here: {_quoted(one)} and {_quoted(other)}",
                    path=where.source.path,
                    line=where.source.line,
                    remedy="set run= to one of them at a time, or write plain text, divided into "
                    "words, with tokenised=true",
                )


def _as_compared(sentence: Sentence | None) -> tuple[str, ...]:
    return tuple(word.lower() for word in sentence.words) if sentence else ()


def _quoted(words: Sequence[str]) -> str:
    return repr(" ".join(words)) if words else "nothing"


def _read_lines(path: Path | None) -> tuple[str, list[str]]:
    """Return the name of the input for messages, and its lines."""
    if path is None or str(path) == "-":
        name, lines = STANDARD_INPUT, _standard_input()
    else:
        require_text(path)
        with open_text(path) as opened:
            name, lines = str(path), list(opened)
    if lines:
        lines[0] = lines[0].removeprefix(_BYTE_ORDER_MARK)
    return name, lines


def _standard_input() -> list[str]:
    content = sys.stdin.buffer.read()
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        encoding = probable_encoding(content)
        kind = binary_kind(content[:64])
        what, remedy = kind or (f"probably {encoding}", how_to_convert(encoding, None))
        line = None if kind else content[: error.start].count(b"\n") + 1
        raise InputError(
            f"is not UTF-8 text, but {what}", path=STANDARD_INPUT, line=line, remedy=remedy
        ) from error
    return list(io.StringIO(text, newline=None))


def _looks_bracketed(lines: Sequence[str]) -> bool:
    """Whether the first line begins a tree, possibly a malformed one.

    It does not if it begins with words in parentheses, followed by others: ``( laughs ) he said``.
    """
    first = next((line.strip() for line in lines if line.strip()), "")
    return first.startswith("(") and not _PARENTHESES.match(first)


def _plain(lines: Sequence[str], name: str) -> Iterator[Sentence]:
    for number, line in enumerate(lines, start=1):
        if words := tuple(line.split()):
            yield Sentence(words, Source(name, number))


def _bracketed(lines: Sequence[str], name: str) -> Iterator[Sentence]:
    for number, tree in read_trees(lines, path=name):
        yield Sentence(tree.words(), Source(name, number), tree)


# ----------------------------------------------------------------------------
# Tables of stimuli: one sentence per row, or one region per row, and any further columns.
#
# In a table with a row per sentence, a column holds the sentences, or several columns hold
# regions. In a table with a row per region (or word), rows with the same item, condition (and
# variant or sentence identifier) that follow one another are a sentence. All other columns are
# carried along.


_REGION = "region"
_SENTENCES = (*COLUMN_ROLES["sentence"], "sentences", "text", "stimulus", "stimuli")
_IDENTITY = ("suite", "item", "condition", "variant", "sentence_id")

# Columns of the results, which columns of the input must not replace.
_TAKEN = frozenset({*WORD_SURPRISALS.names, *SEARCH_COLUMN_NAMES, PLL_BITS})

_Row = tuple[int, Mapping[str, str]]


def read_stimulus_table(path: Path, column: str | Sequence[str] | None = None) -> GivenText:
    """Read the sentences of a table, with the further columns of each word."""
    table = read_items_table(path)
    if not table.rows:
        remedy = "write a row per sentence, or per region, below the header"
        raise InputError("has a header and no rows", path=path, remedy=remedy)
    found = list(_Sentences(table, column).all())
    return GivenText(
        str(path),
        tuple(Sentence(tuple(one.words), Source(str(path), one.line)) for one in found),
        tuple(tuple(one.carried) for one in found),
    )


def _further(row: Mapping[str, str], own: Sequence[str]) -> dict[str, str]:
    """Return the other columns of a row; those that results have get other names."""
    return {
        f"given_{name}" if name in _TAKEN else name: value.strip()
        for name, value in row.items()
        if name and name not in own
    }


@dataclass(frozen=True, slots=True)
class _TableSentence:
    line: int
    words: Sequence[str]
    carried: Sequence[Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class _Sentences:
    """The sentences of a table; ``column`` is what the user says holds them."""

    table: CsvTable
    column: str | Sequence[str] | None

    def all(self) -> Iterator[_TableSentence]:
        """Yield the sentences, in the order of the table."""
        if self.column is not None and not isinstance(self.column, str):
            yield from self._of_columns([self._known(name) for name in self.column], _REGION)
            return
        if self.column is not None:
            yield from self._of_columns([self._known(self.column)], "")
            return
        sentence = self.table.column(_SENTENCES)
        if sentence is not None:
            yield from self._of_columns([sentence], "")
            return
        content = self.table.column((*COLUMN_ROLES["content"], *COLUMN_ROLES["word"]))
        if content is None or not self._identity():
            raise self._unclear()
        yield from self._of_rows(content)

    def _known(self, name: str) -> str:
        found = self.table.column([name])
        if found is None:
            raise InputError(
                f"has no column {name!r}",
                path=self.table.path,
                line=self.table.line,
                remedy=f"{self._as_list(name)}its columns: {', '.join(self.table.header)}",
            )
        return found

    def _as_list(self, name: str) -> str:
        """Return how to name several columns, if that is what was meant."""
        parts = [one.strip() for one in name.split(",")]
        is_list = len(parts) > 1 and all(self.table.column([one]) for one in parts)
        return f"write 'column=[{','.join(parts)}]' for the columns of regions; " if is_list else ""

    def _unclear(self, problem: str = "has no column of sentences") -> InputError:
        return InputError(
            problem,
            path=self.table.path,
            line=self.table.line,
            remedy="name the column, as in column=NAME (or the columns of regions, as in "
            "'column=[subject,verb]'), or write one row per region with the columns item, "
            f"condition, region and content; its columns: {', '.join(self.table.header)}",
        )

    def _identity(self) -> list[str]:
        """Return the columns that say which sentence a row belongs to."""
        found = [self.table.column(COLUMN_ROLES[role]) for role in _IDENTITY]
        return [name for name in found if name is not None]

    def _of_columns(self, columns: Sequence[str], region: str) -> Iterator[_TableSentence]:
        """Yield a sentence per row; with ``region``, the column says which region a word is in."""
        for line, row in self.table.rows:
            further = _further(row, columns)
            words, carried = list[str](), list[Mapping[str, str]]()
            for name in columns:
                self._require_one_line(row[name], line)
                found = row[name].split()
                words += found
                carried += [{**further, region: name} if region else further] * len(found)
            yield self._sentence(line, words, carried)

    def _require_one_line(self, text: str, line: int) -> None:
        """Refuse a cell of several lines: a quotation mark is missing, or it is a text."""
        if "\n" in text.strip():
            remedy = "write one sentence per row, and close all quotation marks"
            problem = f"the sentence has several lines: {' '.join(text.split())[:60]!r}"
            raise InputError(problem, path=self.table.path, line=line, remedy=remedy)

    def _of_rows(self, content: str) -> Iterator[_TableSentence]:
        identity = self._identity()

        def sentence_of(row: _Row) -> tuple[str, ...]:
            return tuple(row[1][name].strip() for name in identity)

        self._require_sentences(content, [sentence_of(row) for row in self.table.rows])
        seen: set[tuple[str, ...]] = set()
        for key, rows in itertools.groupby(self.table.rows, key=sentence_of):
            words, carried, first = list[str](), list[Mapping[str, str]](), 0
            for line, row in rows:
                first = first or line
                found = row[content].split()
                words += found
                carried += [_further(row, (content,))] * len(found)
            if key in seen:
                named = ", ".join(f"{k} {v}" for k, v in zip(identity, key, strict=True))
                raise InputError(
                    f"the rows of {named} do not follow one another",
                    path=self.table.path,
                    line=first,
                    remedy="sort the table, or number repeated sentences in a column variant",
                )
            seen.add(key)
            yield self._sentence(first, words, carried)

    def _require_sentences(self, content: str, keys: Sequence[tuple[str, ...]]) -> None:
        """Refuse a column of single words of which no two are in the same sentence."""
        has_sentences = any(len(row[content].split()) > 1 for _, row in self.table.rows)
        if not has_sentences and len(set(keys)) == len(keys):
            raise self._unclear(f"has one word per sentence in the column {content!r}")

    def _sentence(
        self, line: int, words: Sequence[str], carried: Sequence[Mapping[str, str]]
    ) -> _TableSentence:
        if not words:
            raise InputError("the sentence is empty", path=self.table.path, line=line,
                             remedy="delete the row, or fill it in")  # fmt: skip
        return _TableSentence(line, words, carried)


# ----------------------------------------------------------------------------
# Stimuli: sentences on the command line, in a file or a table, as the words that a model reads.
#
# What is given on the command line is a file if it exists. Otherwise it is a sentence if it
# contains a blank and does not end like the name of a file (``.txt``), or if it is Chinese. A
# single word is never a sentence: it is more often a misspelt file name.


# Name of sentences on the command line, in messages.
COMMAND_LINE = "input"

_FILE_ENDING = re.compile(
    r"\.(txt|text|csv|tsv|tab|xlsx?|ods|json|jsonl|ya?ml|trees?|mrg|ptb|parquet|gz|zip|md|docx?|pdf)$",
    re.IGNORECASE,
)
_SEPARATORS = re.compile(r"[/\\]")


@dataclass(frozen=True, slots=True)
class Stimulus:
    """A sentence as a model reads it.

    ``written`` is the sentence as given. ``carried`` are further columns of its table: the values
    of each word, and of the end of the sentence last; empty if there are none.
    """

    sentence: Sentence
    written: str
    carried: tuple[Mapping[str, str], ...] = ()


def read_input(given: str | Sequence[str], column: str | Sequence[str] | None = None) -> GivenText:
    """Read sentences: those given, or those of a file, a table or standard input (``-``).

    ``column`` names the column of a table with the sentences, or the columns of its regions.
    """
    is_file = isinstance(given, str) and (given == "-" or _is_file(given))
    if is_file and Path(str(given)).suffix.lower() in TABLE_SUFFIXES:
        return read_stimulus_table(Path(str(given)), column)
    if column is not None:
        remedy = f"name a table ({', '.join(TABLE_SUFFIXES)}), or leave out column="
        path = str(given) if is_file else COMMAND_LINE
        raise InputError("has no columns", path=path, remedy=remedy)
    if isinstance(given, str):
        return read_given(Path(given)) if is_file else _literal([_require_sentence(given)])
    for one in given:
        if _is_file(one):
            remedy = "a list holds sentences; name one file, as in input=FILE"
            raise InputError("is a file in a list of sentences", path=one, remedy=remedy)
    return _literal([_require_sentence(one) for one in given])


def stimuli_of(
    given: GivenText, cleaning: Cleaning | None, style: WritingStyle | None
) -> list[Stimulus]:
    """Return the sentences as a model reads them, cleaned and divided as its corpus is.

    Without ``style``, words are what stands between blanks. Words of trees are never divided.
    """
    found = []
    for number, sentence in enumerate(given.cleaned(cleaning)):
        carried = given.carried[number] if given.carried else ()
        if sentence.tree is not None:
            found.append(Stimulus(sentence, " ".join(sentence.words)))
            continue
        written = " ".join(given.sentences[number].words)
        pairs = [(word, place) for place, word in enumerate(sentence.words)]
        if style is not None:
            pairs = style.words(sentence.words, sentence.source)
        words = Sentence(tuple(word for word, _ in pairs), sentence.source)
        values = tuple(carried[place] for _, place in pairs) if carried else ()
        found.append(Stimulus(words, written, (*values, _at_end(values)) if values else ()))
    return found


def _at_end(values: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the values of the end of a sentence: those that all its words have, else empty."""
    first = values[0]
    return {
        name: first[name] if all(one[name] == first[name] for one in values) else ""
        for name in first
    }


def _is_file(given: str) -> bool:
    path = Path(given)
    if not given.strip():
        return False
    try:
        if path.is_dir():
            raise InputError("is a folder, not a file (name one of its files)", path=path)
        return path.exists()
    except (OSError, ValueError):  # too long for a name of a file
        return False


def looks_like_file(name: str) -> bool:
    """Whether a name ends like that of a file."""
    return _FILE_ENDING.search(name) is not None


def _require_sentence(text: str) -> str:
    """Return a sentence; what looks like the name of a file, but is none, is an error."""
    words = text.split()
    if not words:
        raise InputError("is empty", path=COMMAND_LINE, remedy="write a sentence, or name a file")
    is_named_like_file = looks_like_file(words[-1])
    is_word = len(words) == 1 and not has_han(text)
    if is_named_like_file or (is_word and _SEPARATORS.search(text)):
        raise InputError("no such file", path=text, remedy="check the name and the folder")
    if is_word:
        raise InputError(
            "is no file, and a single word is not taken as a sentence",
            path=text,
            remedy="check the name of the file, or write more words, as in "
            'input="the dog barks"; for one word, write it to a file',
        )
    if len(words) > MOST_WORDS:
        problem = f"has {len(words):,} words; a sentence has at most {MOST_WORDS:,}"
        remedy = "write one sentence per line of a file"
        raise InputError(problem, path=COMMAND_LINE, remedy=remedy)
    return text


def _literal(sentences: Sequence[str]) -> GivenText:
    if not sentences:
        raise InputError("has no sentences", path=COMMAND_LINE, remedy="write at least one")
    return GivenText(
        COMMAND_LINE,
        tuple(
            Sentence(tuple(text.split()), Source(COMMAND_LINE, number))
            for number, text in enumerate(sentences, start=1)
        ),
    )
