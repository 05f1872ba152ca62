"""The three tools: what is published, and how a model's arguments are read."""

import copy

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blobs.domain import exact_json
from blobs.domain.errors import ToolInputError
from blobs.domain.limits import Limits
from blobs.operations.tools import CodeCall, ReadCall, SearchCall, parse_arguments, tool_definitions


def _refusal(tool, arguments, **options):
    with pytest.raises(ToolInputError) as caught:
        parse_arguments(tool, arguments, **options)
    return str(caught.value)


def _schema(tool, *, python="pandas 3.1"):
    return {each["name"]: each["schema"] for each in tool_definitions(python=python)}[tool]


def test_the_three_tools_and_their_arguments_are_those_of_the_design():
    """Exactly three tools, their arguments in the order of the design."""
    published = {each["name"]: list(each["schema"]["properties"]) for each in tool_definitions(python="pandas")}
    assert published == {
        "blob_read": ["blob", "start", "count", "part", "path", "columns", "unit"],
        "blob_search": [
            *("blob", "pattern", "regex", "ignore_case", "start", "limit", "context"),
            *("part", "path", "columns"),
        ],
        "blob_code": ["blob", "blobs", "language", "code", "save", "save_as"],
    }


def test_schemas_are_closed_valid_and_described():
    """Every schema is valid JSON Schema, refuses unknown arguments and describes every argument."""
    for definition in tool_definitions(python="pandas 3.1"):
        jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **definition["schema"]})
        assert definition["schema"]["additionalProperties"] is False
        assert all(each["description"] for each in definition["schema"]["properties"].values())


def test_the_places_where_a_model_names_a_blob_are_marked():
    """`blob` and each of `blobs` carry `format: blob`, and nothing else does."""
    marked = {
        (tool, name)
        for tool in ("blob_read", "blob_search", "blob_code")
        for name, each in _schema(tool)["properties"].items()
        if "blob" in (each.get("format"), each.get("items", {}).get("format"))
    }
    assert marked == {
        ("blob_read", "blob"),
        ("blob_search", "blob"),
        ("blob_code", "blob"),
        ("blob_code", "blobs"),
    }


def test_blob_code_names_the_python_libraries():
    """The description carries the libraries that the caller gives."""
    code = tool_definitions(python="pandas 3.1, pyarrow 26")[2]
    assert "these libraries: pandas 3.1, pyarrow 26." in code["description"]
    assert code["schema"]["properties"]["language"]["enum"] == ["sql", "python"]
    assert "32 KiB, or the Python program, at most 64 KiB" in code["schema"]["properties"]["code"]["description"]


def test_a_smaller_python_is_described_as_one():
    """Where Python is the smaller one, the description says what it lacks, and names nothing that it has not."""
    code = tool_definitions(python="csv, json", is_small=True)[2]
    assert "Python is a small one here: no pandas" in code["description"]
    assert "only parts of csv, json." in code["description"]
    assert ".df()" not in code["description"]
    assert code["schema"]["properties"]["language"]["enum"] == ["sql", "python"]


def test_without_python_only_sql_is_offered():
    """Where the host runs no Python, the description says so and the schema does not offer it."""
    code = tool_definitions(python=None)[2]
    assert "Python is not available here: use SQL." in code["description"]
    assert code["schema"]["properties"]["language"]["enum"] == ["sql"]
    assert "Python" not in code["schema"]["properties"]["code"]["description"]


def test_definitions_are_new_objects_each_time():
    """A caller that changes its definitions changes nobody else's."""
    before = copy.deepcopy(tool_definitions(python=None))
    tool_definitions(python=None)[0]["schema"]["properties"]["blob"]["description"] = "changed"
    assert tool_definitions(python=None) == before


def test_defaults_are_applied():
    """What is left out has the default that the schema states."""
    assert parse_arguments("blob_read", {"blob": "blob1"}) == ReadCall(blob="blob1", start=0, count=None, unit="items")
    assert parse_arguments("blob_search", {"blob": "blob1", "pattern": "x"}) == SearchCall(
        blob="blob1", pattern="x", regex=False, ignore_case=False, start=0, limit=20, context=0
    )
    assert parse_arguments("blob_code", {"blob": "blob1", "code": "select 1"}) == CodeCall(
        blobs=("blob1",), language="sql", code="select 1", save=False, save_as=None
    )


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"start": 20.0}, {"start": 20}),
        ({"start": exact_json.Number("2e1")}, {"start": 20}),
        ({"start": "-20"}, {"start": -20}),
        ({"start": "20.0"}, {"start": 20}),
        ({"count": None, "part": None}, {}),
        ({"part": 2024}, {"part": "2024"}),
        ({"path": ""}, {}),
        ({"columns": "name"}, {"columns": ("name",)}),
        ({"columns": '["a", "b"]'}, {"columns": ("a", "b")}),
        ({"columns": "[a"}, {"columns": ("[a",)}),
        ({"unit": "rows"}, {"unit": "items"}),
        ({"unit": "Lines"}, {"unit": "lines"}),
    ],
)
def test_what_can_mean_only_one_thing_is_taken_as_meant(written, meant):
    """A model's harmless slips of form are not sent back to it."""
    assert parse_arguments("blob_read", {"blob": "blob1", **written}) == ReadCall(blob="blob1", **meant)


