"""gzip, zstd, xz and bzip2: read as what is inside."""

from blobs.domain.errors import UnreadableError
from blobs.reading.inside import InsideReader, unpack
from blobs.reading.reader import Confidence, Sample, View
from blobs.reading.source import Source
from previewers.decompression import Unpacking, decoder_of, kind_of

_TYPES = {
    "gzip": "application/gzip",
    "zstd": "application/zstd",
    "xz": "application/x-xz",
    "bzip2": "application/x-bzip2",
}
_MODULES = {
    "gzip": "gzip.open",
    "zstd": "compression.zstd.open",
    "xz": "lzma.open",
    "bzip2": "bz2.open",
}
_ENDINGS = frozenset({"gz", "gzip", "z", "zst", "zstd", "xz", "bz2", "bzip2"})
_HEAD_BYTES = 512
_NAME_FLAG, _EXTRA_FLAG = 8, 4


class CompressedReader(InsideReader):
    """Compressed blobs, of one stream or several one after the other."""

    name = "compressed"
    media_types = tuple(_TYPES.values())
    aliases = (
        "application/x-gzip",
        "application/gzip-compressed",
        "application/x-gtar-compressed",
        "application/x-tgz",
        "application/x-zstd",
        "application/x-bzip",
        "application/x-xz-compressed",
    )

    def sniff(self, sample: Sample) -> Confidence:
        """By signature, whatever the blob was called."""
        kind = kind_of(sample.head)
        return Confidence(100, _TYPES[kind]) if kind else Confidence.NO

    def open(self, source: Source) -> View:
        """The view of what is inside, with a note of the compression.

        Of streams that are cut short or damaged, what comes before. Raises `UnreadableError` where nothing does, and
        where it is a bomb or too much.
        """
        head = source.read(0, _HEAD_BYTES)
        kind = kind_of(head)
        if not kind:
            raise UnreadableError("There is no compressed data that could be read.")
        unpacking = Unpacking(source, 0, source.size, decoder_of(kind), kind=kind)
        advice = f'Read it in pieces with blob_code, language "python" ({_MODULES[kind]}).'
        inner = unpack(unpacking, packed_bytes=source.size, outer=source, noun=f"{kind} data", advice=advice)
        if unpacking.problem and not inner.size:
            raise UnreadableError(f"The {kind} data is {unpacking.problem}.")
        stored = _stored_name(head) if kind == "gzip" else ""
        opened = self.open_inside(inner, name=stored or _name_without_ending(source))
        view = opened.view
        view.notes[:0] = [f"{kind}-compressed {opened.type}, {inner.size} bytes unpacked", *_oddities(unpacking)]
        return view


def _oddities(unpacking: Unpacking) -> list[str]:
    notes = []
    if unpacking.problem:
        notes.append(f"the compressed data is {unpacking.problem}; this is what comes before that")
    if unpacking.surplus_bytes:
        notes.append(f"{unpacking.surplus_bytes} bytes after the end of the compressed data are left out")
    return notes


def _name_without_ending(source: Source) -> str:
    """Of a member of an archive that is called `orders.csv.gz`, what the file inside is called."""
    name, _, ending = str(getattr(source, "name", "")).rpartition(".")
    return name if ending.lower() in _ENDINGS else ""


def _stored_name(head: bytes) -> str:
    """The file name in a gzip header (RFC 1952), or ""."""
    flags, at = head[3], 10
    if flags & _EXTRA_FLAG:
        at += 2 + int.from_bytes(head[10:12], "little")
    if not flags & _NAME_FLAG or at >= len(head):
        return ""
    return head[at:].split(b"\x00", 1)[0].decode("latin-1")
