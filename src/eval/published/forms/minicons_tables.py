"""Scores of minicons: ``token_score`` and ``word_score`` as JSON, and tables of its command.

The functions return lists of ``(token, score)`` or ``(token, score, rank)`` per sentence. Scores
are log probabilities in nats, unless ``surprisal=True`` or ``base_two=True`` was set; the lists do
not say so. The first token of a model without a mark for the beginning has the score 0, in tables
none; both mean that it was not scored.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gardenpath.data.surprisal_forms import Unit
from gardenpath.errors import InputError
from gardenpath.eval.published.forms.foreign import ForeignFile, ForeignSentence, numbered
from gardenpath.eval.published.forms.json_records import is_json, log_prob, read_documents, text_of
from gardenpath.eval.published.import_settings import PairingRules
from gardenpath.eval.published.surprisal_files import ScoredSentence
from gardenpath.eval.published.token_tables import read_words
from gardenpath.eval.published.value_checks import StatedUnit
from gardenpath.eval.suites.formats.csv_tables import read_csv_table


def is_minicons(record: object) -> bool:
    """Whether a document is the list of the tokens of a sentence and their scores."""
    return isinstance(record, list) and bool(record) and all(map(_is_score, record))


def _is_score(entry: object) -> bool:
    return (
        isinstance(entry, list)
        and len(entry) in (2, 3)
        and isinstance(entry[0], str)
        and isinstance(entry[1], int | float)
    )


def read_minicons(path: Path, unit: Unit | None) -> ForeignFile:
    """Read the sentences of a file; the unit must be stated."""
    if unit is None:
        raise InputError(
            "minicons does not write the unit of its scores",
            path=path,
            remedy="name it: unit=log_prob_nats, its default; with surprisal=True nats, and with "
            "base_two=True log_prob_bits or bits",
        )
    stated = StatedUnit(unit=unit, source="unit=")
    if is_json(path):
        documents = read_documents(path)
        # One sentence alone is a list of scores.
        sentences = [documents] if is_minicons(documents) else documents
        found = [_minicons_sentence(one, number, path) for number, one in enumerate(sentences, start=1)]
        return ForeignFile(path=path, form="minicons", unit=stated, sentences=tuple(found))
    table = read_words(path, PairingRules(unit=unit), _columns(path, unit))
    if len(table.runs) != 1:
        raise InputError("has several models", path=path, remedy="write a file for each")
    return ForeignFile(
        path=path,
        form="minicons",
        unit=stated,
        sentences=numbered(one.scored for one in table.runs[0].sentences),
        is_by_text=False,
    )


def _columns(path: Path, unit: Unit) -> dict[str, str]:
    """Return the column of scores; tables may have log probabilities and surprisals."""
    header = read_csv_table(path).header
    wanted = "logprob" if unit.startswith("log_prob") else "surprisal"
    name = next((name for name in (wanted, "score") if name in header), None)
    return {} if name is None else {"surprisal": name}


def _minicons_sentence(content: Any, number: int, path: Path) -> ForeignSentence:
    if not is_minicons(content):
        raise InputError(
            f"sentence {number} is not a list of [token, score] or [token, score, rank]",
            path=path,
            line=number,
        )
    tokens = tuple(text_of(entry[0], "a token", path, number) for entry in content)
    values = tuple(log_prob(entry[1], path, number) for entry in content)
    return ForeignSentence(number=number, scored=ScoredSentence(tokens, values, number))
