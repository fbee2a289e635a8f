"""Surprisals of masked language models as published with the reflexive stimuli.

The file repeats the columns of the stimuli and adds ``bert_sentence``, in which the pronoun is
masked, and its ``surprisal`` in bits. No other word has a surprisal.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from gardenpath.errors import InputError
from gardenpath.eval.published.surprisal_files import ScoredSentence, number_of, read_lines
from gardenpath.eval.suites.formats.csv_tables import csv_columns, csv_rows

_BERT_COLUMNS = ("pronoun", "sentence_no_eos", "bert_sentence", "surprisal")
_LABELS = ("item", "mismatch_position")
_MASK = "***mask***"


def count_other_labels(path: Path, stimuli: Sequence[Mapping[str, str]]) -> int:
    """Return how many rows have another item or condition than the same row of the stimuli."""
    reader = csv.DictReader(io.StringIO("\n".join(read_lines(path)) + "\n"))
    pairs = zip((row for _, row in csv_rows(reader, path)), stimuli, strict=False)
    return sum(any(row.get(name) != own[name] for name in _LABELS) for row, own in pairs)


def read_bert(path: Path) -> list[ScoredSentence]:
    """Read one sentence per row; only the masked pronoun has a value, the others are NaN."""
    reader = csv.DictReader(io.StringIO("\n".join(read_lines(path)) + "\n"))
    names = csv_columns(reader, path)
    if missing := [column for column in _BERT_COLUMNS if column not in names]:
        raise InputError(f"the header has no column {', '.join(missing)}", path=path, line=1)
    sentences = []
    for line, row in csv_rows(reader, path):
        if any(row[column] is None for column in _BERT_COLUMNS):
            raise InputError("has too few columns", path=path, line=line)
        words = tuple(row["sentence_no_eos"].split())
        given = tuple(row["bert_sentence"].split())
        if given.count(_MASK) != 1:
            raise InputError(f"{row['bert_sentence']!r} has not one mask", path=path, line=line)
        place = given.index(_MASK)
        read = tuple(row["pronoun"] if word == _MASK else word for word in given)
        if [word.lower() for word in words] != [word.lower() for word in read]:
            problem = f"{row['bert_sentence']!r} is not {row['sentence_no_eos']!r} with a mask"
            raise InputError(problem, path=path, line=line)
        values = [math.nan] * len(words)
        values[place] = number_of(row["surprisal"], path, line)
        sentences.append(ScoredSentence(words, tuple(values), line))
    return sentences
