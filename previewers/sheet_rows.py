"""The rows of one sheet, packed: only those that hold a value, each with its number in the sheet."""

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from typing import Any

from blobs.domain import exact_json
from blobs.domain.ranges import ItemRange

_EXACT_INTEGER_MAX = 2**53
"""Up to here a float is the one integer that was written."""

_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.]+)?\Z")
_GAPS_MAX = 5


class SheetRows:
    """Rows of cells as exact JSON values, as wide as the widest one, from the sheet's first used column on.

    Numbers are integers where they are whole; dates and times are ISO 8601, durations `hours:minutes:seconds`; an empty
    text is no value. A row is kept as its JSON, a tenth of what Python's objects take.
    """

    def __init__(
        self,
        rows: Iterable[list[Any]],
        *,
        first_column: int = 0,
        better: Mapping[tuple[int, int], Any] | None = None,
    ) -> None:
        """Take rows from row 1 on; `better` has values (by row and column, from 0) that the rows lack or blunt."""
        self.numbers = array("L")
        """The number in the sheet, from 1, of each row."""
        self.date_columns: set[int] = set()
        self._packed: list[bytes] = []
        patches = _by_row(better or {})
        self.first_column = min([first_column, *(column for row in patches.values() for column in row)])
        self._shift = first_column - self.first_column
        used = 0
        for at, cells in enumerate(rows):
            used = max(used, self._add(at, cells, patches.pop(at, None)))
        for at in sorted(patches):
            used = max(used, self._add(at, [], patches[at]))
        self.width = used

    def __len__(self) -> int:
        return len(self._packed)

    def _add(self, at: int, cells: list[Any], patch: dict[int, Any] | None) -> int:
        """Keep a row if it holds a value; answers how many cells it has up to its last value."""
        converted = [None] * self._shift + [_CONVERSIONS[type(cell)](cell) for cell in cells]
        for place, cell in enumerate(cells):
            if isinstance(cell, date):
                self.date_columns.add(place + self._shift)
        for column, value in (patch or {}).items():
            place = column - self.first_column
            converted.extend([None] * (place + 1 - len(converted)))
            if converted[place] is None or isinstance(converted[place], int | float):
                converted[place] = value  # a number with a date's format is already that date
        while converted and converted[-1] is None:
            converted.pop()
        if converted:
            self.numbers.append(at + 1)
            self._packed.append(exact_json.dumps(converted))
        return len(converted)

    def used(self, index: int) -> list[Any]:
        """The cells of a row up to its last value."""
        cells: list[Any] = exact_json.loads(self._packed[index])
        return cells

    def rows(self, span: ItemRange) -> Iterator[list[Any]]:
        """The rows of the range, all of one width."""
        for index in range(span.start, min(span.stop, len(self))):
            cells = self.used(index)
            cells.extend([None] * (self.width - len(cells)))
            yield cells

    def typed_rows(self, span: ItemRange) -> Iterator[list[Any]]:
        """The rows with dates as Python dates, for tables."""
        for cells in self.rows(span):
            for place in self.date_columns:
                if isinstance(cells[place], str) and _ISO.match(cells[place]):
                    cells[place] = _moment(cells[place])
            yield cells

    def index_of(self, number: int) -> int:
        """The place of the first row of at least this number in the sheet."""
        return bisect_left(self.numbers, number)

    def gaps(self) -> str:
        """The numbers of blank rows between others, such as `7-9, 12`; "" where there are none."""
        told = []
        for above, below in zip(self.numbers, self.numbers[1:], strict=False):
            if below > above + 1:
                told.append(f"{above + 1}-{below - 1}" if below > above + 2 else f"{above + 1}")
        more = f" and {len(told) - _GAPS_MAX} more gaps" if len(told) > _GAPS_MAX else ""
        return ", ".join(told[:_GAPS_MAX]) + more


def _by_row(values: Mapping[tuple[int, int], Any]) -> dict[int, dict[int, Any]]:
    rows: dict[int, dict[int, Any]] = {}
    for (row, column), value in values.items():
        rows.setdefault(row, {})[column] = value
    return rows


def _moment(text: str) -> Any:
    try:
        return datetime.fromisoformat(text) if "T" in text else date.fromisoformat(text)
    except ValueError:
        return text


def _number(value: float) -> int | float:
    return int(value) if value.is_integer() and abs(value) <= _EXACT_INTEGER_MAX else value


def _duration(value: timedelta) -> str:
    seconds = value // timedelta(seconds=1)
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    fraction = f".{value.microseconds:06d}".rstrip("0") if value.microseconds else ""
    return f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{fraction}"


_CONVERSIONS: dict[type, Callable[[Any], Any]] = {
    str: lambda cell: cell or None,
    float: _number,
    int: lambda cell: cell,
    bool: lambda cell: cell,
    datetime: datetime.isoformat,
    date: date.isoformat,
    time: time.isoformat,
    timedelta: _duration,
    type(None): lambda _: None,
}


def column_letters(place: int) -> str:
    """The letters of a column, from 0: A, B … Z, AA …"""
    letters = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def column_place(letters: str) -> int:
    """The place of a column, from 0, by its letters."""
    place = 0
    for letter in letters:
        place = place * 26 + ord(letter) - ord("A") + 1
    return place - 1
