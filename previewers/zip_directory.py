"""The directory of a zip archive: found at its end, or gathered from the members themselves where the end is missing.

Names and numbers of fields are those of APPNOTE.TXT 6.3.10. Entries are taken apart when they are asked for, so that
an archive of a hundred thousand members costs a hundred thousand numbers.
"""

import struct
import zlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass

from blobs.domain.errors import UnreadableError
from blobs.domain.limits import MIB
from blobs.reading.reader import Sample
from blobs.reading.source import Source

LOCAL, CENTRAL, END, DESCRIPTOR = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"PK\x07\x08"
_END64, _LOCATOR64 = b"PK\x06\x06", b"PK\x06\x07"
_LOCAL_RECORD = struct.Struct("<4sHHHHHIIIHH")
_CENTRAL_RECORD = struct.Struct("<4sHHHHHHIIIHHHHHII")
_END_RECORD = struct.Struct("<4sHHHHIIH")
_END64_RECORD = struct.Struct("<4sQHHIIQQQQ")
_TAIL_BYTES = _END_RECORD.size + 65_535
_ZIP64_EXTRA, _UNICODE_PATH_EXTRA = 0x0001, 0x7075
_FULL32 = 0xFFFF_FFFF
HAS_DESCRIPTOR = 0x0008
_DEFLATED = 8
_SCAN_BYTES = 1 * MIB
_MEASURED_BYTES_MAX = 256 * MIB
"""Of all members whose sizes are missing; after that their ends are searched for instead of unpacked to."""


@dataclass(frozen=True, slots=True)
class ZipEntry:
    """A member as its header has it. `unicode_name` is the name in the UTF-8 field, if there is a valid one."""

    raw_name: bytes
    made_by: int
    flags: int
    method: int
    time: int
    date: int
    checksum: int
    packed: int
    size: int
    attributes: int
    header_at: int
    unicode_name: str | None = None


