"""Lines of JSON (NDJSON, JSON Lines): one value a line, broken at LF only."""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property, partial
from itertools import islice, takewhile
from typing import Any

import msgspec
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
    REPEATED_KEYS_BYTES_MAX,
    are_keys_unique,
    is_strict,
    is_valid,
    outline,
    read_source,
    repeated_keys,
    repeated_note,
)
from previewers.json_table import RUN_BYTES, RUN_BYTES_MAX, Run, table_of
from previewers.text_index import TextIndex, text_index

ROWS_PER_MARK = 1024
_RECIPE = "ndjson/1"
_PLACES = ("marks", "bad", "bad_lines")
_BLOCK_BYTES = 256 * 1024
_WALKED_BYTES = 64 * 1024
"""What is split into lines at a time: about as much as lies between two marks."""
_LF = 10


class _Any(msgspec.Struct, gc=False):
    """Any object: the quickest way to be sure that it is one."""


_DECODERS: dict[int, msgspec.json.Decoder[Any]] = {
    ord("{"): msgspec.json.Decoder(_Any),
    ord("["): msgspec.json.Decoder(msgspec.Raw),
}
_FAULTS = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
_SKETCHED = 50
_LF = 10
_BLANKS = np.frombuffer(b" \t\r\n\v\f", np.uint8)
"""A line that begins with one of them may have nothing else."""
_TOLD_MAX = 10


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
            _, line = next(_lines(self._data, at))
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
        for at, line in _lines(self._data, start):
            if next_bad < len(self._bad) and self._bad[next_bad] == at:
                next_bad += 1
            elif not line.isspace():
                yield at, line

    def _place(self, row: int) -> int:
        return next((at for at, _ in self._rows(ItemRange(row, row + 1))), self._data.size)

    def _found(self) -> "_Rows":
        """The rows, in one pass in constant memory."""
        rows = _Rows()
        for at, block in _line_blocks(self._data, len(self._encoding.mark), _BLOCK_BYTES):
            rows.add(at, block)
        return rows


class _Rows:
    """The lines that are JSON, found block by block: where every so many of them begin, and where the others lie."""

    def __init__(self) -> None:
        self.count = 0
        self.marks, self.bad, self.bad_lines = array("q"), array("q"), array("q")
        self._lines = self._tolerated = self._repeated = self._bytes = 0
        self._is_end = np.empty(_BLOCK_BYTES, np.bool_)

    def add(self, at: int, block: bytes) -> None:
        """Take the next whole lines."""
        self._bytes += len(block)
        is_small = self._bytes <= REPEATED_KEYS_BYTES_MAX
        ends = self._ends(block)
        if ends is None:
            self._add_by_line(at, block, is_small=is_small)
            return
        starts = np.concatenate(([0], ends[:-1] + 1))
        self.marks.extend((starts[-self.count % ROWS_PER_MARK :: ROWS_PER_MARK] + at).tolist())
        if is_small and not are_keys_unique(block, is_lines=True):
            self._repeated += sum(repeated_keys(line) for _, line in _lines_of(at, block))
        self.count += len(ends)
        self._lines += len(ends)

    def _ends(self, block: bytes) -> NDArray[np.int64] | None:
        """Where the lines end of a block in which each is one object, or each one array, of strict JSON; None else.

        Where each line begins as the first does and ends with the bracket that closes that, no value goes on over a
        line end: there a comma would have to stand between the brackets. Then there are as many values as lines only if
        each line is one.
        """
        octets = np.frombuffer(block, np.uint8)
        opening = int(octets[0])
        if opening not in _DECODERS or octets[-1] != _LF:
            return None
        if len(octets) > len(self._is_end):
            self._is_end = np.empty(len(octets), np.bool_)
        ends = np.flatnonzero(np.equal(octets, _LF, out=self._is_end[: len(octets)]))
        if (octets[ends - 1] != opening + 2).any() or (octets[ends[:-1] + 1] != opening).any():
            return None
        try:
            found = len(_DECODERS[opening].decode_lines(block))
        except _FAULTS:
            return None
        return ends if found == len(ends) else None

    def _add_by_line(self, at: int, block: bytes, *, is_small: bool) -> None:
        for start, line in _lines_of(at, block):
            self._lines += 1
            if line.isspace():
                continue
            if not is_strict(line):
                if not is_valid(line):
                    self.bad.append(start)
                    self.bad_lines.append(self._lines)
                    continue
                self._tolerated += 1
            if is_small:
                self._repeated += repeated_keys(line)
            if self.count % ROWS_PER_MARK == 0:
                self.marks.append(start)
            self.count += 1

    def notes(self, size: int) -> Iterator[str]:
        """What somebody who reads the rows of so many bytes should know."""
        if self.bad:
            verb = "is" if len(self.bad) == 1 else "are"
            more = " …" if len(self.bad) > _TOLD_MAX else ""
            named = ", ".join(map(str, self.bad_lines[:_TOLD_MAX]))
            yield f"{len(self.bad)} of {self._lines} lines {verb} not valid JSON: {named}{more}"
        if self._tolerated:
            verb = "line is" if self._tolerated == 1 else "lines are"
            yield f"{self._tolerated} {verb} not strict JSON (NaN, Infinity or half characters)"
        if self._repeated and size <= REPEATED_KEYS_BYTES_MAX:
            yield repeated_note(self._repeated)


class NdjsonScan:
    """The rows of a file in UTF-8 that passes by."""

    def __init__(self, mark: bytes) -> None:
        """`mark` is what `utf8_mark` says of its head."""
        self.encoding = Encoding("utf-8" if mark else "ascii", mark)
        self.rows = _Rows()
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


def _lines(source: Source, start: int) -> Iterator[tuple[int, bytes]]:
    """Physical lines with their LF, and where each begins."""
    for at, block in _line_blocks(source, start, _WALKED_BYTES):
        yield from _lines_of(at, block)


def _lines_of(at: int, block: bytes) -> Iterator[tuple[int, bytes]]:
    pieces = block.split(b"\n")
    last = pieces.pop()
    for piece in pieces:
        yield at, piece + b"\n"
        at += len(piece) + 1
    if last:
        yield at, last


def _line_blocks(source: Source, start: int, wanted_bytes: int) -> Iterator[tuple[int, bytes]]:
    """Blocks of whole lines, and where each begins."""
    at, size_bytes = start, wanted_bytes
    while at < source.size:
        block = source.read(at, at + size_bytes)
        if at + len(block) < source.size:
            cut = block.rfind(b"\n") + 1
            if not cut:
                size_bytes *= 2
                continue
            block = block[:cut]
        yield at, block
        at += len(block)
        size_bytes = wanted_bytes
