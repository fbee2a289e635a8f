"""Tables of stimuli: one sentence per row, or one region per row, and any further columns.

In a table with a row per sentence, a column holds the sentences, or several columns hold regions.
In a table with a row per region (or word), rows with the same item, condition (and variant or
sentence identifier) that follow one another are a sentence. All other columns are carried along.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gardenpath.data.sentence import Sentence, Source
from gardenpath.errors import InputError
from gardenpath.eval.suites.formats.csv_tables import COLUMN_ROLES, CsvTable
from gardenpath.eval.suites.formats.sheets import read_items_table
from gardenpath.eval.surprisal.inputs import GivenText
from gardenpath.store.tables import PLL_BITS, SEARCH_COLUMN_NAMES, WORD_SURPRISALS

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
