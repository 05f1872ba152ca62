"""What the XML of a sheet (XLSX) says and the library that reads its values does not.

Errors such as `#DIV/0!`, numbers of more digits than a float holds, and formulas whose result was never stored. These
are looked for with expressions over the bytes, block by block, at a fraction of the cost of parsing: an ordinary sheet
has none of them. Also how far the values reach, because the library's memory grows with that rectangle.
"""

import functools
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from html import unescape
from typing import IO, Any

from blobs.domain.exact_json import Number
from previewers.sheet_rows import column_letters, column_place

SPARSE_CELLS_MAX = 20_000_000
"""The largest rectangle of cells that is read: it is held in memory whole, at 24 to 32 bytes a cell."""

_BLOCK_BYTES = 1024 * 1024
_ROW_BYTES_MAX = 64 * 1024 * 1024
_HEAD_BYTES = 4096
_ROOT = re.compile(rb"<((?:\w+:)?)worksheet\b")
_REFERENCE = re.compile(rb"\br=[\"']([A-Z]{1,3})([0-9]{1,7})[\"']")
_NUMBER = re.compile(rb"\br=[\"']([0-9]{1,7})[\"']")
_TYPE = re.compile(rb"\bt=[\"'](\w+)[\"']")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?\Z")
_FLOAT_DIGITS = 17
_INTEGER_CHARS_MAX = 300  # the most that a float reaches
_NAMED_MAX = 5


@dataclass
class Oddities:
    """Values by row and column (from 0), formulas without a result, and the last row and column with a value."""

    values: dict[tuple[int, int], Any] = field(default_factory=dict)
    formulas: int = 0
    named: list[str] = field(default_factory=list)
    """The first cells of such formulas."""
    rows: int = 0
    columns: int = 0


def sheet_members(book: zipfile.ZipFile) -> list[str]:
    """The members of the sheets of a workbook, in its order; "" where a sheet is in none."""
    workbook = next((name for name in book.namelist() if re.fullmatch(r"xl/workbook\d*\.xml", name)), None)
    if workbook is None:
        return []
    identities = [
        next((value for name, value in sheet.attrib.items() if name.endswith("}id")), "")
        for sheet in _elements(book, workbook, "sheet")
    ]
    return linked_members(book, workbook, identities)


def linked_members(book: zipfile.ZipFile, workbook: str, identities: list[str]) -> list[str]:
    """The members that the workbook's relations name by these identifiers; "" where there is none."""
    links = "xl/_rels/" + workbook.removeprefix("xl/") + ".rels"
    targets = {each.get("Id"): each.get("Target") or "" for each in _elements(book, links, "Relationship")}
    found = [targets.get(each, "") for each in identities]
    return [target.removeprefix("/") if target.startswith("/") else target and f"xl/{target}" for target in found]


def _elements(book: zipfile.ZipFile, member: str, name: str) -> Iterator[Any]:
    from lxml import etree  # only once a file is opened

    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    elements: Iterator[Any] = etree.fromstring(book.read(member), parser).iter(f"{{*}}{name}")
    return elements


def oddities(sheet: IO[bytes]) -> Oddities:
    """Read the XML of a sheet once for what is odd in it."""
    found = Oddities()
    prefix: bytes | None = None
    rows_before = 0
    for block in _blocks(sheet):
        if prefix is None:
            root = _ROOT.search(block[:_HEAD_BYTES])
            prefix = root.group(1) if root is not None else b""
        _Block(block, _Patterns.of(prefix), rows_before).look(found)
        rows_before += len(_Patterns.of(prefix).row.findall(block))
    return found


def _blocks(sheet: IO[bytes]) -> Iterator[bytes]:
    """The XML in blocks that end with the end of a row."""
    rest = b""
    while chunk := sheet.read(_BLOCK_BYTES):
        rest += chunk
        end = rest.rfind(b"row>")
        if end >= 0:
            yield rest[: end + 4]
            rest = rest[end + 4 :]
        elif len(rest) > _ROW_BYTES_MAX:
            return
    yield rest


