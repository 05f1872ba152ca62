"""Which kind of workbook bytes are, and whether it is safe to unpack them."""

import re
import zipfile

from blobs.domain.errors import UnreadableError
from blobs.domain.limits import MIB
from blobs.reading.reader import Confidence, Sample
from blobs.reading.source import Source
from previewers.parsing import parsing

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
XLSM = "application/vnd.ms-excel.sheet.macroenabled.12"
XLSB = "application/vnd.ms-excel.sheet.binary.macroenabled.12"
XLS = "application/vnd.ms-excel"
ODS = "application/vnd.oasis.opendocument.spreadsheet"
TYPES = (XLSX, XLSM, XLSB, XLS, ODS)

UNPACKED_BYTES_MAX = 512 * MIB
"""The most that the parts of a workbook may unpack to: a cell has 1 GiB."""
RATIO_MAX = 200
"""A part that unpacks to more than so many times its size is refused: sheets reach 10 to 50, bombs 1,000."""
RATIO_FREE_BYTES = 32 * MIB
"""Up to here any ratio is let through."""

_ZIP = b"PK\x03\x04"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_FIRST_MEMBERS = (b"[Content_Types].xml", b"_rels/", b"xl/", b"docProps/", b"customXml/")
_MEMBER = re.compile(
    rb"(?:PK\x03\x04.{26}|PK\x01\x02.{42})(?:xl/|/xl/)(workbook\d*\.|worksheets/|vbaProject\.bin)([\w.]*)", re.DOTALL
)
_BIFF_STARTS = (b"\x09\x08\x10\x00", b"\x09\x08\x08\x00")


def recognise(sample: Sample) -> Confidence:
    """The signature of the container and the members or streams that only a workbook has."""
    if sample.head.startswith(_ZIP):
        return _recognise_zip(sample.head, sample.tail)
    if sample.head.startswith(_OLE):
        return _recognise_ole(sample)
    return Confidence.NO


def _recognise_zip(head: bytes, tail: bytes) -> Confidence:
    if head[30:38] == b"mimetype" and ODS.encode() in head[38:200]:
        return Confidence(100, ODS)
    if not head[30:].startswith(_FIRST_MEMBERS):
        return Confidence.NO
    members = {(kind, rest) for kind, rest in _MEMBER.findall(head + tail)}
    if not any(kind != b"vbaProject.bin" for kind, _ in members):
        return Confidence.NO
    if any(rest.endswith(b"bin") for kind, rest in members if kind.startswith((b"workbook", b"worksheets"))):
        return Confidence(100, XLSB)
    return Confidence(100, XLSM if any(kind == b"vbaProject.bin" for kind, _ in members) else XLSX)


def _recognise_ole(sample: Sample) -> Confidence:
    """Old Office formats share a container; the names of its streams, in UTF-16, tell them apart."""
    seen = sample.head + sample.tail
    if _wide("WordDocument") in seen or _wide("PowerPoint Document") in seen:
        return Confidence.NO
    if _wide("EncryptedPackage") in seen:
        return Confidence(60, XLSX)
    if _wide("Workbook") in seen or sample.head[512:516] in _BIFF_STARTS:
        return Confidence(100, XLS)
    if _wide("Book") in seen:
        return Confidence(90, XLS)
    return Confidence(20, XLS) if sample.declared_type == XLS else Confidence.NO


def _wide(name: str) -> bytes:
    return name.encode("utf-16-le") + b"\0\0"


def opened_zip(source: Source) -> zipfile.ZipFile | None:
    """The workbook as a zip, None where it is none; raises `UnreadableError` for one that is not safe to unpack."""
    if source.read(0, 4) != _ZIP:
        return None
    with parsing("workbook"):
        book = zipfile.ZipFile(source.path or source.open())  # a path, so that it is closed with the book
        members = [each for each in book.infolist() if each.filename.endswith((".xml", ".bin", ".rels"))]
        for each in members:
            if each.file_size > RATIO_FREE_BYTES and each.file_size > RATIO_MAX * max(1, each.compress_size):
                raise UnreadableError(
                    f"The workbook is not unpacked: {each.filename[:80]} would be {each.file_size:,} bytes,"
                    f" {each.file_size // max(1, each.compress_size):,} times what is packed."
                )
        total = sum(each.file_size for each in members)
        if total > UNPACKED_BYTES_MAX:
            raise UnreadableError(f"The workbook is not unpacked: it would be {total:,} bytes.")
        if any(each.flag_bits & 1 for each in members):
            raise encrypted()
    return book


def encrypted() -> UnreadableError:
    """The error for a workbook that needs a password."""
    return UnreadableError("The workbook is encrypted and needs a password.", hint="Ask for a copy without a password.")


def is_encrypted(source: Source) -> bool:
    """The container is that of an encrypted Office document."""
    if source.read(0, len(_OLE)) != _OLE:
        return False
    ends = source.read(0, 64 * 1024) + source.read(max(0, source.size - 64 * 1024), source.size)
    return _wide("EncryptedPackage") in ends
