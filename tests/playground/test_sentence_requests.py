"""Requests of the page are checked before a model sees them."""

from __future__ import annotations

import json

import pytest

from gardenpath.playground.server import RefusedRequestError, sentence_request
from gardenpath.playground.settings import PlaygroundLimits

LIMITS = PlaygroundLimits(characters=30, words=4, models=2)


def _body(**content: object) -> bytes:
    return json.dumps({"runs": ["a"], "sentences": ["the cat"], **content}).encode()


def test_spaces_empty_sentences_and_repeated_models_do_not_count() -> None:
    found = sentence_request(_body(runs=["a", "a"], sentences=["  the\t cat ", " "]), LIMITS)
    assert (found.runs, found.sentences) == (("a",), ("the cat",))


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"{", 400, "JSON"),
        (b"\xff", 400, "the request"),
        (b"[]", 400, "mapping"),
        (b"[" * 5000 + b"]" * 5000, 400, "the request"),
        (_body(runs="a"), 400, "runs must be a list"),
        (_body(sentences=[1]), 400, "sentences must be a list"),
        (_body(runs=["a", "b", "c"]), 400, "at most 2"),
        (_body(sentences=["a", "b", "c"]), 400, "at most 2"),
        (_body(sentences=["x" * 31]), 413, "31 characters; the playground takes at most 30"),
        (_body(sentences=["a b c d e"]), 413, "5 words; the playground takes at most 4"),
    ],
)
def test_other_requests_are_refused(body: bytes, status: int, said: str) -> None:
    with pytest.raises(RefusedRequestError) as caught:
        sentence_request(body, LIMITS)
    assert caught.value.status == status and said in str(caught.value)
