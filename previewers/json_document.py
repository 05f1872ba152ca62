"""JSON documents: the elements of an array, or one entry a key of an object."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cached_property, partial
from typing import Any

import numpy as np

from blobs.domain import exact_json
from blobs.domain.errors import ToolInputError
from blobs.domain.media_type import JSON
from blobs.domain.ranges import ItemRange
from blobs.reading.base_view import BaseView
from blobs.reading.decoding import UTF8, Encoding, detect
from blobs.reading.index import Index, Offsets, pack, unpack
from blobs.reading.reader import Confidence, Part, Sample, Table, View
from blobs.reading.source import BufferSource, Source
from blobs.reading.stretches import Needle, Stretch, Trust
from previewers.json_glimpse import glimpse
from previewers.json_shape import shape_of
from previewers.json_sniff import is_document, utf8_head
from previewers.json_stretches import entry_stretches, trust
from previewers.json_structure import (
    REPEATED_KEYS_BYTES_MAX,
    Outline,
    address,
    are_keys_unique,
    first_byte,
    is_cut_short,
    is_valid,
    outline,
    outline_document,
    read_source,
    repeated_keys,
    repeated_note,
)
from previewers.json_table import COLUMNS_MAX, RUN_BYTES, RUN_BYTES_MAX, Run, table_of
from previewers.text_index import TextIndex, text_index

PARTS_MAX = 100
_RECIPE = "json/1"
_LARGE_BYTES = 64 * 1024
_INDEX = re.compile(r"0|[1-9][0-9]{0,17}")
_NAMED_MAX = 20
_COMPARED_MAX = 1000
_PATH_CHARS_MAX = 300
_KIND_NAMES = {b'"': "a string", b"t": "a boolean", b"f": "a boolean", b"n": "null"}


class _Outlines:
    """The outlines of the values inside a text; that of a large one is found once."""

    def __init__(self, text: memoryview, known: Mapping[tuple[int, int], Outline] | None = None) -> None:
        """`known` are some by where the value begins and how long it is."""
        self._base = address(text) if len(text) else 0
        self.known = {**(known or {})}

    def of(self, value: memoryview) -> Outline:
        """The outline of a piece of the text; raises `UnreadableError` where it is no JSON."""
        if len(value) < _LARGE_BYTES:
            return outline(value)
        place = (address(value) - self._base, len(value))
        if place not in self.known:
            self.known[place] = outline(value)
        return self.known[place]


class JsonView(BaseView):
    """A JSON value as entries: elements, or `{"key": value}` for each key, or a scalar itself.

    `text` is the JSON text as written. Numbers keep their digits; of equal keys the last value counts.
    """

    unit: str | None = "entries"

    def __init__(self, data: memoryview, found: Outline, outlines: "_Outlines | None" = None) -> None:
        super().__init__()
        self._data = data
        self._outline = found
        self.count = len(found)
        self._pointers: dict[str, str] = {}
        self._outlines = outlines or _Outlines(data)
        if found.kind == "object":
            self._find_parts()

    def items(self, span: ItemRange) -> Iterator[Any]:
        """The entries of the range, exact."""
        for place in range(span.start, min(span.stop, len(self._outline))):
            value = exact_json.loads(self._value(place))
            yield {self._outline.keys[place]: value} if self._outline.keys else value

    def glimpse(self, span: ItemRange) -> Iterator[Any]:
        """The entries of the range, long arrays and objects inside them as marks with their count."""
        for place in range(span.start, min(span.stop, len(self._outline))):
            value = glimpse(self._value(place), self._outlined)
            yield {self._outline.keys[place]: value} if self._outline.keys else value

    def shape(self) -> Any:
        """Types and counts: one sketch a key of an object, else one sketch."""
        return shape_of(self._data, self._outlined)

    def part(self, name: str) -> View:
        """An array of objects inside the document, by its keys joined with dots."""
        if name not in self._pointers:
            raise ToolInputError(f"part: there is no part {name!r}.", hint=self._parts_hint())
        return self.at(self._pointers[name])

    def at(self, path: str) -> View:
        """The value at a JSON Pointer (RFC 6901); raises `ToolInputError` naming the last step that exists."""
        if path == "":
            return self
        if not path.startswith("/"):
            raise ToolInputError(
                f"path: {path[:_PATH_CHARS_MAX]!r} is not a JSON Pointer.",
                hint=f'Write one such as "{self._example()}".',
            )
        data, found = self._data, self._outline
        walked = ""
        for step in path[1:].split("/"):
            place = _place(found, step.replace("~1", "/").replace("~0", "~"))
            if place is None:
                told = f"path: {path[:_PATH_CHARS_MAX]} does not exist; {_inventory(walked, data, found)}"
                raise ToolInputError(told, hint=_suggestion(walked, step, found))
            data = data[found.starts[place] : found.stops[place]]
            found = self._outlined(data)
            walked += "/" + step
        kind = StringView if first_byte(data) == b'"' else JsonView
        return kind(data, found, self._outlines)

    def text_length(self) -> int:
        """The number of characters of the JSON text."""
        return self._text.characters

    def text_offset(self, item: int) -> int:
        """Where an entry's text begins, for a key of an object at its quote; past the last one, the end."""
        if item >= len(self._outline):
            return self._text.characters
        return self._text.byte_character(self._outline.begins[item])

    def text(self, start: int, stop: int) -> str:
        """The JSON text as written."""
        return self._text.text(start, stop)

    def stretches(self, span: ItemRange, needle: Needle) -> Iterator[Stretch] | None:
        """Runs of entries as they are written, keys and what lies between them included."""
        found = self._outline
        is_in_order = found.kind != "scalar" and not found.repeated
        if trust(needle) is Trust.NONE or not is_in_order:
            return None
        return entry_stretches(self._data, found, ItemRange(span.start, min(span.stop, len(found))), needle)

    def slice(self, span: ItemRange) -> tuple[bytes, str]:
        """These entries as a document of the same kind, each as written; all of them are the text itself."""
        start, stop = span.start, min(span.stop, len(self._outline))
        if start == 0 and stop == len(self._outline):
            return self._whole(), JSON
        if start >= stop:
            return (b"{}" if self._outline.kind == "object" else b"[]"), JSON
        if self._outline.kind == "object":
            members = (
                exact_json.dumps(self._outline.keys[place]) + b":" + self._value(place) for place in range(start, stop)
            )
            return b"{" + b",".join(members) + b"}", JSON
        return b"[" + self._data[self._outline.starts[start] : self._outline.stops[stop - 1]] + b"]", JSON

    def table(self) -> Table | None:
        """An array of objects as one column a key, an object as one row, anything else as one column of entries.

        An object of more than `COLUMNS_MAX` keys is one row a key: `key` and `value`.
        """
        keys = self._outline.keys
        if not keys:
            return table_of(self._runs, alone="entry")
        if len(keys) > COLUMNS_MAX:
            return Table(["key", "value"], rows=self._pairs)
        return Table(keys, rows=lambda: iter([[exact_json.loads(value) for value in self._values()]]))

    def _runs(self) -> Iterator[Run]:
        starts, stops = (np.frombuffer(each, np.int64) for each in (self._outline.starts, self._outline.stops))
        first = 0
        while first < len(starts):
            following = max(first + 1, int(np.searchsorted(starts, starts[first] + RUN_BYTES)))
            begin, end = int(starts[first]), int(stops[following - 1])
            # A line end may stand between the marks of a value, where a blank serves as well.
            text = bytes(self._data[begin:end]).replace(b"\n", b" ") if end - begin <= RUN_BYTES_MAX else b""
            yield Run(text, following - first, partial(map, self._value, range(first, following)))
            first = following

    def _pairs(self) -> Iterator[list[Any]]:
        for key, value in zip(self._outline.keys, self._values(), strict=True):
            yield [key, exact_json.loads(value)]

    def _whole(self) -> bytes:
        return bytes(self._data)

    def _value(self, place: int) -> memoryview:
        return self._data[self._outline.starts[place] : self._outline.stops[place]]

    def _values(self) -> Iterator[memoryview]:
        return map(self._value, range(len(self._outline)))

    @cached_property
    def _text(self) -> TextIndex:
        return text_index(BufferSource(self._data), UTF8, self.text_index)

    def _outlined(self, value: memoryview) -> Outline:
        """The outline of a value inside."""
        if value is self._data:
            return self._outline
        return self._outlines.of(value)

    def _example(self) -> str:
        if self._outline.kind == "object" and self._outline.keys:
            return "/" + _step(self._outline.keys[0])
        return "/0"

    def _find_parts(self) -> None:
        """Arrays of objects under a key, or under a key of an object under a key."""
        for key, value in zip(self._outline.keys, self._values(), strict=True):
            self._add_part(key, "/" + _step(key), value)
            if first_byte(value) == b"{":
                inner = self._outlined(value)
                for below, start, stop in zip(inner.keys, inner.starts, inner.stops, strict=True):
                    self._add_part(f"{key}.{below}", f"/{_step(key)}/{_step(below)}", value[start:stop])

    def _add_part(self, name: str, pointer: str, value: memoryview) -> None:
        if first_byte(value[:64]) != b"[" or name in self._pointers or len(self.parts) >= PARTS_MAX:
            return
        found = self._outlined(value)
        if len(found) and found.holds_objects_only(value):
            self._pointers[name] = pointer
            self.parts.append(Part(name, "entries", len(found)))


