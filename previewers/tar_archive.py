"""Tar archives: members as rows, each file by its name as a part. Nothing is unpacked to disk."""

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from blobs.domain.errors import UnreadableError
from blobs.domain.limits import MIB
from blobs.reading.inside import InsideReader, PieceSource, unpack
from blobs.reading.reader import Column, Confidence, Sample
from blobs.reading.source import Source
from previewers.archive import FILE, FOLDER, LINK, OTHER, ArchiveView, Content, Member
from previewers.archive_names import LABELS, codec_of, decoded, is_utf8
from previewers.parsing import parsing

TAR = "application/x-tar"
_BLOCK_BYTES = 512
_END_BYTES = 2 * _BLOCK_BYTES
_MAGIC_AT, _CHECKSUM_AT, _CHECKSUM_BYTES = 257, 148, 8
_MEMBERS_MAX = 2_000_000
"""Each takes about 300 bytes while the listing is open."""

_WHAT = "tar archive"
_ADVICE = 'Read it in pieces with blob_code, language "python" (tarfile).'
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TarReader(InsideReader):
    """Tar archives: ustar, pax, GNU, and the old ones without a signature."""

    name = "tar"
    media_types = (TAR,)
    aliases = ("application/tar", "application/x-gtar", "application/x-ustar")

    def sniff(self, sample: Sample) -> Confidence:
        """By the checksum of the first header; a signature alone may be what is left of one.

        An archive of no members is nothing but zeros: those are one where they were declared as one.
        """
        header = sample.head[:_BLOCK_BYTES]
        if sample.declared_type in (TAR, *self.aliases) and sample.size >= _END_BYTES and not any(sample.head):
            return Confidence(1, TAR)
        if len(header) == _BLOCK_BYTES and _has_checksum(header):
            return Confidence(100, TAR)
        return Confidence(60, TAR) if header[_MAGIC_AT : _MAGIC_AT + 5] == b"ustar" else Confidence.NO

    def open(self, source: Source) -> "TarView":
        """The members; raises `UnreadableError` where not even the first can be read."""
        return TarView(self, source)


@dataclass(frozen=True, slots=True)
class _Entry:
    """What is kept of a member: enough to list it, and where to read it."""

    raw_name: bytes
    size: int
    kind: str
    modified: str | None
    start: int
    header_at: int
    is_sparse: bool
    raw_target: bytes


