"""Whatever the content, counts are items, ranges join to the whole, and slices of everything are the source."""

import csv
import io
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from blobs.domain import exact_json
from blobs.domain.ranges import ItemRange
from blobs.reading.source import BytesSource
from previewers.csv_records import Grammar, RecordIndex, each_record
from previewers.csv_tsv import CsvReader
from previewers.json_document import JsonReader
from previewers.ndjson import NdjsonReader
from previewers.text import TextReader

CHARACTERS = st.characters(exclude_categories=["Cs"])
CELLS = st.text(st.one_of(st.sampled_from('",;\t\n\r| ab01'), CHARACTERS), max_size=8)
ROWS = st.lists(st.lists(CELLS, min_size=1, max_size=4), max_size=12)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(CHARACTERS, max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(CHARACTERS, max_size=4), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
CODECS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"])


def check(view, content: bytes, cut: int) -> list:
    """The promises of every view; answers its items."""
    items = list(view.items(ItemRange(0, view.count)))
    assert len(items) == view.count
    assert view.slice(ItemRange(0, view.count))[0] == content
    middle = min(cut, view.count)
    halves = [*view.items(ItemRange(0, middle)), *view.items(ItemRange(middle, view.count + 3))]
    assert [exact_json.dumps(each) for each in halves] == [exact_json.dumps(each) for each in items]
    length = view.text_length()
    assert view.text(0, cut) + view.text(cut, length) == view.text(0, length)
    return items


@settings(deadline=None)  # the machine may be busy
@given(st.text(st.one_of(st.sampled_from("\r\n\u2028\x0b\x85a"), CHARACTERS)), CODECS, st.integers(0, 9))
def test_lines_of_text(text, codec, cut):
    """Lines are what lies between LF, CRLF and CR."""
    content = ("x" + text).encode(codec)  # something that is text, so that the encoding is told from it
    view = TextReader().open(BytesSource(content))
    check(view, content, cut)
    if codec in ("utf-8-sig", "utf-16", "utf-32"):
        assert view.text(0, 10**6) == "x" + text
        assert view.count == len(io.StringIO("x" + text, newline=None).read().removesuffix("\n").split("\n"))


@settings(deadline=None)  # the machine may be busy
@given(st.binary(max_size=200), st.integers(0, 9))
def test_any_bytes_are_lines(content, cut):
    """Text that is none is still read without loss."""
    check(TextReader().open(BytesSource(content)), content, cut)


@settings(deadline=None)  # the machine may be busy
@given(st.binary(max_size=200), st.integers(0, 9))
def test_any_bytes_are_rows(content, cut):
    """Bytes that are no CSV are still read as rows without loss."""
    check(CsvReader().open(BytesSource(content)), content, cut)


@settings(deadline=None)  # the machine may be busy
@given(
    ROWS, st.sampled_from(",;\t|"), st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]), st.sampled_from(["\n", "\r\n"])
)
def test_records_as_python_reads_them(rows, delimiter, quoting, end):
    """Whatever Python's csv writes, the records are those that it reads, blank lines left out."""
    written = io.StringIO()
    csv.writer(written, delimiter=delimiter, quoting=quoting, lineterminator=end).writerows(rows)
    expect_records(written.getvalue(), delimiter)


@given(st.text(st.sampled_from('",\n\rab '), max_size=40), st.booleans())
@settings(deadline=None, max_examples=400)
def test_stray_quotes_as_python_reads_them(text, is_late):
    """Quotes where no writer would put them are read as Python's csv reads them, counted by block or by line."""
    expect_records('x,"y"\n' * 3 * is_late + text, ",")


def expect_records(text: str, delimiter: str) -> None:
    expected = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    grammar = Grammar(delimiter)
    source = BytesSource(text.encode())
    records = [grammar.cells(record.decode()) for _, record in each_record(source, 0, grammar)]
    assert [[cell or "" for cell in row] for row in records] == expected
    index = RecordIndex.found(source, 0, grammar)
    assert index.count == len(expected)
    assert index.width == max(map(len, expected), default=0)
    assert index.odd == sum(len(row) != len(expected[0]) for row in expected)
    if expected:
        middle = len(expected) // 2
        (record,) = index.records(middle, middle + 1)
        assert index.place(middle) == record[0]


@settings(deadline=None)  # the machine may be busy
@given(ROWS, st.integers(0, 9))
def test_rows_of_csv(rows, cut):
    """Rows are as wide as the columns, names are unique, and the table has the same rows."""
    written = io.StringIO()
    csv.writer(written).writerows([["id", "name"], *rows])
    content = written.getvalue().encode()
    view = CsvReader().open(BytesSource(content))
    items = check(view, content, cut)
    names = [column.name for column in view.columns]
    assert len({name.casefold() for name in names}) == len(names)
    assert all(len(row) == len(names) for row in items)
    assert list(view.table().rows()) == items


@settings(deadline=None)  # the machine may be busy
@given(VALUES, st.sampled_from([None, 1]), CODECS, st.integers(0, 9))
def test_json_as_python_reads_it(value, indent, codec, cut):
    """Entries are the elements or members of the value, whatever the white space and encoding."""
    content = json.dumps(value, indent=indent, ensure_ascii=codec == "utf-8").encode(codec)
    view = JsonReader().open(BytesSource(content))
    items = check(view, content, cut)
    expected = (
        value if isinstance(value, list) else [{k: v} for k, v in value.items()] if isinstance(value, dict) else [value]
    )
    assert json.loads(exact_json.dumps(items)) == expected
    text = view.text(0, 10**6)
    for place in range(view.count):
        begun = text[view.text_offset(place) :]
        assert json.JSONDecoder().raw_decode(begun)[0] == (
            next(iter(expected[place])) if isinstance(value, dict) else expected[place]
        )
    assert sum(1 for _ in view.table().rows()) == (1 if isinstance(value, dict) and value else view.count)


@settings(deadline=None)  # the machine may be busy
@given(VALUES)
def test_paths_reach_every_value(value):
    """Every value inside a document is reached by its pointer."""
    view = JsonReader().open(BytesSource(json.dumps(value).encode()))

    def walk(inner, path: str) -> None:
        found = view.at(path)
        assert json.loads(found.slice(ItemRange(0, found.count))[0]) == inner
        pairs = inner.items() if isinstance(inner, dict) else enumerate(inner) if isinstance(inner, list) else ()
        for key, below in pairs:
            walk(below, f"{path}/{str(key).replace('~', '~0').replace('/', '~1')}")

    walk(value, "")


@settings(deadline=None)  # the machine may be busy
@given(
    st.lists(st.one_of(VALUES.map(json.dumps), st.sampled_from(["", " ", "bad", '{"a":1} x', "NaN"]))),
    st.integers(0, 9),
)
def test_lines_of_json(lines, cut):
    """Rows are the values of the lines that are JSON."""
    content = "\n".join(['{"first":0}', *lines]).encode()
    view = NdjsonReader().open(BytesSource(content))
    items = check(view, content, cut)
    good = [line for line in lines if line.strip() and line not in ("bad", '{"a":1} x')]
    expected = [{"first": 0}, *(json.loads(line) if line != "NaN" else "NaN" for line in good)]
    assert json.loads(exact_json.dumps(items)) == expected
