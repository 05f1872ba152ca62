"""Avro schemas: what a reader of Avro needs of each part of one, by the rules of the specification 1.12.

Records are decoded by `fastavro` without their logical types, which it gives as Python objects that hold less (a date
after the year 9999, a nanosecond); here they become Arrow types that hold every value. Each branch of a union of
several types is wrapped in a record of one field, whose encoding is that of the field: so the branch is known.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

import pyarrow as pa

from blobs.domain import exact_json
from blobs.domain.errors import UnreadableError
from previewers.arrow_values import distinct_names, json_values

_DEPTH_MAX = 64
_PLAIN: dict[str, pa.DataType] = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
_LOGICAL: dict[tuple[str, str], pa.DataType] = {
    ("int", "date"): pa.date32(),
    ("int", "time-millis"): pa.time32("ms"),
    ("long", "time-micros"): pa.time64("us"),
    **{
        ("long", prefix + f"timestamp-{name}"): pa.timestamp(unit, zone)
        for prefix, zone in (("", "UTC"), ("local-", None))
        for name, unit in (("millis", "ms"), ("micros", "us"), ("nanos", "ns"))
    },
}
_JSON = pa.json_()
_TOLD_AS_THEY_ARE = (pa.null(), pa.bool_(), pa.int32(), pa.int64(), pa.string())
_DIGITS_128, _DIGITS_256 = 38, 76


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a schema: what `fastavro` decodes it by, the Arrow type of its values, and what makes them.

    `value` turns what was decoded into what Arrow takes, `told` into an exact JSON value.
    """

    plain: Any
    kind: pa.DataType
    value: Callable[[Any], Any]
    told: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class AvroSchema:
    """What a file's records are decoded by, and its columns; `cells` takes a decoded record apart."""

    plain: Any
    columns: list[tuple[str, Node]]
    cells: Callable[[Any], list[Any]]

    def arrow(self) -> pa.Schema:
        """The columns as Arrow has them."""
        return pa.schema([pa.field(name, node.kind) for name, node in self.columns])


def read_schema(schema: Any) -> AvroSchema:
    """The columns of a schema: the fields of a record, or one named `value` of anything else.

    Raises `UnreadableError` where it is no schema.
    """
    reading = _Reading()
    whole = reading.node(schema, "", 0)
    fields = (
        reading.fields.get(whole.plain["name"]) if isinstance(whole.plain, dict) and "name" in whole.plain else None
    )
    if fields is None:
        return AvroSchema(whole.plain, [("value", whole)], lambda record: [record])
    return AvroSchema(whole.plain, fields, lambda record: list(record.values()))


