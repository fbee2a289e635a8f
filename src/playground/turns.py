"""Requests take turns: one thread computes, one model of one request at a time.

A request asks for its models one after the other, and those of other requests come between them,
in the order in which they were asked for.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing

from gardenpath.errors import GardenpathError
from gardenpath.playground.loaded_models import LoadedModel, ModelShelf
from gardenpath.playground.playground_settings import PlaygroundLimits
from gardenpath.playground.sentence_requests import RefusedRequestError, SentenceRequest
from gardenpath.playground.word_events import PageEvent, seen_words, send_scores

# Sends an event to the request that waits for it; None is the last.
_Send = Callable[[PageEvent | None], None]

# A model that cannot be interrupted is given up after so many more seconds.
_GRACE_SECONDS = 5.0


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
                    patience = self._limits.seconds + _GRACE_SECONDS
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
        """Score the sentences of a request with one model, in the thread that computes."""
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
