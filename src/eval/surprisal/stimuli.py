"""Stimuli: sentences on the command line, in a file or a table, as the words that a model reads.

What is given on the command line is a file if it exists. Otherwise it is a sentence if it contains
a blank and does not end like the name of a file (``.txt``), or if it is Chinese. A single word is
never a sentence: it is more often a misspelt file name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gardenpath.data.segmenting.chinese_text import has_han
from gardenpath.data.segmenting.writing_style import WritingStyle
from gardenpath.data.sentence import Sentence, Source
from gardenpath.data.text_kinds import MOST_WORDS
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.errors import InputError
from gardenpath.eval.suites.formats.sheets import TABLE_SUFFIXES
from gardenpath.eval.surprisal.inputs import GivenText, read_given
from gardenpath.eval.surprisal.stimulus_tables import read_stimulus_table

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
