"""JSON values one after the other (`jq`, kubectl, streams): over several lines each, or several on one line."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from blobs.domain import exact_json
from blobs.domain.errors import UnreadableError
from blobs.domain.media_type import NDJSON
from blobs.domain.ranges import ItemRange
from blobs.reading.base_view import BaseView
from blobs.reading.decoding import UTF8, detect
from blobs.reading.reader import Confidence, Sample, Table, View
from blobs.reading.source import BytesSource, Source
from previewers.json_entries import values
from previewers.json_shape import SHAPE_CHARS_MAX, sketch
from previewers.json_sniff import begins_values, utf8_head
from previewers.json_structure import (
    REPEATED_KEYS_BYTES_MAX,
    is_strict,
    is_valid,
    outline,
    read_source,
    repeated_keys,
    repeated_note,
)
from previewers.json_table import Run, table_of
from previewers.text_index import TextIndex

JSON_SEQUENCE = "application/json-seq"
_SKETCHED = 50


class JsonSequenceView(BaseView):
    """The values, each a row; `text` is the text as written."""

    unit: str | None = "rows"

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._source = source
        encoding = detect(source)
        self.text_encoding = encoding.codec
        self._data, notes = read_source(source, encoding)
        self.notes.extend(notes)
        found = values(self._data)
        if (
            found is None
            or len(found[0]) < 2
            or not all(is_valid(self._data[a:b]) for a, b in zip(*found, strict=True))
        ):
            raise UnreadableError("It is not several JSON values one after the other.", hint="Read it as lines.")
        self._starts, self._stops = found
        self.count = len(self._starts)
        self.notes.append(f"no one JSON document: {self.count} values one after the other")
        self._note_oddities()

    def items(self, span: ItemRange) -> Iterator[Any]:
        """The values of the range, exact."""
        return map(exact_json.loads, self._values(span))

    def shape(self) -> Any:
        """One sketch that fits the first values."""
        return sketch(list(self._values(ItemRange(0, _SKETCHED))), outline, chars_max=SHAPE_CHARS_MAX)

    def text_length(self) -> int:
        """The number of characters of the text."""
        return self._text.characters

    def text_offset(self, item: int) -> int:
        """Where a value begins; past the last one, the end."""
        return self._text.byte_character(int(self._starts[item])) if item < len(self._starts) else self._text.characters

    def text(self, start: int, stop: int) -> str:
        """The text as written."""
        return self._text.text(start, stop)

    def slice(self, span: ItemRange) -> tuple[bytes, str]:
        """These values as lines of JSON; all of them are the text itself."""
        if span.start == 0 and span.stop >= len(self._starts):
            return self._source.read(0, self._source.size), JSON_SEQUENCE
        return b"".join(exact_json.dumps(each) + b"\n" for each in self.items(span)), NDJSON

    def table(self) -> Table | None:
        """Objects as one column a key, other values as one column."""
        whole = ItemRange(0, len(self._starts))
        return table_of(lambda: iter([Run(b"", len(whole), lambda: self._values(whole))]), alone="row")

    @cached_property
    def _text(self) -> TextIndex:
        return TextIndex(BytesSource(bytes(self._data)), UTF8)

    def _values(self, span: ItemRange) -> Iterator[memoryview]:
        for start, stop in zip(self._starts[span.start : span.stop], self._stops[span.start : span.stop], strict=True):
            yield self._data[start:stop]

    def _note_oddities(self) -> None:
        every = list(self._values(ItemRange(0, len(self._starts))))
        tolerated = sum(1 for each in every if not is_strict(each))
        if tolerated:
            verb = "value is" if tolerated == 1 else "values are"
            self.notes.append(f"{tolerated} {verb} not strict JSON (NaN, Infinity or half characters)")
        if len(self._data) <= REPEATED_KEYS_BYTES_MAX and (repeated := sum(map(repeated_keys, every))):
            self.notes.append(repeated_note(repeated))


class JsonSequenceReader:
    """JSON values one after the other, with nothing, blanks or the separators of RFC 7464 between them."""

    name = "json-sequence"
    media_types = (JSON_SEQUENCE,)
    has_signature = False
    aliases = ("application/x-json-stream", "application/stream+json", "application/concatenated-json")
    is_light = True

    def sniff(self, sample: Sample) -> Confidence:
        """At least two arrays or objects and nothing else; lines of JSON are told better by their own reader."""
        head = utf8_head(sample, is_declared=sample.declared_type in (*self.media_types, *self.aliases))
        return Confidence(52, JSON_SEQUENCE) if begins_values(head, is_whole=sample.is_whole) else Confidence.NO

    def open(self, source: Source) -> View:
        """The values; raises `UnreadableError` where anything else is between them."""
        return JsonSequenceView(source)
