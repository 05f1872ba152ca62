"""Zip archives, and the formats that are zip archives: members as rows, each file by its name as a part."""

import bz2
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from blobs.domain.errors import UnreadableError
from blobs.domain.ranges import ItemRange
from blobs.reading.inside import InsideReader, PieceSource, unpack
from blobs.reading.reader import Column, Confidence, Sample
from blobs.reading.source import Source
from previewers.archive import FILE, FOLDER, LINK, ArchiveView, Content, Member
from previewers.archive_names import LABELS, codec_of, decoded, is_utf8
from previewers.decompression import Decoder, Unpacking, decoder_of
from previewers.zip_directory import CENTRAL, END, LOCAL, ZipDirectory, ZipEntry, ends_as_archive

ZIP = "application/zip"
_OFFICE = "application/vnd.openxmlformats-officedocument."
_BY_MEMBER = (
    (b"word/", _OFFICE + "wordprocessingml.document"),
    (b"ppt/", _OFFICE + "presentationml.presentation"),
    (b"xl/workbook.bin", "application/vnd.ms-excel.sheet.binary.macroenabled.12"),
    (b"xl/", _OFFICE + "spreadsheetml.sheet"),
    (b"AndroidManifest.xml", "application/vnd.android.package-archive"),
    (b"META-INF/MANIFEST.MF", "application/java-archive"),
)
"""What a format is told by that is a zip archive: the first of these that a member's name begins with."""

_OFFICE_MARK = b"[Content_Types].xml"
_MIMETYPE = b"mimetype"
_TYPE_TEXT = re.compile(rb"application/[a-z0-9.+-]{1,100}")
_FOREIGN_LEVEL = 90
"""Of a format with a type of its own: below a reader that knows it better."""

_APPENDED_LEVEL = 50
"""Of an archive behind other bytes: below whatever has a signature of its own at the front."""

_STORED, _DEFLATED, _DEFLATED64, _BZIP2, _LZMA, _ZSTD, _XZ, _AES = 0, 8, 9, 12, 14, 93, 95, 99
_METHODS = {1: "shrink", 6: "implode", _DEFLATED64: "deflate64", 96: "JPEG", 97: "WavPack", 98: "PPMd", _AES: "AES"}
_UNPACKED = frozenset({_STORED, _DEFLATED, _BZIP2, _LZMA, _ZSTD, _XZ})
_ENCRYPTED, _IS_UTF8 = 0x0001, 0x0800
_UNIX, _MAC = 3, 19
_LINK_TARGET_BYTES_MAX = 4096
_ADVICE = 'Read it in pieces with blob_code, language "python" (zipfile).'


class ZipReader(InsideReader):
    """Zip archives."""

    name = "zip"
    media_types = (ZIP,)
    aliases = ("application/x-zip-compressed", "application/x-zip", "application/zip-compressed")

    def sniff(self, sample: Sample) -> Confidence:
        """By the signature of the first member, or of the end of an archive without any; its type by what it holds.

        An archive may lie behind other bytes, as in a program that unpacks itself: then by the record at its end.
        """
        head = sample.head
        if head[:4] == END:
            return Confidence(100, ZIP) if len(head) >= 22 else Confidence.NO
        spanned = 4 if head[:4] in (b"PK\x07\x08", b"PK00") else 0  # an archive once cut in pieces, now one
        if head[spanned : spanned + 4] != LOCAL or len(head) < spanned + 30:
            return Confidence(_APPENDED_LEVEL, ZIP) if ends_as_archive(sample) else Confidence.NO
        media_type = _type_of(sample)
        return Confidence(100 if media_type == ZIP else _FOREIGN_LEVEL, media_type)

    def open(self, source: Source) -> "ZipView":
        """The members; raises `UnreadableError` where there is neither a directory nor a member."""
        return ZipView(self, source)


