"""Names and handles: what a model sees of a blob."""

import re
from dataclasses import dataclass
from typing import Any

_NAME = re.compile(r"blob([1-9][0-9]{0,8})\Z")


def blob_name(number: int) -> str:
    """The name of a conversation's `number`-th blob."""
    return f"blob{number}"


def parse_blob_name(text: str) -> int | None:
    """The number in a blob name, or None where the text is not one."""
    match = _NAME.match(text)
    return int(match.group(1)) if match else None


@dataclass(frozen=True, slots=True)
class Profile:
    """What the preview job found out about a blob.

    `type` is the media type that the bytes turned out to have, `reader` the reader that opens them, `unit` and `items`
    what it counts (both None for formats without items), `cost` the tokens needed to read the whole, `preview` the
    object that a handle shows once, `facts` what is known beside (pixel size, pages, duration).
    """

    type: str
    reader: str
    unit: str | None
    items: int | None
    cost: int
    preview: dict[str, Any]
    facts: dict[str, Any]
    parts: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The form that is stored; `from_json` reads it back."""
        return {
            "type": self.type,
            "reader": self.reader,
            "unit": self.unit,
            "items": self.items,
            "cost": self.cost,
            "preview": self.preview,
            "facts": self.facts,
            "parts": list(self.parts),
            "columns": list(self.columns),
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Profile":
        """Read what `to_json` wrote."""
        return cls(**{**value, "parts": tuple(value["parts"]), "columns": tuple(value["columns"])})


def handle(name: str, profile: Profile, size: int, *, with_preview: bool) -> dict[str, Any]:
    """The JSON object that a model sees of a blob, its keys in their fixed order."""
    shown: dict[str, Any] = {"blob": name, "type": profile.type, "size": size}
    if profile.items is not None:
        shown["items"] = profile.items
    shown["cost"] = profile.cost
    if with_preview:
        shown["preview"] = profile.preview
    return shown
