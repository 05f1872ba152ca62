"""DuckDB's types: in which form a result's columns are stored as Parquet, and in which they are shown as JSON."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from blobs.domain import exact_json
from blobs.domain.exact_json import Number
from blobs.querying import json_form
from blobs.querying.names import always_quoted

Render = Callable[[Any], Any]

_KEPT = frozenset(
    [
        "boolean", "tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint",
        "float", "double", "decimal", "varchar", "blob",
    ]
)  # fmt: skip
_TEMPORAL = frozenset(
    [
        "date", "time", "time_ns", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns",
        "timestamp with time zone", "timestamptz_ns",
    ]
)  # fmt: skip
_DECIMAL_MAX = "DECIMAL(38,0)"


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a result: its type, the type it is stored in, the type it is shown in, and how it becomes JSON.

    `stored` and `shown` are SQL types to cast to, None where the column is left as it is.
    """

    name: str
    type: str
    stored: str | None
    shown: str | None
    render: Render
    is_json: bool = False


def result_column(name: str, kind: Any, *, huge_as_text: bool) -> ResultColumn:
    """What becomes of a column of a DuckDB type. `huge_as_text` is for integers of more than 38 digits."""
    huge = "VARCHAR" if huge_as_text else _DECIMAL_MAX
    told = str(kind).replace('"NULL"', "NULL")
    stored = _stored(kind, huge)
    shown = _shown(kind, huge)
    return ResultColumn(
        name=name,
        type=told,
        stored=None if stored == str(kind) else stored,
        shown=None if shown == stored else shown,
        render=_render(kind),
        is_json=told == "JSON" or kind.id == "variant",
    )


def _stored(kind: Any, huge: str) -> str:
    """The type that Parquet and DuckDB both hold exactly."""
    return _rebuilt(kind, lambda leaf: _stored_leaf(leaf, huge))


def _stored_leaf(kind: Any, huge: str) -> str:
    if kind.id in _KEPT or kind.id in _TEMPORAL:
        return str(kind)
    if kind.id in ("hugeint", "uhugeint"):
        return huge
    return "JSON" if kind.id == "variant" else "VARCHAR"


def _shown(kind: Any, huge: str) -> str:
    """As stored, with dates and times as DuckDB's own text."""
    return _rebuilt(kind, lambda leaf: "VARCHAR" if leaf.id in _TEMPORAL else _stored_leaf(leaf, huge))


def _rebuilt(kind: Any, leaf: Callable[[Any], str]) -> str:
    """The type with its innermost types replaced."""
    match kind.id:
        case "list" | "array":
            return f"{_rebuilt(_child(kind), leaf)}[]"
        case "map":
            (_, key), (_, value) = kind.children
            return f"MAP({_rebuilt(key, leaf)}, {_rebuilt(value, leaf)})"
        case "struct" if all(name for name, _ in kind.children):
            fields = (f"{always_quoted(name)} {_rebuilt(child, leaf)}" for name, child in kind.children)
            return f"STRUCT({', '.join(fields)})"
    return leaf(kind)


def _child(kind: Any) -> Any:
    return kind.children[0][1]


def _render(kind: Any) -> Render:
    """A function that makes the JSON value of a cell of this type, as Arrow gives it in the shown form."""
    match kind.id:
        case "list" | "array":
            return _list(_render(_child(kind)))
        case "map":
            (_, key), (_, value) = kind.children
            return _map(_render(key), _render(value))
        case "struct" if all(name for name, _ in kind.children):
            return _struct({name: _render(child) for name, child in kind.children})
    return _LEAVES.get("json" if str(kind) == "JSON" else kind.id, _same)


def _list(item: Render) -> Render:
    return lambda cell: None if cell is None else [item(each) for each in cell]


def _map(key: Render, value: Render) -> Render:
    def render(cell: Any) -> Any:
        if cell is None:
            return None
        names = [key(each) for each, _ in cell]
        texts = [each if isinstance(each, str) else exact_json.text(each) for each in names]
        return dict(zip(texts, (value(each) for _, each in cell), strict=True))

    return render


def _struct(fields: dict[str, Render]) -> Render:
    return lambda cell: None if cell is None else {name: render(cell[name]) for name, render in fields.items()}


def _same(cell: Any) -> Any:
    return cell


def _json(cell: Any) -> Any:
    if cell is None:
        return None
    try:
        return exact_json.loads(cell)
    except ValueError:
        return cell


def _number(cell: Any) -> Any:
    return None if cell is None else Number(format(cell, "f"))


def _integer(cell: Any) -> Any:
    return None if cell is None else int(cell)


def _digits(cell: Any) -> Any:
    return None if cell is None else Number(cell)


def _float(cell: Any) -> Any:
    if cell is None or not math.isfinite(cell):
        return None if cell is None else json_form.number(cell)
    return Number(str(np.float32(cell)))


def _double(cell: Any) -> Any:
    return None if cell is None else json_form.number(cell)


def _hex(cell: Any) -> Any:
    return None if cell is None else cell.hex()


_LEAVES: dict[str, Render] = {
    "json": _json,
    "variant": _json,
    "decimal": _number,
    "hugeint": _integer,
    "uhugeint": _integer,
    "bignum": _digits,
    "float": _float,
    "double": _double,
    "blob": _hex,
}


def stored_type(kind: pa.DataType, column: ResultColumn) -> pa.DataType:
    """The type of a column as Parquet keeps it: JSON is marked as such, so that it is JSON again when it is queried."""
    return pa.json_(pa.large_string()) if column.is_json else kind


def stored_array(array: pa.Array, column: ResultColumn) -> pa.Array:
    """A column of a result in its `stored_type`."""
    if not column.is_json:
        return array
    kind = stored_type(array.type, column)
    return pa.ExtensionArray.from_storage(kind, array.cast(kind.storage_type))
