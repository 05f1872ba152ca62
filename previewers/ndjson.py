"""Lines of JSON (NDJSON, JSON Lines): one value a line, broken at LF only."""

from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property, partial
from itertools import islice, takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blobs.domain import exact_json
from blobs.domain.errors import UnreadableError
from blobs.domain.media_type import NDJSON
from blobs.domain.ranges import ItemRange
from blobs.reading.base_view import BaseView
from blobs.reading.decoding import UTF8, Encoding, detect, utf8_mark
from blobs.reading.index import Offsets, pack, unpack
from blobs.reading.reader import Confidence, Sample, Scan, Table, View
from blobs.reading.source import BytesSource, HeadSource, Source
from blobs.reading.stretches import Needle, Octets, PassingLines, Stretch, Trust, marked_runs, marked_stretches
from previewers.json_shape import SHAPE_CHARS_MAX, sketch
from previewers.json_sniff import are_lines, utf8_head
from previewers.json_stretches import rewritten, trust
from previewers.json_structure import (
    is_valid,
    outline,
    read_source,
)
from previewers.json_table import RUN_BYTES, RUN_BYTES_MAX, Run, table_of
from previewers.ndjson_rows import BLOCK_BYTES, ROWS_PER_MARK, Rows, line_blocks, lines
from previewers.text_index import TextIndex, text_index

_RECIPE = "ndjson/1"
_PLACES = ("marks", "bad", "bad_lines")
_SKETCHED = 50
_LF = 10
_BLANKS = np.frombuffer(b" \t\r\n\v\f", np.uint8)
"""A line that begins with one of them may have nothing else."""


class NdjsonView(BaseView):
    """The values of the lines that are JSON; the others are counted and named in the notes."""

    unit: str | None = "rows"

    def __init__(self, source: Source, index: memoryview | None = None, scan: "NdjsonScan | None" = None) -> None:
        """`scan` is one that has seen all of the source."""
        super().__init__()
        self.source = source
        known = unpack(index, source, _RECIPE)
        if known is not None:
            encoding = Encoding.of_facts(known.facts["encoding"])
        else:
            encoding = detect(source) if scan is None else scan.encoding
        self.text_encoding = encoding.codec
        if encoding.is_utf8 and not encoding.misfits:
            self._data, self._encoding = source, encoding
        else:
            text, notes = read_source(source, encoding)
            self._data, self._encoding = BytesSource(bytes(text)), UTF8
            self.notes.extend(notes)
        self._marks: Offsets
        self._bad: Offsets
        self._bad_lines: Offsets
        if known is not None:
            self.count, self.notes = known.facts["count"], known.facts["notes"]
            self._marks, self._bad, self._bad_lines = (known.places[name] for name in _PLACES)
            return
        rows = self._found() if scan is None else scan.rows
        self.count = rows.count
        self._marks, self._bad, self._bad_lines = rows.marks, rows.bad, rows.bad_lines
        self.notes.extend(rows.notes(self._data.size))
        if not self.count and self._bad:
            raise UnreadableError("No line of it is valid JSON.", hint="Read it as lines.")

    def items(self, span: ItemRange) -> Iterator[Any]:
        """The values of the range, exact."""
        return (exact_json.loads(line) for _, line in self._rows(span))

    def shape(self) -> Any:
        """One sketch that fits the first rows."""
        first = [memoryview(line) for _, line in self._rows(ItemRange(0, min(_SKETCHED, self.count or 0)))]
        return sketch(first, outline, chars_max=SHAPE_CHARS_MAX) if first else None

    def text_length(self) -> int:
        """The number of characters of the file."""
        return self._text.characters

    def text_offset(self, item: int) -> int:
        """Where the line of a row begins, in characters of the file."""
        return self._text.byte_character(self._place(item))

    def text(self, start: int, stop: int) -> str:
        """The file's own characters, bad and blank lines included."""
        return self._text.text(start, stop)

    def strays(self) -> Iterator[tuple[int, str]]:
        """The lines that are not valid JSON, by their number in the file."""
        for number, at in zip(self._bad_lines, self._bad, strict=True):
            _, line = next(lines(self._data, at))
            yield number, line.decode("utf-8", "replace").rstrip("\r\n")

    def stretches(self, span: ItemRange, needle: Needle) -> Iterator[Stretch] | None:
        """Runs of lines from one mark to another."""
        told = trust(needle)
        if told is Trust.NONE:
            return None
        return marked_stretches(
            self._data,
            self._marks,
            ROWS_PER_MARK,
            ItemRange(span.start, min(span.stop, self.count or 0)),
            trust=lambda _: told,
            starts=self._starts,
            also=rewritten(needle),
        )

    def _starts(self, begin: int, raw: Octets) -> NDArray[np.int64]:
        octets = np.frombuffer(raw, np.uint8)
        starts = np.concatenate((np.zeros(1, np.int64), np.flatnonzero(octets[:-1] == _LF) + 1))
        has_bad = bisect_left(self._bad, begin) < bisect_left(self._bad, begin + len(raw))
        if not has_bad and not np.isin(octets[starts], _BLANKS).any():
            return starts
        rows = takewhile(lambda row: row[0] < begin + len(raw), self._good_lines(begin))
        return np.array([at - begin for at, _ in rows], np.int64)

    def index_bytes(self) -> bytes | None:
        """Where every so many rows begin, and the bad lines; none for what is read from a copy."""
        if self._data is not self.source:
            return None
        facts = {"encoding": self._encoding.facts(), "count": self.count, "notes": self.notes}
        places = zip(_PLACES, (self._marks, self._bad, self._bad_lines), strict=True)
        return pack(self.source.size, _RECIPE, facts, dict(places))

    def slice(self, span: ItemRange) -> tuple[bytes, str]:
        """The file's own lines from the first row of the range to its last; bad lines between them stay.

        A part of a file that is not UTF-8 is given in UTF-8.
        """
        if span.start == 0 and span.stop >= (self.count or 0):
            return self.source.read(0, self.source.size), NDJSON
        return self._data.read(self._place(span.start), self._place(span.stop)), NDJSON

    def table(self) -> Table | None:
        """Objects as one column a key, other values as one column."""
        return table_of(self._runs, alone="row")

    def _runs(self) -> Iterator[Run]:
        count = self.count or 0
        whole = ItemRange(0, count)
        for span, begin, end in marked_runs(self._data, self._marks, ROWS_PER_MARK, whole, size_bytes=RUN_BYTES):
            rows = ItemRange(span.start, min(span.stop, count))
            text = self._without_bad(begin, end) if end - begin <= RUN_BYTES_MAX else b""
            yield Run(text, len(rows), partial(self._lines_in, rows), is_lines=True)

    def _lines_in(self, span: ItemRange) -> Iterator[bytes]:
        return (line for _, line in self._rows(span))

    def _without_bad(self, begin: int, end: int) -> bytes:
        """The lines that lie there, without those that are known to be bad."""
        text, at = self._data.read(begin, end), 0
        pieces = []
        for bad in self._bad[bisect_left(self._bad, begin) : bisect_left(self._bad, end)]:
            pieces.append(text[at : bad - begin])
            at = text.find(b"\n", bad - begin) + 1 or len(text)
        return b"".join([*pieces, text[at:]])

    @cached_property
    def _text(self) -> TextIndex:
        return text_index(self._data, Encoding("utf-8", self._encoding.mark), self.text_index)

    def _rows(self, span: ItemRange) -> Iterator[tuple[int, bytes]]:
        """Where each row of the range begins, and its line."""
        stop = min(span.stop, self.count or 0)
        if span.start >= stop:
            return iter(())
        mark = span.start // ROWS_PER_MARK
        walked = self._good_lines(self._marks[mark])
        return islice(walked, span.start - mark * ROWS_PER_MARK, stop - mark * ROWS_PER_MARK)

    def _good_lines(self, start: int) -> Iterator[tuple[int, bytes]]:
        """The lines from a byte that begins one, without those that are blank or known to be bad."""
        next_bad = bisect_left(self._bad, start)
        for at, line in lines(self._data, start):
            if next_bad < len(self._bad) and self._bad[next_bad] == at:
                next_bad += 1
            elif not line.isspace():
                yield at, line

    def _place(self, row: int) -> int:
        return next((at for at, _ in self._rows(ItemRange(row, row + 1))), self._data.size)

    def _found(self) -> Rows:
        """The rows, in one pass in constant memory."""
        rows = Rows()
        for at, block in line_blocks(self._data, len(self._encoding.mark), BLOCK_BYTES):
            rows.add(at, block)
        return rows


