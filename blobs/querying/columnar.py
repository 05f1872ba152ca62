"""The columnar copy: a table as exact typed Parquet, over which SQL runs.

No value changes its meaning on the way: a column has a type only where the type holds every value (see
`blobs.querying.column_typing`), and is text or JSON otherwise.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, Protocol

from blobs.domain.errors import UnreadableError
from blobs.querying.cell_batches import TableTyping, cell_batches
from blobs.querying.names import unique_names
from blobs.reading.reader import Column, StartOverError, Table

ROW_GROUP_ROWS = 32_768
"""Rows are reached at random 5 times faster than with DuckDB's own 122,880, at the same size and speed of queries."""
ROW_GROUP_BYTES = 64 * 2**20

_FIRST_BATCHES = 4
"""Those that are looked at before any is written."""


class Sink(Protocol):
    """Where bytes go."""

    def write(self, chunk: bytes, /) -> Any:
        """Take the next bytes."""


def types_of(table: Table) -> list[Column]:
    """The columns that a table with rows has in SQL, as `TableTyping` tells them."""
    while True:
        typing = TableTyping(table)
        with suppress(StartOverError):
            for batch in cell_batches(table):
                typing.look_at(batch)
            return typing.columns()


def column_types(rows: Iterable[list[Any]], columns: Sequence[str], *, is_text: bool) -> list[Column]:
    """The columns that these rows would have in SQL: unique names, and the type that keeps every value."""
    return types_of(Table(columns, rows=lambda: iter(rows), is_text=is_text))


def write_parquet(table: Table, sink: Sink, columns: list[Column] | None = None) -> list[Column]:
    """Write a table as Parquet (zstd, row groups of `ROW_GROUP_ROWS` rows) and answer its columns.

    `columns` are those that it is known to have; else rows are passed over twice. Memory is bounded by a row group.
    Raises `UnreadableError` where the table's Arrow data is damaged.
    """
    import pyarrow as pa  # profiles of light formats must not need it

    from blobs.querying.parquet_writing import RowGroups
    from blobs.querying.typed_batches import typed

    try:
        contents = typed(table, columns)
        with RowGroups(contents.schema, sink) as groups:
            for batch in contents.batches():
                groups.add(batch)
    except pa.ArrowInvalid as error:
        raise _damaged(error) from error
    return contents.columns


def write_parquet_in_one_pass(table: Table, sink: Sink) -> tuple[list[Column], bool]:
    """As `write_parquet`, the types taken from the first rows; answers the columns and whether the sink has the file.

    Where a later row needs another type, what is in the sink is no file: write the table again, as these columns.
    """
    if table.rows is None:
        return write_parquet(table, sink), True
    import pyarrow as pa  # as above

    try:
        return _in_one_pass(table, sink)
    except StartOverError:
        return types_of(table), False
    except pa.ArrowInvalid as error:
        raise _damaged(error) from error


def _damaged(error: Exception) -> UnreadableError:
    return UnreadableError(f"The table cannot be read: {str(error).splitlines()[0][:300]}")


def _in_one_pass(table: Table, sink: Sink) -> tuple[list[Column], bool]:
    from blobs.querying.parquet_writing import RowGroups
    from blobs.querying.typed_batches import HOLLOW, record_batch, schema_of

    typing, source = TableTyping(table), cell_batches(table)
    first = list(islice(source, _FIRST_BATCHES))
    for batch in first:
        typing.look_at(batch)
    columns = typing.columns() or [HOLLOW]
    schema = schema_of(columns)
    with RowGroups(schema, sink) as groups:
        for batch in first:
            groups.add(record_batch(batch, columns, schema))
        first.clear()
        for batch in source:
            typing.look_at(batch)
            if (typing.columns() or [HOLLOW]) != columns:
                groups.abandon()
                break
            groups.add(record_batch(batch, columns, schema))
        else:
            return columns, True
    for batch in source:
        typing.look_at(batch)
    return typing.columns(), False


def columns_as_they_are(table: Table) -> list[Column] | None:
    """The columns of a table whose source is its own exact copy, or None where a copy must be made.

    A Parquet file is that where SQL reads each of its types without loss and takes each of its names as it stands.
    """
    if not table.is_parquet:
        return None
    import pyarrow as pa

    from blobs.querying.arrow_columns import held_type, sql_name

    schema = table.arrow().schema
    held = [held_type(field.type) for field in schema]
    widened = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
    is_exact = all(widened.get(field.type, field.type) == kind for field, kind in zip(schema, held, strict=True))
    if not is_exact or unique_names(schema.names) != schema.names:
        return None
    return [Column(name, sql_name(kind)) for name, kind in zip(schema.names, held, strict=True)]


def arrow_table(table: Table) -> Any:
    """The table as a `pyarrow.Table` in memory, its columns typed as in the columnar copy."""
    import pyarrow as pa

    from blobs.querying.typed_batches import typed

    contents = typed(table)
    return pa.Table.from_batches(contents.batches(), schema=contents.schema)
