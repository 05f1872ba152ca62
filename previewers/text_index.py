"""Where lines and characters lie in the bytes of a text, found in one pass and kept one entry a block.

A gigabyte needs 16,000 entries; any line or character is then found by decoding one block.
"""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import numpy as np

from blobs.domain.ranges import ItemRange
from blobs.reading.decoding import BLOCK_BYTES, UTF8, Encoding, blocks, detect, utf8_mark, whole_characters
from blobs.reading.index import Index, Offsets, pack, unpack
from blobs.reading.source import Source

RECIPE = "text/1"
"""Of the index of a text, which holds what a `TextIndex` is."""

_LINE_END = re.compile(rb"\r\n|\n|\r")
_PLACES = ("block_bytes", "block_lines", "block_characters")
_READ_BYTES = 4 * BLOCK_BYTES
_HELD_BYTES_MAX = 4
"""Of a block for the next one: half a character, or a CR."""
_LF, _BLANK, _DELETE = 0x0A, 0x20, 0x7F
_STEERING = tuple(chr(code) for code in (0x00, 0x1B, 0x07, 0x08, 0x0E, 0x0F, 0x7F))


def text_index(source: Source, encoding: Encoding, index: memoryview | None) -> "TextIndex":
    """The lines and characters of a source that is text: by the index of the reader of text where that fits."""
    known = unpack(index, source, RECIPE)
    if known is not None:
        indexed = Encoding.of_facts(known.facts["encoding"])
        is_same = indexed.mark == encoding.mark and (
            indexed.codec == encoding.codec or (indexed.is_utf8 and encoding.is_utf8)
        )
        known = known if is_same else None
    return TextIndex(source, encoding, known)


class TextScan:
    """The lines and characters of a text that passes by, if it is UTF-8.

    `lines`, `characters` and `has_steering` are those of a `TextIndex`; `encoding` is None once the text is known to be
    none in UTF-8, and nothing else is told then.
    """

    def __init__(self, mark: bytes | None) -> None:
        """`mark` is what `utf8_mark` says of the text."""
        self.encoding = Encoding("utf-8" if mark else "ascii", mark) if mark is not None else None
        self.lines = self.characters = 0
        self.has_steering = False
        self.places: dict[str, Offsets] = {name: array("q") for name in _PLACES}
        self._blocks: list[array[int]] = list(self.places.values())  # type: ignore[arg-type]  # made above
        self._at = len(mark or b"")
        self._skipped = self._at
        self._held = b""
        self._ends_in_line = False
        self._block_end = self._at + BLOCK_BYTES
        self._is_low = np.empty(BLOCK_BYTES + _HELD_BYTES_MAX, np.bool_)

    def add(self, chunk: memoryview) -> None:
        """Take the next bytes; where blocks end does not depend on the pieces that they come in."""
        start, self._skipped = min(self._skipped, len(chunk)), max(0, self._skipped - len(chunk))
        rest = chunk[start:]
        while rest and self.encoding is not None:
            room = self._block_end - self._at - len(self._held)
            piece, rest = rest[:room], rest[room:]
            if len(piece) == room and not self._held:
                self._add(piece)
                continue
            self._held += piece
            if len(piece) == room:
                block, self._held = self._held, b""
                self._add(memoryview(block))

    def end(self) -> None:
        """Nothing follows."""
        if self._held and self.encoding is not None:
            self._note(self._held)
        self.lines += self._ends_in_line
        self._ends_in_line = False

    def facts(self) -> dict[str, Any]:
        """What an index notes of the text, beside its `places`."""
        assert self.encoding is not None  # nothing else is told otherwise
        return {"encoding": self.encoding.facts(), "text": [self.lines, self.characters, self.has_steering]}

    def index_bytes(self, size: int) -> bytes | None:
        """The index of the whole text, which had so many bytes; None where it tells nothing."""
        self.end()
        return None if self.encoding is None else pack(size, RECIPE, self.facts(), self.places)

    def _add(self, block: memoryview) -> None:
        octets = np.frombuffer(block, np.uint8)
        is_low = self._is_low[: len(octets)]
        ends = int(np.count_nonzero(np.equal(octets, _LF, out=is_low)))
        is_plain = int(np.count_nonzero(np.less(octets, _BLANK, out=is_low))) == ends and octets.max() < _DELETE
        self._block_end += BLOCK_BYTES
        if is_plain:
            self._keep(len(block), ends, len(block), ends_in_line=block[-1] != _LF)
            return
        raw = bytes(block)
        whole = whole_characters(raw, UTF8)
        self._held = raw[len(whole) :]
        self._note(whole)

    def _note(self, raw: bytes) -> None:
        """Note a block that holds more than letters and line ends."""
        assert self.encoding is not None  # `add` and `end` looked
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            self.encoding = None
            return
        if len(text) < len(raw):
            self.encoding = Encoding("utf-8", self.encoding.mark)
        self.has_steering = self.has_steering or any(each in text for each in _STEERING)
        self._keep(len(raw), _count_ends(raw, UTF8), len(text), ends_in_line=text[-1] not in "\r\n")

    def _keep(self, size: int, ends: int, characters: int, *, ends_in_line: bool) -> None:
        for places, found in zip(self._blocks, (self._at, self.lines, self.characters), strict=True):
            places.append(found)
        self._at += size
        self.lines += ends
        self.characters += characters
        self._ends_in_line = ends_in_line