class NdjsonScan:
    """The rows of a file in UTF-8 that passes by."""

    def __init__(self, mark: bytes) -> None:
        """`mark` is what `utf8_mark` says of its head."""
        self.encoding = Encoding("utf-8" if mark else "ascii", mark)
        self.rows = Rows()
        self._lines = PassingLines(len(mark))

    def add(self, chunk: memoryview) -> None:
        """Take the next bytes; `UnicodeDecodeError` where they are not UTF-8."""
        for block in self._lines.add(chunk):
            self._add(block)

    def _add(self, block: bytes) -> None:
        if not block.isascii():
            block.decode()
            self.encoding = Encoding("utf-8", self.encoding.mark)
        self.rows.add(self._lines.at, block)

    def index_bytes(self, size: int) -> bytes | None:
        """The index; none where no line is JSON."""
        if rest := self._lines.rest():
            self._add(rest)
        return NdjsonView(HeadSource(b"", size), scan=self).index_bytes() if self.rows.count else None


class NdjsonReader:
    """Lines of JSON, also where some lines are bad."""

    name = "ndjson"
    media_types = (NDJSON,)
    has_signature = False
    aliases = (
        "application/ndjson",
        "application/jsonl",
        "application/x-jsonl",
        "application/jsonlines",
        "application/x-jsonlines",
        "application/json-lines",
        "application/geo+json-seq",
    )
    is_light = True
    takes_index = True

    def sniff(self, sample: Sample) -> Confidence:
        """At least two lines of arrays or objects; any line of JSON where somebody called it that."""
        is_declared = sample.declared_type in (*self.media_types, *self.aliases)
        head = utf8_head(sample, is_declared=is_declared)
        if are_lines(head, sample.tail, is_whole=sample.is_whole):
            return Confidence(58, NDJSON)
        if not is_declared:
            return Confidence.NO
        lines = head.split(b"\n")
        if not sample.is_whole and len(lines) > 1:
            lines.pop()
        is_any = any(is_valid(line) for line in lines[:1000] if line.strip()) or (
            not sample.is_whole and len(lines) == 1
        )
        return Confidence(1, NDJSON) if is_any else Confidence.NO

    def open(self, source: Source, index: memoryview | None = None) -> View:
        """The values of the lines; raises `UnreadableError` where no line is JSON."""
        return NdjsonView(source, index)

    def scan(self, head: bytes) -> Scan | None:
        """The index of a file that passes by, if its head is UTF-8."""
        mark = utf8_mark(head)
        return None if mark is None else NdjsonScan(mark)
