"""Names of blobs become references exactly where the schema marks a blob."""

import copy

import pytest

from blobs.conversations.resolve import resolve
from blobs.domain import exact_json
from blobs.domain.digest import Digest
from blobs.domain.errors import CallerError
from blobs.domain.reference import Reference

_MARK = {"type": "string", "format": "blob"}
_BLOBS = {f"blob{i}": Reference(Digest.of(str(i).encode()), i, "text/csv") for i in (1, 2)}
_ONE, _TWO = (each.to_json() for each in _BLOBS.values())


def _resolve(schema, arguments, blobs=None):
    blobs = _BLOBS if blobs is None else blobs
    before = copy.deepcopy((schema, arguments))
    answer = resolve(schema, arguments, blobs.get, list(blobs))
    assert (schema, arguments) == before
    return answer


def _object(**properties):
    return {"type": "object", "properties": properties}


def _lines(schema, arguments, blobs=None):
    answer = _resolve(schema, arguments, blobs)
    assert list(answer) == ["ok", "message"]
    assert answer["ok"] is False
    return answer["message"].splitlines()


@pytest.mark.parametrize(
    ("schema", "arguments", "resolved"),
    [
        ({"file": "blob", "note": "string"}, {"file": "blob1", "note": "blob1"}, {"file": _ONE, "note": "blob1"}),
        ({"files": ["blob"]}, {"files": ["blob2", "blob1"]}, {"files": [_TWO, _ONE]}),
        ({"rows": [{"file": "blob?", "n": "any"}]}, {"rows": [{"file": None, "n": ["blob1"]}, {"n": 1}]}, None),
        ({"a": "blob?", "b": "number?", "c": "list?", "d": "object"}, {"d": {"x": "blob1"}}, None),
        ({"file": {"type": "blob", "description": "what"}}, {"file": "blob1"}, {"file": _ONE}),
        (_object(file=_MARK), {"file": "blob1", "more": "blob1"}, {"file": _ONE, "more": "blob1"}),
        (_object(file=_MARK), {"file": None}, None),
        (
            {**_object(file={"anyOf": [_MARK, {"type": "null"}]}), "required": ["file"]},
            {"file": None},
            None,
        ),
        (_object(file={**_MARK, "nullable": True}), {"file": None}, None),
        (
            _object(x={"additionalProperties": _MARK}),
            {"x": {"a": "blob1", "b": "blob2"}},
            {"x": {"a": _ONE, "b": _TWO}},
        ),
        (
            _object(x={"patternProperties": {"^f": _MARK}, "additionalProperties": {"type": "string"}}),
            {"x": {"f1": "blob1", "g": "blob1"}},
            {"x": {"f1": _ONE, "g": "blob1"}},
        ),
        (_object(x={"prefixItems": [{}, _MARK]}), {"x": ["blob1", "blob1", "blob1"]}, {"x": ["blob1", _ONE, "blob1"]}),
        (
            _object(x={"allOf": [_object(a=_MARK), _object(b=_MARK)]}),
            {"x": {"a": "blob1", "b": "blob2"}},
            {"x": {"a": _ONE, "b": _TWO}},
        ),
        ({**_object(x={"$ref": "#/$defs/f"}), "$defs": {"f": _MARK}}, {"x": "blob1"}, {"x": _ONE}),
    ],
)
def test_marked_places_are_replaced_and_nothing_else(schema, arguments, resolved):
    """A marked name becomes its reference; an unmarked one stays a string, and null stays null."""
    assert _resolve(schema, arguments) == {"ok": True, "arguments": arguments if resolved is None else resolved}


_UNION = _object(x={"anyOf": [{"type": "string"}, _MARK, _object(file=_MARK), {"type": "array", "items": _MARK}]})


@pytest.mark.parametrize(
    ("value", "resolved"),
    [
        ("blob1", _ONE),
        ("https://example.com", "https://example.com"),
        ({"file": "blob2"}, {"file": _TWO}),
        (["blob1"], [_ONE]),
    ],
)
def test_the_branch_that_fits_is_taken(value, resolved):
    """Of several branches the value's own counts; a name that one of them takes for a blob is one."""
    assert _resolve(_UNION, {"x": value}) == {"ok": True, "arguments": {"x": resolved}}


