"""The task `sql`: one SELECT over the columnar copies of blobs.

Arguments: `sql`; `tables`, from names (`blob1`, `blob1.part`) to names in `files` of their Parquet; `bytes_max` and
`rows_max`, the most that the rows in the answer may be; `cell_chars_max`; `save`, to have the whole result as payload
however small; `result_bytes_max`, the most that the payload may be; `memory_bytes`, the most that DuckDB's buffers may
hold; `threads`; `wall_ms`; `temp_dir` (private and empty). All but the first two have defaults.

The answer: `columns` (`["id BIGINT", …]`), `rows` (arrays, as many as fit), `count` of all rows, `is_exact` (there are
that many, not just at least), `complete` (`rows` is the whole result, uncut), `cut_cells`, if need be a `note` for
whoever reads the rows, and where the whole result was written as Parquet, `payload_type` and `payload_rows`. Without
these two the bytes in the reply are no result.
"""

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from blobs.domain.errors import CallerError, ToolInputError
from blobs.domain.limits import KIB, MIB, Limits
from blobs.domain.media_type import PARQUET
from blobs.querying import sql_errors
from blobs.querying.columnar import Sink
from blobs.querying.sql_engine import SqlEngine, open_ahead
from blobs.querying.sql_result import ShownRows, StoredResult
from blobs.querying.sql_types import ResultColumn, result_column

_BATCH_ROWS = 4_096
_BYTES_PER_THREAD = 8 * MIB
"""Of Parquet: for less, starting and ending a thread costs more than it helps."""
_DEADLINE_SHARE = 0.85
"""Of `wall_ms`: the rest is for writing the answer before the cell is killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlCall:
    """The task's arguments."""

    sql: str
    tables: Mapping[str, str]
    rows_max: int | None = None
    bytes_max: int = 32 * KIB
    cell_chars_max: int = 2_000
    save: bool = False
    result_bytes_max: int | None = None
    memory_bytes: int = 512 * MIB
    threads: int = 2
    wall_ms: int = 10_000
    temp_dir: str | None = None


def run(arguments: dict[str, Any], files: dict[str, str], reply: Sink) -> dict[str, Any]:
    """Run the query.

    Raises `ToolInputError` with code `sql_error`, `sql_memory`, `sql_timeout` or `result_too_large`.
    """
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
            threads=min(call.threads, 1 + sum(map(_size, tables.values())) // _BYTES_PER_THREAD),
            temp_dir=temp_dir,
            deadline_ms=deadline_ms,
        ) as engine,
    ):
        try:
            return _answer(engine, call, reply, deadline)
        except (duckdb.Error, pa.ArrowException, OSError, MemoryError) as error:
            paths = [*tables.values(), *([temp_dir] if temp_dir else [])]
            raise sql_errors.told(error, tables=_described(engine), paths=paths, wall_ms=call.wall_ms) from error


def _size(path: str) -> int:
    return Path(path).stat().st_size


def warm_up() -> None:
    """Open the database before cells are forked, so that no query waits for it."""
    limits = Limits()
    deadline_ms = int(limits.call_ms_max * _DEADLINE_SHARE)
    open_ahead(memory_bytes=limits.cell_memory_bytes_max // 2, deadline_ms=deadline_ms)


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


def _answer(engine: SqlEngine, call: SqlCall, reply: Sink, deadline: float) -> dict[str, Any]:
    query = engine.check(call.sql)
    stored = StoredResult(reply, call.result_bytes_max)
    try:
        return _results(engine, query, call, stored, deadline, huge_as_text=False)
    except (duckdb.Error, OSError) as error:
        if not sql_errors.is_over_38_digits(error) or stored.has_begun:
            raise
    return _results(engine, query, call, stored, deadline, huge_as_text=True)


def _results(
    engine: SqlEngine, query: str, call: SqlCall, stored: StoredResult, deadline: float, *, huge_as_text: bool
) -> dict[str, Any]:
    # The newlines end a comment at the query's end. Nothing but a query can stand in this place.
    inner = f"SELECT * FROM (\n{query}\n)"  # noqa: S608  # checked; the locks hold whatever it says
    bound = engine.relation(inner)
    columns = [
        result_column(name, kind, huge_as_text=huge_as_text)
        for name, kind in zip(bound.columns, bound.types, strict=True)
    ]
    is_as_it_is = not any(each.stored or each.shown for each in columns)
    relation = bound if is_as_it_is else engine.relation(_selection(columns, inner))
    shown = ShownRows(columns, bytes_max=call.bytes_max, rows_max=call.rows_max, cell_chars_max=call.cell_chars_max)
    reader = relation.to_arrow_reader(_BATCH_ROWS)
    stored.expect(columns, reader.schema, is_wanted=call.save)
    is_whole = True
    count = 0
    for batch in _fetched(reader):
        if batch is None or time.monotonic() > deadline:
            is_whole = False
            break
        count += batch.num_rows
        shown.take(batch)
        stored.take(batch, is_needed=shown.is_full)
    if not is_whole and (count == 0 or call.save):
        raise duckdb.InterruptException("INTERRUPT Error: the deadline")
    is_stored = stored.finish(is_whole=is_whole)
    if call.save and not is_stored:
        raise ToolInputError(
            "The result is too large to be saved.",
            code="result_too_large",
            hint="Select fewer columns or rows, or aggregate.",
        )
    answer = {
        "columns": [f"{each.name} {each.type}" for each in columns],
        "rows": shown.rows,
        "count": count,
        "is_exact": is_whole,
        "complete": is_whole and not shown.is_full and shown.cut_cells == 0,
        "cut_cells": shown.cut_cells,
    }
    if note := _note(shown, count, is_whole=is_whole, is_stored=is_stored):
        answer["note"] = note
    return answer | ({"payload_type": PARQUET, "payload_rows": count} if is_stored else {})


def _note(shown: ShownRows, count: int, *, is_whole: bool, is_stored: bool) -> str:
    """What a reader of the rows should know, or nothing."""
    notes = []
    if not is_whole:
        notes.append(f"Only the first {len(shown.rows):,} rows: time ran out after {count:,}. Filter or aggregate.")
    elif shown.is_full:
        reason = "" if is_stored else ": all of them are too large to be kept. Filter or aggregate"
        notes.append(f"Only the first {len(shown.rows):,} of {count:,} rows{reason}.")
    if shown.cut_cells:
        cells = "1 cell is" if shown.cut_cells == 1 else f"{shown.cut_cells} cells are"
        notes.append(f"{cells} cut: …(+N chars) says what is left out. Use substr(), or save the result to have all.")
    return " ".join(notes)


def _selection(columns: list[ResultColumn], inner: str) -> str:
    """The query whose columns are first those to store, then those that are shown in another form."""
    names = [f"c{place}" for place in range(len(columns))]
    stored = [
        f"CAST({name} AS {each.stored})" if each.stored else name for name, each in zip(names, columns, strict=True)
    ]
    shown = [f"CAST({name} AS {each.shown})" for name, each in zip(names, columns, strict=True) if each.shown]
    return f"SELECT {', '.join(stored + shown)} FROM ({inner}) AS t({', '.join(names)})"  # noqa: S608  # as above


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
