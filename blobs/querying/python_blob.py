"""A blob as model-written Python sees it: an object that gives its content in the form that is asked for."""

import functools
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

from blobs.domain import exact_json
from blobs.domain.exact_json import Number
from blobs.domain.media_type import JSON, NDJSON
from blobs.domain.ranges import ItemRange
from blobs.reading import decoding
from blobs.reading.guarding import open_view
from blobs.reading.reader import View
from blobs.reading.registry import Registry
from blobs.reading.source import FileSource

_TEXT_TYPES = frozenset(
    [
        JSON,
        NDJSON,
        "application/jsonl",
        "application/xml",
        "application/yaml",
        "application/toml",
        "application/javascript",
        "application/sql",
        "image/svg+xml",
    ]
)
_EXACT_DIGITS = 15
"""A float holds every decimal of so many digits (IEEE 754, DBL_DIG)."""
_EXACT_CHARS_MAX = _EXACT_DIGITS + 1
_INTEGER_CHARS_MAX = 4_000
"""The interpreter refuses to read integers of a little more."""


class Blob:
    """One blob. `.bytes() .text() .lines() .json() .rows() .arrow() .df()`; `.path .name .type .size .parts`.

    Nothing is read before it is asked for. Each method takes `part=` for one of `parts`, a member of an archive say.
    """

    def __init__(self, name: str, described: dict[str, Any], files: dict[str, str], readers_dir: str | None) -> None:
        self.name = name
        self.type: str = described["type"]
        self.path: str = files[described["file"]]
        self.size: int = Path(self.path).stat().st_size
        self._reader: str = described["reader"]
        self._readers_dir = readers_dir
        self._tables = {part: files[file] for part, file in (described.get("tables") or {}).items()}
        if described.get("table"):
            self._tables[None] = files[described["table"]]

    def __repr__(self) -> str:
        return f"<{self.name}: {self.type}, {self.size:,} bytes>"

    @property
    def parts(self) -> list[str]:
        """The names of its parts: sheets, tables, members, arrays of objects in a document."""
        return [each.name for each in self._view().parts]

    def bytes(self, part: str | None = None) -> bytes:
        """The content as it is; of a part, if it is a file inside. Raises `ValueError` for other parts."""
        if part is None:
            return Path(self.path).read_bytes()
        content = self._part(part).bytes_source
        if content is None:
            raise ValueError(f"the part {part!r} has no bytes of its own: use {self.name}.rows(part={part!r})")
        return content.read(0, content.size)

    def text(self, part: str | None = None) -> str:
        """The content as text: decoded if it is text, else the text in it (of a PDF's pages, say).

        Raises `ValueError` where there is none.
        """
        is_text = self.type.startswith("text/") or self.type in _TEXT_TYPES or self.type.endswith(("+json", "+xml"))
        if is_text and part is None:
            return self._decoded()
        view = self._part(part)
        if view.unit is None:
            raise ValueError(f"{self.name} is {self.type} and has no text there: use {self.name}.bytes()")
        return view.text(0, view.text_length())

    def lines(self, part: str | None = None) -> list[str]:
        """The lines of the text without their ends: LF, CRLF or CR."""
        lines = self.text(part).replace("\r\n", "\n").replace("\r", "\n").split("\n")
        return lines if lines[-1] else lines[:-1]

    def json(self, part: str | None = None) -> Any:
        """The content as Python values. Integers are exact; a number that a float would change is a `Decimal`.

        A format of items gives a list of them, so that NDJSON gives its records.
        """
        if part is None and (self.type == JSON or self.type.endswith("+json")):
            try:
                return parse_json(self._decoded())
            except ValueError:
                return self._forgiven()
        view = self._part(part)
        if view.unit == "entries" and view.text_encoding is not None:  # a JSON document inside
            return parse_json(view.text(0, view.text_length()))
        return self._items(view)

    def _forgiven(self) -> Any:
        """A document that is not strict JSON (comments, trailing commas), by the entries that its reader finds."""
        view = self._part(None)
        items = self._items(view)
        is_object = view.slice(ItemRange(0, 0))[0] == b"{}"
        return {key: value for item in items for key, value in item.items()} if is_object else items

    def rows(self, part: str | None = None) -> list[Any]:
        """The items: for tables one dict a row, exactly as written; for documents their entries."""
        view = self._part(part)
        items = self._items(view)
        if view.columns is None:
            return items
        names = [each.name for each in view.columns]
        return [dict(zip(names, row, strict=False)) for row in items]

    def arrow(self, part: str | None = None) -> Any:
        """The rows as a `pyarrow.Table` with exact types. JSON is text in it."""
        import pyarrow as pa  # a program over text should not pay for it

        table = self._arrow(part)
        for place, field in enumerate(table.schema):
            if isinstance(field.type, pa.JsonType):
                table = table.set_column(place, field.name, table.column(place).cast(field.type.storage_type))
        return table

    def df(self, part: str | None = None) -> Any:
        """The rows as a `pandas.DataFrame`: JSON is lists and dicts, decimals that a float would change `Decimal`."""
        return _frame(self._arrow(part))

    def _arrow(self, part: str | None) -> Any:
        if part in self._tables:
            import pyarrow.parquet as pq

            return pq.read_table(self._tables[part])
        from blobs.querying.columnar import arrow_table

        table = self._part(part).table()
        if table is None:
            raise ValueError(f"{self.name} is {self.type} and has no rows: use {self.name}.bytes()")
        return arrow_table(table)

    def _decoded(self) -> str:
        content = self.bytes()
        encoding = decoding.detect(FileSource(self.path))
        return encoding.decode(content.removeprefix(encoding.mark))

    def _part(self, part: str | None) -> View:
        view = self._view()
        return view if part is None else view.part(part)

    def _items(self, view: View) -> list[Any]:
        if view.unit is None:
            raise ValueError(f"{self.name} is {self.type} and has no items: use {self.name}.bytes()")
        for note in view.notes:
            print(f"{self.name}: {note}")  # what is left out must not go unsaid
        return [plain(each) for each in view.items(ItemRange(0, view.count or 0))]

    @functools.cache  # noqa: B019  # the process lives for one call
    def _view(self) -> View:
        plug_in = _registry(self._readers_dir).by_name(self._reader)
        if plug_in is None or plug_in.reader is None:
            raise ValueError(f"the reader {self._reader!r} is not here: use {self.name}.bytes()")
        return open_view(plug_in, FileSource(self.path))


