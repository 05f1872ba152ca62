"""Arrow IPC: files (Feather version 2) and streams, as rows.

Arrow trusts the offsets in its files, so that damaged ones crash the process once a value is touched: every record
batch is validated in full before that.
"""

from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from blobs.domain.ranges import ItemRange
from blobs.reading.reader import Confidence, Sample
from blobs.reading.source import Source
from previewers.arrow_rows import ArrowRowsView, cut
from previewers.parsing import parsing

if TYPE_CHECKING:
    import pyarrow as pa

FILE_TYPE = "application/vnd.apache.arrow.file"
STREAM_TYPE = "application/vnd.apache.arrow.stream"
_FILE_MAGIC = b"ARROW1"
_CONTINUATION = b"\xff\xff\xff\xff"
_SCHEMA_HEADER = 1
_WHAT = "Arrow data"


class ArrowReader:
    """Apache Arrow IPC files and streams."""

    name = "arrow"
    media_types = (FILE_TYPE, STREAM_TYPE)
    aliases = ("application/vnd.apache.arrow", "application/x-feather", "application/feather")

    def sniff(self, sample: Sample) -> Confidence:
        """A file by its magic at both ends (at the head alone it may be cut short), a stream by its schema message."""
        if sample.head.startswith(_FILE_MAGIC + b"\x00\x00"):
            return Confidence(100 if sample.tail.endswith(_FILE_MAGIC) else 60, FILE_TYPE)
        return Confidence(100, STREAM_TYPE) if _begins_with_schema(sample.head, sample.size) else Confidence.NO

    def open(self, source: Source) -> "ArrowView":
        """The rows; raises `UnreadableError` where the messages cannot be read to the end."""
        return ArrowView(source)


class ArrowView(ArrowRowsView):
    """The rows of Arrow IPC data."""

    what = _WHAT

    def __init__(self, source: Source) -> None:
        import pyarrow as pa  # heavy: only once a file is opened

        super().__init__()
        self._is_file = source.read(0, len(_FILE_MAGIC)) == _FILE_MAGIC
        with parsing(_WHAT):
            self._buffer = pa.py_buffer(source.buffer())
            self._options = pa.ipc.IpcReadOptions(use_threads=False)  # a cell may not start threads
            schema = self._opened().schema
            rows = [batch.num_rows for batch in self._raw(0)]
        self._starts = [0, *accumulate(rows)]
        self._describe(schema, self._starts[-1])

    def facts(self) -> dict[str, Any]:
        """How many record batches there are."""
        return {"batches": len(self._starts) - 1}

    def slice(self, span: ItemRange) -> tuple[bytes, str]:
        """The rows of a range as an Arrow stream of the same columns."""
        import pyarrow as pa

        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True, use_threads=False)
        with parsing(_WHAT), pa.ipc.new_stream(sink, self._schema, options=options) as writer:
            for batch in self._batches(span):
                writer.write_batch(batch)
        return sink.getvalue().to_pybytes(), STREAM_TYPE

    def _batches(self, span: ItemRange) -> Iterator["pa.RecordBatch"]:
        """Validated record batches of exactly the rows of the range."""
        starts = self._starts
        first = next((i for i in range(len(starts) - 1) if starts[i + 1] > span.start), len(starts))
        if first == len(starts) or span.start >= span.stop:
            return
        with parsing(_WHAT):
            batches = self._raw(first)
        for place in range(first, len(starts) - 1):
            if starts[place] >= span.stop:
                return
            with parsing(_WHAT):
                batch = next(batches)
                batch.validate(full=True)
            kept = cut(batch, starts[place], span)
            if kept.num_rows:
                yield kept

    def _raw(self, first: int) -> Iterator["pa.RecordBatch"]:
        """The batches from the `first` on, as they are: not to be touched before they are validated."""
        opened = self._opened()
        if self._is_file:
            for place in range(first, opened.num_record_batches):
                yield opened.get_batch(place)
            return
        for place, batch in enumerate(opened):
            if place >= first:
                yield batch

    def _opened(self) -> Any:
        import pyarrow as pa

        opening = pa.ipc.open_file if self._is_file else pa.ipc.open_stream
        return opening(pa.BufferReader(self._buffer), options=self._options)


def _begins_with_schema(head: bytes, size: int) -> bool:
    """A stream begins with a message that carries a schema: its length, then a flatbuffer table that says so.

    See the encapsulated message format in the Arrow columnar specification, and `Message.fbs`: the second field of the
    table is the kind of the header. Streams of before version 0.15 lack the continuation mark.
    """
    at = 8 if head.startswith(_CONTINUATION) else 4
    length = int.from_bytes(head[at - 4 : at], "little")
    message = head[at : at + length]
    if not 16 <= length <= size - at or length % 4 or len(message) < 16:
        return False
    table = _number(message, 0, 4)
    vtable = table - int.from_bytes(message[table : table + 4], "little", signed=True)
    if not (4 <= table < len(message) and 4 <= vtable < len(message) and 8 <= _number(message, vtable, 2) <= 64):
        return False
    field = _number(message, vtable + 6, 2)
    return field > 0 and message[table + field : table + field + 1] == bytes([_SCHEMA_HEADER])


def _number(raw: bytes, at: int, width: int) -> int:
    return int.from_bytes(raw[at : at + width], "little")
