"""Where the elements of a large array of strict JSON lie, found and checked by msgspec run by run."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress

import msgspec
import numpy as np
from numpy.typing import NDArray

Positions = NDArray[np.int64]

_RUN_BYTES = 512 * 1024
_RUN_BYTES_MAX = 64 * 1024 * 1024
_GUESSES_MAX = 6
_BLANKS = b" \t\r\n"
_BLANK = re.compile(rb"[ \t\r\n]*+")
_PARTING = re.compile(rb"[ \t\r\n,]*+")
_FAULTS = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)

_decoder = msgspec.json.Decoder(list[msgspec.Raw])


def elements(text: memoryview) -> tuple[Positions, Positions] | None:
    """Where each element of an array begins and ends; None where that is not strict JSON, or not found like this.

    A run is cut at a comma that may part two elements. It does where what lies before it is a list of values: these are
    whole, and so the comma stands in none of them.
    """
    at, end = _inside(text)
    size_bytes = _RUN_BYTES
    starts, stops = [], []
    while at < end:
        piece = bytes(text[at : min(at + size_bytes, end)])
        is_last = at + len(piece) == end
        found = _values(piece, [len(piece)] if is_last else _cuts(piece))
        if found is None:
            if is_last or size_bytes >= _RUN_BYTES_MAX:
                return None
            size_bytes *= 4
            continue
        cut, values = found
        some = _places(piece[:cut], values)
        starts.append(some[0] + at)
        stops.append(some[1] + at)
        if is_last:
            return np.concatenate(starts), np.concatenate(stops)
        at, size_bytes = at + cut + 1, _RUN_BYTES
    return None


def _inside(text: memoryview) -> tuple[int, int]:
    """Between the brackets of an array; the end before the beginning where there are none."""
    head, tail = bytes(text[:_RUN_BYTES]), bytes(text[-_RUN_BYTES:])
    begin = len(head) - len(head.lstrip(_BLANKS)) + 1
    end = len(text) - (len(tail) - len(tail.rstrip(_BLANKS))) - 1
    is_array = bytes(text[begin - 1 : begin]) == b"[" and bytes(text[end : end + 1]) == b"]"
    return (begin, end) if is_array else (0, -1)


def _values(piece: bytes, cuts: Iterable[int]) -> tuple[int, list[msgspec.Raw]] | None:
    """The first of the cuts before which a list of values lies, and those; None where there is none."""
    for cut in cuts:
        with suppress(*_FAULTS):
            if values := _decoder.decode(b"".join((b"[", piece[:cut], b"]"))):
                return cut, values
    return None


def _cuts(piece: bytes) -> Iterator[int]:
    """Where commas lie that may part elements, the last one first: behind what an element like the first ends with."""
    start = _end(_BLANK, piece, 0)
    opening = piece[start : start + 1]
    mark = {b"{": b"},", b"[": b"],", b'"': b'",'}.get(opening, b",")
    cut = len(piece)
    for _ in range(_GUESSES_MAX):
        cut = piece.rfind(mark, 0, cut + len(mark) - 1)
        if cut < 0:
            return
        yield cut + len(mark) - 1


def _places(content: bytes, values: list[msgspec.Raw]) -> tuple[Positions, Positions]:
    """Where values lie in the bytes of a run."""
    sizes = np.fromiter(map(len, values), np.int64, len(values))
    first = _end(_BLANK, content, 0)
    starts = _evenly_parted(content, first, sizes)
    if starts is None:
        base = _address(values[0]) - first
        starts = np.fromiter((_address(each) - base for each in values), np.int64, len(values))
    return starts, starts + sizes


def _evenly_parted(content: bytes, first: int, sizes: Positions) -> Positions | None:
    """Where values of these sizes begin if the same comma and blanks lie between all of them; None where not."""
    octets = np.frombuffer(content, np.uint8)
    stop = first + int(sizes[0])
    between = _end(_PARTING, content, stop) - stop
    starts = first + np.concatenate(([0], np.cumsum(sizes[:-1] + between)))
    if starts[-1] + sizes[-1] > len(content) or content[int(starts[-1] + sizes[-1]) :].strip(_BLANKS):
        return None
    for back in range(1, between + 1):
        parts = octets[starts[1:] - back]
        if (parts != parts[:1]).any():
            return None
    is_blank = np.isin(octets[starts], np.frombuffer(_BLANKS, np.uint8))
    return None if is_blank.any() else starts


def _end(pattern: re.Pattern[bytes], content: bytes, start: int) -> int:
    found = pattern.match(content, start)
    assert found is not None  # both match the empty string
    return found.end()


def _address(value: msgspec.Raw) -> int:
    return int(np.frombuffer(value, np.uint8).__array_interface__["data"][0])
