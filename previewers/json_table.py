"""JSON values as a table: one column a key, or one column of values."""

from collections.abc import Callable, Iterator
from typing import Any

from blobs.domain import exact_json
from blobs.reading.reader import Table
from previewers.json_structure import JsonBytes, first_byte, keys_of

COLUMNS_MAX = 500
"""Objects with more keys than this are data by key rather than records: they stay whole."""


def table_of(values: Callable[[], Iterator[JsonBytes]], *, alone: str) -> Table:
    """The table of JSON texts: objects give the union of their keys in order of first appearance.

    Where a value is no object, or there are more than `COLUMNS_MAX` keys, the one column `alone` holds the values.
    """
    keys = _shared_keys(values())
    if not keys:
        return Table([alone], rows=lambda: ([exact_json.loads(value)] for value in values()))

    def rows() -> Iterator[list[Any]]:
        for value in values():
            yield list(map(exact_json.loads(value).get, keys))

    return Table(keys, rows=rows)


def _shared_keys(values: Iterator[JsonBytes]) -> list[str]:
    keys: dict[str, None] = {}
    last: list[str] = []
    for value in values:
        if value[:1] != b"{" and first_byte(value[:64]) != b"{":
            return []
        found = keys_of(value)
        if found != last:
            last = found
            keys.update(dict.fromkeys(found))
            if len(keys) > COLUMNS_MAX:
                return []
    return list(keys)
