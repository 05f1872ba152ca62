"""MP3, FLAC, Ogg, AIFF and ASF by `tinytag`, which reads headers and tags in pure Python."""

import re
import struct
from collections.abc import Callable, Iterator
from typing import Any

from blobs.reading.source import Source
from previewers.media_asf import asf_streams
from previewers.media_facts import OPUS_RATE, STREAMS_MAX, Media, audio, video
from previewers.parsing import parsing

_CODEC_NAME = re.compile(r'codecs="([^"]+)"')
_CODECS = {"NONE": "pcm"}
_PROPERTIES = frozenset(
    ["filename", "filesize", "mime_type", "duration", "channels", "bitrate", "bitdepth", "samplerate", "is_lossless"]
)
_PAGE_HEADER = struct.Struct("<4sBBqIIIB")
_BEGINS = 2

_RATES = {3: (44100, 48000, 32000), 2: (22050, 24000, 16000), 0: (11025, 12000, 8000)}
_KBITS = {
    (3, 1): (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (3, 2): (32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (2, 1): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
"""By version (3 is MPEG-1) and layer bits (1 is layer III, 2 layer II), as ISO/IEC 11172-3 and 13818-3 list them."""


def read_audio(source: Source, form: str) -> Media:
    """The facts of a file of sound; raises `UnreadableError` where its headers make no sense."""
    media = Media(form)
    media.streams = list(_ogg_streams(source)) if form == "Ogg" else asf_streams(source) if form == "ASF" else []
    with parsing(f"{form} file"):
        found = tags_of(source, media)
        if not media.streams and found.samplerate:
            named = _CODEC_NAME.search(found.mime_type or "")
            codec = _CODECS.get(named[1], named[1]) if named else form.lower()
            codec = "mp2" if _is_layer_2(source.read(0, 4)) else codec
            media.streams.append(audio(codec, found.channels or 0, found.samplerate))
        media.duration_s = found.duration or None
    if not media.streams:
        media.notes.append("no sound is in it: tags only, or the rest is cut off")
    return media


def tags_of(source: Source, media: Media) -> Any:
    """What `tinytag` finds; the tags, and the number of pictures among them, are noted in the media."""
    from tinytag import TinyTag  # only a file of sound needs it

    with source.open() as file:
        found = TinyTag.get(file_obj=file, image=True)
    told = {name: value for name, value in found.as_dict().items() if name not in _PROPERTIES}
    media.add_tags((name, str(value[0])) for name, value in told.items() if isinstance(value, list) and value)
    media.pictures = sum(len(group) for group in found.images.as_dict().values())
    return found


def is_mp3(head: bytes) -> bool:
    """Two frames follow each other: the eleven bits that one begins with are found in anything."""
    size = _frame_bytes(head)
    after = head[size : size + 4]
    is_same_kind = len(after) == 4 and head[1] & 0xFE == after[1] & 0xFE and head[2] & 0x0C == after[2] & 0x0C
    return size > 0 and is_same_kind and _frame_bytes(after) > 0


def _frame_bytes(header: bytes) -> int:
    """The size of a frame of layer II or III by its header; 0 where it is none."""
    if len(header) < 4 or header[0] != 0xFF or header[1] & 0xE0 != 0xE0:
        return 0
    version, layer = header[1] >> 3 & 3, header[1] >> 1 & 3
    level, rate, padding = header[2] >> 4, header[2] >> 2 & 3, header[2] >> 1 & 1
    kbits = _KBITS.get((3 if version == 3 else 2, layer), _KBITS[2, 1] if layer == 2 else ())
    if version not in _RATES or rate == 3 or not 0 < level <= len(kbits):
        return 0
    samples = 576 if layer == 1 and version != 3 else 1152
    return samples // 8 * kbits[level - 1] * 1000 // _RATES[version][rate] + padding


def _is_layer_2(header: bytes) -> bool:
    return _frame_bytes(header) > 0 and header[1] >> 1 & 3 == 2


def _ogg_streams(source: Source) -> Iterator[dict[str, Any]]:
    """The streams by their first packets, which lie one after the other at the beginning (RFC 3533)."""
    at = 0
    for _ in range(STREAMS_MAX):
        raw = source.read(at, at + _PAGE_HEADER.size + 255)
        if len(raw) < _PAGE_HEADER.size or raw[:4] != b"OggS":
            return
        _, _, flags, *_, segments = _PAGE_HEADER.unpack_from(raw)
        if not flags & _BEGINS:
            return
        start = at + _PAGE_HEADER.size + segments
        at = start + sum(raw[_PAGE_HEADER.size : _PAGE_HEADER.size + segments])
        stream = _ogg_stream(source.read(start, min(at, start + 80)))
        if stream is not None:
            yield stream


def _ogg_stream(packet: bytes) -> dict[str, Any] | None:
    """By the first packet; None for what is no stream but an index of the others."""
    for signature, (size_min, told) in _OGG_PACKETS.items():
        if packet.startswith(signature) and len(packet) >= size_min:
            return told(packet)
    return None if packet.startswith(b"fishead") else {"kind": "data"}


def _ogg_flac(packet: bytes) -> dict[str, Any]:
    packed = int.from_bytes(packet[27:31], "big")
    return audio("flac", (packed >> 9 & 7) + 1, packed >> 12)


def _ogg_speex(packet: bytes) -> dict[str, Any]:
    return audio("speex", int.from_bytes(packet[48:52], "little"), int.from_bytes(packet[36:40], "little"))


def _ogg_theora(packet: bytes) -> dict[str, Any]:
    width, height = int.from_bytes(packet[14:17], "big"), int.from_bytes(packet[17:20], "big")
    frames, seconds = int.from_bytes(packet[22:26], "big"), int.from_bytes(packet[26:30], "big")
    return video("theora", width, height, frames / seconds if seconds else 0.0)


_OGG_PACKETS: dict[bytes, tuple[int, Callable[[bytes], dict[str, Any]]]] = {
    b"\x01vorbis": (16, lambda packet: audio("vorbis", packet[11], int.from_bytes(packet[12:16], "little"))),
    b"OpusHead": (16, lambda packet: audio("opus", packet[9], OPUS_RATE)),
    b"\x7fFLAC": (34, _ogg_flac),
    b"Speex   ": (52, _ogg_speex),
    b"\x80theora": (30, _ogg_theora),
}
