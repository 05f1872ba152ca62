"""The lines of NDJSON that are JSON, found in one pass, many at once where that is sure to tell the same."""

from array import array
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from blobs.reading.source import Source
from previewers.json_structure import (
    REPEATED_KEYS_BYTES_MAX,
    are_keys_unique,
    is_strict,
    is_valid,
    repeated_keys,
    repeated_note,
)

ROWS_PER_MARK = 1024
BLOCK_BYTES = 256 * 1024
_WALKED_BYTES = 64 * 1024
"""What is split into lines at a time: about as much as lies between two marks."""
_TOLD_MAX = 10
_LF = 10


class _Any(msgspec.Struct, gc=False):
    """Any object: the quickest way to be sure that it is one."""


_DECODERS: dict[int, msgspec.json.Decoder[Any]] = {
    ord("{"): msgspec.json.Decoder(_Any),
    ord("["): msgspec.json.Decoder(msgspec.Raw),
}
_FAULTS = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)


class Rows:
    """The lines that are JSON, found block by block: where every so many of them begin, and where the others lie."""

    def __init__(self) -> None:
        self.count = 0
        self.marks, self.bad, self.bad_lines = array("q"), array("q"), array("q")
        self._lines = self._tolerated = self._repeated = self._bytes = 0
        self._is_end = np.empty(BLOCK_BYTES, np.bool_)

    def add(self, at: int, block: bytes) -> None:
        """Take the next whole lines."""
        self._bytes += len(block)
        is_small = self._bytes <= REPEATED_KEYS_BYTES_MAX
        ends = self._ends(block)
        if ends is None:
            self._add_by_line(at, block, is_small=is_small)
            return
        starts = np.concatenate(([0], ends[:-1] + 1))
        self.marks.extend((starts[-self.count % ROWS_PER_MARK :: ROWS_PER_MARK] + at).tolist())
        if is_small and not are_keys_unique(block, is_lines=True):
            self._repeated += sum(repeated_keys(line) for _, line in lines_of(at, block))
        self.count += len(ends)
        self._lines += len(ends)

    def _ends(self, block: bytes) -> NDArray[np.int64] | None:
        """Where the lines end of a block in which each is one object, or each one array, of strict JSON; None else.

        Where each line begins as the first does and ends with the bracket that closes that, no value goes on over a
        line end: there a comma would have to stand between the brackets. Then there are as many values as lines only if
        each line is one.
        """
        octets = np.frombuffer(block, np.uint8)
        opening = int(octets[0])
        if opening not in _DECODERS or octets[-1] != _LF:
            return None
        if len(octets) > len(self._is_end):
            self._is_end = np.empty(len(octets), np.bool_)
        ends = np.flatnonzero(np.equal(octets, _LF, out=self._is_end[: len(octets)]))
        if (octets[ends - 1] != opening + 2).any() or (octets[ends[:-1] + 1] != opening).any():
            return None
        try:
            found = len(_DECODERS[opening].decode_lines(block))
        except _FAULTS:
            return None
        return ends if found == len(ends) else None

    def _add_by_line(self, at: int, block: bytes, *, is_small: bool) -> None:
        for start, line in lines_of(at, block):
            self._lines += 1
            if line.isspace():
                continue
            if not is_strict(line):
                if not is_valid(line):
                    self.bad.append(start)
                    self.bad_lines.append(self._lines)
                    continue
                self._tolerated += 1
            if is_small:
                self._repeated += repeated_keys(line)
            if self.count % ROWS_PER_MARK == 0:
                self.marks.append(start)
            self.count += 1

    def notes(self, size: int) -> Iterator[str]:
        """What somebody who reads the rows of so many bytes should know."""
        if self.bad:
            verb = "is" if len(self.bad) == 1 else "are"
            more = " …" if len(self.bad) > _TOLD_MAX else ""
            named = ", ".join(map(str, self.bad_lines[:_TOLD_MAX]))
            yield f"{len(self.bad)} of {self._lines} lines {verb} not valid JSON: {named}{more}"
        if self._tolerated:
            verb = "line is" if self._tolerated == 1 else "lines are"
            yield f"{self._tolerated} {verb} not strict JSON (NaN, Infinity or half characters)"
        if self._repeated and size <= REPEATED_KEYS_BYTES_MAX:
            yield repeated_note(self._repeated)


def lines(source: Source, start: int) -> Iterator[tuple[int, bytes]]:
    """Physical lines with their LF, and where each begins."""
    for at, block in line_blocks(source, start, _WALKED_BYTES):
        yield from lines_of(at, block)


def lines_of(at: int, block: bytes) -> Iterator[tuple[int, bytes]]:
    pieces = block.split(b"\n")
    last = pieces.pop()
    for piece in pieces:
        yield at, piece + b"\n"
        at += len(piece) + 1
    if last:
        yield at, last


def line_blocks(source: Source, start: int, wanted_bytes: int) -> Iterator[tuple[int, bytes]]:
    """Blocks of whole lines, and where each begins."""
    at, size_bytes = start, wanted_bytes
    while at < source.size:
        block = source.read(at, at + size_bytes)
        if at + len(block) < source.size:
            cut = block.rfind(b"\n") + 1
            if not cut:
                size_bytes *= 2
                continue
            block = block[:cut]
        yield at, block
        at += len(block)
        size_bytes = wanted_bytes
