"""Samples of lm-evaluation-harness (``samples_TASK_DATE.jsonl``).

Each line has the requests of one document, ``arguments``: pairs of a context and a continuation, or
single texts; and their responses, ``filtered_resps``: the log likelihood of the continuation in
nats and whether it is the most probable one, as text in the files. Only requests without a context
give the probability of a sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gardenpath.data.surprisal_forms import Unit
from gardenpath.errors import InputError
from gardenpath.eval.published.forms.foreign import ForeignFile, ForeignSentence, form_unit
from gardenpath.eval.published.forms.json_records import JsonObject, log_prob, read_records, text_of
from gardenpath.eval.published.surprisal_files import ScoredSentence

_RESPONSES = ("filtered_resps", "resps")


def is_lm_eval(record: object) -> bool:
    """Whether a document has the requests and responses of the harness."""
    return (
        isinstance(record, Mapping)
        and "arguments" in record
        and any(key in record for key in _RESPONSES)
    )


def read_lm_eval(path: Path, unit: Unit | None) -> ForeignFile:
    """Read the sentences of a file and their log likelihoods."""
    sentences: list[ForeignSentence] = []
    for number, record in enumerate(read_records(path), start=1):
        for text, value in _requests(record, number, path):
            scored = ScoredSentence((text,), (value,), number)
            sentences.append(ForeignSentence(number=number, scored=scored, text=text))
    return ForeignFile(
        path=path,
        form="lm_eval",
        unit=form_unit("lm_eval", "log_prob_nats", unit),
        sentences=tuple(sentences),
        is_whole=True,
    )


def _requests(record: JsonObject, number: int, path: Path) -> Iterator[tuple[str, float]]:
    arguments = _arguments(record.get("arguments"), number, path)
    key = next((key for key in _RESPONSES if isinstance(record.get(key), list)), None)
    responses = record[key] if key else []
    if len(arguments) != len(responses):
        problem = f"document {number}: {len(arguments)} requests, {len(responses)} responses"
        raise InputError(problem, path=path, line=number)
    for argument, response in zip(arguments, responses, strict=True):
        *context, text = argument
        if any(part.strip() for part in context):
            raise InputError(
                f"document {number}: {text.strip()!r} is scored after {context[0].strip()!r}, so "
                "its number is not the probability of a sentence",
                path=path,
                line=number,
                remedy="only tasks without a context can be read, such as those of BLiMP",
            )
        if not text.strip():
            raise InputError(f"document {number}: a request is empty", path=path, line=number)
        yield " ".join(text.split()), _likelihood(response, number, path)


def _arguments(content: Any, number: int, path: Path) -> list[list[str]]:
    """Return the arguments of each request: lists, or objects ``gen_args_0: {arg_0: …}``."""
    requests = list(content.values()) if isinstance(content, Mapping) else content
    found = []
    for one in requests if isinstance(requests, list) else ():
        parts = list(one.values()) if isinstance(one, Mapping) else one
        if not isinstance(parts, list) or not 1 <= len(parts) <= 2:
            raise InputError(
                f"document {number}: a request does not have a context and a continuation",
                path=path,
                line=number,
                remedy="tasks that generate text have no log likelihoods",
            )
        found.append([text_of(part, "an argument", path, number) for part in parts])
    if not found:
        raise InputError(f"document {number}: no arguments", path=path, line=number)
    return found


def _likelihood(response: Any, number: int, path: Path) -> float:
    """Return the log likelihood of a response: ``[value, greedy]``, possibly in another list."""
    value = response
    while isinstance(value, list) and value and (len(value) == 1 or len(value) == 2):
        value = value[0]
    return log_prob(value, path, number)
