"""The sheets of a workbook, read: by python-calamine, and from the file itself what that does not tell."""

import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO

from blobs.domain.errors import UnreadableError
from blobs.reading.source import Source
from previewers.parsing import parsing
from previewers.sheet_ods import CONTENT, ods_oddities, with_errors
from previewers.sheet_records import xls_errors, xlsb_oddities, xlsb_sheets
from previewers.sheet_rows import SheetRows
from previewers.sheet_xml import SPARSE_CELLS_MAX, Oddities, linked_members, oddities, sheet_members
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
    with ExitStack() as opened:
        archive = opened_zip(source)
        if archive is not None:
            opened.enter_context(archive)
        with _parsing():
            readable, odd = _odd(source, archive)
            opened.enter_context(readable)
            book = _opened(readable)
        return _all_sheets(book, odd)


def _all_sheets(book: "CalamineWorkbook", odd: list[Oddities]) -> list[Sheet]:
    with _parsing():
        known = list(book.sheets_metadata)
    found = odd if len(odd) == len(known) else [Oddities() for _ in known]
    sheets, failures = [], 0
    for place, each in enumerate(known):
        kind = str(each.typ).rpartition(".")[2]
        visibility = _VISIBILITIES.get(str(each.visible).rpartition(".")[2], "")
        if kind != "WorkSheet":
            note = f"not a sheet of cells but a {kind.removesuffix('Sheet').lower()} sheet"
            sheets.append(Sheet(each.name, SheetRows([]), visibility, [note]))
            continue
        try:
            rows = _rows(book, place, found[place])
            notes = _formula_notes(found[place])
        except UnreadableError as problem:
            failures += 1
            rows, notes = SheetRows([]), [problem.message]
        sheets.append(Sheet(each.name, rows, visibility, notes))
    if failures and failures == len(sheets):
        raise UnreadableError(sheets[0].notes[0])
    return _distinct(sheets)


def _opened(readable: BinaryIO) -> "CalamineWorkbook":
    from python_calamine import CalamineWorkbook, PasswordError  # native: only once a file is opened

    try:
        return CalamineWorkbook.from_filelike(readable)
    except PasswordError:
        raise encrypted() from None


def _odd(source: Source, archive: zipfile.ZipFile | None) -> tuple[BinaryIO, list[Oddities]]:
    """The file for the library to read, and what it does not tell of each sheet; none where that cannot be known."""
    if archive is None:
        return source.open(), [Oddities(values=dict(errors)) for errors in xls_errors(source)]
    names = set(archive.namelist())
    if CONTENT in names:
        content = archive.read(CONTENT)
        return with_errors(archive, content) or source.open(), ods_oddities(content)
    if "xl/workbook.bin" in names:
        members = linked_members(archive, "xl/workbook.bin", xlsb_sheets(archive.read("xl/workbook.bin")))
        return source.open(), [
            xlsb_oddities(archive.read(member)) if member in names else Oddities() for member in members
        ]
    return source.open(), [_xml_oddities(archive, member, names) for member in sheet_members(archive)]


def _xml_oddities(archive: zipfile.ZipFile, member: str, names: set[str]) -> Oddities:
    if member not in names:
        return Oddities()
    with archive.open(member) as sheet:
        return oddities(sheet)


def _rows(book: "CalamineWorkbook", place: int, odd: Oddities) -> SheetRows:
    if odd.rows * odd.columns > SPARSE_CELLS_MAX:
        raise UnreadableError(f"its values are too far apart to be read: {odd.rows:,} rows by {odd.columns:,} columns")
    with _parsing():
        sheet = book.get_sheet_by_index(place)
        first_column = sheet.start[1] if sheet.start is not None else 0
        return SheetRows(sheet.iter_rows(), first_column=first_column, better=odd.values)


def _formula_notes(odd: Oddities) -> list[str]:
    if not odd.formulas:
        return []
    where = f": {', '.join(odd.named)}" if odd.named else ""
    more = " …" if odd.named and odd.formulas > len(odd.named) else ""
    if odd.formulas == 1:
        return [f"1 formula has no stored value and reads as empty{where}"]
    return [f"{odd.formulas} formulas have no stored value and read as empty{where}{more}"]


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
