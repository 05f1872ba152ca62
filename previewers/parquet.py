"""Parquet: rows, counted from the footer alone and read by row group."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from blobs.domain.errors import UnreadableError
from blobs.domain.media_type import PARQUET
from blobs.domain.ranges import ItemRange
from blobs.reading.reader import Confidence, Sample, Table
from blobs.reading.source import Source
from previewers.arrow_rows import ArrowRowsView
from previewers.parsing import parsing

if TYPE_CHECKING:
    import pyarrow as pa

_MAGIC = b"PAR1"
_ENCRYPTED_MAGIC = b"PARE"
_BATCH_BYTES = 4 * 1024 * 1024
_BATCH_ROWS_MAX = 1024
_CREATED_BY_CHARS_MAX = 100
_WHAT = "Parquet file"


class ParquetReader:
    """Apache Parquet files."""

    name = "parquet"
    media_types = (PARQUET,)
    aliases = ("application/parquet", "application/x-parquet")

    def sniff(self, sample: Sample) -> Confidence:
        """The magic bytes at both ends are a signature; at the head alone the file may be cut short."""
        if sample.head[:4] not in (_MAGIC, _ENCRYPTED_MAGIC):
            return Confidence.NO
        return Confidence(100 if sample.tail[-4:] == sample.head[:4] or sample.tail[-4:] == _MAGIC else 60, PARQUET)

    def open(self, source: Source) -> "ParquetView":
        """The rows; raises `UnreadableError` where the footer cannot be read."""
        magic = source.read(0, 4), source.read(max(0, source.size - 4), source.size)
        if _ENCRYPTED_MAGIC in magic:
            raise UnreadableError("The Parquet file is encrypted.", hint="Ask for a copy that is not encrypted.")
        if magic != (_MAGIC, _MAGIC):
            raise UnreadableError("The Parquet file is cut short: its footer is missing.")
        return ParquetView(source)


class ParquetView(ArrowRowsView):
    """The rows of a Parquet file."""

    what = _WHAT

    def __init__(self, source: Source) -> None:
        import pyarrow as pa  # heavy: only once a file is opened
        import pyarrow.parquet

        super().__init__()
        with parsing(_WHAT):
            # No read-ahead, as a cell may not start threads; INT96 as nanoseconds would wrap silently after 2262.
            self._file = pa.parquet.ParquetFile(
                pa.BufferReader(pa.py_buffer(source.buffer())),
                pre_buffer=False,
                coerce_int96_timestamp_unit="us",
                arrow_extensions_enabled=True,
            )
            metadata = self._file.metadata
            has_int96 = any(metadata.schema.column(i).physical_type == "INT96" for i in range(metadata.num_columns))
            self._group_rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
            self._group_bytes = [metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)]
            self._created_by = str(metadata.created_by or "")[:_CREATED_BY_CHARS_MAX]
        count = sum(self._group_rows)
        if metadata.num_rows != count or min(self._group_rows, default=0) < 0:
            raise UnreadableError(f"The {_WHAT} is damaged: its footer counts rows in two ways.")
        self._describe(self._file.schema_arrow, count)
        if has_int96:
            self.notes.append("timestamps of the old INT96 kind are given to the microsecond")

    def facts(self) -> dict[str, Any]:
        """How many row groups there are, and what wrote them."""
        facts: dict[str, Any] = {"row_groups": len(self._group_rows)}
        if self._created_by:
            facts["created_by"] = self._created_by
        return facts

    def table(self) -> Table:
        """All rows as Arrow data, which the file itself serves as well."""
        return replace(super().table(), is_parquet=True)

    def _batches(self, span: ItemRange) -> Iterator["pa.RecordBatch"]:
        """Record batches of exactly the rows of the range; row groups outside of it are not touched."""
        begin = 0
        for group, rows in enumerate(self._group_rows):
            start, stop = max(span.start - begin, 0), min(span.stop - begin, rows)
            if start < stop:
                yield from self._group_batches(group, start, stop)
            begin += rows

    def _group_batches(self, group: int, start: int, stop: int) -> Iterator["pa.RecordBatch"]:
        rows = self._group_rows[group]
        size = max(16, min(_BATCH_ROWS_MAX, _BATCH_BYTES * rows // max(1, self._group_bytes[group])))
        at = 0
        with parsing(_WHAT):
            batches = self._file.iter_batches(batch_size=size, row_groups=[group], use_threads=False)
        while at < stop:
            with parsing(_WHAT):
                batch = next(batches, None)
            if batch is None or batch.num_rows == 0:
                raise UnreadableError(f"The {_WHAT} is damaged: a row group ends before its {rows} rows.")
            skipped = min(max(0, start - at), batch.num_rows)
            kept = batch.slice(skipped, min(batch.num_rows, stop - at) - skipped)
            at += batch.num_rows
            if kept.num_rows:
                yield kept
