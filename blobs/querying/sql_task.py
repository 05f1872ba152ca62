"""The task `sql`: one SELECT over the columnar copies of blobs.

Arguments: `sql`; `tables`, from names (`blob1`, `blob1.part`) to names in `files` of their Parquet; `bytes_max` and
`rows_max`, the most that the rows in the answer may be; `cell_chars_max`; `save`, to have the whole result as payload
however small; `result_bytes_max`, the most that the payload may be; `memory_bytes`, `threads`, `wall_ms`, `temp_dir`
(private and empty). All but the first two have defaults.

The answer: `columns` (`[{"name", "type"}]`), `rows` (arrays, as many as fit), `count` of all rows, `is_exact` (whether
that many there are, or at least), `complete` (whether `rows` is the whole result, uncut), `cut_cells`, and where the whole
result was written as Parquet, `payload_type` and `payload_rows`. Without them the bytes in the reply are no result.
"""

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

import duckdb
import pyarrow as pa

from blobs.domain import exact_json
from blobs.domain.errors import CallerError, LimitError, ToolInputError
from blobs.domain.limits import GIB, KIB, MIB
from blobs.domain.media_type import PARQUET
from blobs.querying import sql_errors
from blobs.querying.parquet_writing import RowGroups
from blobs.querying.sql_engine import SqlEngine
from blobs.querying.sql_types import ResultColumn, result_column, stored_array
from blobs.reading.cutting import cut_with_count

_BATCH_ROWS = 4_096
_SLICE_ROWS = 64
_DEADLINE_SHARE = 0.85
"""Of `wall_ms`: the rest is for writing the answer before the cell is killed."""


class Reply(Protocol):
    """Where the payload goes."""

    def write(self, chunk: bytes) -> object: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlCall:
    """The task's arguments."""

    sql: str
    tables: Mapping[str, str]
    rows_max: int | None = None
    bytes_max: int = 32 * KIB
    cell_chars_max: int = 2_000
    save: bool = False
    result_bytes_max: int = 64 * MIB
    memory_bytes: int = 1 * GIB
    threads: int = 2
    wall_ms: int = 10_000
    temp_dir: str | None = None


def run(arguments: dict[str, Any], files: dict[str, str], reply: Reply) -> dict[str, Any]:
    """Run the query. Raises `ToolInputError` with code `sql_error`, `sql_memory`, `sql_timeout` or `result_too_large`."""
    try:
        call = SqlCall(**arguments)
        tables = {name: files[file] for name, file in call.tables.items()}
    except (TypeError, KeyError) as error:
        raise CallerError(f"sql: wrong arguments: {error}") from error
    if not isinstance(call.sql, str) or not call.sql.strip():
        raise ToolInputError("code: there is no statement.", code="sql_error", hint="Write one SELECT.")
    deadline_ms = int(call.wall_ms * _DEADLINE_SHARE)
    deadline = time.monotonic() + deadline_ms / 1000
    with (
        _scratch(call.temp_dir) as temp_dir,
        SqlEngine(
            tables,
            memory_bytes=call.memory_bytes,
            threads=call.threads,
            temp_dir=temp_dir,
            deadline_ms=deadline_ms,
        ) as engine,
    ):
        try:
            return _answer(engine, call, reply, deadline)
        except (duckdb.Error, pa.ArrowException, OSError, MemoryError) as error:
            paths = [*tables.values(), *([temp_dir] if temp_dir else [])]
            raise sql_errors.told(error, tables=_described(engine), paths=paths, wall_ms=call.wall_ms) from error


@contextmanager
def _scratch(temp_dir: str | None) -> Iterator[str | None]:
    """A private folder for what does not fit memory, or None in a cell without scratch space."""
    if temp_dir is not None:
        yield temp_dir
        return
    with ExitStack() as stack:
        made = None
        with suppress(OSError):
            made = stack.enter_context(tempfile.TemporaryDirectory(prefix="sql-", ignore_cleanup_errors=True))
        yield made


def _described(engine: SqlEngine) -> dict[str, list[tuple[str, str]]]:
    try:
        return {name: engine.describe(name) for name in list(engine.tables)[:20]}
    except (duckdb.Error, MemoryError):
        return {}


def _answer(engine: SqlEngine, call: SqlCall, reply: Reply, deadline: float) -> dict[str, Any]:
    query = engine.check(call.sql)
    stored = _StoredResult(reply, call.result_bytes_max)
    try:
        return _results(engine, query, call, stored, deadline, huge_as_text=False)
    except (duckdb.Error, OSError) as error:
        if not sql_errors.is_over_38_digits(error) or stored.has_begun:
            raise
    return _results(engine, query, call, stored, deadline, huge_as_text=True)


def _results(
    engine: SqlEngine, query: str, call: SqlCall, stored: "_StoredResult", deadline: float, *, huge_as_text: bool
) -> dict[str, Any]:
    # The newlines end a comment at the query's end. Nothing but a query can stand in this place.
    inner = f"SELECT * FROM (\n{query}\n)"
    bound = engine.relation(inner)
    columns = [
        result_column(name, kind, huge_as_text=huge_as_text)
        for name, kind in zip(bound.columns, bound.types, strict=True)
    ]
    relation = engine.relation(_selection(columns, inner))
    shown = _ShownRows(columns, call)
    stored.expect(columns, is_wanted=call.save)
    is_whole = True
    count = 0
    for batch in _fetched(relation.to_arrow_reader(_BATCH_ROWS)):
        if batch is None or time.monotonic() > deadline:
            is_whole = False
            break
        count += batch.num_rows
        shown.take(batch)
        stored.take(batch, is_needed=shown.is_partial)
    if not is_whole and (count == 0 or call.save):
        raise duckdb.InterruptException("INTERRUPT Error: the deadline")
    answer = {
        "columns": [{"name": each.name, "type": each.type} for each in columns],
        "rows": shown.rows,
        "count": count,
        "is_exact": is_whole,
        "complete": is_whole and not shown.is_partial,
        "cut_cells": shown.cut_cells,
    }
    if stored.finish(is_whole=is_whole):
        answer |= {"payload_type": PARQUET, "payload_rows": count}
    elif call.save:
        raise ToolInputError(
            f"The result is larger than {call.result_bytes_max:,} bytes and cannot be saved.",
            code="result_too_large",
            hint="Select fewer columns or rows, or aggregate.",
        )
    return answer


