"""Schemas of both shapes and the places in them that mark a blob."""

import pytest

from blobs.conversations.schemas import find_blob_marks, parse_schema
from blobs.domain.errors import CallerError

_MARK = {"type": "string", "format": "blob"}


def _refusal(schema):
    with pytest.raises(CallerError) as caught:
        find_blob_marks(schema)
    return str(caught.value)


def _object(**properties):
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "marks"),
    [
        ({}, []),
        ({"file": "blob", "n": "number?", "other": "blob?"}, ["file", "other"]),
        ({"files": ["blob"], "tags": ["string"], "list": "list"}, ["files.*"]),
        ({"box": {"x": "integer", "cover": "blob?"}}, ["box.cover"]),
        ({"rows": [{"file": "blob", "name": "string"}]}, ["rows.*.file"]),
        ({"file": {"type": "blob"}, "name": {"type": "string", "description": "who"}}, ["file"]),
        ({"file": {"type": "string", "format": "blob"}}, ["file"]),
        ({"box": {"type": "object", "properties": {"file": _MARK}}}, ["box.file"]),
        # An object of two fields, one of which is called type.
        ({"issue": {"type": "string", "title": "blob"}}, ["issue.title"]),
    ],
)
def test_marks_of_the_short_shape(schema, marks):
    """`blob` and `blob?` mark a place, also inside lists and objects and in an argument in JSON Schema."""
    assert find_blob_marks(schema) == marks


@pytest.mark.parametrize(
    ("schema", "marks"),
    [
        (_object(file=_MARK, name={"type": "string"}), ["file"]),
        (_object(file={"format": "blob"}), ["file"]),
        (_object(file={"type": ["string", "null"], "format": "blob"}), ["file"]),
        (_object(file={"type": "blob"}), ["file"]),
        (_object(files={"type": "array", "items": _MARK}), ["files.*"]),
        (_object(pair={"prefixItems": [{"type": "string"}, _MARK], "items": _MARK}), ["pair.1", "pair.*"]),
        (_object(pair={"items": [_MARK, {}], "additionalItems": _MARK}), ["pair.0", "pair.*"]),
        (_object(byname={"type": "object", "additionalProperties": _MARK}), ["byname.*"]),
        (_object(byname={"patternProperties": {"^x-": _MARK}}), ["byname.*"]),
        (_object(file={"anyOf": [{"type": "null"}, _MARK]}), ["file"]),
        (_object(file={"oneOf": [_MARK, _object(inner=_MARK)]}), ["file", "file.inner"]),
        (_object(file={"allOf": [{"minLength": 1}, _MARK]}), ["file"]),
        ({**_object(file={"$ref": "#/$defs/f"}), "$defs": {"f": _MARK}}, ["file"]),
        ({**_object(file={"$ref": "#/definitions/f~1g"}), "definitions": {"f/g": _MARK}}, ["file"]),
        (_object(a=_MARK, b={"$ref": "#/properties/a"}), ["a", "b"]),
        # Data that only looks like a mark.
        (_object(a={"default": _MARK, "enum": [_MARK], "examples": [_MARK]}), []),
        (_object(format={"const": "blob"}), []),
        ({"type": "object", "additionalProperties": False}, []),
    ],
)
def test_marks_of_json_schema_at_any_depth(schema, marks):
    """`format: blob` marks a place below every keyword that says which values go where."""
    assert find_blob_marks(schema) == marks


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({**_object(t={"$ref": "#/$defs/t"}), "$defs": {"t": _object(next={"$ref": "#/$defs/t"})}}, "next.$ref"),
        (_object(again={"$ref": "#"}), "properties.again.$ref"),
        (
            {**_object(a={"$ref": "#/$defs/a"}), "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
            "$ref",
        ),
        (_object(a={"$dynamicRef": "#node"}), "properties.a.$dynamicRef"),
    ],
)
def test_recursive_schemas_are_refused(schema, place):
    """A schema that contains itself is the author's error, and is named with its place."""
    first, _, rest = _refusal(schema).partition(": ")
    assert first.endswith(place)
    assert rest == "the schema is recursive. Write out as many levels as are needed."


def test_a_schema_that_contains_itself_as_an_object_is_refused():
    """Python can build what JSON cannot say; the walk ends all the same."""
    schema = {}
    schema["inner"] = schema
    assert _refusal(schema) == "inner: the schema is recursive. Write out as many levels as are needed."
    items = []
    items.append(items)
    assert "the schema is recursive" in _refusal({"list": items})


def test_a_recursive_definition_that_nothing_refers_to_is_no_matter():
    """Only what arguments can reach is read."""
    assert find_blob_marks({**_object(file=_MARK), "$defs": {"t": {"$ref": "#/$defs/t"}}}) == ["file"]