class _Reading:
    """Names in a schema are replaced by plain ones: those of old files may be such as the library refuses."""

    def __init__(self) -> None:
        self._named: dict[str, Node | str] = {}
        """By full name; a plain name alone is of a type that is being read, so that it is inside of itself."""
        self.fields: dict[str, list[tuple[str, Node]]] = {}
        self._made = 0

    def node(self, schema: Any, namespace: str, depth: int) -> Node:
        """The node of any schema."""
        if depth > _DEPTH_MAX:
            raise UnreadableError(f"The Avro schema is more than {_DEPTH_MAX} levels deep.")
        if isinstance(schema, list):
            return self._union(schema, namespace, depth)
        if isinstance(schema, str):
            return _leaf(schema, _PLAIN[schema]) if schema in _PLAIN else self._reference(schema, namespace)
        if not isinstance(schema, dict) or "type" not in schema:
            raise UnreadableError("The Avro schema is damaged.")
        kind = schema["type"]
        if not isinstance(kind, str):
            return self.node(kind, namespace, depth + 1)
        makers = {
            "array": self._array,
            "map": self._map,
            "record": self._record,
            "error": self._record,
            "enum": self._enum,
            "fixed": self._fixed,
        }
        if kind in makers:
            return makers[kind](schema, namespace, depth)
        return _logical(schema, kind, kind) if kind in _PLAIN else self._reference(kind, namespace)

    def _reference(self, name: str, namespace: str) -> Node:
        for full in (f"{namespace}.{name}", name):
            known = self._named.get(full)
            if isinstance(known, str):
                return self._recursive(full, known)
            if known is not None:
                return replace(known, plain=known.plain["name"])
        raise UnreadableError(f"The Avro schema names a type {name[:80]!r} that it does not define.")

    def _recursive(self, full: str, plain: str) -> Node:
        def told(raw: Any) -> Any:
            node = self._named[full]
            assert isinstance(node, Node)  # for the type checker: the schema has been read by now
            return node.told(raw)

        return _nested(plain, _JSON, value=lambda _: None, told=told)

    def _array(self, schema: dict[str, Any], namespace: str, depth: int) -> Node:
        item = self.node(schema.get("items"), namespace, depth + 1)
        return _nested(
            {"type": "array", "items": item.plain},
            pa.list_(item.kind) if item.kind != _JSON else _JSON,
            value=lambda raw: [item.value(each) for each in raw],
            told=lambda raw: [item.told(each) for each in raw],
        )

    def _map(self, schema: dict[str, Any], namespace: str, depth: int) -> Node:
        item = self.node(schema.get("values"), namespace, depth + 1)
        return _nested(
            {"type": "map", "values": item.plain},
            pa.map_(pa.string(), item.kind) if item.kind != _JSON else _JSON,
            value=lambda raw: [(key, item.value(each)) for key, each in raw.items()],
            told=lambda raw: {key: item.told(each) for key, each in raw.items()},
        )

    def _record(self, schema: dict[str, Any], namespace: str, depth: int) -> Node:
        full, namespace = _full_name(schema, namespace)
        plain_name = self._named[full] = self._new_name()
        fields = []
        for field in schema.get("fields") or ():
            if not isinstance(field, dict) or not isinstance(field.get("name"), str):
                raise UnreadableError("The Avro schema is damaged: a field has no name.")
            fields.append((field["name"], self.node(field.get("type"), namespace, depth + 1)))
        names = distinct_names([name for name, _ in fields])
        nodes = [node for _, node in fields]

        def together(raw: dict[str, Any], *, is_told: bool) -> dict[str, Any]:
            made = (
                (node.told if is_told else node.value)(each) for node, each in zip(nodes, raw.values(), strict=True)
            )
            return dict(zip(names, made, strict=True))

        node = _nested(
            {
                "type": "record",
                "name": plain_name,
                "fields": [{"name": f"f{place}", "type": each.plain} for place, each in enumerate(nodes)],
            },
            _JSON
            if not fields or any(each.kind == _JSON for each in nodes)
            else pa.struct([pa.field(name, each.kind) for name, each in zip(names, nodes, strict=True)]),
            value=partial(together, is_told=False),
            told=partial(together, is_told=True),
        )
        self._named[full], self.fields[plain_name] = node, fields
        return node

    def _enum(self, schema: dict[str, Any], namespace: str, _depth: int) -> Node:
        full, _ = _full_name(schema, namespace)
        symbols = schema.get("symbols")
        if not isinstance(symbols, list) or not symbols or not all(isinstance(each, str) for each in symbols):
            raise UnreadableError("The Avro schema is damaged: an enum has no symbols.")
        plain = {"type": "enum", "name": self._new_name(), "symbols": [f"s{place}" for place in range(len(symbols))]}
        self._named[full] = node = _leaf(plain, pa.string(), lambda raw: symbols[int(raw[1:])])
        return node

    def _fixed(self, schema: dict[str, Any], namespace: str, _depth: int) -> Node:
        full, _ = _full_name(schema, namespace)
        size = schema.get("size")
        if not isinstance(size, int) or size < 0:
            raise UnreadableError("The Avro schema is damaged: a fixed type has no size.")
        self._named[full] = node = _logical(schema, "fixed", {"type": "fixed", "name": self._new_name(), "size": size})
        return node

    def _union(self, branches: list[Any], namespace: str, depth: int) -> Node:
        nodes = [self.node(branch, namespace, depth + 1) for branch in branches]
        others = [node for node in nodes if node.plain != "null"]
        if not others:
            return Node([node.plain for node in nodes], pa.null(), lambda _: None, lambda _: None)
        if len(others) == 1 and others[0].kind != _JSON:
            other = others[0]
            return Node(
                [node.plain for node in nodes],
                other.kind,
                lambda raw: None if raw is None else other.value(_unnamed(raw)),
                lambda raw: None if raw is None else other.told(_unnamed(raw)),
            )
        wrapped = {self._new_name(): node for node in nodes}
        plain = [
            {"type": "record", "name": name, "fields": [{"name": "is", "type": node.plain}]}
            for name, node in wrapped.items()
        ]

        def told(raw: Any) -> Any:
            name, record = raw if isinstance(raw, tuple) else (next(iter(wrapped)), raw)
            return wrapped[name].told(record["is"])

        return _nested(plain, _JSON, value=lambda _: None, told=told)

    def _new_name(self) -> str:
        self._made += 1
        return f"t{self._made}"


