"""What the XML of an OpenDocument workbook says and the library that reads its values does not.

The library takes errors for empty texts or for zero. They are made plain texts in a copy of the file that it reads.
"""

import io
import re
import zipfile

from previewers.sheet_xml import Oddities

CONTENT = "content.xml"
_ERROR = rb"(?:#(?:DIV/0!|N/A|NAME\?|NULL!|NUM!|REF!|VALUE!)|Err:[0-9]{3})"
_ERROR_CELL = re.compile(rb"<table:table-cell\b([^>]*)>(?=\s*<text:p>%s</text:p>)" % _ERROR)
_VALUE = re.compile(rb"\s*\b(?:office|calcext):(?:string-)?(?:value|value-type)=[\"'][^\"']*[\"']")
_TABLE = re.compile(rb"<table:table\b")
_ROW = re.compile(rb"<table:table-row\b([^>]*?)(?:/>|>(.*?)</table:table-row>)", re.DOTALL)
_REPEATED_ROWS = re.compile(rb"\btable:number-rows-repeated=[\"']([0-9]{1,9})[\"']")
_REPEATED_COLUMNS = re.compile(rb"\btable:number-columns-repeated=[\"']([0-9]{1,9})[\"']")
_CELL = re.compile(rb"<table:(?:covered-)?table-cell\b([^>]*)")
_UNSTORED = re.compile(rb"<table:table-cell\b(?=[^>]*\btable:formula=)(?![^>]*\boffice:value-type=)[^>]*>")


def with_errors(archive: zipfile.ZipFile, content: bytes) -> io.BytesIO | None:
    """A copy of the workbook in which errors are texts, or None where it has none."""
    plain = _ERROR_CELL.sub(_as_text, content)
    if plain == content:
        return None
    copy = io.BytesIO()
    with zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as book:
        for member in archive.infolist():
            if member.filename.endswith((".xml", "mimetype")):
                book.writestr(member.filename, plain if member.filename == CONTENT else archive.read(member))
    copy.seek(0)
    return copy


def _as_text(match: re.Match[bytes]) -> bytes:
    attributes = _VALUE.sub(b"", match.group(1))
    return b"<table:table-cell" + attributes + b' office:value-type="string">'


def ods_oddities(content: bytes) -> list[Oddities]:
    """Formulas without a result, and the extent, of each sheet."""
    starts = [match.start() for match in _TABLE.finditer(content)]
    return [_oddities(content, start, stop) for start, stop in zip(starts, [*starts[1:], len(content)], strict=True)]


def _oddities(content: bytes, start: int, stop: int) -> Oddities:
    found = Oddities()
    row = 0
    for match in _ROW.finditer(content, start, stop):
        row += _repeated(_REPEATED_ROWS, match.group(1))
        body = match.group(2) or b""
        if b"office:value-type" in body:
            found.rows = row
            cells = _CELL.findall(body)
            while cells and b"office:value-type" not in cells[-1]:
                cells.pop()
            found.columns = max(found.columns, sum(_repeated(_REPEATED_COLUMNS, each) for each in cells))
        if b"table:formula" in body:
            found.formulas += len(_UNSTORED.findall(body))
    return found


def _repeated(pattern: re.Pattern[bytes], attributes: bytes) -> int:
    found = pattern.search(attributes)
    return int(found.group(1)) if found is not None else 1
