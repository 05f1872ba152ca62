"""Parquet out of record batches, in bounded memory."""

import io
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from blobs.querying.columnar import ROW_GROUP_BYTES, ROW_GROUP_ROWS, Sink


class RowGroups:
    """Gathers record batches into row groups of `ROW_GROUP_ROWS` rows, fewer where they are large, and writes them.

    Leaving the block without an error completes the file; with an error, what was written is no Parquet file.
    """

    def __init__(self, schema: pa.Schema, sink: Sink) -> None:
        self._schema = schema
        self._pipe = _Pipe(sink)
        self._waiting: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0
        # Readers are to see what Parquet says, not what Arrow remembers of it.
        self._writer = pq.ParquetWriter(self._pipe, schema, compression="zstd", store_schema=False)

    def add(self, batch: pa.RecordBatch) -> None:
        """Take the next rows."""
        while batch.num_rows > ROW_GROUP_ROWS - self._rows:
            room = ROW_GROUP_ROWS - self._rows
            self._wait(batch.slice(0, room))
            self._flush()
            batch = batch.slice(room)
        self._wait(batch)
        if self._bytes >= ROW_GROUP_BYTES:
            self._flush()

    def _wait(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows:
            self._waiting.append(batch)
            self._rows += batch.num_rows
            self._bytes += batch.nbytes

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting, self._schema), row_group_size=ROW_GROUP_ROWS)
            self._waiting, self._rows, self._bytes = [], 0, 0

    def finish(self) -> None:
        """Complete the file."""
        self._flush()
        self._writer.close()

    def abandon(self) -> None:
        """Stop; what was written is no Parquet file."""
        self._pipe.is_broken = True
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.finish()
        else:
            self.abandon()


class _Pipe(io.RawIOBase):
    """A sink as the file that Arrow wants."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._size = 0
        self.is_broken = False

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._size

    def write(self, chunk: Any) -> int:
        content = bytes(chunk)
        if not self.is_broken:
            self._sink.write(content)
        self._size += len(content)
        return len(content)