class ZipDirectory:
    """The entries of a zip archive, in the order of its directory.

    `problem` says why they were gathered from the members' own headers, or what is wrong with the directory. Raises
    `UnreadableError` where there are none to be found.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._data = source.buffer()
        self._places = array("Q")
        self._found: list[ZipEntry] = []
        self._shift = 0
        self.comment_bytes = 0
        self.problem = ""
        if not self._read_directory():
            self._found = list(_gathered(source))
            if not self._found:
                raise UnreadableError("The zip archive is damaged: it has no directory and no members.")
            self.problem = "cut short or damaged: its directory is missing, so the members found before that are listed"

    def __len__(self) -> int:
        return len(self._found) or len(self._places)

    def __getitem__(self, place: int) -> ZipEntry:
        return self._found[place] if self._found else self._central_entry(self._places[place])

    def header_at(self, entry: ZipEntry) -> int:
        """Where the header of a member is: told places do not count the bytes that were put before an archive."""
        return entry.header_at + self._shift

    def content_at(self, entry: ZipEntry) -> int:
        """Where the bytes of a member begin; raises `UnreadableError` where its header is not there."""
        at = self.header_at(entry)
        raw = self._source.read(at, at + _LOCAL_RECORD.size) if 0 <= at < self._source.size else b""
        if len(raw) < _LOCAL_RECORD.size or raw[:4] != LOCAL:
            raise UnreadableError("The zip archive is damaged: the header of this member is not where it should be.")
        *_, name_bytes, extra_bytes = _LOCAL_RECORD.unpack(raw)
        return at + _LOCAL_RECORD.size + int(name_bytes) + int(extra_bytes)

    def _read_directory(self) -> bool:
        """Find the directory by the record at the end; False where there is none that could be read."""
        start = max(0, self._source.size - _TAIL_BYTES)
        tail = self._source.read(start, self._source.size)
        at = len(tail)
        while (at := tail.rfind(END, 0, at)) >= 0:
            if at + _END_RECORD.size > len(tail):
                continue
            *_, told, size, offset, self.comment_bytes = _END_RECORD.unpack_from(tail, at)
            stop = start + at
            told, size, offset, stop = self._as_zip64(told, size, offset, stop)
            for begin in (stop - size, offset):
                if 0 <= begin <= stop and self._walk(begin, stop, told):
                    self._shift = begin - offset
                    return True
        return False

    def _as_zip64(self, told: int, size: int, offset: int, stop: int) -> tuple[int, int, int, int]:
        """Count, size and place of the directory and where it ends, by the record of large archives if there is one."""
        locator = self._source.read(stop - 20, stop) if stop >= 20 else b""
        if locator[:4] != _LOCATOR64 or (told != 0xFFFF and _FULL32 not in (size, offset)):
            return told, size, offset, stop
        (place,) = struct.unpack_from("<Q", locator, 8)
        for at in (place, stop - 20 - _END64_RECORD.size):
            raw = self._source.read(at, at + _END64_RECORD.size) if 0 <= at < self._source.size else b""
            if raw[:4] == _END64 and len(raw) == _END64_RECORD.size:
                *_, told, size, offset = _END64_RECORD.unpack(raw)
                return told, size, offset, at
        return told, size, offset, stop

    def _walk(self, begin: int, stop: int, told: int) -> bool:
        """Note where each entry is. The number of entries that the end record tells wraps at 65,536."""
        places, at, data = array("Q"), begin, self._data
        while at + _CENTRAL_RECORD.size <= stop and data[at : at + 4] == CENTRAL:
            name_bytes, extra_bytes, comment_bytes = struct.unpack_from("<HHH", data, at + 28)
            after = at + _CENTRAL_RECORD.size + name_bytes + extra_bytes + comment_bytes
            if after > stop:
                break
            places.append(at)
            at = after
        if not places and (told or begin != stop):
            return False
        if len(places) & 0xFFFF != told & 0xFFFF:
            self.problem = f"damaged: its directory should have {told} members, {len(places)} can be read"
        self._places = places
        return True

    def _central_entry(self, at: int) -> ZipEntry:
        record = _CENTRAL_RECORD.unpack_from(self._data, at)
        _, made_by, _, flags, method, time, date, checksum, packed, size = record[:10]
        name_bytes, extra_bytes, _, _, _, attributes, header_at = record[10:]
        name_at = at + _CENTRAL_RECORD.size
        raw_name = bytes(self._data[name_at : name_at + name_bytes])
        unicode_name = None
        if extra_bytes:
            extra = bytes(self._data[name_at + name_bytes : name_at + name_bytes + extra_bytes])
            size, packed, header_at = _with_zip64(extra, size, packed, header_at)
            unicode_name = _unicode_name(extra, raw_name)
        return ZipEntry(
            raw_name, made_by, flags, method, time, date, checksum, packed, size, attributes, header_at, unicode_name
        )


def ends_as_archive(sample: Sample) -> bool:
    """The bytes end with the record of an archive whose directory has room before it, whatever they begin with."""
    at = sample.tail.rfind(END)
    if at < 0 or at + _END_RECORD.size > len(sample.tail):
        return False
    _, disk, first_disk, here, told, size, offset, comment_bytes = _END_RECORD.unpack_from(sample.tail, at)
    left = len(sample.tail) - at
    is_at_end = left == _END_RECORD.size + comment_bytes
    return bool(is_at_end and disk == first_disk == 0 and 0 < here == told and size + offset <= sample.size - left)


def _fields(extra: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, at)
        yield kind, extra[at + 4 : at + 4 + size]
        at += 4 + size


def _with_zip64(extra: bytes, size: int, packed: int, header_at: int) -> tuple[int, int, int]:
    """The numbers that do not fit 32 bits, which are in a field of their own, only those and in this order."""
    values = [size, packed, header_at]
    if _FULL32 not in values:
        return size, packed, header_at
    raw = next((raw for kind, raw in _fields(extra) if kind == _ZIP64_EXTRA), b"")
    at = 0
    for place, value in enumerate(values):
        if value == _FULL32 and at + 8 <= len(raw):
            (values[place],) = struct.unpack_from("<Q", raw, at)
            at += 8
    return values[0], values[1], values[2]


def _unicode_name(extra: bytes, raw_name: bytes) -> str | None:
    """The UTF-8 name that some programs write beside the old one; it counts only with the checksum of that."""
    raw = next((raw for kind, raw in _fields(extra) if kind == _UNICODE_PATH_EXTRA), b"")
    if len(raw) < 6 or raw[0] != 1 or int.from_bytes(raw[1:5], "little") != zlib.crc32(raw_name):
        return None
    try:
        return raw[5:].decode()
    except UnicodeDecodeError:
        return None


# Without a directory


def _gathered(source: Source) -> Iterator[ZipEntry]:
    """Entries by the header before each member, as far as one follows the other."""
    at = _next_header(source, 0)
    budget_bytes = _MEASURED_BYTES_MAX
    while at is not None:
        raw = source.read(at, at + _LOCAL_RECORD.size)
        if len(raw) < _LOCAL_RECORD.size:
            return
        _, _, flags, method, time, date, checksum, packed, size, name_bytes, extra_bytes = _LOCAL_RECORD.unpack(raw)
        name_at = at + _LOCAL_RECORD.size
        raw_name = source.read(name_at, name_at + name_bytes)
        extra = source.read(name_at + name_bytes, name_at + name_bytes + extra_bytes)
        start = name_at + name_bytes + extra_bytes
        if len(raw_name) < name_bytes:
            return
        size, packed, _ = _with_zip64(extra, size, packed, 0)
        if flags & HAS_DESCRIPTOR and not packed:
            packed, size, checksum = _measured(source, start, method, budget_bytes)
            budget_bytes -= size
        yield ZipEntry(
            raw_name, 0, flags, method, time, date, checksum, packed, size, 0, at, _unicode_name(extra, raw_name)
        )
        at = _next_header(source, start + packed)


def _next_header(source: Source, at: int) -> int | None:
    """The next header of a member, right here or after a descriptor."""
    while at < source.size:
        block = source.read(at, at + _SCAN_BYTES)
        found = block.find(LOCAL)
        directory = block.find(CENTRAL)
        if found >= 0 and not 0 <= directory < found:
            return at + found
        if directory >= 0 or len(block) < 4:
            return None
        at += max(1, len(block) - 3)
    return None


def _measured(source: Source, start: int, method: int, budget_bytes: int) -> tuple[int, int, int]:
    """Packed size, size and checksum of a member that has them only after its bytes."""
    if method != _DEFLATED or budget_bytes <= 0:
        after = _next_header(source, start)
        packed = (source.size if after is None else after) - start
        return packed, packed, 0
    decoder, at, size, checksum = zlib.decompressobj(-15), start, 0, 0
    try:
        while not decoder.eof and at < source.size and size < budget_bytes:
            block = decoder.unconsumed_tail or source.read(at, at + _SCAN_BYTES)
            at += 0 if decoder.unconsumed_tail else len(block)
            chunk = decoder.decompress(block, _SCAN_BYTES)
            size += len(chunk)
            checksum = zlib.crc32(chunk, checksum)
    except zlib.error:
        return source.size - start, size, 0
    return at - len(decoder.unused_data) - start, size, checksum if decoder.eof else 0
