"""The sheets of a workbook, read: by python-calamine, and from the file itself what that does not tell."""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from blobs.domain.errors import UnreadableError
from blobs.reading.source import Source
from previewers.parsing import parsing
from previewers.sheet_rows import SheetRows
from previewers.sheet_xml import SPARSE_CELLS_MAX, Oddities, oddities, sheet_members
from previewers.workbook_file import encrypted, is_encrypted, opened_zip

if TYPE_CHECKING:
    from python_calamine import CalamineWorkbook

_WHAT = "workbook"
_VISIBILITIES = {"Visible": "", "Hidden": "hidden", "VeryHidden": "very hidden"}


@dataclass(frozen=True)
class Sheet:
    """A sheet: its rows, whether it is hidden (`hidden`, `very hidden` or ""), and what should be known of it."""

    name: str
    rows: SheetRows
    visibility: str = ""
    notes: list[str] = field(default_factory=list)


def read_sheets(source: Source) -> list[Sheet]:
    """All sheets in the workbook's order; raises `UnreadableError` where none can be read.

    A sheet that cannot be read is empty and says so in a note; so are sheets of charts, dialogs and macros.
    """
    if is_encrypted(source):
        raise encrypted()
    archive = opened_zip(source)
    with _parsing():
        book = _opened(source)
        known = list(book.sheets_metadata)
    members = _members(archive)
    sheets, failures = [], 0
    for place, each in enumerate(known):
        kind = str(each.typ).rpartition(".")[2]
        visibility = _VISIBILITIES.get(str(each.visible).rpartition(".")[2], "")
        if kind != "WorkSheet":
            note = f"not a sheet of cells but a {kind.removesuffix('Sheet').lower()} sheet"
            sheets.append(Sheet(each.name, SheetRows([]), visibility, [note]))
            continue
        member = members[place] if len(members) == len(known) else ""
        try:
            rows, notes = _read(book, place, archive, member)
        except UnreadableError as problem:
            failures += 1
            rows, notes = SheetRows([]), [problem.message]
        sheets.append(Sheet(each.name, rows, visibility, notes))
    if failures and failures == len(sheets):
        raise UnreadableError(sheets[0].notes[0])
    return _distinct(sheets)


def _opened(source: Source) -> "CalamineWorkbook":
    from python_calamine import CalamineWorkbook, PasswordError  # native: only once a file is opened

    try:
        return CalamineWorkbook.from_filelike(source.open())
    except PasswordError:
        raise encrypted() from None


def _members(archive: zipfile.ZipFile | None) -> list[str]:
    if archive is None:
        return []
    with parsing(_WHAT):
        return sheet_members(archive)


def _read(
    book: "CalamineWorkbook", place: int, archive: zipfile.ZipFile | None, member: str
) -> tuple[SheetRows, list[str]]:
    odd = _oddities(archive, member)
    if odd.rows * odd.columns > SPARSE_CELLS_MAX:
        raise UnreadableError(f"its values are too far apart to be read: {odd.rows:,} rows by {odd.columns:,} columns")
    with _parsing():
        sheet = book.get_sheet_by_index(place)
        first_column = sheet.start[1] if sheet.start is not None else 0
        rows = SheetRows(sheet.iter_rows(), first_column=first_column, better=odd.values)
    notes = []
    if odd.formulas:
        more = " …" if odd.formulas > len(odd.named) else ""
        noun = "formula has" if odd.formulas == 1 else "formulas have"
        notes.append(f"{odd.formulas} {noun} no stored value and read as empty: {', '.join(odd.named)}{more}")
    return rows, notes


def _oddities(archive: zipfile.ZipFile | None, member: str) -> Oddities:
    if archive is None or not member:
        return Oddities()
    with parsing(_WHAT), archive.open(member) as sheet:
        return oddities(sheet)


def _distinct(sheets: list[Sheet]) -> list[Sheet]:
    """The sheets under names that differ: damaged files repeat them."""
    taken: set[str] = set()
    kept = []
    for sheet in sheets:
        name, number = sheet.name, 1
        while name in taken:
            number += 1
            name = f"{sheet.name} ({number})"
        taken.add(name)
        kept.append(Sheet(name, sheet.rows, sheet.visibility, sheet.notes))
    return kept


@contextmanager
def _parsing() -> Iterator[None]:
    """`parsing`, also over the panics of native code, which are no `Exception`."""
    try:
        with parsing(_WHAT):
            yield
    except BaseException as fault:
        if type(fault).__name__ != "PanicException":
            raise
        raise UnreadableError(f"The {_WHAT} is damaged or not supported.") from None
