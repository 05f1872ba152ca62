"""What a program's result becomes: a JSON value, a table, or bytes of a media type."""

import io
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from blobs.domain import exact_json
from blobs.domain.errors import LimitError, ToolInputError
from blobs.domain.media_type import BINARY, JSON, PARQUET
from blobs.querying.columnar import Sink, write_parquet
from blobs.querying.json_form import JsonForm
from blobs.querying.names import unique_names
from blobs.querying.python_blob import Blob
from blobs.reading.reader import Table

_SMALL_ROWS_MAX = 10_000
_ARTISTS_MAX = 16
PNG = "image/png"


class Answer:
    """Turns one result into the task's answer; what is large goes to the sink.

    Over `inline_bytes_max` bytes of JSON, or with `save`, a value is a payload; over `result_bytes_max` it is refused
    with a `ToolInputError` of code `result_too_large`.
    """

    def __init__(self, sink: Sink, *, inline_bytes_max: int, result_bytes_max: int, save: bool) -> None:
        self._sink = sink
        self._inline_bytes_max = 0 if save else inline_bytes_max
        self._room = result_bytes_max
        self._result_bytes_max = result_bytes_max

    def of(self, value: Any) -> dict[str, Any]:
        """`{"result": value}`, or `{"payload_type": type}` and for tables `columns` and `count`."""
        if isinstance(value, Blob):
            return self._bytes(value.bytes(), value.type)
        if isinstance(value, bytes | bytearray | memoryview):
            return self._bytes(bytes(value), BINARY)
        picture = _picture(value)
        if picture is not None:
            return self._bytes(picture, PNG)
        table = _as_table(value)
        return self._json(value) if table is None else self._table(table)

    def write(self, chunk: bytes) -> None:
        """Take the next bytes of the payload."""
        self._room -= len(chunk)
        if self._room < 0:
            raise _too_large(self._result_bytes_max)
        try:
            self._sink.write(chunk)
        except LimitError as error:
            raise _too_large(self._result_bytes_max) from error

    def _bytes(self, content: bytes, media_type: str) -> dict[str, Any]:
        self.write(content)
        return {"payload_type": media_type}

    def _json(self, value: Any) -> dict[str, Any]:
        form = JsonForm()
        result = form.of(value)
        content = exact_json.dumps(result)
        answer: dict[str, Any] = {"is_repr": True} if form.has_stand_ins else {}
        if form.has_stand_ins:
            answer["note"] = "The result holds objects that are not JSON: their repr is shown."
        if len(content) <= self._inline_bytes_max:
            return {"result": result, **answer}
        if isinstance(result, str):
            # Text has no type yet: what it is shows when it is read.
            return self._bytes(result.encode("utf-8", "replace"), BINARY) | answer
        return self._bytes(content, JSON) | answer

    def _table(self, table: "_ResultTable") -> dict[str, Any]:
        if table.count <= _SMALL_ROWS_MAX:
            rows = self._small_rows(table)
            if rows is not None:
                return {"result": {"columns": table.names, "rows": rows, "count": table.count}}
        columns = write_parquet(table.typed(), self)
        return {
            "payload_type": PARQUET,
            "columns": [f"{each.name} {each.type}" for each in columns],
            "count": table.count,
        }

    def _small_rows(self, table: "_ResultTable") -> list[list[Any]] | None:
        """The rows as JSON, or None where they are too large."""
        size = len(exact_json.dumps(table.names))
        rows = []
        for row in table.rows():
            size += len(exact_json.dumps(row)) + 1
            if size > self._inline_bytes_max:
                return None
            rows.append(row)
        return rows if size <= self._inline_bytes_max else None


def _too_large(bytes_max: int) -> ToolInputError:
    return ToolInputError(
        f"The result is larger than {bytes_max:,} bytes.",
        code="result_too_large",
        hint="Return less: filter, aggregate, or keep only the columns you need.",
    )


class _ResultTable:
    """A table among the results: named columns of one length, each as JSON cells or as an Arrow array."""

    def __init__(self, names: list[str], count: int, cells: Callable[[int, int], list[Any]], arrow: list[Any]) -> None:
        self.names = unique_names(names)
        self.count = count
        self._cells = cells
        self._arrow = arrow

    def rows(self, start: int = 0) -> Any:
        """The rows as JSON values, from the `start`-th on."""
        form = JsonForm()
        width = len(self.names)
        for at in range(start, self.count, 256):
            columns = [self._cells(place, at) for place in range(width)]
            yield from ([form.of(cell) for cell in row] for row in zip(*columns, strict=True)) if width else iter([])

    def typed(self) -> Table:
        """The table for Parquet. Columns that Arrow cannot hold exactly get their types from their values."""
        import pyarrow as pa

        from blobs.querying.columnar import arrow_table

        arrays = list(self._arrow)
        for place, array in enumerate(arrays):
            if array is None:
                column = Table([self.names[place]], rows=lambda place=place: self._column(place))  # type: ignore[misc]  # a default that binds the place
                arrays[place] = arrow_table(column).column(0)
        whole = pa.table(arrays, names=self.names)
        return Table(self.names, arrow=whole.to_reader)

    def _column(self, place: int) -> Any:
        form = JsonForm()
        for at in range(0, self.count, 256):
            yield from ([form.of(cell)] for cell in self._cells(place, at))


