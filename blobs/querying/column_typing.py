"""Which SQL type a column may have so that nothing in it changes.

Two kinds of columns are told apart. A column of the file's untyped text (CSV) gets a type only where every value,
printed back, is the same text: leading zeros, `1.50` beside `1.5`, `-0` and dates in other forms stay text. A column of
values that have types (JSON, SQLite) may print differently but must be the same value.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from blobs.domain.exact_json import Number

DIGITS_MAX = 38
"""The longest DECIMAL of DuckDB, and of Parquet's fixed 16 bytes."""
SHORT_DIGITS_MAX = 18
"""The longest DECIMAL that fits 64 bits: narrow types compute faster and leave products room."""
EXACT_DOUBLE_CHARS_MAX = 16
"""A sign or point and 15 digits: every decimal of 15 digits survives a double (IEEE 754, DBL_DIG)."""
EXACT_DOUBLE_INTEGER_MAX = 2**53
_NONFINITE = frozenset(("NaN", "Infinity", "-Infinity"))


def kind_of(cell_type: type) -> str:
    """The kind of cells of a Python type: `bool int number text bytes timestamp date nested none other`."""
    for kind, types in _KINDS:
        if issubclass(cell_type, types):
            return kind
    return "other"


_KINDS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("none", (type(None),)),
    ("bool", (bool,)),
    ("int", (int,)),
    ("number", (float, Number, Decimal)),
    ("text", (str,)),
    ("bytes", (bytes, bytearray, memoryview)),
    ("timestamp", (datetime,)),  # before dates: Python takes each for one
    ("date", (date,)),
    ("nested", (list, dict, tuple)),
)


class ColumnTyper:
    """Looks at the cells of a column, batch by batch, and answers the type that keeps all of them.

    `is_text` says that strings are the file's untyped text.
    """

    def __init__(self, *, is_text: bool) -> None:
        self._kinds: set[str] = set()
        self._text = TextTyper() if is_text else None
        self.numbers = NumberTyper()
        """For who knows the numbers otherwise, and tells `look_at_kinds` that there were some."""

    def look_at(self, cells: Sequence[Any]) -> None:
        """Take the next cells into account."""
        types = set(map(type, cells))
        kinds = {kind_of(each) for each in types} - {"none"}
        self._kinds |= kinds
        if types <= {int, type(None)} and kinds:
            self.numbers.look_at_integers([each for each in cells if each is not None])
        elif kinds & {"int", "number"}:
            self.numbers.look_at(cells)
        if self._text is not None and kinds == {"text"} == self._kinds:
            self._text.look_at([each for each in cells if each is not None])

    def look_at_texts(self, texts: Any) -> None:
        """The same for an Arrow array of the file's untyped text, in which there may be nulls."""
        assert self._text is not None
        self._text.look_at_array(texts)
        if len(texts) > texts.null_count:
            self._kinds.add("text")

    def look_at_kinds(self, kinds: Iterable[str]) -> None:
        """Take into account that there are cells of these kinds."""
        self._kinds.update(kinds)

    def type(self) -> str:  # noqa: PLR0911  # one line a kind
        """The SQL type of all cells so far; VARCHAR where there was none but nulls."""
        match sorted(self._kinds):
            case ["bool"]:
                return "BOOLEAN"
            case ["bytes"]:
                return "BLOB"
            case ["text"] if self._text is not None:
                return self._text.type()
            case ["date"]:
                return "DATE"
            case ["timestamp"] | ["date", "timestamp"]:
                return "TIMESTAMP"
            case kinds if "nested" in kinds:
                return "JSON"
            case kinds if kinds and set(kinds) <= {"int", "number"}:
                return self.numbers.type()
        return "VARCHAR"


