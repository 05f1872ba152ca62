"""Arrow types as SQL types, and record batches as DuckDB reads them without loss."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa

from blobs.domain import exact_json
from previewers.arrow_values import distinct_names, json_values

_TYPE_CHARS_MAX = 200
_NAMES = {
    "bool": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "uint8": "UTINYINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "halffloat": "FLOAT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date32[day]": "DATE",
    "date64[ms]": "DATE",
    "time32[s]": "TIME",
    "time32[ms]": "TIME",
    "time64[us]": "TIME",
    "time64[ns]": "TIME_NS",
    "timestamp[s]": "TIMESTAMP",
    "timestamp[ms]": "TIMESTAMP",
    "timestamp[us]": "TIMESTAMP",
    "timestamp[ns]": "TIMESTAMP_NS",
    "string": "VARCHAR",
    "large_string": "VARCHAR",
    "string_view": "VARCHAR",
    "binary": "BLOB",
    "large_binary": "BLOB",
    "binary_view": "BLOB",
}
_DECIMAL_DIGITS_MAX = 38
_TEXTS = frozenset({"string", "large_string", "string_view"})


def sql_type(kind: pa.DataType) -> str:
    """The type that a column has in SQL; a long one is cut with a mark."""
    told = _sql_type(kind)
    return told if len(told) <= _TYPE_CHARS_MAX else f"{told[:_TYPE_CHARS_MAX]}…(+{len(told) - _TYPE_CHARS_MAX} chars)"


def _sql_type(kind: pa.DataType) -> str:
    if not is_native(kind):
        return "JSON" if pa.types.is_nested(kind) else "VARCHAR"
    return next((told(kind) for test, told in _COMPOSED if test(kind)), _NAMES.get(str(kind), "VARCHAR"))


def _struct_type(kind: pa.DataType) -> str:
    return f"STRUCT({', '.join(f'{field.name} {_sql_type(field.type)}' for field in kind)})"


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _is_zoned(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) and kind.tz is not None)


_COMPOSED: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], str]], ...] = (
    (pa.types.is_dictionary, lambda kind: _sql_type(kind.value_type)),
    (pa.types.is_decimal, lambda kind: f"DECIMAL({kind.precision},{kind.scale})"),
    (pa.types.is_fixed_size_binary, lambda _: "BLOB"),
    (_is_zoned, lambda _: "TIMESTAMP WITH TIME ZONE"),
    (pa.types.is_map, lambda kind: f"MAP({_sql_type(kind.key_type)}, {_sql_type(kind.item_type)})"),
    (_is_list, lambda kind: f"{_sql_type(kind.value_type)}[]"),
    (pa.types.is_struct, _struct_type),
)


def is_native(kind: pa.DataType) -> bool:
    """Parquet and DuckDB both hold values of this type exactly; the others are given to SQL as text.

    Not held: decimals of more than 38 digits (DuckDB would read doubles), nanoseconds with a zone (it would round),
    durations, intervals, unions and extensions.
    """
    if isinstance(kind, pa.BaseExtensionType):
        return False
    return next((held(kind) for test, held in _HELD if test(kind)), str(kind) in _NAMES)


def _holds_decimal(kind: pa.DataType) -> bool:
    return bool(kind.precision <= _DECIMAL_DIGITS_MAX and 0 <= kind.scale <= kind.precision)


def _holds_struct(kind: pa.DataType) -> bool:
    names = {field.name.casefold() for field in kind}  # DuckDB tells names apart without case
    return len(names) == kind.num_fields > 0 and all(is_native(field.type) for field in kind)


_HELD: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], bool]], ...] = (
    (pa.types.is_decimal, _holds_decimal),
    (_is_zoned, lambda kind: bool(kind.unit != "ns")),
    (pa.types.is_dictionary, lambda kind: is_native(kind.value_type)),
    (pa.types.is_struct, _holds_struct),
    (pa.types.is_map, lambda kind: is_native(kind.key_type) and is_native(kind.item_type)),
    (_is_list, lambda kind: is_native(kind.value_type)),
    (pa.types.is_fixed_size_binary, lambda _: True),
)


def record_batches(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Any:
    """A `pyarrow.RecordBatchReader` over the batches, with what SQL cannot hold turned into text."""
    fields = [
        pa.field(name, _held(field.type))
        for name, field in zip(distinct_names([field.name for field in schema]), schema, strict=True)
    ]
    held = pa.schema(fields)

    def convert() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            arrays = [_as_held(column, field.type) for column, field in zip(batch.columns, held, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=held)

    return pa.RecordBatchReader.from_batches(held, convert())


def _held(kind: pa.DataType) -> pa.DataType:
    if not is_native(kind):
        return pa.string()
    if pa.types.is_dictionary(kind):
        return _held(kind.value_type)
    if pa.types.is_float16(kind):
        return pa.float32()
    return kind


def _as_held(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if column.type == kind:
        return _valid_text(column) if str(kind) in _TEXTS else column
    if is_native(column.type):
        return column.cast(kind)
    texts = (
        None if value is None else value if isinstance(value, str) else exact_json.text(value)
        for value in json_values(column)
    )
    return pa.array(texts, pa.string())


def _valid_text(column: pa.Array) -> pa.Array:
    """The column with bytes that are no UTF-8 replaced: files may hold them in text, DuckDB refuses them."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return pa.array(json_values(column), column.type)
    return column
