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

from gardenpath.data.file_kinds import binary_kind, require_text
from gardenpath.data.sentence import Sentence, Source
from gardenpath.data.text_kinds import require_sentences
from gardenpath.data.trees.brackets import read_trees
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.trees.tree_lines import text_lines
from gardenpath.encodings import how_to_convert, probable_encoding
from gardenpath.errors import InputError
from gardenpath.store.files import open_text

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
