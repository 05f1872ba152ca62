"""The front door: `Blobs`, `Conversation`, `Turn`. Everything that goes in and comes out is plain JSON-ready data."""

from blobs.client.conversation import Conversation
from blobs.client.front import Blobs
from blobs.client.turn import Turn

__all__ = ["Blobs", "Conversation", "Turn"]
