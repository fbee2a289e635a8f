"""Sentences to score: from the command line, a file, a table or a pipe, as a model reads them.

The tasks of scores and ``runs`` read their input here. Each model's own cleaning and division into
words is applied to what is read; nothing is scored.
"""

from __future__ import annotations

import io
import itertools
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
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

Form = Literal["auto", "plain", "bracketed"]

# The default cleaning of corpora, which removes traces.
USUAL_CLEANING = Cleaning()

# Text in parentheses and more text.
_PARENTHESES = re.compile(r"\([^()]*\)\s*[^\s()]")


@dataclass(frozen=True, slots=True)
class GivenText:
    """An input before cleaning.

    ``carried`` are further columns of a table: for each sentence, and each of its words, the values
    by the names of the columns. It is empty for other inputs.
    """

    name: str
    sentences: tuple[Sentence, ...]
    carried: tuple[tuple[Mapping[str, str], ...], ...] = ()

    def cleaned(self, cleaning: Cleaning | None) -> list[Sentence]:
        """Return the cleaned sentences; see :func:`read_sentences`."""
        sentences = list(self.sentences)
        if cleaning is not None:
            sentences = list(replace(cleaning, max_tokens=None).apply(sentences))
        if not sentences:
            remedy = "write one sentence per line"
            raise InputError("contains no sentences", path=self.name, remedy=remedy)
        return sentences


def read_given(path: Path | None, *, form: Form = "auto") -> GivenText:
    """Read a file, or standard input if ``path`` is None or ``-``.

    With ``form=auto``, a file is read as trees if its first non-blank line begins one. Tables, JSON
    and other content that is not sentences is refused.
    """
    if path is None or str(path) == "-":
        name, lines = "<stdin>", _standard_input()
    else:
        require_text(path)
        with open_text(path) as opened:
            name, lines = str(path), list(opened)
    if lines:
        lines[0] = lines[0].removeprefix("\N{BYTE ORDER MARK}")
    if form == "auto":
        # The first line begins a tree, possibly a malformed one, but not if it begins with words in
        # parentheses, followed by others: ``( laughs ) he said``.
        first = next((line.strip() for line in lines if line.strip()), "")
        is_bracketed = first.startswith("(") and not _PARENTHESES.match(first)
        if not is_bracketed:
            require_sentences(lines, path=name)
            remedy = "write all sentences of a file as trees, or all as plain text"
            lines = list(text_lines(lines, path=name, remedy=remedy))
    else:
        is_bracketed = form == "bracketed"
    if is_bracketed:
        trees = read_trees(lines, path=name)
        sentences = (Sentence(tree.words(), Source(name, number), tree) for number, tree in trees)
        return GivenText(name, tuple(sentences))
    split = ((number, tuple(line.split())) for number, line in enumerate(lines, start=1))
    return GivenText(name, tuple(Sentence(words, Source(name, n)) for n, words in split if words))


def read_sentences(
    path: Path | None, *, form: Form = "auto", cleaning: Cleaning | None = USUAL_CLEANING
) -> list[Sentence]:
    """Read the sentences of a file, or of standard input (see :func:`read_given`).

    Words are cleaned like those of a corpus, to match the text that a model was trained on; if
    ``cleaning`` is None, they are not changed and include traces. Blank lines and trees that are
    empty after cleaning are skipped; long sentences are never skipped.
    """
    return read_given(path, form=form).cleaned(cleaning)


def check_alignment(inputs: Mapping[str, Sequence[Sentence]]) -> None:
    """Raise an error if runs, by name, read different words from an input.

    The words of a table are numbered, and a number must denote the same word for all runs. Case
    may differ, so models of lower-cased and of ordinary text can be compared.
    """
    runs = list(inputs)
    for run in runs[1:]:
        for pair in itertools.zip_longest(inputs[runs[0]], inputs[run]):
            words = [[w.lower() for w in sentence.words] if sentence else [] for sentence in pair]
            if words[0] != words[1]:
                where = next(sentence for sentence in pair if sentence is not None)
                shown = " and ".join(repr(" ".join(own)) if own else "nothing" for own in words)
                raise InputError(
                    f"{runs[0]} and {run} were trained on differently cleaned corpora and read "
                    f"different words here: {shown}",
                    path=where.source.path,
                    line=where.source.line,
                    remedy="set run= to one of them at a time, or write plain text, divided into "
                    "words, with tokenised=true",
                )


