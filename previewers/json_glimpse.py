"""JSON values as a preview shows them: what is too large to be built for a few lines becomes a mark with its count."""

from collections.abc import Callable
from typing import Any

from blobs.domain import exact_json
from blobs.reading.cutting import mark
from previewers.json_structure import Outline, first_byte

_WHOLE_BYTES_MAX = 64 * 1024
_ENTRIES_MAX = 64
_LEVELS_MAX = 8


def glimpse(value: memoryview, outline: Callable[[memoryview], Outline], *, levels: int = _LEVELS_MAX) -> Any:
    """The value, with a mark such as `…(+50000 items)` in place of each long array or object inside."""
    if len(value) <= _WHOLE_BYTES_MAX or first_byte(value) not in (b"[", b"{"):
        return exact_json.loads(value)
    found = outline(value)
    noun = "items" if found.kind == "array" else "keys"
    if len(found) > _ENTRIES_MAX or not levels:
        return mark(len(found), noun)
    inner = [
        glimpse(value[start:stop], outline, levels=levels - 1)
        for start, stop in zip(found.starts, found.stops, strict=True)
    ]
    return inner if found.kind == "array" else dict(zip(found.keys, inner, strict=True))
