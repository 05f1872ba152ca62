"""Answers as people read them: aligned tables, lines as they are, what they cover, and the next command."""

import shlex
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from blobs.domain import exact_json
from blobs.reading.cutting import cut_with_count, strip_escapes

CELL_CHARS_MAX = 200
TERMINAL_CELL_CHARS_MAX = 60
"""Cells of a printed table are cut here, with a mark; --json cuts nothing."""

_VISIBLE = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t"})


def value_text(value: Any) -> str:
    """A value as it stands alone: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else exact_json.text(value)


def cell_text(value: Any, chars_max: int = CELL_CHARS_MAX) -> str:
    """A value as it stands in a table: one line, cut with a mark."""
    return cut_with_count(strip_escapes(value_text(value)).translate(_VISIBLE), chars_max)


def display_width(text: str) -> int:
    """The columns that a terminal needs: two for wide characters, none for marks that sit on the one before."""
    if text.isascii():
        return len(text)
    return sum(_char_width(each) for each in text)


def _char_width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def table_lines(
    columns: Sequence[str] | None, rows: Iterable[Sequence[Any]], *, chars_max: int = CELL_CHARS_MAX
) -> list[str]:
    """Rows under their columns, aligned; numbers to the right."""
    kept = [list(row) for row in rows]
    texts = [[cell_text(cell, chars_max) for cell in row] for row in kept]
    heads = [[cell_text(name, chars_max) for name in columns]] if columns else []
    width = max((len(row) for row in heads + texts), default=0)
    widths = [max((display_width(row[i]) for row in heads + texts if i < len(row)), default=0) for i in range(width)]
    is_right = [_is_numeric(row[i] for row in kept if i < len(row)) for i in range(width)]
    lines = [_aligned(row, widths, is_right) for row in heads]
    if heads:
        lines.append("  ".join("─" * each for each in widths))
    return lines + [_aligned(row, widths, is_right) for row in texts]


def _aligned(row: Sequence[str], widths: Sequence[int], is_right: Sequence[bool]) -> str:
    cells = []
    for text, width, right in zip(row, widths, is_right, strict=False):
        padding = " " * (width - display_width(text))
        cells.append(padding + text if right else text + padding)
    return "  ".join(cells).rstrip()


def _is_numeric(cells: Iterable[Any]) -> bool:
    known = [cell for cell in cells if cell is not None]
    return bool(known) and all(
        isinstance(cell, int | float | exact_json.Number) and not isinstance(cell, bool) for cell in known
    )


def counted(count: int, unit: str) -> str:
    """`1 row`, `412,000 rows`."""
    singular = "entry" if unit == "entries" else unit.removesuffix("s")
    return f"{count:,} {singular if count == 1 else unit}"


def handle_line(handle: Mapping[str, Any], unit: str | None = None) -> str:
    """What a handle says beside its preview, on one line."""
    said = [str(handle["blob"]), str(handle["type"]), counted(handle["size"], "bytes")]
    if "items" in handle:
        said.append(counted(handle["items"], unit or "items"))
    said.append(f"{handle['cost']:,} tokens to read it all")
    return ", ".join(said)


def preview_lines(preview: Mapping[str, Any], *, chars_max: int = CELL_CHARS_MAX) -> list[str]:
    """A preview for people: notes, shape, parts, then the first and the last items."""
    lines = [f"note     {note}" for note in preview.get("notes", ())]
    if "shape" in preview:
        lines.append(f"shape    {cut_with_count(value_text(preview['shape']), 10 * chars_max)}")
    lines += [f"part     {_part_text(part)}" for part in preview.get("parts", ())]
    first, last = preview.get("first", []), preview.get("last", [])
    if first or last:
        lines += ["", *_items_lines(preview.get("columns"), first, last, chars_max)]
    return lines


def _part_text(part: Any) -> str:
    if not isinstance(part, Mapping):
        return value_text(part)
    said = [str(part.get("part"))]
    said += [value_text(each) if key == "note" else counted(each, key) for key, each in part.items() if key != "part"]
    return ", ".join(said)


def _items_lines(columns: Sequence[str] | None, first: list[Any], last: list[Any], chars_max: int) -> list[str]:
    if columns and all(isinstance(row, list) for row in [*first, *last]):
        lines = table_lines(columns, [*first, *last], chars_max=chars_max)
        return lines[: len(first) + 2] + (["…"] if last else []) + lines[len(first) + 2 :]
    shown = [strip_escapes(value_text(item)) for item in first]
    return shown + (["…", *(strip_escapes(value_text(item)) for item in last)] if last else [])


def item_lines(data: Mapping[str, Any], *, chars_max: int = CELL_CHARS_MAX) -> list[str]:
    """The items of a read: a table under its columns, lines and pages as they are, entries as JSON."""
    items = data["items"]
    if data.get("columns") and all(isinstance(item, list) for item in items):
        return table_lines(data["columns"], items, chars_max=chars_max)
    if data["unit"] == "pages":
        return [f"── page {data['start'] + i + 1}\n{value_text(item)}" for i, item in enumerate(items)]
    return [value_text(item) for item in items]


def match_lines(data: Mapping[str, Any]) -> list[str]:
    """The matches of a search, each with its item's number, and its context around it."""
    lines: list[str] = []
    width = len(str(max((each["item"] for each in data["matches"]), default=0)))
    for each in data["matches"]:
        column = f" [{each['column']}]" if "column" in each else ""
        around = each.get("before", ()), each.get("after", ())
        lines += [f"{'':{width}}- {line}" for line in around[0]]
        lines.append(f"{each['item']:{width}}:{column} {each['text']}")
        lines += [f"{'':{width}}- {line}" for line in around[1]]
        if any(around):
            lines.append("")
    return lines


def command_text(command: str, targets: Sequence[str], flags: Mapping[str, Any], tail: str | None = None) -> str:
    """A command that can be pasted: the flags by their names, as many as are not the default."""
    words = ["blobs", command, *targets]
    for name, value in flags.items():
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(flag)
        elif value is not None and value is not False:
            # Joined by =, so that a value which begins with a dash is not taken for a flag.
            words.append(f"{flag}={exact_json.text(value) if isinstance(value, list) else value}")
    if tail is not None:
        words += ["--", tail] if tail.startswith("-") else [tail]
    return shlex.join(words)