class StringView(JsonView):
    """A string inside a document: one entry, whose text is the string itself."""

    @cached_property
    def _string(self) -> str:
        return str(exact_json.loads(self._data))

    def text_length(self) -> int:
        """The number of characters of the string."""
        return len(self._string)

    def text_offset(self, item: int) -> int:
        """Where the entry begins: 0."""
        return 0 if item == 0 else len(self._string)

    def text(self, start: int, stop: int) -> str:
        """Characters of the string."""
        return self._string[start:stop]


class _Document(JsonView):
    """The whole of a blob."""

    def __init__(self, source: Source, index: memoryview | None = None) -> None:
        self._source = source
        self._restored = unpack(index, source, _RECIPE)
        if self._restored is not None:
            self._restore(self._restored)
            return
        self._encoding = encoding = detect(source)
        text, notes = read_source(source, encoding)
        data, found = outline_document(text)
        super().__init__(data, found)
        self._indexed = {(0, len(data)): found, **self._outlines.known}  # what is found later depends on what is asked
        self.text_encoding = encoding.codec
        self.notes.extend(notes)
        if found.problem:
            self.notes.append(found.problem)
        repeated = found.repeated
        if len(data) <= REPEATED_KEYS_BYTES_MAX:
            repeated = 0 if are_keys_unique(data) else repeated_keys(data)
        if repeated:
            self.notes.append(repeated_note(repeated))

    def index_bytes(self) -> bytes | None:
        """Where the entries lie, of the document and of what is large in it; none for what is read from a copy."""
        is_text_itself = self._encoding.is_utf8 and not self._encoding.misfits
        if not is_text_itself or len(self._data) + len(self._encoding.mark) != self._source.size:
            return None
        outlines = self._indexed
        places: dict[str, Offsets] = {}
        for number, each in enumerate(outlines.values()):
            places |= each.places(f"{number}.")
        facts = {
            "encoding": self._encoding.facts(),
            "notes": self.notes,
            "outlines": [[*place, each.facts()] for place, each in outlines.items()],
            "parts": [[part.name, part.count, self._pointers[part.name]] for part in self.parts],
        }
        return pack(self._source.size, _RECIPE, facts, places)

    def _restore(self, known: Index) -> None:
        facts = known.facts
        self._encoding = Encoding.of_facts(facts["encoding"])
        data = self._source.buffer()[len(self._encoding.mark) :]
        outlines = {
            (start, length): Outline.of_index(told, known.places, f"{number}.")
            for number, (start, length, told) in enumerate(facts["outlines"])
        }
        super().__init__(data, outlines[0, len(data)], _Outlines(data, outlines))
        self._indexed = outlines
        self.text_encoding = self._encoding.codec
        self.notes = facts["notes"]
        self.parts = [Part(name, "entries", count) for name, count, _ in facts["parts"]]
        self._pointers = {name: pointer for name, _, pointer in facts["parts"]}

    def _find_parts(self) -> None:
        if self._restored is None:
            super()._find_parts()

    def _whole(self) -> bytes:
        return self._source.read(0, self._source.size)


