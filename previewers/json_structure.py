"""The structure of JSON text without building its values: where the entries of an array or object lie.

Strict JSON is walked by msgspec, gigabytes in seconds. What others also call JSON (NaN, half characters, comments,
trailing commas, a byte order mark, UTF-16) is walked by tokens, and every entry is read once to be sure of it.
"""

import json
import re
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from blobs.domain import exact_json
from blobs.domain.errors import UnreadableError
from blobs.reading.decoding import Encoding, blocks
from blobs.reading.index import Offsets
from blobs.reading.source import Source
from previewers.json_entries import entries
from previewers.json_runs import elements

JsonBytes = bytes | memoryview

REPAIR_BYTES_MAX = 64 * 1024 * 1024
"""Larger texts with comments or trailing commas are not JSON: taking those out copies the text."""
REPEATED_KEYS_BYTES_MAX = 4 * 1024 * 1024
"""Up to this size every object of a text is searched for repeated keys, beyond it the outermost only."""

_LARGE_BYTES = 2 * 1024
"""Beyond it the entries of an array are found by its commas: the place of each that msgspec finds costs more."""
_STRING = rb'"(?:[^"\\]++|\\.)*+"'
_KEY = re.compile(rb"[\s,{]*(" + _STRING + rb")\s*:\s*", re.DOTALL)
_COMMENT = re.compile(rb"(" + _STRING + rb")|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING_COMMA = re.compile(rb"(" + _STRING + rb"|[\[{,:]\s*,)|,(?=\s*[\]}])", re.DOTALL)
_NONFINITE = re.compile(rb"(?:" + _STRING + rb")|(NaN|-?Infinity)", re.DOTALL)
_MISFITS = re.compile("[\udc80-\udcff]")
_FAULT_BYTE = re.compile(r"\(byte (\d+)\)")
_CUT_SHORT = "it is cut short"
_NOT_BLANK = re.compile(rb"[^ \t\r\n]")
_FAULTS = (msgspec.DecodeError, msgspec.ValidationError, RecursionError, UnicodeDecodeError)

_array_decoder = msgspec.json.Decoder(list[msgspec.Raw])
_object_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_any_decoder = msgspec.json.Decoder()
_raw_decoder = msgspec.json.Decoder(msgspec.Raw)


@dataclass(frozen=True, slots=True)
class Outline:
    """Where the entries of a JSON text lie.

    `kind` is array, object or scalar. `starts` and `stops` bound each element or value, `begins` is where each key
    begins, `keys` are the keys, each once, with the value that came last. A scalar has one entry and no keys.
    """

    kind: str
    starts: Offsets
    stops: Offsets
    begins: Offsets
    keys: list[str] = field(default_factory=list)
    repeated: int = 0
    problem: str = ""

    def __len__(self) -> int:
        return len(self.starts)

    def facts(self) -> list[Any]:
        """What an index notes of it, beside its `places`."""
        return [self.kind, self.keys, self.repeated, self.problem]

    def places(self, prefix: str) -> dict[str, Offsets]:
        """Where its entries lie, for an index."""
        begins = {f"{prefix}begins": self.begins} if self.kind == "object" else {}
        return {f"{prefix}starts": self.starts, f"{prefix}stops": self.stops, **begins}

    @classmethod
    def of_index(cls, facts: list[Any], places: Mapping[str, Offsets], prefix: str) -> Self:
        """The outline that `facts` and `places` told."""
        kind, keys, repeated, problem = facts
        starts, stops = places[f"{prefix}starts"], places[f"{prefix}stops"]
        return cls(kind, starts, stops, places.get(f"{prefix}begins", starts), keys, repeated, problem)

    def holds_objects_only(self, text: memoryview) -> bool:
        """Every entry of this array is an object."""
        octets = np.frombuffer(text, np.uint8)
        return bool((octets[np.frombuffer(array("q", self.starts), np.int64)] == ord("{")).all())


def first_byte(text: JsonBytes) -> bytes:
    """The first byte that is not blank, or nothing."""
    found = _NOT_BLANK.search(text)
    return found.group() if found else b""


def address(text: Any) -> int:
    """Where in memory a buffer lies: how a piece of a text is found again in the whole."""
    return int(np.frombuffer(text, np.uint8).__array_interface__["data"][0])


def is_valid(text: JsonBytes) -> bool:
    """The text is one JSON value, strict or as `exact_json.loads` forgives."""
    try:
        _raw_decoder.decode(text)
    except _FAULTS:
        try:
            exact_json.loads(text)
        except ValueError:
            return False
    return True


def is_strict(text: JsonBytes) -> bool:
    """The structure of the text is strict JSON."""
    try:
        _raw_decoder.decode(text)
    except _FAULTS:
        return False
    return True


def members_of(text: memoryview) -> tuple[list[str], list[memoryview]]:
    """The keys of a JSON value, if it is an object, and the text of each entry: quicker than `outline` if it is small.

    Raises `UnreadableError` where the text is no JSON.
    """
    opening = first_byte(text)
    try:
        if opening == b"[":
            return [], [memoryview(raw) for raw in _array_decoder.decode(text)]
        if opening == b"{":
            raws = _object_decoder.decode(text)
            return list(raws), [memoryview(raw) for raw in raws.values()]
    except _FAULTS:
        pass  # not strict JSON
    found = outline(text)
    return found.keys, [text[start:stop] for start, stop in zip(found.starts, found.stops, strict=True)]


def keys_of(text: JsonBytes) -> list[str]:
    """The keys of an object, each once."""
    try:
        return list(_object_decoder.decode(text))
    except _FAULTS:
        return list(exact_json.loads(text))


def read_source(source: Source, encoding: Encoding) -> tuple[memoryview, list[str]]:
    r"""The text of a source as UTF-8, without copying it where it is that, and what is not strict about its encoding.

    A byte that is no character becomes the text `\xNN` inside its string.
    """
    if encoding.is_utf8 and not encoding.misfits:
        notes = ["not strict JSON: it starts with a byte order mark"] if encoding.mark else []
        return source.buffer()[len(encoding.mark) :], notes
    if encoding.is_utf8:
        text = source.read(len(encoding.mark), source.size).decode("utf-8", "surrogateescape")
        text = _MISFITS.sub(lambda found: f"\\\\x{ord(found.group()) - 0xDC00:02x}", text)
    else:
        text = "".join(piece for _, _, piece in blocks(source, encoding))
    return memoryview(text.encode()), [f"not strict JSON: {note}" for note in encoding.notes]


def outline_document(text: memoryview) -> tuple[memoryview, Outline]:
    """The outline of a whole document, and the text that it is of: without comments and trailing commas, if it had any.

    Raises `UnreadableError` where the text is no JSON.
    """
    try:
        return text, outline(text)
    except UnreadableError:
        if len(text) > REPAIR_BYTES_MAX:
            raise _broken(text) from None
        bare = _COMMENT.sub(lambda found: found.group(1) or b" ", bytes(text))
        repaired = _TRAILING_COMMA.sub(lambda found: found.group(1) or b"", bare)
        if repaired == text:
            raise _broken(text) from None
        what = "comments" if repaired == bare else "trailing commas" if bare == text else "comments and trailing commas"
        found = outline(memoryview(repaired))
        problem = f"not strict JSON: it has {what}"
        return memoryview(repaired), Outline(
            found.kind, found.starts, found.stops, found.begins, found.keys, found.repeated, problem
        )


def outline(text: memoryview) -> Outline:
    """The outline of a JSON text; raises `UnreadableError` where it is none."""
    opening = first_byte(text)
    try:
        if opening == b"[" and len(text) > _LARGE_BYTES:
            found = elements(text)
            if found is not None:
                return _of_places(*found)
            _raw_decoder.decode(text)
            return _of_large_array(text)
        if opening == b"[":
            return _of_array(text, _array_decoder.decode(text))
        if opening == b"{":
            return _of_object(text, _object_decoder.decode(text))
    except _FAULTS:
        return _outline_tolerantly(text)
    if not opening or not is_valid(text):
        raise _broken()
    start = next(_NOT_BLANK.finditer(text)).start()
    stop = start + len(bytes(text[start:]).rstrip())
    problem = "" if is_strict(text) else _problem(text)
    return Outline("scalar", array("q", [start]), array("q", [stop]), array("q", [start]), problem=problem)


def are_keys_unique(text: JsonBytes, *, is_lines: bool = False) -> bool:
    """No key is given twice in an object of strict JSON, or of lines of it; where that is not plain, False.

    A key that is given twice is read once, so that its quotes are missing where what was read is written again.
    """
    raw = bytes(text)
    if b"\\" in raw:
        return False
    try:
        written = msgspec.json.encode((_any_decoder.decode_lines if is_lines else _any_decoder.decode)(raw))
    except _FAULTS:
        return False
    return written.count(b'"') == raw.count(b'"')


def repeated_keys(text: JsonBytes) -> int:
    """How many keys of all objects in a text were given before in the same object; its cost grows with the text."""
    repeated = 0

    def count(pairs: list[tuple[str, Any]]) -> None:
        nonlocal repeated
        repeated += len(pairs) - len({key for key, _ in pairs})

    try:
        json.loads(bytes(text), object_pairs_hook=count, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return 0
    return repeated


def repeated_note(repeated: int) -> str:
    """What somebody should know who reads text in which so many keys are repeated."""
    noun = "key is" if repeated == 1 else "keys are"
    return f"{repeated} {noun} repeated in an object: the last value counts"


def is_cut_short(text: JsonBytes) -> bool:
    """The text is strict JSON as far as it goes, and ends before its value does."""
    return _fault(text) == _CUT_SHORT


def _broken(text: JsonBytes = b"null") -> UnreadableError:
    """That a text is no JSON, and where it stops being strict JSON if the text is given."""
    fault = _fault(text)
    return UnreadableError(f"It is not valid JSON{fault and f': {fault}'}.", hint="Read it as lines.")


def _fault(text: JsonBytes) -> str:
    """What keeps a text from being strict JSON; "" where nothing does."""
    try:
        _raw_decoder.decode(text)
    except msgspec.DecodeError as fault:
        told = _FAULT_BYTE.search(str(fault))
        if told is None:
            return _CUT_SHORT
        return "more follows after its end" if "trailing" in str(fault) else f"the first fault is at byte {told[1]}"
    except _FAULTS:
        return "it is nested too deeply"
    return ""


def _of_array(text: memoryview, raws: list[msgspec.Raw]) -> Outline:
    starts, stops = _places(text, raws)
    return Outline("array", starts, stops, starts)


def _of_large_array(text: memoryview) -> Outline:
    """The outline by commas alone: a list of what msgspec finds would take a hundred bytes an entry."""
    found = entries(text)
    if found is None:
        raise _broken()
    return _of_places(*found)


def _of_places(begins: NDArray[np.int64], ends: NDArray[np.int64]) -> Outline:
    starts, stops = array("q", begins.tobytes()), array("q", ends.tobytes())
    return Outline("array", starts, stops, starts)


def _of_object(text: memoryview, raws: dict[str, msgspec.Raw]) -> Outline:
    starts, stops = _places(text, list(raws.values()))
    begins = array("q")
    before = 0
    for start, stop in zip(starts, stops, strict=True):
        found = _KEY.fullmatch(text, before, start) if start >= before else None
        if found is None:  # a value was dropped in between, or this one came later than the first of its key
            return _with_last_values(text, list(_members(text)))
        begins.append(found.start(1))
        before = stop
    return Outline("object", starts, stops, begins, list(raws))


def _places(text: memoryview, raws: list[msgspec.Raw]) -> "tuple[array[int], array[int]]":
    base = address(text)
    starts, stops = array("q"), array("q")
    for raw in raws:
        start = address(raw) - base
        starts.append(start)
        stops.append(start + memoryview(raw).nbytes)
    return starts, stops


def _with_last_values(text: memoryview, members: list[tuple[int, int, int]]) -> Outline:
    """The outline of an object given all its members: of equal keys the last value at the place of the first."""
    places: dict[str, tuple[int, int, int]] = {}
    for begin, start, stop in members:
        found = _KEY.match(text, begin)
        assert found is not None  # `_members` found it there
        try:
            key = exact_json.loads(found.group(1))
        except ValueError:
            raise _broken() from None
        places[key] = (begin, start, stop)
    begins, starts, stops = (array("q", column) for column in zip(*places.values(), strict=True)) if places else (
        array("q"), array("q"), array("q"),
    )  # fmt: skip
    return Outline("object", starts, stops, begins, list(places), len(members) - len(places))


def _outline_tolerantly(text: memoryview) -> Outline:
    """The outline of what is not strict JSON; every entry is read once."""
    if first_byte(text) == b"{":
        members = list(_members(text))
        found = _with_last_values(text, members)
        bounds = [(start, stop) for _, start, stop in members]
    else:
        found = _of_large_array(text)
        bounds = list(zip(found.starts, found.stops, strict=True))
    for start, stop in bounds:
        try:
            exact_json.loads(text[start:stop])
        except ValueError:
            raise _broken() from None
    problem = _problem(text)
    return Outline(found.kind, found.starts, found.stops, found.begins, found.keys, found.repeated, problem)


def _members(text: memoryview) -> Iterator[tuple[int, int, int]]:
    """Where each key of an object begins, and where its value begins and ends; repeated keys are all there."""
    for start, stop in _bounds(text):
        found = _KEY.match(text, start, stop)
        if found is None:
            raise _broken()
        yield found.start(1), found.end(), stop


def _bounds(text: memoryview) -> Iterator[tuple[int, int]]:
    found = entries(text)
    if found is None:
        raise _broken()
    starts, stops = found
    return zip(starts.tolist(), stops.tolist(), strict=True)


def _problem(text: memoryview) -> str:
    count = sum(1 for found in _NONFINITE.finditer(text) if found.group(1))
    if count:
        return f"not strict JSON: {count} NaN or Infinity, given as text"
    return "not strict JSON: half characters (lone surrogates), given as U+FFFD"
