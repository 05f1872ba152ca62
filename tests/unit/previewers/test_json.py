"""JSON documents: entries, exact values, paths, parts, shapes, tables, what is not strict."""

import json

import pytest

from blobs.domain import exact_json
from blobs.domain.errors import ToolInputError, UnreadableError
from blobs.domain.ranges import ItemRange
from blobs.reading.reader import Sample
from blobs.reading.source import BytesSource
from blobs.testing.readers import Example, ReaderContract
from previewers.json_document import JsonReader


def open_json(content: bytes | str):
    return JsonReader().open(BytesSource(content.encode() if isinstance(content, str) else content))


def entries(view) -> list:
    return list(view.items(ItemRange(0, view.count)))


def written(view) -> list[str]:
    return [exact_json.text(each) for each in entries(view)]


def sniff(content: str, declared: str | None = None) -> int:
    head = content.encode()
    return JsonReader().sniff(Sample(head, head[-4096:], len(head), declared)).level


class TestJsonReader(ReaderContract):
    reader = JsonReader()
    examples = {
        "array": Example(b'[1, "two", {"three": 3}, [4], null]', "application/json", 5),
        "object": Example(b'{"a": 1, "b": {"c": [{"d": 1}, {"d": 2}]}}\n', "application/json", 2),
        "records": Example(
            json.dumps([{"id": i, "t": "é" * (i % 5)} for i in range(900)]).encode(), "application/json", 900
        ),
        "not finite": Example(b'[{"a": NaN}, {"a": -Infinity}, {"a": 1}]', "application/json", 3),
        "byte order mark": Example(b'\xef\xbb\xbf{"a": 1}', "application/json", 1),
        "UTF-16": Example('["é", 2, 3]'.encode("utf-16"), "application/json", 3),
        "empty": Example(b"[]", "application/json", 0),
        "comments": Example(b'{"a": 1, // one\n "b": [2,], }', "application/json", 2),
    }


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("[1,2,3]", ["1", "2", "3"]),
        (" [ 1 , [ 2 ] ]\n", ["1", "[2]"]),
        ('{"a":1,"b":[2]}', ['{"a":1}', '{"b":[2]}']),
        ('{"":1,"a\\u0062":2}', ['{"":1}', '{"ab":2}']),
        ("[]", []),
        ("{}", []),
        ('"text"', ['"text"']),
        (" 1.50 ", ["1.50"]),
        ("null", ["null"]),
        ("[0.10,1e5,123456789012345678901234567890,-0]", ["0.10", "1e5", "123456789012345678901234567890", "0"]),
        ('{"a":1,"b":2,"a":3}', ['{"a":3}', '{"b":2}']),
        ('["a\u2028b\\u00e9"]', ['"a\u2028bé"']),
    ],
)
def test_entries(content, expected):
    """Elements are entries, an object has one a key, a scalar is one; numbers keep their digits."""
    view = open_json(content)
    assert view.unit == "entries"
    assert view.count == len(expected)
    assert written(view) == expected
    assert view.slice(ItemRange(0, view.count)) == (content.encode(), "application/json")


@pytest.mark.parametrize(
    ("content", "expected", "note"),
    [
        ("[NaN,Infinity,-Infinity,0.25]", ['"NaN"', '"Infinity"', '"-Infinity"', "0.25"], "NaN"),
        ('{"loss":NaN}', ['{"loss":"NaN"}'], "NaN"),
        ('["a NaN", NaN]', ['"a NaN"', '"NaN"'], "1 NaN"),
        ('["\\ud800x",1]', ['"\ufffdx"', "1"], "half characters"),
        ("[1,2,]", ["1", "2"], "trailing commas"),
        ('{"a":[1,],}', ['{"a":[1]}'], "trailing commas"),
        ('[1, /* no, */ "//x", // y\n 2]', ["1", '"//x"', "2"], "comments"),
        ("\ufeff[1]", ["1"], "byte order mark"),
        (b'["caf\xe9", "\xe9t\xe9"]', ['"café"', '"été"'], "cp1252"),
        (b'["\xc3\xa9\xc3\xa9\xc3\xa9\xff"]', ['"ééé\\\\xff"'], "not valid utf-8"),
        ('["é"]'.encode("utf-16"), ['"é"'], "utf-16"),
        ('{"a":NaN,"a":1}', ['{"a":1}'], "repeated"),
    ],
)
def test_what_is_not_strict(content, expected, note):
    """What other writers also call JSON is read, a note says so, and what is sent out is strict."""
    view = open_json(content)
    assert written(view) == expected
    assert any(note in each for each in view.notes)
    assert all(json.loads(each, parse_constant=pytest.fail) is not Ellipsis for each in written(view))
    raw = content if isinstance(content, bytes) else content.encode()
    assert view.slice(ItemRange(0, view.count))[0] == raw


