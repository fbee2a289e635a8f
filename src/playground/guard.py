"""Protects the server: only this machine may ask, and pages load nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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


class TooLargeBodyError(Exception):
    """A request with more bytes than any valid one has."""


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
    if not is_own and not _is_link(scope, headers):
        yield 403, "the playground answers only to its own page"
    if method == "POST":
        if headers.get("content-type", "").split(";")[0].strip() != "application/json":
            yield 415, "requests must be JSON"
        if int(headers.get("content-length", "0") or 0) > MOST_BYTES:
            yield 413, f"the request is larger than {MOST_BYTES:,} bytes"


def _is_link(scope: Scope, headers: Headers) -> bool:
    """Whether somebody follows a link to the page, from a message or a document."""
    return (
        scope["method"] == "GET"
        and scope["path"] == "/"
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )


def _bounded(receive: Receive) -> Receive:
    """Return a source of requests that ends after the largest number of bytes."""
    total = 0

    async def bounded() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > MOST_BYTES:
            raise TooLargeBodyError
        return message

    return bounded
