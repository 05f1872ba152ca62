"""CSV in a dialect of its own: cells in single quotes, quotes escaped by backslashes, blanks behind delimiters.

Such a file is read so only where reading it as others are read leaves it ragged or its quotes astray, and this one
comes out even. It is held in memory, and what is larger stays as it is.
"""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from blobs.domain.media_type import CSV
from blobs.domain.ranges import ItemRange
from blobs.reading.base_view import BaseView
from blobs.reading.reader import Column, Table, View

BYTES_MAX = 4 * 1024 * 1024

_RAGGED, _HEADLESS = "more or fewer cells", "no header row"

Row = list[str | None]


@dataclass(frozen=True, slots=True)
class OddDialect:
    """A dialect beside the usual one: what it is called in a note, a sign of it, and what Python's `csv` calls it."""

    note: str
    sign: str
    options: dict[str, Any]


_DIALECTS = (
    OddDialect("cells are quoted by '", r"(?:^|{0})'[^'\r\n]*(?:'{0}|'\r?$|{0})", {"quotechar": "'"}),
    OddDialect(
        "quotes inside of cells are escaped by backslashes",
        r'"[^"\r\n]*\\"',
        {"escapechar": "\\", "doublequote": False},
    ),
    OddDialect("blanks behind delimiters are no part of cells", r'{0} +"', {"skipinitialspace": True}),
)


@dataclass(frozen=True, slots=True)
class OddTable:
    """All records of a text, and where in it each begins, in characters."""

    dialect: OddDialect
    records: list[Row]
    offsets: list[int]


class _Fed:
    """The lines of a text, and how many characters of it were taken."""

    def __init__(self, text: str) -> None:
        self._lines = io.StringIO(text, newline="")
        self.characters = 0

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.characters += len(line)
            yield line


def odd_table(text: str, delimiter: str, *, lead: int = 0) -> OddTable | None:
    """The text as a table in an odd dialect in which every record has as many cells; None where there is none such.

    `lead` is how many characters come before the text.
    """
    for dialect in _DIALECTS:
        if re.search(dialect.sign.format(re.escape(delimiter)), text, re.MULTILINE):
            found = _read(text, delimiter, dialect, lead)
            if found is not None:
                return found
    return None


def _read(text: str, delimiter: str, dialect: OddDialect, lead: int) -> OddTable | None:
    fed = _Fed(text)
    reader = csv.reader(fed, delimiter=delimiter, strict=True, **dialect.options)
    records: list[Row] = []
    offsets: list[int] = []
    at = lead
    try:
        for cells in reader:
            if cells:
                records.append([cell or None for cell in cells])
                offsets.append(at)
            at = lead + fed.characters
    except csv.Error:
        return None
    widths = {len(record) for record in records}
    return OddTable(dialect, records, offsets) if len(records) > 1 and len(widths) == 1 and max(widths) > 1 else None


class OddCsvView(BaseView):
    """The rows of a table in an odd dialect; `text` is the file's own."""

    unit: str | None = "rows"

    def __init__(self, usual: View, table: OddTable, names: list[str], *, has_header: bool) -> None:
        super().__init__()
        self._usual = usual
        self.text_encoding = usual.text_encoding
        self._table = table
        self._has_header = has_header
        self._rows = table.records[has_header:]
        self.count = len(self._rows)
        self.columns = [Column(name) for name in names]
        self.notes = [note for note in usual.notes if _RAGGED not in note and _HEADLESS not in note]
        self.notes.append(table.dialect.note)
        if not has_header:
            self.notes.append("no header row: the columns are numbered")

    def items(self, span: ItemRange) -> Iterator[Row]:
        """The rows of the range."""
        return map(list, self._rows[span.start : span.stop])

    def slice(self, span: ItemRange) -> tuple[bytes, str]:
        """These rows in the usual dialect; all of them are the file itself."""
        if span.start == 0 and span.stop >= len(self._rows):
            return self._usual.slice(ItemRange(0, self._usual.count or 0))
        sink = io.StringIO()
        names = [each.name for each in self.columns or ()]
        csv.writer(sink, lineterminator="\n").writerows([names, *self._rows[span.start : span.stop]])
        return sink.getvalue().encode(), CSV

    def table(self) -> Table | None:
        """All rows, as the file's untyped text."""
        return Table([each.name for each in self.columns or ()], rows=lambda: map(list, self._rows), is_text=True)

    def strays(self) -> Iterator[tuple[int, str]]:
        """The lines before the table."""
        return self._usual.strays()

    def text_length(self) -> int:
        """The number of characters of the file."""
        return self._usual.text_length()

    def text_offset(self, item: int) -> int:
        """Where a row's record begins; past the last one, the end."""
        place = item + self._has_header
        return self._table.offsets[place] if place < len(self._table.offsets) else self.text_length()

    def text(self, start: int, stop: int) -> str:
        """The file's own characters."""
        return self._usual.text(start, stop)
