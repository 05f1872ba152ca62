"""What is told of audio and video whatever the container: duration, streams, tags."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

STREAMS_MAX = 32
OPUS_RATE = 48_000
"""What Opus always decodes to, whatever it was made from (RFC 7845)."""

_TAGS_MAX = 16
_NAME_CHARS_MAX = 40
_TAG_CHARS_MAX = 200
_DURATION_S_MAX = 10_000 * 3600
"""A header that claims more is wrong: no recording lasts a year."""


@dataclass(slots=True)
class Media:
    """What the headers of a file say. `duration_s` is None where they do not say how long it is."""

    format: str
    duration_s: float | None = None
    streams: list[dict[str, Any]] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)
    pictures: int = 0
    notes: list[str] = field(default_factory=list)

    def facts(self) -> dict[str, Any]:
        """Format, `duration_s` in seconds to a thousandth, streams, the number of cover pictures, and tags."""
        told: dict[str, Any] = {"format": self.format}
        if self.duration_s is not None and 0 <= self.duration_s < _DURATION_S_MAX:
            told["duration_s"] = round(self.duration_s, 3)
        told["streams"] = self.streams[:STREAMS_MAX]
        if self.pictures:
            told["pictures"] = self.pictures
        if self.tags:
            told["tags"] = self.tags
        return told

    def add_tags(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Keep tags in the order given; of a name that comes again the first value, and long ones cut."""
        for name, value in pairs:
            text = " ".join(value.replace("\x00", " ").split())
            if text and len(self.tags) < _TAGS_MAX:
                self.tags.setdefault(name.lower()[:_NAME_CHARS_MAX], text[:_TAG_CHARS_MAX])


def audio(codec: str, channels: int, sample_rate: int) -> dict[str, Any]:
    """An audio stream; numbers that are not known (0) are left out."""
    told: dict[str, Any] = {"kind": "audio", "codec": codec}
    if channels > 0:
        told["channels"] = channels
    if sample_rate > 0:
        told["sample_rate"] = sample_rate
    return told


def video(codec: str, width: int, height: int, frame_rate: float = 0.0) -> dict[str, Any]:
    """A video stream; width and height in pixels, `frame_rate` in frames a second; what is not known is left out."""
    told: dict[str, Any] = {"kind": "video", "codec": codec}
    if width > 0 and height > 0:
        told["width"], told["height"] = width, height
    if 0 < frame_rate < 10_000:
        told["frame_rate"] = round(frame_rate, 3)
    return told
