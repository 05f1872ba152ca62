"""Spreadsheets: workbooks of Excel (XLSX, XLSM, XLSB, XLS) and OpenDocument (ODS).

The whole is the rows of all sheets that hold a value, header rows included, each as `{"sheet", "row", "cells"}` with
its number in the sheet. Each sheet is a part: a table of the rows under its header.
"""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from blobs.domain.errors import ToolInputError
from blobs.domain.ranges import ItemRange
from blobs.querying.columnar import column_types
from blobs.reading.base_view import BaseView
from blobs.reading.reader import Column, Confidence, Part, Sample, Table, View
from blobs.reading.source import Source
from previewers.sheet_rows import SheetRows, column_letters
from previewers.workbook_file import TYPES, recognise
from previewers.workbook_sheets import Sheet, read_sheets

_COMPARED_ROWS = 20
_SHAPE_COLUMNS_MAX = 100
_SHAPE_SHEETS_MAX = 50
_TYPED_CELLS_MAX = 500_000
_NOTES_MAX = 19
_NOTE_CHARS_MAX = 300


class SpreadsheetReader:
    """Workbooks of Excel and OpenDocument."""

    name = "spreadsheet"
    media_types = TYPES
    aliases = (
        "application/msexcel",
        "application/x-msexcel",
        "application/x-excel",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.template",
        "application/vnd.ms-excel.template.macroenabled.12",
        "application/vnd.oasis.opendocument.spreadsheet-template",
    )

    def sniff(self, sample: Sample) -> Confidence:
        """The members or streams of a workbook in a zip or an OLE container."""
        return recognise(sample)

    def open(self, source: Source) -> "WorkbookView":
        """The rows; raises `UnreadableError` where it is encrypted, a bomb or no workbook."""
        return WorkbookView(read_sheets(source))


class SheetView(BaseView):
    """One sheet as a table: the rows under its header, or all of them under the columns' letters."""

    unit: str | None = "rows"

    def __init__(self, sheet: Sheet) -> None:
        super().__init__()
        self.name = sheet.name
        self._rows = sheet.rows
        self.has_header = _is_header(sheet.rows)
        self.count: int | None = len(sheet.rows) - self.has_header
        self.columns: list[Column] | None = [Column(name) for name in self._names()]
        self.notes.extend(sheet.notes)
        if len(sheet.rows) and not self.has_header:
            self.notes.append("no header row: the columns are named by their letters")
        if gaps := sheet.rows.gaps():
            self.notes.append(f"blank rows are left out: {gaps}; `row` of a match is the number in the sheet")

    def items(self, span: ItemRange) -> Iterator[list[Any]]:
        """The rows under the header, all of one width."""
        return self._rows.rows(ItemRange(span.start + self.has_header, span.stop + self.has_header))

    def place(self, index: int) -> dict[str, Any]:
        """The number of the row in the sheet."""
        return {"row": self._rows.numbers[index + self.has_header]}

    def table(self) -> Table:
        """The rows with dates as dates."""
        whole = ItemRange(self.has_header, len(self._rows))
        return Table([each.name for each in self.columns or ()], rows=lambda: self._rows.typed_rows(whole))

    def typed_columns(self) -> list[str]:
        """The columns as they are in SQL."""
        table = self.table()
        assert table.rows is not None  # given above
        if len(self._rows) * self._rows.width > _TYPED_CELLS_MAX:
            return list(table.columns)
        return [f"{each.name} {each.type}" for each in column_types(table.rows(), table.columns, is_text=False)]

    def _names(self) -> list[str]:
        letters = [column_letters(self._rows.first_column + place) for place in range(self._rows.width)]
        if not self.has_header:
            return letters
        written = self._rows.used(0)
        written.extend([None] * (self._rows.width - len(written)))
        kept = {cell.casefold() for cell in written if cell is not None}
        names: list[str] = []
        taken: set[str] = set()
        for cell, letter in zip(written, letters, strict=True):
            wanted = cell if cell is not None else letter
            name, number = wanted, 0
            while name.casefold() in taken or (name != cell and name.casefold() in kept):
                number += 1
                name = f"{wanted}_{number}"
            taken.add(name.casefold())
            names.append(name)
        return names


