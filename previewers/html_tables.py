"""Tables of HTML pages as rows of text: spans are filled out, header cells name the columns."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Cell = str | None

_SPAN_MAX = 1000
"""What the HTML standard allows a cell to span."""
_CAPTION_CHARS_MAX = 80
_NOT_SAID = ("script", "style", "template")
_APART = frozenset(
    ("br", "p", "div", "li", "ul", "ol", "dd", "dt", "tr", "td", "h1", "h2", "h3", "h4", "h5", "h6", "hr")
)


@dataclass(frozen=True, slots=True)
class HtmlTable:
    """A table as `names` of columns and rows that are as wide; `cells` is their number."""

    names: list[str]
    rows: list[list[Cell]]
    cells: int
    caption: str


@dataclass(slots=True)
class _Row:
    cells: list[Cell]
    is_header: bool


def read_table(table: Any, *, cells_max: int) -> HtmlTable | None:
    """The table, or None where it is none of data: it holds other tables, has fewer than two rows, or is too large."""
    if table.find(".//table") is not None:
        return None
    rows = _filled(table, cells_max)
    if rows is None or len(rows) < 2:
        return None
    width = max(len(row.cells) for row in rows)
    if not width or width * len(rows) > cells_max:
        return None
    headers = 0
    while headers < len(rows) - 1 and rows[headers].is_header:
        headers += 1
    for row in rows:
        row.cells.extend([None] * (width - len(row.cells)))
    names = [_name([row.cells[place] for row in rows[:headers]]) for place in range(width)]
    caption = next((text_of(each)[:_CAPTION_CHARS_MAX] for each in table.iterchildren("caption")), "")
    return HtmlTable(names, [row.cells for row in rows[headers:]], width * len(rows), caption)


def text_of(element: Any) -> str:
    """The text as a page shows it: blanks joined, nothing of scripts; blocks and line breaks set words apart."""
    return " ".join("".join(_pieces(element)).split())


def _pieces(element: Any) -> Iterator[str]:
    from lxml import etree

    hidden = 0
    for event, each in etree.iterwalk(element, events=("start", "end")):
        name = each.tag
        if event == "start":
            hidden += name in _NOT_SAID
            if name in _APART:
                yield " "
            if not hidden and isinstance(name, str) and each.text:
                yield each.text
        else:
            hidden -= name in _NOT_SAID
            if name in _APART:
                yield " "
            if not hidden and each is not element and each.tail:
                yield each.tail


def _filled(table: Any, cells_max: int) -> list[_Row] | None:
    """The rows with cells that span columns or rows repeated in each; None where they are too many."""
    rows: list[_Row] = []
    below: dict[int, tuple[int, Cell]] = {}  # column: how many more rows its cell spans, and its text
    room = cells_max
    for row in table.iter("tr"):
        cells: list[Cell] = []
        kinds: set[str] = set()
        for cell in row.iterchildren("td", "th"):
            _fill_from_above(cells, below)
            kinds.add(str(cell.tag))
            said = text_of(cell) or None
            across, down = _span(cell, "colspan"), _span(cell, "rowspan")
            for _ in range(across):
                if down > 1:
                    below[len(cells)] = (down - 1, said)
                cells.append(said)
            room -= across
            if room < 0:
                return None
        _fill_from_above(cells, below)
        if cells:
            is_header = kinds == {"th"} or (bool(kinds) and row.getparent().tag == "thead")
            rows.append(_Row(cells, is_header))
    return rows


def _fill_from_above(cells: list[Cell], below: dict[int, tuple[int, Cell]]) -> None:
    while len(cells) in below:
        left, said = below.pop(len(cells))
        if left > 1:
            below[len(cells)] = (left - 1, said)
        cells.append(said)


def _span(cell: Any, attribute: str) -> int:
    written = str(cell.get(attribute, "1")).strip()
    return min(max(1, int(written)), _SPAN_MAX) if written.isascii() and written.isdigit() and len(written) < 9 else 1


def _name(cells: list[Cell]) -> str:
    """The name of a column: what its header cells say, each once."""
    return " ".join(dict.fromkeys(cell for cell in cells if cell))
