"""What the records of binary sheets (XLSB and XLS) say and the library does not: their errors, and how far they reach.

After the public specifications [MS-XLSB] 2.1 and [MS-XLS] 2.1, and [MS-CFB] 2 for the container of XLS. Whatever does
not fit them is passed over: the library judges whether a file is sound.
"""

import struct
from collections.abc import Iterator

from blobs.domain.errors import UnreadableError
from blobs.reading.source import Source
from previewers.sheet_xml import Oddities

_ERRORS = {
    0x00: "#NULL!",
    0x07: "#DIV/0!",
    0x0F: "#VALUE!",
    0x17: "#REF!",
    0x1D: "#NAME?",
    0x24: "#NUM!",
    0x2A: "#N/A",
    0x2B: "#GETTING_DATA",
}
_XLSB_ROW, _XLSB_CELLS, _XLSB_ERRORS, _XLSB_SHEET = 0, range(2, 12), (3, 11), 156
_BIFF_FORMULA, _BIFF_EOF, _BIFF_SHEET, _BIFF_ERROR = 0x0006, 0x000A, 0x0085, 0x0205
_BIFF_EXTENT, _BIFF_CELLS = 0x0200, frozenset((0x0006, 0x00BD, 0x00D6, 0x00FD, 0x0203, 0x0204, 0x0205, 0x027E))
_XLS_ROWS, _XLS_COLUMNS = 65_536, 256
_OLE_HEADER = struct.Struct("<30xHH14xI4xII4xII")
"""Sizes of sectors and of small ones, as powers of 2; the first sector of the directory; the size from which streams
are in whole sectors; the first sector of the links of small ones; the first further sector of tables, and how many."""
_ENDS = 0xFFFFFFFA
"""Sector numbers from here on are marks."""
_SECTORS_MAX = 2_000_000


def xlsb_oddities(content: bytes) -> Oddities:
    """The errors and the extent of a sheet of an XLSB."""
    found = Oddities()
    row = 0
    for kind, start, stop in _xlsb_records(content):
        if kind == _XLSB_ROW and stop - start >= 4:
            row = int.from_bytes(content[start : start + 4], "little")
        elif kind in _XLSB_CELLS and stop - start >= 4:
            column = int.from_bytes(content[start : start + 4], "little")
            found.rows, found.columns = max(found.rows, row + 1), max(found.columns, column + 1)
            if kind in _XLSB_ERRORS and stop - start >= 9:
                found.values[row, column] = _ERRORS.get(content[start + 8], "#ERROR!")
    return found


def xlsb_sheets(workbook: bytes) -> list[str]:
    """The relation identifiers of the sheets of an XLSB, in the workbook's order."""
    identities = []
    for kind, start, stop in _xlsb_records(workbook):
        if kind == _XLSB_SHEET and stop - start >= 12:
            length = int.from_bytes(workbook[start + 8 : start + 12], "little")
            identities.append(workbook[start + 12 : min(stop, start + 12 + 2 * length)].decode("utf-16-le", "replace"))
    return identities


def _xlsb_records(content: bytes) -> Iterator[tuple[int, int, int]]:
    """Kind, start and stop of each record: kind and length have 7 bits a byte, the kind at most 2 bytes of them."""
    at, end = 0, len(content)
    while at < end:
        kind = content[at]
        at += 1
        if kind & 0x80 and at < end:
            kind = (kind & 0x7F) | (content[at] & 0x7F) << 7
            at += 1
        length = shift = 0
        while at < end:
            byte = content[at]
            at += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80 or shift == 28:
                break
        yield kind, at, min(end, at + length)
        at += length


def xls_errors(source: Source) -> list[dict[tuple[int, int], str]]:
    """The errors of each sheet of an XLS, by row and column, in the workbook's order.

    Raises `UnreadableError` where cells lie beyond the largest sheet that there is: the library would ask for room for
    all that lies between, and the process would end.
    """
    stream = _ole_stream(source.buffer(), ("Workbook", "Book"))
    starts = []
    for kind, start, stop in _biff_records(stream, 0):
        if kind == _BIFF_EOF:
            break
        if kind == _BIFF_SHEET and stop - start >= 4:
            starts.append(int.from_bytes(stream[start : start + 4], "little"))
    return [_biff_errors(stream, start) for start in starts]


