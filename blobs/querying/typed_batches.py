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
from blobs.querying.columnar import EXTRA, batches, transposed, types_of
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
_HOLLOW = Column("column1")
"""A table without columns still has rows to count; neither Parquet nor SQL can say so without a column."""


@dataclass(frozen=True, slots=True)
class TypedBatches:
    """The columns of a table, and a callable that starts a pass over its record batches."""

    columns: list[Column]
    schema: pa.Schema
    batches: Callable[[], Iterator[pa.RecordBatch]]


def typed(table: Table) -> TypedBatches:
    """The table with the types of its columns found out: one pass over its rows, or its Arrow schema."""
    if table.arrow is not None:
        return _typed_arrow(table)
    return _typed_rows(table)


def _typed_rows(table: Table) -> TypedBatches:
    assert table.rows is not None
    rows, width = table.rows, len(table.columns)
    columns = types_of(table) or [_HOLLOW]
    schema = pa.schema([pa.field(each.name, _arrow_type(each.type)) for each in columns])
    has_extra = len(columns) > max(width, 1) or (width == 0 and columns[0].name == EXTRA)

    def converted() -> Iterator[pa.RecordBatch]:
        for batch in batches(rows()):
            cells, extra = transposed(batch, width)
            if has_extra:
                cells.append(tuple(extra or [None] * len(batch)))
            if not cells:
                cells.append((None,) * len(batch))
            arrays = [_array(each, column.type) for each, column in zip(cells, columns, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def cast() -> Iterator[pa.RecordBatch]:
        assert table.texts is not None
        for batch in table.texts():
            arrays = [each.cast(field.type) for each, field in zip(batch.columns, schema, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    return TypedBatches(columns, schema, converted if table.texts is None or not width else cast)


def _arrow_type(sql_type: str) -> pa.DataType:
    if sql_type.startswith("DECIMAL"):
        precision, scale = sql_type.removeprefix("DECIMAL(").removesuffix(")").split(",")
        return pa.decimal128(int(precision), int(scale))
    return _TYPES[sql_type]


def _array(cells: Sequence[Any], sql_type: str) -> pa.Array:  # noqa: PLR0911  # one line a type
    """The cells as an array of the type that `ColumnTyper` found for them."""
    kind = _arrow_type(sql_type)
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
    hollow = pa.schema([pa.field(_HOLLOW.name, pa.large_string())])
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
