"""Arrow columns as Parquet and DuckDB hold them: the same values, or exact text where there is no such type."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from blobs.domain import exact_json
from blobs.querying.column_typing import DIGITS_MAX
from blobs.querying.json_form import JsonForm
from blobs.querying.names import quoted, unique_names

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
    "float": "FLOAT",
    "double": "DOUBLE",
    "large_string": "VARCHAR",
    "large_binary": "BLOB",
    "date32[day]": "DATE",
    "time32[ms]": "TIME",
    "time64[us]": "TIME",
    "time64[ns]": "TIME_NS",
    "timestamp[us]": "TIMESTAMP",
    "timestamp[ns]": "TIMESTAMP_NS",
}
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_JSON = pa.json_(pa.large_string())


def sql_name(kind: pa.DataType) -> str:  # noqa: PLR0911  # one line a family of types
    """The SQL type of a column of one of the types that `held_type` answers."""
    if isinstance(kind, pa.JsonType):
        return "JSON"
    if isinstance(kind, pa.UuidType):
        return "UUID"
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return "TIMESTAMP WITH TIME ZONE" if kind.unit == "us" else "TIMESTAMPTZ_NS"
    if pa.types.is_map(kind):
        return f"MAP({sql_name(kind.key_type)}, {sql_name(kind.item_type)})"
    if pa.types.is_large_list(kind):
        return f"{sql_name(kind.value_type)}[]"
    if pa.types.is_struct(kind):
        fields = (f"{quoted(field.name)} {sql_name(field.type)}" for field in kind)
        return f"STRUCT({', '.join(fields)})"
    return _NAMES[str(kind)]


def held_type(kind: pa.DataType) -> pa.DataType:
    """The type in which a column of this type is kept. Types that are told as text become strings, nested ones JSON."""
    held = _held_type(kind)
    if held is not None:
        return held
    return _JSON if pa.types.is_nested(kind) else pa.large_string()


def _held_type(kind: pa.DataType) -> pa.DataType | None:  # noqa: C901, PLR0911  # one line a family of types
    if isinstance(kind, pa.JsonType | pa.UuidType):
        return _JSON if isinstance(kind, pa.JsonType) else kind
    if isinstance(kind, pa.BaseExtensionType):
        return _held_type(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _held_type(kind.value_type)
    if pa.types.is_nested(kind):
        return _held_nested(kind)
    if pa.types.is_null(kind) or pa.types.is_string(kind) or pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary(kind) or pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind):
        return pa.large_binary()
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_decimal(kind):
        is_plain = kind.precision <= DIGITS_MAX and 0 <= kind.scale <= kind.precision
        return pa.decimal128(kind.precision, kind.scale) if is_plain else None
    if pa.types.is_date(kind):
        return pa.date32()
    if pa.types.is_time32(kind):
        return pa.time32("ms")
    if pa.types.is_timestamp(kind):
        return pa.timestamp("ns" if kind.unit == "ns" else "us", "UTC" if kind.tz is not None else None)
    return kind if str(kind) in _NAMES else None


def _held_nested(kind: pa.DataType) -> pa.DataType | None:
    if pa.types.is_map(kind):
        key, item = _leaf(kind.key_type), _leaf(kind.item_type)
        return pa.map_(key, item) if key is not None and item is not None else None
    if pa.types.is_struct(kind):
        names = {field.name.encode("utf-8", "replace").lower() for field in kind}
        fields = [_leaf(field.type) for field in kind]
        if not names or b"" in names or len(names) < kind.num_fields or any(each is None for each in fields):
            return None
        return pa.struct([pa.field(field.name, held) for field, held in zip(kind, fields, strict=True)])
    is_list = (
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
        or pa.types.is_list_view(kind)
        or pa.types.is_large_list_view(kind)
    )
    item = _leaf(kind.value_type) if is_list else None
    return pa.large_list(item) if item is not None else None


def _leaf(kind: pa.DataType) -> pa.DataType | None:
    """The held type inside a nested one, where extension types would be lost."""
    held = _held_type(kind)
    return None if held is None or isinstance(held, pa.BaseExtensionType) else held


def held_array(array: pa.Array, held: pa.DataType) -> pa.Array:  # noqa: PLR0911  # one case a return
    """The column in its held type.

    Raises `pa.ArrowInvalid` for a timestamp beyond the years that microseconds count.
    """
    if array.type == held:
        return array
    if isinstance(array.type, pa.BaseExtensionType):
        storage = array.storage
        if isinstance(held, pa.JsonType):
            return pa.ExtensionArray.from_storage(held, storage.cast(held.storage_type))
        return held_array(storage, held)
    if pa.types.is_run_end_encoded(array.type):
        return held_array(pc.run_end_decode(array), held)
    if _held_type(array.type) is None:
        texts = pa.array(_texts(array), pa.large_string())
        return pa.ExtensionArray.from_storage(held, texts) if isinstance(held, pa.JsonType) else texts
    if pa.types.is_struct(held):
        children = [held_array(child, field.type) for child, field in zip(array.flatten(), held, strict=True)]
        return pa.StructArray.from_arrays(children, fields=list(held), mask=array.is_null())
    if pa.types.is_large_list(held):
        return _held_list(array, held)
    return array.cast(held)


def _held_list(array: pa.Array, held: pa.DataType) -> pa.Array:
    """A list of any layout, rebuilt: Arrow 26 casts a list view to a list without its last values."""
    lengths = pc.if_else(array.is_null(), 0, pc.list_value_length(array).cast(pa.int64()))
    ends = pc.cumulative_sum(lengths)
    offsets = pa.concat_arrays([pa.array([0], pa.int64()), ends])
    return pa.LargeListArray.from_arrays(offsets, held_array(array.flatten(), held.value_type), mask=array.is_null())


def _texts(array: pa.Array) -> Iterator[str | None]:
    """Exact text for values of a type that neither Parquet nor DuckDB has."""
    kind = array.type
    if pa.types.is_duration(kind):
        factor = _NANOSECONDS[kind.unit]
        for count in array.view(pa.int64()).to_pylist():
            yield None if count is None else clock(count * factor)
        return
    form = JsonForm()
    for scalar in array:
        value = _value(scalar)
        if value is None:
            yield None
        elif isinstance(value, pa.MonthDayNano):
            yield f"{value.months} months {value.days} days {clock(value.nanoseconds)}"
        elif pa.types.is_nested(kind):
            yield exact_json.text(form.of(value))
        else:
            yield format(value, "f") if pa.types.is_decimal(kind) else str(value)


def _value(scalar: pa.Scalar) -> Any:  # noqa: PLR0911  # one line a family of types
    """A scalar as a Python value; a struct with fields of one name, which no dict can be, gets unique names."""
    kind = scalar.type
    if not scalar.is_valid:
        return None
    if pa.types.is_union(kind):
        return _value(scalar.value)
    if pa.types.is_struct(kind):
        names = unique_names([field.name for field in kind])
        return {name: _value(scalar[place]) for place, name in enumerate(names)}
    if pa.types.is_map(kind):
        return [{"key": _value(each["key"]), "value": _value(each["value"])} for each in scalar.values]
    if pa.types.is_nested(kind) and hasattr(scalar, "values"):
        return [_value(each) for each in scalar.values]
    if pa.types.is_duration(kind):
        return clock(scalar.value * _NANOSECONDS[kind.unit])
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return pc.cast(scalar, pa.string()).as_py()
    return scalar.as_py()


def clock(nanoseconds: int) -> str:
    """A span of time as DuckDB reads it: `[-]hours:minutes:seconds[.fraction]`."""
    seconds, fraction = divmod(abs(nanoseconds), 10**9)
    told = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    if fraction:
        told += f".{fraction:09d}".rstrip("0")
    return f"-{told}" if nanoseconds < 0 else told