def _biff_errors(stream: bytes, begin: int) -> dict[tuple[int, int], str]:
    errors: dict[tuple[int, int], str] = {}
    depth = 0
    for kind, start, stop in _biff_records(stream, begin):
        depth += kind == 0x0809
        depth -= kind == _BIFF_EOF
        if depth <= 0:
            break
        code = None
        if depth == 1 and not _is_within(stream, kind, start, stop):
            raise UnreadableError("The workbook is damaged: a sheet reaches beyond the last row or column.")
        if depth == 1 and kind == _BIFF_ERROR and stop - start >= 8 and stream[start + 7] == 1:
            code = stream[start + 6]
        elif depth == 1 and kind == _BIFF_FORMULA and stop - start >= 14:
            is_error = stream[start + 12 : start + 14] == b"\xff\xff" and stream[start + 6] == 2
            code = stream[start + 8] if is_error else None
        if code is not None:
            row, column = struct.unpack_from("<HH", stream, start)
            errors[row, column] = _ERRORS.get(code, "#ERROR!")
    return errors


def _is_within(stream: bytes, kind: int, start: int, stop: int) -> bool:
    """A record tells of no cell that a sheet cannot have."""
    if kind == _BIFF_EXTENT and stop - start >= 12:
        top, bottom, left, right = struct.unpack_from("<IIHH", stream, start)
        return bool(top <= bottom <= _XLS_ROWS and left <= right <= _XLS_COLUMNS)
    if kind in _BIFF_CELLS and stop - start >= 4:
        return int.from_bytes(stream[start + 2 : start + 4], "little") < _XLS_COLUMNS
    return True


def _biff_records(stream: bytes, at: int) -> Iterator[tuple[int, int, int]]:
    while at + 4 <= len(stream):
        kind, length = struct.unpack_from("<HH", stream, at)
        yield kind, at + 4, min(len(stream), at + 4 + length)
        at += 4 + length


def _ole_stream(content: memoryview, names: tuple[str, ...]) -> bytes:
    """The first stream of one of these names in an OLE container; nothing where there is none or it is damaged."""
    if len(content) < 512:
        return b""
    shift, small_shift, first, cutoff, first_small, first_more, more = _OLE_HEADER.unpack_from(content)
    if not (shift in (9, 12) and small_shift == 6):
        return b""
    size = 1 << shift

    def sector(number: int) -> memoryview:
        return content[(number + 1) * size : (number + 2) * size]

    def numbers(data: bytes | memoryview) -> list[int]:
        return list(struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4]))

    tables = numbers(content[76:512])
    while more and first_more < _ENDS and len(tables) < _SECTORS_MAX:
        page = numbers(sector(first_more))
        tables.extend(page[:-1])
        more, first_more = more - 1, page[-1] if page else _ENDS
    links = [link for table in tables if table < _ENDS for link in numbers(sector(table))]
    pieces = [bytes(sector(each)) for each in _chain(first, links)]
    entries = [piece[at : at + 128] for piece in pieces for at in range(0, len(piece) - 127, 128)]
    found = next((each for name in names for each in entries if _entry_name(each) == name), None)
    root = next((each for each in entries if each[66] == 5), None)
    if found is None or root is None:
        return b""
    start, length = struct.unpack_from("<II", found, 116)
    if length >= cutoff:
        return b"".join(bytes(sector(each)) for each in _chain(start, links))[:length]
    small_links = [link for each in _chain(first_small, links) for link in numbers(sector(each))]
    small = b"".join(bytes(sector(each)) for each in _chain(struct.unpack_from("<I", root, 116)[0], links))
    return b"".join(small[each * 64 : each * 64 + 64] for each in _chain(start, small_links))[:length]


def _entry_name(entry: bytes) -> str:
    length = int.from_bytes(entry[64:66], "little")
    return entry[: max(0, min(length, 64) - 2)].decode("utf-16-le", "replace")


def _chain(number: int, links: list[int]) -> Iterator[int]:
    """The numbers that hang together from one on; a circle is left after one round."""
    for _ in range(len(links)):
        if number >= len(links):
            return
        yield number
        number = links[number]
