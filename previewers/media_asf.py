"""WMA and WMV: the streams in the header of an ASF file (Advanced Systems Format 1.20, section 3)."""

from typing import Any
from uuid import UUID

from blobs.reading.source import Source
from previewers.media_facts import STREAMS_MAX, audio, video

_STREAM = UUID("b7dc0791-a9b7-11cf-8ee6-00c00c205365").bytes_le
_AUDIO = UUID("f8699e40-5b4d-11cf-a8fd-00805f5c442b").bytes_le
_VIDEO = UUID("bc19efc0-5b4d-11cf-a8fd-00805f5c442b").bytes_le
_HEADER_BYTES, _OBJECTS_MAX = 30, 1000
_AUDIO_CODECS = {0x160: "wmav1", 0x161: "wmav2", 0x162: "wmapro", 0x163: "wmalossless", 0x55: "mp3", 0x1: "pcm"}


def asf_streams(source: Source) -> list[dict[str, Any]]:
    """The streams, in their order."""
    streams: list[dict[str, Any]] = []
    at, stop = _HEADER_BYTES, int.from_bytes(source.read(16, 24), "little")
    for _ in range(_OBJECTS_MAX):
        head = source.read(at, at + 24)
        size = int.from_bytes(head[16:24], "little")
        if size < 24 or at >= stop or len(streams) == STREAMS_MAX:
            break
        if head[:16] == _STREAM:
            streams.append(_stream(source.read(at + 24, at + min(size, 256))))
        at += size
    return streams


def _stream(raw: bytes) -> dict[str, Any]:
    """By its kind and the data of that kind, which is a header of WAV or of a bitmap."""
    form = raw[54:]
    if raw[:16] == _AUDIO:
        tag, channels, rate = (int.from_bytes(form[at : at + size], "little") for at, size in ((0, 2), (2, 2), (4, 4)))
        return audio(_AUDIO_CODECS.get(tag, f"0x{tag:04x}"), channels, rate)
    if raw[:16] == _VIDEO:
        width, height = (int.from_bytes(form[at : at + 4], "little") for at in (0, 4))
        return video(form[27:31].decode("latin-1").strip("\x00 ").lower() or "unknown", width, height)
    return {"kind": "data"}
