"""JSON that loses nothing: numbers keep their text, output is compact UTF-8.

Ordinary parsers pass numbers through 64-bit floats, so that ids lose digits. Here an integer is a Python `int` of any
length and every other number is a `Number`, which carries the text as written and is written back as it came.
"""

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec

from blobs.domain.errors import CallerError

DEPTH_MAX = 400
"""Nesting that every part of the service can walk: a level takes two of the interpreter's 1,000 frames."""

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z")
_SURROGATES = re.compile("[\ud800-\udfff]")


class Number:
    """A JSON number that is not a short integer, as written: `0.10`, `1e5`, or one of thousands of digits."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Number):
            return self.text == other.text
        if isinstance(other, int | float | Decimal) and not isinstance(other, bool):
            return Decimal(self.text) == Decimal(repr(other) if isinstance(other, float) else other)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(Decimal(self.text))

    def __float__(self) -> float:
        return float(self.text)

    def __repr__(self) -> str:
        return self.text


def _encode_other(value: Any) -> Any:
    if isinstance(value, _Nonfinite):
        return value.text
    if isinstance(value, Number):
        return msgspec.Raw(value.text.encode())
    raise TypeError(f"a value of type {type(value).__name__} is not JSON")


def _integer(text: str) -> int | Number:
    return int(text) if len(text) < 4000 else Number(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {clean(key): value for key, value in pairs}


class _Nonfinite(Number):
    """NaN or an infinity: not JSON, so written as a string."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Nonfinite) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


_decoder = msgspec.json.Decoder(float_hook=Number)
_encoder = msgspec.json.Encoder(enc_hook=_encode_other)


def loads(text: bytes | bytearray | memoryview | str) -> Any:
    """Read JSON text exactly.

    Strict JSON first; then what Python's `json` also writes (NaN, infinities, lone surrogates, which become U+FFFD) and
    a byte order mark. Of equal keys the last one wins, at the place of the first. Raises `ValueError` where it is no
    JSON, or is nested deeper than the interpreter can walk.
    """
    try:
        return _decoder.decode(text)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError):
        pass
    decoded = text if isinstance(text, str) else bytes(text).decode("utf-8-sig")
    try:
        value = json.loads(
            decoded.removeprefix("\ufeff"),
            parse_float=Number,
            parse_int=_integer,
            parse_constant=_Nonfinite,
            object_pairs_hook=_object,
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return changed(value, lambda leaf: clean(leaf) if isinstance(leaf, str) else leaf)


def dumps(value: Any) -> bytes:
    """Write a value as compact JSON in UTF-8, with no escapes but those that JSON demands.

    Non-finite numbers read by `loads` become the strings "NaN", "Infinity" and "-Infinity", other non-finite floats
    null, lone surrogates U+FFFD: JSON cannot say them. Raises `CallerError` naming the place of a value that JSON
    cannot carry.
    """
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError, UnicodeError, OverflowError, RecursionError, msgspec.MsgspecError):
        return _encoder.encode(_sendable(value, "", 0))


def text(value: Any) -> str:
    """`dumps` as a string."""
    return dumps(value).decode()


def clean(characters: str) -> str:
    """The text with U+FFFD for each lone surrogate, which neither JSON nor UTF-8 can say."""
    return _SURROGATES.sub("\ufffd", characters)


def plain(value: Any) -> Any:
    """The value for those who write it with Python's own `json`: a `Number` as an int or float that is equal to it.

    Where there is none (more digits than a float holds, NaN), its text as a string: digits are never lost.
    """
    return changed(value, lambda leaf: _plain_number(leaf) if isinstance(leaf, Number) else leaf)


def changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """A copy of a JSON value with each string, number, boolean and null changed; however deep it is nested."""
    whole = [value]
    waiting: list[tuple[Any, Any]] = [(whole, 0)]
    while waiting:
        holder, place = waiting.pop()
        each = holder[place]
        if isinstance(each, dict):
            holder[place] = {**each}
            waiting.extend((holder[place], key) for key in each)
        elif isinstance(each, list | tuple):
            holder[place] = [*each]
            waiting.extend((holder[place], index) for index in range(len(each)))
        else:
            holder[place] = change(each)
    return whole[0]


def _plain_number(number: Number) -> int | float | str:
    if isinstance(number, _Nonfinite):
        return number.text
    if not set(number.text) & set(".eE"):
        return int(number.text) if len(number.text) < 4000 else number.text
    as_float = float(number.text)
    is_same = abs(as_float) < float("inf") and Decimal(repr(as_float)) == Decimal(number.text)
    return as_float if is_same else number.text


def not_json(path: str, value: Any) -> CallerError:
    """The error for a value that JSON has no form for, at its place."""
    return CallerError(
        f"{path or 'result'}: a value of type {type(value).__name__} is not JSON.",
        code="not_json",
        hint="Convert the value to text, a number, a list or an object first.",
    )


def not_json_key(path: str, key: Any) -> CallerError:
    """The error for a key that is no string, at its object's place."""
    return CallerError(f"{path or 'result'}: the key {key!r} is not a string.", code="not_json")


def _sendable(value: Any, path: str, depth: int) -> Any:
    """The value with everything replaced that the encoder refuses, or an error that names its place."""
    if depth > DEPTH_MAX:
        raise CallerError(f"{path[:80]}…: nested deeper than {DEPTH_MAX} levels.", code="not_json")
    if isinstance(value, list | tuple):
        return [_sendable(each, f"{path}.{i}" if path else str(i), depth + 1) for i, each in enumerate(value)]
    if isinstance(value, dict):
        return _sendable_object(value, path, depth)
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value if -(2**63) <= value < 2**64 else Number(_digits(value))
    if value is None or isinstance(value, bool | float | Number):
        return value
    raise not_json(path, value)


def _sendable_object(value: dict[Any, Any], path: str, depth: int) -> dict[str, Any]:
    sendable = {}
    for key, each in value.items():
        if not isinstance(key, str):
            raise not_json_key(path, key)
        name = clean(key)
        sendable[name] = _sendable(each, f"{path}.{name}" if path else name, depth + 1)
    return sendable


def _digits(value: int) -> str:
    return str(value) if value.bit_length() < 13_000 else f"{Decimal(value)}"