def _as_table(value: Any) -> _ResultTable | None:
    """The value as a table, or None where it is none."""
    module = type(value).__module__.partition(".")[0]
    if module in ("duckdb", "_duckdb") and hasattr(value, "to_arrow_table"):
        return _of_arrow(value.to_arrow_table())
    if module == "pyarrow":
        return _of_arrow(value)
    return _of_pandas(value) if module == "pandas" else None


def _of_arrow(value: Any) -> _ResultTable | None:
    import pyarrow as pa

    if isinstance(value, pa.RecordBatchReader):
        value = value.read_all()
    if isinstance(value, pa.Array | pa.ChunkedArray):
        value = pa.table([value], names=["value"])
    if not isinstance(value, pa.Table | pa.RecordBatch):
        return None

    def cells(place: int, at: int) -> list[Any]:
        column = value.column(place).slice(at, 256)
        # Python's times have no nanoseconds.
        return list((column.cast(pa.string()) if column.type == pa.time64("ns") else column).to_pylist())

    return _ResultTable(list(value.schema.names), value.num_rows, cells, list(value.columns))


def _of_pandas(value: Any) -> _ResultTable | None:
    import pandas as pd

    if isinstance(value, pd.Index):
        is_named = value.name is not None or isinstance(value, pd.MultiIndex)
        value = value.to_frame(index=False) if is_named else value.to_frame(index=False, name="value")
    if isinstance(value, pd.Series):
        value = value.to_frame("value" if value.name is None else value.name)
    if not isinstance(value, pd.DataFrame):
        return None
    is_counted = isinstance(value.index, pd.RangeIndex) and value.index.name is None
    frame = value if is_counted else value.reset_index(allow_duplicates=True)

    days = {place for place in range(frame.shape[1]) if _are_days(frame.iloc[:, place])}

    def cells(place: int, at: int) -> list[Any]:
        column = frame.iloc[at : at + 256, place]
        known = [None if gone else cell for cell, gone in zip(column, _missing(column), strict=True)]
        return [cell and cell.date() for cell in known] if place in days else known

    arrays = [_array(frame.iloc[:, place], as_days=place in days) for place in range(frame.shape[1])]
    return _ResultTable([_flat(name) for name in frame.columns], len(frame), cells, arrays)


def _missing(column: Any) -> list[bool]:
    import pandas as pd

    if column.dtype != object:
        return column.isna().tolist()  # type: ignore[no-any-return]  # pandas' stubs leave it open
    missing = (None, pd.NA, pd.NaT)
    return [any(cell is each for each in missing) or (type(cell) is float and math.isnan(cell)) for cell in column]


def _are_days(column: Any) -> bool:
    """The column holds dates as `Blob.df` gives them: midnights counted in milliseconds."""
    kind = column.dtype
    is_coarse = getattr(kind, "kind", "") == "M" and getattr(kind, "tz", None) is None and kind.name.endswith("[ms]")
    return bool(is_coarse and (column.isna() | (column == column.dt.normalize())).all())


def _array(column: Any, *, as_days: bool) -> Any:
    """The column as an Arrow array, None where Arrow would change values."""
    import pandas as pd
    import pyarrow as pa

    kind = column.dtype.categories.dtype if isinstance(column.dtype, pd.CategoricalDtype) else column.dtype
    if not (isinstance(kind, pd.StringDtype) or getattr(kind, "kind", "O") in "biufMm"):
        return None
    if isinstance(kind, pd.PeriodDtype | pd.IntervalDtype | pd.SparseDtype):
        return None
    array = pa.array(column, from_pandas=True)
    return array.cast(pa.date32()) if as_days else array


def _flat(name: Any) -> str:
    """The name of a column, of several levels if need be."""
    return "_".join(str(each) for each in name if str(each)) if isinstance(name, tuple) else str(name)


def _picture(value: Any) -> bytes | None:
    """The PNG of a picture or a figure, None where the value is neither."""
    if type(value).__module__.partition(".")[0] == "PIL":
        from PIL import Image

        return _png(value) if isinstance(value, Image.Image) else None
    figure = _figure(value)
    if figure is None:
        return None
    target = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they would name our line, not the program's
        figure.savefig(target, format="png")
    return target.getvalue()


def _figure(value: Any) -> Any:
    """The figure that the value is, or is drawn in; for no value the one that was drawn last."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return None
    if value is None:
        return pyplot.gcf() if pyplot.get_fignums() else None
    for each in _artists(value, depth=3):
        figure = each if hasattr(each, "savefig") else getattr(each, "figure", None)
        if figure is not None:
            return figure
    return None


def _artists(value: Any, *, depth: int) -> Iterator[Any]:
    """What matplotlib's functions answer: something drawn, or lists, tuples and arrays of it."""
    if type(value).__module__.partition(".")[0] == "matplotlib":
        yield value
    is_many = isinstance(value, list | tuple) or getattr(getattr(value, "dtype", None), "kind", "") == "O"
    if is_many and depth:
        for each in islice(value, _ARTISTS_MAX):
            yield from _artists(each, depth=depth - 1)


def _png(picture: Any) -> bytes:
    target = io.BytesIO()
    fits = picture.mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I", "I;16")
    (picture if fits else picture.convert("RGB")).save(target, "PNG")
    return target.getvalue()
