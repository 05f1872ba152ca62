"""Tables as Arrow record batches whose types keep every value."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from blobs.domain import exact_json
from blobs.domain.exact_json import Number
from blobs.querying.arrow_columns import held_array, held_type, sql_name
from blobs.querying.cell_batches import Batch, Cells, PlainCells, cell_batches
from blobs.querying.columnar import types_of
from blobs.querying.names import unique_names
from blobs.reading.reader import Column, Table

_JSON = pa.json_(pa.large_string())
_TYPES = {
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
    "BLOB": pa.large_binary(),
    "VARCHAR": pa.large_string(),
    "JSON": _JSON,
}
HOLLOW = Column("column1")
"""A table without columns still has rows to count; neither Parquet nor SQL can say so without a column."""


@dataclass(frozen=True, slots=True)
class TypedBatches:
    """The columns of a table, and a callable that starts a pass over its record batches."""

    columns: list[Column]
    schema: pa.Schema
    batches: Callable[[], Iterator[pa.RecordBatch]]


def typed(table: Table, columns: list[Column] | None = None) -> TypedBatches:
    """The table with the types of its columns found out, unless `columns` tells: by a pass or its schema."""
    if table.arrow is not None:
        return _typed_arrow(table)
    return _typed_rows(table, columns)


def _typed_rows(table: Table, columns: list[Column] | None) -> TypedBatches:
    if columns is None:
        columns = types_of(table) or [HOLLOW]
    else:
        list(table.columns)  # those of JSON are settled then
    schema = schema_of(columns)
    return TypedBatches(columns, schema, lambda: (record_batch(each, columns, schema) for each in cell_batches(table)))


def schema_of(columns: list[Column]) -> pa.Schema:
    """The columns as Arrow holds them."""
    return pa.schema([pa.field(each.name, arrow_type(each.type)) for each in columns])


def record_batch(batch: Batch, columns: list[Column], schema: pa.Schema) -> pa.RecordBatch:
    """The rows as these columns, whose types hold them; nulls for what rows have not."""
    cells: list[Cells] = [*batch.columns, *([PlainCells(batch.extra)] if batch.extra is not None else [])]
    arrays = [each.array(column.type) for each, column in zip(cells, columns, strict=False)]
    arrays += [pa.array([None] * batch.count, field.type) for field in list(schema)[len(arrays) :]]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def arrow_type(sql_type: str) -> pa.DataType:
    """What Arrow calls a type that `ColumnTyper` finds."""
    if sql_type.startswith("DECIMAL"):
        precision, scale = sql_type.removeprefix("DECIMAL(").removesuffix(")").split(",")
        return pa.decimal128(int(precision), int(scale))
    return _TYPES[sql_type]


def array_of(cells: Sequence[Any], sql_type: str) -> pa.Array:  # noqa: PLR0911  # one line a type
    """The cells as an array of the type that `ColumnTyper` found for them."""
    kind = arrow_type(sql_type)
    if sql_type == "JSON":
        return pa.ExtensionArray.from_storage(
            _JSON, _strings([None if each is None else exact_json.text(each) for each in cells])
        )
    if sql_type == "VARCHAR":
        return _strings([each if each is None or isinstance(each, str) else cell_text(each) for each in cells])
    if any(isinstance(each, str) for each in cells):
        return _strings(cells).cast(kind)
    if sql_type == "DOUBLE":
        bare = [each.text if isinstance(each, Number) else each for each in cells]
        return pa.array([None if each is None else float(each) for each in bare], kind)
    if sql_type.startswith("DECIMAL"):
        return pa.array([None if each is None else _decimal(each) for each in cells], kind)
    if sql_type == "TIMESTAMP":
        return pa.array([None if each is None else _moment(each) for each in cells], kind)
    if sql_type == "BLOB":
        return pa.array([None if each is None else bytes(each) for each in cells], kind)
    return pa.array(cells, kind)


def _strings(texts: Sequence[str | None]) -> pa.Array:
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeEncodeError:  # lone surrogates, which UTF-8 cannot say
        said = [
            None if each is None else each.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            for each in texts
        ]
        return pa.array(said, pa.large_string())


def cell_text(cell: Any) -> str:
    """A cell as exact text, for a column that no other type holds."""
    match cell:
        case bool():
            return "true" if cell else "false"
        case float() | Number():
            return repr(cell)
        case bytes() | bytearray() | memoryview():
            return bytes(cell).hex()
        case int() | list() | dict() | tuple():
            return exact_json.text(cell)
        case date():
            return cell.isoformat()
    return str(cell)


def _moment(cell: date) -> datetime:
    """A date beside moments, in a column of both, is its midnight."""
    return cell if isinstance(cell, datetime) else datetime(cell.year, cell.month, cell.day)


def _decimal(cell: Any) -> Decimal:
    if isinstance(cell, int | Decimal):
        return Decimal(cell)
    return Decimal(repr(cell))


def _typed_arrow(table: Table) -> TypedBatches:
    with table.arrow() as reader:
        schema = reader.schema
    held = [held_type(each.type) for each in schema]
    names = unique_names(list(table.columns) if len(table.columns) == len(schema) else schema.names)
    for place in _overflowing(table, schema, held):
        held[place] = pa.int64()
    hollow = pa.schema([pa.field(HOLLOW.name, pa.large_string())])
    made = pa.schema([pa.field(name, kind) for name, kind in zip(names, held, strict=True)]) if held else hollow
    columns = [Column(each.name, sql_name(each.type)) for each in made]

    def converted() -> Iterator[pa.RecordBatch]:
        with table.arrow() as reader:
            for batch in reader:
                batch.validate(full=True)  # Arrow itself trusts its offsets
                arrays = [_held(each, kind) for each, kind in zip(batch.columns, held, strict=True)]
                arrays = arrays or [pa.nulls(len(batch), pa.large_string())]
                yield pa.RecordBatch.from_arrays(arrays, schema=made)

    return TypedBatches(columns, made, converted)


def _overflowing(table: Table, schema: pa.Schema, held: list[pa.DataType]) -> set[int]:
    """The places of timestamps in seconds or milliseconds that reach years which microseconds cannot count."""
    risky = {
        place for place, each in enumerate(schema) if pa.types.is_timestamp(each.type) and each.type.unit in ("s", "ms")
    }
    if not risky:
        return set()
    found: set[int] = set()
    with table.arrow() as reader:
        for batch in reader:
            batch.validate(full=True)
            for place in risky - found:
                try:
                    held_array(batch.column(place), held[place])
                except pa.ArrowInvalid:
                    found.add(place)
    return found


def _held(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """The column in its held type; a timestamp that is held as a number is what it counts."""
    is_count = pa.types.is_timestamp(array.type) and kind == pa.int64()
    return array.view(kind) if is_count else held_array(array, kind)