def _standard_input() -> list[str]:
    content = sys.stdin.buffer.read()
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        encoding = probable_encoding(content)
        kind = binary_kind(content[:64])
        what, remedy = kind or (f"probably {encoding}", how_to_convert(encoding, None))
        line = None if kind else content[: error.start].count(b"\n") + 1
        problem = f"is not UTF-8 text, but {what}"
        raise InputError(problem, path="<stdin>", line=line, remedy=remedy) from error
    return list(io.StringIO(text, newline=None))


# Tables of stimuli: one sentence per row, or one region per row, and any further columns.
#
# In a table with a row per sentence, a column holds the sentences, or several columns hold
# regions. In a table with a row per region (or word), rows with the same item, condition (and
# variant or sentence identifier) that follow one another are a sentence. All other columns are
# carried along.

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
    sentences, carried = zip(*_Sentences(table, column).all(), strict=True)
    return GivenText(str(path), sentences, carried)


def _further(row: Mapping[str, str], own: Sequence[str]) -> dict[str, str]:
    """Return the other columns of a row; those that results have get other names."""
    return {
        f"given_{name}" if name in _TAKEN else name: value.strip()
        for name, value in row.items()
        if name and name not in own
    }


# A sentence and the further columns of each of its words.
_TableSentence = tuple[Sentence, tuple[Mapping[str, str], ...]]


@dataclass(frozen=True, slots=True)
class _Sentences:
    """The sentences of a table; ``column`` is what the user says holds them."""

    table: CsvTable
    column: str | Sequence[str] | None

    def all(self) -> Iterator[_TableSentence]:
        if isinstance(self.column, str):
            return self._of_columns([self._known(self.column)], "")
        if self.column is not None:
            return self._of_columns([self._known(name) for name in self.column], "region")
        sentence = self.table.column(_SENTENCES)
        if sentence is not None:
            return self._of_columns([sentence], "")
        content = self.table.column((*COLUMN_ROLES["content"], *COLUMN_ROLES["word"]))
        if content is None or not self._identity():
            raise self._unclear()
        return self._of_rows(content)

    def _known(self, name: str) -> str:
        column = self.table.column([name])
        if column is None:
            remedy = f"its columns: {', '.join(self.table.header)}"
            parts = [part.strip() for part in name.split(",")]
            if len(parts) > 1 and all(self.table.column([part]) for part in parts):
                remedy = f"write 'column=[{','.join(parts)}]' for the columns of regions; {remedy}"
            problem = f"has no column {name!r}"
            raise InputError(problem, path=self.table.path, line=self.table.line, remedy=remedy)
        return column

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
        columns = [self.table.column(COLUMN_ROLES[role]) for role in _IDENTITY]
        return [name for name in columns if name is not None]

    def _of_columns(self, columns: Sequence[str], region: str) -> Iterator[_TableSentence]:
        """Yield a sentence per row; with ``region``, the column says which region a word is in."""
        for line, row in self.table.rows:
            further = _further(row, columns)
            words, carried = list[str](), list[Mapping[str, str]]()
            for name in columns:
                own = row[name].split()
                if "\n" in row[name].strip():  # a quotation mark is missing, or it is a text
                    remedy = "write one sentence per row, and close all quotation marks"
                    problem = f"the sentence has several lines: {' '.join(own)[:60]!r}"
                    raise InputError(problem, path=self.table.path, line=line, remedy=remedy)
                words += own
                carried += [{**further, region: name} if region else further] * len(own)
            yield self._sentence(line, words, carried)

    def _of_rows(self, content: str) -> Iterator[_TableSentence]:
        identity = self._identity()

        def sentence_of(row: _Row) -> tuple[str, ...]:
            return tuple(row[1][name].strip() for name in identity)

        # Refuse a column of single words of which no two are in the same sentence.
        has_sentences = any(len(row[content].split()) > 1 for _, row in self.table.rows)
        if not has_sentences and len(set(map(sentence_of, self.table.rows))) == len(
            self.table.rows
        ):
            raise self._unclear(f"has one word per sentence in the column {content!r}")
        seen: set[tuple[str, ...]] = set()
        for key, rows in itertools.groupby(self.table.rows, key=sentence_of):
            words, carried, first = list[str](), list[Mapping[str, str]](), 0
            for line, row in rows:
                first = first or line
                own = row[content].split()
                words += own
                carried += [_further(row, (content,))] * len(own)
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

    def _sentence(
        self, line: int, words: Sequence[str], carried: Sequence[Mapping[str, str]]
    ) -> _TableSentence:
        if not words:
            remedy = "delete the row, or fill it in"
            raise InputError(
                "the sentence is empty", path=self.table.path, line=line, remedy=remedy
            )
        return Sentence(tuple(words), Source(str(self.table.path), line)), tuple(carried)


