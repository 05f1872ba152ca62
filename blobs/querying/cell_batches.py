"""The rows of a table in batches of columns, in the quickest form that its reader gives."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol

from blobs.domain import exact_json
from blobs.querying.column_typing import ColumnTyper
from blobs.querying.names import unique_names
from blobs.reading.reader import Column, Table

_BATCH_BYTES = 4 * 2**20
_BATCH_ROWS_MAX = 8192
_BATCH_CELLS_MAX = 500_000
_PROBED_ROWS = 8
EXTRA = "extra"
"""The column of what rows hold beyond their columns."""


class Cells(Protocol):
    """The cells of one column of a batch."""

    def look_at(self, typer: ColumnTyper) -> None:
        """Have the typer take them into account."""

    def array(self, sql_type: str) -> Any:
        """They as a `pyarrow.Array` of the type, which holds every one of them."""


@dataclass(frozen=True, slots=True)
class PlainCells:
    """Cells as Python values."""

    cells: Sequence[Any]

    def look_at(self, typer: ColumnTyper) -> None:
        """As `Cells`."""
        typer.look_at(self.cells)

    def array(self, sql_type: str) -> Any:
        """As `Cells`."""
        from blobs.querying.typed_batches import array_of  # profiles of light formats must not need it

        return array_of(self.cells, sql_type)


@dataclass(frozen=True, slots=True)
class TextCells:
    """Cells of untyped text as an Arrow array of strings."""

    texts: Any

    def look_at(self, typer: ColumnTyper) -> None:
        """As `Cells`."""
        typer.look_at_texts(self.texts)

    def array(self, sql_type: str) -> Any:
        """As `Cells`."""
        from blobs.querying.typed_batches import arrow_type

        return self.texts.cast(arrow_type(sql_type))


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows: how many, their columns, and if some are longer, what lies beyond, a list or None a row.

    `names` are those of the columns where they are found on the way; later batches may have more columns.
    """

    count: int
    columns: list[Cells]
    extra: list[list[Any] | None] | None = None
    names: list[str] | None = None


class TableTyping:
    """The columns that a table has in SQL, by the batches that were looked at: unique names, and types that keep all.

    Rows longer than the table's columns give a last column `extra` of type JSON. The order of rows does not matter.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._is_empty = True
        self._names = [] if table.json_columns is not None else list(table.columns)
        self._typers = [ColumnTyper(is_text=table.is_text) for _ in self._names]
        self._has_extra = False

    def look_at(self, batch: Batch) -> None:
        """Take the next rows into account."""
        self._is_empty = False
        self._has_extra = self._has_extra or batch.extra is not None
        if batch.names is not None and len(batch.names) > len(self._names):
            self._names = batch.names
            self._typers += [ColumnTyper(is_text=False) for _ in range(len(self._names) - len(self._typers))]
        for typer, cells in zip(self._typers, batch.columns, strict=True):
            cells.look_at(typer)

    def columns(self) -> list[Column]:
        """The columns of all rows so far."""
        if self._is_empty:
            return [Column(name) for name in unique_names(list(self._table.columns))]
        types = [each.type() for each in self._typers]
        names = [*self._names, EXTRA] if self._has_extra else self._names
        types = [*types, "JSON"] if self._has_extra else types
        return [Column(name, kind) for name, kind in zip(unique_names(names), types, strict=True)]


def cell_batches(table: Table) -> Iterator[Batch]:
    """All rows of a table that has rows.

    Raises `StartOverError` once where the columns of JSON turn out to be others.
    """
    if table.texts is not None and table.columns:
        for given in table.texts():
            yield Batch(len(given), [TextCells(each) for each in given.columns])
    elif table.json_columns is not None:
        from blobs.querying.json_cells import JsonCells  # as above

        for names, run in table.json_columns():
            if isinstance(run, list):
                cells = [JsonCells(each) for each in run]
                yield Batch(len(cells[0]), [*cells], names=names)
            else:
                for batch in _of_rows(run, len(names)):
                    yield replace(batch, names=names)
    else:
        assert table.rows is not None
        yield from _of_rows(table.rows(), len(table.columns))


def _of_rows(rows: Iterable[list[Any]], width: int) -> Iterator[Batch]:
    for batch in batches(rows):
        columns, extra = transposed(batch, width)
        yield Batch(len(batch), [PlainCells(each) for each in columns], extra)


def batches(rows: Iterable[list[Any]]) -> Iterator[list[list[Any]]]:
    """The rows in batches of about `_BATCH_BYTES`, judged by the rows before."""
    source = iter(rows)
    count = _PROBED_ROWS
    while batch := list(islice(source, count)):
        yield batch
        probes = batch[:: max(1, len(batch) // _PROBED_ROWS)]
        row_bytes = sum(map(_size, probes)) // len(probes) + 1
        cells = max(len(each) for each in probes) + 1
        count = max(1, min(count * 8, _BATCH_ROWS_MAX, _BATCH_BYTES // row_bytes, _BATCH_CELLS_MAX // cells))


def _size(row: list[Any]) -> int:
    """About how many bytes a row takes."""
    size = 8 * len(row)
    for cell in row:
        if isinstance(cell, str | bytes):
            size += len(cell)
        elif isinstance(cell, list | dict):
            size += len(exact_json.dumps(cell))
    return size


def transposed(rows: list[list[Any]], width: int) -> tuple[list[tuple[Any, ...]], list[list[Any] | None] | None]:
    """The cells of rows by column; missing ones are null, those beyond `width` come apart, row by row."""
    if {len(row) for row in rows} == {width}:
        return list(zip(*rows, strict=True)), None
    full = [[*row, *[None] * (width - len(row))][:width] for row in rows]
    columns = list(zip(*full, strict=True)) if width else []
    extra = [row[width:] or None for row in rows]
    return columns, extra if any(extra) else None
