"""One HTTP connection: the server's own protocol, with bounds on the head of a request in bytes and in time.

The body has its bounds where it is received. What is wrong with a head is told as a problem document too.
"""

import asyncio
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from api.problems import problem
from blobs.domain.limits import Limits

_LAST_LOOK_S = 0.01
"""A server that was held up itself first takes what has come meanwhile, before it gives a connection up."""


class BoundedConnection(HttpToolsProtocol):
    """A connection that a client can neither fill with an endless head nor hold with a slow one.

    The limits are `head_bytes_max`, give or take the piece that the network delivers at once, and `head_ms_max`, from
    the connection, or the first byte of a further request, to the end of the head.
    """

    def __init__(self, *arguments: Any, limits: Limits, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._limits = limits
        self._head_bytes = 0
        self._is_in_head = True
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the base class has it
        """Begin to wait for the first head."""
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer with the connection."""
        self._end_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came, and refuse a head that has grown too large without an end in sight."""
        self._head_bytes += len(data)
        super().data_received(data)
        if self._is_in_head and self._head_bytes > self._limits.head_bytes_max:
            self._refuse(
                HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                "head_too_large",
                f"The head of the request is over {self._limits.head_bytes_max} bytes.",
                hint="Send what is large in the body.",
            )

    def on_message_begin(self) -> None:
        """A further request begins, on a connection that served one before."""
        super().on_message_begin()
        if not self._is_in_head:
            self._await_head()

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._end_head()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Say that this is no HTTP."""
        self._refuse(HTTPStatus.BAD_REQUEST, "invalid_http", msg, hint="Send an HTTP/1.1 request.")

    def _await_head(self) -> None:
        self._is_in_head = True
        self._head_bytes = 0
        self._head_timer = self.loop.call_later(self._limits.head_ms_max / 1000, self._look_again)

    def _end_head(self) -> None:
        self._is_in_head = False
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _look_again(self) -> None:
        self._head_timer = self.loop.call_later(_LAST_LOOK_S, self._give_up)

    def _give_up(self) -> None:
        detail = f"The head of the request did not come within {self._limits.head_ms_max} ms."
        self._refuse(HTTPStatus.REQUEST_TIMEOUT, "head_timeout", detail, hint="Send the request again.")

    def _refuse(self, status: HTTPStatus, code: str, detail: str, *, hint: str) -> None:
        self._end_head()
        if self.transport.is_closing():
            return
        answer = problem(status, code, detail, hint=hint)
        lines = [f"HTTP/1.1 {status.value} {status.phrase}".encode(), b"connection: close"]
        lines += [name + b": " + value for name, value in answer.raw_headers]
        self.transport.write(b"\r\n".join([*lines, b"", bytes(answer.body)]))
        self.transport.close()
