"""Audio and video: duration, streams and tags, from the headers alone; nothing is decoded, and there are no items."""

from typing import Any

from blobs.reading.base_view import BaseView
from blobs.reading.reader import Confidence, Sample
from blobs.reading.source import Source
from previewers.media_facts import Media
from previewers.media_riff import read_riff
from previewers.parsing import parsing

_RIFF_TYPES = {b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}


class AudioVideoReader:
    """Recordings of sound and moving pictures."""

    name = "audio-video"
    media_types = ("audio/wav", "video/x-msvideo")
    aliases = ("audio/x-wav", "audio/wave", "audio/vnd.wave", "video/avi", "video/msvideo")

    def sniff(self, sample: Sample) -> Confidence:
        """By signature."""
        head = sample.head
        if head[:4] in (b"RIFF", b"RIFX", b"RF64") and head[8:12] in _RIFF_TYPES:
            return Confidence(100, _RIFF_TYPES[head[8:12]])
        return Confidence.NO

    def open(self, source: Source) -> "AudioVideoView":
        """What the headers say; raises `UnreadableError` where they say nothing."""
        with parsing("recording"):
            return AudioVideoView(read_riff(source))


class AudioVideoView(BaseView):
    """A recording: no items."""

    def __init__(self, media: Media) -> None:
        super().__init__()
        self._facts = media.facts()
        self.notes.extend(media.notes)

    def facts(self) -> dict[str, Any]:
        """Format, duration in seconds, each stream with its codec and sizes, and the tags."""
        return self._facts