def test_a_name_that_is_not_there_is_refused_although_a_branch_takes_strings():
    """Who writes blob7 means a blob, not a text."""
    assert _lines(_UNION, {"x": "blob7"}) == ["x: there is no blob7. Use blob1 or blob2."]


def test_branches_are_told_apart_by_their_constants():
    """The branch whose constant fits says what is wrong."""
    by_kind = [
        {**_object(kind={"const": "blob"}, at=_MARK), "required": ["at"]},
        {**_object(kind={"const": "text"}, at={"type": "string"}), "required": ["at"]},
    ]
    schema = _object(x={"oneOf": by_kind})
    assert _resolve(schema, {"x": {"kind": "text", "at": "blob7"}})["ok"] is True
    assert _resolve(schema, {"x": {"kind": "blob", "at": "blob1"}})["arguments"] == {"x": {"kind": "blob", "at": _ONE}}
    assert _lines(schema, {"x": {"kind": "blob"}}) == ["x.at: missing. Give the name of a blob."]
    assert _lines(schema, {"x": 3}) == ["x: give an object, not 3."]


def test_all_problems_are_told_at_once_in_schema_order():
    """One line a problem, with dotted keys and bare indexes from 0; unknown arguments come last."""
    schema = {"items": [{"file": "blob", "quantity": "integer"}], "note": "string", "mode": "string", "cover": "blob"}
    given = {
        "noet": "x",
        "note": 3,
        "items": [{"file": "blob7", "quantity": 1}, {"file": "blob1", "quantity": "two", "size": 1}],
        "cover": None,
    }
    assert _lines(schema, given) == [
        "items.0.file: there is no blob7. Use blob1 or blob2.",
        'items.1.quantity: give a whole number, not "two".',
        "items.1.size: there is no such argument. Use file or quantity.",
        "note: give a string, not 3.",
        "mode: missing. Give a string.",
        "cover: give the name of a blob, not null.",
        "noet: there is no such argument; did you mean note? Use items, note, mode or cover.",
    ]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("sha256:" + "a" * 64, f'file: there is no "sha256:{"a" * 53}…(+11 chars)". Use blob1 or blob2.'),
        ("", 'file: give the name of a blob, such as "blob1"; it is empty.'),
        ("blob 1\n", 'file: there is no "blob 1\\n". Use blob1 or blob2.'),
        (_ONE, "file: give the name of a blob, not an object."),
        ({"blob": "blob1", "type": "text/csv"}, "file: give the name of a blob, not an object."),
        (["blob1"], "file: give the name of a blob, not a list."),
        (1, "file: give the name of a blob, not 1."),
    ],
)
def test_only_a_name_that_was_shown_is_a_blob(given, line):
    """Digests, references, handles and anything else are refused with what exists."""
    assert _lines({"file": "blob"}, {"file": given}) == [line]


def test_what_exists_is_told_in_bounds():
    """No blobs at all is said; of many the first and the last are shown."""
    assert _lines({"file": "blob"}, {"file": "blob1"}, {}) == [
        "file: there is no blob1; this conversation has no blobs yet."
    ]
    many = {f"blob{i}": _BLOBS["blob1"] for i in range(1, 1001)}
    assert _lines({"file": "blob"}, {"file": "x"}, many) == [
        (
            "file: there is no x. Use blob1, blob2, blob3, …, blob995, blob996, blob997, blob998, blob999, blob1000 "
            "(1000 in all)."
        )
    ]


