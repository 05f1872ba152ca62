"""blob_read over one view: a bounded piece, what it covers, and the call that continues."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from blobs.domain import exact_json
from blobs.domain.ranges import ItemRange
from blobs.operations.answers import ENVELOPE_BYTES, chosen_columns, start_within
from blobs.operations.tools import ReadCall
from blobs.reading.cutting import cut_to_bytes
from blobs.reading.reader import View
from blobs.reading.source import Source


class SliceNeeded(Exception):  # noqa: N818  # not an error: the caller stores the slice instead
    """The items that a call asked for do not fit in one answer; `fits` of them would, and `span` is what was asked."""

    def __init__(self, span: ItemRange, fits: int, total: int) -> None:
        super().__init__(span, fits)
        self.span = span
        self.fits = fits
        self.total = total


def read_items(view: View, call: ReadCall, *, bytes_max: int) -> dict[str, Any]:
    """The `data` of an answer to a call that counts in the view's own items.

    Without `count` as many items as fit; with one that does not fit, `SliceNeeded`. An item that is larger than a whole
    answer is answered by its first piece in characters, from where `next` goes on.
    """
    assert view.unit is not None
    total = view.count or 0
    start = start_within(call, total, view.unit)
    stop = total if call.count is None else min(total, start + call.count)
    data = _data(call, view.unit, start, total)
    chosen = chosen_columns(view, call.columns)
    if chosen is not None:
        data["columns"] = [name for name, _ in chosen]
    items, size = [], _size(_finish(dict(data), call, [], stop=start, total=total))
    for item in _walk(view, ItemRange(start, stop), chosen):
        size += len(exact_json.dumps(item)) + 1
        if size > bytes_max:
            break
        items.append(item)
    if len(items) < stop - start and call.count is not None:
        raise SliceNeeded(ItemRange(start, stop), len(items), total)
    if not items and start < stop:
        return _first_piece(view, call, start, bytes_max=bytes_max)
    while True:
        answer = _finish(dict(data), call, items, stop=start + len(items), total=total)
        if _size(answer) <= bytes_max or not items:
            return answer
        items.pop()  # numbers in `next` may take a digit more than was reckoned


def read_chars(view: View, call: ReadCall, *, bytes_max: int) -> dict[str, Any]:
    """The `data` of an answer that counts in characters of the view's text; `items` holds one string."""
    total = view.text_length()
    start = start_within(call, total, "chars")
    stop = total if call.count is None else min(total, start + call.count)
    return _read_text(view, call, start, stop, total, bytes_max=bytes_max)


def read_bytes(source: Source, call: ReadCall, *, bytes_max: int) -> dict[str, Any]:
    """The `data` of an answer that counts in bytes, two hexadecimal digits each; `items` holds one string."""
    total = source.size
    start = start_within(call, total, "bytes")
    stop = total if call.count is None else min(total, start + call.count)
    data = _data(call, "bytes", start, total)
    data["encoding"] = "hex"
    room = (bytes_max - _size(_finish(dict(data), call, [""], stop=total, total=total + 1, covered=total))) // 2
    if call.count is not None and stop - start > room:
        raise SliceNeeded(ItemRange(start, stop), room, total)
    stop = min(stop, start + room)
    piece = source.read(start, stop)
    return _finish(data, call, [piece.hex()] if piece else [], stop=stop, total=total, covered=stop - start)


def _read_text(view: View, call: ReadCall, start: int, stop: int, total: int, *, bytes_max: int) -> dict[str, Any]:
    data = _data(call, "chars", start, total)
    room = bytes_max - _size(_finish(dict(data), call, [""], stop=total, total=total + 1, covered=total)) - 2
    text = view.text(start, min(stop, start + room))
    piece = cut_to_bytes(text, room)
    if call.count is not None and len(piece) < stop - start:
        fits = len(piece)
        raise SliceNeeded(ItemRange(start, stop), fits, total)
    return _finish(data, call, [piece] if piece else [], stop=start + len(piece), total=total, covered=len(piece))


def _first_piece(view: View, call: ReadCall, item: int, *, bytes_max: int) -> dict[str, Any]:
    """The beginning of an item too large for an answer, said in characters of the view's text."""
    in_chars = replace(call, unit="chars", columns=None)
    start, total = view.text_offset(item), view.text_length()
    data = _read_text(view, replace(in_chars, start=start), start, total, total, bytes_max=bytes_max - 200)
    after = f"; the one after it begins at start {item + 1}" if item + 1 < (view.count or 0) else ""
    data["note"] = f"Of the {view.unit}, number {item} is larger than an answer: it comes in pieces of text{after}."
    return data


def _data(call: ReadCall, unit: str, start: int, total: int) -> dict[str, Any]:
    return {"blob": call.blob, "unit": unit, "start": start, "count": 0, "total": total}


def _finish(
    data: dict[str, Any], call: ReadCall, items: list[Any], *, stop: int, total: int, covered: int | None = None
) -> dict[str, Any]:
    data["count"] = len(items) if covered is None else covered
    data["items"] = items
    data["complete"] = stop >= total
    if not data["complete"]:
        going_on = replace(call, start=stop)
        if data["unit"] in ("chars", "bytes"):
            going_on = replace(going_on, unit=data["unit"], columns=None)
        data["next"] = going_on.arguments()
    return data


def _size(data: dict[str, Any]) -> int:
    return len(exact_json.dumps(data)) + ENVELOPE_BYTES


def _walk(view: View, span: ItemRange, chosen: list[tuple[str, int]] | None) -> Iterator[Any]:
    places = None if chosen is None else [place for _, place in chosen]
    width = len(view.columns or ())
    for item in view.items(span):
        if places is None or (len(places) == width and places == list(range(width))):
            yield item
        else:
            yield [item[place] if place < len(item) else None for place in places]
