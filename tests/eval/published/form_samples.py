"""Files of other programs, with numbers of our own."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

# The sentences of a suite, and the log probabilities (nats) of their words.
Scores = Mapping[tuple[str, ...], Sequence[float]]


def lm_zoo(scores: Scores) -> str:
    """LM Zoo's table: bits, with pieces in the alphabet of bytes."""
    rows = ["sentence_id\ttoken_id\ttoken\tsurprisal"]
    for number, (words, values) in enumerate(scores.items(), start=1):
        for place, (token, nats) in enumerate(_halves(words, values), start=1):
            rows.append(f"{number}\t{place}\t{token.replace(' ', 'Ġ')}\t{-nats / math.log(2)!r}")
    return "\n".join(rows) + "\n"


def _halves(words: Sequence[str], values: Sequence[float]) -> list[tuple[str, float]]:
    """Return two pieces for every word of more than one letter."""
    found = []
    for place, (word, value) in enumerate(zip(words, values, strict=True)):
        blank = " " if place else ""
        if len(word) > 1:
            found += [(blank + word[:1], value / 4), (word[1:], value * 3 / 4)]
        else:
            found.append((blank + word, value))
    return found


def minicons(scores: Scores) -> str:
    """Lists of minicons as JSON: log probabilities in nats."""
    return json.dumps(
        [
            [[token.replace(" ", "Ġ"), nats, 1] for token, nats in _halves(words, values)]
            for words, values in scores.items()
        ],
        ensure_ascii=False,
    )


def minicons_csv(scores: Scores) -> str:
    """The columns of the command of minicons, with both log probabilities and surprisals."""
    rows = ["sentence_id,token_id,token,logprob,surprisal"]
    for number, (words, values) in enumerate(scores.items(), start=1):
        for place, (token, nats) in enumerate(_halves(words, values), start=1):
            rows.append(f"{number},{place},{token.strip()},{nats!r},{-nats!r}")
    return "\n".join(rows) + "\n"


def vllm(scores: Scores, *, prompts: bool = True, others: bool = True) -> str:
    """Responses of vLLM, one per line."""
    lines = []
    for words, values in scores.items():
        entries: list[Any] = [None]
        for number, (token, nats) in enumerate(_halves(words, values)):
            entry = {str(number + 7): {"logprob": nats, "rank": 2, "decoded_token": token}}
            if others:
                entry["1"] = {"logprob": nats / 2, "rank": 1, "decoded_token": " more"}
            entries.append(entry)
        record: dict[str, Any] = {"choices": [{"index": 0, "prompt_logprobs": entries}]}
        if prompts:
            record["prompt"] = " ".join(words)
        lines.append(json.dumps(record, ensure_ascii=False))
    return "\n".join(lines) + "\n"


def openai(scores: Scores) -> str:
    """One response of a server to all prompts, in another order, with echo."""
    choices = []
    for number, (words, values) in enumerate(scores.items()):
        halves = _halves(words, values)
        logprobs = {
            "tokens": ["<s>", *(token for token, _ in halves)],
            "token_logprobs": [None, *(nats for _, nats in halves)],
        }
        choices.append({"index": number, "text": " ".join(words), "logprobs": logprobs})
    return json.dumps({"object": "text_completion", "choices": choices[::-1]}, ensure_ascii=False)


def lm_eval(pairs: Sequence[tuple[str, float, str, float]]) -> str:
    """Samples of pairs: good sentence, its log likelihood, bad sentence, its log likelihood."""
    lines = []
    for number, (good, one, bad, other) in enumerate(pairs):
        sample = {
            "doc_id": number,
            "doc": {"sentence_good": good, "sentence_bad": bad},
            "target": "0",
            "arguments": {
                "gen_args_0": {"arg_0": "", "arg_1": f" {good}"},
                "gen_args_1": {"arg_0": "", "arg_1": f" {bad}"},
            },
            "resps": [[[str(one), "False"]], [[str(other), "False"]]],
            "filtered_resps": [[str(one), "False"], [str(other), "False"]],
            "filter": "none",
        }
        lines.append(json.dumps(sample, ensure_ascii=False))
    return "\n".join(lines) + "\n"