class ZipView(ArchiveView):
    """The members of a zip archive, in the order of its directory."""

    def __init__(self, reader: InsideReader, source: Source) -> None:
        super().__init__(reader, source)
        self._directory = ZipDirectory(source)
        self.count = len(self._directory)
        self.columns = [
            Column("name"),
            Column("size", "BIGINT"),
            Column("compressed_size", "BIGINT"),
            Column("modified"),
            Column("kind"),
        ]
        self._codec = self._chosen_codec()
        if self._directory.problem:
            self.notes.append(self._directory.problem)
        self._survey()
        self._note_layout()

    def member(self, place: int) -> Member:
        """The member as its entry in the directory tells it."""
        entry = self._directory[place]
        name = self._name(entry)
        return Member(name, entry.size, _kind(entry, name), _modified(entry), entry.packed)

    def items(self, span: ItemRange) -> Iterator[list[Any]]:
        """The members of the range as rows."""
        for place in range(span.start, min(span.stop, self.count or 0)):
            member = self.member(place)
            yield [member.name, member.size, member.packed, member.modified, member.kind]

    def content(self, place: int) -> Content:
        """The bytes of a file. What is stored as it is is not copied, the rest unpacked within bounds."""
        entry = self._directory[place]
        name = repr(self._name(entry)[:120])
        if entry.flags & _ENCRYPTED:
            raise UnreadableError(
                f"The member {name} is encrypted.", hint="Ask for a copy that is not encrypted.", code="encrypted"
            )
        start = self._directory.content_at(entry)
        packed = PieceSource(self._source, start, start + entry.packed)
        notes = []
        if packed.size < entry.packed:
            notes.append(f"cut short: {packed.size} of its {entry.packed} compressed bytes are there")
        if entry.method == _STORED:
            return Content(packed, (*notes, *self._checked(entry, packed)))
        unpacking = Unpacking(packed, *_decoding(packed, entry.method, name))
        noun = f"member {name}"
        inner = unpack(unpacking, packed_bytes=packed.size, outer=self._source, noun=noun, advice=_ADVICE)
        if unpacking.problem:
            if not inner.size:
                raise UnreadableError(f"The member {name} is {unpacking.problem}.")
            notes.append(f"the member is {unpacking.problem}; this is what comes before that")
        elif not notes:
            notes.extend(self._checked(entry, inner))
        return Content(inner, tuple(notes))

    def is_readable(self, place: int) -> bool:
        """Whether a file is neither encrypted nor compressed in a way that nothing here unpacks."""
        entry = self._directory[place]
        return not entry.flags & _ENCRYPTED and entry.method in _UNPACKED

    def link_target(self, place: int) -> str:
        """What a link points to: the content of its member."""
        try:
            raw = self.content(place).source.read(0, _LINK_TARGET_BYTES_MAX)
        except UnreadableError:
            return ""
        return decoded(raw, self._codec)

    def _note_layout(self) -> None:
        """What is odd about how the members lie: behind other bytes, several over the same bytes, or encrypted."""
        encrypted, packed, start = 0, 0, self._source.size
        for place in range(self.count or 0):
            entry = self._directory[place]
            encrypted += entry.flags & _ENCRYPTED
            packed += entry.packed
            start = min(start, self._directory.header_at(entry))
        if 0 < start < self._source.size:
            self.notes.append(f"the archive begins after {start} other bytes")
        if packed > self._source.size:
            self.notes.append("the members overlap: together they claim more bytes than the archive has")
        if encrypted:
            self.notes.append(f"encrypted: {encrypted} of {self.count} members can be listed, but not read")

    def _checked(self, entry: ZipEntry, content: Source) -> Iterator[str]:
        """What the directory says otherwise of the content."""
        if content.size != entry.size:
            yield f"holds {content.size} bytes, not the {entry.size} that the archive says"
        elif entry.checksum and zlib.crc32(content.buffer()) != entry.checksum:
            yield "damaged: its checksum is not the one in the archive"

    def _chosen_codec(self) -> str:
        """The code page of the names that say none, by all of them; a note if it is a guess."""
        unsaid = [
            entry.raw_name
            for entry in (self._directory[place] for place in range(self.count or 0))
            if not entry.flags & _IS_UTF8 and entry.unicode_name is None and not is_utf8(entry.raw_name)
        ]
        if not unsaid:
            return "cp437"
        codec = codec_of(unsaid)
        noun = "name is" if len(unsaid) == 1 else "names are"
        self.notes.append(f"{len(unsaid)} {noun} not UTF-8, decoded as {LABELS[codec]}")
        return codec

    def _name(self, entry: ZipEntry) -> str:
        return entry.unicode_name or decoded(entry.raw_name, self._codec)


