"""Delimited records (RFC 4180): where they begin and what their cells are.

A quote opens a cell only as its first character, `""` inside a quoted cell is a quote, and what follows a closing quote
belongs to the cell: the reading of Python's `csv`, save that an empty cell without quotes is None. Counting works on
whole blocks where every quote stands where a writer would put it, and line by line where one does not.
"""

import csv
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from blobs.domain.ranges import ItemRange
from blobs.reading.index import Index, Offsets
from blobs.reading.source import BytesSource, Source
from blobs.reading.stretches import (
    STRETCH_BYTES_MAX,
    Needle,
    Octets,
    Stretch,
    Trust,
    line_blocks,
    line_starts,
    marked_runs,
    marked_stretches,
)

RECORDS_PER_MARK = 1024
_WALKED_BYTES = 64 * 1024
"""What is split into lines at a time: about as much as lies between two marks."""
_CSV_CELL_CHARS_MAX = 128 * 1024  # the limit that Python's csv has unless a process sets another
_QUOTE, _LF, _CR = 34, 10, 13

Positions = NDArray[np.int64]
_NOWHERE: Positions = np.empty(0, np.int64)


@dataclass(frozen=True)
class Grammar:
    """What separates cells, and whether quotes mean anything."""

    delimiter: str
    is_quoted: bool = True

    @cached_property
    def _cell(self) -> re.Pattern[str]:
        mark = re.escape(self.delimiter)
        return re.compile(rf'"((?:[^"]++|"")*+)(?:"([^{mark}]*+)|\Z)|([^{mark}]*+)')

    @cached_property
    def _cell_bytes(self) -> re.Pattern[bytes]:
        return re.compile(self._cell.pattern.encode())

    @cached_property
    def _open(self) -> re.Pattern[bytes]:
        """A line that begins outside of quotes and ends inside."""
        mark = re.escape(self.delimiter)
        quoted = r'"(?:[^"]++|"")*+'
        return re.compile(rf'(?:(?:{quoted}"[^{mark}]*+|(?!")[^{mark}]*+){mark})*+{quoted}\Z'.encode())

    def cells(self, record: str) -> list[str | None]:
        """The cells of a record without its line end; None is an empty cell without quotes."""
        if not self.is_quoted or '"' not in record:
            return [cell or None for cell in record.split(self.delimiter)]
        if '""' not in record and len(record) < _CSV_CELL_CHARS_MAX:
            # No quote and no quoted cell is empty, so all that Python's csv cannot tell apart is missing cells.
            return [cell or None for cell in next(csv.reader((record,), delimiter=self.delimiter))]
        cells: list[str | None] = []
        at = 0
        while True:
            found = self._cell.match(record, at)
            assert found is not None  # the pattern matches the empty string
            quoted, rest, plain = found.groups()
            cells.append((plain or None) if quoted is None else quoted.replace('""', '"') + (rest or ""))
            at = found.end() + 1
            if at > len(record):
                return cells

    def is_open_after(self, line: bytes, *, is_open: bool) -> bool:
        """Whether a quoted cell is open after a physical line; `is_open` says that one was before it."""
        if b'"' not in line:
            return is_open
        return self._open.match(b'"' + line if is_open else line) is not None

    def scan(self, line: bytes, *, is_open: bool) -> tuple[int, bool]:
        """How many delimiters separate cells in a physical line, and whether a quoted cell is open after it.

        `is_open` says that the line begins inside a quoted cell.
        """
        if not self.is_quoted or (not is_open and b'"' not in line):
            return line.count(self.delimiter.encode()), False
        delimiters, at = 0, 0
        if is_open:
            line = b'"' + line
        while True:
            found = self._cell_bytes.match(line, at)
            assert found is not None  # the pattern matches the empty string
            if found.group(1) is not None and found.group(2) is None:
                return delimiters, True
            at = found.end() + 1
            if at > len(line):
                return delimiters, False
            delimiters += 1