class TarView(ArchiveView):
    """The members of a tar archive, in their order."""

    def __init__(self, reader: InsideReader, source: Source) -> None:
        super().__init__(reader, source)
        self.columns = [Column("name"), Column("size", "BIGINT"), Column("modified"), Column("kind")]
        with parsing(_WHAT):
            self._entries = list(self._walk())
        self.count = len(self._entries)
        self._codec = self._chosen_codec()
        self._survey()
        self._note_links()

    def member(self, place: int) -> Member:
        """The member as its header tells it."""
        entry = self._entries[place]
        return Member(decoded(entry.raw_name, self._codec), entry.size, entry.kind, entry.modified)

    def content(self, place: int) -> Content:
        """The bytes of a file where they lie; the holes of a sparse one are filled, within bounds."""
        entry = self._entries[place]
        if entry.is_sparse:
            return Content(self._filled(entry))
        piece = PieceSource(self._source, entry.start, entry.start + entry.size)
        missing = entry.size - piece.size
        return Content(piece, (f"cut short: the last {missing} of its {entry.size} bytes are missing",) * (missing > 0))

    def link_target(self, place: int) -> str:
        """What a link points to."""
        return decoded(self._entries[place].raw_target, self._codec)

    def _walk(self) -> Iterator[_Entry]:
        """All members that can be read, in constant memory beside the entries; a note where they end too early."""
        with self._source.open() as file, tarfile.open(fileobj=file, mode="r:", errors="surrogateescape") as archive:
            count, last = 0, -1
            while (found := self._next(archive)) is not None:
                if archive.offset <= last or count == _MEMBERS_MAX:
                    self.notes.append(f"only the first {count} members are listed")
                    return
                last = archive.offset
                count += 1
                yield _entry(found)
                archive.members.clear()  # type: ignore[attr-defined]  # it keeps all that it has read; the stubs hide it
            self._check_end(archive.offset)

    def _next(self, archive: tarfile.TarFile) -> tarfile.TarInfo | None:
        try:
            return archive.next()
        except tarfile.TarError as error:
            if archive.offset <= self._source.size:
                self.notes.append(f"damaged: the members after byte {archive.offset} cannot be read ({error})")
            return None

    def _check_end(self, at: int) -> None:
        """Whether the archive ends where its members do: in zeros, or at once."""
        if at > self._source.size:
            self.notes.append("cut short: the end of the last member is missing")
        elif not self.notes and any(self._source.read(at, at + _BLOCK_BYTES)):
            self.notes.append(f"damaged or cut short: no member can be read after byte {at} of {self._source.size}")

    def _filled(self, entry: _Entry) -> Source:
        """The content of a sparse file."""

        def chunks() -> Iterator[bytes]:
            with parsing(_WHAT), self._source.open() as file:
                file.seek(entry.header_at)
                with tarfile.open(fileobj=file, mode="r:", errors="surrogateescape") as archive:
                    found = archive.next()
                    content = archive.extractfile(found) if found is not None else None
                    if content is None:
                        raise UnreadableError("The sparse member cannot be read.")
                    while chunk := content.read(MIB):
                        yield chunk

        stored = max(1, min(self._source.size, entry.size))
        return unpack(chunks(), packed_bytes=stored, outer=self._source, noun="sparse member", advice=_ADVICE)

    def _chosen_codec(self) -> str:
        unsaid = [entry.raw_name for entry in self._entries if not is_utf8(entry.raw_name)]
        if not unsaid:
            return "utf-8"
        codec = codec_of(unsaid)
        noun = "name is" if len(unsaid) == 1 else "names are"
        self.notes.append(f"{len(unsaid)} {noun} not UTF-8, decoded as {LABELS[codec]}")
        return codec

    def _note_links(self) -> None:
        outside = 0
        for entry in self._entries:
            target = entry.raw_target
            outside += entry.kind == LINK and (target[:1] == b"/" or b".." in target.split(b"/"))
        if outside:
            noun = "link points" if outside == 1 else "links point"
            self.notes.append(f"{outside} {noun} to an absolute place or upwards; no link is followed here")


def _entry(found: tarfile.TarInfo) -> _Entry:
    kind = FOLDER if found.isdir() else LINK if found.issym() or found.islnk() else FILE if found.isfile() else OTHER
    return _Entry(
        raw_name=found.name.encode("utf-8", "surrogateescape"),
        size=max(0, found.size),
        kind=kind,
        modified=_modified(found.pax_headers.get("mtime") or str(found.mtime)),
        start=found.offset_data,
        header_at=found.offset,
        is_sparse=found.issparse(),
        raw_target=found.linkname.encode("utf-8", "surrogateescape") if kind == LINK else b"",
    )


def _modified(told: str) -> str | None:
    """Seconds since 1970 as a time in UTC, with the digits of their fraction; None where it is no time."""
    whole, _, fraction = told.partition(".")
    try:
        moment = _EPOCH + timedelta(seconds=int(whole))
    except (ValueError, OverflowError):
        return None
    if whole.startswith("-") or not fraction.isdecimal():
        fraction = ""
    fraction = fraction.rstrip("0")
    return moment.replace(tzinfo=None).isoformat(timespec="seconds") + (f".{fraction}" if fraction else "") + "Z"


def _has_checksum(header: bytes) -> bool:
    """The sum over the header, its own field counted as spaces, is the one it tells (old programs summed signed)."""
    told = header[_CHECKSUM_AT : _CHECKSUM_AT + _CHECKSUM_BYTES].replace(b"\x00", b" ").strip()
    if not told or not all(byte in b"01234567" for byte in told):
        return False
    rest = header[:_CHECKSUM_AT] + b" " * _CHECKSUM_BYTES + header[_CHECKSUM_AT + _CHECKSUM_BYTES :]
    unsigned = sum(rest)
    signed = unsigned - 256 * sum(1 for byte in rest if byte > 127)
    return int(told, 8) in (unsigned, signed)