@dataclass(frozen=True)
class _Patterns:
    """The expressions for a document whose elements have this prefix."""

    formula_start: bytes
    row: re.Pattern[bytes]
    cell: re.Pattern[bytes]
    column: re.Pattern[bytes]
    filled: re.Pattern[bytes]
    error: re.Pattern[bytes]
    formula: re.Pattern[bytes]
    digits: re.Pattern[bytes]

    @staticmethod
    @functools.cache
    def of(prefix: bytes) -> "_Patterns":
        p = re.escape(prefix)
        formula = rb"<%sf\b[^>]*(?:/>|>[^<]*</%sf>)\s*" % (p, p)
        return _Patterns(
            formula_start=b"<" + prefix + b"f",
            row=re.compile(rb"<%srow\b" % p),
            cell=re.compile(rb"<%sc\b([^>]*)>" % p),
            column=re.compile(rb"<%sc r=\"([A-Z]{1,3})" % p),
            filled=re.compile(rb"<%sc\b[^>]*?\br=[\"']([A-Z]{1,3})([0-9]{1,7})[\"'][^>]*(?<!/)>(?!\s*</)" % p),
            error=re.compile(rb"<%sc\b([^>]*\bt=[\"']e[\"'][^>]*)>\s*(?:%s)?<%sv>([^<]*)</%sv>" % (p, formula, p, p)),
            formula=re.compile(
                rb"<%sc\b([^>]*)>\s*%s(?:<%sv\s*/>|<%sv>\s*</%sv>)?\s*</%sc>" % (p, formula, p, p, p, p)
            ),
            digits=re.compile(rb"<%sc\b([^>]*)>\s*(?:%s)?<%sv>\s*(-?[0-9][0-9.]{15,})\s*</%sv>" % (p, formula, p, p)),
        )


class _Block:
    """Some rows of a sheet's XML."""

    def __init__(self, xml: bytes, patterns: _Patterns, rows_before: int) -> None:
        self._xml, self._patterns, self._rows_before = xml, patterns, rows_before

    def look(self, found: Oddities) -> None:
        """Add what is odd here."""
        self._measure(found)
        if self._patterns.formula_start in self._xml:
            for match in self._patterns.formula.finditer(self._xml):
                self._formula(match, found)
        if b't="e"' in self._xml or b"t='e'" in self._xml:
            for match in self._patterns.error.finditer(self._xml):
                found.values[self._position(match)] = unescape(match.group(2).decode("utf-8", "replace")).strip()
        for match in self._patterns.digits.finditer(self._xml):
            value = _exact(match.group(2).decode("ascii"))
            if value is not None and _type(match.group(1)) in ("", "n"):
                found.values[self._position(match)] = value

    def _measure(self, found: Oddities) -> None:
        """Note how far values reach, roughly; exactly where that would be too far."""
        columns = {column_place(each.decode()) for each in set(self._patterns.column.findall(self._xml))}
        starts = [match.end() for match in self._patterns.row.finditer(self._xml)]
        number = _NUMBER.search(self._xml, starts[-1], self._xml.find(b">", starts[-1]) + 1) if starts else None
        row = int(number.group(1)) if number is not None else self._rows_before + len(starts)
        if row * max([found.columns, *(each + 1 for each in columns)], default=0) > SPARSE_CELLS_MAX:
            for letters, digits in set(self._patterns.filled.findall(self._xml)):
                found.rows = max(found.rows, int(digits))
                found.columns = max(found.columns, column_place(letters.decode()) + 1)
            return
        found.rows = max(found.rows, row)
        found.columns = max([found.columns, *(each + 1 for each in columns)])

    def _formula(self, match: re.Match[bytes], found: Oddities) -> None:
        if _type(match.group(1)) == "str":
            return  # its result is the empty text
        found.formulas += 1
        if len(found.named) < _NAMED_MAX:
            row, column = self._position(match)
            found.named.append(f"{column_letters(column)}{row + 1}")

    def _position(self, match: re.Match[bytes]) -> tuple[int, int]:
        """Row and column of a cell, counted from its neighbours where it does not say so itself."""
        reference = _REFERENCE.search(match.group(1))
        if reference is not None:
            return int(reference.group(2)) - 1, column_place(reference.group(1).decode())
        rows = list(self._patterns.row.finditer(self._xml, 0, match.start()))
        begin = rows[-1].end() if rows else 0
        number = _NUMBER.search(self._xml, begin, self._xml.find(b">", begin) + 1)
        row = int(number.group(1)) - 1 if number is not None else self._rows_before + len(rows) - 1
        column = -1
        for cell in self._patterns.cell.finditer(self._xml, begin, match.start() + 1):
            reference = _REFERENCE.search(cell.group(1))
            column = column_place(reference.group(1).decode()) if reference is not None else column + 1
        return max(row, 0), column + 1


def _type(attributes: bytes) -> str:
    found = _TYPE.search(attributes)
    return found.group(1).decode("ascii", "replace") if found is not None else ""


def _exact(text: str) -> int | Number | None:
    """The number if a float is another one: whole numbers of 16 digits and more, others of 18 and more."""
    if not _DECIMAL.match(text) or Decimal(text) == Decimal(repr(float(text))):
        return None
    if "." not in text:
        return int(text) if len(text) < _INTEGER_CHARS_MAX else None
    digits = text.lstrip("-0.").replace(".", "")
    return Number(text) if len(digits) > _FLOAT_DIGITS else None  # spreadsheets write 17 digits of every float
