"""Text with a structure: lines that always work, and what the structure offers beside them.

The structure is looked at when it is first asked for, never for reading or searching lines, and within bounds: a
document that is damaged, hostile or huge is still its lines.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

from blobs.domain.errors import BlobsError, ToolInputError
from blobs.domain.media_type import TEXT
from blobs.domain.ranges import ItemRange
from blobs.querying.names import unique_names
from blobs.reading.base_view import BaseView
from blobs.reading.decoding import Encoding
from blobs.reading.reader import Column, Part, Table, View
from blobs.reading.source import Source
from previewers.text import TextView

STRUCTURE_CHARS_MAX = 8_000_000
"""How much of a text is looked at for its structure: parsers need about a second for it."""
PARTS_MAX = 100
_LISTED_MAX = 40


@dataclass(slots=True)
class Structure:
    """What was found out about a document beside its lines; each part has what opens it."""

    shape: Any = None
    notes: list[str] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    openers: dict[str, Callable[[], View]] = field(default_factory=dict)

    def add_part(self, part: Part, opener: Callable[[], View]) -> None:
        """Offer a part; one whose name is taken, or beyond `PARTS_MAX`, is left out."""
        if part.name not in self.openers and len(self.parts) < PARTS_MAX:
            self.parts.append(part)
            self.openers[part.name] = opener


class StructuredTextView(TextView):
    """The lines of a document; override `examine` to tell its structure."""

    type: str = TEXT
    """The media type of the whole; some of its lines are plain text."""

    def __init__(self, source: Source, *, encoding: Encoding | None = None) -> None:
        self._own_notes: list[str] = []
        self._own_parts: list[Part] = []
        super().__init__(source, encoding=encoding)

    def examine(self) -> Structure:
        """The structure; whatever `BlobsError` it raises becomes a note."""
        raise NotImplementedError

    @property
    def notes(self) -> list[str]:
        """What a reader of the document should know."""
        _ = self.structure  # it has notes of its own
        return self._own_notes

    @notes.setter
    def notes(self, notes: list[str]) -> None:
        self._own_notes = notes

    @property
    def parts(self) -> list[Part]:
        """The parts that the structure has."""
        _ = self.structure
        return self._own_parts

    @parts.setter
    def parts(self, parts: list[Part]) -> None:
        self._own_parts = parts

    @cached_property
    def structure(self) -> Structure:
        """The structure, found once."""
        try:
            found = self.examine()
        except BlobsError as problem:
            found = Structure(notes=[problem.message])
        self._own_notes.extend(found.notes)
        self._own_parts.extend(found.parts)
        return found

    def shape(self) -> Any:
        """The sketch of the structure."""
        return self.structure.shape

    def part(self, name: str) -> View:
        """The named part; raises `ToolInputError` where there is none of that name."""
        if name not in self.structure.openers:
            raise ToolInputError(f"part: there is no part {name!r}.", hint=self._parts_hint())
        return self.structure.openers[name]()

    def slice(self, span: ItemRange) -> tuple[bytes, str]:
        """The file's own bytes of these lines, as text; all of them are the document itself."""
        if span.start == 0 and span.stop >= (self.count or 0):
            return self.source.read(0, self.source.size), self.type
        return super().slice(span)

    def head(self) -> tuple[str, bool]:
        """The text that is looked at for the structure, and whether it is all of it."""
        return self.text(0, STRUCTURE_CHARS_MAX), self.index.characters <= STRUCTURE_CHARS_MAX

    def head_lines(self) -> Iterator[tuple[int, str]]:
        """The lines that are looked at for the structure, each with its index."""
        room = STRUCTURE_CHARS_MAX
        for number, line in enumerate(self.items(ItemRange(0, self.count or 0))):
            room -= len(line) + 1
            if room < 0:
                return
            yield number, line

    @property
    def head_note(self) -> list[str]:
        """A note where not all of the text is looked at."""
        if self.index.characters <= STRUCTURE_CHARS_MAX:
            return []
        return [f"structure of the first {STRUCTURE_CHARS_MAX:,} of {self.index.characters:,} characters"]


class RowsView(BaseView):
    """A table inside a document: rows of cells that are text, None where a cell is empty.

    `rows` starts a new pass over them.
    """

    unit: str | None = "rows"

    def __init__(self, names: list[str], count: int, rows: Callable[[], Iterator[list[Any]]]) -> None:
        super().__init__()
        self.columns = [Column(name) for name in unique_names(names)]
        self.count = count
        self._rows = rows

    def items(self, span: ItemRange) -> Iterator[list[Any]]:
        """The rows of the range."""
        return islice(self._rows(), span.start, span.stop)

    def table(self) -> Table | None:
        """All rows, as the document's untyped text."""
        return Table([each.name for each in self.columns or ()], rows=self._rows, is_text=True)


class LinesView(BaseView):
    """Some lines of a document, as a part of it."""

    unit: str | None = "lines"

    def __init__(self, lines: TextView, span: ItemRange) -> None:
        super().__init__()
        self._lines, self._span = lines, span
        self.count = len(span)

    def items(self, span: ItemRange) -> Iterator[str]:
        """The lines of the range."""
        return iter(self._lines.items(self._within(span)))

    def slice(self, span: ItemRange) -> tuple[bytes, str]:
        """The file's own bytes of these lines."""
        return TextView.slice(self._lines, self._within(span))

    def _within(self, span: ItemRange) -> ItemRange:
        start = min(self._span.start + span.start, self._span.stop)
        return ItemRange(start, max(start, min(self._span.start + span.stop, self._span.stop)))


def listed(values: list[str], noun: str) -> list[str]:
    """The first of many values, and how many more there are."""
    more = len(values) - _LISTED_MAX
    return [*values[:_LISTED_MAX], f"…(+{more} {noun})"] if more > 0 else values


def counted(counts: Mapping[str, int | str], noun: str) -> dict[str, Any]:
    """The first of many counts, and how many more there are."""
    more = len(counts) - _LISTED_MAX
    shown: dict[str, Any] = dict(islice(counts.items(), _LISTED_MAX))
    return {**shown, "…": f"{more} more {noun}"} if more > 0 else shown
