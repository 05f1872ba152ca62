"""The contract suite for readers: name the reader and examples of its format, and every promise is tested.

    class TestMyReader(ReaderContract):
        reader = MyReader()
        examples = {
            "two rows": Example(b"...", type="application/x-mine", count=2),
        }

The examples should be small (a few KiB) and show what the format can do; each is opened many times, whole, cut short
and damaged. A subclass adds tests, it never overrides one.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, BinaryIO, ClassVar

import pytest

from blobs.domain import exact_json
from blobs.domain.errors import BlobsError, ToolInputError
from blobs.domain.media_type import parse_media_type
from blobs.domain.ranges import ItemRange
from blobs.reading.opening import take_sample
from blobs.reading.reader import Confidence, Reader, View
from blobs.reading.registry import Registry
from blobs.reading.source import BytesSource, FileSource
from blobs.testing.mutations import mutations, run_apart

__all__ = ["Example", "ReaderContract"]

FACTS_BYTES_MAX = 16 * 1024
SHAPE_BYTES_MAX = 256 * 1024
NOTES_MAX = 20
NOTE_CHARS_MAX = 1000
ITEMS_WALKED_MAX = 2000
"""Of a damaged example: its count may claim anything."""


@dataclass(frozen=True, slots=True)
class Example:
    """Bytes of the format, the media type they have, and how many items there are (None where it has none)."""

    content: bytes
    type: str
    count: int | None


class CheckedSource:
    """A source in memory that refuses ranges which make no sense and keeps the bytes from being written."""

    path: str | None = None

    def __init__(self, content: bytes) -> None:
        self._inner = BytesSource(content)
        self.size = self._inner.size

    def read(self, start: int, stop: int) -> bytes:
        """The bytes of the range, which must lie in order and not begin before the source."""
        assert start >= 0, f"reads from {start}"
        assert stop <= self.size or stop - start <= 1 << 26, f"reads {start} to {stop} of {self.size} bytes"
        return self._inner.read(start, max(start, stop))

    def open(self) -> BinaryIO:
        """A file over the bytes."""
        return self._inner.open()

    def buffer(self) -> memoryview:
        """The bytes, read-only."""
        return self._inner.buffer().toreadonly()


class ReaderContract:
    """What every reader keeps; set `reader` and `examples`."""

    reader: ClassVar[Any]
    examples: ClassVar[Mapping[str, Example]]
    accepts_anything: ClassVar[bool] = False
    """Only a reader of last resort accepts bytes that are no format at all."""
    mutations_count: ClassVar[int] = 600
    """How many damaged copies are tried, of all examples together."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run a test once for each example."""
        if "example" in metafunc.fixturenames:
            examples = getattr(metafunc.cls, "examples", {})
            metafunc.parametrize("example", list(examples.values()), ids=list(examples))

    def open(self, example: Example) -> View:
        """Open an example with the reader under test."""
        reader: Reader = self.reader
        return reader.open(CheckedSource(example.content))

    # Recognising

    def test_says_what_it_reads(self) -> None:
        """A reader has a name and at least one media type, without parameters and in lower case."""
        assert self.reader.name
        assert self.reader.media_types
        assert all(parse_media_type(each) == each for each in self.reader.media_types)

    def test_recognises_its_examples(self, example: Example) -> None:
        """An example is accepted and given its media type, with no type declared."""
        confidence = self.reader.sniff(take_sample(BytesSource(example.content), None))
        assert isinstance(confidence, Confidence)
        assert 0 < confidence.level <= 100
        assert confidence.type == example.type

    def test_accepts_its_examples_as_declared(self, example: Example) -> None:
        """An example is accepted when its own media type is declared."""
        assert self.reader.sniff(take_sample(BytesSource(example.content), example.type)).level > 0

    def test_rejects_what_is_not_its_format(self) -> None:
        """Nothing at all and random bytes are not accepted where nothing is declared."""
        if self.accepts_anything:
            pytest.skip("a reader of last resort")
        random = Random(7)  # noqa: S311  # the same bytes every time is the point
        for size in (0, 1, 3, 64, 4096):
            content = random.randbytes(size)
            assert self.reader.sniff(take_sample(BytesSource(content), None)).level == 0, content[:16].hex()

    def test_sniffs_any_head(self, example: Example) -> None:
        """An example cut off anywhere, and any short bytes, are told yes or no, never an error."""
        for size in {*range(min(64, len(example.content))), *range(0, len(example.content), 997)}:
            confidence = self.reader.sniff(take_sample(BytesSource(example.content[:size]), None))
            assert isinstance(confidence, Confidence)

    # Items

    def test_counts_the_items(self, example: Example) -> None:
        """The count is the known one, and just as many items are given; without a unit there are none."""
        view = self.open(example)
        assert view.count == example.count
        assert (view.unit is None) == (example.count is None)
        items = list(view.items(ItemRange(0, view.count or 0)))
        assert len(items) == (example.count or 0)

    def test_gives_any_range(self, example: Example) -> None:
        """A range is its part of the whole: empty, single, in the middle, to the end, across it and past it."""
        view = self.open(example)
        count = view.count or 0
        whole = [exact_json.dumps(each) for each in view.items(ItemRange(0, count))]
        edges = sorted({0, 1, count // 3, count // 2, max(0, count - 1), count, count + 1, count + 1000})
        for start in edges:
            for stop in edges:
                if start <= stop:
                    given = [exact_json.dumps(each) for each in view.items(ItemRange(start, stop))]
                    assert given == whole[start:stop], f"items {start} to {stop}"

    def test_gives_items_as_needed(self, example: Example) -> None:
        """Items can be taken in step with each other from two passes at once."""
        view = self.open(example)
        span = ItemRange(0, min(view.count or 0, 300))
        for left, right in zip(view.items(span), view.items(span), strict=True):
            assert exact_json.dumps(left) == exact_json.dumps(right)

    def test_rows_are_as_wide_as_the_columns(self, example: Example) -> None:
        """Where there are columns, every item is a list of that many cells."""
        view = self.open(example)
        if view.columns is not None:
            assert all(isinstance(column.name, str) and column.type for column in view.columns)
            for row in view.items(ItemRange(0, view.count or 0)):
                assert isinstance(row, list)
                assert len(row) == len(view.columns)

    def test_opens_the_same_twice(self, example: Example) -> None:
        """Everything that a view says is the same the next time, whatever was asked in between."""
        first, second = self.open(example), self.open(example)
        first.text(0, 50)
        assert _told(first) == _told(second)

    def test_a_file_reads_like_memory(self, example: Example, tmp_path: Path) -> None:
        """A source that is a file gives what one in memory gives."""
        path = tmp_path / "blob"
        path.write_bytes(example.content)
        source = FileSource(path)
        reader: Reader = self.reader
        assert _told(reader.open(source)) == _told(self.open(example))
        source.close()

    # Indexes

    def test_an_index_changes_nothing(self, example: Example) -> None:
        """Opened by its index, a blob is what it was: itself, its parts, its text, its strays and its pieces."""
        source = CheckedSource(example.content)
        index = self._index_of(source)
        plain, indexed = self.reader.open(source), self.reader.open(source, index)
        assert _told(indexed) == _told(plain)
        assert indexed.index_bytes() == plain.index_bytes()
        assert [*indexed.strays()] == [*plain.strays()]
        for part in plain.parts[:20]:
            assert _told(indexed.part(part.name)) == _told(plain.part(part.name))
        length = plain.text_length()
        assert indexed.text_length() == length
        assert indexed.text(0, length) == plain.text(0, length)
        count = plain.count or 0
        for at in {0, count // 3, count // 2, max(0, count - 1)}:
            assert indexed.text_offset(at) == plain.text_offset(at)
            for stop in {at, at + 1, count}:
                assert indexed.slice(ItemRange(at, max(at, stop))) == plain.slice(ItemRange(at, max(at, stop)))

    def test_an_index_that_does_not_fit_is_ignored(self, example: Example) -> None:
        """An index that is cut off, or is of other bytes, or is none at all opens the blob as no index does."""
        source = CheckedSource(example.content)
        index = self._index_of(source)
        other = self.reader.open(CheckedSource(example.content + b"\n")).index_bytes() or b""
        for wrong in (b"", b"no index", index[:-8], index[:40], other):
            assert _told(self.reader.open(source, memoryview(wrong))) == _told(self.reader.open(source))

    def _index_of(self, source: CheckedSource) -> memoryview:
        if not getattr(self.reader, "takes_index", False):
            pytest.skip("a reader without indexes")
        found = self.reader.open(source).index_bytes()
        if found is None:
            pytest.skip("not of such a blob")
        return memoryview(found)

    # What a preview says

    def test_previews_are_bounded(self, example: Example) -> None:
        """Shape, facts and notes are JSON, and small whatever the size of the blob."""
        view = self.open(example)
        assert isinstance(view.facts(), dict)
        assert len(exact_json.dumps(view.facts())) <= FACTS_BYTES_MAX
        assert len(exact_json.dumps(view.shape())) <= SHAPE_BYTES_MAX
        assert len(view.notes) <= NOTES_MAX
        assert all(isinstance(note, str) and 0 < len(note) <= NOTE_CHARS_MAX for note in view.notes)

    def test_parts_are_views(self, example: Example) -> None:
        """Each part has its own name and opens as a view of as many items as it says."""
        view = self.open(example)
        names = [part.name for part in view.parts]
        assert len(set(names)) == len(names)
        for part in view.parts[:50]:
            opened = view.part(part.name)
            if part.count is not None:
                assert opened.count == part.count
                assert sum(1 for _ in opened.items(ItemRange(0, part.count))) == part.count

    def test_refuses_unknown_parts_and_paths(self, example: Example) -> None:
        """A part or path that is not there is an input error which names the next step."""
        view = self.open(example)
        with pytest.raises(ToolInputError) as refused:
            view.part("no such part \u2603")
        assert refused.value.hint
        with pytest.raises(ToolInputError):
            view.at("/no such path \u2603")

    # Text and search

    def test_text_adds_up(self, example: Example) -> None:
        """The text is as long as it says, and its pieces laid end to end are the whole."""
        view = self.open(example)
        length = view.text_length()
        whole = view.text(0, length)
        assert len(whole) == length
        assert view.text(0, length + 1000) == whole
        assert view.text(length, length + 10) == ""
        step = max(1, length // 7)
        assert "".join(view.text(at, min(length, at + step)) for at in range(0, length, step)) == whole
        assert all(view.text(at, at + 1) == whole[at] for at in {0, length // 2, length - 1} if 0 <= at < length)

    def test_items_begin_in_order(self, example: Example) -> None:
        """Items begin one after the other inside the text."""
        view = self.open(example)
        count = min(view.count or 0, 300)
        offsets = [view.text_offset(each) for each in range(count)]
        assert offsets == sorted(offsets)
        assert all(0 <= each <= view.text_length() for each in offsets)

    def test_searches_texts(self, example: Example) -> None:
        """What a search looks at is text, with the name of its column, or of a part's column, where it has one."""
        view = self.open(example)
        tables = [view, *(view.part(part.name) for part in view.parts[:50])]
        names = {column.name for table in tables for column in table.columns or []}
        for item in islice(view.items(ItemRange(0, view.count or 0)), 100):
            for name, text in view.search_texts(item, None):
                assert name is None or name in names
                assert isinstance(text, str)
        assert all(isinstance(view.place(index), dict) for index in range(min(view.count or 0, 100)))

    # Pieces and tables

    def test_a_slice_opens_again(self, example: Example) -> None:
        """A slice is a blob of its own: of a type with a reader, with the items of the range."""
        view = self.open(example)
        if view.unit is None:
            pytest.skip("no items to slice")
        count = view.count or 0
        for span in (ItemRange(0, count), ItemRange(count // 3, count - count // 3)):
            content, media_type = view.slice(span)
            reopened = self._reader_of(media_type).open(CheckedSource(content))
            assert reopened.count == len(span)
            assert sum(1 for _ in reopened.items(ItemRange(0, len(span)))) == len(span)

    def _reader_of(self, media_type: str) -> Reader:
        if media_type in self.reader.media_types:
            reader: Reader = self.reader
            return reader
        plug_in = Registry().by_type(media_type)
        assert plug_in is not None, f"nothing reads {media_type}"
        assert plug_in.reader is not None
        return plug_in.reader

    def test_tables_are_even(self, example: Example) -> None:
        """A table has rows as wide as its column names, and is the same on a second pass."""
        table = self.open(example).table()
        if table is None:
            pytest.skip("not a table")
        assert (table.rows is None) != (table.arrow is None)
        if table.rows is not None:
            first = [[repr(cell) for cell in row] for row in table.rows()]
            assert all(len(row) == len(table.columns) for row in first)
            assert [[repr(cell) for cell in row] for row in table.rows()] == first
        else:
            first, second = table.arrow().read_all(), table.arrow().read_all()
            assert first.schema.names == table.columns
            assert first.num_rows == second.num_rows

    # Damage

    def test_damage_is_told_as_unreadable(self, example: Example) -> None:
        """Cut short or with bits flipped, an example opens or raises a `BlobsError`; the process survives."""
        count = -(-self.mutations_count // len(self.examples))
        failures = run_apart(mutations(example.content, count), self._survive)
        assert not failures, "\n".join(failures)

    def _survive(self, content: bytes) -> None:
        self.reader.sniff(take_sample(BytesSource(content), None))
        try:
            view = self.reader.open(CheckedSource(content))
            for item in islice(view.items(ItemRange(0, view.count or 0)), ITEMS_WALKED_MAX):
                exact_json.dumps(item)
            exact_json.dumps([view.facts(), view.shape(), view.notes])
            if (view.count or 0) <= ITEMS_WALKED_MAX:
                view.text(0, 1000)
        except BlobsError:
            return
        for look in (self._look_at_parts, self._look_at_table):
            with suppress(BlobsError):
                look(view)

    def _look_at_parts(self, view: View) -> None:
        for part in view.parts[:3]:
            opened = view.part(part.name)
            for item in islice(opened.items(ItemRange(0, opened.count or 0)), 20):
                exact_json.dumps(item)

    def _look_at_table(self, view: View) -> None:
        table = view.table()
        if table is not None and table.rows is not None:
            assert all(len(row) == len(table.columns) for row in islice(table.rows(), 20))


def _told(view: View) -> list[bytes]:
    """Everything that a view says of itself, as bytes to compare."""
    items = islice(view.items(ItemRange(0, view.count or 0)), ITEMS_WALKED_MAX)
    return [
        exact_json.dumps([view.unit, view.count, view.facts(), view.shape(), view.notes]),
        exact_json.dumps([[column.name, column.type] for column in view.columns or []]),
        exact_json.dumps([[part.name, part.unit, part.count, part.note] for part in view.parts]),
        *(exact_json.dumps(each) for each in items),
    ]