# Stimuli: sentences on the command line, in a file or a table, as the words that a model reads.
#
# What is given on the command line is a file if it exists. Otherwise it is a sentence if it
# contains a blank and does not end like the name of a file (``.txt``), or if it is Chinese. A
# single word is never a sentence: it is more often a misspelt file name.

# Name of sentences on the command line, in messages.
_COMMAND_LINE = "input"

_FILE_ENDING = re.compile(
    r"\.(txt|text|csv|tsv|tab|xlsx?|ods|json|jsonl|ya?ml|trees?|mrg|ptb|parquet|gz|zip|md|docx?|pdf)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Stimulus:
    """A sentence as a model reads it.

    ``written`` is the sentence as given. ``carried`` are further columns of its table: the values
    of each word, and of the end of the sentence last; empty if there are none.
    """

    sentence: Sentence
    written: str
    carried: tuple[Mapping[str, str], ...] = ()


def read_input(source: str | Sequence[str], column: str | Sequence[str] | None = None) -> GivenText:
    """Read sentences: those named, or those of a file, a table or standard input (``-``).

    ``column`` names the column of a table with the sentences, or the columns of its regions.
    """
    is_file = isinstance(source, str) and (source == "-" or _is_file(source))
    if is_file and Path(str(source)).suffix.lower() in TABLE_SUFFIXES:
        return read_stimulus_table(Path(str(source)), column)
    if column is not None:
        remedy = f"name a table ({', '.join(TABLE_SUFFIXES)}), or leave out column="
        path = str(source) if is_file else _COMMAND_LINE
        raise InputError("has no columns", path=path, remedy=remedy)
    if isinstance(source, str):
        return read_given(Path(source)) if is_file else _literal([_require_sentence(source)])
    for text in source:
        if _is_file(text):
            remedy = "a list holds sentences; name one file, as in input=FILE"
            raise InputError("is a file in a list of sentences", path=text, remedy=remedy)
    return _literal([_require_sentence(text) for text in source])


def stimuli_of(
    text: GivenText, cleaning: Cleaning | None, style: WritingStyle | None
) -> list[Stimulus]:
    """Return the sentences as a model reads them, cleaned and divided as its corpus is.

    Without ``style``, words are what stands between blanks. Words of trees are never divided.
    """
    stimuli = []
    for number, sentence in enumerate(text.cleaned(cleaning)):
        carried = text.carried[number] if text.carried else ()
        if sentence.tree is not None:
            stimuli.append(Stimulus(sentence, " ".join(sentence.words)))
            continue
        written = " ".join(text.sentences[number].words)
        pairs = [(word, place) for place, word in enumerate(sentence.words)]
        if style is not None:
            pairs = style.words(sentence.words, sentence.source)
        words = Sentence(tuple(word for word, _ in pairs), sentence.source)
        values: tuple[Mapping[str, str], ...] = ()
        if carried and pairs:
            values = tuple(carried[place] for _, place in pairs)
            first = values[0]
            # The end of a sentence has the values that all its words have.
            shared = {name for name in first if len({own[name] for own in values}) == 1}
            values += ({name: first[name] if name in shared else "" for name in first},)
        stimuli.append(Stimulus(words, written, values))
    return stimuli


def _is_file(name: str) -> bool:
    path = Path(name)
    if not name.strip():
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
    words = text.split()
    if not words:
        raise InputError("is empty", path=_COMMAND_LINE, remedy="write a sentence, or name a file")
    is_named_like_file = looks_like_file(words[-1])
    is_word = len(words) == 1 and not has_han(text)
    if is_named_like_file or (is_word and re.search(r"[/\\]", text)):
        raise InputError("no such file", path=text, remedy="check the name and the folder")
    if is_word:
        raise InputError(
            "no such file; a single word is not accepted as a sentence",
            path=text,
            remedy="check the name of the file, or write more words, as in "
            'input="the dog barks"; for one word, write it to a file',
        )
    if len(words) > MOST_WORDS:
        problem = f"has {len(words):,} words; a sentence has at most {MOST_WORDS:,}"
        remedy = "write one sentence per line of a file"
        raise InputError(problem, path=_COMMAND_LINE, remedy=remedy)
    return text


def _literal(sentences: Sequence[str]) -> GivenText:
    if not sentences:
        raise InputError("has no sentences", path=_COMMAND_LINE, remedy="write at least one")
    return GivenText(
        _COMMAND_LINE,
        tuple(
            Sentence(tuple(text.split()), Source(_COMMAND_LINE, number))
            for number, text in enumerate(sentences, start=1)
        ),
    )
