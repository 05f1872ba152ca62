"""The columnar copy: a table as exact typed Parquet, over which SQL runs.

No value changes its meaning on the way: a column has a type only where the type holds every value (see
`blobs.querying.column_typing`), and is text or JSON otherwise.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Protocol

from blobs.domain import exact_json
from blobs.domain.errors import UnreadableError
from blobs.querying.column_typing import ColumnTyper, TextTyper
from blobs.querying.names import unique_names
from blobs.reading.reader import Column, Table

ROW_GROUP_ROWS = 32_768
"""Rows are reached at random 5 times faster than with DuckDB's own 122,880, at the same size and speed of queries."""
ROW_GROUP_BYTES = 64 * 2**20
_BATCH_BYTES = 4 * 2**20
_BATCH_ROWS_MAX = 8192
_BATCH_CELLS_MAX = 500_000
_PROBED_ROWS = 8
EXTRA = "extra"
"""The column of what rows hold beyond their columns."""


class Sink(Protocol):
    """Where bytes go."""

    def write(self, chunk: bytes, /) -> Any:
        """Take the next bytes."""


def types_of(table: Table) -> list[Column]:
    """The columns of a table that has rows, as `column_types` tells them."""
    assert table.rows is not None
    if table.texts is None:
        return column_types(table.rows(), table.columns, is_text=table.is_text)
    typers = [TextTyper() for _ in table.columns]
    for batch in table.texts():
        for typer, texts in zip(typers, batch.columns, strict=True):
            typer.look_at_array(texts)
    return [Column(name, each.type()) for name, each in zip(unique_names(table.columns), typers, strict=True)]


def column_types(rows: Iterable[list[Any]], columns: list[str], *, is_text: bool) -> list[Column]:
    """The columns that these rows would have in SQL: unique names, and the type that keeps every value.

    Rows longer than `columns` give a last column `extra` of type JSON. The order of rows does not matter.
    """
    typers = [ColumnTyper(is_text=is_text) for _ in columns]
    has_extra = False
    for batch in batches(rows):
        cells, extra = transposed(batch, len(columns))
        has_extra = has_extra or extra is not None
        for typer, column in zip(typers, cells, strict=True):
            typer.look_at(column)
    types = [each.type() for each in typers]
    names = [*columns, EXTRA] if has_extra else columns
    types = [*types, "JSON"] if has_extra else types
    return [Column(name, kind) for name, kind in zip(unique_names(names), types, strict=True)]


def write_parquet(table: Table, sink: Sink) -> list[Column]:
    """Write a table as Parquet (zstd, row groups of `ROW_GROUP_ROWS` rows) and answer its columns.

    Rows are passed over twice, in memory bounded by a row group. Raises `UnreadableError` where the table's Arrow data
    is damaged.
    """
    import pyarrow as pa  # profiles of light formats must not need it

    from blobs.querying.parquet_writing import RowGroups
    from blobs.querying.typed_batches import typed

    try:
        contents = typed(table)
        with RowGroups(contents.schema, sink) as groups:
            for batch in contents.batches():
                groups.add(batch)
    except pa.ArrowInvalid as error:
        raise UnreadableError(f"The table cannot be read: {str(error).splitlines()[0][:300]}") from error
    return contents.columns


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


def batches(rows: Iterable[list[Any]]) -> Iterator[list[list[Any]]]:
    """The rows in batches of about `_BATCH_BYTES`, judged by the rows before."""
    source = iter(rows)
    count = _PROBED_ROWS
    while batch := list(islice(source, count)):
        yield batch
        probes = batch[:: max(1, len(batch) // _PROBED_ROWS)]
        row_bytes = sum(map(_size, probes)) // len(probes) + 1
        cells = max(len(each) for each in probes) + 1
        count = max(1, min(count * 8, _BATCH_ROWS_MAX, _BATCH_BYTES // row_bytes, _BATCH_CELLS_MAX // cells))


def _size(row: list[Any]) -> int:
    """About how many bytes a row takes."""
    size = 8 * len(row)
    for cell in row:
        if isinstance(cell, str | bytes):
            size += len(cell)
        elif isinstance(cell, list | dict):
            size += len(exact_json.dumps(cell))
    return size


def transposed(rows: list[list[Any]], width: int) -> tuple[list[tuple[Any, ...]], list[list[Any] | None] | None]:
    """The cells of rows by column; missing ones are null, those beyond `width` come apart, row by row."""
    if {len(row) for row in rows} == {width}:
        return list(zip(*rows, strict=True)), None
    full = [[*row, *[None] * (width - len(row))][:width] for row in rows]
    columns = list(zip(*full, strict=True)) if width else []
    extra = [row[width:] or None for row in rows]
    return columns, extra if any(extra) else None
