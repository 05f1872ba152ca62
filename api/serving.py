"""`blobs serve`: the application in a server, one process or several."""

import argparse
import asyncio
import ctypes
import functools
import logging
import signal
import socket
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from blobs.cli.options import common
from blobs.domain.errors import SettingsError
from blobs.domain.limits import MIB
from blobs.domain.redaction import VALUE_BYTES_MIN, Redactor
from blobs.settings import Settings, load_settings

if TYPE_CHECKING:
    from fastapi import FastAPI

END_S_MAX = 120
"""How long running calls and transfers may go on after SIGTERM; the longest call takes a tenth of it."""

_KEEP_ALIVE_S = 75
"""Longer than the minute that most load balancers keep idle connections, so that theirs ends first."""

_BACKLOG = 2048

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def register(subparsers: Any) -> None:
    """Add `serve` to the command line."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "serve",
        parents=[common()],
        help="answer over HTTP",
        description="Answer over HTTP until SIGTERM. Without keys only this machine is answered.",
    )
    parser.add_argument("--host", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", help="port to listen on, 0 for any free one (8400)")
    parser.add_argument("--workers", help="processes that answer (1)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """The command: settings from its flags, then the server."""
    flags = {"host": arguments.host, "port": arguments.port, "workers": arguments.workers}
    flags |= {"store": getattr(arguments, "store", None), "readers_dir": getattr(arguments, "readers", None)}
    return serve(load_settings(flags, file=getattr(arguments, "config", None)))


def serve(settings: Settings) -> int:
    """Answer until SIGTERM or SIGINT; running calls end before it returns 0.

    Prints the address once it listens. Raises `SettingsError` where it may not or cannot listen there, `StoreError`
    where the store cannot be opened.
    """
    import uvicorn

    from api.connection import BoundedConnection
    from blobs.client import Blobs

    with Blobs.open(settings) as blobs:  # every worker opens it for itself; what is wrong with it is said here, once
        has_keys = blobs.service.catalog.has_keys()
    listener = _listen(settings, has_keys=has_keys)
    address = listener.getsockname()
    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    print(f"agent-blobs answers at http://{host}:{address[1]} (documentation at /docs)", flush=True)
    config = uvicorn.Config(
        functools.partial(application, replace(settings, port=address[1])),
        factory=True,
        http=cast("type[asyncio.Protocol]", functools.partial(BoundedConnection, limits=settings.limits)),
        loop="uvloop",
        ws="none",
        lifespan="on",
        workers=settings.workers,
        log_config=_logging(settings),
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=END_S_MAX,
    )
    with listener:
        return _several(config, listener) if settings.workers > 1 else _one(config, listener)


class RedactingFormatter(logging.Formatter):
    """Log lines without secrets, whatever part of a message or traceback they stand in."""

    def __init__(self, format: str, *, secrets: tuple[str, ...], patterns: tuple[str, ...] = ()) -> None:  # noqa: A002  # as the base class calls it
        """`secrets` are masked, and what matches `patterns`; those too short to be told from other text are not."""
        super().__init__(format)
        known = [each for each in secrets if len(each.encode()) >= VALUE_BYTES_MIN]
        self._redactor = Redactor(known, patterns)

    def format(self, record: logging.LogRecord) -> str:
        """The line, and the traceback if there is one."""
        return self._redactor.text(super().format(record))


def _logging(settings: Settings) -> dict[str, Any]:
    """Faults go to the error stream; requests are not logged, because a proxy does that better."""
    keys = (each.partition(":")[2].strip() for each in settings.keys)
    plain = {
        "()": RedactingFormatter,
        "format": "%(asctime)s %(levelname)s %(name)s: %(message)s",
        "secrets": (*settings.redact_values, *keys),
        "patterns": settings.redact_patterns,
    }
    names = ("blobs", "uvicorn")
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"plain": plain},
        "handlers": {"errors": {"class": "logging.StreamHandler", "formatter": "plain"}},
        "loggers": {name: {"handlers": ["errors"], "level": "WARNING", "propagate": False} for name in names},
    }


def application(settings: Settings) -> "FastAPI":
    """What a worker runs: first its memory allocator is set, then the application is made."""
    tune_malloc()
    from api.app import create_app

    return create_app(settings)


def tune_malloc() -> None:
    """Let glibc keep what it received instead of returning it: bodies come in at a third of the cost.

    Every chunk of a body is larger than the threshold above which malloc maps and unmaps pages for each allocation;
    both thresholds are needed (measured). Does nothing with another C library.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(_M_MMAP_THRESHOLD, 64 * MIB)
    mallopt(_M_TRIM_THRESHOLD, 256 * MIB)


def _one(config: Any, listener: socket.socket) -> int:
    import uvicorn

    server = uvicorn.Server(config)

    def end(*_: object) -> None:
        server.should_exit = True

    # The server takes signals only while it runs, and raises them again afterwards, when they would end the process
    # as killed.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    server.run(sockets=[listener])
    return 0 if server.started else 1


def _several(config: Any, listener: socket.socket) -> int:
    from uvicorn.supervisors import Multiprocess

    Multiprocess(config, sockets=[listener]).run()
    return 0


def _listen(settings: Settings, *, has_keys: bool) -> socket.socket:
    from api.gate import is_loopback, tenant_keys

    if not tenant_keys(settings) and not has_keys and not is_loopback(settings.host):
        raise SettingsError(
            f"Without keys a server may listen on this machine only, not on {settings.host}.",
            hint="Make a key with `blobs keys create TENANT`, set keys (tenant:key), or set host to 127.0.0.1.",
        )
    if settings.workers < 1 or (settings.workers > 1 and settings.store == ":memory:"):
        raise SettingsError("workers: a store in memory belongs to one process.", hint="Set workers to 1, or a store.")
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    host = settings.host.strip("[]")
    try:
        return socket.create_server((host, settings.port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no such port"
        raise SettingsError(f"Cannot listen on {host}:{settings.port}: {reason}.") from None
