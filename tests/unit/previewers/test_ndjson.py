"""Lines of JSON: good and bad lines, line ends, seeking, tables."""

import json

import pytest

from blobs.domain import exact_json
from blobs.domain.errors import UnreadableError
from blobs.domain.ranges import ItemRange
from blobs.reading.reader import Sample
from blobs.reading.source import BytesSource
from blobs.testing.readers import Example, ReaderContract
from previewers.ndjson import NdjsonReader

TYPE = "application/x-ndjson"


def open_lines(content: bytes | str):
    return NdjsonReader().open(BytesSource(content.encode() if isinstance(content, str) else content))


def written(view) -> list[str]:
    return [exact_json.text(each) for each in view.items(ItemRange(0, view.count))]


def sniff(content: str, declared: str | None = None) -> int:
    head = content.encode()
    return NdjsonReader().sniff(Sample(head, head[-4096:], len(head), declared)).level


class TestNdjsonReader(ReaderContract):
    reader = NdjsonReader()
    examples = {
        "objects": Example(b'{"a":1}\n{"a":2}\n{"b":3}\n', TYPE, 3),
        "bad lines": Example(b'{"a":1}\n\n{"a":2} x\n{"a":3}\n{"a":\n{"a":4}', TYPE, 3),
        "CRLF": Example(b'{"a":"x"}\r\n{"a":"y"}\r\n\r\n', TYPE, 2),
        "UTF-16": Example('{"a":"é"}\n{"a":"x"}\n'.encode("utf-16"), TYPE, 2),
        "arrays": Example(b"[1]\n[2,3]\n", TYPE, 2),
        "many": Example(b"".join(b'{"id":%d,"t":"\xc3\xa9"}\n' % i for i in range(3000)), TYPE, 3000),
    }


@pytest.mark.parametrize(
    ("content", "expected", "notes"),
    [
        ('{"n":1}\n\n{"n":3}\n{"n":4} TRAILER\n{"n":5}\n{"n":\n{"n":6,"ok":true}',
         ['{"n":1}', '{"n":3}', '{"n":5}', '{"n":6,"ok":true}'], ["2 of 7 lines are not valid JSON: 4, 6"]),
        ('{"a":1}\n{"a":2}}\n', ['{"a":1}'], ["1 of 2 lines is not valid JSON: 2"]),
        ('{"a":1}\n// x\n{"a":2}\n', ['{"a":1}', '{"a":2}'], ["1 of 3 lines is not valid JSON: 2"]),
        ('{"a":1}\n{"a":2}{"a":3}\n', ['{"a":1}'], ["1 of 2 lines is not valid JSON: 2"]),
        ('["x\u2028y"]\n["x\u2029y"]\n["x\x85y"]\n', ['["x\u2028y"]', '["x\u2029y"]', '["x\x85y"]'], []),
        ('{"a":1}\r\n{"a":2}\r\n', ['{"a":1}', '{"a":2}'], []),
        ("1\nnull\n\"x\"\n[1.50]\n", ["1", "null", '"x"', "[1.50]"], []),
        ("\ufeff{\"a\":1}\n{\"a\":2}", ['{"a":1}', '{"a":2}'], []),
        ('{"a":NaN}\n{"a":1}\n', ['{"a":"NaN"}', '{"a":1}'],
         ["1 line is not strict JSON (NaN, Infinity or half characters)"]),
        ('{"a":1,"a":2}\n{"a":3}\n', ['{"a":2}', '{"a":3}'], ["1 key is repeated in an object: the last value counts"]),
        ("", [], []),
        ("\n \n", [], []),
    ],
)  # fmt: skip
def test_rows(content, expected, notes):
    """Values of good lines are rows; bad ones are left out and named by their physical line; blank ones are skipped."""
    view = open_lines(content)
    assert view.unit == "rows"
    assert view.columns is None
    assert view.count == len(expected)
    assert written(view) == expected
    assert view.notes == notes
    assert view.slice(ItemRange(0, view.count)) == (content.encode(), TYPE)


