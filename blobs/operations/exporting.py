"""Tables written out as text formats."""

import csv
import io
from typing import Protocol

from blobs.domain import exact_json
from blobs.domain.media_type import CSV, JSON, NDJSON
from blobs.domain.ranges import ItemRange
from blobs.reading.reader import View

TSV = "text/tab-separated-values"
EXPORTS = (CSV, TSV, JSON, NDJSON)


class _Sink(Protocol):
    def write(self, chunk: bytes) -> object: ...


def export(view: View, media_type: str, sink: _Sink) -> None:
    """Write the rows of a table as CSV, TSV, JSON (an array of objects) or NDJSON, row by row."""
    names = [column.name for column in view.columns or ()]
    rows = view.items(ItemRange(0, view.count or 0))
    if media_type in (CSV, TSV):
        buffer = io.StringIO()
        writer = csv.writer(buffer, delimiter="\t" if media_type == TSV else ",", lineterminator="\n")
        writer.writerow(names)
        for row in rows:
            writer.writerow(
                ["" if cell is None else cell if isinstance(cell, str) else exact_json.text(cell) for cell in row]
            )
            if buffer.tell() > 1 << 20:
                sink.write(buffer.getvalue().encode())
                buffer.seek(0)
                buffer.truncate()
        sink.write(buffer.getvalue().encode())
        return
    lead, between, end = (b"[", b",", b"]") if media_type == JSON else (b"", b"", b"")
    sink.write(lead)
    for i, row in enumerate(rows):
        line = exact_json.dumps(dict(zip(names, row, strict=False)))
        sink.write((between if i else b"") + line + (b"" if media_type == JSON else b"\n"))
    sink.write(end)