def each_record(source: Source, start: int, grammar: Grammar) -> Iterator[tuple[int, bytes]]:
    """The records from a byte that begins one: where each begins, and its bytes without the line end.

    Blank lines are no records.
    """
    at = record_at = start
    pieces: list[bytes] = []
    is_open = False
    for _, block in line_blocks(source, start, _WALKED_BYTES):
        is_plain = not grammar.is_quoted or b'"' not in block
        for line in block.splitlines(keepends=True):
            at += len(line)
            if not is_plain or is_open:
                is_open = grammar.is_open_after(line, is_open=is_open)
                if is_open:
                    pieces.append(line)
                    continue
            if pieces:
                line = b"".join([*pieces, line])  # noqa: PLW2901  # the record that the line completes
                pieces.clear()
            record = _without_end(line)
            if record:
                yield record_at, record
            record_at = at
    if pieces:
        yield record_at, b"".join(pieces)


class RecordIndex:
    """The records of a source, found in one pass in constant memory.

    `count` is their number without blank lines, `width` the most cells one has, `first_width` the cells of the first
    and `odd` how many have another number. `is_unclosed` says that the last quoted cell never ends, `open_lines` over
    how many line ends, `is_well_formed` that every quote stands where a writer would put it.
    """

    def __init__(self, source: Source, start: int, grammar: Grammar, index: Index | None = None) -> None:
        """The records from `start` on: as an index tells them, or as they are found with `add` and `end`."""
        self._source = source
        self._grammar = grammar
        self.marks: Offsets = array("q")
        """Where every `RECORDS_PER_MARK`th record begins."""
        self.count = 0
        self.width = 0
        self.odd = 0
        self.first_width = 0
        self._record_at = start
        self._delimiters = 0
        self._is_open = False
        self.open_lines = 0
        self.is_unclosed = False
        self.is_well_formed = True
        """Every quote stands where a writer would put it."""
        self._masks = tuple(np.empty(0, np.bool_) for _ in range(2))
        if index is not None:
            self.count, self.width, self.first_width, self.odd, self.is_well_formed = index.facts["records"]
            self.marks = index.places["records"]

    @classmethod
    def found(cls, source: Source, start: int, grammar: Grammar) -> "RecordIndex":
        """The records of a source from `start` on."""
        index = cls(source, start, grammar)
        for at, block in line_blocks(source, start):
            index.add(at, block)
        index.end()
        return index

    def facts(self) -> list[int]:
        """What an index notes of it under `records`, beside its `marks`."""
        return [self.count, self.width, self.first_width, self.odd, self.is_well_formed]

    def end(self) -> None:
        """Nothing follows."""
        if self._is_open:
            self._keep(np.array([self._record_at]), np.array([self._delimiters + 1]))
        self.is_unclosed = self._is_open
        self.is_well_formed = self.is_well_formed and not self._is_open

    def records(self, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
        """Records `start` up to `stop`: where each begins, and its bytes."""
        if start >= min(stop, self.count):
            return iter(())
        mark = start // RECORDS_PER_MARK
        walked = each_record(self._source, self.marks[mark], self._grammar)
        return islice(walked, start - mark * RECORDS_PER_MARK, stop - mark * RECORDS_PER_MARK)

    def stretches(self, span: ItemRange, needle: Needle) -> Iterator[Stretch]:
        """The bytes of whole records from the first of the range or a little before to its last or a little after."""
        return marked_stretches(
            self._source,
            self.marks,
            RECORDS_PER_MARK,
            ItemRange(span.start, min(span.stop, self.count)),
            trust=partial(self._trust, needle),
            starts=self._starts,
        )

    def runs(self, size_bytes: int) -> Iterator[tuple[ItemRange, bytes]]:
        """All records in runs of about so many bytes: which, and their bytes; none where those cannot be held."""
        whole = ItemRange(0, self.count)
        for span, begin, end in marked_runs(self._source, self.marks, RECORDS_PER_MARK, whole, size_bytes=size_bytes):
            raw = self._source.read(begin, end) if end - begin <= STRETCH_BYTES_MAX else b""
            yield ItemRange(span.start, min(span.stop, self.count)), raw

    def _trust(self, needle: Needle, octets: Octets) -> Trust:
        """A cell's text lies in one piece in its record, quotes apart; beside it lies what parts cells."""
        mark = self._grammar.delimiter.encode()
        if not self.is_well_formed and not are_well_formed(octets, self._grammar):
            return Trust.NONE
        if needle.literal is not None:
            wanted = needle.literal.encode()
            if self._grammar.is_quoted and b'"' in wanted:
                return Trust.NONE
            return Trust.CANDIDATES if mark in wanted or b"\n" in wanted or b"\r" in wanted else Trust.EXACT
        raw = bytes(octets)
        has_quotes = self._grammar.is_quoted and b'"' in raw
        if needle.is_anchored or (has_quotes and (b'""' in raw or _has_quoted_lines(raw))):
            return Trust.NONE
        return Trust.CANDIDATES

    def _starts(self, begin: int, raw: Octets) -> Positions:
        del begin
        if self.is_well_formed:
            return _record_starts(raw, self._grammar)
        return np.array([at for at, _ in each_record(BytesSource(bytes(raw)), 0, self._grammar)], np.int64)

    def place(self, record: int) -> int:
        """Where a record begins; past the last one, the end of the source."""
        return next((at for at, _ in self.records(record, record + 1)), self._source.size)

    def add(self, at: int, block: bytes) -> None:
        """Take the next lines, which begin at `at`; only the last ones may lack their end."""
        if block[-1] not in b"\r\n":
            block += b"\n"
        octets = np.frombuffer(block, np.uint8)
        places = self._marked(octets, block)
        marks = octets[places]
        quotes = np.flatnonzero(marks == _QUOTE) if self._is_quoted(block) else _NOWHERE
        if not _is_well_formed(octets, places[quotes], self._grammar, is_open=self._is_open):
            self._add_by_line(at, block)
            return
        is_end = (marks == _LF) | (marks == _CR)
        if len(quotes) or self._is_open:
            is_outside = self._outside(len(marks), quotes)
            self._note_open(is_end, is_outside, ends_open=bool((len(quotes) + self._is_open) % 2))
            is_end &= is_outside
            last_of_records = np.flatnonzero(is_end[is_outside])
            left = int(np.count_nonzero(is_outside))
        else:
            last_of_records, left = np.flatnonzero(is_end), len(marks)
        if not len(last_of_records):
            self._delimiters += left
            return
        widths = np.diff(last_of_records, prepend=-1)  # as many cells as delimiters and the end
        widths[0] += self._delimiters
        self._delimiters = left - int(last_of_records[-1]) - 1
        ends = places[is_end]
        starts = np.concatenate(([self._record_at], ends[:-1] + (at + 1)))
        self._record_at = at + int(ends[-1]) + 1
        if b"\r" in block or int(widths.min()) == 1:
            is_record = _sizes(octets, starts - at, ends) > 0
            starts, widths = starts[is_record], widths[is_record]
        self._keep(starts, widths)

    def _is_quoted(self, block: bytes) -> bool:
        return self._grammar.is_quoted and b'"' in block

    def _marked(self, octets: NDArray[np.uint8], block: bytes) -> Positions:
        """Where delimiters, quotes and line ends lie in a block; of a CRLF it is the LF."""
        if len(octets) > len(self._masks[0]):
            self._masks = tuple(np.empty(len(octets), np.bool_) for _ in range(2))
        is_mark, is_one = (mask[: len(octets)] for mask in self._masks)
        np.equal(octets, ord(self._grammar.delimiter), out=is_mark)
        np.logical_or(is_mark, np.equal(octets, _LF, out=is_one), out=is_mark)
        if self._is_quoted(block):
            np.logical_or(is_mark, np.equal(octets, _QUOTE, out=is_one), out=is_mark)
        if b"\r" in block:
            np.equal(octets, _CR, out=is_one)
            is_one[:-1] &= octets[1:] != _LF
            np.logical_or(is_mark, is_one, out=is_mark)
        return np.flatnonzero(is_mark)

    def _outside(self, count: int, quotes: Positions) -> NDArray[np.bool_]:
        """Which of so many marks are no quotes and lie outside of them; `quotes` are well formed."""
        is_outside = np.ones(count, np.bool_)
        is_outside[quotes] = False
        bounds = np.concatenate(([-1], quotes)) if self._is_open else quotes
        if len(bounds) % 2:
            bounds = np.append(bounds, count)
        openers, closers = bounds[::2], bounds[1::2]
        inside = closers - openers - 1
        holds = np.flatnonzero(inside)
        if len(holds):
            counts = inside[holds]
            first = openers[holds] + 1 - np.concatenate(([0], np.cumsum(counts[:-1])))
            is_outside[np.repeat(first, counts) + np.arange(int(counts.sum()))] = False
        return is_outside

    def _note_open(self, is_end: NDArray[np.bool_], is_outside: NDArray[np.bool_], *, ends_open: bool) -> None:
        """Count the line ends since the last one that was outside of quotes."""
        self._is_open = ends_open
        lines = np.flatnonzero(is_end)
        closed = np.flatnonzero(is_outside[lines])
        self.open_lines = len(lines) - int(closed[-1]) - 1 if len(closed) else self.open_lines + len(lines)

    def _add_by_line(self, at: int, block: bytes) -> None:
        self.is_well_formed = False
        starts, widths = [], []
        for line in block.splitlines(keepends=True):
            delimiters, self._is_open = self._grammar.scan(line, is_open=self._is_open)
            self._delimiters += delimiters
            at += len(line)
            if self._is_open:
                self.open_lines += 1
                continue
            self.open_lines = 0
            if self._record_at < at - len(line) or _without_end(line):
                starts.append(self._record_at)
                widths.append(self._delimiters + 1)
            self._record_at, self._delimiters = at, 0
        self._keep(np.array(starts, np.int64), np.array(widths, np.int64))

    def _keep(self, starts: Positions, widths: Positions) -> None:
        if not len(starts):
            return
        self.first_width = self.first_width or int(widths[0])
        self.width = max(self.width, int(widths.max()))
        self.odd += int(np.count_nonzero(widths != self.first_width))
        assert isinstance(self.marks, array)  # it is being found
        self.marks.extend(starts[-self.count % RECORDS_PER_MARK :: RECORDS_PER_MARK].tolist())
        self.count += len(starts)


def _record_starts(raw: Octets, grammar: Grammar) -> Positions:
    """Where each record begins in whole records that are well formed."""
    octets = np.frombuffer(raw, np.uint8)
    starts = line_starts(raw)
    if grammar.is_quoted:
        starts = starts[np.searchsorted(np.flatnonzero(octets == _QUOTE), starts) % 2 == 0]
    is_record = (octets[starts] != _LF) & (octets[starts] != _CR)
    return np.compress(is_record, starts)


def are_well_formed(records: Octets, grammar: Grammar) -> bool:
    """Whole records have quotes only where a writer would put them, and close all of them."""
    if not grammar.is_quoted:
        return True
    octets = np.frombuffer(records, np.uint8)
    quotes = np.flatnonzero(octets == _QUOTE)
    return len(quotes) % 2 == 0 and _is_well_formed(octets, quotes, grammar, is_open=False)


def _is_well_formed(octets: NDArray[np.uint8], quotes: Positions, grammar: Grammar, *, is_open: bool) -> bool:
    """Every quote opens a cell at its beginning, closes it at its end, or is doubled."""
    if not len(quotes):
        return True
    first = 1 if is_open else 0
    openers, closers = quotes[first::2], quotes[1 - first :: 2]
    before = octets[openers - 1]
    before[openers == 0] = _LF
    after = octets[np.minimum(closers + 1, len(octets) - 1)]
    after[closers + 1 == len(octets)] = _LF
    beside = np.concatenate((before, after))
    delimiter = ord(grammar.delimiter)
    return bool(((beside == delimiter) | (beside == _LF) | (beside == _CR) | (beside == _QUOTE)).all())


def _has_quoted_lines(records: bytes) -> bool:
    """A line ends inside of quotes, in whole records that are well formed."""
    octets = np.frombuffer(records, np.uint8)
    ends = np.flatnonzero((octets == _LF) | (octets == _CR))
    return bool((np.searchsorted(np.flatnonzero(octets == _QUOTE), ends) % 2 == 1).any())


def _without_end(line: bytes) -> bytes:
    if line.endswith(b"\r\n"):
        return line[:-2]
    return line[:-1] if line[-1] in b"\r\n" else line


def _sizes(octets: NDArray[np.uint8], starts: Positions, ends: Positions) -> Positions:
    """How long the records are that begin and end there, without the CR of a CRLF; the first may begin before."""
    has_cr = (octets[ends] == _LF) & (ends > 0) & (octets[ends - 1] == _CR)
    sizes: Positions = ends - starts - (has_cr & (ends > starts))
    return sizes