class NumberTyper:
    """The type of a column of numbers: the same values, whatever they print like."""

    def __init__(self) -> None:
        self._least = self._greatest = 0
        self._has_fractions = False
        self._is_finite = True
        self._fits_double = True
        self._digits = 0
        self._decimals = 0

    def look_at_integers(self, values: Sequence[int]) -> None:
        """Take integers into account; short ones by the least and the greatest of them."""
        ends = (min(values), max(values))
        is_short = ends[0] >= -EXACT_DOUBLE_INTEGER_MAX and ends[1] <= EXACT_DOUBLE_INTEGER_MAX
        for value in ends if is_short else values:
            self._look_at_integer(value)

    def look_at(self, cells: Iterable[Any]) -> None:
        """Take the numbers among the cells into account."""
        for cell in cells:
            if isinstance(cell, int) and not isinstance(cell, bool):
                self._look_at_integer(cell)
            elif isinstance(cell, float):
                self._has_fractions = True
                self._look_at_decimal(Decimal(repr(cell)))
            elif isinstance(cell, Number | Decimal):
                self._has_fractions = True
                self._look_at_text(str(cell))

    def look_at_fractions(self, *, digits: int, decimals: int) -> None:
        """Take into account that there are fractions, the longest with so many digits before and after the point.

        A double holds each of them.
        """
        self._has_fractions = True
        self._digits = max(self._digits, digits)
        self._decimals = max(self._decimals, decimals)

    def type(self) -> str:
        """BIGINT, DECIMAL, DOUBLE, or VARCHAR where no type holds all the values."""
        if not self._has_fractions:
            if self._least >= -(2**63) and self._greatest < 2**63:
                return "BIGINT"
            within = max(-self._least, self._greatest) < 10**DIGITS_MAX
            return f"DECIMAL({DIGITS_MAX},0)" if within else "VARCHAR"
        if self._fits_double:
            return "DOUBLE"
        digits = max(self._digits, len(str(max(-self._least, self._greatest))))
        if self._is_finite and digits + self._decimals <= DIGITS_MAX:
            return f"DECIMAL({DIGITS_MAX},{self._decimals})"
        return "VARCHAR"

    def _look_at_integer(self, value: int) -> None:
        if value < self._least:
            self._least = max(value, -(10**DIGITS_MAX))
        elif value > self._greatest:
            self._greatest = min(value, 10**DIGITS_MAX)
        if not -EXACT_DOUBLE_INTEGER_MAX <= value <= EXACT_DOUBLE_INTEGER_MAX:
            self._fits_double = self._fits_double and _survives_double(Decimal(value))

    def _look_at_text(self, text: str) -> None:
        if len(text) <= EXACT_DOUBLE_CHARS_MAX and text not in _NONFINITE and "e" not in text and "E" not in text:
            whole, _, fraction = text.partition(".")
            self._digits = max(self._digits, len(whole))
            self._decimals = max(self._decimals, len(fraction))
            return
        try:
            self._look_at_decimal(Decimal(text))
        except InvalidOperation:  # an exponent that no Decimal holds
            self._fits_double = self._is_finite = False

    def _look_at_decimal(self, value: Decimal) -> None:
        if not value.is_finite():
            self._is_finite = False
            return
        exponent = value.as_tuple().exponent
        assert isinstance(exponent, int)  # only what is not finite has letters there
        self._digits = max(self._digits, value.adjusted() + 1)
        self._decimals = max(self._decimals, -exponent)
        self._fits_double = self._fits_double and _survives_double(value)


def _survives_double(value: Decimal) -> bool:
    try:
        return Decimal(repr(float(value))) == value
    except OverflowError:
        return False


