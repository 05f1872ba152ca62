"""Markdown: lines, with an outline of its headings; pipe tables are tables."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from blobs.reading.reader import Confidence, Part, Sample, View
from blobs.reading.source import Source
from previewers.json_sniff import utf8_head
from previewers.structured_text import PARTS_MAX, RowsView, Structure, StructuredTextView, listed

MARKDOWN = "text/markdown"
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^`]*)")
_RULE = re.compile(r" {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_CELL = re.compile(r"((?:[^|\\]|\\.)*)(?:\||\Z)", re.DOTALL)
_LINK = re.compile(r"!?\[[^\][]{1,200}\]\((?:<[^<>]*>|[^()\s]{1,500})(?:\s+\"[^\"]*\")?\)")
_STRONG = re.compile(r"(?<![\w*])\*\*[^\s*][^*\n]{0,100}\*\*(?![\w*])")
_CODE = re.compile(
    r"(?:import \w|from [\w.]+ import |def \w+\(|class \w+[(:]|#include\b|package \w|using \w|"
    r"(?:export |public |static |private )?(?:async )?(?:const|let|var|function|fn|func|void|struct|enum) \w)"
    r"|[^|]*[;{]\s*\Z"
)
_CODE_LINES_MAX = 2
_HEADING_CHARS_MAX = 120
_SNIFFED_LINES = 500
_CELLS_MAX = 2_000_000

Cell = str | None


@dataclass(slots=True)
class PipeTable:
    """A table drawn with bars: its header cells and rows, each as wide as the header."""

    names: list[str]
    rows: list[list[Cell]] = field(default_factory=list)


@dataclass(slots=True)
class Outline:
    """What the lines of a text are."""

    headings: list[str] = field(default_factory=list)
    code_blocks: int = 0
    tables: list[PipeTable] = field(default_factory=list)
    underlined: int = 0
    links: int = 0
    strong: int = 0


class MarkdownView(StructuredTextView):
    """The lines of a Markdown text, as written.

    `shape` tells the headings, and how many blocks of code, links and tables there are. Tables are parts, `table1`,
    `table2` … in order; their cells keep their inline marks, only an escaped bar becomes a bar.
    """

    type: str = MARKDOWN

    def examine(self) -> Structure:
        """Read the outline, line by line."""
        found = outline(line for _, line in self.head_lines())
        shape: dict[str, Any] = {"headings": listed(found.headings, "headings")} if found.headings else {}
        counts = {"code_blocks": found.code_blocks, "tables": len(found.tables), "links": found.links}
        structure = Structure(shape={**shape, **{name: count for name, count in counts.items() if count}} or None)
        structure.notes.extend(self.head_note)
        for number, table in enumerate(found.tables[:PARTS_MAX], 1):
            structure.add_part(Part(f"table{number}", "rows", len(table.rows)), partial(_open_table, table))
        return structure


class MarkdownReader:
    """Markdown by several kinds of its marks: one alone may be a comment, a list or a rule in any text."""

    name = "markdown"
    media_types = (MARKDOWN,)
    has_signature = False
    aliases = ("text/x-markdown",)
    is_light = True

    def sniff(self, sample: Sample) -> Confidence:
        """Two kinds of marks that other texts seldom have; any text where it was declared."""
        is_declared = sample.declared_type in (*self.media_types, *self.aliases)
        head = utf8_head(sample, is_declared=is_declared).decode("utf-8", "replace")
        if not head.strip():
            return Confidence.NO
        if _is_markdown(head, is_whole=sample.is_whole):
            return Confidence(52, MARKDOWN)
        return Confidence(1, MARKDOWN) if is_declared else Confidence.NO

    def open(self, source: Source) -> View:
        """The lines of the text; never refuses."""
        return MarkdownView(source)


def outline(lines: Iterable[str]) -> Outline:
    """Headings, blocks of code and tables of a text; what stands in a block of code is none of them."""
    walk = _Walk()
    for line in _without_front_matter(lines):
        walk.take(line)
    return walk.found


class _Walk:
    """The state between two lines of a text."""

    def __init__(self) -> None:
        self.found = Outline()
        self._fence = ""
        self._before = ""
        self._table: PipeTable | None = None
        self._room = _CELLS_MAX

    def take(self, line: str) -> None:
        before, self._before = self._before, ""
        mark = _FENCE.match(line)
        if self._fence:
            if mark and mark[1].startswith(self._fence) and not mark[2].strip():
                self._fence = ""
        elif mark:
            self._fence, self._table = mark[1], None
            self.found.code_blocks += 1
        else:
            self.found.links += len(_LINK.findall(line)) if "](" in line else 0
            self.found.strong += "**" in line and _STRONG.search(line) is not None
            if not self._in_table(before, line) and not self._in_heading(before, line):
                self._before = line

    def _in_table(self, before: str, line: str) -> bool:
        if self._table is not None and "|" in line:
            self._room -= len(self._table.names)
            if self._room >= 0:
                self._table.rows.append(_fitted(_cells(line), len(self._table.names)))
            return True
        self._table = _begun_table(before, line)
        if self._table is not None:
            self.found.tables.append(self._table)
        return self._table is not None

    def _in_heading(self, before: str, line: str) -> bool:
        if heading := _HEADING.fullmatch(line):
            self.found.headings.append(f"{heading[1]} {heading[2][:_HEADING_CHARS_MAX]}")
            return True
        if before.strip() and "|" not in before and (under := _UNDERLINE.fullmatch(line)):
            level = "#" if under[1][0] == "=" else "##"
            self.found.headings.append(f"{level} {before.strip()[:_HEADING_CHARS_MAX]}")
            self.found.underlined += level == "#"
            return True
        return False


def _is_markdown(head: str, *, is_whole: bool) -> bool:
    lines = re.split(r"\r\n|\n|\r", head)[: _SNIFFED_LINES + 1]
    if not is_whole or len(lines) > _SNIFFED_LINES:
        lines.pop()
    if sum(1 for line in _outside_fences(lines) if _CODE.match(line)) > _CODE_LINES_MAX:
        return False  # code whose comments or strings hold Markdown
    found = outline(lines)
    if any(table.rows for table in found.tables) and head.lstrip().startswith("|"):
        return True  # a table as many tools print it
    hashes = [line for line in found.headings if not line.startswith("# ")]
    marks = (
        bool(found.links),
        bool(found.code_blocks),
        bool(found.tables),
        bool(hashes) or found.underlined > 0,
        bool(found.strong),
        len(found.headings) > 0 and _heading_stands_alone(lines),
    )
    return sum(marks) >= 2


def _outside_fences(lines: list[str]) -> Iterator[str]:
    """The lines that are in no block of code; a fence counts at the left margin only."""
    is_inside = False
    for line in lines:
        if line.startswith(("```", "~~~")):
            is_inside = not is_inside
        elif not is_inside:
            yield line


def _heading_stands_alone(lines: list[str]) -> bool:
    """The text begins with a heading that a blank line follows, as a comment at the head of a script seldom does."""
    first = next((place for place, line in enumerate(lines) if line.strip()), 0)
    return bool(_HEADING.fullmatch(lines[first])) and not "".join(lines[first + 1 : first + 2]).strip()


def _without_front_matter(lines: Iterable[str]) -> Iterator[str]:
    """The lines without a YAML block that leads them."""
    is_matter = False
    for place, line in enumerate(lines):
        if place == 0 and line.rstrip() == "---":
            is_matter = True
        elif is_matter:
            is_matter = line.rstrip() not in ("---", "...")
        else:
            yield line


def _begun_table(header: str, rule: str) -> PipeTable | None:
    if "|" not in header or "-" not in rule or "|" not in rule + header or not _RULE.fullmatch(rule):
        return None
    names, rules = _cells(header), _cells(rule)
    return PipeTable([name or "" for name in names]) if len(names) == len(rules) and len(names) > 0 else None


def _cells(line: str) -> list[Cell]:
    bare = line.strip().removeprefix("|")
    if bare.endswith("|") and not bare.endswith("\\|"):
        bare = bare[:-1]
    pieces = [found[1] for found in _CELL.finditer(bare)]
    if len(pieces) > 1 and not pieces[-1] and not bare.endswith("|"):
        pieces.pop()  # the empty match at the end
    return [piece.strip().replace("\\|", "|") or None for piece in pieces]


def _fitted(cells: list[Cell], width: int) -> list[Cell]:
    return [*cells, *[None] * (width - len(cells))][:width]


def _open_table(table: PipeTable) -> RowsView:
    return RowsView(table.names, len(table.rows), lambda: iter(table.rows))