class JsonReader:
    """JSON documents, also such as are not quite strict."""

    name = "json"
    media_types = (JSON,)
    aliases = ("text/json", "application/x-json", "application/json5", "application/geo+json")
    is_light = True
    takes_index = True

    def sniff(self, sample: Sample) -> Confidence:
        """An array or object, whole or begun; a scalar only where somebody called it JSON.

        One that is cut short is accepted with the least confidence, so that opening it tells why it is read as lines.
        """
        is_declared = sample.declared_type in (*self.media_types, *self.aliases)
        head = utf8_head(sample, is_declared=is_declared)
        if is_document(head, is_whole=sample.is_whole):
            return Confidence(60 if sample.is_whole else 55, JSON)
        if first_byte(head) in (b"[", b"{") and is_cut_short(head):
            return Confidence(1, JSON)
        if not is_declared or not head.strip():
            return Confidence.NO
        is_scalar = is_valid(head) if sample.is_whole else first_byte(head) == b'"'
        return Confidence(1, JSON) if is_scalar else Confidence.NO

    def open(self, source: Source, index: memoryview | None = None) -> View:
        """The entries of the document; raises `UnreadableError` where it is not JSON."""
        return _Document(source, index)


def _step(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _place(found: Outline, step: str) -> int | None:
    if found.kind == "object":
        try:
            return found.keys.index(step)
        except ValueError:
            return None
    if found.kind == "array" and _INDEX.fullmatch(step) and int(step) < len(found):
        return int(step)
    return None


def _suggestion(path: str, step: str, found: Outline) -> str:
    """A path that leads on from the last place that exists: the likest key, or the last index."""
    if found.kind == "array" and len(found):
        return f'Use "{path}/{len(found) - 1}".'
    if found.kind == "object" and found.keys:
        likest = get_close_matches(step, found.keys[:_COMPARED_MAX], n=1, cutoff=0) or found.keys[:1]
        return f'Use "{path}/{_step(likest[0])}".'
    return f'Use "{path}".' if path else "Leave path out."


def _inventory(path: str, data: memoryview, found: Outline) -> str:
    """What there is at the last place of a path that exists."""
    where = path[-_PATH_CHARS_MAX:] or "the document"
    if found.kind == "array":
        count = len(found)
        return (
            f"{where} has {count} entries, 0 to {count - 1}." if count > 1 else f"{where} has {count or 'no'} entries."
        )
    if found.kind == "object":
        if not found.keys:
            return f"{where} is an empty object."
        more = f" and {len(found) - _NAMED_MAX} more" if len(found) > _NAMED_MAX else ""
        return f"{where} has the keys {', '.join(key[:60] for key in found.keys[:_NAMED_MAX])}{more}."
    return f"{where} is {_KIND_NAMES.get(first_byte(data), 'a number')}."
