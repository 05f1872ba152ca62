"""A DuckDB that can read the given tables and do nothing else.

The order of the locks matters. DuckDB has no boundary inside: a path that is allowed may also be written, and a temp
directory is silently an allowed one. So there are four layers: views over Parquet (a table could be changed by a CTE
that deletes), external access off with exactly the tables' files allowed, the configuration locked, and a statement
that is one query, parsed alone and run only as the inside of `SELECT … FROM (…)`, where nothing but a query can stand.
"""

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb

from blobs.domain.errors import ToolInputError, UnreadableError
from blobs.domain.limits import Limits
from blobs.querying.names import always_quoted, unique_names

STATEMENTS = ("SELECT", "MULTI")
"""The statement types that are run; MULTI is a PIVOT, which DuckDB rewrites into several."""


class SqlEngine:
    """An in-memory DuckDB over views of Parquet files, locked. A context manager.

    `tables` maps names (`blob1`, or `blob1.part`) to files. `memory_bytes` bounds what DuckDB's buffers hold; about as
    much again is taken beside them. `deadline_ms` interrupts a query on a best effort. The real bounds of both are set
    by whoever holds this process.
    """

    def __init__(
        self,
        tables: Mapping[str, str],
        *,
        memory_bytes: int,
        threads: int,
        temp_dir: str | None,
        deadline_ms: int,
    ) -> None:
        self.tables = dict(tables)
        self._descriptors: list[int] = []
        self._connection, known = _opened()
        self.names: dict[str, str] = {}
        """What each table is called in SQL, as a model would write it."""
        try:
            wanted = _settings(memory_bytes, threads, deadline_ms) | {"temp_directory": temp_dir or ""}
            _set(self._connection, {name: value for name, value in wanted.items() if known.get(name) != value})
            paths = {name: self._neutral(path) for name, path in self.tables.items()}
            self._make_views(paths)
            self._lock(paths)
        except BaseException:
            self.close()
            raise

    def check(self, sql: str) -> str:
        """The query without what follows its end; raises `ToolInputError` for all that is not one query."""
        if len(sql.encode("utf-8", "replace")) > Limits().sql_bytes_max:
            raise _refusal(f"code: longer than {Limits().sql_bytes_max:,} bytes.", "Write a shorter query.")
        if "\0" in sql:
            raise _refusal("code: has a NUL character.", "Leave it out.")
        try:
            # Lines are counted as in the wrapped query, which has one more before them.
            statements = self._connection.extract_statements(f"\n{sql}")
            kinds = [each.type.name for each in statements]
        except duckdb.ParserException:
            raise
        except Exception as error:
            # Kinds of statements that this Python module has no name for are no queries either.
            raise _refusal("code: not a SELECT.", "Write one SELECT.") from error
        if not statements:
            raise _refusal("code: there is no statement.", "Write one SELECT.")
        if len(statements) > 1:
            raise _refusal(f"code: {len(statements)} statements.", "Write exactly one SELECT; CTEs are allowed.")
        if kinds[0] not in STATEMENTS:
            raise _refusal(
                f"code: a statement of the kind {kinds[0]} is not allowed.",
                "Write one SELECT; the tables cannot be changed.",
            )
        return _without_end(sql)

    def relation(self, query: str) -> Any:
        """A checked query as a relation, bound but not run. Raises DuckDB's own errors."""
        try:
            return self._connection.sql(query)
        except duckdb.Error as error:
            if "\nLINE " not in str(error):
                self._connection.execute(f"EXPLAIN {query}")  # fails too, and tells the line
            raise

    def describe(self, name: str) -> list[tuple[str, str]]:
        """The columns of a table: names and types."""
        rows = self._connection.execute(f"DESCRIBE {self.names[name]}").fetchall()
        return [(row[0], row[1]) for row in rows]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free everything; closing twice is no error."""
        if _forked:
            return  # the process ends with its query, and all of it with the process
        with suppress(duckdb.Error):
            self._connection.close()
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors = []

    def _neutral(self, path: str) -> str:
        """The file under a path that says nothing of the host: SQL can list the views with their paths."""
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._descriptors.append(descriptor)
        neutral = f"/proc/self/fd/{descriptor}"
        return neutral if Path(neutral).exists() else path

    def _make_views(self, paths: Mapping[str, str]) -> None:
        """A view a table. A part is `blob1.part` both in quotes and as a view of a schema that is named as the blob."""
        parts = [name for name in paths if "." in name]
        taken = dict(zip(parts, unique_names(parts), strict=True))
        for name, path in paths.items():
            try:
                self._make_view(name, taken.get(name, name), path)
            except duckdb.Error as error:
                cause = str(error).splitlines()[0].replace(f" '{path}'", "").replace(path, "its file")
                raise UnreadableError(f"The table {name} cannot be read: {cause}") from error

    def _make_view(self, name: str, unique: str, path: str) -> None:
        """The view of one table: of `blob1`, or of `blob1.part` under its unique name."""
        content = f"SELECT * FROM read_parquet({_literal(path)})"  # noqa: S608  # a quoted literal
        blob, dot, part = unique.partition(".")
        self.names[name] = always_quoted(blob) + (f".{always_quoted(part)}" if dot else "")
        if dot:
            self._connection.execute(f"CREATE SCHEMA IF NOT EXISTS {always_quoted(blob)}")
            self._connection.execute(f"CREATE VIEW {self.names[name]} AS {content}")
        self._connection.execute(f"CREATE VIEW {always_quoted(unique)} AS {content}")

    def _lock(self, paths: Mapping[str, str]) -> None:
        allowed = ", ".join(_literal(path) for path in sorted(set(paths.values())))
        self._connection.execute(f"SET allowed_paths=[{allowed}]")
        self._connection.execute("SET enable_external_access=false")
        self._connection.execute("SET lock_configuration=true")  # the last: nothing can be set after it


def open_ahead(*, memory_bytes: int, deadline_ms: int) -> None:
    """Open the database that the next engine of this process uses, for a process that forks one for each query.

    It has no thread yet, so that a fork is sound; opening and the first query over Parquet take 30 ms. What the engine
    will probably be given is set beforehand: a setting takes a third of a millisecond.
    """
    connection = duckdb.connect(":memory:", config=_SHUT)
    with suppress(OSError, duckdb.Error), tempfile.TemporaryDirectory(prefix="sql-") as folder:
        path = _literal(f"{folder}/warm-up.parquet")
        connection.execute(f"COPY (SELECT range AS a, 'x' AS b FROM range(10)) TO {path}")  # noqa: S608  # ours
        connection.execute(f"CREATE VIEW ahead AS SELECT * FROM read_parquet({path})")  # noqa: S608  # ours
        connection.sql(f"SELECT * FROM ({_USUAL})").to_arrow_reader().read_all()  # noqa: S608  # ours
        connection.execute("DROP VIEW ahead")
    settings = _settings(memory_bytes, 1, deadline_ms)
    _set(connection, settings)
    _ahead.append((connection, settings))


_USUAL = "SELECT b, count(*), sum(a), avg(a), min(a), max(b) FROM ahead WHERE a >= 0 GROUP BY b ORDER BY b LIMIT 9"
"""A query of the usual kind: what it touches is in memory and known to the catalog then."""

_ahead: list[tuple[duckdb.DuckDBPyConnection, dict[str, str]]] = []
"""The database that was opened ahead, and what is set in it."""
_forked: list[duckdb.DuckDBPyConnection] = []
"""The connection that this process, a fork, has to the database that was opened ahead."""

_SHUT: dict[str, str | bool | int | float | list[str]] = {
    "threads": "1",
    "async_threads": "0",  # for files of a network
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_unsigned_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",
    "secret_directory": "/nonexistent",
    "home_directory": "/nonexistent",
    "extension_directory": "/nonexistent",
}
"""What every database is opened with."""


def _opened() -> tuple[duckdb.DuckDBPyConnection, dict[str, str]]:
    """A connection of its own to the database that was opened ahead, else to a new one; and what is set there."""
    if not _ahead:
        return duckdb.connect(":memory:", config=_SHUT), {}
    # A cursor draws random numbers of its own: those of the connection before the fork would repeat.
    connection, settings = _ahead.pop()
    _forked.append(connection.cursor())
    return _forked[0], settings


def _settings(memory_bytes: int, threads: int, deadline_ms: int) -> dict[str, str]:
    """What is set for one query beside where it may spill to."""
    memory = f"{memory_bytes // 2**20}MiB"
    return {
        "memory_limit": memory,
        "max_temp_directory_size": memory,
        "threads": str(threads),
        "max_execution_time": str(deadline_ms),
        "TimeZone": "UTC",
    }


def _set(connection: duckdb.DuckDBPyConnection, settings: Mapping[str, str]) -> None:
    for name, value in settings.items():
        connection.execute(f"SET GLOBAL {name}={_literal(value)}")


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _refusal(message: str, hint: str) -> ToolInputError:
    return ToolInputError(message, code="sql_error", hint=hint)


def _without_end(sql: str) -> str:
    """The statement without its closing semicolons and what follows them; it has been parsed, so nothing else can."""
    end = None
    for position, kind in duckdb.tokenize(sql):
        if kind is duckdb.token_type.comment:
            continue
        is_semicolon = sql.encode()[position : position + 1] == b";"
        end = (position if end is None else end) if is_semicolon else None
    return sql if end is None else sql.encode()[:end].decode()
