"""Anything at all: no items, but the first bytes and a guess of the kind by its signature."""

from typing import Any

from blobs.domain.media_type import BINARY
from blobs.reading.base_view import BaseView
from blobs.reading.reader import Confidence, Sample
from blobs.reading.source import Source

_HEAD_BYTES = 64
_SIGNATURE_BYTES = 512

_SIGNATURES: tuple[tuple[int, bytes, str, str], ...] = (
    (0, b"\x7fELF", "ELF program or library", "application/x-elf"),
    (0, b"\xfe\xed\xfa\xce", "Mach-O program or library", "application/x-mach-binary"),
    (0, b"\xfe\xed\xfa\xcf", "Mach-O program or library", "application/x-mach-binary"),
    (0, b"\xce\xfa\xed\xfe", "Mach-O program or library", "application/x-mach-binary"),
    (0, b"\xcf\xfa\xed\xfe", "Mach-O program or library", "application/x-mach-binary"),
    (0, b"\x00asm", "WebAssembly module", "application/wasm"),
    (0, b"\xca\xfe\xba\xbe\x00\x00\x00", "Java class or Mach-O library", BINARY),
    (0, b"\x1f\x8b", "gzip", "application/gzip"),
    (0, b"BZh", "bzip2", "application/x-bzip2"),
    (0, b"\xfd7zXZ\x00", "xz", "application/x-xz"),
    (0, b"\x28\xb5\x2f\xfd", "zstd", "application/zstd"),
    (0, b"\x04\x22\x4d\x18", "lz4", "application/x-lz4"),
    (0, b"7z\xbc\xaf\x27\x1c", "7-Zip archive", "application/x-7z-compressed"),
    (0, b"Rar!\x1a\x07", "RAR archive", "application/vnd.rar"),
    (0, b"PK\x03\x04", "zip", "application/zip"),
    (0, b"PK\x05\x06", "zip without members", "application/zip"),
    (257, b"ustar", "tar", "application/x-tar"),
    (0, b"MSCF\x00\x00\x00\x00", "cabinet archive", "application/vnd.ms-cab-compressed"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "OLE compound file (old Office)", "application/x-ole-storage"),
    (0, b"SQLite format 3\x00", "SQLite database", "application/vnd.sqlite3"),
    (8, b"DUCK", "DuckDB database", "application/vnd.duckdb"),
    (0, b"PAR1", "Parquet", "application/vnd.apache.parquet"),
    (0, b"ARROW1\x00\x00", "Arrow file", "application/vnd.apache.arrow.file"),
    (0, b"FEA1", "Feather version 1", "application/x-feather"),
    (0, b"ORC", "ORC", "application/x-orc"),
    (0, b"Obj\x01", "Avro", "application/vnd.apache.avro"),
    (0, b"\x89HDF\r\n\x1a\n", "HDF5", "application/x-hdf5"),
    (0, b"\x93NUMPY", "NumPy array", "application/x-npy"),
    (0, b"\x80\x04\x95", "Python pickle", "application/x-pickle"),
    (0, b"\x80\x05\x95", "Python pickle", "application/x-pickle"),
    (0, b"GGUF", "GGUF model", "application/x-gguf"),
    (0, b"%PDF-", "PDF", "application/pdf"),
    (0, b"\x89PNG\r\n\x1a\n", "PNG image", "image/png"),
    (0, b"\xff\xd8\xff", "JPEG image", "image/jpeg"),
    (0, b"GIF8", "GIF image", "image/gif"),
    (0, b"II*\x00", "TIFF image", "image/tiff"),
    (0, b"MM\x00*", "TIFF image", "image/tiff"),
    (8, b"WEBP", "WebP image", "image/webp"),
    (0, b"8BPS\x00\x01", "Photoshop image", "image/vnd.adobe.photoshop"),
    (4, b"ftypheic", "HEIC image", "image/heic"),
    (4, b"ftypheix", "HEIC image", "image/heic"),
    (4, b"ftypmif1", "HEIF image", "image/heif"),
    (4, b"ftypavif", "AVIF image", "image/avif"),
    (4, b"ftypqt", "QuickTime video", "video/quicktime"),
    (4, b"ftyp", "MP4 media", "video/mp4"),
    (0, b"\x1aE\xdf\xa3", "Matroska or WebM media", "video/x-matroska"),
    (0, b"OggS", "Ogg media", "application/ogg"),
    (0, b"fLaC", "FLAC audio", "audio/flac"),
    (0, b"ID3", "MP3 audio", "audio/mpeg"),
    (0, b"wOFF", "web font", "font/woff"),
    (0, b"wOF2", "web font", "font/woff2"),
    (0, b"\x00\x01\x00\x00\x00", "TrueType font", "font/ttf"),
    (0, b"OTTO", "OpenType font", "font/otf"),
    (0, b"\xd4\xc3\xb2\xa1", "packet capture", "application/vnd.tcpdump.pcap"),
    (0, b"\x0a\x0d\x0d\x0a", "packet capture", "application/x-pcapng"),
    (0, b"MZ", "Windows program or library", "application/vnd.microsoft.portable-executable"),
)


class BinaryReader:
    """The last resort: accepts every blob, surely the least sure of all readers."""

    name = "binary"
    media_types = (BINARY,)
    is_light = True

    def sniff(self, sample: Sample) -> Confidence:
        """Always yes, below everything else; the type is that of the signature if there is a known one."""
        _, media_type = kind_of(sample.head)
        return Confidence(1, media_type)

    def open(self, source: Source) -> "BinaryView":
        """The first bytes; never fails."""
        return BinaryView(source)


class BinaryView(BaseView):
    """Bytes without items."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        head = source.read(0, _SIGNATURE_BYTES)
        self._kind, _ = kind_of(head)
        self._head = head[:_HEAD_BYTES]
        if source.size == 0:
            self.notes.append("empty: 0 bytes")

    def facts(self) -> dict[str, Any]:
        """The first 64 bytes in hexadecimal, and the kind where the signature is known."""
        facts: dict[str, Any] = {"kind": self._kind} if self._kind else {}
        if self._head:
            facts["head"] = self._head.hex(" ", -4)
        return facts


def kind_of(head: bytes) -> tuple[str, str]:
    """What the first bytes are the signature of: in words ("" where unknown), and as a media type."""
    for offset, signature, kind, media_type in _SIGNATURES:
        if head[offset : offset + len(signature)] == signature:
            return kind, media_type
    return "", BINARY