def test_unknown_arguments_follow_the_shape():
    """The short shape refuses them at every depth; JSON Schema where it says so."""
    assert _lines({}, {"x": 1}) == ["x: there is no such argument; leave it out, there are none."]
    assert _lines({"a": {"b": "any"}}, {"a": {"b": 1, "c": 2}}) == ["a.c: there is no such argument. Use b."]
    closed = {**_object(file=_MARK), "additionalProperties": False}
    assert _lines(closed, {"file": "blob1", "fiel": 1}) == [
        "fiel: there is no such argument; did you mean file? Use file."
    ]
    assert _resolve(_object(file=_MARK), {"fiel": "blob1"}) == {"ok": True, "arguments": {"fiel": "blob1"}}


@pytest.mark.parametrize(
    ("kind", "fits", "does_not"),
    [
        ("string", ["", "x"], [1, None, True]),
        ("number", [1, 1.5, exact_json.Number("1e400"), 10**400], ["1", True, None]),
        ("integer", [1, 2.0, exact_json.Number("2.0"), 10**400], [1.5, exact_json.Number("1.5"), "1", False]),
        ("boolean", [True, False], [0, "true", None]),
        ("object", [{}, {"a": 1}], [[], None, "{}"]),
        ("array", [[], [1]], [{}, "[]"]),
        ("any", [None, 1, {}, "x"], []),
    ],
)
def test_basic_types_are_those_of_json(kind, fits, does_not):
    """Numbers of any size count, true is no number, and nothing is converted."""
    for value in fits:
        assert _resolve({"x": kind}, {"x": value}) == {"ok": True, "arguments": {"x": value}}
    for value in does_not:
        assert len(_lines({"x": kind}, {"x": value})) == 1


def test_choices_are_checked():
    """`enum` and `const` say what to give; true is not 1."""
    schema = _object(mode={"enum": ["fast", "exact"]}, one={"const": 1})
    assert _lines(schema, {"mode": "slow", "one": True}) == [
        'mode: give "fast" or "exact", not "slow".',
        "one: give 1, not true.",
    ]


def test_a_missing_name_that_is_described_nowhere_is_still_missing():
    """`required` counts also for what `properties` does not describe."""
    assert _lines({"type": "object", "required": ["a"]}, {}) == ["a: missing. It must be given."]


@pytest.mark.parametrize("given", [None, [], "x", 3])
def test_arguments_are_an_object(given):
    """Anything else is refused as a whole."""
    assert _lines({"file": "blob"}, given)[0].startswith("Give an object, not ")


def test_arguments_nested_without_end_are_refused():
    """Depth and cycles end in a message, not in a crash."""
    cycle = []
    cycle.append(cycle)
    answer = resolve({"x": "any"}, {"x": cycle}, _BLOBS.get, [])
    assert answer == {"ok": False, "message": "The arguments are nested deeper than 200 levels. Nest them less."}


def test_the_answer_shares_nothing_that_can_be_changed():
    """Changing the resolved arguments changes neither what the model wrote nor another answer."""
    given = {"file": "blob1", "list": [{"a": 1}]}
    first = resolve({"file": "blob", "list": "list"}, given, _BLOBS.get, list(_BLOBS))
    first["arguments"]["list"][0]["a"] = first["arguments"]["file"]["size"] = 99
    assert given == {"file": "blob1", "list": [{"a": 1}]}
    assert _resolve({"file": "blob", "list": "list"}, given)["arguments"]["file"]["size"] == 1


def test_keys_keep_their_order():
    """The order of arguments is the model's, so the same input gives the same bytes."""
    assert list(_resolve({"a": "blob", "b": "any"}, {"b": 1, "a": "blob1"})["arguments"]) == ["b", "a"]


def test_a_message_is_bounded_however_much_is_wrong():
    """Thousands of problems end in a line that counts the rest."""
    message = _resolve({"files": ["blob"]}, {"files": [f"no{i}" for i in range(5000)]})["message"]
    assert len(message.encode()) < 4096
    assert message.splitlines()[-1] == "… and 4980 more problems."


def test_a_wrong_schema_is_the_authors_error():
    """It is raised, never told to the model as its own."""
    with pytest.raises(CallerError, match="recursive"):
        resolve(_object(again={"$ref": "#"}), {}, _BLOBS.get, [])
