"""Connections to one SQLite file: many readers, and writers of all threads and processes in one line."""

import fcntl
import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from blobs.domain.errors import BlobsError, CorruptError, SettingsError, StoreError
from blobs.storage import refusals
from blobs.storage.disk import make_folder, store_errors
from blobs.storage.group_commit import GroupCommit

SQLITE_VERSION_MIN = (3, 51, 3)
"""Older ones can corrupt a WAL written by several connections (sqlite.org/wal.html: the WAL-reset bug)."""

BATCH_MAX = 64
"""Write jobs in one transaction, so in one flush of the disk."""

IDLE_READERS_MAX = 16
"""Connections kept open for reading between calls."""

_PRAGMAS = (
    "busy_timeout = 10000",
    "journal_mode = wal",
    "synchronous = full",  # `normal` lost a third of what it had acknowledged when the power was cut
    "foreign_keys = on",
    "wal_autocheckpoint = 4000",
)

Row = tuple[Any, ...]
Result = TypeVar("Result")
Execute = Callable[[str, Sequence[Any]], Any]
"""Runs one statement with its parameters and answers a cursor."""


@dataclass(frozen=True, slots=True)
class _Write:
    jobs: Sequence[Callable[[Execute], Any]]
    is_lasting: bool


class SqliteSession:
    """One SQLite file, used by many threads and processes. Not to be used on both sides of a fork."""

    def __init__(self, path: Path, *, prepare: Callable[[Callable[[str], Any]], None]) -> None:
        """Open the file, creating it for this user alone where there is none; `prepare` runs in a transaction first."""
        self._engine = _engine()
        self._path = path
        self._idle: list[Any] = []
        self._versions: Any = None
        self._versions_lock = Lock()
        with store_errors(path):
            make_folder(path.parent)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._inode = path.stat().st_ino
            self._queue = os.open(path.with_name(path.name + "-queue"), os.O_CREAT | os.O_RDWR, 0o600)
        self._writes: GroupCommit[_Write, list[Any]] = GroupCommit(self._run_writes, jobs_max=BATCH_MAX)
        try:
            with self._queued():
                self._writer = self._connect()
            self.write(lambda execute: prepare(lambda statement: execute(statement, ())))
        except BaseException:
            self.close()
            raise

    def read(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """All rows of one query, over the newest committed state."""
        # Without the context managers that writing has: they would cost half as much as the query.
        self._require_open()
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connect()
        try:
            rows: list[Row] = connection.execute(statement, parameters).fetchall()
        except BaseException as fault:
            connection.close()
            self._raise_ours(fault)
            raise
        if len(self._idle) < IDLE_READERS_MAX:
            self._idle.append(connection)
        else:
            connection.close()
        return rows

    def write(self, job: Callable[[Execute], Result], *, is_lasting: bool = True) -> Result:
        """Run a job as if in a transaction of its own, durable on return; a job that raises leaves nothing behind.

        Jobs of several threads share a transaction and a flush, and a job is run again where another one is refused:
        it changes nothing but the catalog. What need not be lasting is seen by all at once, but is on the disk only
        when something after it is. Raises what the job raises, or `StoreError`.
        """
        (answer,) = self._writes.submit(_Write((job,), is_lasting))
        if isinstance(answer, BlobsError):
            raise answer
        done: Result = answer
        return done

    def write_all(self, jobs: Sequence[Callable[[Execute], Result]]) -> list[Result | BlobsError]:
        """Run several jobs, each as `write` does; what a job is refused for is its answer."""
        return self._writes.submit(_Write(jobs, is_lasting=True)) if jobs else []

    def version(self) -> int:
        """What changes with every transaction that writes, of whichever process and connection."""
        self._require_open()
        with self._versions_lock, self._sqlite_errors():
            if self._versions is None:
                self._versions = self._connect()  # never written by, because it does not count its own transactions
            found: int = self._versions.execute("pragma data_version").fetchone()[0]
            return found

    def close(self) -> None:
        """Close all connections; a second time does nothing."""
        with self._versions_lock:
            if self._versions is not None:
                self._versions.close()
                self._versions = None
        while self._idle:
            self._idle.pop().close()
        if (writer := getattr(self, "_writer", None)) is not None:
            self._writer = None
            writer.close()
        if self._queue >= 0:
            os.close(self._queue)
            self._queue = -1

    def _require_open(self) -> None:
        if self._writer is None:
            raise StoreError(f"The catalog {self._path} is closed.", hint="Open it again.")

    def _connect(self) -> Any:
        with self._sqlite_errors():
            connection = self._engine.connect(
                str(self._path), isolation_level=None, check_same_thread=False, cached_statements=256
            )
            try:
                for each in _PRAGMAS:
                    connection.execute(f"pragma {each}").close()
            except BaseException:
                connection.close()
                raise
            return connection

    def _run_writes(self, writes: list["_Write"]) -> list[list[Any]]:
        """One transaction for all jobs."""
        self._require_open()
        jobs = [job for each in writes for job in each.jobs]
        with self._queued(), self._sqlite_errors(), self._flushing(is_needed=any(each.is_lasting for each in writes)):
            try:
                outcomes = self._run_together(jobs)
                self._writer.execute("commit")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("rollback")
                raise
        rest = iter(outcomes)
        return [list(islice(rest, len(each.jobs))) for each in writes]

    def _run_together(self, jobs: Sequence[Callable[[Execute], Any]]) -> list[Any]:
        """The outcomes of jobs in a new transaction; most are refused nothing, and then no job needs a savepoint."""
        execute = self._writer.execute
        execute("begin immediate")
        try:
            return [job(execute) for job in jobs]
        except (BlobsError, UnicodeEncodeError, OverflowError):
            execute("rollback")
        execute("begin immediate")
        return [self._run_job(execute, each) for each in jobs]

    @contextmanager
    def _flushing(self, *, is_needed: bool) -> Iterator[None]:
        """Commit without a flush of the log where none is needed; the next one takes along what is in the log."""
        if is_needed:
            yield
            return
        self._writer.execute("pragma synchronous = normal").close()
        try:
            yield
        finally:
            self._writer.execute("pragma synchronous = full").close()

    def _run_job(self, execute: Any, job: Callable[[Execute], Any]) -> Any:
        execute("savepoint job")
        try:
            outcome = job(execute)
        except BlobsError as refusal:
            execute("rollback to job")
            outcome = refusal
        except (UnicodeEncodeError, OverflowError):
            execute("rollback to job")
            outcome = refusals.unrecordable()
        execute("release job")
        return outcome

    @contextmanager
    def _queued(self) -> Iterator[None]:
        """Wait for this process's turn to write. With SQLite's own waiting one process can starve."""
        with store_errors(self._path):
            fcntl.flock(self._queue, fcntl.LOCK_EX)
        try:
            with store_errors(self._path):
                if self._path.stat().st_ino != self._inode:
                    raise FileNotFoundError(2, "replaced", str(self._path))
            yield
        finally:
            fcntl.flock(self._queue, fcntl.LOCK_UN)

    @contextmanager
    def _sqlite_errors(self) -> Iterator[None]:
        try:
            yield
        except BaseException as fault:
            self._raise_ours(fault)
            raise

    def _raise_ours(self, fault: BaseException) -> None:
        """Raise the error of ours that a fault of the engine is; return for any other."""
        if isinstance(fault, UnicodeEncodeError | OverflowError):
            raise refusals.unrecordable() from fault
        if isinstance(fault, self._engine.Error):
            raise self._store_error(fault) from fault

    def _store_error(self, fault: Exception) -> StoreError:
        name = getattr(fault, "sqlite_errorname", "") or ""
        if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            return CorruptError(f"The catalog {self._path} is damaged ({fault}).", hint="Restore it from a backup.")
        hint = "Free space on the disk." if name == "SQLITE_FULL" else "Check the disk and who owns the folder."
        error = StoreError(f"The catalog {self._path} cannot be used ({fault}).", hint=hint)
        error.is_retryable = name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
        return error


def _engine() -> Any:
    """A SQLite module that is new enough: the one that comes with the package, else Python's own."""
    for name in ("pysqlite3.dbapi2", "sqlite3"):
        with suppress(ImportError):
            module = importlib.import_module(name)
            if module.sqlite_version_info >= SQLITE_VERSION_MIN:
                return module
    raise SettingsError(
        "There is no SQLite of version 3.51.3 or later, and older ones can corrupt the catalog.",
        hint="Install pysqlite3 0.6.1 or later, which brings its own.",
    )