def test_references_that_stand_for_billions_of_places_are_refused_at_once():
    """The written-out size is counted, not walked."""
    levels = {f"l{i}": {"allOf": [{"$ref": f"#/$defs/l{i + 1}"}] * 2} for i in range(30)}
    schema = {**_object(x={"$ref": "#/$defs/l0"}), "$defs": {**levels, "l30": _MARK}}
    assert "the schema is too large. Keep to 10000 places and 64 levels." in _refusal(schema)


def test_deep_schemas_are_refused():
    """Nesting has a limit in both shapes, and reaching it is no crash."""
    short, long = "blob", _MARK
    for _ in range(5000):
        short, long = {"a": short}, _object(a=long)
    assert "nested too deeply" in _refusal(short)
    assert "nested too deeply" in _refusal(long)


def test_a_schema_may_be_used_twice_in_one():
    """The same object at two places is no recursion."""
    assert find_blob_marks(_object(a=_MARK, b=_MARK, c=_object(d=_MARK))) == ["a", "b", "c.d"]


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("blob", 'a schema is an object, not "blob". Give {"file": "blob"} or JSON Schema.'),
        (None, 'a schema is an object, not null. Give {"file": "blob"} or JSON Schema.'),
        (
            {"file": "blobs"},
            (
                'file: "blobs" is no type. Use string, number, integer, boolean, object, array, list, any or blob, '
                "with ? where it is optional."
            ),
        ),
        (
            {"pair": ["blob", "string"]},
            'pair: a list is no type. Give a type, a list of one type such as ["blob"], or an object of types.',
        ),
        ({"n": 3}, 'n: 3 is no type. Give a type, a list of one type such as ["blob"], or an object of types.'),
        (
            _object(a={"type": "text"}),
            (
                'properties.a.type: "text" is no type. '
                "Use string, number, integer, boolean, object, array, null or blob."
            ),
        ),
        (_object(a="blob"), 'properties.a: "blob" is no JSON Schema. Give an object, true or false.'),
        (
            _object(a={"$ref": "https://example.com/s"}),
            (
                'properties.a.$ref: "https://example.com/s" is not a local reference. '
                'Refer to a place in the same schema, such as "#/$defs/file".'
            ),
        ),
        (_object(a={"$ref": "#/$defs/a"}), 'properties.a.$ref: there is nothing at "#/$defs/a". Put it under $defs.'),
        (
            _object(a={"type": "integer", "format": "blob"}),
            'properties.a: format blob marks a string, the blob\'s name. Give it the type "string".',
        ),
        (
            _object(a={"if": {"required": ["b"]}, "then": _object(b=_MARK)}),
            (
                "properties.a.then: a blob cannot be marked here. "
                "Mark it under properties, items, anyOf, oneOf, allOf or $ref."
            ),
        ),
        (
            {**_object(a={"not": {"$ref": "#/$defs/f"}}), "$defs": {"f": _MARK}},
            (
                "properties.a.not: a blob cannot be marked here. "
                "Mark it under properties, items, anyOf, oneOf, allOf or $ref."
            ),
        ),
        ({"type": "object", "properties": []}, "properties: a list is not an object. Give a schema for each name."),
        ({"type": "object", "required": "a"}, 'required: "a" is not a list of names. Give a list of strings.'),
        (_object(a={"anyOf": _MARK}), "properties.a.anyOf: an object is not a list. Give a list of schemas."),
        (_object(a={"enum": "x"}), 'properties.a.enum: "x" is not a list. Give a list of values.'),
    ],
)
def test_what_is_neither_shape_is_refused_with_its_place(schema, message):
    """The message says where, what is wrong and what to write."""
    assert _refusal(schema) == message


def test_a_pattern_that_cannot_be_searched_in_linear_time_is_refused():
    """Look-around would need a backtracking engine."""
    assert _refusal({"type": "object", "patternProperties": {"(?=a)": _MARK}}).startswith(
        'patternProperties: "(?=a)" is no pattern ('
    )


def test_too_many_marks_are_not_listed():
    """The list of marks has a limit."""
    assert _refusal({f"f{i}": "blob" for i in range(1001)}) == "a blob is marked in over 1000 places. Mark fewer."


def test_a_schema_is_not_changed():
    """Reading leaves the schema as it was."""
    schema = {**_object(file={"$ref": "#/$defs/f"}), "$defs": {"f": dict(_MARK)}}
    parse_schema(schema)
    assert schema == {**_object(file={"$ref": "#/$defs/f"}), "$defs": {"f": _MARK}}
