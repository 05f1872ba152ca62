"""One HTTP connection: the server's own protocol, with bounds on the head of a request in bytes and in time.

The body has its bounds where it is received. What is wrong with a head is told as a problem document too. An answer
that can be had at once is written at once, without the task and the messages that an application has in general.
"""

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

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
        self._at_once: Callable[[Any], Response | None] = getattr(self.app, "at_once", lambda _: None)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the base class has it
        """Begin to wait for the first head."""
        super().connection_made(transport)
        self._time_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer with the connection."""
        self._end_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came, and refuse a head that has grown too large without an end in sight."""
        self._head_bytes += len(data)
        super().data_received(data)
        if not self._is_in_head:
            return
        if self._head_timer is None:
            self._time_head()
        if self._head_bytes > self._limits.head_bytes_max:
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
            self._is_in_head = True
            self._head_bytes = 0

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._end_head()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Say that this is no HTTP."""
        self._refuse(HTTPStatus.BAD_REQUEST, "invalid_http", msg, hint="Send an HTTP/1.1 request.")

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Answer at once, or let the application answer; that also where answers have to wait in a line."""
        is_free = not self.pipeline and not self.flow.write_paused
        answer = self._at_once(cycle.scope) if is_free and not self.expect_100_continue else None
        if answer is None:
            super()._start_asgi_task(cycle, app)
            return
        lines = [STATUS_LINE[answer.status_code]]
        for name, value in (*self.server_state.default_headers, *answer.raw_headers):
            lines += (name, b": ", value, b"\r\n")
        lines.append(b"\r\n" if cycle.keep_alive else b"connection: close\r\n\r\n")
        if cycle.scope["method"] != "HEAD":
            lines.append(bytes(answer.body))
        self.transport.write(b"".join(lines))
        cycle.response_started = cycle.response_complete = True
        if not cycle.keep_alive:
            self.transport.close()
        self.on_response_complete()

    def _time_head(self) -> None:
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
