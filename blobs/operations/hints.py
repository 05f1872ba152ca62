"""Hints name only tools that the model has this turn."""

import re
from collections.abc import Collection

from blobs.operations.definitions import TOOL_NAMES

_SENTENCES = re.compile(r"(?<=[.!?])\s+")


def only_offered(message: str | None, offered: Collection[str] | None) -> str | None:
    """The message without the sentences that name one of the three tools which is not offered (`None`: all are)."""
    if message is None or offered is None:
        return message
    missing = [tool for tool in TOOL_NAMES if tool not in offered]
    if not any(tool in message for tool in missing):
        return message
    kept = [each for each in _SENTENCES.split(message) if not any(tool in each for tool in missing)]
    return " ".join(kept) or "This cannot be done with the tools of this turn."
