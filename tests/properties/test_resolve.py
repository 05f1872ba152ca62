"""Whatever the schema: exactly the marked places are replaced, nothing else changes, nothing passed in is mutated."""

import copy
from collections.abc import Callable
from typing import Any

import jsonschema_rs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blobs.conversations.resolve import resolve
from blobs.conversations.schemas import find_blob_marks
from blobs.domain.digest import Digest
from blobs.domain.reference import Reference

_BLOBS = {f"blob{i}": Reference(Digest.of(str(i).encode()), i, "text/csv") for i in range(1, 4)}
_MARKS = (
    {"type": "string", "format": "blob"},
    {"format": "blob", "minLength": 1},
    {"type": ["string", "null"], "format": "blob"},
)
_KEYS = ("a", "b", "file", "type", "format", "x-1", "x-2")

_names = st.sampled_from(sorted(_BLOBS))
_strings = _names | st.sampled_from(["", "blob9", "text"])
_plain = st.recursive(
    _strings | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=3),
    max_leaves=6,
)

# A made schema comes with a function that draws a value for it and what resolving makes of that value.
Made = tuple[Any, Callable[[Any], tuple[Any, Any]], bool]


def _same(strategy):
    def make(draw):
        value = draw(strategy)
        return value, value

    return make


def _name(draw):
    name = draw(_names)
    return name, _BLOBS[name].to_json()


def _leaf(draw) -> Made:
    match draw(st.integers(0, 3)):
        case 0 | 1:
            return draw(st.sampled_from(_MARKS)), _name, True
        case 2:
            return {"type": "string"}, _same(_strings), False
        case _:
            return draw(st.sampled_from([{}, True])), _same(_plain), False


def _of_object(draw, defs, depth) -> Made:
    fields = {key: _made(draw, defs, depth) for key in draw(st.sets(st.sampled_from(_KEYS[:5]), max_size=3))}
    optional = draw(st.sets(st.sampled_from(sorted(fields)))) if fields else set()
    further = draw(st.sampled_from(["open", "closed", "schema", "pattern"]))
    rest = _made(draw, defs, depth) if further in ("schema", "pattern") else None
    schema = {
        "type": "object",
        "properties": {key: each[0] for key, each in fields.items()},
        "required": [key for key in fields if key not in optional],
    }
    if further == "pattern":
        schema |= {"patternProperties": {"^x-": rest[0]}, "additionalProperties": False}
    elif further != "open":
        schema["additionalProperties"] = False if rest is None else rest[0]

    def make(draw):
        made = {key: each[1](draw) for key, each in fields.items() if key not in optional or draw(st.booleans())}
        if further == "open" and draw(st.booleans()):
            made["x-1"] = _same(_plain)(draw)
        if rest is not None:
            made |= {key: rest[1](draw) for key in draw(st.sets(st.sampled_from(_KEYS[5:])))}
        return {key: each[0] for key, each in made.items()}, {key: each[1] for key, each in made.items()}

    return schema, make, any(each[2] for each in (*fields.values(), *([rest] if rest else [])))


def _of_list(draw, defs, depth) -> Made:
    first = [_made(draw, defs, depth) for _ in range(draw(st.integers(0, 2)))]
    rest = _made(draw, defs, depth)

    def make(draw):
        made = [each[1](draw) for each in first] + [rest[1](draw) for _ in range(draw(st.integers(0, 2)))]
        return [each[0] for each in made], [each[1] for each in made]

    schema = {"type": "array", "items": rest[0]}
    if first:
        schema["prefixItems"] = [each[0] for each in first]
    return schema, make, any(each[2] for each in (*first, rest))


def _wrapped(draw, defs, depth) -> Made:
    inner, make, is_marked = _made(draw, defs, depth)
    match draw(st.integers(0, 3)):
        case 0:
            name = f"d{len(defs)}"
            defs[name] = inner
            return {"$ref": f"#/$defs/{name}", "description": "elsewhere"}, make, is_marked
        case 1:
            return {"allOf": [inner, {}]}, make, is_marked
        case 2:
            return {"anyOf": [{"type": "null"}, inner]}, make, is_marked
        case _:
            return {"anyOf": [inner, {"type": "integer"}]}, make, is_marked


def _made(draw, defs, depth) -> Made:
    if depth == 0:
        return _leaf(draw)
    return draw(st.sampled_from([_of_object, _of_list, _wrapped, lambda draw, *_: _leaf(draw)]))(draw, defs, depth - 1)


@st.composite
def _cases(draw):
    defs = {}
    schema, make, is_marked = _of_object(draw, defs, draw(st.integers(0, 4)))
    value, expected = make(draw)
    return {**schema, "$defs": defs}, value, expected, is_marked


@st.composite
def _short_cases(draw, depth=3):
    """The same for the short shape."""
    schema, value, expected = {}, {}, {}
    for key in draw(st.sets(st.sampled_from(["a", "b", "file", "x-1"]), max_size=4)):
        kinds = ["blob", "blob?", "string", "any", "list", "blobs"] + (["object", "objects"] if depth else [])
        match draw(st.sampled_from(kinds)):
            case "blob" | "blob?" as kind:
                schema[key] = kind
                value[key], expected[key] = (None, None) if kind == "blob?" and draw(st.booleans()) else _name(draw)
            case "blobs":
                schema[key] = ["blob"]
                made = [_name(draw) for _ in range(draw(st.integers(0, 3)))]
                value[key], expected[key] = [each[0] for each in made], [each[1] for each in made]
            case "object":
                schema[key], value[key], expected[key] = draw(_short_cases(depth - 1))
            case "objects":
                schema[key], one, resolved = draw(_short_cases(depth - 1))
                schema[key], value[key], expected[key] = [schema[key]], [one, one], [resolved, resolved]
            case kind:
                schema[key] = kind
                strategy = {"string": _strings, "list": st.lists(_plain, max_size=2)}.get(kind, _plain)
                value[key] = expected[key] = draw(strategy)
    return schema, value, expected


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(_cases())
def test_exactly_the_marked_places_of_json_schema_are_replaced(case):
    """The values are valid, the references are where the marks are, and the inputs stay as they were."""
    schema, value, expected, is_marked = case
    assert jsonschema_rs.is_valid(schema, value)
    before = copy.deepcopy((schema, value))
    assert resolve(schema, value, _BLOBS.get, sorted(_BLOBS)) == {"ok": True, "arguments": expected}
    assert (schema, value) == before
    assert bool(find_blob_marks(schema)) == is_marked


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(_short_cases())
def test_exactly_the_marked_places_of_the_short_shape_are_replaced(case):
    """The same in the short shape."""
    schema, value, expected = case
    before = copy.deepcopy((schema, value))
    assert resolve(schema, value, _BLOBS.get, sorted(_BLOBS)) == {"ok": True, "arguments": expected}
    assert (schema, value) == before


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(_cases())
def test_without_blobs_every_marked_name_is_refused(case):
    """Where nothing was shown, the call is refused exactly if a marked place holds a name."""
    schema, value, expected, _ = case
    answer = resolve(schema, value, lambda _: None, [])
    assert answer["ok"] is (value == expected)
    if not answer["ok"]:
        assert all(": there is no blob" in line or line.startswith("… and ") for line in answer["message"].splitlines())
