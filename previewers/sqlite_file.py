"""A SQLite database opened so that it can only be read, and its tables and views one by one."""

import sqlite3
import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import quote

from blobs.domain.errors import UnreadableError
from blobs.domain.limits import MIB
from blobs.domain.ranges import ItemRange
from blobs.reading.source import Source
from previewers.parsing import parsing

WHAT = "SQLite database"
MAGIC = b"SQLite format 3\x00"
_WAL_VERSION = 2
_VERSIONS_AT = 18
"""Where the header says with which kind of journal the file is read and written (fileformat2, 1.3)."""

_VALUE_BYTES_MAX = 256 * MIB
_FETCHED_ROWS = 256
_PROGRESS_STEPS = 20_000
_VIEW_SECONDS_MAX = 1.0
"""How long the rows of one view are counted: a view may hold any computation at all."""

_KINDS_COLUMNS = 100
NUMBER, TEXT, BLOB = 1, 2, 4
"""The kinds of values that a column holds, as bits."""

_ALLOWED = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)


class SqliteFile:
    """A connection that can run SELECT and nothing else, whatever the schema of the file says."""

    def __init__(self, source: Source) -> None:
        versions = source.read(_VERSIONS_AT, _VERSIONS_AT + 2)
        self.is_wal = _WAL_VERSION in versions
        self.has_bad_text = False
        self._deadline: float | None = None
        with parsing(WHAT):
            self._connection = _connected(source, is_wal=self.is_wal)
            weakref.finalize(self, self._connection.close)
            self._connection.text_factory = self._text
            _lock(self._connection)
            self._connection.set_progress_handler(self._is_late, _PROGRESS_STEPS)

    def rows(self, query: str, arguments: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a query; raises `UnreadableError` where the file is damaged."""
        with parsing(WHAT):
            cursor = self._connection.execute(query, arguments)
        while True:
            with parsing(WHAT):
                rows = cursor.fetchmany(_FETCHED_ROWS)
            if not rows:
                return
            yield from rows

    def rows_before_damage(self, query: str) -> int:
        """How many rows of a query can be had before the damage to the file."""
        count = 0
        try:
            for _ in self._connection.execute(query):
                count += 1
        except (sqlite3.Error, OverflowError):
            pass
        return count

    def columns(self, query: str) -> list[str]:
        """The names of a query's columns."""
        with parsing(WHAT):
            return [each[0] for each in self._connection.execute(query).description]

    def within(self, seconds: float | None) -> None:
        """From now on, stop what takes longer; None lifts that."""
        self._deadline = None if seconds is None else time.monotonic() + seconds

    def _is_late(self) -> int:
        return self._deadline is not None and time.monotonic() > self._deadline

    def _text(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            self.has_bad_text = True
            return raw.decode("utf-8", "backslashreplace")


def _connected(source: Source, *, is_wal: bool) -> sqlite3.Connection:
    if source.path is not None:
        # Immutable: no locks, no journal beside the file. Only so is one in WAL mode read without that.
        uri = f"file:{quote(source.path)}?mode=ro&immutable=1"
        return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    content = bytearray(source.buffer())
    if is_wal:
        content[_VERSIONS_AT : _VERSIONS_AT + 2] = b"\x01\x01"  # memory has no WAL mode
    connection.deserialize(content)
    return connection


def _lock(connection: sqlite3.Connection) -> None:
    for pragma in ("trusted_schema=off", "query_only=on", "cell_size_check=on", "temp_store=memory"):
        connection.execute(f"PRAGMA {pragma}").close()
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _VALUE_BYTES_MAX)
    connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY)


