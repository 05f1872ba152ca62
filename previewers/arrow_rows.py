"""Rows that are Arrow data, whatever the format that holds them."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from blobs.domain.media_type import PARQUET
from blobs.domain.ranges import ItemRange
from blobs.reading.base_view import BaseView
from blobs.reading.reader import Table
from previewers.parsing import parsing

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_AT_ONCE = 1024


class ArrowRowsView(BaseView):
    """A subclass says what it parses in `what`, gives `_batches`, and calls `_describe` once it knows its schema."""

    unit = "rows"
    what = "file"

    @abstractmethod
    def _batches(self, span: ItemRange) -> Iterator["pa.RecordBatch"]:
        """Record batches of exactly the rows of the range, safe to be touched."""
        raise NotImplementedError

    def _describe(self, schema: "pa.Schema", count: int) -> None:
        from previewers.arrow_tables import columns_of

        self._schema = schema
        with parsing(self.what):
            self.columns = columns_of(schema)
        self.count = count
        if any("BLOB" in column.type for column in self.columns):
            self.notes.append(r"binary cells are shown as \xNN, their first 256 bytes; SQL and Python have them whole")

    def items(self, span: ItemRange) -> Iterator[list[Any]]:
        """Rows as arrays of exact JSON values; raises `UnreadableError` over damaged data."""
        from previewers.arrow_values import json_values

        for batch in self._batches(span):
            for at in range(0, batch.num_rows, _ROWS_AT_ONCE):
                part = batch.slice(at, _ROWS_AT_ONCE)
                with parsing(self.what):
                    columns = [json_values(column) for column in part.columns]
                for row in range(part.num_rows):
                    yield [column[row] for column in columns]

    def slice(self, span: ItemRange) -> tuple[bytes, str]:
        """The rows of a range as a Parquet file of the same columns; without any, Parquet has no rows."""
        if not self.columns:
            return super().slice(span)
        import pyarrow as pa
        import pyarrow.parquet

        sink = pa.BufferOutputStream()
        with parsing(self.what), pa.parquet.ParquetWriter(sink, self._schema, compression="zstd") as writer:
            for batch in self._batches(span):
                writer.write_batch(batch)
        return sink.getvalue().to_pybytes(), PARQUET

    def table(self) -> Table:
        """All rows as Arrow data."""
        from previewers.arrow_tables import table_of

        whole = ItemRange(0, self.count or 0)
        return table_of(self._schema, lambda: self._batches(whole))


def cut(batch: "pa.RecordBatch", begin: int, span: ItemRange) -> "pa.RecordBatch":
    """Of a batch whose first row has the number `begin`, the rows of the range."""
    start, stop = max(0, span.start - begin), min(batch.num_rows, span.stop - begin)
    return batch.slice(start, max(0, stop - start))
