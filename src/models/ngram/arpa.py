"""Read and write ARPA files, the format of n-gram models of SRILM, KenLM and others.

A file has one section of lines ``log10(p) <tab> words [<tab> log10(backoff)]`` for each order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from gardenpath.data.file_kinds import require_text
from gardenpath.data.words.unknown_words import UNKNOWN, Language
from gardenpath.data.words.vocabulary import PAD_ID, SPECIALS, Vocabulary
from gardenpath.errors import InputError
from gardenpath.models.ngram.arpa_tables import LOG10_ZERO, ArpaSection, build_model
from gardenpath.models.ngram.ngram import NgramModel
from gardenpath.store.files import open_text, whole_file
from gardenpath.units import NATS_PER_LOG10

# Numbers of more digits than any model could have are not numbers of n-grams.
_COUNT = re.compile(r"ngram[ \t]+([0-9]{1,3})[ \t]*=[ \t]*([0-9]{1,15})")
_SECTION = re.compile(r"\\([0-9]{1,3})-grams:")
# Words may contain other characters that look like blanks, and numbers may not.
_BLANKS = re.compile(r"[ \t]+")
_NUMBER = re.compile(r"-inf|[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
# Probabilities may be a little above 1 by rounding.
_LARGEST_LOG10 = 1e-3
# Larger backoff weights are not the exponents of numbers.
_LARGEST_BACKOFF = 300.0
# Another spelling of the unknown word, which SRILM and KenLM accept too.
_SPELLINGS = {"<UNK>": UNKNOWN}


def read_arpa(path: Path, *, language: Language = "en") -> tuple[NgramModel, Vocabulary]:
    """Read a model and its own vocabulary."""
    require_text(path)
    reading = _Reading(path)
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            if reading.read_line(line.strip(" \t\r\n"), number):
                break
    reading.require_complete()
    tokens = tuple(reading.numbers)
    vocabulary = Vocabulary(
        tokens=tokens,
        counts=(0,) * len(tokens),
        labels=(),
        language=language,
        min_count=1,
    )
    return build_model(reading.sections, tokens, path), vocabulary


class _Reading:
    """The content of a file, line by line; words get their numbers from the unigrams."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.numbers = {word: number for number, word in enumerate(SPECIALS)}
        self.sections: list[ArpaSection] = []
        self._listed: dict[str, int] = {}
        self._declared: dict[int, int] = {}
        self._is_begun = self._is_ended = False

    def read_line(self, text: str, number: int) -> bool:
        """Read a line; whether it is the last one."""
        if not self._is_begun:
            self._is_begun = text == "\\data\\"  # any text may precede it
        elif not self.sections and (match := _COUNT.fullmatch(text)):
            self._declared[int(match[1])] = int(match[2])
        elif match := _SECTION.fullmatch(text):
            self._begin_section(int(match[1]), number)
        elif text == "\\end\\":
            self._is_ended = True
        elif text and self.sections:
            self._read_entry(text, number)
        return self._is_ended

    def _begin_section(self, order: int, number: int) -> None:
        self.sections.append(ArpaSection(len(self.sections) + 1))
        if order != len(self.sections):
            problem = f"\\{order}-grams: where \\{len(self.sections)}-grams: is expected"
            remedy = "sections are in the order of their n-grams, from 1"
            raise InputError(problem, path=self.path, line=number, remedy=remedy)

    def _read_entry(self, text: str, number: int) -> None:
        section = self.sections[-1]
        words, log10_prob, log10_backoff = _parse_entry(text, section.order, self.path, number)
        words = [_SPELLINGS.get(word, word) for word in words]
        if section.order == 1:
            self._listed[words[0]] = self.numbers.setdefault(words[0], len(self.numbers))
        try:
            section.ids.extend([self._listed[word] for word in words])
        except KeyError as error:
            raise InputError(
                f"the word {error} occurs in an n-gram of order {section.order} but not among the "
                "unigrams",
                path=self.path,
                line=number,
            ) from error
        section.log10.extend((log10_prob, log10_backoff))
        section.lines.append(number)

    def require_complete(self) -> None:
        """Raise an error if the file has no end, or other n-grams than it declares."""
        declared = [count for _, count in sorted(self._declared.items())]
        found = [len(section) for section in self.sections]
        is_numbered = sorted(self._declared) == list(range(1, len(found) + 1))
        if not self._is_ended or not found or found != declared or not is_numbered:
            raise InputError(
                f"is not a complete ARPA file: it declares {declared} n-grams and contains {found}",
                path=self.path,
                remedy="create it again",
            )


def _parse_entry(line: str, order: int, path: Path, number: int) -> tuple[list[str], float, float]:
    fields = _BLANKS.split(line)
    try:
        if len(fields) not in (order + 1, order + 2):
            raise ValueError
        log10_prob = _number(fields[0])
        backoff = _number(fields[-1]) if len(fields) == order + 2 else 0.0
        if not (log10_prob <= _LARGEST_LOG10 and backoff <= _LARGEST_BACKOFF):
            raise ValueError
        return fields[1 : order + 1], log10_prob, backoff
    except ValueError:
        raise InputError(
            f"cannot read {line[:200]!r} as an n-gram of order {order}",
            path=path,
            line=number,
            remedy="expected: log10 probability (at most 0), words, optional log10 backoff",
        ) from None


def _number(text: str) -> float:
    """Read a number as other programs do; Python also accepts other digits and underscores."""
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    return float(text)


def write_arpa(path: Path, model: NgramModel, vocabulary: Vocabulary) -> None:
    """Write a model as an ARPA file, for use with other tools."""
    listed = [_listed_words(model), *(range(len(t)) for t in model.tables[1:])]
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8") as out:
        out.write("\\data\\\n")
        out.writelines(f"ngram {k}={len(rows)}\n" for k, rows in enumerate(listed, start=1))
        for level, rows in enumerate(listed):
            out.write(f"\n\\{level + 1}-grams:\n")
            out.writelines(_entries(model, vocabulary, level, rows))
        out.write("\n\\end\\\n")


def _listed_words(model: NgramModel) -> list[int]:
    """Return the unigrams; padding is one only if a file listed it as a word."""
    is_word = np.isfinite(model.log_probs[0][PAD_ID]) or any(
        (table.words == PAD_ID).any() or (level == 1 and (table.contexts == PAD_ID).any())
        for level, table in enumerate(model.tables[1:], start=1)
    )
    return list(range(0 if is_word else PAD_ID + 1, model.vocabulary_size))


def _entries(
    model: NgramModel, vocabulary: Vocabulary, level: int, rows: Sequence[int]
) -> Iterator[str]:
    is_highest = level == model.order - 1
    log10_probs = model.log_probs[level] / NATS_PER_LOG10
    log10_backoffs = model.log_backoffs[level] / NATS_PER_LOG10
    grams = _spelled(model, vocabulary, level)
    for row in rows:
        prob = log10_probs[row] if np.isfinite(log10_probs[row]) else LOG10_ZERO
        backoff = "" if is_highest else f"\t{max(log10_backoffs[row], LOG10_ZERO):.9g}"
        yield f"{prob:.9g}\t{grams[row]}{backoff}\n"


def _spelled(model: NgramModel, vocabulary: Vocabulary, level: int) -> list[str]:
    """Return the words of all n-grams of an order."""
    grams = list(vocabulary.tokens)
    for table in model.tables[1 : level + 1]:
        contexts, words = table.contexts.tolist(), table.words.tolist()
        grams = [
            f"{grams[context]} {vocabulary.tokens[word]}"
            for context, word in zip(contexts, words, strict=True)
        ]
    return grams
