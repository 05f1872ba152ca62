"""What the answers of the tools have in common: the size of their envelope, where they start, which columns they show."""

from blobs.domain.errors import ToolInputError
from blobs.operations.tools import ReadCall, SearchCall
from blobs.reading.reader import View

ENVELOPE_BYTES = len('{"ok":true,"data":}')
"""What an answer takes beside its data."""


def start_within(call: ReadCall | SearchCall, total: int, unit: str) -> int:
    """The position that a call starts at, a negative one counted from the end; an error past the end."""
    start = call.start if call.start >= 0 else max(0, total + call.start)
    if start >= total and start > 0:
        where = f"{call.blob} has {total} {unit}" if total else f"{call.blob} has no {unit}"
        use = f"Use 0 to {total - 1}" if total > 1 else "Use start 0"
        raise ToolInputError(f"start: {call.start} is past the end; {where}.", hint=f"{use}.")
    return start


def chosen_columns(view: View, wanted: tuple[str, ...] | None) -> list[tuple[str, int]] | None:
    """Names and places of the columns to show, or None where the items are not rows of cells."""
    if view.columns is None:
        if wanted is not None:
            raise ToolInputError(f"columns: the {view.unit} of this blob have none.", hint="Leave columns out.")
        return None
    names = [column.name for column in view.columns]
    if wanted is None:
        return list(zip(names, range(len(names)), strict=True))
    unknown = [name for name in wanted if name not in names]
    if unknown:
        shown = ", ".join(repr(name) for name in names[:50])
        raise ToolInputError(f"columns: there is no column {unknown[0]!r}.", hint=f"Use {shown}.")
    return [(name, names.index(name)) for name in wanted]
