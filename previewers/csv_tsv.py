"""CSV, TSV and their kin: rows of cells exactly as written."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from blobs.domain.media_type import CSV
from blobs.domain.ranges import ItemRange
from blobs.reading.base_view import BaseView
from blobs.reading.decoding import UTF8, Encoding, detect, to_utf8, utf8_mark
from blobs.reading.index import Index, pack, unpack
from blobs.reading.reader import Column, Confidence, Sample, Scan, Table, View
from blobs.reading.source import HeadSource, Source
from blobs.reading.stretches import Needle, PassingLines, Stretch
from previewers.csv_dialect import Dialect, find_dialect, names_columns, preamble
from previewers.csv_odd import BYTES_MAX, OddCsvView, odd_table
from previewers.csv_records import Grammar, RecordIndex, are_well_formed
from previewers.json_sniff import are_lines, is_document, utf8_head
from previewers.text_index import TextIndex, text_index

TSV = "text/tab-separated-values"
_RECIPE = "csv/3"
_HEAD_BYTES = 64 * 1024
_HEAD_BYTES_MAX = 16 * 1024 * 1024
_HEAD_LINES = 20
_SIZE_UNKNOWN = 1 << 62
_OPEN_LINES_MAX = 50
_BATCH_BYTES = 4 * 1024 * 1024


class CsvView(BaseView):
    """Records as rows: lists of strings as wide as the widest record, None where a cell is empty or missing."""

    unit: str | None = "rows"

    def __init__(self, source: Source, index: memoryview | None = None, scan: "CsvScan | None" = None) -> None:
        """`scan` is one that has seen all of the source."""
        super().__init__()
        self.source = source
        known = unpack(index, source, _RECIPE)
        if known is not None:
            found = Encoding.of_facts(known.facts["encoding"])
        else:
            found = detect(source) if scan is None else scan.encoding
        self.text_encoding = found.codec
        # Delimiters are looked for in bytes, so everything but UTF-8 is read from a copy in UTF-8.
        self._is_copied = not found.is_utf8
        self._data = to_utf8(source, found) if self._is_copied else source
        self._encoding = UTF8 if self._is_copied else found
        self._found = found
        layout = scan.layout if scan is not None else _layout(self._data, len(self._encoding.mark))
        self._start, self._lead = layout.start, layout.lead
        self.has_header: bool
        if known is not None:
            self._restore(known)
        else:
            dialect = layout.dialect(self._encoding) if scan is None else scan.dialect
            self._examine(dialect, None if scan is None else scan.records)
        self.count = max(0, self._records.count - self.has_header)

    def _examine(self, dialect: Dialect, records: RecordIndex | None) -> None:
        self.has_header = dialect.has_header
        self.grammar, self._records = self._indexed(dialect.grammar, records)
        self.columns = [Column(name) for name in self._named_columns()]
        self.notes.extend(self._found.notes)
        self._note_oddities()

    def _restore(self, known: Index) -> None:
        facts = known.facts
        self.has_header, self.notes = facts["has_header"], facts["notes"]
        self.grammar = Grammar(facts["delimiter"], is_quoted=facts["is_quoted"])
        self._records = RecordIndex(self._data, self._start, self.grammar, known)
        self.columns = [Column(name) for name in facts["columns"]]

    def index_bytes(self) -> bytes | None:
        """The dialect, the columns, and where every so many records begin; none for what is read from a copy."""
        if self._is_copied:
            return None
        facts = {
            "encoding": self._found.facts(),
            "has_header": self.has_header,
            "notes": self.notes,
            "delimiter": self.grammar.delimiter,
            "is_quoted": self.grammar.is_quoted,
            "columns": [column.name for column in self.columns or ()],
            "records": self._records.facts(),
        }
        return pack(self.source.size, _RECIPE, facts, {"records": self._records.marks})

    @property
    def type(self) -> str:
        """The media type that the delimiter makes it."""
        return TSV if self.grammar.delimiter == "\t" else CSV

    def items(self, span: ItemRange) -> Iterator[list[str | None]]:
        """The rows of the range, each as wide as the columns."""
        width = len(self.columns or ())
        for _, record in self._records.records(span.start + self.has_header, span.stop + self.has_header):
            row = self.grammar.cells(self._encoding.decode(record))
            if len(row) < width:
                row.extend([None] * (width - len(row)))
            yield row

    def stretches(self, span: ItemRange, needle: Needle) -> Iterator[Stretch] | None:
        """Runs of whole records. The header is a record, and no item: the first of all runs begins with item -1."""
        if self._encoding.misfits:
            return None
        lead = int(self.has_header)
        records = self._records.stretches(ItemRange(span.start + lead, span.stop + lead), needle)
        return (replace(each, first=partial(int, each.first() - lead)) for each in records)

    def slice(self, span: ItemRange) -> tuple[bytes, str]:
        """The header and the file's own bytes of these rows; all rows are the file itself.

        A part of a file without a header is led by the names that its columns were given, a part of one that is not
        UTF-8 is given in UTF-8.
        """
        if span.start == 0 and span.stop >= (self.count or 0):
            return self.source.read(0, self.source.size), self.type
        start = self._records.place(span.start + self.has_header)
        stop = self._records.place(span.stop + self.has_header)
        if self.has_header:
            header = self._data.read(self._start, self._records.place(1))
        else:
            header = self.grammar.delimiter.join(each.name for each in self.columns or ()).encode() + b"\n"
        return header + self._data.read(start, stop), self.type

    def strays(self) -> Iterator[tuple[int, str]]:
        """The lines before the table: `sep=;`, or comments."""
        before = self._data.read(self._start - self._lead, self._start)
        yield from enumerate(map(self._encoding.decode, before.splitlines()), 1)

    def table(self) -> Table | None:
        """All rows, as the file's untyped text."""
        whole = ItemRange(0, self.count or 0)
        names = [each.name for each in self.columns or ()]
        return Table(names, rows=lambda: self.items(whole), is_text=True, texts=self._texts)

    def _texts(self) -> Iterator[Any]:
        from previewers.csv_arrow import text_batches  # only who makes a table loads it

        is_utf8 = not self._encoding.misfits
        names = [each.name for each in self.columns or ()]
        for span, raw in self._records.runs(_BATCH_BYTES):
            start = max(0, span.start - self.has_header)
            items = ItemRange(start, span.stop - self.has_header)
            lead = 1 if self.has_header and span.start == 0 else 0
            yield from text_batches(
                raw if is_utf8 else b"", self.grammar, names, lead, len(items), partial(self.items, items)
            )

    def text_length(self) -> int:
        """The number of characters of the file."""
        return self._text.characters

    def text_offset(self, item: int) -> int:
        """Where a row's record begins, in characters of the file."""
        return self._text.byte_character(self._records.place(item + self.has_header))

    def text(self, start: int, stop: int) -> str:
        """The file's own characters, header and quotes included."""
        return self._text.text(start, stop)

    @cached_property
    def _text(self) -> TextIndex:
        return text_index(self._data, self._encoding, self.text_index)

    def in_odd_dialect(self) -> OddCsvView | None:
        """The file in a dialect of its own, where the usual one leaves it ragged or its quotes astray."""
        if self._data.size - self._start > BYTES_MAX:
            return None
        raw = self._data.read(self._start, self._data.size)
        is_astray = b'"' in raw and not (self.grammar.is_quoted and are_well_formed(raw, self.grammar))
        if not is_astray and not self._records.odd:
            return None
        lead = len(self._encoding.decode(self._data.read(self._start - self._lead, self._start)))
        table = odd_table(self._encoding.decode(raw), self.grammar.delimiter, lead=lead)
        if table is None:
            return None
        has_header = names_columns(table.records)
        names = _unique(table.records[0] if has_header else [], len(table.records[0]))
        return OddCsvView(self, table, names, has_header=has_header)

    def _indexed(self, grammar: Grammar, records: RecordIndex | None) -> tuple[Grammar, RecordIndex]:
        index = records or RecordIndex.found(self._data, self._start, grammar)
        if not index.is_unclosed:
            return grammar, index
        if index.open_lines < _OPEN_LINES_MAX:
            self.notes.append("the last quote is never closed")
            return grammar, index
        self.notes.append("quotes are read as text: the last one is never closed")
        literal = Grammar(grammar.delimiter, is_quoted=False)
        return literal, RecordIndex.found(self._data, self._start, literal)

    def _named_columns(self) -> list[str]:
        header: list[str | None] = []
        if self.has_header:
            _, record = next(self._records.records(0, 1))
            header = self.grammar.cells(self._encoding.decode(record))
        return _unique(header, self._records.width)

    def _note_oddities(self) -> None:
        if lines := sum(1 for _ in self.strays()):
            noun = "line before the table is" if lines == 1 else "lines before the table are"
            self.notes.append(f"{lines} {noun} no row")
        if self._records.count and not self.has_header:
            self.notes.append("no header row: the columns are numbered")
        if self._records.odd:
            usual = self._records.first_width
            whose = "the header" if self.has_header else "the first row"
            noun = "row has" if self._records.odd == 1 else "rows have"
            self.notes.append(f"{self._records.odd} {noun} more or fewer cells than {whose} ({usual})")
        if self.grammar.delimiter not in ",\t":
            self.notes.append(f"cells are separated by {self.grammar.delimiter!r}")


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the records of a text in UTF-8 begin, after how many bytes of other lines, and the delimiter those name."""

    data: Source
    start: int
    lead: int
    delimiter: str

    def dialect(self, encoding: Encoding) -> Dialect:
        """The dialect by a head that holds several lines, however long they are."""
        size_bytes = _HEAD_BYTES
        while True:
            head = self.data.read(self.start, self.start + size_bytes)
            is_whole = self.start + len(head) >= self.data.size
            if is_whole or size_bytes >= _HEAD_BYTES_MAX or head.count(b"\n") + head.count(b"\r") >= _HEAD_LINES:
                return find_dialect(head, is_whole=is_whole, encoding=encoding, delimiter=self.delimiter)
            size_bytes *= 4


def _layout(data: Source, mark_bytes: int) -> _Layout:
    lead, delimiter = preamble(data.read(mark_bytes, mark_bytes + _HEAD_BYTES))
    return _Layout(data, mark_bytes + lead, lead, delimiter)


class CsvScan:
    """The records of a file in UTF-8 that passes by, where the usual dialect reads it."""

    def __init__(self, head: bytes, mark: bytes) -> None:
        """`mark` is what `utf8_mark` says of the head; `TooMuchReadError` where that does not tell the dialect."""
        self.encoding = Encoding("utf-8" if mark else "ascii", mark)
        self._head = head
        source = HeadSource(head, _SIZE_UNKNOWN)
        self.layout = _layout(source, len(mark))
        self.dialect = self.layout.dialect(UTF8)
        self.records = RecordIndex(source, self.layout.start, self.dialect.grammar)
        self._lines = PassingLines(self.layout.start)

    def add(self, chunk: memoryview) -> None:
        """Take the next bytes; `UnicodeDecodeError` where they are not UTF-8."""
        for block in self._lines.add(chunk):
            self._add(block)

    def _add(self, block: bytes) -> None:
        if not block.isascii():
            block.decode()
            self.encoding = Encoding("utf-8", self.encoding.mark)
        self.records.add(self._lines.at, block)

    def index_bytes(self, size: int) -> bytes | None:
        """The index; none of a file that must be seen whole to be sure how it is read."""
        if rest := self._lines.rest():
            self._add(rest)
        self.records.end()
        is_doubtful = size <= BYTES_MAX and (self.records.odd or not self.records.is_well_formed)
        if is_doubtful or self.records.is_unclosed:
            return None
        return CsvView(HeadSource(self._head, size), scan=self).index_bytes()


class CsvReader:
    """Delimited records: comma, tab, semicolon or bar."""

    name = "csv"
    media_types = (CSV, TSV)
    has_signature = False
    aliases = ("application/csv", "text/x-csv", "text/comma-separated-values", "text/x-tsv", "text/tsv")
    is_light = True
    takes_index = True

    def sniff(self, sample: Sample) -> Confidence:
        """A table by its structure; a single column, or one row, only where somebody called it CSV."""
        is_declared = sample.declared_type in (*self.media_types, *self.aliases)
        head = utf8_head(sample, is_declared=is_declared)
        if not head.strip() or _is_markup(head) or _is_json(head, sample):
            return Confidence.NO
        lead, delimiter = preamble(head)
        dialect = find_dialect(head[lead:], is_whole=sample.is_whole, delimiter=delimiter)
        media_type = TSV if dialect.grammar.delimiter == "\t" else CSV
        if dialect.is_table:
            return Confidence(50, media_type)
        return Confidence(1, media_type) if is_declared else Confidence.NO

    def open(self, source: Source, index: memoryview | None = None) -> View:
        """The rows of the file; never refuses text."""
        view = CsvView(source, index)
        return (view.in_odd_dialect() if index is None else None) or view

    def scan(self, head: bytes) -> Scan | None:
        """The index of a file that passes by, if its head tells that it is UTF-8."""
        mark = utf8_mark(head)
        return None if mark is None else CsvScan(head, mark)


def _unique(header: list[str | None], width: int) -> list[str]:
    """Names of all columns, unique also without regard to case, as SQL wants them."""
    written = {cell.casefold() for cell in header if cell}
    taken: set[str] = set()
    names: list[str] = []
    for place in range(width):
        cell = header[place] if place < len(header) else None
        wanted = cell if cell and cell.strip() else f"column{place + 1}"
        name, number = wanted, 0
        while name.casefold() in taken or (name != cell and name.casefold() in written):
            number += 1
            name = f"{wanted}_{number}"
        taken.add(name.casefold())
        names.append(name)
    return names


def _is_markup(raw: bytes) -> bool:
    return raw[:200].lstrip().lower().startswith((b"<?xml", b"<!doctype", b"<html", b"<svg"))


def _is_json(head: bytes, sample: Sample) -> bool:
    is_whole = sample.is_whole
    return is_document(head, is_whole=is_whole) or are_lines(head, sample.tail, is_whole=is_whole)
