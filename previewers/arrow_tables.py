"""Arrow data as columns and tables of a view."""

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa

from blobs.querying.arrow_columns import held_type, sql_name
from blobs.reading.reader import Column, Table
from previewers.arrow_values import json_values

_TYPE_CHARS_MAX = 200


def columns_of(schema: pa.Schema) -> list[Column]:
    """The columns as written, with the types that they have in SQL; a long type is cut with a mark."""
    return [Column(field.name, _cut(sql_name(held_type(field.type)))) for field in schema]


def _cut(told: str) -> str:
    hidden = len(told) - _TYPE_CHARS_MAX
    return told if hidden <= 0 else f"{told[:_TYPE_CHARS_MAX]}…(+{hidden} chars)"


def table_of(schema: pa.Schema, batches: Callable[[], Iterable[pa.RecordBatch]]) -> Table:
    """The table of these batches; text that is not UTF-8, which SQL refuses, has its bad bytes replaced."""

    def valid() -> Iterator[pa.RecordBatch]:
        for batch in batches():
            arrays = [_valid_text(column) for column in batch.columns]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema) if arrays else batch

    return Table([field.name for field in schema], arrow=lambda: pa.RecordBatchReader.from_batches(schema, valid()))


def _valid_text(column: pa.Array) -> pa.Array:
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return pa.array(json_values(column), column.type)
    return column
