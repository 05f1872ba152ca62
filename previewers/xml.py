"""XML: lines, with counts of its elements; elements that repeat are tables."""

import re
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from blobs.reading.decoding import blocks
from blobs.reading.reader import Confidence, Part, Sample, Table, View
from blobs.reading.source import Source
from previewers.declared_encoding import encoding_as_declared
from previewers.json_sniff import utf8_head
from previewers.markup_sniff import Markup, beginning, is_balanced
from previewers.structured_text import RowsView, Structure, StructuredTextView, counted

if TYPE_CHECKING:
    from previewers.xml_elements import Elements

XML = "application/xml"
SVG = "image/svg+xml"
_DECLARATION = re.compile(rb"\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{1,40})")
_DECLARATION_BYTES = 300
_HEAD_CHARS = 4096


class XmlView(StructuredTextView):
    """The lines of an XML text, as written: a search sees entities and tags as they stand there.

    `shape` counts elements and attributes by path. Elements that repeat below the root, or below its only child of a
    name, are parts: rows of their attributes and children. Where all children of the root have one name, the blob
    itself is that table in SQL.
    """

    def __init__(self, source: Source) -> None:
        declared = _DECLARATION.match(source.read(0, _DECLARATION_BYTES))
        label = declared[1].decode("ascii", "replace") if declared else ""
        super().__init__(source, encoding=encoding_as_declared(source, label, as_browsers=False))
        markup = beginning(self.text(0, _HEAD_CHARS))
        self.type = SVG if markup is not None and _is_svg(markup) else XML
        self._records = ""

    def examine(self) -> Structure:
        """Count the elements of the text, as much of it as is looked at."""
        from previewers.xml_elements import count_elements  # its parser is not needed to recognise XML

        text, is_whole = self.head()
        found = count_elements(lambda: (text,), is_whole=is_whole)
        notes = [*self.head_note, *([found.problem] if found.problem else [])]
        structure = Structure(notes=notes)
        if not found.root:
            return structure
        paths = {path: count for path, count in found.counts.items() if path != found.root}
        structure.shape = {
            "root": found.root,
            "children": found.children,
            "elements": counted({path.partition("/")[2]: count for path, count in paths.items()}, "paths"),
        }
        for path, count in _repeated(found):
            name = _part_name(path)
            part = Part(name, "rows", count if is_whole else None)
            structure.add_part(part, partial(self._open_records, path))
            if path.count("/") == 1 and count == found.children:
                self._records = path
                structure.notes.append(f"in SQL the blob is a table of its <{path.rpartition('/')[2]}> elements")
        return structure

    def table(self) -> Table | None:
        """The records that the root holds where it holds nothing else, else the lines."""
        _ = self.structure
        return self._open_records(self._records).table() if self._records else super().table()

    def _open_records(self, path: str) -> RowsView:
        from previewers.xml_elements import columns_of, records

        columns, count = columns_of(records(self._pieces, path))

        def rows() -> Iterator[list[Any]]:
            for row in records(self._pieces, path):
                yield [row.get(name) for name in columns]

        return RowsView(list(columns.values()), count, rows)

    def _pieces(self) -> Iterator[str]:
        """The whole text, block by block."""
        return (text for _, _, text in blocks(self.source, self.encoding))


class XmlReader:
    """XML by its declaration or by tags that open and close one element; SVG is XML by its root."""

    name = "xml"
    media_types = (XML, SVG)
    aliases = ("text/xml", "application/x-xml")

    def sniff(self, sample: Sample) -> Confidence:
        """An XML declaration, a DOCTYPE other than HTML's, or balanced tags; any markup where it was declared."""
        declared = sample.declared_type or ""
        is_declared = declared in (*self.media_types, *self.aliases) or declared.endswith("+xml")
        head = utf8_head(sample, is_declared=is_declared).decode("utf-8", "replace")
        markup = beginning(head)
        if markup is None:
            return Confidence(1, XML) if is_declared and head.strip() else Confidence.NO
        media_type = SVG if _is_svg(markup) else XML
        if markup.is_declared_xml:
            return Confidence(60, media_type)
        if markup.doctype not in ("", "html") and markup.root:
            return Confidence(58, media_type)
        if markup.doctype != "html" and is_balanced(markup.body, is_whole=sample.is_whole):
            return Confidence(55, media_type)
        return Confidence(1, media_type) if is_declared else Confidence.NO

    def open(self, source: Source) -> View:
        """The lines of the text; never refuses."""
        return XmlView(source)


def _is_svg(markup: Markup) -> bool:
    return markup.root.rpartition(":")[2] == "svg"


def _repeated(found: "Elements") -> Iterator[tuple[str, int]]:
    """Paths that occur several times below the root or below an element that occurs once."""
    for path, count in found.counts.items():
        steps = path.split("/")
        if count > 1 and 2 <= len(steps) <= 3 and steps[-1][0] != "@" and found.counts["/".join(steps[:-1])] == 1:
            yield path, count


def _part_name(path: str) -> str:
    """The names below the root, without prefixes, joined by dots."""
    return ".".join(step.rpartition(":")[2] for step in path.split("/")[1:])
