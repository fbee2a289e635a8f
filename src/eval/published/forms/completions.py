"""Log probabilities of prompts, as vLLM and OpenAI's and compatible servers return them.

``prompt_logprobs`` of vLLM is a list with an entry per token of the prompt: null for the first
token, which has no probability, then an object from token numbers to ``{logprob, rank,
decoded_token}``. An object may contain more probable tokens, too; the token of the prompt is the
first, or the one in ``prompt_token_ids``. ``logprobs`` of completions with ``echo`` has the lists
``tokens`` and ``token_logprobs``, null for the first token. Log probabilities are in nats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gardenpath.data.surprisal_forms import SurprisalForm, Unit
from gardenpath.errors import InputError
from gardenpath.eval.published.forms.foreign import ForeignFile, ForeignSentence, form_unit
from gardenpath.eval.published.forms.json_records import (
    JsonObject,
    list_of,
    log_prob,
    read_records,
    text_of,
)
from gardenpath.eval.published.surprisal_files import ScoredSentence

# What vLLM writes for a probability of zero, because JSON has no infinity.
_ZERO_PROBABILITY = -9999.0

_PROMPT = "prompt_logprobs"

_Read = Callable[[JsonObject, JsonObject, int, Path], ForeignSentence]


def is_vllm(record: object) -> bool:
    """Whether a document has prompt log probabilities."""
    return isinstance(record, Mapping) and any(
        isinstance(one.get(_PROMPT), list) for one in (record, *_choices(record))
    )


def is_openai(record: object) -> bool:
    """Whether a document has the tokens of a completion and their log probabilities."""
    return isinstance(record, Mapping) and any(
        isinstance(one.get("logprobs"), Mapping) and "token_logprobs" in one["logprobs"]
        for one in _choices(record)
    )


def read_vllm(path: Path, unit: Unit | None) -> ForeignFile:
    """Read prompt log probabilities."""
    return _read(path, "vllm", unit, _prompt_sentence)


def read_openai(path: Path, unit: Unit | None) -> ForeignFile:
    """Read completions with ``echo``."""
    return _read(path, "openai", unit, _echo_sentence)


def _read(path: Path, form: SurprisalForm, unit: Unit | None, read: _Read) -> ForeignFile:
    sentences: list[ForeignSentence] = []
    for record in read_records(path):
        for one in _parts(record, form):
            sentences.append(read(record, one, len(sentences) + 1, path))
    stated = form_unit(form, "log_prob_nats", unit)
    return ForeignFile(path=path, form=form, unit=stated, sentences=tuple(sentences))


def _choices(record: JsonObject) -> list[JsonObject]:
    choices = record.get("choices")
    return [one for one in choices if isinstance(one, Mapping)] if isinstance(choices, list) else []


def _parts(record: JsonObject, form: SurprisalForm) -> Iterator[JsonObject]:
    """Yield the parts of a response, in the order of the prompts."""
    if form == "vllm" and isinstance(record.get(_PROMPT), list):
        yield record
        return
    choices = _choices(record) or [record]
    numbers = [one.get("index") for one in choices]
    if all(type(number) is int for number in numbers):
        choices = sorted(choices, key=lambda one: int(one["index"]))
    yield from choices


def _prompt_sentence(
    record: JsonObject, part: JsonObject, number: int, path: Path
) -> ForeignSentence:
    entries = list_of(part, _PROMPT, path, number)
    if not entries or entries[0] is not None:
        problem = f"sentence {number}: the first entry of {_PROMPT} is not null"
        raise InputError(problem, path=path, line=number)
    ids = part.get("prompt_token_ids") or record.get("prompt_token_ids")
    if isinstance(ids, list) and len(ids) != len(entries):
        problem = f"sentence {number}: {len(entries)} entries, but {len(ids)} prompt_token_ids"
        raise InputError(problem, path=path, line=number)
    tokens, values = [], []
    for place, entry in enumerate(entries[1:], start=1):
        chosen = _chosen(entry, ids[place] if isinstance(ids, list) else None, number, path)
        tokens.append(text_of(chosen.get("decoded_token"), "decoded_token", path, number))
        values.append(_value(chosen.get("logprob"), path, number))
    prompt = part.get("prompt", record.get("prompt"))
    return ForeignSentence(
        number=number,
        scored=ScoredSentence(tuple(tokens), tuple(values), number),
        text=prompt if isinstance(prompt, str) else "",
        is_first_hidden=True,
    )


def _chosen(entry: Any, token_id: Any, number: int, path: Path) -> JsonObject:
    """Return the entry of the token of the prompt among those of more probable tokens."""
    if not isinstance(entry, Mapping) or not entry:
        problem = f"sentence {number}: an entry of {_PROMPT} is not an object with tokens"
        raise InputError(problem, path=path, line=number)
    key = next(iter(entry)) if token_id is None else str(token_id)
    found = entry.get(key)
    if not isinstance(found, Mapping):
        problem = f"sentence {number}: {_PROMPT} has no token {str(key)[:50]!r}"
        raise InputError(problem, path=path, line=number)
    return found


def _echo_sentence(
    record: JsonObject, part: JsonObject, number: int, path: Path
) -> ForeignSentence:
    logprobs = part.get("logprobs")
    if not isinstance(logprobs, Mapping):
        raise InputError(
            f"sentence {number}: no logprobs",
            path=path,
            line=number,
            remedy="ask for them with echo=true and logprobs=0",
        )
    names = list_of(logprobs, "tokens", path, number)
    numbers = list_of(logprobs, "token_logprobs", path, number)
    if len(names) != len(numbers):
        problem = f"sentence {number}: {len(names)} tokens, but {len(numbers)} log probabilities"
        raise InputError(problem, path=path, line=number)
    kept = len(names) - _generated(record, len(_choices(record)))
    if kept < 1:
        problem = f"sentence {number}: no tokens of a prompt"
        raise InputError(problem, path=path, line=number, remedy="ask for them with echo=true")
    values = [
        math.nan if value is None and place == 0 else _value(value, path, number)
        for place, value in enumerate(numbers[:kept])
    ]
    tokens = [text_of(name, "a token", path, number) for name in names[:kept]]
    scored = ScoredSentence(tuple(tokens), tuple(values), number)
    return ForeignSentence(number=number, scored=scored)


def _generated(record: JsonObject, choices: int) -> int:
    """Return the number of tokens after the prompt, which a response to one prompt says."""
    usage = record.get("usage")
    count = usage.get("completion_tokens") if isinstance(usage, Mapping) else None
    return count if choices == 1 and isinstance(count, int) and count > 0 else 0


def _value(value: Any, path: Path, number: int) -> float:
    found = log_prob(value, path, number)
    return -math.inf if found == _ZERO_PROBABILITY else found
