"""What becomes of the rows of a query: the first ones shown as JSON, all of them stored as Parquet."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from blobs.domain import exact_json
from blobs.domain.errors import LimitError
from blobs.querying.columnar import ROW_GROUP_BYTES, Sink
from blobs.querying.parquet_writing import RowGroups
from blobs.querying.sql_types import ResultColumn, stored_array, stored_type
from blobs.reading.cutting import cut_with_count

_SLICE_ROWS = 64


class ShownRows:
    """The first rows of a result as JSON, as many as fit."""

    def __init__(
        self, columns: list[ResultColumn], *, bytes_max: int, rows_max: int | None, cell_chars_max: int
    ) -> None:
        self.rows: list[list[Any]] = []
        self.cut_cells = 0
        self._columns = columns
        self._bytes_max = bytes_max
        self._rows_max = rows_max
        self._cell_chars_max = cell_chars_max
        self._bytes = 0
        self.is_full = False
        """There are rows that are not shown."""

    def take(self, batch: pa.RecordBatch) -> None:
        """Take rows of the next batch until they no longer fit."""
        for start in range(0, batch.num_rows, _SLICE_ROWS):
            if self.is_full:
                return
            for row in self._rendered(batch.slice(start, _SLICE_ROWS)):
                self._add(row)

    def _add(self, row: list[Any]) -> None:
        if self.is_full:
            return
        cut = [self._cut(cell) for cell in row]
        self._bytes += len(exact_json.dumps(cut)) + 1
        self.is_full = self._bytes > self._bytes_max or len(self.rows) == self._rows_max
        if not self.is_full:
            self.rows.append(cut)
            self.cut_cells += sum(1 for before, after in zip(row, cut, strict=True) if before is not after)

    def _cut(self, cell: Any) -> Any:
        if isinstance(cell, str):
            text = cell
        elif isinstance(cell, list | dict | exact_json.Number):
            text = exact_json.text(cell)
        else:
            return cell
        return cell if len(text) <= self._cell_chars_max else cut_with_count(text, self._cell_chars_max)

    def _rendered(self, batch: pa.RecordBatch) -> Iterator[list[Any]]:
        others = iter(batch.columns[len(self._columns) :])
        cells = []
        for column, array in zip(self._columns, batch.columns, strict=False):
            source = next(others) if column.shown else array
            cells.append([column.render(each) for each in source.to_pylist()])
        yield from map(list, zip(*cells, strict=True))


class _TooLargeError(Exception):
    """The payload would be larger than it may be."""


class StoredResult:
    """The whole result as Parquet in the reply, begun only when it turns out to be needed."""

    def __init__(self, reply: Sink, bytes_max: int | None) -> None:
        self.has_begun = False
        self._reply = reply
        self._room = bytes_max
        self._groups: RowGroups | None = None
        self._is_given_up = False

    def expect(self, columns: list[ResultColumn], schema: pa.Schema, *, is_wanted: bool) -> None:
        """Begin over with a result of these columns; `schema` is that of its batches."""
        self._columns = columns
        kinds = [stored_type(kind, column) for kind, column in zip(schema.types, columns, strict=False)]
        self._schema = pa.schema([pa.field(each.name, kind) for each, kind in zip(columns, kinds, strict=True)])
        self._is_needed = is_wanted
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = 0

    def take(self, batch: pa.RecordBatch, *, is_needed: bool) -> None:
        """Take the next rows, and write them if by now it is known that the result must be stored."""
        if self._is_given_up:
            return
        self._is_needed = self._is_needed or is_needed
        self._waiting.append(self._converted(batch))
        self._waiting_bytes += batch.nbytes
        if self._is_needed or self._waiting_bytes > ROW_GROUP_BYTES:
            self._write()

    def finish(self, *, is_whole: bool) -> bool:
        """Complete the file; whether there is one, and the whole result in it."""
        if is_whole and self._is_needed and not self._is_given_up:
            self._write(is_last=True)
        elif self._groups is not None and not self._is_given_up:
            self._groups.abandon()
            self._is_given_up = True
        return self._is_needed and is_whole and not self._is_given_up

    def write(self, chunk: bytes) -> None:
        """The sink of the Parquet writer."""
        if self._room is not None:
            self._room -= len(chunk)
            if self._room < 0:
                raise _TooLargeError
        self.has_begun = True
        self._reply.write(chunk)

    def _write(self, *, is_last: bool = False) -> None:
        try:
            if self._groups is None:
                self._groups = RowGroups(self._schema, self)
            for batch in self._waiting:
                self._groups.add(batch)
            if is_last:
                self._groups.finish()
        except (_TooLargeError, LimitError):
            self._is_given_up = True
            if self._groups is not None:
                self._groups.abandon()
        self._waiting, self._waiting_bytes = [], 0

    def _converted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        arrays = [stored_array(array, column) for array, column in zip(batch.columns, self._columns, strict=False)]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)
