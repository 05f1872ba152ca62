"""Workbooks: rows that hold a value, sheets as tables, what is hidden or was never computed said."""

import io
import zipfile
from typing import Any

import pytest

from blobs import Conversation
from blobs.domain.errors import UnreadableError
from blobs.domain.ranges import ItemRange
from blobs.reading.opening import take_sample
from blobs.reading.source import BytesSource
from blobs.testing.readers import Example, ReaderContract
from previewers.spreadsheet import SpreadsheetReader
from previewers.workbook_file import ODS, XLS, XLSB, XLSX
from tests.material import beside, corpus_rows, fixture, maker, truth

make = maker("make_tables")
TYPES = {"xls": XLS, "xlsb": XLSB}


def open_book(content: bytes):
    return SpreadsheetReader().open(BytesSource(content))


def items(view) -> list[Any]:
    return list(view.items(ItemRange(0, view.count)))


class TestSpreadsheetReader(ReaderContract):
    reader = SpreadsheetReader()
    examples = {
        "xlsx": Example(fixture("stock.xlsx"), XLSX, 19),
        "ods": Example(fixture("stock.ods"), ODS, 12),
        "empty sheets": Example(make.xlsx({"A": "", "B": ""}), XLSX, 0),
        **{
            row["path"]: Example(
                (beside() / "corpus" / row["path"]).read_bytes(), TYPES[row["format"]], int(row["items"])
            )
            for row in corpus_rows("xls", "xlsb")
            if row["items"] and int(row["bytes"]) < 13_000
        },
    }


def test_sheets_are_parts():
    """Counts of rows under the header; what is hidden is said, blank rows and formatted cells are no rows."""
    view = open_book(fixture("stock.xlsx"))
    assert {part.name: part.count for part in view.parts} == truth("stock.xlsx")["parts"]
    assert {part.name: part.note for part in view.parts if part.note} == {"Rates": "hidden", "Deep": "very hidden"}
    assert "hidden: 'Rates'" in view.notes
    assert "very hidden: 'Deep'" in view.notes
    assert any("6-14, 16-19" in note for note in view.notes)
    assert view.place(6) == {"part": "Parts", "row": 20, "part_item": 5}


def test_formulas_without_a_stored_value_are_said():
    """A formula whose result was never stored reads as empty, and a note names its cell."""
    view = open_book(fixture("stock.xlsx"))
    assert "All kinds: 1 formula has no stored value and reads as empty: B11" in view.notes
    many = "".join(make.row(n, b"><f>1+1</f>") for n in range(1, 9))
    assert (
        "8 formulas have no stored value and read as empty: A1, A2, A3, A4, A5 …"
        in open_book(make.xlsx({"S": many})).notes
    )


def test_values_of_every_kind(chat: Conversation):
    """Errors, booleans, long integers, shares, dates and durations are told exactly; SQL has dates as dates."""
    kinds = {cells[0]: cells[1:] for cells in (each["cells"] for each in items(open_book(fixture("stock.xlsx")))[7:17])}
    assert kinds["error"] == ["#DIV/0!"]
    assert kinds["true"] == [True]
    assert kinds["long"] == [9_007_199_254_740_993]
    assert kinds["moment"] == ["2023-03-15T12:00:00"]
    assert kinds["duration"] == ["25:30:00"]
    assert kinds["not available"] == ["#N/A"]
    blob = chat.attach(fixture("stock.xlsx"))["blob"]
    query = f'select sum(count), max(since), typeof(max(since)) from {blob}."Parts"'
    rows = chat.call("blob_code", {"blob": blob, "language": "sql", "code": query})["data"]["rows"]
    assert rows == [[490, "2023-04-04", "DATE"]]


def test_headers_are_told_from_data():
    """A first row of texts names the columns; equal names are told apart; a sheet of numbers goes by letters."""
    book = make.xlsx({
        "Named": make.row(1, "a", "a", None, "A") + make.row(2, 1, 2, 3, 4),
        "Bare": make.row(1, 1, 2) + make.row(2, 3, 4),
        "Far": '<row r="5"><c r="D5"><v>1</v></c></row>',
        "Lone": make.row(1, "title"),
    })  # fmt: skip
    view = open_book(book)
    columns = {part.name: [each.name for each in view.part(part.name).columns] for part in view.parts}
    assert columns["Named"][0] == "a"
    assert len({name.casefold() for name in columns["Named"]}) == 4
    assert (columns["Bare"], columns["Far"]) == (["A", "B"], ["D"])
    assert view.part("Lone").count == 1
    assert items(view.part("bare")) == [[1, 2], [3, 4]]


def test_merged_cells_hold_one_value():
    """A merged range has its value in its first cell; the others are empty."""
    sheet = make.row(1, "a", "b") + make.row(2, "x", None) + make.row(3, None, 2)
    content = make.xlsx({"S": sheet}).replace(
        b"</sheetData>", b'</sheetData><mergeCells count="1"><mergeCell ref="A2:B2"/></mergeCells>'
    )
    assert items(open_book(rezipped(content)).part("S")) == [["x", None], [None, 2]]


def rezipped(stored: bytes) -> bytes:
    """A zip whose stored members were edited in place, with right sizes and sums again."""
    members = {}
    for piece in stored.split(b"PK\x03\x04")[1:]:
        name_size, extra_size = int.from_bytes(piece[22:24], "little"), int.from_bytes(piece[24:26], "little")
        name = piece[26 : 26 + name_size].decode()
        content = piece[26 + name_size + extra_size :]
        members[name] = content.partition(b"PK\x01\x02")[0]
    return make.zipped(members)


def test_phantom_rows_cost_nothing(chat: Conversation):
    """A formatted cell in the last row of the last column is no row, in XLSX and in ODS."""
    sheet = make.row(1, "a") + make.row(2, 1) + '<row r="1048576"><c r="XFD1048576" s="4"/></row>'
    assert open_book(make.xlsx({"S": sheet})).count == 2
    cells = '<table:table-cell table:number-columns-repeated="16384"/>'
    blank = f'<table:table-row table:number-rows-repeated="1048570">{cells}</table:table-row>'
    assert open_book(make.ods({"S": make.ods_row(make.ods_cell("a")) + blank})).count == 1
    far = make.row(1, "a") + '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    handle = chat.attach(make.xlsx({"S": far, "T": make.row(1, "x", "y") + make.row(2, 1, 2)}))
    assert "too far apart" in " ".join(handle["preview"]["notes"])
    assert handle["items"] == 2


def test_what_is_encrypted_or_a_bomb_is_refused():
    """An encrypted workbook and one that unpacks without bound say so."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as book:
        with zipfile.ZipFile(io.BytesIO(make.xlsx({"S": make.row(1, "a")}))) as plain:
            for name in plain.namelist():
                book.writestr(name, plain.read(name))
        book.writestr("xl/worksheets/sheet9.xml", b" " * 40_000_000)
    with pytest.raises(UnreadableError, match="not unpacked"):
        open_book(sink.getvalue())
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "EncryptedPackage".encode("utf-16-le") + bytes(600)
    with pytest.raises(UnreadableError, match="encrypted"):
        open_book(ole)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04",
        b"PK\x03\x04" + bytes(100),
        fixture("members.zip"),
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000),
    ],
)
def test_what_is_no_workbook_is_unreadable(content):
    """Other zips and broken containers raise one kind of error."""
    with pytest.raises(UnreadableError):
        open_book(content)
    assert SpreadsheetReader().sniff(take_sample(BytesSource(content), None)).level == 0
