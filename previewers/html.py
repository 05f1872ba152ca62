"""HTML: lines, with its title, headings and tables."""

import re
from functools import partial
from typing import Any

from blobs.reading.reader import Confidence, Part, Sample, View
from blobs.reading.source import Source
from previewers.declared_encoding import encoding_as_declared
from previewers.html_tables import HtmlTable, read_table
from previewers.json_sniff import utf8_head
from previewers.markup_sniff import beginning, is_html_fragment
from previewers.parsing import parsing
from previewers.structured_text import PARTS_MAX, RowsView, Structure, StructuredTextView, counted, listed

HTML = "text/html"
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
_META_BYTES = 4096
_HEADING = re.compile(r"h[1-6]")
_HEADING_CHARS_MAX = 120
_COUNTED = ("table", "a", "img", "form", "script", "iframe")
_CELLS_MAX = 2_000_000


class HtmlView(StructuredTextView):
    """The lines of a page, as written: a search sees tags and entities as they stand in the source.

    `shape` tells the title, the headings and how many tables, links, images, forms and scripts there are. Each table of
    data (one that holds no other table and has at least two rows) is a part: `table1`, `table2` … in the order of the
    page.
    """

    type: str = HTML

    def __init__(self, source: Source) -> None:
        found = _META.search(source.read(0, _META_BYTES))
        label = found[1].decode("ascii", "replace") if found else ""
        super().__init__(source, encoding=encoding_as_declared(source, label, as_browsers=True))
        if found and not self.encoding.is_utf8 and not self.encoding.mark and self.encoding.unit_bytes == 1:
            self._own_notes.append(f"its meta says charset={label}")

    def examine(self) -> Structure:
        """Parse the page, as much of it as is looked at."""
        from lxml import etree

        text, _ = self.head()
        if not text.strip():
            return Structure()
        parser = etree.HTMLParser(
            encoding="utf-8", recover=True, no_network=True, huge_tree=False, remove_comments=True, remove_pis=True
        )
        with parsing("HTML"):
            root = etree.fromstring(text.encode("utf-8", "replace"), parser)
        structure = Structure(notes=self.head_note)
        if any(each.level_name == "FATAL" for each in parser.error_log):
            structure.notes.append("structure up to where it is nested too deeply")
        if root is not None:
            self._outline(root, structure)
        return structure

    def _outline(self, root: Any, structure: Structure) -> None:
        counts: dict[str, int] = {}
        headings: list[str] = []
        title = ""
        tables: list[HtmlTable] = []
        cells = 0
        for element in root.iter():
            name = element.tag
            if not isinstance(name, str):
                continue
            counts[name] = counts.get(name, 0) + 1
            if name == "title" and not title:
                title = _said(element)
            elif _HEADING.fullmatch(name):
                headings.append(f"{name} {_said(element)}")
            elif name == "table" and len(tables) < PARTS_MAX:
                table = read_table(element, cells_max=_CELLS_MAX - cells)
                if table is not None:
                    cells += table.cells
                    tables.append(table)
        shape: dict[str, Any] = {"title": title} if title else {}
        if headings:
            shape["headings"] = listed(headings, "headings")
        shape["elements"] = counted({name: counts[name] for name in _COUNTED if name in counts}, "kinds")
        structure.shape = shape
        for number, table in enumerate(tables, 1):
            part = Part(f"table{number}", "rows", len(table.rows), table.caption)
            structure.add_part(part, partial(_open_table, table))


class HtmlReader:
    """Pages and pieces of pages."""

    name = "html"
    media_types = (HTML,)
    aliases = ("application/xhtml+xml",)

    def sniff(self, sample: Sample) -> Confidence:
        """A DOCTYPE or root of HTML, or tags that are nearly all HTML; anything with a tag where it was declared."""
        is_declared = sample.declared_type in (*self.media_types, *self.aliases)
        head = utf8_head(sample, is_declared=is_declared).decode("utf-8", "replace")
        markup = beginning(head)
        if markup is not None and not markup.is_declared_xml:
            if markup.doctype == "html" or markup.root.lower() == "html":
                return Confidence(62, HTML)
            if not markup.doctype and is_html_fragment(markup.body):
                return Confidence(57, HTML)
        return Confidence(1, HTML) if is_declared and re.search(r"<[a-zA-Z!/]", head) else Confidence.NO

    def open(self, source: Source) -> View:
        """The lines of the page; never refuses."""
        return HtmlView(source)


def _open_table(table: HtmlTable) -> RowsView:
    return RowsView(table.names, len(table.rows), lambda: iter(table.rows))


def _said(element: Any) -> str:
    """The text of a heading, bounded also where a whole page is inside of it."""
    pieces: list[str] = []
    for text in element.itertext():
        pieces.append(text[:_HEADING_CHARS_MAX])
        if len(pieces) > _HEADING_CHARS_MAX or sum(map(len, pieces)) > 4 * _HEADING_CHARS_MAX:
            break
    return " ".join("".join(pieces).split())[:_HEADING_CHARS_MAX]
