"""Python's values as exact JSON values, those of numpy, pandas and pyarrow among them."""

import math
import re
from collections import deque
from collections.abc import ItemsView, Iterable, KeysView, Mapping, Set, ValuesView
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from itertools import islice
from pathlib import PurePath
from types import ModuleType
from typing import Any
from uuid import UUID

from blobs.domain import exact_json
from blobs.domain.errors import ToolInputError
from blobs.domain.exact_json import Number

ITEMS_MAX = 1_000_000
"""Values taken from an iterator, which may have no end."""
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
TEXT_CHARS_MAX = 10_000
"""How much of the text of an object that JSON cannot say is given."""


class JsonForm:
    """Turns values into JSON. Integers and decimals keep every digit; what JSON cannot say is told as text.

    Not a number and the infinities become "NaN", "Infinity" and "-Infinity"; dates and times ISO 8601; bytes hex; sets
    sorted lists. `has_stand_ins` says that some object was replaced by its `repr`.
    """

    def __init__(self) -> None:
        self.has_stand_ins = False

    def of(self, value: Any) -> Any:
        """The JSON value; raises `ToolInputError` where it contains itself or is nested too deeply."""
        try:
            return self._form(value)
        except RecursionError:
            raise ToolInputError(
                "result: it is nested too deeply, or contains itself.", code="python_error", hint="Return a flat value."
            ) from None

    def _form(self, value: Any) -> Any:  # noqa: C901, PLR0911, PLR0912  # one line a type
        match value:
            case None | bool() | Number():
                return value
            case Enum():
                return self._form(value.value)
            case str():
                return str(value)
            case int():
                return int(value)
            case float() if type(value) is float:
                return number(value)
            case Decimal():
                return Number(str(value)) if value.is_finite() else _nonfinite(float(value))
            case Fraction() | complex() | UUID() | PurePath():
                return str(value)
            case datetime() | date() | time() if not _is_missing(value):
                return value.isoformat()
            case timedelta() if not _is_missing(value):
                return duration(value // timedelta(microseconds=1) * 1000 + getattr(value, "nanoseconds", 0))
            case bytes() | bytearray() | memoryview():
                return bytes(value).hex()
            case _:
                pass
        foreign = _FOREIGN.get(type(value).__module__.partition(".")[0])
        if foreign is not None:
            found, made = foreign(value)
            if found:
                return self._form(made)
        return number(float(value)) if isinstance(value, float) else self._collection(value)

    def _collection(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, Set) and not isinstance(value, KeysView | ItemsView):
            return sorted((self._form(each) for each in value), key=exact_json.text)
        if isinstance(value, list | tuple | deque | range | KeysView | ValuesView | ItemsView):
            return [self._form(each) for each in value]
        if is_dataclass(value) and not isinstance(value, type):
            return {each.name: self._form(getattr(value, each.name)) for each in fields(value)}
        if hasattr(value, "__next__") and not hasattr(value, "read"):
            return [self._form(each) for each in _bounded(value)]
        return self._stand_in(value)

    def _mapping(self, value: Mapping[Any, Any]) -> Any:
        names = [self._key(each) for each in value]
        if len(set(names)) < len(names):
            # 1 and "1" are two keys in Python and one in JSON.
            return [[self._form(key), self._form(each)] for key, each in value.items()]
        return {name: self._form(each) for name, each in zip(names, value.values(), strict=True)}

    def _key(self, key: Any) -> str:
        form = self._form(key)
        return form if isinstance(form, str) else exact_json.text(form)

    def _stand_in(self, value: Any) -> str:
        self.has_stand_ins = True
        return represent(value)


def number(value: float) -> Any:
    """A float as JSON: its shortest exact digits, or a word where it is no number."""
    if not math.isfinite(value):
        return _nonfinite(value)
    # Written with its exponent as Python and DuckDB write it, so that one value has one text.
    text = repr(value)
    return Number(text) if "e" in text else value


def _nonfinite(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def represent(value: Any) -> str:
    """The text of an object, cut at `TEXT_CHARS_MAX`."""
    if isinstance(value, ModuleType):
        return f"<module {value.__name__!r}>"  # its repr tells where it lies on the host
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001  # the object is a stranger's, and so is its __repr__
        text = f"<{type(value).__name__}, whose repr raises {type(error).__name__}>"
    text = _ADDRESS.sub("", text)  # it differs from run to run
    hidden = len(text) - TEXT_CHARS_MAX
    return text if hidden <= 0 else f"{text[:TEXT_CHARS_MAX]}…(+{hidden} chars)"


def duration(nanoseconds: int) -> str:
    """A span of time as an ISO 8601 duration, in seconds: `PT93784.5S`."""
    seconds, fraction = divmod(abs(nanoseconds), 10**9)
    told = f"{seconds}.{fraction:09d}".rstrip("0").rstrip(".")
    return f"{'-' if nanoseconds < 0 else ''}PT{told}S"


def _bounded(values: Iterable[Any]) -> list[Any]:
    taken = list(islice(values, ITEMS_MAX + 1))
    if len(taken) > ITEMS_MAX:
        raise ToolInputError(
            f"result: an iterator of more than {ITEMS_MAX:,} values.",
            code="python_error",
            hint="Return a list of those that you need, or a count of them.",
        )
    return taken


def _is_missing(value: Any) -> bool:
    """Pandas' NaT passes for a datetime."""
    return type(value).__name__ == "NaTType"


def _of_numpy(value: Any) -> tuple[bool, Any]:  # noqa: PLR0911  # one line a type
    import numpy as np  # loaded only if the value came from there

    if isinstance(value, np.dtype):
        return True, str(value)
    if isinstance(value, np.datetime64 | np.timedelta64):
        return True, None if np.isnat(value) else str(value)
    if isinstance(value, np.float16 | np.float32):
        return True, Number(str(value)) if np.isfinite(value) else float(value)
    if isinstance(value, np.longdouble):
        return True, Number(str(value)) if np.isfinite(value) else float(value)
    if isinstance(value, np.void) and value.dtype.names is not None:
        return True, {name: value[name] for name in value.dtype.names}
    if isinstance(value, np.generic):
        return True, value.item()
    if isinstance(value, np.ndarray):
        plain = value.dtype.kind in "biuOSU" or value.dtype == np.float64
        return True, value.tolist() if plain else list(value) if value.ndim else value[()]
    return False, None


def _of_pandas(value: Any) -> tuple[bool, Any]:
    import pandas as pd

    if value is pd.NA or value is pd.NaT:
        return True, None
    if isinstance(value, pd.Period | pd.Interval | pd.api.extensions.ExtensionDtype):
        return True, str(value)
    if isinstance(value, pd.api.extensions.ExtensionArray):
        return True, list(value)
    if isinstance(value, pd.Series | pd.Index):
        return True, [None if each is pd.NaT else each for each in value]
    if isinstance(value, pd.DataFrame):
        return True, value.to_dict("records")
    return False, None


def _of_pyarrow(value: Any) -> tuple[bool, Any]:
    import pyarrow as pa

    if isinstance(value, pa.Scalar):
        return True, value.as_py()
    if isinstance(value, pa.Array | pa.ChunkedArray | pa.Table | pa.RecordBatch):
        return True, value.to_pylist()
    if isinstance(value, pa.MonthDayNano):
        return True, f"P{value.months}M{value.days}D{duration(value.nanoseconds).removeprefix('P')}"
    return False, None


_FOREIGN = {"numpy": _of_numpy, "pandas": _of_pandas, "pyarrow": _of_pyarrow}
