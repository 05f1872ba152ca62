"""agent-blobs: a blob store and large-result handling service for agent runtimes."""

from blobs.client import Blobs, Conversation, Turn
from blobs.domain.errors import BlobsError, ToolInputError
from blobs.domain.limits import Limits
from blobs.settings import Settings

__all__ = ["Blobs", "BlobsError", "Conversation", "Limits", "Settings", "ToolInputError", "Turn"]