def test_bad_lines_are_named_up_to_ten():
    """Many bad lines are counted, the first ones named."""
    view = open_lines("x\n" * 30 + '{"a":1}\n')
    assert view.notes == ["30 of 31 lines are not valid JSON: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 …"]


def test_no_good_line():
    """Where no line is JSON the reader gives up, so that the blob is read as text."""
    with pytest.raises(UnreadableError):
        open_lines("a\nb\n")


def test_seeking():
    """Any range is found by the index, past bad and blank lines; slices are whole source lines."""
    lines = [f'{{"id":{i},"é":"{"x" * (i % 50)}"}}\n' if i % 7 else "bad\n\n" for i in range(7000)]
    good = [line for line in lines if line.startswith("{")]
    view = open_lines("".join(lines))
    assert view.count == len(good) == 6000
    for start in (0, 1023, 1024, 2047, 5999):
        assert [row["id"] for row in view.items(ItemRange(start, start + 2))] == [
            json.loads(line)["id"] for line in good[start : start + 2]
        ]
    first, last = lines.index(good[2000]), lines.index(good[2010])
    assert view.slice(ItemRange(2000, 2010))[0] == "".join(lines[first:last]).encode()
    assert view.text_offset(3000) == len("".join(lines[: lines.index(good[3000])]))
    assert view.text(0, 10**7) == "".join(lines)


@pytest.mark.parametrize(
    ("content", "columns", "expected"),
    [
        ('{"a":1}\n{"b":[2]}\n', ["a", "b"], [[1, None], [None, [2]]]),
        ('{"a":1}\n2\n', ["row"], [[{"a": 1}], [2]]),
        ("1\n2\n", ["row"], [[1], [2]]),
    ],
)
def test_tables(content, columns, expected):
    """Objects give the union of their keys, other values one column."""
    table = open_lines(content).table()
    assert table.columns == columns
    assert list(table.rows()) == expected


def test_shape():
    """The keys of the rows are told by the shape."""
    assert open_lines('{"n":1,"ok":true}\n{"n":2}\n').shape() == "{n:number, ok?:boolean}"


@pytest.mark.parametrize(
    ("content", "is_lines"),
    [
        ('{"a":1}\n{"a":2}\n', True),
        ('{"a":1}\nbad\n{"a":2}\n', True),
        ('{"a":1}\n', False),
        ('{\n"a":1\n}\n', False),
        ("[1,\n2]\n", False),
        ("1\n2\n", False),
        ("[INFO] a\n[INFO] b\n", False),
        ('{"a":1}\nbad\nbad\nbad\n{"a":2}\n', False),
        ("", False),
    ],
)
def test_recognising(content, is_lines):
    """Two lines of objects or arrays are needed, and no more bad ones than good ones."""
    assert (sniff(content) > 0) == is_lines


@pytest.mark.parametrize("content", ['{"a":1}\n', "1\n2\n", '"x"', 'bad\n{"a":1}\n'])
def test_declared_is_believed(content):
    """One line, scalars and mostly bad lines are lines of JSON if somebody says so."""
    assert sniff(content, TYPE) > 0
    assert sniff("no json at all\n", TYPE) == 0


def test_cut_samples():
    """The last line of a cut sample does not count, and a first line beyond it is judged by the tail."""
    line = json.dumps({"a": "x" * 30_000})
    head = (line + "\n" + line + "\n" + line)[:65_000].encode()
    assert NdjsonReader().sniff(Sample(head, b"", 10**7)).level > 0
    long_line = json.dumps({"a": "x" * 100_000})
    tail = (long_line + '\n{"a": "last"}\n').encode()
    assert NdjsonReader().sniff(Sample(long_line.encode()[:65_536], tail[-4096:], len(tail))).level > 0
    assert NdjsonReader().sniff(Sample(long_line.encode()[:65_536], b'xxx"\n}\n', len(tail))).level == 0