def _selection(columns: list[ResultColumn], inner: str) -> str:
    """The query whose columns are first those to store, then those that are shown in another form."""
    names = [f"c{place}" for place in range(len(columns))]
    stored = [f"CAST({name} AS {each.stored})" if each.stored else name for name, each in zip(names, columns, strict=True)]
    shown = [f"CAST({name} AS {each.shown})" for name, each in zip(names, columns, strict=True) if each.shown]
    return f"SELECT {', '.join(stored + shown)} FROM ({inner}) AS t({', '.join(names)})"


def _fetched(reader: Any) -> Iterator[pa.RecordBatch | None]:
    """The batches of a result; a last None where the query was stopped at its deadline."""
    while True:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            return
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            if not sql_errors.is_interrupt(error):
                raise
            yield None
            return
        yield batch


class _ShownRows:
    """The first rows of a result as JSON, as many as fit."""

    def __init__(self, columns: list[ResultColumn], call: SqlCall) -> None:
        self.rows: list[list[Any]] = []
        self.cut_cells = 0
        self._columns = columns
        self._call = call
        self._bytes = 0
        self._is_full = False

    @property
    def is_partial(self) -> bool:
        """There are rows or characters that are not shown."""
        return self._is_full or self.cut_cells > 0

    def take(self, batch: pa.RecordBatch) -> None:
        """Take rows of the next batch until they no longer fit."""
        for start in range(0, batch.num_rows, _SLICE_ROWS):
            if self._is_full:
                return
            for row in self._rendered(batch.slice(start, _SLICE_ROWS)):
                self._add(row)

    def _add(self, row: list[Any]) -> None:
        if self._is_full:
            return
        cut = [self._cut(cell) for cell in row]
        self._bytes += len(exact_json.dumps(cut)) + 1
        self._is_full = self._bytes > self._call.bytes_max or len(self.rows) == self._call.rows_max
        if not self._is_full:
            self.rows.append(cut)
            self.cut_cells += sum(1 for before, after in zip(row, cut, strict=True) if before is not after)

    def _cut(self, cell: Any) -> Any:
        if isinstance(cell, str):
            text = cell
        elif isinstance(cell, list | dict | exact_json.Number):
            text = exact_json.text(cell)
        else:
            return cell
        return cell if len(text) <= self._call.cell_chars_max else cut_with_count(text, self._call.cell_chars_max)

    def _rendered(self, batch: pa.RecordBatch) -> Iterator[list[Any]]:
        others = iter(batch.columns[len(self._columns) :])
        cells = []
        for column, array in zip(self._columns, batch.columns, strict=False):
            source = next(others) if column.shown else array
            cells.append([column.render(each) for each in source.to_pylist()])
        yield from map(list, zip(*cells, strict=True))


class _TooLargeError(Exception):
    """The payload would be larger than it may be."""


class _StoredResult:
    """The whole result as Parquet in the reply, begun only when it turns out to be needed."""

    def __init__(self, reply: Reply, bytes_max: int) -> None:
        self.has_begun = False
        self._reply = reply
        self._room = bytes_max
        self._groups: RowGroups | None = None
        self._is_given_up = False

    def expect(self, columns: list[ResultColumn], *, is_wanted: bool) -> None:
        """Begin over with a result of these columns."""
        self._columns = columns
        self._is_needed = is_wanted
        self._waiting: list[pa.RecordBatch] = []

    def take(self, batch: pa.RecordBatch, *, is_needed: bool) -> None:
        """Take the next rows, and write them if by now it is known that the result must be stored."""
        if self._is_given_up:
            return
        self._is_needed = self._is_needed or is_needed
        self._waiting.append(self._converted(batch))
        if self._is_needed:
            self._write()

    def finish(self, *, is_whole: bool) -> bool:
        """Complete the file; whether there is one, and the whole result in it."""
        if is_whole and self._is_needed and not self._is_given_up:
            self._write(is_last=True)
        elif self._groups is not None and not self._is_given_up:
            self._groups.abandon()
            self._is_given_up = True
        return self._is_needed and is_whole and not self._is_given_up

    def write(self, chunk: bytes) -> None:
        """The sink of the Parquet writer."""
        self._room -= len(chunk)
        if self._room < 0:
            raise _TooLargeError
        self.has_begun = True
        self._reply.write(chunk)

    def _write(self, *, is_last: bool = False) -> None:
        try:
            if self._groups is None:
                self._groups = RowGroups(self._schema(), self)
            for batch in self._waiting:
                self._groups.add(batch)
            if is_last:
                self._groups.finish()
        except (_TooLargeError, LimitError):
            self._is_given_up = True
            if self._groups is not None:
                self._groups.abandon()
        self._waiting = []

    def _schema(self) -> pa.Schema:
        return self._waiting[0].schema

    def _converted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        arrays = [stored_array(array, column) for array, column in zip(batch.columns, self._columns, strict=False)]
        return pa.RecordBatch.from_arrays(arrays, names=[each.name for each in self._columns])