@pytest.mark.parametrize(
    "content",
    ["", " ", "[1 2]", "{'a':1}", '{"a" 1}', "[1]]", "[1]x", '{"a":1}{"b":2}', "[1}", "nul", "[,1]",
     "[1,,2]", "[1,,]", "[,]", '{"a":1,,"b":2}', '["a\nb"]', "[" * 5000 + "]" * 5000, "{,}", "01"],
)  # fmt: skip
def test_what_is_no_json(content):
    """Broken documents are refused, so that they are read as text."""
    with pytest.raises(UnreadableError):
        open_json(content)
    assert sniff(content) == 0


@pytest.mark.parametrize("content", ["{", "[1", "[1,", '{"a":1,"b":[1,2', '{"a":"tex', '{"a":[{"id":1},{"i', "[1,nul"])
def test_what_is_cut_short(content):
    """A document that ends too early is tried with the least confidence, and says that it is cut short."""
    with pytest.raises(UnreadableError, match="cut short"):
        open_json(content)
    assert sniff(content) == 1


@pytest.mark.parametrize(
    ("content", "fault"),
    [("[1 2]", "at byte 3"), ("[1,2}", "at byte 4"), ('{"a" 1}', "at byte 5"), ("[1]]", "more follows after its end")],
)
def test_the_first_fault_is_told(content, fault):
    """A document that is no JSON says from where on."""
    with pytest.raises(UnreadableError, match=fault):
        open_json(content)


def test_repeated_keys():
    """The last value counts at the place of the first, and a note says so, also for inner objects."""
    view = open_json('{"a":1,"b":{"x":1,"x":2},"a":{"y":3},"c":4,"a":5}')
    assert written(view) == ['{"a":5}', '{"b":{"x":2}}', '{"c":4}']
    assert view.notes == ["3 keys are repeated in an object: the last value counts"]
    assert written(view.at("/a")) == ["5"]
    assert view.slice(ItemRange(0, 2))[0] == b'{"a":5,"b":{"x":1,"x":2}}'


PATHS = open_json('{"a/b":{"m~n":[10,{"x":"text"}]},"":0,"list":[1,2,3],"e":[],"s":"é\\n\u2028","o":{}}')


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/a~1b/m~0n/0", ["10"]),
        ("/a~1b/m~0n", ["10", '{"x":"text"}']),
        ("/a~1b/m~0n/1", ['{"x":"text"}']),
        ("/", ["0"]),
        ("/list/2", ["3"]),
        ("/e", []),
        ("/o", []),
        ("/s", ['"é\\n\u2028"']),
        ("/a~1b/m~0n/1/x", ['"text"']),
    ],
)
def test_paths(path, expected):
    """A JSON Pointer leads to any value, and that is a view like any other."""
    view = PATHS.at(path)
    assert view.count == len(expected)
    assert written(view) == expected
    assert PATHS.at("") is PATHS


def test_text_at_a_path():
    """The text of a value is its JSON as written, that of a string the string itself."""
    assert PATHS.at("/list").text(0, 99) == "[1,2,3]"
    assert PATHS.at("/s").text(0, 99) == "é\n\u2028"
    assert PATHS.at("/s").text_length() == 3
    assert PATHS.at("/list").text_offset(1) == 3
    assert PATHS.at("/s").slice(ItemRange(0, 1))[0] == '"é\\n\u2028"'.encode()


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/list/7", 'path: /list/7 does not exist; /list has 3 entries, 0 to 2. Use "/list/2".'),
        ("/list/-", "/list has 3 entries, 0 to 2."),
        ("/list/01", "/list has 3 entries, 0 to 2."),
        ("/e/0", '/e has no entries. Use "/e".'),
        ("/lits/0", 'Use "/list".'),
        ("/a~1b/nm/0", 'Use "/a~1b/m~0n".'),
        ("/o/x", "/o is an empty object."),
        ("/nope/x", "the document has the keys a/b, , list, e, s, o."),
        ("/a~1b/x/y", "/a~1b has the keys m~n."),
        ("/s/0", "/s is a string."),
        ("/list/0/x", "/list/0 is a number."),
        ("list", "path: 'list' is not a JSON Pointer. Write one such as \"/a~1b\"."),
    ],
)
def test_paths_that_do_not_exist(path, told):
    """A path that leads nowhere is answered by the last step that exists and what is there."""
    with pytest.raises(ToolInputError) as refused:
        PATHS.at(path)
    assert told in str(refused.value)


