"""JSON values one after the other: each a row, whatever stands between them."""

import json

import pytest

from blobs import Conversation
from blobs.domain.errors import UnreadableError
from blobs.domain.ranges import ItemRange
from blobs.reading.opening import take_sample
from blobs.reading.reader import Sample
from blobs.reading.registry import Registry
from blobs.reading.source import BytesSource
from blobs.testing.readers import Example, ReaderContract
from previewers.json_sequence import JSON_SEQUENCE, JsonSequenceReader

ONE_LINE = b'{"id":1,"big":9007199254740993}{"id":2,"s":"}{ \\" ["} [3]\n'
PRETTY = "\n".join(json.dumps({"id": n, "tags": ["a", {"b": n}]}, indent=2) for n in range(40)).encode()


def open_sequence(content: bytes):
    return JsonSequenceReader().open(BytesSource(content))


def sniff(content: bytes) -> int:
    return JsonSequenceReader().sniff(take_sample(BytesSource(content), None)).level


class TestJsonSequenceReader(ReaderContract):
    reader = JsonSequenceReader()
    examples = {
        "one line": Example(ONE_LINE, JSON_SEQUENCE, 3),
        "over several lines": Example(PRETTY, JSON_SEQUENCE, 40),
        "separators": Example(b'\x1e{"a":1}\n\x1e{"a":NaN}\n', JSON_SEQUENCE, 2),
        "UTF-16": Example('{"a":\n"é"}\n{"a":\n"ü"}'.encode("utf-16"), JSON_SEQUENCE, 2),
    }


def test_every_tool_sees_the_same(chat: Conversation):
    """Preview, read, search, SQL and Python agree on the values; a note says that it is no one document."""
    handle = chat.attach(PRETTY)
    blob = handle["blob"]
    expected = [{"id": n, "tags": ["a", {"b": n}]} for n in range(40)]
    assert (handle["type"], handle["items"]) == (JSON_SEQUENCE, 40)
    assert handle["preview"]["notes"] == ["no one JSON document: 40 values one after the other"]
    assert handle["preview"]["first"][0] == expected[0]
    assert chat.call("blob_read", {"blob": blob})["data"]["items"] == expected
    assert chat.call("blob_search", {"blob": blob, "pattern": '"id":39'})["data"]["matches"][0]["item"] == 39
    sql = {"blob": blob, "language": "sql", "code": f"select count(*), sum(id), max(tags->>'$[1].b') from {blob}"}
    assert chat.call("blob_code", sql)["data"]["rows"] == [[40, 780, "9"]]
    for method in ("json", "rows"):
        python = {"blob": blob, "language": "python", "code": f"{blob}.{method}()"}
        assert chat.call("blob_code", python)["data"]["result"] == expected


def test_brackets_in_strings_are_none():
    """Only brackets outside of strings open and close values; digits stay."""
    view = open_sequence(ONE_LINE)
    assert list(view.items(ItemRange(0, 3))) == [{"id": 1, "big": 9_007_199_254_740_993}, {"id": 2, "s": '}{ " ['}, [3]]
    assert view.text(view.text_offset(2), 99) == "[3]\n"


def test_values_over_many_blocks():
    """Values are found whatever the blocks of the scan cut."""
    content = b"".join(b'{"n":\n%d,"s":"%s"}\n' % (n, b'\\"}{' * (n % 50)) for n in range(30_000))
    assert len(content) > 2_000_000
    view = open_sequence(content)
    assert view.count == 30_000
    (last,) = view.items(ItemRange(29_999, 30_000))
    assert last["n"] == 29_999
    head = Sample(content[:65_536], content[-4096:], len(content))
    assert JsonSequenceReader().sniff(head).level == 52


@pytest.mark.parametrize(
    "content",
    [b'{"a":1}', b'{"a":1} x {"b":2}', b'{"a":1},{"b":2}', b'{"a":1}{"b":}', b'{"a":1}}{', b"[1] is [2]",
     b'"a" "b"', b"1 2", b'{"a":1}{"b":"', b"[INFO] [x] started"],
)  # fmt: skip
def test_other_texts_are_none(content):
    """A single document, values with anything between them, and broken ones are none."""
    assert sniff(content) == 0
    with pytest.raises(UnreadableError):
        open_sequence(content)


def test_lines_and_documents_go_to_their_readers():
    """Lines of JSON and single documents are better told by their own readers."""
    for content, name in ((b'{"a":1}\n{"a":2}\n', "ndjson"), (b'[{"a":1}]', "json"), (ONE_LINE, "json-sequence")):
        assert Registry().choose(take_sample(BytesSource(content), None))[0].plug_in.name == name
