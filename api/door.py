"""The door to the outside, around everything else: no fault and no endless body gets past it."""

import logging
from http import HTTPStatus

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.heads import Heads, heads_of
from api.problems import problem
from blobs.domain.limits import MIB

_UNREAD_BYTES_MAX = 1 * MIB
"""A body that was refused unread is read to its end up to this size, so that the connection can be used again."""

_log = logging.getLogger("blobs.api")


class Door:
    """Middleware that tells what nobody expected as nothing but an internal error, and logs it whole.

    A request that is refused before its large body was read, or in the middle of any body, has its connection closed:
    the server would wait for the rest.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and answer faults."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        passage = _Passage(receive, send, is_large=_may_be_large(heads_of(scope)))
        try:
            await self._app(scope, passage.receive, passage.send)
        except Exception as fault:
            if passage.has_started:
                raise
            if isinstance(fault, RecursionError):  # nothing but a body nests so deep
                answer = problem(HTTPStatus.BAD_REQUEST, "not_json", "The body is nested too deeply.")
            else:
                _log.exception("%s %s", scope["method"], scope["path"])
                answer = problem(HTTPStatus.INTERNAL_SERVER_ERROR, "internal_error", "Internal error.")
            await answer(scope, receive, passage.send)


class _Passage:
    """One request on its way in and its answer on its way out."""

    def __init__(self, receive: Receive, send: Send, *, is_large: bool) -> None:
        self.has_started = False
        self._receive = receive
        self._send = send
        self._must_close = is_large

    async def receive(self) -> Message:
        message = await self._receive()
        # Of a body that was begun the rest may never come; of one that has ended there is no rest.
        self._must_close = message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_started = True
            if self._must_close and message["status"] >= HTTPStatus.BAD_REQUEST:
                MutableHeaders(scope=message)["Connection"] = "close"
        await self._send(message)


def _may_be_large(headers: Heads) -> bool:
    length = headers.get("content-length", "")
    if length.isascii() and length.isdigit():
        return int(length[:20]) > _UNREAD_BYTES_MAX
    return "transfer-encoding" in headers
