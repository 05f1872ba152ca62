r"""Arrow values as exact JSON values, and Arrow types as SQL types.

Integers, booleans and text are themselves; decimals and 32-bit floats keep their shortest exact digits; dates, times
and timestamps are ISO 8601 with every digit of their fraction that is not zero (a timestamp with a zone is told in UTC,
with a Z); durations and intervals are ISO 8601 durations. Lists are arrays, structs objects, maps objects where their
keys are distinct strings and else arrays of `{"key", "value"}`. NaN and the infinities are told apart from null. Binary
cells are written as DuckDB writes a BLOB, where every byte that is not plain ASCII is `\xNN`: exact, and a literal for
SQL; only the first bytes of a cell are shown (`previewers.binary_text`).
"""

from math import isfinite, isnan
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from blobs.domain import exact_json
from blobs.domain.exact_json import Number
from previewers.binary_text import blob_text

_SQL_TYPE_CHARS_MAX = 160
_NONFINITE = {text: exact_json.loads(text) for text in ("NaN", "Infinity", "-Infinity")}
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def json_values(array: pa.Array) -> list[Any]:
    """The values of an array as JSON values, in order.

    The array must have been validated: Arrow itself trusts its offsets. Raises what Arrow raises over a type that it
    cannot take apart.
    """
    kind = array.type
    convert = next((convert for test, convert in _CONVERTERS if test(kind)), None)
    if convert is not None:
        return convert(array)
    return [None if value is None else str(value) for value in array.to_pylist()]


def _plain(array: pa.Array) -> list[Any]:
    return array.to_pylist()  # type: ignore[no-any-return]  # pyarrow carries no types


def _texts(array: pa.Array) -> list[Any]:
    try:
        return array.to_pylist()  # type: ignore[no-any-return]  # pyarrow carries no types
    except UnicodeDecodeError:
        raw = array.cast(pa.large_binary()).to_pylist()
        return [None if value is None else value.decode("utf-8", "replace") for value in raw]


def _doubles(array: pa.Array) -> list[Any]:
    return [value if value is None else _finite(value) for value in array.to_pylist()]


def _finite(value: float) -> Any:
    if isfinite(value):
        return value
    return _NONFINITE["NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"]


def _short_floats(array: pa.Array) -> list[Any]:
    """Floats of 16 and 32 bits in the fewest digits that give the same float back."""
    short = np.float16 if pa.types.is_float16(array.type) else np.float32
    return [
        None if value is None else Number(str(short(value))) if isfinite(value) else _finite(float(value))
        for value in array.to_pylist()  # not to_numpy, which loads pandas
    ]


def _decimals(array: pa.Array) -> list[Any]:
    if array.type.scale <= 0:
        return [None if value is None else int(value) for value in array.to_pylist()]
    return [None if value is None else Number(format(value, "f")) for value in array.to_pylist()]


def _binary(array: pa.Array) -> list[Any]:
    return [None if value is None else blob_text(value) for value in array.to_pylist()]


def _dates(array: pa.Array) -> list[Any]:
    days = array if pa.types.is_date32(array.type) else array.cast(pa.date32(), safe=False)
    return days.cast(pa.string()).to_pylist()  # type: ignore[no-any-return]  # pyarrow carries no types


def _timestamps(array: pa.Array) -> list[Any]:
    zone = "Z" if array.type.tz is not None else ""
    raw = array.view(pa.int64()).to_pylist()
    texts = array.view(pa.timestamp(array.type.unit)).cast(pa.string()).to_pylist()
    return [
        None
        if text is None
        else f"{number} {array.type.unit}"
        if text[0] == "<"
        else _trimmed(text.replace(" ", "T")) + zone
        for text, number in zip(texts, raw, strict=True)
    ]


def _times(array: pa.Array) -> list[Any]:
    return [None if text is None else _trimmed(text) for text in array.cast(pa.string()).to_pylist()]


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _durations(array: pa.Array) -> list[Any]:
    factor = _NANOSECONDS[array.type.unit]
    counts = array.view(pa.int64()).to_pylist()
    return [None if count is None else f"PT{_seconds(count * factor)}S" for count in counts]


def _seconds(nanoseconds: int) -> str:
    whole, fraction = divmod(abs(nanoseconds), 10**9)
    return f"{'-' if nanoseconds < 0 else ''}{_trimmed(f'{whole}.{fraction:09d}')}"


def _intervals(array: pa.Array) -> list[Any]:
    return [
        None if value is None else f"P{value.months}M{value.days}DT{_seconds(value.nanoseconds)}S"
        for value in array.to_pylist()
    ]


def _dictionary(array: pa.Array) -> list[Any]:
    words = json_values(array.dictionary)
    return [None if index is None else words[index] for index in array.indices.to_pylist()]


def _run_ends(array: pa.Array) -> list[Any]:
    return json_values(pc.run_end_decode(array))


