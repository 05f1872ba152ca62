"""Columns of JSON texts, looked at and turned into Arrow arrays many at a time.

What is found and made is the same as by `PlainCells` over the values: there the rules are, here is the quick way for
what is plain.
"""

from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from blobs.domain import exact_json
from blobs.domain.exact_json import Number
from blobs.querying.column_typing import EXACT_DOUBLE_CHARS_MAX, EXACT_DOUBLE_INTEGER_MAX, ColumnTyper
from blobs.querying.typed_batches import array_of

_LF, _QUOTE, _POINT, _MINUS, _ZERO = b'\n".-0'
_NULL, _BOOL, _TEXT, _NUMBER, _NESTED = range(5)
_KIND_OF_FIRST = np.full(256, _NUMBER, np.int8)
for _first, _kind in ((b"n", _NULL), (b"tf", _BOOL), (b'"', _TEXT), (b"[{", _NESTED)):
    _KIND_OF_FIRST[list(_first)] = _kind
_MAKES_FRACTION = np.zeros(256, np.bool_)
_MAKES_FRACTION[list(b".eE")] = True
_MAKES_EXPONENT = np.zeros(256, np.bool_)
_MAKES_EXPONENT[list(b"eE")] = True
_SHORT_INTEGER_CHARS_MAX = 18
_LONG_NUMBER_CHARS_MIN = 4_000
"""From here on integers are no Python integers (`exact_json.loads`)."""

_decoder = msgspec.json.Decoder(float_hook=msgspec.Raw)  # numbers as they are written
_encoder = msgspec.json.Encoder()

Positions = NDArray[np.int64]


