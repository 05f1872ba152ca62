"""Text and logs: one item a line."""

from collections.abc import Iterator
from functools import partial

from blobs.domain.media_type import TEXT
from blobs.domain.ranges import ItemRange
from blobs.reading.base_view import BaseView
from blobs.reading.decoding import Encoding, recognise, utf8_mark
from blobs.reading.index import pack, unpack
from blobs.reading.reader import Confidence, Sample, Scan, View
from blobs.reading.source import Source
from blobs.reading.stretches import Needle, Octets, Stretch, Trust, has_carriage_return, line_runs, line_starts
from previewers.terminal import steers, without_escapes
from previewers.text_index import RECIPE, TextIndex, TextScan


class TextView(BaseView):
    """A text as numbered lines.

    Items and searches see lines without terminal escapes; characters (`text`) are those of the file as decoded.
    Formats that are text with a structure subclass this and add their `shape`.
    """

    unit: str | None = "lines"

    def __init__(self, source: Source, *, encoding: Encoding | None = None, index: memoryview | None = None) -> None:
        super().__init__()
        self.source = source
        known = unpack(index, source, RECIPE)
        if known is not None:
            encoding = Encoding.of_facts(known.facts["encoding"])
        self.index = TextIndex.of(source) if encoding is None else TextIndex(source, encoding, known)
        self.encoding = self.index.encoding
        self.text_encoding = self.encoding.codec
        self.count = self.index.lines
        self.notes = [
            *self.encoding.notes,
            *(["terminal escapes and control characters removed"] if self.index.has_steering else []),
        ]

    def items(self, span: ItemRange) -> Iterator[str]:
        """The lines of the range without their ends and without terminal escapes."""
        lines = self.index.each_line(span)
        return map(without_escapes, lines) if self.index.has_steering else lines

    def stretches(self, span: ItemRange, needle: Needle) -> Iterator[Stretch] | None:
        """Blocks of lines. A block tells nothing where terminal escapes are to be taken out of it."""
        if not self.encoding.is_utf8 or self.encoding.misfits:
            return None
        return self._stretches(span, needle)

    def _stretches(self, span: ItemRange, needle: Needle) -> Iterator[Stretch]:
        start, stop = self.index.line_byte(span.start), self.index.line_byte(span.stop)
        text = self.source.buffer()
        for at, end in line_runs(text, max(start, len(self.encoding.mark))):
            if at >= stop:
                return
            raw = text[at:end]
            first, starts = partial(self.index.byte_line, at), partial(line_starts, raw)
            yield Stretch(raw, self._trust(raw, needle), first, starts, are_lines=True)

    def _trust(self, raw: Octets, needle: Needle) -> Trust:
        if self.index.has_steering and steers(bytes(raw)):
            return Trust.NONE
        if (needle.is_regex or "\r" in needle.pattern) and has_carriage_return(raw):
            return Trust.NONE if needle.is_anchored else Trust.CANDIDATES
        return Trust.EXACT

    def text_length(self) -> int:
        """The number of characters, line ends included."""
        return self.index.characters

    def text_offset(self, item: int) -> int:
        """Where a line begins, in characters."""
        return self.index.line_character(item)

    def text(self, start: int, stop: int) -> str:
        """The file's own characters, as decoded."""
        return self.index.text(start, stop)

    def slice(self, span: ItemRange) -> tuple[bytes, str]:
        """The file's own bytes of these lines; a part of a text in a legacy encoding becomes UTF-8.

        A few lines alone would not be enough to recognise a legacy encoding again.
        """
        start, stop = self.index.line_byte(span.start), self.index.line_byte(span.stop)
        raw = self.source.read(start, stop)
        if self.encoding.is_utf8 or len(raw) == self.source.size:
            return raw, TEXT
        if self.encoding.mark:
            return (raw if start == 0 else self.encoding.mark + raw), TEXT
        return self.encoding.decode(raw).encode(), TEXT

    def index_bytes(self) -> bytes | None:
        """The encoding, and where lines and characters lie."""
        return pack(self.source.size, RECIPE, self.index.facts(), self.index.places())


class TextReader:
    """Any text: logs, source code, prose."""

    name = "text"
    media_types = (TEXT,)
    is_light = True
    takes_index = True

    def sniff(self, sample: Sample) -> Confidence:
        """The lowest level that is not a guess: whatever decodes is text."""
        is_declared = (sample.declared_type or "").startswith("text/")
        if sample.size == 0 and not is_declared:
            return Confidence.NO
        encoding = recognise(sample.head, is_whole=sample.is_whole, is_declared=is_declared)
        return Confidence(10, TEXT) if encoding is not None else Confidence.NO

    def open(self, source: Source, index: memoryview | None = None) -> View:
        """The lines of the text; never refuses."""
        return TextView(source, index=index)

    def scan(self, head: bytes) -> Scan:
        """The index of a text that passes by."""
        return TextScan(utf8_mark(head))