@dataclass(frozen=True)
class Relation:
    """A table or view: its columns, and how many of its rows can be read (None where a view takes too long)."""

    file: SqliteFile
    name: str
    columns: list[str]
    count: int | None
    is_view: bool = False
    note: str = ""

    def rows(self, span: ItemRange, count: int) -> Iterator[tuple[Any, ...]]:
        """The rows of the range, of the first `count`, as SQLite gives them."""
        length = min(span.stop, count) - span.start
        query = f"SELECT * FROM {identifier(self.name)} LIMIT ? OFFSET ?"  # noqa: S608  # a quoted identifier
        return self.file.rows(query, (max(0, length), span.start))

    @cached_property
    def kinds(self) -> list[int]:
        """Which kinds of values each column holds: bits of NUMBER, TEXT and BLOB."""
        kinds: list[int] = []
        for start in range(0, len(self.columns), _KINDS_COLUMNS):
            told = ", ".join(
                f"max(typeof({name}) IN ('integer', 'real')) + 2 * max(typeof({name}) = 'text')"
                f" + 4 * max(typeof({name}) = 'blob')"
                for name in map(identifier, self.columns[start : start + _KINDS_COLUMNS])
            )
            query = f"SELECT {told} FROM {identifier(self.name)}"  # noqa: S608  # quoted identifiers
            kinds.extend(int(bits or 0) for bits in next(self.file.rows(query)))
        return kinds


@dataclass(frozen=True)
class Inventory:
    """The tables and views of a database, and what is left out of them."""

    relations: list[Relation]
    notes: list[str] = field(default_factory=list)


def inventory(file: SqliteFile) -> Inventory:
    """All tables and views but SQLite's own, in the order of the schema; raises `UnreadableError` over a broken one."""
    query = "SELECT type, name, sql FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY rowid"
    found = Inventory([])
    virtual, broken = [], []
    for kind, name, sql in list(file.rows(query)):
        if not isinstance(name, str) or name.startswith("sqlite_"):
            continue
        if kind == "table" and " ".join(str(sql).lower().split()).startswith("create virtual"):
            virtual.append(name)
            continue
        try:
            found.relations.append(_relation(file, name, is_view=kind == "view"))
        except UnreadableError as problem:
            broken.append(f"{kind} {name!r} cannot be read: {problem.message.rpartition('supported: ')[2]}")
    if virtual:
        found.notes.append(f"virtual tables are left out: {_listed(virtual)}")
    found.notes.extend(each[:300] for each in broken[:5])
    if len(broken) > 5:
        found.notes.append(f"{len(broken) - 5} more tables or views cannot be read")
    if broken and not found.relations:
        raise UnreadableError(f"The {WHAT} is damaged: {broken[0][:200]}")
    return found


def _relation(file: SqliteFile, name: str, *, is_view: bool) -> Relation:
    select = f"SELECT * FROM {identifier(name)}"  # noqa: S608  # a quoted identifier
    counting = f"SELECT count(*) FROM ({select})"  # noqa: S608  # as above
    if is_view:
        file.within(_VIEW_SECONDS_MAX)
        try:
            columns = file.columns(f"{select} LIMIT 0")
            return Relation(file, name, columns, next(file.rows(counting))[0], is_view=True, note="view")
        except UnreadableError as problem:
            if "interrupted" not in problem.message:
                raise
            return Relation(file, name, columns, None, is_view=True, note="view; not counted: it takes too long")
        finally:
            file.within(None)
    columns = file.columns(f"{select} LIMIT 0")
    try:
        return Relation(file, name, columns, next(file.rows(counting))[0])
    except UnreadableError:
        return damaged(Relation(file, name, columns, None))


def damaged(relation: Relation) -> Relation:
    """The relation with as many rows as can be read before the damage."""
    select = f"SELECT * FROM {identifier(relation.name)}"  # noqa: S608  # a quoted identifier
    count = relation.file.rows_before_damage(select)
    note = f"{relation.note + '; ' if relation.note else ''}damaged: only its first {count:,} rows can be read"
    return Relation(relation.file, relation.name, relation.columns, count, relation.is_view, note)


def identifier(name: str) -> str:
    """A name in SQL's quotes."""
    return '"' + name.replace('"', '""') + '"'


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return ", ".join(repr(name[:60]) for name in names[:10]) + more
