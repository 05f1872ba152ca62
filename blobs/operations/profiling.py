"""The preview job: type, items, cost, preview and shape of one blob."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from blobs.domain import exact_json
from blobs.domain.handle import Profile
from blobs.domain.media_type import PDF
from blobs.domain.ranges import ItemRange
from blobs.reading.budget import fit_value
from blobs.reading.cost import image_cost, items_cost, pdf_cost, text_cost, undecoded_cost
from blobs.reading.cutting import cut_with_count
from blobs.reading.embedded import decode_embedded
from blobs.reading.opening import Opened
from blobs.reading.reader import Part, View
from blobs.reading.source import Source, TooMuchReadError

TYPED_ROWS_MAX = 200_000
TYPED_COLUMNS_MAX = 1_000
"""Tables of more rows or columns show these without types: a type is a promise about every row, and a turn waits."""

_LAYOUTS = ((10, 160), (8, 120), (6, 80), (5, 60), (4, 40), (3, 30), (2, 24), (1, 16), (1, 8), (0, 8))
"""How many first items, and how many characters of each string in them; the first layout that fits is taken."""

_COST_SAMPLES = 64

_EMBEDDED_CHARS_MIN = 256
_LONG_STRING = re.compile(rb'"[^"]{%d}' % _EMBEDDED_CHARS_MIN)


def profile(
    opened: Opened, source: Source, *, seed: bytes, preview_bytes_max: int, typed_bytes_max: int | None = None
) -> Profile:
    """Find out what a handle says of a blob; the same bytes give the same profile.

    Raises `TooMuchReadError` for a table of more than `typed_bytes_max` whose columns are to be given types.
    """
    view = opened.view
    columns = _columns(view, source.size, typed_bytes_max)
    facts = view.facts()
    return Profile(
        type=opened.type,
        reader=opened.plug_in.name,
        unit=view.unit,
        items=view.count if view.unit is not None else None,
        cost=_cost(opened, source, facts, seed),
        preview=_preview(view, columns, [*view.notes, *opened.notes], preview_bytes_max),
        facts=facts,
        parts=tuple(part.name for part in view.parts),
        columns=tuple(columns),
    )


def _columns(view: View, size: int, typed_bytes_max: int | None) -> list[str]:
    if view.columns is None:
        return []
    if any(column.type != "VARCHAR" for column in view.columns):
        return [f"{column.name} {column.type}" for column in view.columns]
    if not view.count or view.count > TYPED_ROWS_MAX or len(view.columns) > TYPED_COLUMNS_MAX:
        return [column.name for column in view.columns]
    if typed_bytes_max is not None and size > typed_bytes_max:
        raise TooMuchReadError
    from blobs.querying.columnar import types_of  # loads nothing heavy until a table is at hand

    table = view.table()
    if table is None or table.rows is None:
        return [column.name for column in view.columns]
    if typed_bytes_max is not None:
        table = replace(table, texts=None)  # its rows one by one, for which nothing heavy is loaded
    return [f"{column.name} {column.type}" for column in types_of(table)]


def _cost(opened: Opened, source: Source, facts: dict[str, Any], seed: bytes) -> int:
    view = opened.view
    if opened.type.startswith("image/") and "width" in facts:
        return image_cost(int(facts["width"]), int(facts["height"]))
    if view.text_encoding is not None:
        text = view.text_source or source
        return text_cost(text.read, text.size, encoding=view.text_encoding, seed=seed).tokens
    if view.unit is None:
        return undecoded_cost(source.size)
    count = view.count or 0
    tokens = items_cost(list(_spread(view, count)), count).tokens
    return pdf_cost(count, tokens) if opened.type == PDF else tokens


def _spread(view: View, count: int) -> Iterator[str]:
    """Texts of items spread evenly over the view, so that their mean stands for all."""
    render: Callable[[Any], str] = getattr(view, "render", exact_json.text)
    runs = min(8, max(1, count // 8))
    length = -(-min(count, _COST_SAMPLES) // runs)
    for run in range(runs):
        start = run * count // runs
        for item in view.items(ItemRange(start, min(count, start + length))):
            yield render(item) + "\n"


def _preview(view: View, columns: list[str], notes: list[str], bytes_max: int) -> dict[str, Any]:
    count = view.count or 0
    first = list(islice(view.glimpse(ItemRange(0, min(count, _LAYOUTS[0][0]))), _LAYOUTS[0][0])) if view.unit else []
    last = list(view.glimpse(ItemRange(max(len(first), count - 2), count))) if count > len(first) else []
    first, last = _without_embedded(first), _without_embedded(last)
    shape = view.shape()
    for first_max, chars_max in _LAYOUTS:
        preview = _layout(view, columns, shape, notes, first, last, first_max, chars_max)
        if len(exact_json.dumps(preview)) <= bytes_max:
            return preview
    fitted = fit_value(preview, bytes_max)
    return fitted if isinstance(fitted, dict) else {"unit": view.unit or "bytes"}


def _layout(
    view: View,
    columns: list[str],
    shape: Any,
    notes: list[str],
    first: list[Any],
    last: list[Any],
    first_max: int,
    chars_max: int,
) -> dict[str, Any]:
    preview: dict[str, Any] = {}
    if view.unit is not None:
        preview["unit"] = view.unit
    if columns:
        preview["columns"] = _some([cut_with_count(each, chars_max) for each in columns], first_max * 8, "columns")
    elif shape is not None:
        preview["shape"] = fit_value(shape, 64 + chars_max * 5)
    if view.parts:
        preview["parts"] = _some([_part(each) for each in view.parts], first_max * 4, "parts")
    facts = view.facts()
    if facts:
        preview["facts"] = fit_value(facts, 64 + chars_max * 5)
    if view.unit is not None:
        preview["first"] = [_cut(each, chars_max) for each in first[:first_max]]
        tail = [*first, *last]
        hidden = (view.count or 0) - first_max
        if hidden > 0:
            preview["last"] = [_cut(each, chars_max) for each in tail[-min(2, hidden) :]]
    if notes:
        preview["notes"] = _some([cut_with_count(each, max(80, chars_max * 2)) for each in notes], 8, "notes")
    return preview


def _part(part: Part) -> dict[str, Any]:
    shown: dict[str, Any] = {"part": part.name}
    if part.count is not None:
        shown[part.unit] = part.count
    if part.note:
        shown["note"] = part.note
    return shown


def _some(values: list[Any], values_max: int, noun: str) -> list[Any]:
    if len(values) <= max(2, values_max):
        return values
    kept = max(2, values_max)
    return [*values[:kept], f"…(+{len(values) - kept} {noun})"]


def _without_embedded(value: Any) -> Any:
    """The value with a note in place of each string that carries bytes: a model reads nothing in base64."""
    if not _LONG_STRING.search(exact_json.dumps(value)):
        return value
    return exact_json.changed(value, _embedded_told)


def _embedded_told(leaf: Any) -> Any:
    embedded = decode_embedded(leaf, length_min=_EMBEDDED_CHARS_MIN) if isinstance(leaf, str) else None
    return leaf if embedded is None else f"…(base64: {len(leaf)} chars, {len(embedded.content)} bytes)"


def _cut(value: Any, chars_max: int) -> Any:
    """The value with long strings and deep or long structures cut, each cut marked."""
    if isinstance(value, str):
        return cut_with_count(value, chars_max * 2)
    if isinstance(value, list):
        return [_cut_inner(each, chars_max) for each in value] if len(value) <= 64 else fit_value(value, chars_max * 10)
    if isinstance(value, dict):
        return fit_value(value, chars_max * 6)
    return value


def _cut_inner(value: Any, chars_max: int) -> Any:
    if isinstance(value, str):
        return cut_with_count(value, chars_max)
    if isinstance(value, list | dict):
        return fit_value(value, chars_max * 3)
    return value