class WorkbookView(BaseView):
    """The rows of all sheets."""

    unit: str | None = "rows"

    def __init__(self, sheets: list[Sheet]) -> None:
        super().__init__()
        self._sheets = sheets
        self._views = [SheetView(each) for each in sheets]
        self._starts = [0, *accumulate(len(each.rows) for each in sheets)]
        self.count: int | None = self._starts[-1]
        self.parts = [
            Part(view.name, "rows", view.count, sheet.visibility)
            for sheet, view in zip(sheets, self._views, strict=True)
        ]
        self._columns = {view.name: [each.name for each in view.columns or ()] for view in self._views}
        self._note()

    def items(self, span: ItemRange) -> Iterator[dict[str, Any]]:
        """Rows as `{"sheet", "row", "cells"}`: the number is the sheet's own, cells end with the last value."""
        for index in range(span.start, min(span.stop, self._starts[-1])):
            sheet, at = self._find(index)
            yield {"sheet": sheet.name, "row": sheet.rows.numbers[at], "cells": sheet.rows.used(at)}

    def search_texts(self, item: Any, columns: list[str] | None) -> Iterator[tuple[str | None, str]]:
        """Each cell with the name of its column in its sheet."""
        for name, cell in zip(self._columns[item["sheet"]], item["cells"], strict=False):
            if cell is not None and (columns is None or name in columns):
                yield name, self.render(cell)

    def place(self, index: int) -> dict[str, Any]:
        """The sheet, the row's number in it, and where it is among the rows of the part (a header row is not)."""
        sheet, at = self._find(index)
        under = at - self._views[self._sheets.index(sheet)].has_header
        place: dict[str, Any] = {"part": sheet.name, "row": sheet.rows.numbers[at]}
        return place | {"part_item": under} if under >= 0 else place

    def shape(self) -> dict[str, list[str]]:
        """The columns of each sheet as they are in SQL."""
        return {
            view.name: [each[:100] for each in view.typed_columns()[:_SHAPE_COLUMNS_MAX]]
            for view in self._views[:_SHAPE_SHEETS_MAX]
        }

    def part(self, name: str) -> View:
        """The sheet of this name, as written or in other case."""
        for view in self._views:
            if view.name == name:
                return view
        for view in self._views:
            if view.name.casefold() == name.casefold():
                return view
        raise ToolInputError(f"part: there is no sheet {name[:80]!r}.", hint=self._parts_hint())

    def table(self) -> Table | None:
        """The table of the first visible sheet that has rows."""
        first = self._first()
        return first.table() if first is not None else None

    def _first(self) -> SheetView | None:
        candidates = [view for sheet, view in zip(self._sheets, self._views, strict=True) if not sheet.visibility]
        return next((view for view in [*candidates, *self._views] if len(view.columns or ())), None)

    def _find(self, index: int) -> tuple[Sheet, int]:
        which = bisect_right(self._starts, index) - 1
        return self._sheets[which], index - self._starts[which]

    def _note(self) -> None:
        notes = []
        for kind in ("hidden", "very hidden"):
            hidden = [each.name for each in self._sheets if each.visibility == kind]
            if hidden:
                notes.append(f"{kind}: {', '.join(repr(name) for name in hidden[:10])}")
        first = self._first()
        if first is not None and len(self._sheets) > 1:
            notes.append(f"in SQL the blob itself is the sheet {first.name!r}; the others are its parts")
        alone = len(self._views) == 1
        notes.extend(f"{note}" if alone else f"{view.name}: {note}" for view in self._views for note in view.notes)
        self.notes.extend(note[:_NOTE_CHARS_MAX] for note in notes[:_NOTES_MAX])
        if len(notes) > _NOTES_MAX:
            self.notes.append(f"and {len(notes) - _NOTES_MAX} more notes: open the parts")


def _is_header(rows: SheetRows) -> bool:
    """The first row is texts only, over most of the columns, and they differ or the rows below are of other kinds."""
    if not len(rows):
        return False
    cells = rows.used(0)
    texts = [cell for cell in cells if cell is not None]
    if not all(isinstance(cell, str) and cell.strip() for cell in texts) or len(texts) * 2 <= rows.width:
        return False
    if len(rows) == 1:
        return len(texts) > 1
    if len({cell.casefold() for cell in texts}) == len(texts):
        return True
    below = rows.rows(ItemRange(1, _COMPARED_ROWS))
    return any(cell is not None and not isinstance(cell, str) for row in below for cell in row)
