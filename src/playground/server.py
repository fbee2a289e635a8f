"""The server: the page, its assets, and the answers of models as lines of JSON."""

from __future__ import annotations

import functools
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from gardenpath import __version__
from gardenpath.errors import GardenpathError
from gardenpath.eval.report.figures.fonts import ASSETS as REPORT_ASSETS
from gardenpath.playground.examples import examples_for
from gardenpath.playground.guard import Guard, TooLargeBodyError
from gardenpath.playground.loaded_models import ModelShelf, shown_model
from gardenpath.playground.playground_settings import PlaygroundLimits
from gardenpath.playground.sentence_requests import (
    RefusedRequestError,
    SentenceRequest,
    content_of,
    sentence_request,
)
from gardenpath.playground.turns import Turns
from gardenpath.playground.word_events import seen_words
from gardenpath.store.tables import SEARCH_COLUMN_NAMES, WORD_SURPRISALS

OWN_ASSETS = Path(__file__).with_name("assets")
# The explorer of the report and the playground draw with the same code.
SHARED_ASSETS = (
    "trees.js", "chart.js", "cells.js", "downloads.js", "report.css", "GardenpathHan-Regular.otf",
)  # fmt: skip
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".otf": "font/otf",
    ".svg": "image/svg+xml",
}

PageAnswer = Callable[[Request], Awaitable[Response]]


def playground_app(shelf: ModelShelf, turns: Turns, limits: PlaygroundLimits) -> Guard:
    """Return the application with the models of a shelf."""

    async def page(_: Request) -> Response:
        return asset("page.html")

    async def assets(request: Request) -> Response:
        return asset(request.path_params["name"])

    async def models(_: Request) -> Response:
        return _json(
            {
                "models": [shown_model(name, one) for name, one in shelf.models.items()],
                "skipped": shelf.skipped,
                "columns": [*WORD_SURPRISALS.names, *SEARCH_COLUMN_NAMES],
                "limits": {"characters": limits.characters, "words": limits.words},
                "version": __version__,
            }
        )

    async def add(request: Request) -> Response:
        reference = content_of(await request.body()).get("reference")
        if not isinstance(reference, str) or not reference.strip():
            raise RefusedRequestError("name a run folder, or a model such as hf:gpt2")
        names = await run_in_threadpool(shelf.add, reference.strip())
        known = shelf.models
        return _json({"models": [shown_model(name, known[name]) for name in names]})

    async def examples(request: Request) -> Response:
        asked = sentence_request(await request.body(), limits)
        known = shelf.models
        runs = [known[name].run for name in asked.runs if name in known]
        return _json({"examples": await run_in_threadpool(examples_for, runs)})

    async def seen(request: Request) -> Response:
        asked = sentence_request(await request.body(), limits)
        return _json(await run_in_threadpool(_seen, shelf, asked))

    async def surprisal(request: Request) -> Response:
        asked = sentence_request(await request.body(), limits)
        if not asked.sentences or not asked.runs:
            raise RefusedRequestError("type a sentence, and tick at least one model")
        turns.require_room()
        return StreamingResponse(_lines(turns, asked), media_type="application/x-ndjson")

    posted = {
        "/api/models": add,
        "/api/examples": examples,
        "/api/seen": seen,
        "/api/surprisal": surprisal,
    }
    return Guard(
        Starlette(
            routes=[
                Route("/", page),
                Route("/assets/{name}", assets),
                Route("/api/models", models),
                *(Route(path, _polite(one), methods=["POST"]) for path, one in posted.items()),
            ],
        )
    )


class PlaygroundServer(uvicorn.Server):
    """Ends the answers that are under way before it waits for connections to close."""

    def __init__(self, shelf: ModelShelf, limits: PlaygroundLimits) -> None:
        self._turns = Turns(shelf, limits)
        app = playground_app(shelf, self._turns, limits)
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="off",
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=3,
            )
        )

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the server."""
        self._turns.close()
        await super().shutdown(sockets)


def asset(name: str) -> Response:
    """Return a file of the page; no other file can be asked for."""
    path = _assets().get(name)
    if path is None:
        return _json({"error": "there is no such file"}, status=404)
    return Response(path.read_bytes(), media_type=MEDIA_TYPES[path.suffix])


@functools.cache
def _assets() -> dict[str, Path]:
    own = {path.name: path for path in OWN_ASSETS.iterdir() if path.suffix in MEDIA_TYPES}
    return {**{name: REPORT_ASSETS / name for name in SHARED_ASSETS}, **own}


def _seen(shelf: ModelShelf, asked: SentenceRequest) -> dict[str, Any]:
    """Return the words of sentences as each model sees them; errors are told per model."""
    found: dict[str, Any] = {}
    models = shelf.models
    for name in asked.runs:
        if name in models and asked.sentences:
            try:
                found[name] = seen_words(models[name].run, asked.sentences)
            except GardenpathError as error:
                found[name] = {"error": str(error)}
    return found


async def _lines(turns: Turns, asked: SentenceRequest) -> AsyncIterator[bytes]:
    async with aclosing(turns.events(asked)) as events:
        async for event in events:
            yield json.dumps(event, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _polite(answer: PageAnswer) -> PageAnswer:
    """Turn errors that the input causes into answers with a message."""

    @functools.wraps(answer)
    async def polite(request: Request) -> Response:
        try:
            return await answer(request)
        except RefusedRequestError as error:
            return _json({"error": str(error)}, status=error.status)
        except TooLargeBodyError:
            return _json({"error": "the request is too large"}, status=413)
        except GardenpathError as error:
            return _json({"error": str(error)}, status=400)

    return polite


def _json(content: Any, *, status: int = 200) -> JSONResponse:
    return JSONResponse(content, status)
