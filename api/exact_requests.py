"""JSON bodies in and out without loss: the framework's own parser would pass numbers through 64-bit floats."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from anyio import to_thread
from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from api.problems import UnsupportedTypeError
from blobs.domain import exact_json
from blobs.domain.errors import CallerError, LimitError
from blobs.domain.limits import KIB

_INLINE_BYTES_MAX = 64 * KIB
"""A body up to this size is parsed on the event loop: less than a millisecond, cheaper than going to a thread."""


class ExactJson(Response):
    """A JSON answer: compact UTF-8, numbers as they were written."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The bytes of the answer."""
        return exact_json.dumps(content)


class ExactRequest(Request):
    """A request whose JSON body is read exactly, and only up to the limit of the service."""

    async def body(self) -> bytes:
        """The whole body; refused unread where it says that it is too large or not JSON."""
        if not hasattr(self, "_body"):
            _check_is_json(self)
            self._body = await read_body(self, bytes_max=self.app.state.front.limits.request_json_bytes_max)
        return self._body

    async def json(self) -> Any:
        """The body as exact JSON."""
        body = await self.body()
        return parse(body) if len(body) <= _INLINE_BYTES_MAX else await to_thread.run_sync(parse, body)


class ExactRoute(APIRoute):
    """A route whose JSON body is read by `ExactRequest`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The framework's handler, given our kind of request."""
        handle = super().get_route_handler()

        async def handle_exactly(request: Request) -> Response:
            return await handle(ExactRequest(request.scope, request.receive))

        return handle_exactly


def parse(body: bytes) -> Any:
    """The JSON of a body; `CallerError` where it is none."""
    try:
        return exact_json.loads(body)
    except ValueError as fault:
        raise CallerError(
            f"The body is not JSON: {str(fault)[:200]}.", code="invalid_json", hint="Send JSON in UTF-8."
        ) from None


async def read_body(request: Request, *, bytes_max: int) -> bytes:
    """A whole body of at most so many bytes; `LimitError` before reading it where its declared length is over that."""
    check_length(request, bytes_max=bytes_max)
    body = bytearray()
    async for chunk in body_chunks(request):
        body += chunk
        if len(body) > bytes_max:
            raise too_large(bytes_max)
    return bytes(body)


async def body_chunks(request: Request) -> AsyncIterator[bytes]:
    """The body as it comes; `CallerError` where it is cut off, or where nothing comes for `body_idle_ms_max`."""
    idle_s_max = request.app.state.front.limits.body_idle_ms_max / 1000
    while True:
        try:
            async with asyncio.timeout(idle_s_max):
                message = await request.receive()
        except TimeoutError:
            raise cut_off() from None
        if message["type"] == "http.disconnect":
            raise cut_off()
        if chunk := message.get("body", b""):
            yield chunk
        if not message.get("more_body", False):
            return


def check_length(request: Request, *, bytes_max: int) -> int | None:
    """The declared length of the body, if it says one; `LimitError` where it is over `bytes_max`."""
    text = request.headers.get("content-length", "")
    length = int(text) if text.isascii() and text.isdigit() else None
    if length is not None and length > bytes_max:
        raise too_large(bytes_max)
    return length


def too_large(bytes_max: int) -> LimitError:
    """The error for a body over a limit."""
    return LimitError(
        f"The body is larger than {bytes_max} bytes.",
        code="body_too_large",
        hint="Upload large content to /v1/blobs and hand in its reference.",
    )


def cut_off() -> CallerError:
    """The error for a body that ended early; mostly nobody is left to read it."""
    return CallerError("The body ended before it was complete; nothing was stored.", code="incomplete_body")


def _check_is_json(request: Request) -> None:
    declared = request.headers.get("content-type", "application/json").split(";", 1)[0].strip().lower()
    if declared != "application/json" and not (declared.startswith("application/") and declared.endswith("+json")):
        raise UnsupportedTypeError(
            f"The body is declared as {declared[:80]!r}.", hint="Send JSON with Content-Type: application/json."
        )
