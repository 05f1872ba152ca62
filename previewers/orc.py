"""ORC: rows, counted from the footer alone and read by stripe."""

from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from blobs.domain.errors import UnreadableError
from blobs.domain.ranges import ItemRange
from blobs.reading.reader import Confidence, Sample
from blobs.reading.source import Source
from previewers.arrow_rows import ArrowRowsView, cut
from previewers.parsing import parsing

if TYPE_CHECKING:
    import pyarrow as pa

ORC = "application/vnd.apache.orc"
_MAGIC = b"ORC"
_TAIL_BYTES = 256
"""The postscript, whose size is the last byte, ends with the signature."""

_WRITER_CHARS_MAX = 100
_WHAT = "ORC file"


class OrcReader:
    """Apache ORC files."""

    name = "orc"
    media_types = (ORC,)
    aliases = ("application/orc", "application/x-orc")

    def sniff(self, sample: Sample) -> Confidence:
        """The magic bytes at both ends are a signature; at the head alone the file may be cut short, or be text."""
        if sample.head[:3] != _MAGIC:
            return Confidence.NO
        if _MAGIC in sample.tail[-_TAIL_BYTES:] and sample.tail[-4:-1] == _MAGIC:
            return Confidence(100, ORC)
        return Confidence(60, ORC) if b"\x00" in sample.head[:1024] else Confidence.NO

    def open(self, source: Source) -> "OrcView":
        """The rows; raises `UnreadableError` where the footer cannot be read."""
        return OrcView(source)


class OrcView(ArrowRowsView):
    """The rows of an ORC file."""

    what = _WHAT

    def __init__(self, source: Source) -> None:
        import pyarrow as pa  # heavy: only once a file is opened
        import pyarrow.orc

        super().__init__()
        with parsing(_WHAT):
            self._file = pa.orc.ORCFile(pa.BufferReader(pa.py_buffer(source.buffer())))
            schema, count = self._file.schema, self._file.nrows
            self._stripes: int = self._file.nstripes
            self._writer = f"{self._file.writer} {self._file.software_version}"[:_WRITER_CHARS_MAX].strip()
            self._compression = str(self._file.compression)
        self._starts: list[int] | None = None
        self._describe(schema, count)

    def facts(self) -> dict[str, Any]:
        """How many stripes there are, how they are compressed, and what wrote them."""
        return {"stripes": self._stripes, "compression": self._compression, "created_by": self._writer}

    def _batches(self, span: ItemRange) -> Iterator["pa.RecordBatch"]:
        """Validated stripes, cut to the range; their sizes are known once they are read, the last ones from the end."""
        count, begin = self.count or 0, 0
        if self._starts is None and span.start > count // 2 and self._stripes > 1:
            self._starts = list(self._counted())
        for place in range(self._stripes):
            if begin >= span.stop:
                return
            if self._starts is not None and self._starts[place + 1] <= span.start:
                begin = self._starts[place + 1]
                continue
            batch = self._stripe(place)
            kept = cut(batch, begin, span)
            begin += batch.num_rows
            if kept.num_rows:
                yield kept
        if begin < min(span.stop, count):
            raise UnreadableError(f"The {_WHAT} is damaged: its stripes have {begin} of its {count} rows.")

    def _counted(self) -> Iterator[int]:
        """Where each stripe begins, by its first column: nothing else that can be read tells how many rows it has."""
        first = [self._schema.field(0).name] if len(self._schema) else None
        return accumulate((self._stripe(place, columns=first).num_rows for place in range(self._stripes)), initial=0)

    def _stripe(self, place: int, columns: list[str] | None = None) -> "pa.RecordBatch":
        with parsing(_WHAT):
            batch = self._file.read_stripe(place, columns=columns)
            batch.validate(full=True)
        return batch