def _scanned(source: Source, mark: bytes | None) -> TextScan:
    """A text in one pass, given up where it is known to be none in UTF-8."""
    scan = TextScan(mark)
    for at in range(0, source.size, _READ_BYTES):
        scan.add(memoryview(source.read(at, at + _READ_BYTES)))
        if scan.encoding is None:
            break
    scan.end()
    return scan


class TextIndex:
    """The lines and characters of a text.

    `lines` and `characters` are their numbers (a byte order mark is no character), `has_steering` says that the text
    holds characters that steer a terminal. Building it reads the source once, in constant memory.
    """

    def __init__(self, source: Source, encoding: Encoding, index: Index | None = None) -> None:
        self._source = source
        self.encoding = encoding
        self.has_steering = False
        self.lines = self.characters = 0
        self._bytes: Offsets
        self._lines: Offsets
        self._characters: Offsets
        if index is None and encoding.is_utf8 and not encoding.misfits:
            scan = _scanned(source, encoding.mark)
            index = None if scan.encoding is None else Index(scan.facts(), scan.places)
        if index is None:
            self._find()
        else:
            self.lines, self.characters, self.has_steering = index.facts["text"]
            self._bytes, self._lines, self._characters = (index.places[name] for name in _PLACES)

    @classmethod
    def of(cls, source: Source) -> "TextIndex":
        """The lines and characters of a source of any encoding."""
        scan = _scanned(source, utf8_mark(source.read(0, BLOCK_BYTES)))
        if scan.encoding is None:
            return cls(source, detect(source))
        return cls(source, scan.encoding, Index(scan.facts(), scan.places))

    def facts(self) -> dict[str, Any]:
        """What an index notes of it, beside its `places`."""
        return {"encoding": self.encoding.facts(), "text": [self.lines, self.characters, self.has_steering]}

    def places(self) -> dict[str, Offsets]:
        """Where each block lies, for an index."""
        return dict(zip(_PLACES, (self._bytes, self._lines, self._characters), strict=True))

    def _find(self) -> None:
        self._bytes, self._lines, self._characters = array("q"), array("q"), array("q")
        lines = characters = 0
        ends_in_line = False
        for at, raw, text in blocks(self._source, self.encoding):
            self._bytes.append(at)
            self._lines.append(lines)
            self._characters.append(characters)
            lines += _count_ends(raw, self.encoding)
            characters += len(text)
            ends_in_line = text[-1] not in "\r\n"
            self.has_steering = self.has_steering or any(each in text for each in _STEERING)
        self.lines = lines + ends_in_line
        self.characters = characters

    def each_line(self, span: ItemRange) -> Iterator[str]:
        """The lines of the range, without their ends."""
        stop = min(span.stop, self.lines)
        if span.start >= stop:
            return
        block = self._block_before(span.start)
        number = self._lines[block]
        pieces: list[str] = []
        for _, _, text in blocks(self._source, self.encoding, self._bytes[block]):
            ended = _split(text)
            pieces.append(ended[0])
            if len(ended) == 1:
                continue
            ended[0] = "".join(pieces)
            pieces = [ended.pop()]
            yield from ended[max(0, span.start - number) : stop - number]
            number += len(ended)
            if number >= stop:
                return
        yield "".join(pieces)

    def line_byte(self, line: int) -> int:
        """Where a line begins, in bytes of the source; past the last one, the end."""
        return self._line_start(line)[0]

    def byte_line(self, at: int) -> int:
        """How many lines lie before a byte that begins one, in a text of which code units are bytes."""
        block = max(0, bisect_right(self._bytes, at) - 1)
        raw = self._source.read(self._bytes[block], at)
        return self._lines[block] + _count_ends(raw, self.encoding)

    def line_character(self, line: int) -> int:
        """Where a line begins, in characters; past the last one, the end."""
        return self._line_start(line)[1]

    def byte_character(self, at: int) -> int:
        """How many characters lie before a byte that begins one."""
        if not self._bytes:
            return 0
        block = max(0, bisect_right(self._bytes, at) - 1)
        return self._characters[block] + len(self.encoding.decode(self._source.read(self._bytes[block], at)))

    def text(self, start: int, stop: int) -> str:
        """Characters `start` up to `stop`, as decoded: line ends and terminal escapes are in it."""
        stop = min(stop, self.characters)
        if start >= stop:
            return ""
        block = bisect_right(self._characters, start) - 1
        at, pieces = self._characters[block], []
        for _, _, text in blocks(self._source, self.encoding, self._bytes[block]):
            if at + len(text) > start:
                pieces.append(text[max(0, start - at) : stop - at])
            at += len(text)
            if at >= stop:
                break
        return "".join(pieces)

    def _block_before(self, line: int) -> int:
        """The block in which the line before this one ends, or the first."""
        return max(0, bisect_right(self._lines, line - 1) - 1)

    def _line_start(self, line: int) -> tuple[int, int]:
        """The place of a line in bytes and in characters."""
        if line <= 0:
            return 0, 0
        if line >= self.lines:
            return self._source.size, self.characters
        block = self._block_before(line)
        _, raw, _ = next(blocks(self._source, self.encoding, self._bytes[block]))
        end = _ends(raw, self.encoding)[line - self._lines[block] - 1]
        return self._bytes[block] + end, self._characters[block] + len(self.encoding.decode(raw[:end]))


def _ends(raw: bytes, encoding: Encoding) -> list[int]:
    """Where the lines of a block end, each place just after the line end."""
    width = encoding.unit_bytes
    if width == 1:
        return [each.end() for each in _LINE_END.finditer(raw)]
    order = "<" if encoding.codec.endswith("le") else ">"
    units = np.frombuffer(raw[: len(raw) - len(raw) % width], f"{order}u{width}")
    ends = np.flatnonzero((units == 10) | (units == 13))
    if len(ends):
        following = np.append(units, 0)[ends + 1]
        ends = ends[(units[ends] == 10) | (following != 10)]
    return [(int(each) + 1) * width for each in ends]


def _split(text: str) -> list[str]:
    """The pieces between line ends; the last one is what follows the last end."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.split("\n")


def _count_ends(raw: bytes, encoding: Encoding) -> int:
    if encoding.unit_bytes > 1:
        return len(_ends(raw, encoding))
    if b"\r" in raw:
        return raw.count(b"\n") + raw.count(b"\r") - raw.count(b"\r\n")
    return int(np.count_nonzero(np.frombuffer(raw, np.uint8) == 10))
