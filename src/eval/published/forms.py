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

from gardenpath.data.readers.base import SurprisalForm, Unit
from gardenpath.errors import InputError
from gardenpath.eval.published.checks import StatedUnit
from gardenpath.eval.published.files import PairingRules, ScoredSentence, read_token_table
from gardenpath.eval.published.token_tables import (
    ForeignFile,
    ForeignSentence,
    JsonObject,
    form_unit,
    is_json,
    is_token_table,
    list_of,
    log_prob,
    numbered,
    read_documents,
    read_records,
    read_words,
    readable_sentences,
    text_of,
)
from gardenpath.eval.suites.nodes import read_csv_table
from gardenpath.util import enumeration

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


# ----------------------------------------------------------------------------
# Samples of lm-evaluation-harness (``samples_TASK_DATE.jsonl``).
#
# Each line has the requests of one document, ``arguments``: pairs of a context and a continuation,
# or single texts; and their responses, ``filtered_resps``: the log likelihood of the continuation
# in nats and whether it is the most probable one, as text in the files. Only requests without a
# context give the probability of a sentence.


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


# ----------------------------------------------------------------------------
# Scores of minicons: ``token_score`` and ``word_score`` as JSON, and tables of its command.
#
# The functions return lists of ``(token, score)`` or ``(token, score, rank)`` per sentence. Scores
# are log probabilities in nats, unless ``surprisal=True`` or ``base_two=True`` was set; the lists
# do not say so. The first token of a model without a mark for the beginning has the score 0, in
# tables none; both mean that it was not scored.


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
        found = [
            _minicons_sentence(one, number, path) for number, one in enumerate(sentences, start=1)
        ]
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


# ----------------------------------------------------------------------------
# Results of SyntaxGym: a suite with ``metric_value`` for every region.
#
# Only the sums are read. A region is one token, the surprisal of which is the sum over the region;
# it cannot be divided among its words.


_METRIC = "metric_value"


def is_syntaxgym(record: object) -> bool:
    """Whether a document is a suite with values of regions."""
    if not isinstance(record, Mapping) or not {"region_meta", "items"} <= set(record):
        return False
    return any(_METRIC in region for region in _first_regions(record["items"]))


def _first_regions(items: Any) -> list[JsonObject]:
    item = items[0] if isinstance(items, list) and items else None
    conditions = item.get("conditions") if isinstance(item, Mapping) else None
    first = conditions[0] if isinstance(conditions, list) and conditions else None
    regions = first.get("regions") if isinstance(first, Mapping) else None
    return [one for one in regions if isinstance(one, Mapping)] if isinstance(regions, list) else []


def read_syntaxgym_results(path: Path, unit: Unit | None) -> ForeignFile:
    """Read the sums of the regions of a suite."""
    records = read_records(path)
    if len(records) != 1:
        raise InputError(f"has {len(records)} documents instead of one suite", path=path)
    sentences: list[ForeignSentence] = []
    for item in list_of(records[0], "items", path, 1):
        for condition in list_of(_object(item, path), "conditions", path, len(sentences) + 1):
            sentences.append(
                _region_sentence(item, _object(condition, path), len(sentences) + 1, path)
            )
    return ForeignFile(
        path=path,
        form="syntaxgym",
        unit=form_unit("syntaxgym", "bits", unit),
        sentences=tuple(sentences),
        is_by_text=False,
    )


def _object(value: Any, path: Path) -> JsonObject:
    if not isinstance(value, Mapping):
        raise InputError("items and conditions must be objects", path=path)
    return value


def _region_sentence(
    item: JsonObject, condition: JsonObject, number: int, path: Path
) -> ForeignSentence:
    tokens, values = [], []
    name = str(condition.get("condition_name", ""))
    for region in list_of(condition, "regions", path, number):
        content = _object(region, path).get("content")
        value = region.get(_METRIC)
        if not isinstance(content, str) or not isinstance(value, Mapping) or "sum" not in value:
            raise InputError(
                f"item {item.get('item_number')}, condition {name}: a region has no content or no "
                "sum in metric_value",
                path=path,
                remedy="compute it with the metric 'sum' or 'all'",
            )
        total = math.nan if value["sum"] is None else log_prob(value["sum"], path, number)
        if content.strip():
            tokens.append(content)
            values.append(total)
        elif total not in (0.0, math.inf) and not math.isnan(total):
            problem = f"item {item.get('item_number')}, condition {name}: {total} for no words"
            raise InputError(problem, path=path)
    return ForeignSentence(
        number=number,
        scored=ScoredSentence(tuple(tokens), tuple(values), number),
        item=str(item.get("item_number", "")),
        condition=name,
    )


# ----------------------------------------------------------------------------
# Which form a file has, and its reader.


_SIGNS: Mapping[SurprisalForm, Callable[[object], bool]] = {
    "lm_eval": is_lm_eval,
    "vllm": is_vllm,
    "openai": is_openai,
    "minicons": is_minicons,
    "syntaxgym": is_syntaxgym,
}


def may_have_form(path: Path, form: SurprisalForm) -> bool:
    """Whether a file in a folder is one of those to read."""
    if not is_json(path):
        return form in ("auto", "table", "lm_zoo", "minicons") and is_token_table(path)
    try:
        return form in _fitting(path) if form != "auto" else bool(_fitting(path))
    except InputError:
        return False


def _fitting(path: Path) -> list[SurprisalForm]:
    documents = read_documents(path)
    sample: list[object] = [documents, *documents[:1]]
    return [name for name, fits in _SIGNS.items() if any(map(fits, sample))]


def form_of(path: Path, form: SurprisalForm = "auto") -> SurprisalForm:
    """Return the form of a file by its content; a file that fits several is refused.

    Everything that is not JSON is a table. Tables of LM Zoo and of minicons have columns of the
    same names in different units: they are tables whose unit is not known, unless their form or
    their unit is stated.
    """
    if form != "auto":
        return form
    if not is_json(path):
        return "table"
    found = _fitting(path)
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(
            f"fits several forms: {enumeration(found)}",
            path=path,
            remedy=f"name the one to read, as in form={found[0]}",
        )
    raise InputError(
        "is JSON in no known form of surprisals",
        path=path,
        remedy=f"known are {enumeration(list(_SIGNS))}; tables of Gardenpath are read as .tsv or "
        ".csv",
    )


def read_foreign(path: Path, form: SurprisalForm, unit: Unit | None) -> ForeignFile:
    """Read a file of a form other than ``table``; tokens are readable text afterwards."""
    found = _READERS[form](path, unit)
    if not found.sentences:
        raise InputError("contains no sentences", path=path)
    if found.is_whole:
        return found
    return ForeignFile(
        path=path,
        form=form,
        unit=found.unit,
        sentences=readable_sentences(found.sentences, path),
        is_by_text=found.is_by_text,
    )


def _read_lm_zoo(path: Path, unit: Unit | None) -> ForeignFile:
    return ForeignFile(
        path=path,
        form="lm_zoo",
        unit=form_unit("lm_zoo", "bits", unit),
        sentences=numbered(read_token_table(path)),
        is_by_text=False,
    )


_READERS: Mapping[SurprisalForm, Callable[[Path, Unit | None], ForeignFile]] = {
    "lm_zoo": _read_lm_zoo,
    "minicons": read_minicons,
    "lm_eval": read_lm_eval,
    "vllm": read_vllm,
    "openai": read_openai,
    "syntaxgym": read_syntaxgym_results,
}