class JsonCells:
    """The cells of one column: their JSON texts, joined by LF."""

    def __init__(self, lines: bytes) -> None:
        self._lines = lines
        self._octets = np.frombuffer(lines + b"\n", np.uint8)
        self._ends = np.flatnonzero(self._octets == _LF)
        self._starts = np.concatenate(([0], self._ends[:-1] + 1))
        kinds = _KIND_OF_FIRST[self._octets[self._starts]]
        self._is_null = kinds == _NULL
        counts = np.bincount(kinds, minlength=5)
        self._has_nulls = bool(counts[_NULL])
        self._kinds = {kind for kind in (_BOOL, _TEXT, _NUMBER, _NESTED) if counts[kind]}

    def __len__(self) -> int:
        return len(self._ends)

    def look_at(self, typer: ColumnTyper) -> None:
        """As `Cells`."""
        match self._kinds:
            case kinds if not kinds:
                return
            case kinds if kinds == {_TEXT}:
                typer.look_at_kinds(["text"])
            case kinds if kinds == {_BOOL}:
                typer.look_at_kinds(["bool"])
            case kinds if _NESTED in kinds:
                typer.look_at_kinds(["nested"])
            case kinds if kinds == {_NUMBER} and self._sizes.max() < _LONG_NUMBER_CHARS_MIN:
                self._look_at_numbers(typer)
            case _:
                typer.look_at(self._values())

    def array(self, sql_type: str) -> pa.Array:
        """As `Cells`."""
        if sql_type == "VARCHAR" and self._kinds <= {_TEXT} and b"\\" not in self._lines:
            return self.texts(is_quoted=True)
        if sql_type == "BIGINT":
            return self._numbers.cast(pa.int64())
        if sql_type == "DOUBLE" and not self._has_negative_zero:
            return self._numbers.cast(pa.float64())
        if sql_type == "BOOLEAN":
            return pa.array(self._octets[self._starts] == ord("t"), pa.bool_(), mask=self._is_null)
        if sql_type == "JSON" and (texts := self._compact_texts()) is not None:
            return pa.ExtensionArray.from_storage(pa.json_(texts.type), texts)
        return array_of(self._values(), sql_type)

    @cached_property
    def _sizes(self) -> Positions:
        return self._ends - self._starts

    @cached_property
    def _is_compact(self) -> bool:
        """The texts are just what would be written of their values.

        Keys may repeat in an object, and -0 is 0; control characters are escaped in strings, so must be blanks here.
        """
        if any(each in self._lines for each in (b"\\", b" ", b"{", b"-0")):
            return False
        return int(np.count_nonzero(self._octets < ord(" "))) == len(self._ends)

    @cached_property
    def _has_negative_zero(self) -> bool:
        """As an integer, which is 0, while that of a double is another."""
        return b"-0\n" in self._lines or self._lines.endswith(b"-0")

    def _compact_texts(self) -> pa.Array | None:
        """The texts as they would be written of their values; None where that takes more than one call for all."""
        if self._is_compact:
            return self.texts()
        try:
            written = _encoder.encode_lines(_decoder.decode(self._joined()))
        except (msgspec.MsgspecError, OverflowError, RecursionError, UnicodeError):
            return None
        return JsonCells(written.removesuffix(b"\n")).texts()

    def _values(self) -> list[Any]:
        values: list[Any] = exact_json.loads(self._joined())
        return values

    def _joined(self) -> bytes:
        return b"[%b]" % self._lines.replace(b"\n", b",")

    def texts(self, *, is_quoted: bool = False) -> pa.Array:
        """The texts as Arrow's strings, without their quotes if all have some; there is none inside them then."""
        is_kept = self._octets != _LF
        sizes = self._sizes
        if is_quoted:
            is_kept &= self._octets != _QUOTE
            sizes = sizes - 2
        valid = None
        if self._has_nulls:
            is_kept[(self._starts[self._is_null][:, None] + np.arange(len("null"))).ravel()] = False
            sizes = np.where(self._is_null, 0, sizes)
            valid = pa.py_buffer(np.packbits(~self._is_null, bitorder="little"))
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(self._octets[is_kept])]
        return pa.Array.from_buffers(pa.large_string(), len(self), buffers)

    @cached_property
    def _numbers(self) -> pa.Array:
        return self.texts()

    def _look_at_numbers(self, typer: ColumnTyper) -> None:
        is_fraction = self._have(_MAKES_FRACTION)
        is_integer = ~is_fraction & ~self._is_null
        if is_integer.any():
            typer.look_at_kinds(["int"])
            self._look_at_integers(typer, is_integer)
        if is_fraction.any():
            typer.look_at_kinds(["number"])
            self._look_at_fractions(typer, is_fraction)

    def _look_at_integers(self, typer: ColumnTyper, are_meant: NDArray[np.bool_]) -> None:
        texts = self._numbers.filter(pa.array(are_meant))
        if int(self._sizes[are_meant].max()) > _SHORT_INTEGER_CHARS_MAX:
            typer.numbers.look_at_integers([int(each) for each in texts.to_pylist()])
            return
        values = texts.cast(pa.int64()).to_numpy()
        ends = [int(values.min()), int(values.max())]
        are_short = ends[0] >= -EXACT_DOUBLE_INTEGER_MAX and ends[1] <= EXACT_DOUBLE_INTEGER_MAX
        typer.numbers.look_at_integers(ends if are_short else values.tolist())

    def _look_at_fractions(self, typer: ColumnTyper, are_meant: NDArray[np.bool_]) -> None:
        has_point = are_meant & ~self._have(_MAKES_EXPONENT)
        is_short = has_point & (self._sizes <= EXACT_DOUBLE_CHARS_MAX)
        long = np.flatnonzero(has_point & ~is_short)
        others = np.flatnonzero(are_meant & ~has_point).tolist()
        if is_short.any():
            self._look_at_points(typer, is_short)
        if len(long):
            texts = self._numbers.take(pa.array(long)).to_pylist()
            # What Python would write for its double is exact; of the others each is computed.
            is_exact = np.fromiter((repr(float(text)) == text for text in texts), np.bool_, len(texts))
            others += long[~is_exact].tolist()
            exact = np.zeros(len(self), np.bool_)
            exact[long[is_exact]] = True
            if exact.any():
                self._look_at_points(typer, exact, are_bare=True)
        typer.numbers.look_at([Number(text) for text in self._numbers.take(pa.array(others, pa.int64())).to_pylist()])

    def _look_at_points(self, typer: ColumnTyper, are_meant: NDArray[np.bool_], *, are_bare: bool = False) -> None:
        """Of these, which have a point and no exponent, and which a double holds.

        Signs and zeros before the point count as digits, as for short ones in `NumberTyper`, unless they `are_bare`.
        """
        points = np.flatnonzero(self._octets == _POINT)
        cells = np.searchsorted(self._ends, points)
        points, cells = points[are_meant[cells]], cells[are_meant[cells]]
        starts = self._starts[cells]
        digits = points - starts
        if are_bare:
            is_negative = self._octets[starts] == _MINUS
            digits = np.where(self._octets[starts + is_negative] == _ZERO, 0, digits - is_negative)
        decimals = int((self._ends[cells] - points).max()) - 1
        typer.numbers.look_at_fractions(digits=int(digits.max()), decimals=decimals)

    def _have(self, is_wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which of the cells have one of these characters."""
        found = np.zeros(len(self), np.bool_)
        found[np.searchsorted(self._ends, np.flatnonzero(is_wanted[self._octets]))] = True
        return found