def test_true_and_false_may_be_quoted():
    """A truth value may come as its name in a string."""
    call = parse_arguments("blob_search", {"blob": "blob1", "pattern": 404, "regex": "true", "ignore_case": "False"})
    assert call == SearchCall(blob="blob1", pattern="404", regex=True, ignore_case=False)


def test_arguments_may_be_json_text():
    """Some services hand the arguments over as a string of JSON."""
    assert parse_arguments("blob_read", '{"blob": "blob1", "start": 3}') == ReadCall(blob="blob1", start=3)
    assert _refusal("blob_read", "{").startswith("The arguments of blob_read are not JSON")


def test_blobs_of_code_are_one_list_each_once():
    """`blob`, `blobs` and a single string in `blobs` all end as one list without repeats."""
    given = {"blob": "blob2", "blobs": ["blob1", "blob2"], "code": "x"}
    assert parse_arguments("blob_code", given).blobs == ("blob2", "blob1")
    assert parse_arguments("blob_code", {"blobs": "blob1", "code": "x"}).blobs == ("blob1",)
    assert _refusal("blob_code", {"code": "x"}) == (
        'blob: missing. Give the name of a blob, such as "blob1", or several as blobs.'
    )


@pytest.mark.parametrize(
    ("save_as", "media_type"), [("CSV", "text/csv"), ("image/png", "image/png"), ("jsonl", "application/x-ndjson")]
)
def test_a_format_to_save_as_means_saving(save_as, media_type):
    """`save_as` is read as a media type and says that the result is kept."""
    call = parse_arguments("blob_code", {"blob": "blob1", "code": "x", "save_as": save_as})
    assert (call.save, call.save_as) == (True, media_type)


def test_all_problems_are_told_at_once_in_schema_order():
    """One line a problem, each an instruction with its path; unknown arguments come last."""
    given = {"limt": 3, "start": "abc", "count": 0, "columns": ["a", 1, ""], "unit": "words", "path": "a/b", "part": ""}
    assert _refusal("blob_read", given).splitlines() == [
        'blob: missing. Give the name of a blob, such as "blob1".',
        'start: give a whole number, not "abc".',
        "count: give 1 or more, or leave it out for as many as fit, not 0.",
        "part: give the name of a part; it is empty.",
        'path: start a JSON Pointer with "/", such as "/a/b".',
        "columns.1: give the name of a column, not 1.",
        'columns.2: give the name of a column, not "".',
        'unit: give items, lines, chars or bytes, not "words".',
        "limt: there is no such argument. Use blob, start, count, part, path, columns or unit.",
    ]


def test_an_unknown_argument_is_told_what_was_probably_meant():
    """A misspelt argument names the right one and all there are."""
    assert _refusal("blob_search", {"blob": "blob1", "pattern": "x", "limt": 3}) == (
        "limt: there is no such argument; did you mean limit? "
        "Use blob, pattern, regex, ignore_case, start, limit, context, part, path or columns."
    )


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"blob": ""}, 'blob: give the name of a blob, such as "blob1"; it is empty.'),
        ({"blob": {"blob": "blob1"}}, 'blob: give the name of a blob, such as "blob1", not an object.'),
        ({"start": True}, "start: give a whole number, not true."),
        ({"start": 1.5}, "start: give a whole number, not 1.5."),
        ({"start": float("nan")}, "start: give a whole number, not null."),
        ({"start": exact_json.Number("1e999999999")}, "start: give a whole number, not 1e999999999."),
        ({"start": 2**63}, "start: give at most 9223372036854775807."),
        ({"count": [1]}, "count: give a whole number, not a list."),
        ({"columns": []}, "columns: give the names of columns; the list is empty."),
        ({"columns": {"a": 1}}, "columns: give the names of columns, not an object."),
        ({"path": "/a~2"}, 'path: in a JSON Pointer write "~" as "~0" and "/" inside a key as "~1".'),
    ],
)
def test_a_refusal_says_what_to_give(given, line):
    """Each refused value is told what the argument takes."""
    assert _refusal("blob_read", {"blob": "blob1", **given}) == line


