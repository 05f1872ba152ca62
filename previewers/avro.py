"""Avro object container files: rows, counted by their blocks alone, each value exactly as it was written."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from blobs.domain import exact_json
from blobs.domain.errors import UnreadableError
from blobs.domain.limits import MIB
from blobs.domain.ranges import ItemRange
from blobs.reading.inside import PieceSource, unpack
from blobs.reading.reader import Confidence, Sample
from blobs.reading.source import Source
from previewers.arrow_rows import ArrowRowsView, cut
from previewers.decompression import Unpacking, decoder_of
from previewers.parsing import parsing

if TYPE_CHECKING:
    import pyarrow as pa

AVRO = "application/vnd.apache.avro"
_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_HEADER_BYTES_MAX = 16 * MIB
_BLOCKS_MAX = 5_000_000
_ROWS_AT_ONCE = 1024
_ROWS_A_BYTE_MAX = 1100
"""More rows than that for a byte of a block cannot be: deflate packs 1,032 bytes into one, and a row has a byte."""

_DECODERS = {"deflate": "deflate", "bzip2": "bzip2", "xz": "xz", "zstandard": "zstd"}
_WHAT = "Avro file"
_ADVICE = 'Read it in pieces with blob_code, language "python".'


class AvroReader:
    """Apache Avro object container files."""

    name = "avro"
    media_types = (AVRO,)
    aliases = ("application/avro", "avro/binary", "application/x-avro")

    def sniff(self, sample: Sample) -> Confidence:
        """By the magic bytes and the key of the schema, which stands in every header."""
        if sample.head[:4] != _MAGIC:
            return Confidence.NO
        return Confidence(100 if b"avro.schema" in sample.head else 60, AVRO)

    def open(self, source: Source) -> "AvroView":
        """The rows; raises `UnreadableError` where the header or its schema cannot be read."""
        return AvroView(source)


@dataclass(frozen=True, slots=True)
class _Block:
    begin: int
    rows: int
    start: int
    stop: int


class AvroView(ArrowRowsView):
    """The rows of an Avro file."""

    what = _WHAT

    def __init__(self, source: Source) -> None:
        from previewers.avro_schema import read_schema  # heavy: only once a file is opened

        super().__init__()
        self._source = source
        with parsing(_WHAT):
            metadata, self._at = _header(source)
            self._sync = source.read(self._at, self._at + _SYNC_BYTES)
            self._codec = metadata.get(b"avro.codec", b"null").decode("ascii") or "null"
            self._schema_read = read_schema(exact_json.plain(exact_json.loads(metadata[b"avro.schema"].decode())))
            self._blocks = list(islice(self._walk(), _BLOCKS_MAX))
        self._describe(self._schema_read.arrow(), sum(block.rows for block in self._blocks))

    def facts(self) -> dict[str, Any]:
        """How many blocks there are, and how they are compressed."""
        return {"blocks": len(self._blocks), "codec": self._codec[:20]}

    def _batches(self, span: ItemRange) -> Iterator["pa.RecordBatch"]:
        for block in self._blocks:
            if block.begin >= span.stop:
                return
            if block.begin + block.rows > span.start:
                yield from self._decoded(block, span)

    def _decoded(self, block: _Block, span: ItemRange) -> Iterator["pa.RecordBatch"]:
        """The rows of a block in batches; it must hold as many as it says, and nothing else."""
        import pyarrow as pa
        from fastavro import parse_schema, schemaless_reader

        schema = self._schema_read
        content = self._content(block)
        with parsing(_WHAT):
            plain = parse_schema(schema.plain)
        for at in range(0, block.rows, _ROWS_AT_ONCE):
            begin, rows = block.begin + at, min(_ROWS_AT_ONCE, block.rows - at)
            if begin >= span.stop:
                return
            with parsing(_WHAT):
                cells = [
                    schema.cells(
                        schemaless_reader(
                            content, plain, None, return_record_name=True, handle_unicode_errors="replace"
                        )
                    )
                    for _ in range(rows)
                ]
                if begin + rows <= span.start:
                    continue
                arrays = [
                    _array([node.value(row[place]) for row in cells], node.kind)
                    for place, (_, node) in enumerate(schema.columns)
                ]
                batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema) if arrays else _empty(rows)
            kept = cut(batch, begin, span)
            if kept.num_rows:
                yield kept
        if content.read(1):
            raise UnreadableError(f"The {_WHAT} is damaged: a block holds more than its {block.rows} rows.")

    def _content(self, block: _Block) -> io.BytesIO:
        """The bytes of a block, unpacked within bounds."""
        if self._codec == "null":
            return io.BytesIO(self._source.read(block.start, block.stop))
        if self._codec == "snappy":
            return io.BytesIO(_from_snappy(self._source.read(block.start, block.stop)))
        kind = _DECODERS.get(self._codec)
        if kind is None:
            raise UnreadableError(f"The {_WHAT} is compressed with {self._codec[:20]!r}, which is not unpacked here.")
        piece = PieceSource(self._source, block.start, block.stop)
        unpacking = Unpacking(piece, 0, piece.size, decoder_of(kind))
        inner = unpack(unpacking, packed_bytes=piece.size, outer=self._source, noun="Avro block", advice=_ADVICE)
        if unpacking.problem:
            raise UnreadableError(f"A block of the {_WHAT} is {unpacking.problem}.")
        return io.BytesIO(inner.buffer())

    def _walk(self) -> Iterator[_Block]:
        """The blocks by their headers; a note where they end too early."""
        at, begin = self._at + _SYNC_BYTES, 0
        while at < self._source.size:
            try:
                head = io.BytesIO(self._source.read(at, at + 20))
                rows, size = _number(head), _number(head)
            except EOFError:
                self.notes.append(f"cut short: the header of a block after {begin} rows is incomplete")
                return
            start = at + head.tell()
            stop = start + size
            if rows < 0 or size < 0 or rows > (size + 1) * _ROWS_A_BYTE_MAX:
                self.notes.append(f"damaged: what comes after {begin} rows cannot be read")
                return
            if stop + _SYNC_BYTES > self._source.size:
                self.notes.append(
                    f"cut short: the block after {begin} rows is incomplete, so its {rows} rows are left out"
                )
                return
            if self._source.read(stop, stop + _SYNC_BYTES) != self._sync:
                self.notes.append(f"damaged: the block after {begin} rows does not end where it should")
                return
            yield _Block(begin, rows, start, stop)
            at, begin = stop + _SYNC_BYTES, begin + rows


def _header(source: Source) -> tuple[dict[bytes, bytes], int]:
    """The metadata (a map of bytes, in blocks), and where the sync marker begins."""
    file = io.BytesIO(source.read(0, _HEADER_BYTES_MAX))
    if file.read(4) != _MAGIC:
        raise UnreadableError("There is no Avro header.")
    found: dict[bytes, bytes] = {}
    try:
        while count := _number(file):
            if count < 0:
                _number(file)  # the size of the block, for whoever skips it
            for _ in range(abs(count)):
                key = _bytes(file)
                found[key] = _bytes(file)
    except EOFError as error:
        raise UnreadableError("The Avro header is cut short.") from error
    if b"avro.schema" not in found:
        raise UnreadableError("The Avro header has no schema.")
    return found, file.tell()


def _number(file: io.BytesIO) -> int:
    """A zigzag number of variable size."""
    value, shift = 0, 0
    while True:
        byte = file.read(1)
        if not byte or shift > 63:
            raise EOFError
        value |= (byte[0] & 127) << shift
        if byte[0] < 128:
            return value >> 1 ^ -(value & 1)
        shift += 7


def _bytes(file: io.BytesIO) -> bytes:
    size = _number(file)
    raw = file.read(size) if size >= 0 else b""
    if len(raw) != size:
        raise EOFError
    return raw


def _from_snappy(raw: bytes) -> bytes:
    """A block of snappy, which has the checksum of what is inside behind it."""
    import zlib

    import pyarrow as pa

    packed, checksum = raw[:-4], int.from_bytes(raw[-4:], "big")
    size, shift = 0, 0
    for byte in packed[:5]:
        size |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
    if size > 64 * len(packed) + 64:  # the format's longest copy, 64 bytes, takes three
        raise UnreadableError("A block of the Avro file is damaged: it claims more than it can hold.")
    with parsing(_WHAT):
        inside = pa.Codec("snappy").decompress(packed, decompressed_size=size, asbytes=True)
    if zlib.crc32(inside) != checksum:
        raise UnreadableError("A block of the Avro file is damaged: its checksum is wrong.")
    return bytes(inside)


def _array(values: list[Any], kind: "pa.DataType") -> Any:
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, pa.array(values, kind.storage_type))
    return pa.array(values, kind)


def _empty(rows: int) -> "pa.RecordBatch":
    """A batch of rows without columns, which Arrow makes only out of a structure without fields."""
    import pyarrow as pa

    return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
