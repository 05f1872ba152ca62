"""What the answers of the tools have in common: their form and size, where they start, which columns they show."""

from dataclasses import dataclass
from typing import Any

from blobs.domain.errors import BlobsError, ToolInputError
from blobs.domain.handle import Profile
from blobs.domain.reference import Reference
from blobs.operations.tools import ReadCall, SearchCall
from blobs.reading.reader import View

ENVELOPE_BYTES = len('{"ok":true,"data":}')
"""What an answer takes beside its data."""


@dataclass(frozen=True, slots=True)
class Target:
    """A blob as a conversation knows it: its name there, its reference, its profile."""

    name: str
    reference: Reference
    profile: Profile


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a tool answers: `data`, or `blob` where the answer is one itself, beside a message; or only a message.

    A refusal has its cause in `fault`: the model reads the message, a program asks whose fault it was.
    """

    is_ok: bool
    message: str | None = None
    data: dict[str, Any] | None = None
    blob: Reference | None = None
    fault: BlobsError | None = None

    @classmethod
    def done(
        cls, message: str | None = None, *, data: dict[str, Any] | None = None, blob: Reference | None = None
    ) -> "ToolAnswer":
        """What was asked for."""
        return cls(is_ok=True, message=message, data=data, blob=blob)

    @classmethod
    def refused(cls, message: str | None, *, fault: BlobsError | None = None) -> "ToolAnswer":
        """What is wrong, and the next call that works."""
        return cls(is_ok=False, message=message, fault=fault)


def answer_json(answer: ToolAnswer, data: dict[str, Any] | None) -> dict[str, Any]:
    """The answer as the model reads it, its keys in order; `data` is the answer's own, or the handle of its blob."""
    said: dict[str, Any] = {"ok": answer.is_ok}
    if answer.message is not None:
        said["message"] = answer.message
    if data is not None:
        said["data"] = data
    return said


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
