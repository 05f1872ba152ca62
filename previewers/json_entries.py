"""Where the entries of a JSON array or object lie, and values one after the other: block by block, by marks alone."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_BLOCK_BYTES = 1024 * 1024
_TRIMMED_TOGETHER = 32
_QUOTE, _BACKSLASH, _COMMA, _SEPARATOR = 34, 92, 44, 0x1E

Positions = NDArray[np.int64]

_STEPS = np.zeros(256, np.int8)
_STEPS[[ord("["), ord("{")]] = 1
_STEPS[[ord("]"), ord("}")]] = -1
_IS_MARK = _STEPS != 0
_IS_MARK[_COMMA] = True
_IS_BLANK = np.zeros(256, np.bool_)
_IS_BLANK[list(b" \t\r\n")] = True


@dataclass(slots=True)
class _Scan:
    """What is known at the border of two blocks."""

    depth: int = 0
    is_in_string: bool = False
    is_escaped: bool = False
    """The next byte is escaped."""


def entries(text: memoryview) -> tuple[Positions, Positions] | None:
    """Where each entry of an array or object begins and ends, blanks trimmed; None where the brackets do not close.

    Only strings, brackets and outermost commas are looked at: what an entry is, and whether it is one, is not checked.
    An entry may be empty.
    """
    octets = np.frombuffer(text, np.uint8)
    scan = _Scan()
    commas: list[Positions] = []
    opening = -1
    for at in range(0, len(octets), _BLOCK_BYTES):
        block = octets[at : at + _BLOCK_BYTES]
        marks, depths = _marks(block, scan)
        if opening < 0 and len(marks):
            opening = at + int(marks[0])
        closed = np.flatnonzero(depths == 0)
        if len(closed):
            closing = at + int(marks[closed[0]])
            commas.append(at + _outer_commas(block, marks[: closed[0]], depths[: closed[0]]))
            is_end = octets[closing] == octets[opening] + 2 and bool(_IS_BLANK[octets[closing + 1 :]].all())
            return _between(octets, opening, np.concatenate(commas), closing) if is_end else None
        commas.append(at + _outer_commas(block, marks, depths))
    return None


def values(text: memoryview) -> tuple[Positions, Positions] | None:
    """Where each array or object of a text begins and ends that holds one after the other, and nothing else.

    Between them are blanks or the separators of RFC 7464. None where anything else is, or a bracket does not close.
    """
    octets = np.frombuffer(text, np.uint8)
    scan = _Scan()
    starts: list[Positions] = []
    stops: list[Positions] = []
    for at in range(0, len(octets), _BLOCK_BYTES):
        block = octets[at : at + _BLOCK_BYTES]
        marks, depths = _marks(block, scan)
        steps = _STEPS[block[marks]]
        if len(depths) and int(depths.min()) < 0:
            return None
        starts.append(at + marks[(depths == 1) & (steps == 1)])
        stops.append(at + marks[(depths == 0) & (steps == -1)] + 1)
    begins, ends = (np.concatenate(each) if each else np.zeros(0, np.int64) for each in (starts, stops))
    if scan.depth or scan.is_in_string or len(begins) != len(ends):
        return None
    inside = np.zeros(len(octets) + 1, np.int8)
    inside[begins] += 1
    inside[ends] -= 1
    between = octets[np.cumsum(inside[:-1]) == 0]
    return (begins, ends) if bool((_IS_BLANK[between] | (between == _SEPARATOR)).all()) else None


def _marks(block: NDArray[np.uint8], scan: _Scan) -> tuple[Positions, Positions]:
    """The brackets and commas of a block that are in no string, and how deep each leaves the nesting."""
    quotes = np.flatnonzero(block == _QUOTE)
    escaped = _escaped(block, scan)
    if len(escaped) and len(quotes):
        quotes = quotes[~np.isin(quotes, escaped)]
    marks = np.flatnonzero(_IS_MARK[block])
    if len(quotes) or scan.is_in_string:
        marks = marks[(np.searchsorted(quotes, marks) + scan.is_in_string) % 2 == 0]
        scan.is_in_string = bool((len(quotes) + scan.is_in_string) % 2)
    depths = scan.depth + np.cumsum(_STEPS[block[marks]], dtype=np.int64)
    scan.depth = int(depths[-1]) if len(depths) else scan.depth
    return marks, depths


def _escaped(block: NDArray[np.uint8], scan: _Scan) -> Positions:
    """The positions after an odd number of backslashes."""
    slashes = np.flatnonzero(block == _BACKSLASH)
    first_is_escaped, scan.is_escaped = scan.is_escaped, False
    if not len(slashes):
        return np.zeros(int(first_is_escaped), np.int64)
    begins = np.flatnonzero(np.diff(slashes, prepend=-2) != 1)
    lengths = np.diff(begins, append=len(slashes))
    runs = slashes[begins]
    after = runs + lengths
    if first_is_escaped and runs[0] == 0:
        lengths[0] += 1
    escaped: Positions = after[lengths % 2 == 1]
    if first_is_escaped and runs[0] != 0:
        escaped = np.concatenate(([0], escaped))
    scan.is_escaped = bool(len(escaped)) and int(escaped[-1]) == len(block)
    return escaped


def _outer_commas(block: NDArray[np.uint8], marks: Positions, depths: Positions) -> Positions:
    commas: Positions = marks[(depths == 1) & (block[marks] == _COMMA)]
    return commas


def _between(octets: NDArray[np.uint8], opening: int, commas: Positions, closing: int) -> tuple[Positions, Positions]:
    starts = np.concatenate(([opening + 1], commas + 1))
    stops = np.append(commas, closing)
    _trim(octets, starts, stops)
    if len(starts) == 1 and starts[0] == stops[0]:
        return starts[:0], stops[:0]
    return starts, stops


def _trim(octets: NDArray[np.uint8], starts: Positions, stops: Positions) -> None:
    """Move both ends of each entry past blanks: all at once while the blanks are few, then one by one."""
    for _ in range(_TRIMMED_TOGETHER):
        before = np.flatnonzero((starts < stops) & _IS_BLANK[octets[starts]])
        starts[before] += 1
        behind = np.flatnonzero((starts < stops) & _IS_BLANK[octets[stops - 1]])
        stops[behind] -= 1
        if not len(before) and not len(behind):
            return
    for place in np.union1d(before, behind):
        solid = np.flatnonzero(~_IS_BLANK[octets[starts[place] : stops[place]]])
        first, last = (solid[0], solid[-1] + 1) if len(solid) else (0, 0)
        starts[place], stops[place] = starts[place] + first, starts[place] + last