class TextTyper:
    """The type of a column of untyped text: printed back, every value is the same text."""

    def __init__(self) -> None:
        self._is_empty = True
        self._is_short = True
        self._decimals: int | None = None
        self._digits = 0
        self._tests: list[tuple[Callable[[Any], bool], Callable[[], str]]] = [
            (self._are_integers, lambda: "BIGINT" if self._is_short else f"DECIMAL({DIGITS_MAX},0)"),
            (self._are_fixed, self._fixed_type),
            (_are_doubles, lambda: "DOUBLE"),
            (_are_booleans, lambda: "BOOLEAN"),
            (_are_dates, lambda: "DATE"),
            (_are_timestamps, lambda: "TIMESTAMP"),
        ]

    def look_at(self, texts: list[str]) -> None:
        """Take the next texts into account; there are no nulls among them."""
        if not texts or not self._tests:
            return
        import pyarrow as pa  # reading formats must not need it

        try:
            array = pa.array(texts, pa.large_string())
        except UnicodeEncodeError:  # lone surrogates: no number, no date
            self._tests = []
            return
        self.look_at_array(array)

    def look_at_array(self, texts: Any) -> None:
        """The same for an Arrow array of strings, in which there may be nulls."""
        present = texts.drop_null() if texts.null_count else texts
        if len(present):
            self._is_empty = False
            self._tests = [(test, name) for test, name in self._tests if test(present)]

    def type(self) -> str:
        """The first type that no value contradicted, VARCHAR where none is left or nothing was seen."""
        return "VARCHAR" if self._is_empty or not self._tests else self._tests[0][1]()

    def _are_integers(self, texts: Any) -> bool:
        # "-0" is left out: it would print back as 0.
        if self._is_short and _all_match(texts, rf"\A(?:0|-?[1-9][0-9]{{0,{SHORT_DIGITS_MAX - 1}}})\z"):
            return True
        self._is_short = False
        return _all_match(texts, rf"\A(?:0|-?[1-9][0-9]{{0,{DIGITS_MAX - 1}}})\z")

    def _are_fixed(self, texts: Any) -> bool:
        import pyarrow.compute as pc

        if self._decimals is None:
            self._decimals = len(texts[0].as_py().partition(".")[2])
        if not 0 < self._decimals < DIGITS_MAX:
            return False
        if not _all_match(texts, rf"\A-?(?:0|[1-9][0-9]*)\.[0-9]{{{self._decimals}}}\z"):
            return False
        negative = pc.starts_with(texts, "-")
        longest = pc.max(pc.subtract(pc.binary_length(texts), negative.cast("int64"))).as_py()
        self._digits = max(self._digits, longest - 1)
        has_negative_zero = pc.any(negative).as_py() and not _none_match(texts, r"\A-0\.0*\z")
        return self._digits <= DIGITS_MAX and not has_negative_zero

    def _fixed_type(self) -> str:
        width = SHORT_DIGITS_MAX if self._digits <= SHORT_DIGITS_MAX else DIGITS_MAX
        return f"DECIMAL({width},{self._decimals})"


def _all_match(texts: Any, pattern: str) -> bool:
    import pyarrow.compute as pc

    return bool(pc.all(pc.match_substring_regex(texts, pattern)).as_py())


def _none_match(texts: Any, pattern: str) -> bool:
    import pyarrow.compute as pc

    return not pc.any(pc.match_substring_regex(texts, pattern)).as_py()


def _are_doubles(texts: Any) -> bool:
    import pyarrow.compute as pc

    if not _all_match(texts, r"\A-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:e[+-][0-9]+)?\z"):
        return False
    # A decimal of at most 15 digits is the shortest that gives its double; from 0.0001 on it has no exponent.
    is_plain = pc.and_(
        pc.match_substring_regex(texts, r"\A-?(?:0|[1-9][0-9]{0,14})\.(?:0|[0-9]{0,14}[1-9])\z"),
        pc.less_equal(pc.binary_length(pc.utf8_ltrim(texts, characters="-")), EXACT_DOUBLE_CHARS_MAX),
    )
    is_plain = pc.and_not(is_plain, pc.match_substring_regex(texts, r"\A-?0\.0000"))
    rest = texts.filter(pc.invert(is_plain))
    return all(repr(float(text)) == text for text in rest.to_pylist())


def _are_booleans(texts: Any) -> bool:
    return _all_match(texts, r"\A(?:true|false)\z")


def _are_dates(texts: Any) -> bool:
    import pyarrow as pa

    return _all_match(texts, r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}\z") and _are_of_era(texts) and _casts(texts, pa.date32())


def _are_timestamps(texts: Any) -> bool:
    import pyarrow as pa

    # A fraction that ends in 0 would be printed back shorter.
    pattern = r"\A[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{0,5}[1-9])?\z"
    return _all_match(texts, pattern) and _are_of_era(texts) and _casts(texts, pa.timestamp("us"))


def _are_of_era(texts: Any) -> bool:
    """The year is not 0: SQL would print it as 1 BC."""
    import pyarrow.compute as pc

    return not pc.any(pc.starts_with(texts, "0000")).as_py()


def _casts(texts: Any, kind: Any) -> bool:
    import pyarrow as pa

    try:
        texts.cast(kind)
    except pa.ArrowInvalid:  # the 30th of February
        return False
    return True