def _lists(array: pa.Array) -> list[Any]:
    offsets = array.offsets.to_pylist()
    base = offsets[0]
    children = json_values(array.values.slice(base, offsets[-1] - base))
    return [
        None if is_null else children[start - base : stop - base]
        for start, stop, is_null in zip(offsets, offsets[1:], array.is_null().to_pylist(), strict=False)
    ]


def _list_views(array: pa.Array) -> list[Any]:
    children = json_values(array.values)
    spans = zip(array.offsets.to_pylist(), array.sizes.to_pylist(), array.is_null().to_pylist(), strict=False)
    return [None if is_null else children[start : start + size] for start, size, is_null in spans]


def _fixed_lists(array: pa.Array) -> list[Any]:
    size = array.type.list_size
    children = json_values(array.values.slice(array.offset * size, len(array) * size))
    return [
        None if is_null else children[row * size : row * size + size]
        for row, is_null in enumerate(array.is_null().to_pylist())
    ]


def _structs(array: pa.Array) -> list[Any]:
    names = distinct_names([field.name for field in array.type])
    fields = [json_values(child) for child in array.flatten()]
    is_null = array.is_null().to_pylist()
    return [
        None if is_null[row] else {name: values[row] for name, values in zip(names, fields, strict=True)}
        for row in range(len(array))
    ]


def _maps(array: pa.Array) -> list[Any]:
    offsets = array.offsets.to_pylist()
    base, length = offsets[0], offsets[-1] - offsets[0]
    keys = json_values(array.keys.slice(base, length))
    values = json_values(array.items.slice(base, length))
    return [
        None if is_null else _map(keys[start - base : stop - base], values[start - base : stop - base])
        for start, stop, is_null in zip(offsets, offsets[1:], array.is_null().to_pylist(), strict=False)
    ]


def _map(keys: list[Any], values: list[Any]) -> Any:
    if all(isinstance(key, str) for key in keys) and len(set(keys)) == len(keys):
        return dict(zip(keys, values, strict=True))
    return [{"key": key, "value": value} for key, value in zip(keys, values, strict=True)]


def _unions(array: pa.Array) -> list[Any]:
    places = {code: place for place, code in enumerate(array.type.type_codes)}
    children = [json_values(array.field(place)) for place in range(array.type.num_fields)]
    buffers = array.buffers()  # `type_codes` and `offsets` of a slice are those of its whole

    def numbers(kind: pa.DataType, buffer: pa.Buffer) -> list[int]:
        return pa.Array.from_buffers(kind, len(array), [None, buffer], offset=array.offset).to_pylist()  # type: ignore[no-any-return]  # pyarrow carries no types

    codes = numbers(pa.int8(), buffers[1])
    rows = numbers(pa.int32(), buffers[2]) if array.type.mode == "dense" else range(len(codes))
    return [children[places[code]][row] for code, row in zip(codes, rows, strict=True)]


def _extensions(array: pa.Array) -> list[Any]:
    values = array.storage
    if array.type.extension_name == "arrow.uuid":
        return [None if value is None else str(UUID(bytes=value)) for value in values.to_pylist()]
    if array.type.extension_name == "arrow.json":
        return [None if value is None else _json(value) for value in _texts(values)]
    return json_values(values)


def _json(text: str) -> Any:
    try:
        return exact_json.loads(text)
    except ValueError:
        return text


def distinct_names(names: list[str]) -> list[str]:
    """The names with `_1`, `_2` … behind those that were there before, as DuckDB does it."""
    taken = set(names)
    seen: set[str] = set()
    distinct = []
    for name in names:
        made, number = name, 0
        while made in seen or (number and made in taken):
            number += 1
            made = f"{name}_{number}"
        seen.add(made)
        distinct.append(made)
    return distinct


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
        or pa.types.is_binary_view(kind)
    )


def _is_extension(kind: pa.DataType) -> bool:
    return isinstance(kind, pa.BaseExtensionType)


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _is_list_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind))


def _is_short_float(kind: pa.DataType) -> bool:
    return bool(pa.types.is_float16(kind) or pa.types.is_float32(kind))


def _is_month_day_nano(kind: pa.DataType) -> bool:
    return bool(kind == pa.month_day_nano_interval())


_CONVERTERS = (
    (_is_extension, _extensions),
    (pa.types.is_null, _plain),
    (pa.types.is_boolean, _plain),
    (pa.types.is_integer, _plain),
    (_is_text, _texts),
    (pa.types.is_float64, _doubles),
    (_is_short_float, _short_floats),
    (pa.types.is_decimal, _decimals),
    (pa.types.is_date, _dates),
    (pa.types.is_timestamp, _timestamps),
    (pa.types.is_time, _times),
    (pa.types.is_duration, _durations),
    (_is_month_day_nano, _intervals),
    (_is_bytes, _binary),
    (pa.types.is_dictionary, _dictionary),
    (pa.types.is_run_end_encoded, _run_ends),
    (pa.types.is_map, _maps),
    (_is_list, _lists),
    (_is_list_view, _list_views),
    (pa.types.is_fixed_size_list, _fixed_lists),
    (pa.types.is_struct, _structs),
    (pa.types.is_union, _unions),
)
