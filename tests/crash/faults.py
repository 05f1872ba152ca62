"""A disk that fails at a chosen step: every call that changes it, and every statement of the catalog, is one."""

import os
from collections.abc import Callable
from typing import Any

import pytest

from blobs.storage.sqlite_session import SqliteSession, _engine

CALLS = ("write", "pwrite", "fdatasync", "fsync", "rename", "unlink", "ftruncate", "fchmod", "mkdir", "utime")


class FaultyDisk:
    """Counts steps once it is started, and at step `at` does `fault` instead of it, or after it."""

    def __init__(self, patch: pytest.MonkeyPatch, *, at: int, fault: Callable[[bool], None], is_after: bool) -> None:
        self.at = at
        self.count = 0
        self.is_started = False
        self._fault = fault
        self._is_after = is_after
        for name in CALLS:
            patch.setattr(os, name, self._watched(getattr(os, name)))
        opened, connect, disk = os.open, SqliteSession._connect, self

        def open_(path, flags, *more, **named):
            creates = flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR)
            call = lambda: opened(path, flags, *more, **named)  # noqa: E731
            return disk.step(call, is_sql=False) if creates else call()

        patch.setattr(os, "open", open_)
        patch.setattr(SqliteSession, "_connect", lambda session: _Connection(connect(session), disk))

    def step(self, call: Callable[[], Any], *, is_sql: bool) -> Any:
        """Do a step, or fail."""
        if not self.is_started:
            return call()
        self.count += 1
        if self.count != self.at:
            return call()
        if self._is_after:
            call()
        self._fault(is_sql)
        return None

    @property
    def has_failed(self) -> bool:
        """Whether the step was reached."""
        return self.count >= self.at

    def _watched(self, call: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given, **named: self.step(lambda: call(*given, **named), is_sql=False)


class _Connection:
    """A connection whose statements are steps."""

    def __init__(self, inner: Any, disk: FaultyDisk) -> None:
        self._inner = inner
        self._disk = disk

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def execute(self, statement: str, *parameters: Any) -> Any:
        call = lambda: self._inner.execute(statement, *parameters)  # noqa: E731
        if statement.lstrip().startswith(("select", "with", "rollback", "savepoint", "release", "pragma")):
            return call()
        return self._disk.step(call, is_sql=True)


def raise_io_error(is_sql: bool) -> None:
    """What a disk that fails makes the kernel and SQLite answer."""
    if is_sql:
        raise _engine().OperationalError("disk I/O error")
    raise OSError(5, "Input/output error")


def die(is_sql: bool) -> None:
    """End as by SIGKILL: nothing is flushed, nothing is undone."""
    os._exit(9)
