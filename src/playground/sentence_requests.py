"""What the page asks for: models and one or two sentences, within limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gardenpath.errors import GardenpathError
from gardenpath.playground.playground_settings import PlaygroundLimits
from gardenpath.safe_text import MalformedTextError, parse_json
from gardenpath.text import plural

MOST_VARIANTS = 2


class RefusedRequestError(GardenpathError):
    """A request that is not answered; ``status`` is that of the response."""

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, kw_only=True)
class SentenceRequest:
    """Sentences that models are asked to score."""

    runs: tuple[str, ...]
    sentences: tuple[str, ...]


def content_of(body: bytes) -> Mapping[str, Any]:
    """Return the mapping that a request contains as JSON."""
    try:
        content = parse_json(body.decode("utf-8"))
    except (MalformedTextError, UnicodeDecodeError) as error:
        raise RefusedRequestError(f"the request {error}") from error
    if not isinstance(content, dict):
        raise RefusedRequestError("the request is not a mapping")
    return content


def sentence_request(body: bytes, limits: PlaygroundLimits) -> SentenceRequest:
    """Return the models and sentences of a request, or refuse it."""
    content = content_of(body)
    runs = _texts(content, "runs")
    sentences = [" ".join(one.split()) for one in _texts(content, "sentences")]
    sentences = [one for one in sentences if one]
    if len(runs) > limits.models:
        raise RefusedRequestError(
            f"{plural(len(runs), 'model')} are ticked, but at most {limits.models} score a "
            "sentence at once; limits.models=… allows more"
        )
    if len(sentences) > MOST_VARIANTS:
        raise RefusedRequestError(f"at most {MOST_VARIANTS} sentences can be compared")
    for sentence in sentences:
        _require_short(sentence, limits)
    return SentenceRequest(runs=tuple(dict.fromkeys(runs)), sentences=tuple(sentences))


def _texts(content: Mapping[str, Any], name: str) -> list[str]:
    found = content.get(name)
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise RefusedRequestError(f"{name} must be a list of texts")
    return found


def _require_short(sentence: str, limits: PlaygroundLimits) -> None:
    remedy = (
        "Longer texts are scored by python evaluate.py task=surprisal input=FILE, or start the "
        "playground with"
    )
    if len(sentence) > limits.characters:
        raise RefusedRequestError(
            f"This sentence has {len(sentence):,} characters; the playground takes at most "
            f"{limits.characters:,}. {remedy} limits.characters={len(sentence)}.",
            status=413,
        )
    words = len(sentence.split())
    if words > limits.words:
        raise RefusedRequestError(
            f"This sentence has {words:,} words; the playground takes at most {limits.words:,}. "
            f"{remedy} limits.words={words}.",
            status=413,
        )
