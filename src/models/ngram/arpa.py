"""Read and write ARPA files, the format of n-gram models of SRILM, KenLM and others.

A file has one section of lines ``log10(p) <tab> words [<tab> log10(backoff)]`` for each order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from gardenpath.data.arrays import Ints
from gardenpath.data.words.unknown_words import Language
from gardenpath.data.words.vocabulary import PAD, SPECIALS, Vocabulary
from gardenpath.errors import InputError
from gardenpath.models.ngram.ngram import NgramModel
from gardenpath.models.ngram.ngram_trie import ABSENT, NgramTable
from gardenpath.store.files import open_text, whole_file
from gardenpath.units import NATS_PER_LOG10

# ARPA files write this value for a probability of zero.
_LOG10_ZERO = -99.0

# Numbers of more digits than any model could have are not numbers of n-grams.
_COUNT = re.compile(r"ngram[ \t]+([0-9]{1,3})[ \t]*=[ \t]*([0-9]{1,15})")
_SECTION = re.compile(r"\\([0-9]{1,3})-grams:")
# Words may contain other characters that look like blanks.
_BLANKS = re.compile(r"[ \t]+")
# Probabilities may be a little above 1 by rounding.
_LARGEST_LOG10 = 1e-3
# Larger backoff weights are not the exponents of numbers.
_LARGEST_BACKOFF = 300.0


def read_arpa(path: Path, *, language: Language = "en") -> tuple[NgramModel, Vocabulary]:
    """Read a model and its own vocabulary."""
    sections = _read_sections(path)
    words = [gram[0] for gram, _, _ in sections[0]]
    tokens = (*SPECIALS, *(word for word in words if word not in SPECIALS))
    vocabulary = Vocabulary(
        tokens=tokens,
        counts=(0,) * len(tokens),
        labels=(),
        language=language,
        min_count=1,
    )
    return _build(sections, vocabulary, path), vocabulary


_Section = list[tuple[list[str], float, float]]


def _read_sections(path: Path) -> list[_Section]:
    declared: list[int] = []
    sections: list[_Section] = []
    ended = False
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            text = line.strip(" \t\r\n")
            if not sections and (match := _COUNT.fullmatch(text)):
                declared.append(int(match[2]))
            elif match := _SECTION.fullmatch(text):
                sections.append([])
                if int(match[1]) != len(sections):
                    problem = f"{text} where \\{len(sections)}-grams: is expected"
                    remedy = "sections are in the order of their n-grams, from 1"
                    raise InputError(problem, path=path, line=number, remedy=remedy)
            elif text == "\\end\\":
                ended = True
                break
            elif text and sections:
                sections[-1].append(_parse_entry(text, len(sections), path, number))
    found = [len(section) for section in sections]
    if not ended or not sections or found != declared:
        raise InputError(
            f"is not a complete ARPA file: it declares {declared} n-grams and contains {found}",
            path=path,
            remedy="create it again; unpack gzipped files first",
        )
    return sections


def _parse_entry(line: str, order: int, path: Path, number: int) -> tuple[list[str], float, float]:
    fields = _BLANKS.split(line)
    try:
        if len(fields) not in (order + 1, order + 2):
            raise ValueError
        log10_prob = float(fields[0])
        backoff = float(fields[-1]) if len(fields) == order + 2 else 0.0
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


def _build(sections: list[_Section], vocabulary: Vocabulary, path: Path) -> NgramModel:
    size = len(vocabulary)
    tables = [NgramTable(np.arange(size), size)]
    log_probs, log_backoffs = [np.full(size, -np.inf)], [np.zeros(size)]
    for gram, log10_prob, log10_backoff in sections[0]:
        log_probs[0][vocabulary.ids[gram[0]]] = log10_prob * NATS_PER_LOG10
        log_backoffs[0][vocabulary.ids[gram[0]]] = log10_backoff * NATS_PER_LOG10
    for order, section in enumerate(sections[1:], start=2):
        ids = _ids(section, vocabulary, order, path)
        contexts = ids[:, 0]
        for level in range(1, order - 1):
            contexts = tables[level].find(contexts, ids[:, level])
        if (contexts == ABSENT).any():
            culprit = " ".join(section[int(np.argmax(contexts == ABSENT))][0])
            raise InputError(f"the context of {culprit!r} is not listed", path=path)
        keys = contexts * size + ids[:, -1]
        by_key = np.argsort(keys, kind="stable")
        values = np.array([(p, b) for _, p, b in section]).reshape(-1, 2) * NATS_PER_LOG10
        tables.append(NgramTable(keys[by_key], size))
        log_probs.append(values[by_key, 0])
        log_backoffs.append(values[by_key, 1])
    return NgramModel(tables=tables, log_probs=log_probs, log_backoffs=log_backoffs)


def _ids(section: _Section, vocabulary: Vocabulary, order: int, path: Path) -> Ints:
    try:
        rows = [[vocabulary.ids[word] for word in gram] for gram, _, _ in section]
    except KeyError as error:
        raise InputError(
            f"the word {error} occurs in an n-gram of order {order} but not among the unigrams",
            path=path,
        ) from error
    return np.array(rows, dtype=np.int64).reshape(-1, order)


def write_arpa(path: Path, model: NgramModel, vocabulary: Vocabulary) -> None:
    """Write a model as an ARPA file, for use with other tools."""
    listed = [_listed_words(vocabulary), *(range(len(t)) for t in model.tables[1:])]
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8") as out:
        out.write("\\data\\\n")
        out.writelines(f"ngram {k}={len(rows)}\n" for k, rows in enumerate(listed, start=1))
        for level, rows in enumerate(listed):
            out.write(f"\n\\{level + 1}-grams:\n")
            out.writelines(_entries(model, vocabulary, level, rows))
        out.write("\n\\end\\\n")


def _listed_words(vocabulary: Vocabulary) -> list[int]:
    return [number for number, token in enumerate(vocabulary.tokens) if token != PAD]


def _entries(
    model: NgramModel, vocabulary: Vocabulary, level: int, rows: Sequence[int]
) -> Iterator[str]:
    is_highest = level == model.order - 1
    log10_probs = model.log_probs[level] / NATS_PER_LOG10
    log10_backoffs = model.log_backoffs[level] / NATS_PER_LOG10
    grams = _spelled(model, vocabulary, level)
    for row in rows:
        prob = log10_probs[row] if np.isfinite(log10_probs[row]) else _LOG10_ZERO
        backoff = "" if is_highest else f"\t{max(log10_backoffs[row], _LOG10_ZERO):.9g}"
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