def _decoding(packed: PieceSource, method: int, name: str) -> tuple[int, int, Callable[[], Decoder]]:
    """From where to where a member's bytes are unpacked, and with what."""
    if method == _DEFLATED:
        return 0, packed.size, decoder_of("deflate")
    if method == _BZIP2:
        return 0, packed.size, bz2.BZ2Decompressor
    if method == _ZSTD:
        return 0, packed.size, decoder_of("zstd")
    if method == _XZ:
        return 0, packed.size, decoder_of("xz")
    if method == _LZMA:
        return _lzma_decoding(packed)
    called = _METHODS.get(method, f"number {method}")
    raise UnreadableError(f"The member {name} is compressed with {called}, which cannot be unpacked here.")


def _lzma_decoding(packed: PieceSource) -> tuple[int, int, Callable[[], Decoder]]:
    """LZMA as zip has it (APPNOTE 5.8.8): two bytes of version, the size of the properties, the properties."""
    head = packed.read(0, 9)
    properties, dictionary = head[4:5], int.from_bytes(head[5:9], "little")
    if head[2:4] != b"\x05\x00" or not properties or properties[0] >= 225:
        raise UnreadableError("The LZMA properties of this member are damaged.")
    bits, literal = divmod(properties[0], 9)
    filters = [
        {
            "id": lzma.FILTER_LZMA1,
            "lc": literal,
            "lp": bits % 5,
            "pb": bits // 5,
            "dict_size": max(4096, min(dictionary, 128 << 20)),
        }
    ]
    return 9, packed.size, lambda: lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters)


def _kind(entry: ZipEntry, name: str) -> str:
    mode = entry.attributes >> 16
    if entry.made_by >> 8 in (_UNIX, _MAC) and mode & 0xF000 == 0xA000:
        return LINK
    if name.endswith("/") or (entry.attributes & 0x10 and not entry.size and not entry.packed):
        return FOLDER
    return FILE


def _modified(entry: ZipEntry) -> str | None:
    """Local time as stored, to two seconds; None where it is no time."""
    year, month, day = 1980 + (entry.date >> 9), entry.date >> 5 & 15, entry.date & 31
    hour, minute, second = entry.time >> 11, entry.time >> 5 & 63, 2 * (entry.time & 31)
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second < 60):
        return None
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"


def _type_of(sample: Sample) -> str:
    """The media type by a `mimetype` member at the front (EPUB, OpenDocument), or by names of members."""
    head = sample.head
    if head[30:38] == _MIMETYPE:
        found = _TYPE_TEXT.match(head, 38 + int.from_bytes(head[28:30], "little"))
        if found is not None and int.from_bytes(head[22:26], "little") in (0, len(found.group())):
            return found.group().decode()
    names = [*_names(head, LOCAL, 26, 30), *_names(head, CENTRAL, 28, 46), *_names(sample.tail, CENTRAL, 28, 46)]
    is_office = _OFFICE_MARK in names or any(name.startswith(b"_rels/") for name in names)
    for beginning, media_type in _BY_MEMBER:
        if any(name.startswith(beginning) for name in names) and (is_office or not beginning.endswith(b"/")):
            return media_type
    return ZIP


def _names(raw: bytes, signature: bytes, length_at: int, name_at: int) -> Iterator[bytes]:
    at = -1
    while (at := raw.find(signature, at + 1)) >= 0:
        size = int.from_bytes(raw[at + length_at : at + length_at + 2], "little")
        yield raw[at + name_at : at + name_at + size]
