"""The server of the playground: its protection, its requests, their turns, and its answers.

Only pages of this server on this machine may ask, and pages load nothing from elsewhere. One thread
computes; what a request may ask for is limited (:class:`PlaygroundLimits`). The command of the
package runs :class:`PlaygroundServer`. What models say is left to ``models``.
"""

from __future__ import annotations

import asyncio
import functools
import json
import socket
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gardenpath import __version__
from gardenpath.errors import GardenpathError
from gardenpath.eval.report.figures.style import ASSETS as REPORT_ASSETS
from gardenpath.playground.models import (
    LoadedModel,
    ModelShelf,
    PageEvent,
    examples_for,
    seen_words,
    send_scores,
    shown_model,
)
from gardenpath.playground.settings import PlaygroundLimits
from gardenpath.safe_text import MalformedTextError, parse_json
from gardenpath.store.tables import SEARCH_COLUMN_NAMES, WORD_SURPRISALS
from gardenpath.util import plural

# A page of another host whose name leads here (DNS rebinding) has another name in its requests.
LOCAL_NAMES = ("127.0.0.1", "localhost")

# Two sentences, even in letters of four bytes, and the names of models.
MOST_BYTES = 200_000

POLICY = "; ".join(
    [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "font-src 'self'",
        "connect-src 'self'", "img-src 'self' data:", "base-uri 'none'", "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)  # fmt: skip

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class RefusedRequestError(GardenpathError):
    """A request that is not answered; ``status`` is that of the response."""

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class Guard:
    """Refuses requests that are not from a page of this server, and adds headers to answers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        problem = next(_problems(scope, Headers(scope=scope)), None)
        if problem is not None:
            status, text = problem
            await JSONResponse({"error": text}, status)(scope, receive, send_with_headers)
            return
        await self._app(scope, _bounded(receive), send_with_headers)


def _problems(scope: Scope, headers: Headers) -> Iterator[tuple[int, str]]:
    """Yield why a request is refused: status and message."""
    method = scope["method"]
    host = headers.get("host", "")
    if host.rsplit(":", 1)[0] not in LOCAL_NAMES:
        yield 421, "the playground answers only to 127.0.0.1 and localhost"
    if headers.get("origin", f"http://{host}") != f"http://{host}":
        yield 403, "the playground answers only to its own page"
    is_own = headers.get("sec-fetch-site", "none") in ("same-origin", "none")
    # Somebody may follow a link to the page, from a message or a document.
    is_link = method == "GET" and scope["path"] == "/"
    is_link &= headers.get("sec-fetch-mode") == "navigate"
    is_link &= headers.get("sec-fetch-dest") == "document"
    if not is_own and not is_link:
        yield 403, "the playground answers only to its own page"
    if method == "POST":
        if headers.get("content-type", "").split(";")[0].strip() != "application/json":
            yield 415, "requests must be JSON"
        if int(headers.get("content-length", "0") or 0) > MOST_BYTES:
            yield 413, f"the request is larger than {MOST_BYTES:,} bytes"


def _bounded(receive: Receive) -> Receive:
    """Return a source of requests that ends after the largest number of bytes."""
    total = 0

    async def bounded() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > MOST_BYTES:
            raise RefusedRequestError("the request is too large", status=413)
        return message

    return bounded


MOST_VARIANTS = 2


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
    sentences = [" ".join(text.split()) for text in _texts(content, "sentences") if text.strip()]
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
    texts = content.get(name)
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise RefusedRequestError(f"{name} must be a list of texts")
    return texts


def _require_short(sentence: str, limits: PlaygroundLimits) -> None:
    words = len(sentence.split())
    for name, count, most in (
        ("characters", len(sentence), limits.characters),
        ("words", words, limits.words),
    ):
        if count > most:
            raise RefusedRequestError(
                f"This sentence has {count:,} {name}; the playground takes at most {most:,}. "
                "Longer texts are scored by python evaluate.py task=surprisal input=FILE, or start "
                f"the playground with limits.{name}={count}.",
                status=413,
            )


# Requests take turns: one thread computes, one model of one request at a time.
#
# A request asks for its models one after the other, and those of other requests come between them,
# in the order in which they were asked for.


# Sends an event to the request that waits for it; None is the last.
_Send = Callable[[PageEvent | None], None]


class RequestStoppedError(GardenpathError):
    """The time is over, or nobody waits for the answer any more."""


class Turns:
    """A single thread that computes, and the requests that wait for it."""

    def __init__(self, shelf: ModelShelf, limits: PlaygroundLimits) -> None:
        self._shelf = shelf
        self._limits = limits
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="models")
        self._closing = threading.Event()
        self._active = 0
        self._jobs = 0
        self._queues: set[asyncio.Queue[PageEvent | None]] = set()

    def close(self) -> None:
        """End all answers; called in the event loop. What cannot be interrupted goes on alone."""
        self._closing.set()
        self._thread.shutdown(wait=False, cancel_futures=True)
        for queue in self._queues:
            queue.put_nowait(None)

    def require_room(self) -> None:
        """Refuse a request if too many are answered or wait."""
        if self._active >= self._limits.waiting:
            raise RefusedRequestError(
                f"{self._active} requests are waiting already; try again in a moment", status=503
            )

    async def events(self, request: SentenceRequest) -> AsyncGenerator[PageEvent]:
        """Yield what each model says about the sentences of a request."""
        self._active += 1
        try:
            for name in request.runs:
                if self._closing.is_set():
                    return
                async with aclosing(self._of_model(name, request)) as events:
                    async for event in events:
                        yield {"name": name, **event}
            yield {"type": "done"}
        finally:
            self._active -= 1

    async def _of_model(self, name: str, request: SentenceRequest) -> AsyncGenerator[PageEvent]:
        """Yield the events of one model; the model stops if nobody takes them any more."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[PageEvent | None] = asyncio.Queue()
        stop = threading.Event()

        def send(event: PageEvent | None) -> None:
            loop.call_soon_threadsafe(queue.put_nowait, event)

        if self._jobs:
            yield {"type": "waiting"}
        self._jobs += 1
        self._queues.add(queue)
        job = loop.run_in_executor(self._thread, self._work, name, request, send, stop)
        job.add_done_callback(self._finished)
        patience = None
        try:
            while True:
                event = await asyncio.wait_for(queue.get(), patience)
                if event is None:
                    return
                if event["type"] == "start":
                    # A model that cannot be interrupted is given up a little later.
                    patience = self._limits.seconds + 5.0
                yield event
        except TimeoutError:
            yield {"type": "error", "message": self._too_long()}
        finally:
            stop.set()
            self._queues.remove(queue)

    def _finished(self, _: object) -> None:
        self._jobs -= 1

    def _work(
        self, name: str, request: SentenceRequest, send: _Send, stop: threading.Event
    ) -> None:
        try:
            if not stop.is_set():
                self._score(self._shelf.used(name), request, send, stop)
        except GardenpathError as error:
            send({"type": "error", "message": str(error)})
        except Exception as error:  # a fault of ours ends this answer, not the server
            send({"type": "error", "message": f"{type(error).__name__}: {error}"})
            raise
        finally:
            send(None)

    def _score(
        self, model: LoadedModel, request: SentenceRequest, send: _Send, stop: threading.Event
    ) -> None:
        if not model.is_loaded:
            send({"type": "loading"})
        model.load()
        send({"type": "start", **seen_words(model.run, request.sentences)})
        end = time.monotonic() + self._limits.seconds

        def check() -> None:
            if stop.is_set() or self._closing.is_set():
                raise RequestStoppedError("stopped")
            if time.monotonic() > end:
                raise RequestStoppedError(self._too_long())

        send_scores(model, request.sentences, send=send, check=check)

    def _too_long(self) -> str:
        return (
            f"no answer within {self._limits.seconds:g} seconds; take a narrower search "
            "(search.action_beam=…) or a shorter sentence, or start the playground with a larger "
            "limits.seconds"
        )


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
        return JSONResponse(
            {
                "models": [shown_model(name, model) for name, model in shelf.models.items()],
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
        return JSONResponse({"models": [shown_model(name, known[name]) for name in names]})

    async def examples(request: Request) -> Response:
        wanted = sentence_request(await request.body(), limits)
        known = shelf.models
        runs = [known[name].run for name in wanted.runs if name in known]
        return JSONResponse({"examples": await run_in_threadpool(examples_for, runs)})

    async def seen(request: Request) -> Response:
        wanted = sentence_request(await request.body(), limits)
        return JSONResponse(await run_in_threadpool(_views, shelf, wanted))

    async def surprisal(request: Request) -> Response:
        wanted = sentence_request(await request.body(), limits)
        if not wanted.sentences or not wanted.runs:
            raise RefusedRequestError("type a sentence, and tick at least one model")
        turns.require_room()
        return StreamingResponse(_lines(turns, wanted), media_type="application/x-ndjson")

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
                *(
                    Route(path, _polite(answer), methods=["POST"])
                    for path, answer in posted.items()
                ),
            ]
        )
    )


class PlaygroundServer(uvicorn.Server):
    """Ends the answers that are under way before it waits for connections to close."""

    def __init__(self, shelf: ModelShelf, limits: PlaygroundLimits) -> None:
        self._turns = Turns(shelf, limits)
        app = playground_app(shelf, self._turns, limits)
        super().__init__(
            uvicorn.Config(
                app, lifespan="off", log_level="warning", access_log=False, server_header=False,
                timeout_graceful_shutdown=3,
            )
        )  # fmt: skip

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the server."""
        self._turns.close()
        await super().shutdown(sockets)


def asset(name: str) -> Response:
    """Return a file of the page; no other file can be asked for."""
    path = _assets().get(name)
    if path is None:
        return JSONResponse({"error": "there is no such file"}, 404)
    return Response(path.read_bytes(), media_type=MEDIA_TYPES[path.suffix])


@functools.cache
def _assets() -> dict[str, Path]:
    own = {path.name: path for path in OWN_ASSETS.iterdir() if path.suffix in MEDIA_TYPES}
    return {**{name: REPORT_ASSETS / name for name in SHARED_ASSETS}, **own}


def _views(shelf: ModelShelf, wanted: SentenceRequest) -> dict[str, Any]:
    """Return the words of sentences as each model sees them; errors are told per model."""
    views: dict[str, Any] = {}
    models = shelf.models
    for name in wanted.runs if wanted.sentences else ():
        if name in models:
            try:
                views[name] = seen_words(models[name].run, wanted.sentences)
            except GardenpathError as error:
                views[name] = {"error": str(error)}
    return views


async def _lines(turns: Turns, wanted: SentenceRequest) -> AsyncIterator[bytes]:
    async with aclosing(turns.events(wanted)) as events:
        async for event in events:
            yield json.dumps(event, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _polite(answer: PageAnswer) -> PageAnswer:
    """Turn errors that the input causes into answers with a message."""

    @functools.wraps(answer)
    async def polite(request: Request) -> Response:
        try:
            return await answer(request)
        except RefusedRequestError as error:
            return JSONResponse({"error": str(error)}, error.status)
        except GardenpathError as error:
            return JSONResponse({"error": str(error)}, 400)

    return polite
