"""JSON values as a table: one column a key, or one column of values."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import msgspec

from blobs.domain import exact_json
from blobs.reading.reader import JsonColumns, Table
from previewers.json_structure import JsonBytes, first_byte, keys_of

COLUMNS_MAX = 500
"""Objects with more keys than this are data by key rather than records: they stay whole."""
RUN_BYTES = 512 * 1024
RUN_BYTES_MAX = 16 * 1024 * 1024
"""Of a run that is held at once; values that are larger come one by one."""

_FAULTS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_MISSING = msgspec.Raw(b"null")


@dataclass(frozen=True, slots=True)
class Run:
    """JSON values one after the other, each a line of `text` or parted by commas; `each` gives their texts one by one.

    `text` may be empty where it is not `count` values of strict JSON, or longer than `RUN_BYTES_MAX`.
    """

    text: bytes
    count: int
    each: Callable[[], Iterator[JsonBytes]]
    is_lines: bool = False


def table_of(runs: Callable[[], Iterator[Run]], *, alone: str) -> Table:
    """The table of JSON texts: objects give the union of their keys in order of first appearance.

    Where a value is no object, or there are more than `COLUMNS_MAX` keys, the one column `alone` holds the values.
    """
    keys = _shared_keys(runs())

    def rows_of(run: Run) -> Iterator[list[Any]]:
        for value in run.each():
            read = exact_json.loads(value)
            yield list(map(read.get, keys)) if keys else [read]

    def rows() -> Iterator[list[Any]]:
        for run in runs():
            yield from rows_of(run)

    def columns() -> JsonColumns:
        decoder = _Decoder(keys)
        for run in runs():
            found = decoder.columns(run)
            yield rows_of(run) if found is None else found

    return Table(keys or [alone], rows=rows, json_columns=columns)


def _shared_keys(runs: Iterator[Run]) -> list[str]:
    keys: dict[str, None] = {}
    last: list[str] = []
    decoder = None
    for run in runs:
        if decoder is not None and decoder.decoded(run) is not None:
            continue
        for value in run.each():
            if value[:1] != b"{" and first_byte(value[:64]) != b"{":
                return []
            found = keys_of(value)
            if found != last:
                last = found
                keys.update(dict.fromkeys(found))
                if len(keys) > COLUMNS_MAX:
                    return []
        decoder = _Decoder(list(keys)) if keys else None
    return list(keys)


class _Decoder:
    """Reads the values of a run at once, as the texts of their members: objects of no keys but these, or any values."""

    def __init__(self, keys: list[str]) -> None:
        self._is_alone = not keys
        self._lines: msgspec.json.Decoder[Any] | None = None
        names = {f"f{place}": key for place, key in enumerate(keys)}
        self._fields = [attrgetter(name) for name in names]
        fields = [(name, msgspec.Raw, _MISSING) for name in names]
        try:
            row = msgspec.defstruct("Row", fields, rename=names, forbid_unknown_fields=True, gc=False)
        except (ValueError, UnicodeError):  # keys with quotes or backslashes
            return
        kind = row if keys else msgspec.Raw
        self._lines, self._array = msgspec.json.Decoder(kind), msgspec.json.Decoder(list[kind])  # type: ignore[valid-type]  # a type made just now

    def decoded(self, run: Run) -> list[Any] | None:
        """The values; None where they are not just those, or not strict JSON in UTF-8."""
        if self._lines is None:
            return None
        try:
            if not run.text.isascii():
                run.text.decode()
            values = self._lines.decode_lines(run.text) if run.is_lines else self._array.decode(b"[%b]" % run.text)
        except _FAULTS:
            return None
        return values if len(values) == run.count else None

    def columns(self, run: Run) -> list[bytes] | None:
        """The same as `Table.json_columns` wants them."""
        values = self.decoded(run)
        if values is None or self._is_alone:
            return None if values is None else [b"\n".join(values)]
        return [b"\n".join(map(field, values)) for field in self._fields]
