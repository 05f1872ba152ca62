"""Telling JSON documents and lines of JSON by the head of a blob."""

import re

from blobs.domain.errors import UnreadableError
from blobs.reading.decoding import recognise, to_utf8
from blobs.reading.reader import Sample
from blobs.reading.source import BytesSource
from previewers.json_entries import values
from previewers.json_structure import first_byte, is_strict, is_valid, outline_document

_PREFIX_BYTES = 16 * 1024
_LINES_MAX = 200
_TOKEN = re.compile(
    rb'[ \t\r\n]*+(?:(?P<string>"(?:[^"\\]++|\\.)*+")|(?P<mark>[\[\]{},:])'
    rb"|(?P<word>-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null|NaN|-?Infinity))",
    re.DOTALL,
)
_CUT = re.compile(rb'[ \t\r\n]*+(?:"(?:[^"\\]++|\\.)*+\\?|[-+.\w]{0,30})', re.DOTALL)


def utf8_head(sample: Sample, *, is_declared: bool) -> bytes:
    """The head of a blob as UTF-8 without a byte order mark; nothing where it is no text."""
    encoding = recognise(sample.head, is_whole=sample.is_whole, is_declared=is_declared)
    if encoding is None:
        return b""
    if encoding.is_utf8:
        return sample.head[len(encoding.mark) :]
    copy = to_utf8(BytesSource(sample.head), encoding)
    return copy.read(0, copy.size)


def is_document(head: bytes, *, is_whole: bool) -> bool:
    """The head is, or begins, one JSON array or object."""
    if first_byte(head) not in (b"[", b"{"):
        return False
    if not is_whole:
        return _begins_document(head[:_PREFIX_BYTES])
    if is_strict(head):
        return True
    try:
        outline_document(memoryview(head.decode("utf-8", "replace").encode()))
    except UnreadableError:
        return False
    return True


def are_lines(head: bytes, tail: bytes, *, is_whole: bool) -> bool:
    """The head holds at least two lines that are JSON arrays or objects, and not more that are not JSON.

    A first line that is longer than the head is judged by the last line of the tail.
    """
    lines = head.split(b"\n")
    if not is_whole:
        lines.pop()
    lines = [line for line in lines if line.strip()][:_LINES_MAX]
    if not is_whole and len(lines) < 2 and first_byte(head) in (b"[", b"{"):
        last = tail.rstrip().rpartition(b"\n")
        return bool(last[1]) and last[2][:1] in (b"[", b"{") and len(last[2]) > 2 and is_valid(last[2])
    if not lines or first_byte(lines[0]) not in (b"[", b"{"):
        return False
    good = sum(1 for line in lines if first_byte(line) in (b"[", b"{") and is_valid(line))
    return good >= 2 and good * 2 >= len(lines)


def begins_values(head: bytes, *, is_whole: bool) -> bool:
    """The head is, or begins, several arrays or objects one after the other."""
    text = head.replace(b"\x1e", b" ")
    if first_byte(text) not in (b"[", b"{"):
        return False
    if not is_whole:
        return _begins_values(text[:_PREFIX_BYTES])
    found = values(memoryview(text))
    return found is not None and len(found[0]) > 1 and all(is_valid(text[a:b]) for a, b in zip(*found, strict=True))


def _begins_values(text: bytes) -> bool:
    """A text cut anywhere holds an array or object and begins another."""
    nesting: list[bytes] = []
    expected = "value"
    at = closed = 0
    while found := _TOKEN.match(text, at):
        if not nesting and found["mark"] not in (b"[", b"{"):
            return False
        expected = _after(found, expected, nesting)
        at = found.end()
        if expected == "":
            return False
        if not nesting:
            closed, expected = closed + 1, "value"
    is_cut_inside = bool(nesting) and _CUT.fullmatch(text, at) is not None
    return (closed >= 1 and is_cut_inside) or (closed >= 2 and not text[at:].strip())


def _begins_document(text: bytes) -> bool:
    """A text cut anywhere could go on to be one array or object."""
    nesting: list[bytes] = []
    expected = "value"
    at = 0
    while found := _TOKEN.match(text, at):
        expected = _after(found, expected, nesting)
        at = found.end()
        if expected == "":
            return False
        if not nesting:
            return not text[at:].strip()
    return _CUT.fullmatch(text, at) is not None


def _after(token: re.Match[bytes], expected: str, nesting: list[bytes]) -> str:
    """What may follow a token, nothing if it is wrong; `first` is a value or the end of the array."""
    mark = token.group("mark")
    if mark is None:
        if token.group("string") and expected in ("key", "first key"):
            return "colon"
        return "comma" if expected in ("value", "first") else ""
    if mark in b"[{":
        nesting.append(mark)
        is_array = mark == b"["
        return ("first" if is_array else "first key") if expected in ("value", "first") else ""
    if mark in b"]}":
        is_matched = bool(nesting) and nesting.pop() == (b"[" if mark == b"]" else b"{")
        return "comma" if is_matched and expected in ("comma", "first", "first key", "key") else ""
    if mark == b":":
        return "value" if expected == "colon" else ""
    return ("value" if nesting[-1:] == [b"["] else "key") if expected == "comma" and nesting else ""
