"""Audio and video: duration, streams and tags, from the headers alone; nothing is decoded, and there are no items."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from blobs.domain.errors import BlobsError, UnreadableError
from blobs.reading.base_view import BaseView
from blobs.reading.reader import Confidence, Sample
from blobs.reading.source import Source
from previewers.media_audio import is_mp3, read_audio, tags_of
from previewers.media_facts import Media
from previewers.media_matroska import read_matroska
from previewers.media_mp4 import read_mp4
from previewers.media_riff import read_riff
from previewers.parsing import parsing

_HEAD_BYTES = 64 * 1024
_ASF = b"\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9\x00\xaa\x00\x62\xce\x6c"
_MP4 = "video/mp4"
_BRANDS = {b"qt  ": "video/quicktime", b"M4A ": "audio/mp4", b"M4B ": "audio/mp4"}
_BRAND_BEGINNINGS = {b"3gp": "video/3gpp", b"3g2": "video/3gpp2"}
_SIGNED = {
    b"fLaC": "audio/flac",
    b"FORM": "audio/aiff",
    b"ID3\x02": "audio/mpeg",
    b"ID3\x03": "audio/mpeg",
    b"ID3\x04": "audio/mpeg",
    _ASF: "video/x-ms-asf",
}
_IMAGE_BRANDS = frozenset({b"avif", b"avis", b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1", b"crx "})
_QUICKTIME_BOXES = frozenset({b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot"})
"""What a file of QuickTime may begin with instead of its type."""


class AudioVideoReader:
    """Recordings of sound and moving pictures."""

    name = "audio-video"
    media_types = (
        "audio/wav",
        "audio/mpeg",
        "audio/flac",
        "audio/ogg",
        "audio/aiff",
        "audio/mp4",
        _MP4,
        "video/quicktime",
        "video/3gpp",
        "video/3gpp2",
        "video/webm",
        "video/x-matroska",
        "video/x-msvideo",
        "video/ogg",
        "video/x-ms-asf",
    )
    aliases = (
        "audio/x-wav",
        "audio/wave",
        "audio/vnd.wave",
        "audio/mp3",
        "audio/x-flac",
        "audio/opus",
        "audio/webm",
        "audio/x-aiff",
        "audio/m4a",
        "audio/x-m4a",
        "audio/x-matroska",
        "audio/x-ms-wma",
        "application/ogg",
        "video/avi",
        "video/msvideo",
        "video/x-m4v",
        "video/x-ms-wmv",
    )

    def sniff(self, sample: Sample) -> Confidence:
        """By signature; what has a weak one (MP3 without tags, QuickTime without a type) must make sense as well."""
        media_type = _type_of(sample.head)
        if media_type:
            return Confidence(100, media_type)
        if is_mp3(sample.head):
            return Confidence(90, "audio/mpeg")
        size = int.from_bytes(sample.head[:4], "big")
        if sample.head[4:8] in _QUICKTIME_BOXES and (size == 1 or 8 <= size <= sample.size):
            return Confidence(80, "video/quicktime")
        return Confidence.NO

    def open(self, source: Source) -> "AudioVideoView":
        """What the headers say; raises `UnreadableError` where they say nothing."""
        with parsing("recording"):
            return AudioVideoView(_reading(source.read(0, _HEAD_BYTES))(source))


class AudioVideoView(BaseView):
    """A recording: no items."""

    def __init__(self, media: Media) -> None:
        super().__init__()
        self._facts = media.facts()
        self.notes.extend(media.notes)

    def facts(self) -> dict[str, Any]:
        """Format, duration in seconds, each stream with its codec and sizes, and the tags."""
        return self._facts


def _type_of(head: bytes) -> str:
    """The media type by a signature that nothing else has, or ""."""
    if head[:4] in (b"RIFF", b"RIFX", b"RF64"):
        return {b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}.get(head[8:12], "")
    if head[4:8] == b"ftyp" and head[8:12] not in _IMAGE_BRANDS:
        return _BRANDS.get(head[8:12]) or _BRAND_BEGINNINGS.get(head[8:11], _MP4)
    if head[:4] == b"\x1aE\xdf\xa3":
        return "video/webm" if b"webm" in head[:64] else "video/x-matroska"
    if head[:4] == b"OggS":
        return "video/ogg" if b"\x80theora" in head[:4096] else "audio/ogg"
    found = next((each for signature, each in _SIGNED.items() if head.startswith(signature)), "")
    return "" if found == "audio/aiff" and head[8:12] not in (b"AIFF", b"AIFC") else found


def _reading(head: bytes) -> Callable[[Source], Media]:
    """What reads a file that begins like this."""
    if head[:2] == b"RI" or head[:4] == b"RF64":
        return read_riff
    if head[:4] == b"\x1aE\xdf\xa3":
        return read_matroska
    form = {b"fLaC": "FLAC", b"OggS": "Ogg", b"FORM": "AIFF", _ASF[:4]: "ASF"}.get(head[:4])
    if form:
        return partial(read_audio, form=form)
    if head[:3] == b"ID3" or is_mp3(head):
        return partial(read_audio, form="MP3")
    if head[4:8] == b"ftyp" or head[4:8] in _QUICKTIME_BOXES:
        return _mp4_with_tags
    raise UnreadableError("There is no recording that could be read.")


def _mp4_with_tags(source: Source) -> Media:
    media = read_mp4(source)
    with suppress(BlobsError), parsing("tags"):  # the streams are told without them
        tags_of(source, media)
    return media
