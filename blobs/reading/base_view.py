"""Everything that can be worked out from a view's unit, count and items."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from blobs.domain import exact_json
from blobs.domain.errors import ToolInputError
from blobs.domain.media_type import JSON, NDJSON
from blobs.domain.ranges import ItemRange
from blobs.reading.reader import Column, Part, Table, View
from blobs.reading.source import Source
from blobs.reading.stretches import Needle, Stretch

_STRIDE = 256


class BaseView:
    """A view that knows only its items; subclass it and override what the format knows better.

    Set `unit` (a plural noun, or None for a format without items) and `count`, and override `items`. Rows of tables
    are lists as wide as `columns`.
    """

    unit: str | None = None
    count: int | None = None
    columns: list[Column] | None = None
    text_encoding: str | None = None
    """The codec of the source where its bytes are text: its cost is then that of the text, and it has lines."""
    text_source: Source | None = None
    """Where that text lies, if not in the blob itself: of a compressed blob, or of a member of an archive."""
    text_index: memoryview | None = None
    """The index of the reader of text for the same blob, where there is one: views over text find characters by it."""
    bytes_source: Source | None = None
    """The bytes that this is a view of, if they are not the blob's own: those inside of it, or of a member."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.notes: list[str] = []
        self._offsets: list[int] | None = None
        self._length = 0

    def items(self, span: ItemRange) -> Iterator[Any]:
        """The items of the range, in order; a range that reaches past the end gives what there is."""
        del span
        return iter(())

    def glimpse(self, span: ItemRange) -> Iterator[Any]:
        """The items of the range as a preview needs them: parts that are costly to build may be marks with a count."""
        return self.items(span)

    def shape(self) -> Any:
        """A type sketch of a document, or None."""
        return None

    def facts(self) -> dict[str, Any]:
        """What is known of a blob beside its items (pixel size, duration, encoding), for the preview."""
        return {}

    def part(self, name: str) -> View:
        """The named part as a view; raises `ToolInputError` where there is none of that name."""
        raise ToolInputError(f"part: there is no part {name!r}.", hint=self._parts_hint())

    def at(self, path: str) -> View:
        """The value at a JSON Pointer as a view; raises `ToolInputError` where the format has no paths."""
        inside = f"no paths inside its {self.unit}" if self.unit else "no paths"
        raise ToolInputError(f"path: {path[:80]!r} cannot be found; this format has {inside}.", hint="Leave path out.")

    def _parts_hint(self) -> str:
        if not self.parts:
            return "Leave part out: this blob has no parts."
        names = ", ".join(repr(each.name) for each in self.parts[:20])
        return f"Use one of {names}."

    # The text of a view: its items written one a line. Views over text override these four with the text itself.

    def render(self, item: Any) -> str:
        """An item as the text that a model would read."""
        return item if isinstance(item, str) else exact_json.text(item)

    def text_length(self) -> int:
        """The number of characters of `text`."""
        self._index()
        return self._length

    def text_offset(self, item: int) -> int:
        """Where in the text an item begins, in characters."""
        offsets = self._index()
        block = min(item // _STRIDE, len(offsets) - 1)
        at = offsets[block]
        for each in self.items(ItemRange(block * _STRIDE, item)):
            at += len(self.render(each)) + 1
        return at

    def text(self, start: int, stop: int) -> str:
        """Characters `start` up to `stop` of the items written one a line."""
        offsets = self._index()
        stop = min(stop, self._length)
        if start >= stop:
            return ""
        block = next((i for i in range(len(offsets) - 1, -1, -1) if offsets[i] <= start), 0)
        at, pieces = offsets[block], []
        for each in self.items(ItemRange(block * _STRIDE, self.count or 0)):
            line = self.render(each) + "\n"
            if at + len(line) > start:
                pieces.append(line[max(0, start - at) : stop - at])
            at += len(line)
            if at >= stop:
                break
        return "".join(pieces)

    def _index(self) -> list[int]:
        if self._offsets is None:
            offsets, at = [0], 0
            items = iter(self.items(ItemRange(0, self.count or 0)))
            while block := list(islice(items, _STRIDE)):
                at += sum(len(self.render(each)) + 1 for each in block)
                offsets.append(at)
            self._offsets, self._length = offsets, at
        return self._offsets

    # Search

    def search_texts(self, item: Any, columns: list[str] | None) -> Iterator[tuple[str | None, str]]:
        """The texts of an item that a search looks at, each with its column name where it has one."""
        if self.columns is not None and isinstance(item, list):
            for column, cell in zip(self.columns, item, strict=False):
                if cell is not None and (columns is None or column.name in columns):
                    yield column.name, self.render(cell)
        else:
            yield None, self.render(item)

    def stretches(self, span: ItemRange, needle: Needle) -> Iterator[Stretch] | None:
        """The items of the range as the bytes they are written in, and what those tell; None where they tell nothing.

        The stretches follow each other without a gap; the first and the last may hold items outside of the range.
        """
        del span, needle
        return None

    def place(self, index: int) -> dict[str, Any]:
        """Where an item lies beside its number, for matches of a search: `{"part", "part_item"}`, a sheet's `row` …"""
        del index
        return {}

    def strays(self) -> Iterator[tuple[int, str]]:
        """What of the blob is in no item, such as lines that are broken: number (from 1) and text of each line."""
        return iter(())

    # Pieces and tables

    def slice(self, span: ItemRange) -> tuple[bytes, str]:
        """The items of a range as the content and media type of a blob of their own."""
        if self.columns is not None:
            names = [each.name for each in self.columns]
            lines = [exact_json.dumps(dict(zip(names, row, strict=False))) for row in self.items(span)]
            return b"".join(line + b"\n" for line in lines), NDJSON
        return exact_json.dumps(list(self.items(span))), JSON

    def table(self) -> Table | None:
        """The items as a table for SQL, or None where they are none."""
        if self.unit is None:
            return None
        whole = ItemRange(0, self.count or 0)
        if self.columns is not None:
            return Table([each.name for each in self.columns], rows=lambda: self.items(whole))
        return Table([_singular(self.unit)], rows=lambda: ([each] for each in self.items(whole)))

    def index_bytes(self) -> bytes | None:
        """What the reader needs to open the same bytes without a pass over them; None where it has no such thing."""
        return None


def _singular(unit: str) -> str:
    if unit == "entries":
        return "entry"
    return unit.removesuffix("s")
