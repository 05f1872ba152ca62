"""agent-blobs: a blob store and large-result handling service for agent runtimes."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from blobs.client import Blobs, Conversation, Turn
    from blobs.domain.errors import BlobsError, ToolInputError
    from blobs.domain.limits import Limits
    from blobs.settings import Settings

__all__ = ["Blobs", "BlobsError", "Conversation", "Limits", "Settings", "ToolInputError", "Turn"]

_HOMES = {
    "Blobs": "blobs.client",
    "BlobsError": "blobs.domain.errors",
    "Conversation": "blobs.client",
    "Limits": "blobs.domain.limits",
    "Settings": "blobs.settings",
    "ToolInputError": "blobs.domain.errors",
    "Turn": "blobs.client",
}


def __getattr__(name: str) -> Any:
    """Load a public name at its first use: a cell that imports one module of this package must not load the rest."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'blobs' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
