"""Matroska and WebM: elements of EBML (RFC 8794, RFC 9559), by their headers alone."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from blobs.domain.errors import UnreadableError
from blobs.reading.source import Source
from previewers.media_facts import OPUS_RATE, STREAMS_MAX, Media, audio, video

_ELEMENTS_MAX = 50_000
_VALUE_BYTES_MAX = 4096
_SEGMENT, _INFO, _TRACKS, _TAGS, _CLUSTER = 0x18538067, 0x1549A966, 0x1654AE6B, 0x1254C367, 0x1F43B675
_DOC_TYPE = 0x4282
_SCALE, _DURATION, _TITLE, _MUXER = 0x2AD7B1, 0x4489, 0x7BA9, 0x5741
_TRACK, _TRACK_TYPE, _CODEC, _LANGUAGE, _FRAME_NS = 0xAE, 0x83, 0x86, 0x22B59C, 0x23E383
_VIDEO, _WIDTH, _HEIGHT, _AUDIO, _RATE, _CHANNELS = 0xE0, 0xB0, 0xBA, 0xE1, 0xB5, 0x9F
_TAG, _TARGETS, _SIMPLE_TAG, _TAG_NAME, _TAG_STRING = 0x7373, 0x63C0, 0x67C8, 0x45A3, 0x4487
_TRACK_TARGET = 0x63C5
_CLUSTER_TIME, _BLOCK_GROUP, _BLOCK, _SIMPLE_BLOCK = 0xE7, 0xA0, 0xA1, 0xA3
_KINDS = {1: "video", 2: "audio", 17: "subtitle"}
_CODECS = {
    "V_MPEG4/ISO/AVC": "h264",
    "V_MPEGH/ISO/HEVC": "hevc",
    "V_MPEG4/ISO/ASP": "mpeg4",
    "V_MJPEG": "mjpeg",
    "A_MPEG/L3": "mp3",
    "A_MPEG/L2": "mp2",
    "A_PCM/INT/LIT": "pcm",
    "A_PCM/INT/BIG": "pcm",
    "A_PCM/FLOAT/IEEE": "pcm",
    "S_TEXT/UTF8": "subrip",
    "S_HDMV/PGS": "pgs",
}


@dataclass(frozen=True, slots=True)
class _Element:
    kind: int
    start: int
    stop: int
    is_open: bool
    """Its size was not known when it was written: it ends where something begins that cannot be in it."""


def read_matroska(source: Source) -> Media:
    """The facts of the file; raises `UnreadableError` where there are no streams in it."""
    return _Matroska(source).media()


class _Matroska:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._left = _ELEMENTS_MAX
        self._media = Media("Matroska")
        self._scale_ns = 1_000_000
        self._duration = 0.0
        self._last = 0

    def media(self) -> Media:
        media = self._media
        for element in self._within(0, self._source.size):
            if element.kind == _SEGMENT:
                self._read_segment(element)
            elif any(child.kind == _DOC_TYPE and self._text(child) == "webm" for child in self._of(element)):
                media.format = "WebM"
        if not media.streams:
            raise UnreadableError("The Matroska file is cut short or damaged: it has no streams.")
        ticks = self._duration or (self._last if self._left > 0 else 0)  # the latest block of those looked at is not it
        media.duration_s = ticks * self._scale_ns / 1e9 if ticks else None
        return media

    def _read_segment(self, segment: _Element) -> None:
        if segment.stop > self._source.size and not segment.is_open:
            self._media.notes.append("cut short: the end of the file is missing")
        cluster_time = 0
        for element in self._within(segment.start, segment.stop):
            if element.kind == _INFO:
                self._read_info(element)
            elif element.kind == _TRACKS:
                for child in self._of(element):
                    if child.kind == _TRACK and len(self._media.streams) < STREAMS_MAX:
                        self._media.streams.append(self._stream(child))
            elif element.kind == _TAGS:
                self._read_tags(element)
            elif element.kind == _CLUSTER and not self._duration:
                inner = () if element.is_open else self._of(element)  # what is in an open one comes as if beside it
                for child in inner:
                    cluster_time = self._note_time(child, cluster_time)
            else:
                cluster_time = self._note_time(element, cluster_time)

    def _note_time(self, element: _Element, cluster_time: int) -> int:
        """The time of the cluster that goes on; the latest block is kept for files that do not tell their duration."""
        if element.kind == _CLUSTER_TIME:
            cluster_time = self._number(element)
        elif element.kind == _SIMPLE_BLOCK:
            self._last = max(self._last, cluster_time + self._block_time(element))
        elif element.kind == _BLOCK_GROUP:
            for child in self._of(element):
                if child.kind == _BLOCK:
                    self._last = max(self._last, cluster_time + self._block_time(child))
        return cluster_time

    def _block_time(self, block: _Element) -> int:
        raw = self._source.read(block.start, block.start + 12)
        _, size = _vint(raw, 0)
        return int.from_bytes(raw[size : size + 2], "big", signed=True)

    def _read_info(self, info: _Element) -> None:
        for child in self._of(info):
            if child.kind == _SCALE:
                self._scale_ns = self._number(child)
            elif child.kind == _DURATION:
                self._duration = self._float(child)
            elif child.kind in (_TITLE, _MUXER):
                self._media.add_tags([("title" if child.kind == _TITLE else "encoder", self._text(child))])

    def _stream(self, track: _Element) -> dict[str, Any]:
        found = {child.kind: child for child in self._of(track)}
        code = self._text(found[_CODEC]) if _CODEC in found else ""
        codec = _CODECS.get(code) or code.partition("_")[2].partition("/")[0].lower() or "unknown"
        kind = _KINDS.get(self._number(found[_TRACK_TYPE]) if _TRACK_TYPE in found else 0, "data")
        inner = found.get({"video": _VIDEO, "audio": _AUDIO}.get(kind, 0))
        sizes = {} if inner is None else {child.kind: child for child in self._of(inner)}
        told: dict[str, Any] = {"kind": kind, "codec": codec}
        if kind == "video":
            frame_ns = self._number(found[_FRAME_NS]) if _FRAME_NS in found else 0
            width, height = (self._number(sizes[each]) if each in sizes else 0 for each in (_WIDTH, _HEIGHT))
            told = video(codec, width, height, 1e9 / frame_ns if frame_ns else 0.0)
        elif kind == "audio":
            rate = self._float(sizes[_RATE]) if _RATE in sizes else 8000.0  # what it is where nothing is said
            rate = OPUS_RATE if codec == "opus" else rate
            told = audio(codec, self._number(sizes[_CHANNELS]) if _CHANNELS in sizes else 1, round(rate))
        if _LANGUAGE in found and (language := self._text(found[_LANGUAGE])) not in ("", "und"):
            told["language"] = language[:20]
        return told

    def _read_tags(self, tags: _Element) -> None:
        """Those of the file as a whole: those of single tracks are mostly statistics."""
        for tag in self._of(tags):
            inside = list(self._of(tag)) if tag.kind == _TAG else []
            targets = [child.kind for each in inside if each.kind == _TARGETS for child in self._of(each)]
            for simple in inside if _TRACK_TARGET not in targets else ():
                if simple.kind == _SIMPLE_TAG:
                    found = {child.kind: self._text(child) for child in self._of(simple)}
                    self._media.add_tags([(found.get(_TAG_NAME, ""), found.get(_TAG_STRING, ""))])

    def _of(self, element: _Element) -> Iterator[_Element]:
        return self._within(element.start, element.stop)

    def _within(self, at: int, stop: int) -> Iterator[_Element]:
        stop = min(stop, self._source.size)
        while at < stop and self._left > 0:
            self._left -= 1
            raw = self._source.read(at, at + 12)
            kind_size = 9 - raw[0].bit_length()
            if kind_size > 4:
                return
            size, size_bytes = _vint(raw, kind_size)
            if not size_bytes:
                return
            start = at + kind_size + size_bytes
            is_open = size == (1 << 7 * size_bytes) - 1
            yield _Element(int.from_bytes(raw[:kind_size], "big"), start, stop if is_open else start + size, is_open)
            at = start if is_open and raw[:4] == b"\x1f\x43\xb6\x75" else stop if is_open else start + size

    def _number(self, element: _Element) -> int:
        return int.from_bytes(self._raw(element)[:8], "big")

    def _float(self, element: _Element) -> float:
        raw = self._raw(element)
        if len(raw) not in (4, 8):
            return 0.0
        value = float(struct.unpack(">f" if len(raw) == 4 else ">d", raw)[0])
        return value if 0 <= value < 1e18 else 0.0

    def _text(self, element: _Element) -> str:
        return self._raw(element).decode("utf-8", "replace").strip("\x00")

    def _raw(self, element: _Element) -> bytes:
        return self._source.read(element.start, min(element.stop, element.start + _VALUE_BYTES_MAX))


def _vint(raw: bytes, at: int) -> tuple[int, int]:
    """A number of variable size, and how many bytes it takes: 0 where there is none."""
    first = raw[at] if at < len(raw) else 0
    size = 9 - first.bit_length()
    if not first or at + size > len(raw):
        return 0, 0
    return int.from_bytes(raw[at : at + size], "big") & ((1 << 7 * size) - 1), size
