"""asyncio without sockets: an event loop wakes itself through a pair of them. A cell has none, but a pipe will do."""

import asyncio.selector_events
import os
import socket
from types import SimpleNamespace


class _PipeEnd:
    """The few methods of a socket that the loop calls on its own pair."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor

    def setblocking(self, flag: bool) -> None:  # noqa: FBT001 (the signature is the socket's)
        os.set_blocking(self._descriptor, flag)

    def recv(self, size: int) -> bytes:
        return os.read(self._descriptor, size)

    def send(self, data: bytes) -> int:
        return os.write(self._descriptor, data)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _pipe_pair() -> tuple[_PipeEnd, _PipeEnd]:
    reading, writing = os.pipe()
    return _PipeEnd(reading), _PipeEnd(writing)


def install() -> None:
    """Give event loops made from now on a pipe. Changes the standard library of this process: for the zygote only."""
    names = {name: getattr(socket, name) for name in dir(socket)}
    asyncio.selector_events.socket = SimpleNamespace(**{**names, "socketpair": _pipe_pair})  # type: ignore[attr-defined,assignment]  # a module replaced on purpose