def _unnamed(raw: Any) -> Any:
    """A record in a union comes with its name."""
    return raw[1] if isinstance(raw, tuple) else raw


def _full_name(schema: dict[str, Any], namespace: str) -> tuple[str, str]:
    """The full name of a type, and the namespace of the names inside of it."""
    name = schema.get("name")
    if not isinstance(name, str) or not name:
        raise UnreadableError("The Avro schema is damaged: a type has no name.")
    if "." in name:
        return name, name.rpartition(".")[0]
    space = schema.get("namespace", namespace)
    space = space if isinstance(space, str) else ""
    return (f"{space}.{name}" if space else name), space


def _leaf(plain: Any, kind: pa.DataType, value: Callable[[Any], Any] = lambda raw: raw) -> Node:
    if kind in _TOLD_AS_THEY_ARE:
        return Node(plain, kind, value, value)
    return Node(plain, kind, value, lambda raw: json_values(pa.array([value(raw)], kind))[0])


def _nested(plain: Any, kind: pa.DataType, *, value: Callable[[Any], Any], told: Callable[[Any], Any]) -> Node:
    """Where there is no Arrow type for all that may be inside, the value is JSON text."""
    if kind == _JSON:
        return Node(plain, kind, lambda raw: exact_json.text(told(raw)), told)
    return Node(plain, kind, value, told)


def _logical(schema: dict[str, Any], kind: str, plain: Any) -> Node:
    """A plain type with its logical type; one that makes no sense is left out, as the specification asks for."""
    name = schema.get("logicalType")
    if isinstance(name, str) and (kind, name) in _LOGICAL:
        return _leaf(plain, _LOGICAL[kind, name])
    if kind not in ("bytes", "fixed"):
        return _leaf(plain, _PLAIN[kind])
    if name == "decimal" and (found := _decimal(schema, plain)) is not None:
        return found
    if kind == "fixed" and name == "uuid" and schema.get("size") == 16:
        return _leaf(plain, pa.string(), lambda raw: str(UUID(bytes=raw)))
    if kind == "fixed" and name == "duration" and schema.get("size") == 12:
        return _leaf(plain, pa.string(), _duration)
    return _leaf(plain, pa.binary())


def _decimal(schema: dict[str, Any], plain: Any) -> Node | None:
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    if not isinstance(precision, int) or not isinstance(scale, int) or not 0 <= scale <= precision or precision < 1:
        return None
    if precision > _DIGITS_256:
        return _leaf(plain, pa.string(), lambda raw: format(_scaled(raw, scale), "f"))
    kind = pa.decimal128(precision, scale) if precision <= _DIGITS_128 else pa.decimal256(precision, scale)
    return _leaf(plain, kind, lambda raw: _scaled(raw, scale))


def _scaled(raw: bytes, scale: int) -> Decimal:
    sign, digits, _ = Decimal(int.from_bytes(raw, "big", signed=True)).as_tuple()
    return Decimal((sign, digits, -scale))


def _duration(raw: bytes) -> str:
    """Months, days and milliseconds, which Avro counts apart, as an ISO 8601 duration."""
    months, days, milliseconds = (int.from_bytes(raw[at : at + 4], "little") for at in (0, 4, 8))
    seconds = f"{milliseconds // 1000}.{milliseconds % 1000:03}".rstrip("0").rstrip(".")
    return f"P{months}M{days}DT{seconds}S"
