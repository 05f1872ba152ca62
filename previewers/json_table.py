"""JSON values as a table: one column a key, or one column of values."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from blobs.domain import exact_json
from blobs.reading.reader import JsonColumns, StartOverError, Table
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

    Where a value is no object, or there are more than `COLUMNS_MAX` keys, the one column `alone` holds the values. The
    columns are found when they are asked for, which takes a pass.
    """
    table = _JsonTable(runs, alone)
    return Table(_Names(table), rows=table.rows, json_columns=table.columns)


class _JsonTable:
    def __init__(self, runs: Callable[[], Iterator[Run]], alone: str) -> None:
        self._runs = runs
        self._alone = alone
        self._is_alone = False

    @cached_property
    def names(self) -> list[str]:
        names: list[str] = []
        with suppress(StartOverError):
            for walked in self._walk():
                names = walked.names
        return [self._alone] if self._is_alone else names

    def rows(self) -> Iterator[list[Any]]:
        names = self.names
        for run in self._runs():
            yield from self._rows_of(run, names)

    def columns(self) -> JsonColumns:
        for run, names, decoder, values in self._walk():
            found = None if values is None else decoder.columns(values)
            yield names, found or self._rows_of(run, names)

    def _rows_of(self, run: Run, names: list[str]) -> Iterator[list[Any]]:
        for value in run.each():
            read = exact_json.loads(value)
            yield [read] if self._is_alone else list(map(read.get, names))

    def _walk(self) -> Iterator["_Walked"]:
        """The runs, read as far as they are strict JSON, and the names of the columns so far.

        Raises `StartOverError` where the values turn out to be no records after some were given as such.
        """
        keys: list[str] = []
        decoder, has_begun = _Decoder(keys), False
        for run in self._runs():
            values = decoder.decoded(run) if keys or self._is_alone else None
            if values is None and not self._is_alone:
                found = _more_keys(run, keys)
                self._is_alone = found is None
                if self._is_alone and has_begun:
                    raise StartOverError
                keys = found or []
                decoder = _Decoder(keys)
                values = decoder.decoded(run) if keys or self._is_alone else None
            has_begun = True
            yield _Walked(run, [self._alone] if self._is_alone else keys, decoder, values)
        if not keys and not self._is_alone:
            self._is_alone = True  # there were empty objects only
            raise StartOverError


class _Walked(NamedTuple):
    run: Run
    names: list[str]
    decoder: "_Decoder"
    values: list[Any] | None


class _Names(Sequence[str]):
    """The names of a table's columns, found at first need."""

    def __init__(self, table: _JsonTable) -> None:
        self._table = table

    def __len__(self) -> int:
        return len(self._table.names)

    def __getitem__(self, place: Any) -> Any:
        return self._table.names[place]

    def __eq__(self, other: object) -> bool:
        return self._table.names == other

    __hash__ = None  # type: ignore[assignment]  # as lists


def _more_keys(run: Run, before: list[str]) -> list[str] | None:
    """The keys so far and those of a run; None where a value is no object, or there are too many."""
    keys = dict.fromkeys(before)
    last: list[str] = []
    for value in run.each():
        if value[:1] != b"{" and first_byte(value[:64]) != b"{":
            return None
        found = keys_of(value)
        if found != last:
            last = found
            keys.update(dict.fromkeys(found))
            if len(keys) > COLUMNS_MAX:
                return None
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

    def columns(self, values: list[Any]) -> list[bytes]:
        """What was decoded, as `Table.json_columns` wants it."""
        if self._is_alone:
            return [b"\n".join(values)]
        return [b"\n".join(map(field, values)) for field in self._fields]