def test_parts():
    """Arrays of objects under a key, or one key deeper, are parts; other arrays are not."""
    view = open_json(
        '{"results":[{"a":1},{"a":2}],"n":[1],"data":{"items":[{"b":1}],"deep":{"x":[{"c":1}]}},"e":[],"mix":[{},1]}'
    )
    assert [(part.name, part.unit, part.count) for part in view.parts] == [
        ("results", "entries", 2),
        ("data.items", "entries", 1),
    ]
    assert written(view.part("results")) == ['{"a":1}', '{"a":2}']
    assert written(view.part("data.items")) == ['{"b":1}']
    with pytest.raises(ToolInputError, match=r"no part 'n'.*'results', 'data\.items'"):
        view.part("n")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("[1,2]", "array(2) of number"),
        ("[]", "array(0)"),
        ('"x"', "string"),
        ('[{"a":1,"b":"x"},{"a":null}]', "array(2) of {a:number|null, b?:string}"),
        ("[[1],[2,3]]", "array(2) of array(1 to 2) of number"),
        (
            '{"status":"ok","results":[{"id":1,"tool":"x","ms":2.5}],"t":{"x":true}}',
            {"status": "string", "results": "array(1) of {id:number, tool:string, ms:number}", "t": "{x:boolean}"},
        ),
        ('{"image":"' + "A" * 43_412 + '"}', {"image": "string(43412 chars)"}),
    ],
)
def test_shapes(content, expected):
    """A sketch of the types with counts; keys that some objects lack have a question mark."""
    assert open_json(content).shape() == expected


def test_shapes_are_bounded():
    """However wide and deep a document is, its sketch is short, and it says what it leaves out."""
    wide = open_json(json.dumps({f"key {i}": {"x": [i]} for i in range(5000)})).shape()
    assert len(json.dumps(wide)) < 2500
    assert "more keys" in wide["…"]
    records = open_json(json.dumps([{f"key{i}": i for i in range(400)}])).shape()
    assert len(records) < 1000
    deep = open_json("[" * 400 + "]" * 400).shape()
    assert len(deep) < 200


@pytest.mark.parametrize(
    ("content", "columns", "expected"),
    [
        ('[{"a":1,"b":2},{"b":3,"c":4}]', ["a", "b", "c"], [[1, 2, None], [None, 3, 4]]),
        ("[1,[2]]", ["entry"], [[1], [[2]]]),
        ('[{"a":1},2]', ["entry"], [[{"a": 1}], [2]]),
        ("[]", ["entry"], []),
        ('{"a":1,"b":[2]}', ["a", "b"], [[1, [2]]]),
        ("{}", ["entry"], []),
        ("7", ["entry"], [[7]]),
    ],
)
def test_tables(content, columns, expected):
    """Objects give the union of their keys, an object one row, anything else one column."""
    table = open_json(content).table()
    assert table.columns == columns
    assert list(table.rows()) == expected
    assert list(table.rows()) == expected
    assert not table.is_text


def test_wide_objects_are_rows_by_key():
    """An object of very many keys is data by key: one row a key."""
    table = open_json(json.dumps({f"k{i}": {"v": i} for i in range(600)})).table()
    assert table.columns == ["key", "value"]
    assert list(table.rows())[599] == ["k599", {"v": 599}]


def test_text_and_offsets():
    """The text is the source; an entry begins at its element, or at the quote of its key."""
    content = '[ {"é":1},\n  22 , "x"]'
    view = open_json(content)
    assert view.text(0, 1000) == content
    assert [content[view.text_offset(i) :][:3] for i in range(3)] == ['{"é', "22 ", '"x"']
    assert view.text_offset(3) == view.text_length() == len(content)
    keyed = '{ "a" : 1 , "é":2,"c":3}'
    assert [keyed[open_json(keyed).text_offset(i)] for i in range(3)] == ['"'] * 3
    assert keyed[open_json(keyed).text_offset(2) :] == '"c":3}'


