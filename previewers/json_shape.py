"""A short sketch of what JSON values look like: their types, with counts, for a reader who has not seen them."""

from array import array
from collections.abc import Callable
from typing import Any

from blobs.domain import exact_json
from blobs.domain.errors import UnreadableError
from previewers.json_structure import Outline, first_byte, members_of

Outliner = Callable[[memoryview], Outline]

SHAPE_CHARS_MAX = 1000
_FIELD_CHARS_MAX = 320
_DEPTH = 3
_SAMPLED = 50
_FIELDS_MAX = 20
_LONG_STRING_BYTES = 1000
_SMALL_BYTES = 64 * 1024
_KINDS = {b'"': "string", b"[": "array", b"{": "object", b"t": "boolean", b"f": "boolean", b"n": "null"}


def shape_of(text: memoryview, outline: Outliner) -> Any:
    """The sketch of a document: a string, or for an object one string a key; about `SHAPE_CHARS_MAX` at most."""
    found = outline(text)
    if found.kind != "object":
        return sketch([text], outline, chars_max=SHAPE_CHARS_MAX)
    fields: dict[str, str] = {}
    size = 0
    for place, key in enumerate(found.keys):
        field = sketch([text[found.starts[place] : found.stops[place]]], outline, chars_max=_FIELD_CHARS_MAX)
        size += len(key) + len(field) + 6
        if size > SHAPE_CHARS_MAX:
            fields["…"] = f"{len(found) - place} more keys"
            break
        fields[key] = field
    return fields


def sketch(values: list[memoryview], outline: Outliner, *, chars_max: int) -> str:
    """One sketch that fits all the values, as deep as its length allows."""
    for depth in range(_DEPTH, 0, -1):
        told = _sketch(values, outline, depth)
        if len(told) <= chars_max:
            return told
    return _sketch(values, outline, 0)


def _sketch(values: list[memoryview], outline: Outliner, depth: int) -> str:
    kinds: dict[str, list[memoryview]] = {}
    for value in values:
        kinds.setdefault(_KINDS.get(first_byte(value[:64]), "number"), []).append(value)
    told = []
    for kind, members in kinds.items():
        if kind == "array":
            told.append(_arrays(members, outline, depth))
        elif kind == "object":
            told.append(_objects(members, outline, depth))
        elif kind == "string" and len(members) == 1 and len(members[0]) > _LONG_STRING_BYTES:
            told.append(f"string({len(exact_json.loads(members[0]))} chars)")
        else:
            told.append(kind)
    return "|".join(told)


def _arrays(values: list[memoryview], outline: Outliner, depth: int) -> str:
    counts: list[int] = []
    elements: list[memoryview] = []
    for value in values:
        if len(value) <= _SMALL_BYTES:
            _, inner = _members(value)
            counts.append(len(inner))
            elements += inner[: max(0, _SAMPLED - len(elements))]
            continue
        found = _outlined(value, outline)
        counts.append(len(found))
        room = max(0, _SAMPLED - len(elements))
        elements += [value[start:stop] for start, stop in zip(found.starts[:room], found.stops[:room], strict=True)]
    low, high = min(counts), max(counts)
    count = f"array({low})" if low == high else f"array({low} to {high})"
    return f"{count} of {_sketch(elements, outline, depth - 1)}" if elements and depth else count


def _objects(values: list[memoryview], outline: Outliner, depth: int) -> str:
    fields: dict[str, list[memoryview]] = {}
    for value in values[:_SAMPLED]:
        if len(value) <= _SMALL_BYTES:
            for key, inner in zip(*_members(value), strict=True):
                fields.setdefault(key, []).append(inner)
            continue
        found = _outlined(value, outline)
        for key, start, stop in zip(found.keys, found.starts, found.stops, strict=True):
            fields.setdefault(key, []).append(value[start:stop])
    if not depth:
        return f"object({len(fields)} keys)" if len(fields) != 1 else "object(1 key)"
    sampled = min(len(values), _SAMPLED)
    told = [
        f"{key}{'?' if len(members) < sampled else ''}:{_sketch(members, outline, depth - 1)}"
        for key, members in list(fields.items())[:_FIELDS_MAX]
    ]
    if len(fields) > _FIELDS_MAX:
        told.append(f"{len(fields) - _FIELDS_MAX} more keys")
    return "{" + ", ".join(told) + "}"


def _members(value: memoryview) -> tuple[list[str], list[memoryview]]:
    try:
        return members_of(value)
    except UnreadableError:  # nested deeper than can be walked
        return [], []


def _outlined(value: memoryview, outline: Outliner) -> Outline:
    try:
        return outline(value)
    except UnreadableError:  # nested deeper than can be walked
        nothing = array("q")
        return Outline("array", nothing, nothing, nothing)