@functools.cache
def _registry(readers_dir: str | None) -> Registry:
    return Registry(readers_dir)


def plain(value: Any) -> Any:
    """Exact JSON as plain Python values, `Decimal` where a float would change the number."""
    return exact_json.changed(value, _plain_leaf)


def _plain_leaf(leaf: Any) -> Any:
    if not isinstance(leaf, Number):
        return leaf
    text = str(leaf)
    return int(text) if text.lstrip("-").isdecimal() and len(text) < _INTEGER_CHARS_MAX else parse_number(text)


def parse_json(text: str) -> Any:
    """JSON text as plain Python values; what Python itself writes beyond the standard (NaN) is read too.

    Half characters are U+FFFD, as they are for every other tool.
    """
    value = json.loads(text, parse_float=parse_number, parse_int=_parse_integer)
    if "\\ud" not in text and "\\uD" not in text:
        return value
    return exact_json.changed(value, lambda leaf: exact_json.clean(leaf) if isinstance(leaf, str) else leaf)


def parse_number(text: str) -> float | Decimal:
    """The float of a number's text, or the `Decimal` where the float is another number."""
    number = float(text)
    if len(text) <= _EXACT_CHARS_MAX and "e" not in text and "E" not in text:
        return number
    exact = Decimal(text)
    return number if Decimal(repr(number)) == exact or not exact.is_finite() else exact


def _parse_integer(text: str) -> int | Decimal:
    return int(text) if len(text) < _INTEGER_CHARS_MAX else Decimal(text)


def _frame(table: Any) -> Any:
    """An Arrow table as a DataFrame that loses nothing: whole numbers beside nulls stay whole."""
    import pandas as pd
    import pyarrow as pa

    columns = {}
    for place, field in enumerate(table.schema):
        column = table.column(place)
        if isinstance(field.type, pa.JsonType):
            texts = column.cast(field.type.storage_type).to_pylist()
            cells = [None if each is None else plain(exact_json.loads(each)) for each in texts]
            columns[place] = pd.Series(cells, dtype=object)
        elif pa.types.is_decimal(field.type):
            columns[place] = _decimals(column)
        elif pa.types.is_integer(field.type) and column.null_count:
            columns[place] = column.to_pandas(types_mapper=_nullable)
        else:
            columns[place] = column.to_pandas(date_as_object=False)
    frame = pd.DataFrame(columns)
    frame.columns = pd.Index(table.schema.names)
    return frame


def _decimals(column: Any) -> Any:
    """A column of decimals as floats where each has at most 15 digits, else as `int` or `Decimal`."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    scale = column.type.scale
    greatest = pc.max(pc.abs(column)).as_py()
    if scale > 0 and (greatest is None or greatest < Decimal(10) ** (_EXACT_DIGITS - scale)):
        return column.cast(pa.float64()).to_pandas()
    cells = column.to_pylist()
    if scale == 0:
        cells = [None if each is None else int(each) for each in cells]
    return pd.Series(cells, dtype=object)


def _nullable(kind: Any) -> Any:
    import pandas as pd

    name = str(kind)
    return getattr(pd, f"{name[:4].replace('uint', 'UInt').replace('int', 'Int')}{name[4:]}Dtype", pd.Int64Dtype)()