def test_slices():
    """A part of a document is one of the same kind, its entries as written."""
    assert open_json('[1.50, {"a": NaN} ,3]').slice(ItemRange(0, 2))[0] == b'[1.50, {"a": NaN}]'
    assert open_json('{"a": 1.0, "b":[ 2 ], "c":3}').slice(ItemRange(1, 3))[0] == b'{"b":[ 2 ],"c":3}'
    assert open_json("[1,2]").slice(ItemRange(1, 1))[0] == b"[]"


@pytest.mark.parametrize(
    ("content", "level"),
    [("[1]", 60), ('{"a":[]}', 60), ("[]", 60), ("[NaN]", 60), ("12", 0), ('"x"', 0), ("[INFO] started", 0),
     ("{x: 1}", 0), ('{"a":1}\n{"a":2}', 0), ("[1]\n[2]", 0), ("a: 1", 0), ("", 0)],
)  # fmt: skip
def test_recognising(content, level):
    """Arrays and objects are JSON; a bare number or string is only where that was declared."""
    assert sniff(content) == level


@pytest.mark.parametrize("content", ["12", '"x"', "null", "1.5e3"])
def test_declared_scalars(content):
    """A scalar is a document if somebody says so."""
    assert sniff(content, "application/json") > 0
    assert sniff("not json", "application/json") == 0


@pytest.mark.parametrize("cut", [1, 2, 3, 17, 100, 1001, 9_999, 20_000])
def test_cut_samples(cut):
    """A sample that ends anywhere inside a document begins a document; lines of JSON and prose do not."""
    document = json.dumps(
        {"a": [{"s": 'x"\\é', "n": -1.5e3, "t": True, "e": [], "o": {}} for _ in range(500)]}, indent=1
    )
    assert JsonReader().sniff(Sample(document[:cut].encode(), b"", 10**6)).level == (55 if cut else 0)
    lines = '{"a": 1}\n' * 5000
    assert JsonReader().sniff(Sample(lines[: cut + 12].encode(), b"", 10**6)).level == 0
    assert JsonReader().sniff(Sample(b"[INFO] started\n" * 99, b"", 10**6)).level == 0


@pytest.mark.parametrize("number", ["9007199254740993", "18446744073709551616", "1" * 5000, "0.1000", "1E400", "-0.0"])
def test_numbers_keep_their_digits(number):
    """Long, precise and huge numbers come out as they went in, wherever they stand."""
    assert written(open_json(f"[{number}]")) == [number]
    assert written(open_json(f'{{"a":{{"b":[{number},NaN]}}}}').at("/a/b/0")) == [number]


@pytest.mark.parametrize("indent", [None, 1, 40])
def test_large_arrays(indent):
    """Arrays over many blocks are cut at their outermost commas, whatever stands in their strings."""
    values = [{"i": i, "s": "\\" * (i % 7) + '",][}{' * (i % 3), "n": [[i], {"x": {}}]} for i in range(30_000)]
    content = json.dumps(values, indent=indent)
    assert len(content) > 1_500_000
    view = open_json(content)
    assert view.count == 30_000
    assert [value["s"] for value in view.items(ItemRange(14_000, 14_020))] == [
        each["s"] for each in values[14_000:14_020]
    ]
    assert content[view.text_offset(29_999)] == "{"
    part = view.slice(ItemRange(7, 9))[0]
    assert json.loads(part) == values[7:9]


def test_large_arrays_that_are_not_strict():
    """One value that is not strict does not keep a large array from being read, a broken one does."""
    good = '{"a": [1, 2, "x"]},' * 20_000
    assert open_json(f"[{good} NaN]").count == 20_001
    assert open_json(f"[{good} 1,]").count == 20_001
    for broken in (f"[{good} nope]", f"[{good} 1", f"[{good}, 1]", f"[{good} 1]]", f"[{good} 1}}"):
        with pytest.raises(UnreadableError):
            open_json(broken)


def test_blanks_between_entries():
    """Long stretches of blanks cost no more than their length."""
    content = f"[{' ' * 300_000}1,{chr(10) * 200_000}2{' ' * 100_000}]"
    view = open_json(content)
    assert written(view) == ["1", "2"]
    assert view.text_offset(1) == content.index("2")


def test_glimpses():
    """A preview builds no long array inside an entry: it shows how many items there are."""
    view = open_json(json.dumps({"ok": True, "data": {"rows": [{"id": i} for i in range(50_000)], "n": 1.5}}))
    assert list(view.glimpse(ItemRange(0, 9))) == [{"ok": True}, {"data": {"rows": "…(+50000 items)", "n": 1.5}}]
    assert list(open_json("[1,[2]]").glimpse(ItemRange(1, 2))) == [[2]]