@pytest.mark.parametrize(
    ("tool", "arguments", "line"),
    [
        (
            "blob_search",
            {"pattern": "é" * 513},
            "pattern: 1026 bytes are over the limit of 1024. Search for a shorter piece of it.",
        ),
        (
            "blob_code",
            {"code": "x" * 32769},
            (
                "code: 32769 bytes are over the limit of 32768. "
                "Join with a blob instead of listing values, or split the work."
            ),
        ),
        (
            "blob_code",
            {"code": "x" * 65537, "language": "python"},
            "code: 65537 bytes are over the limit of 65536. Split the work into several calls.",
        ),
    ],
)
def test_sizes_over_a_limit_are_refused_with_the_limit(tool, arguments, line):
    """Patterns, SQL and Python have limits in bytes; the message says both sizes."""
    assert _refusal(tool, {"blob": "blob1", **arguments}) == line


def test_sizes_at_a_limit_are_taken():
    """A limit is the most that is allowed, not the first that is refused; limits are settings."""
    parse_arguments("blob_search", {"blob": "blob1", "pattern": "é" * 512})
    parse_arguments("blob_code", {"blob": "blob1", "code": "x" * 65536, "language": "python"})
    with pytest.raises(ToolInputError):
        parse_arguments("blob_code", {"blob": "blob1", "code": "xxxxx"}, limits=Limits(sql_bytes_max=4))


def test_a_refusal_is_bounded_whatever_was_given():
    """Thousands of wrong arguments, long names and long values make a message that still fits an error."""
    given = {"blob": "blob1", "start": "x" * 100_000, **{f"wrong{i}\n{'y' * 500}": i for i in range(5000)}}
    text = _refusal("blob_read", given)
    assert len(text.encode()) <= Limits().error_bytes_max
    assert text.splitlines()[0] == f'start: give a whole number, not "{"x" * 60}…(+99940 chars)".'
    assert text.splitlines()[-1].endswith(" more problems.")


def test_an_unknown_tool_is_refused_with_the_tools_there_are():
    """The three names are told."""
    assert _refusal("blob_open", {}) == "There is no tool blob_open. Use blob_read, blob_search or blob_code."


def test_arguments_that_are_no_object_are_refused():
    """The message shows what an object looks like."""
    assert _refusal("blob_read", []) == (
        'Give the arguments of blob_read as an object, such as {"blob": "blob1"}, not a list.'
    )


def test_arguments_are_not_changed():
    """Reading leaves what was passed in as it was."""
    given = {"blobs": "blob1", "code": "x", "save_as": "csv"}
    parse_arguments("blob_code", given)
    assert given == {"blobs": "blob1", "code": "x", "save_as": "csv"}


_words = st.text(min_size=1, max_size=8)
_columns = st.none() | st.lists(_words, min_size=1, max_size=3, unique=True).map(tuple)
_paths = st.none() | st.just("/a/0") | st.just("/")
_calls = st.one_of(
    st.builds(
        ReadCall,
        blob=_words,
        start=st.integers(-(2**63) + 1, 2**63 - 1),
        count=st.none() | st.integers(1, 2**63 - 1),
        part=st.none() | _words,
        path=_paths,
        columns=_columns,
        unit=st.sampled_from(["items", "lines", "chars", "bytes"]),
    ),
    st.builds(
        SearchCall,
        blob=_words,
        pattern=_words,
        regex=st.booleans(),
        ignore_case=st.booleans(),
        start=st.integers(0, 2**63 - 1),
        limit=st.integers(1, 1000),
        context=st.integers(0, 1000),
        part=st.none() | _words,
        path=_paths,
        columns=_columns,
    ),
    st.builds(
        CodeCall,
        blobs=st.lists(_words, min_size=1, max_size=3, unique=True).map(tuple),
        language=st.sampled_from(["sql", "python"]),
        code=_words,
        save=st.booleans(),
    ),
)


@given(_calls)
def test_a_call_said_again_is_the_same_call_and_fits_the_published_schema(call):
    """`arguments()` is what `next` needs: read back it is an equal call, and the schema accepts it."""
    said = exact_json.loads(exact_json.dumps(call.arguments()))
    assert parse_arguments(call.tool, said) == call
    assert jsonschema_rs.is_valid(_schema(call.tool), said)
