"""The forms of surprisal files, and the readers of those that other programs write as JSON.

The import of tables and adopted models ask :func:`form_of` for the form of a file and
:func:`read_file` for its sentences; tables with one row per word are read by ``files``. The content
of a file is never trusted: whatever is not as its form says is refused, with the number of the
sentence. Nothing is converted to bits or compared with suites here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from gardenpath.data.readers.base import SurprisalForm, Unit
from gardenpath.errors import InputError
from gardenpath.eval.published.files import (
    FileRun,
    PairingRules,
    ScoredSentence,
    SurprisalFile,
    is_number,
    is_token_table,
    read_token_table,
    read_words,
    unit_or,
)
from gardenpath.eval.published.words import readable_sentences
from gardenpath.eval.suites.nodes import read_csv_table
from gardenpath.safe_text import MalformedTextError, parse_json
from gardenpath.store.files import read_text
from gardenpath.util import enumeration

JsonObject = Mapping[str, Any]


def is_json(path: Path) -> bool:
    """Whether a file begins as JSON does: with a bracket, and not as a table of words does."""
    try:
        start = read_text(path).removeprefix("\N{BYTE ORDER MARK}").lstrip()[:200]
    except InputError:
        return False
    # The first word of a table without a header may be a bracket.
    return start[:1] in ("{", "[") and start[1:].lstrip()[:1] in ("{", "[", '"', "]", "}")


def read_documents(path: Path) -> list[Any]:
    """Return the documents of a file: one, one per line, or those of a list."""
    text = read_text(path).removeprefix("\N{BYTE ORDER MARK}")
    try:
        content = parse_json(text)
    except MalformedTextError as whole:
        lines = [(n, line) for n, line in enumerate(text.split("\n"), start=1) if line.strip()]
        if len(lines) < 2:
            raise InputError(whole.problem, path=path, line=whole.line) from whole
        documents = []
        for number, line in lines:
            try:
                documents.append(parse_json(line))
            except MalformedTextError as error:
                raise InputError(error.problem, path=path, line=number) from error
        return documents
    return content if isinstance(content, list) else [content]


def _records(path: Path) -> list[JsonObject]:
    documents = read_documents(path)
    for number, document in enumerate(documents, start=1):
        if not isinstance(document, Mapping):
            raise InputError(f"document {number} is not an object", path=path)
    return documents


@dataclass(frozen=True, slots=True)
class _Place:
    """A sentence of a file by its number, from 1, for messages about its content."""

    path: Path
    number: int

    def error(self, problem: str, remedy: str = "", *, what: str = "sentence") -> InputError:
        problem = f"{what} {self.number}: {problem}"
        return InputError(problem, path=self.path, line=self.number, remedy=remedy)

    def log_prob(self, value: object) -> float:
        """Return a number that a program wrote as a number or as text."""
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise self.error(f"{value!r} is not a number")
        if isinstance(value, str) and not is_number(value):
            raise self.error(f"{value[:50]!r} is not a number")
        try:
            return float(value)
        except OverflowError:
            return -math.inf if str(value).startswith("-") else math.inf

    def list_of(self, record: JsonObject, key: str) -> Sequence[Any]:
        values = record.get(key)
        if not isinstance(values, list):
            raise self.error(f"{key} is not a list")
        return values

    def text(self, value: object, what: str) -> str:
        if not isinstance(value, str):
            raise self.error(f"{what} is not text")
        return value

    def scored(self, tokens: Sequence[str], values: Sequence[float]) -> ScoredSentence:
        return ScoredSentence(tuple(tokens), tuple(values), self.number)


def _file(
    path: Path, form: SurprisalForm, sentences: list[ScoredSentence], usual: Unit,
    unit: Unit | None, *, is_by_text: bool = True,
) -> SurprisalFile:  # fmt: skip
    """Return a file in the unit of its form, or in the one that the user states."""
    stated = unit_or(unit, usual, f"the form {form}")
    runs = (FileRun(sentences=sentences),)
    return SurprisalFile(path=path, form=form, unit=stated, runs=runs, is_by_text=is_by_text)


# Log probabilities (nats) of prompts, as vLLM and OpenAI's and compatible servers return them.
#
# ``prompt_logprobs`` of vLLM is a list with an entry per token of the prompt: null for the first
# token, which has no probability, then an object from token numbers to ``{logprob, rank,
# decoded_token}``. An object may contain more probable tokens, too; the token of the prompt is the
# first, or the one in ``prompt_token_ids``. ``logprobs`` of completions with ``echo`` has the lists
# ``tokens`` and ``token_logprobs``, null for the first token.

_PROMPT = "prompt_logprobs"


def _is_vllm(record: object) -> bool:
    return isinstance(record, Mapping) and any(
        isinstance(part.get(_PROMPT), list) for part in (record, *_choices(record))
    )


def _is_openai(record: object) -> bool:
    return isinstance(record, Mapping) and any(
        isinstance(choice.get("logprobs"), Mapping) and "token_logprobs" in choice["logprobs"]
        for choice in _choices(record)
    )


def _choices(record: JsonObject) -> list[JsonObject]:
    choices = record.get("choices")
    if not isinstance(choices, list):
        return []
    return [choice for choice in choices if isinstance(choice, Mapping)]


def _read_prompts(path: Path, unit: Unit | None, *, form: SurprisalForm) -> SurprisalFile:
    read = _prompt_sentence if form == "vllm" else _echo_sentence
    sentences: list[ScoredSentence] = []
    for record in _records(path):
        is_single = form == "vllm" and isinstance(record.get(_PROMPT), list)
        for part in [record] if is_single else _parts(record):
            sentences.append(read(record, part, _Place(path, len(sentences) + 1)))
    return _file(path, form, sentences, "log_prob_nats", unit)


def _parts(record: JsonObject) -> list[JsonObject]:
    """Return the parts of a response, in the order of the prompts."""
    choices = _choices(record) or [record]
    if all(type(choice.get("index")) is int for choice in choices):
        choices = sorted(choices, key=lambda choice: int(choice["index"]))
    return choices


def _prompt_sentence(record: JsonObject, part: JsonObject, place: _Place) -> ScoredSentence:
    entries = place.list_of(part, _PROMPT)
    if not entries or entries[0] is not None:
        raise place.error(f"the first entry of {_PROMPT} is not null")
    stated = part.get("prompt_token_ids") or record.get("prompt_token_ids")
    ids = stated if isinstance(stated, list) else [None] * len(entries)
    if len(ids) != len(entries):
        raise place.error(f"{len(entries)} entries, but {len(ids)} prompt_token_ids")
    tokens, values = [], []
    for entry, token_id in zip(entries[1:], ids[1:], strict=True):
        if not isinstance(entry, Mapping) or not entry:
            raise place.error(f"an entry of {_PROMPT} is not an object with tokens")
        # Beside the token of the prompt, an entry may have more probable ones.
        key = next(iter(entry)) if token_id is None else str(token_id)
        chosen = entry.get(key)
        if not isinstance(chosen, Mapping):
            raise place.error(f"{_PROMPT} has no token {str(key)[:50]!r}")
        tokens.append(place.text(chosen.get("decoded_token"), "decoded_token"))
        values.append(_prompt_value(chosen.get("logprob"), place))
    prompt = part.get("prompt", record.get("prompt"))
    return replace(
        place.scored(tokens, values),
        text=prompt if isinstance(prompt, str) else "",
        is_first_hidden=True,
    )


def _echo_sentence(record: JsonObject, part: JsonObject, place: _Place) -> ScoredSentence:
    logprobs = part.get("logprobs")
    if not isinstance(logprobs, Mapping):
        raise place.error("no logprobs", "ask for them with echo=true and logprobs=0")
    tokens = place.list_of(logprobs, "tokens")
    numbers = place.list_of(logprobs, "token_logprobs")
    if len(tokens) != len(numbers):
        raise place.error(f"{len(tokens)} tokens, but {len(numbers)} log probabilities")
    kept = len(tokens)
    # Tokens after the prompt are not counted by responses to several prompts.
    usage = record.get("usage")
    generated = usage.get("completion_tokens") if isinstance(usage, Mapping) else None
    if len(_choices(record)) == 1 and isinstance(generated, int) and generated > 0:
        kept -= generated
    if kept < 1:
        raise place.error("no tokens of a prompt", "ask for them with echo=true")
    values = [
        math.nan if value is None and number == 0 else _prompt_value(value, place)
        for number, value in enumerate(numbers[:kept])
    ]
    return place.scored([place.text(token, "a token") for token in tokens[:kept]], values)


def _prompt_value(value: object, place: _Place) -> float:
    log_prob = place.log_prob(value)
    # JSON has no infinity: vLLM writes this for a probability of zero.
    return -math.inf if log_prob == -9999.0 else log_prob


# Samples of lm-evaluation-harness (``samples_TASK_DATE.jsonl``).
#
# Each line has the requests of one document, ``arguments``: pairs of a context and a continuation,
# or single texts; and their responses, ``filtered_resps``: the log likelihood of the continuation
# in nats and whether it is the most probable one, as text in the files. Only requests without a
# context give the probability of a sentence.

_RESPONSES = ("filtered_resps", "resps")


def _is_lm_eval(record: object) -> bool:
    return (
        isinstance(record, Mapping)
        and "arguments" in record
        and any(key in record for key in _RESPONSES)
    )


def _read_lm_eval(path: Path, unit: Unit | None) -> SurprisalFile:
    sentences = [
        replace(place.scored([text], [value]), text=text)
        for number, record in enumerate(_records(path), start=1)
        for place in [_Place(path, number)]
        for text, value in _requests(record, place)
    ]
    return replace(_file(path, "lm_eval", sentences, "log_prob_nats", unit), is_whole=True)


def _requests(record: JsonObject, place: _Place) -> Iterator[tuple[str, float]]:
    arguments = _arguments(record.get("arguments"), place)
    key = next((key for key in _RESPONSES if isinstance(record.get(key), list)), None)
    responses = record[key] if key else []
    if len(arguments) != len(responses):
        problem = f"{len(arguments)} requests, {len(responses)} responses"
        raise place.error(problem, what="document")
    for (*context, text), response in zip(arguments, responses, strict=True):
        if any(part.strip() for part in context):
            raise place.error(
                f"{text.strip()!r} is scored after {context[0].strip()!r}, so its number is not "
                "the probability of a sentence",
                "only tasks without a context can be read, such as those of BLiMP",
                what="document",
            )
        if not text.strip():
            raise place.error("a request is empty", what="document")
        # The log likelihood is in [value, greedy], possibly in another list.
        while isinstance(response, list) and len(response) in (1, 2):
            response = response[0]
        yield " ".join(text.split()), place.log_prob(response)


def _arguments(content: Any, place: _Place) -> list[list[str]]:
    """Return the arguments of each request: lists, or objects ``gen_args_0: {arg_0: …}``."""
    requests = list(content.values()) if isinstance(content, Mapping) else content
    arguments = []
    for request in requests if isinstance(requests, list) else ():
        parts = list(request.values()) if isinstance(request, Mapping) else request
        if not isinstance(parts, list) or not 1 <= len(parts) <= 2:
            raise place.error(
                "a request does not have a context and a continuation",
                "tasks that generate text have no log likelihoods",
                what="document",
            )
        arguments.append([place.text(part, "an argument") for part in parts])
    if not arguments:
        raise place.error("no arguments", what="document")
    return arguments


# Scores of minicons: ``token_score`` and ``word_score`` as JSON, and tables of its command.
#
# The functions return lists of ``(token, score)`` or ``(token, score, rank)`` per sentence. Scores
# are log probabilities in nats, unless ``surprisal=True`` or ``base_two=True`` was set; the lists
# do not say so. The first token of a model without a mark for the beginning has the score 0, in
# tables none; both mean that it was not scored.


def _is_minicons(record: object) -> bool:
    return (
        isinstance(record, list)
        and bool(record)
        and all(isinstance(entry, list) and len(entry) in (2, 3) for entry in record)
        and all(isinstance(part[0], str) and isinstance(part[1], int | float) for part in record)
    )


def _read_minicons(path: Path, unit: Unit | None) -> SurprisalFile:
    if unit is None:
        raise InputError(
            "minicons does not write the unit of its scores",
            path=path,
            remedy="name it: unit=log_prob_nats, its default; with surprisal=True nats, and with "
            "base_two=True log_prob_bits or bits",
        )
    if not is_json(path):
        return _read_minicons_table(path, unit)
    documents = read_documents(path)
    sentences = []
    # One sentence alone is a list of scores.
    for number, entries in enumerate([documents] if _is_minicons(documents) else documents, 1):
        if not _is_minicons(entries):
            problem = f"sentence {number} is not a list of [token, score] or [token, score, rank]"
            raise InputError(problem, path=path, line=number)
        place = _Place(path, number)
        values = [place.log_prob(entry[1]) for entry in entries]
        sentences.append(place.scored([entry[0] for entry in entries], values))
    return _file(path, "minicons", sentences, unit, unit)


def _read_minicons_table(path: Path, unit: Unit) -> SurprisalFile:
    # Tables may have log probabilities and surprisals.
    wanted = "logprob" if unit.startswith("log_prob") else "surprisal"
    header = read_csv_table(path).header
    column = next((name for name in (wanted, "score") if name in header), None)
    table = read_words(path, PairingRules(unit=unit), {"surprisal": column} if column else {})
    if len(table.runs) != 1:
        raise InputError("has several models", path=path, remedy="write a file for each")
    # The names in the table are not those of suites, items and conditions.
    sentences = [ScoredSentence(row.tokens, row.values, row.line) for row in table.sentences]
    return _file(path, "minicons", sentences, unit, unit, is_by_text=False)


# Results of SyntaxGym: a suite with ``metric_value`` for every region.
#
# Only the sums are read. A region is one token, the surprisal of which is the sum over the region;
# it cannot be divided among its words.

_METRIC = "metric_value"


def _is_syntaxgym(record: object) -> bool:
    if not isinstance(record, Mapping) or not {"region_meta", "items"} <= set(record):
        return False
    # The first region of the first condition of the first item shows it.
    content: Any = record
    members: list[Any] | None = []
    for key in ("items", "conditions", "regions"):
        members = content.get(key) if isinstance(content, Mapping) else None
        if not isinstance(members, list) or not members:
            return False
        content = members[0]
    return any(_METRIC in region for region in members or () if isinstance(region, Mapping))


def _read_syntaxgym(path: Path, unit: Unit | None) -> SurprisalFile:
    records = _records(path)
    if len(records) != 1:
        raise InputError(f"has {len(records)} documents instead of one suite", path=path)
    sentences: list[ScoredSentence] = []
    for item in _Place(path, 1).list_of(records[0], "items"):
        place = _Place(path, len(sentences) + 1)
        for condition in place.list_of(_object(item, path), "conditions"):
            place = _Place(path, len(sentences) + 1)
            sentences.append(_region_sentence(item, _object(condition, path), place))
    return _file(path, "syntaxgym", sentences, "bits", unit, is_by_text=False)


def _object(value: Any, path: Path) -> JsonObject:
    if not isinstance(value, Mapping):
        raise InputError("items and conditions must be objects", path=path)
    return value


def _region_sentence(item: JsonObject, condition: JsonObject, place: _Place) -> ScoredSentence:
    tokens, values = [], []
    name = str(condition.get("condition_name", ""))
    where = f"item {item.get('item_number')}, condition {name}"
    for region in place.list_of(condition, "regions"):
        content = _object(region, place.path).get("content")
        value = region.get(_METRIC)
        if not isinstance(content, str) or not isinstance(value, Mapping) or "sum" not in value:
            problem = f"{where}: a region has no content or no sum in metric_value"
            remedy = "compute it with the metric 'sum' or 'all'"
            raise InputError(problem, path=place.path, remedy=remedy)
        total = math.nan if value["sum"] is None else place.log_prob(value["sum"])
        if content.strip():
            tokens.append(content)
            values.append(total)
        elif total not in (0.0, math.inf) and not math.isnan(total):
            raise InputError(f"{where}: {total} for no words", path=place.path)
    number = str(item.get("item_number", ""))
    return replace(place.scored(tokens, values), item=number, condition=name)


# Tables and LM Zoo's form are told from these by their first character.
_Reader = Callable[[Path, Unit | None], SurprisalFile]
_FORMS: Mapping[SurprisalForm, tuple[Callable[[object], bool], _Reader]] = {
    "lm_eval": (_is_lm_eval, _read_lm_eval),
    "vllm": (_is_vllm, partial(_read_prompts, form="vllm")),
    "openai": (_is_openai, partial(_read_prompts, form="openai")),
    "minicons": (_is_minicons, _read_minicons),
    "syntaxgym": (_is_syntaxgym, _read_syntaxgym),
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
    return [form for form, (fits, _) in _FORMS.items() if any(map(fits, sample))]


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
    fitting = _fitting(path)
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        remedy = f"name the one to read, as in form={fitting[0]}"
        raise InputError(f"fits several forms: {enumeration(fitting)}", path=path, remedy=remedy)
    raise InputError(
        "is JSON in no known form of surprisals",
        path=path,
        remedy=f"known are {enumeration(list(_FORMS))}; tables of Gardenpath are read as .tsv or "
        ".csv",
    )


def read_file(
    path: Path, form: SurprisalForm, rules: PairingRules, columns: Mapping[str, str] | None = None,
    usual: Mapping[str, str] | None = None, selecting: Sequence[str] = (),
) -> SurprisalFile:  # fmt: skip
    """Read a file of any form; tokens of all forms but tables are readable text afterwards.

    The last three are for tables (see :func:`read_words`).
    """
    if form == "table":
        return read_words(path, rules, columns or {}, usual, selecting)
    if form == "lm_zoo":
        sentences = read_token_table(path)
        file = _file(path, form, sentences, "bits", rules.unit, is_by_text=False)
    else:
        _, read = _FORMS[form]
        file = read(path, rules.unit)
    if not file.sentences:
        raise InputError("contains no sentences", path=path)
    if file.is_whole:
        return file
    return replace(file, runs=(FileRun(sentences=readable_sentences(file.sentences, path)),))
