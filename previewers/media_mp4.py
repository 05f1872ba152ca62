"""MP4, M4A, MOV and 3GP: boxes of the ISO base media file format (ISO/IEC 14496-12), by their headers alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from blobs.domain.errors import UnreadableError
from blobs.reading.source import Source
from previewers.media_facts import STREAMS_MAX, Media, audio, video

_BOXES_MAX = 20_000
_TABLE_BYTES_MAX = 1 << 20
_ENTRY_BYTES_MAX = 4096
_CODECS = {
    b"avc1": "h264",
    b"avc3": "h264",
    b"hvc1": "hevc",
    b"hev1": "hevc",
    b"av01": "av1",
    b"vp08": "vp8",
    b"vp09": "vp9",
    b"mp4v": "mpeg4",
    b"s263": "h263",
    b"jpeg": "mjpeg",
    b"apch": "prores",
    b"apcn": "prores",
    b"apcs": "prores",
    b"mp4a": "aac",
    b"alac": "alac",
    b"Opus": "opus",
    b"fLaC": "flac",
    b"ac-3": "ac3",
    b"ec-3": "eac3",
    b".mp3": "mp3",
    b"samr": "amr_nb",
    b"sawb": "amr_wb",
    b"sowt": "pcm_s16le",
    b"twos": "pcm_s16be",
    b"tx3g": "mov_text",
    b"wvtt": "webvtt",
    b"c608": "eia_608",
}
_OBJECT_TYPES = {0x69: "mp3", 0x6B: "mp3", 0xA5: "ac3", 0xA9: "dts", 0xDD: "vorbis", 0xAD: "opus"}
"""What `mp4a` may stand for beside AAC (the registry of ISO/IEC 14496-1 object types)."""

_KINDS = {
    b"vide": "video",
    b"soun": "audio",
    b"sbtl": "subtitle",
    b"subt": "subtitle",
    b"text": "subtitle",
    b"clcp": "subtitle",
}


@dataclass(frozen=True, slots=True)
class _Box:
    name: bytes
    start: int
    stop: int


@dataclass(slots=True)
class _Track:
    """What is gathered of a track: how long it is (in `timescale`), and what its samples are."""

    number: int = 0
    kind: str = "data"
    size: tuple[int, int] = (0, 0)
    timescale: int = 0
    duration: int = 0
    samples: int = 0
    entry: bytes = b""


def read_mp4(source: Source) -> Media:
    """The facts of the file; raises `UnreadableError` where there is no description of what it holds."""
    boxes = _Boxes(source)
    media = Media("MP4")
    if source.read(4, 12) == b"ftypqt  " or source.read(4, 8) != b"ftyp":
        media.format = "QuickTime"
    moov = next(boxes.named(b"moov", 0, source.size), None)
    if moov is None:
        raise UnreadableError("The file is cut short or damaged: the description of its streams is missing.")
    if moov.stop > source.size or any(box.stop > source.size for box in boxes.within(0, source.size)):
        media.notes.append("cut short: the end of the file is missing")
    tracks = [boxes.track(trak) for trak in islice(boxes.named(b"trak", moov.start, moov.stop), STREAMS_MAX)]
    timescale, duration = boxes.duration(moov)
    if not duration and boxes.first(b"mvex", moov.start, moov.stop) is not None:
        boxes.add_fragments(moov, {track.number: track for track in tracks})
    media.streams = [_stream(track) for track in tracks]
    longest = max((track.duration / track.timescale for track in tracks if track.timescale), default=0.0)
    media.duration_s = (duration / timescale if timescale and duration else longest) or None
    return media


def _stream(track: _Track) -> dict[str, Any]:
    name, entry = track.entry[:4], track.entry
    codec = _CODECS.get(name) or name.decode("latin-1").strip("\x00 ").lower() or "unknown"
    if track.kind == "video":
        width, height = int.from_bytes(entry[28:30], "big"), int.from_bytes(entry[30:32], "big")
        seconds = track.duration / track.timescale if track.timescale else 0
        rate = track.samples / seconds if seconds else 0.0
        return video(codec, *((width, height) if width and height else track.size), rate)
    if track.kind == "audio":
        channels, rate = int.from_bytes(entry[20:22], "big"), int.from_bytes(entry[28:30], "big") or track.timescale
        if name == b"mp4a":
            object_type, config = _decoder_config(entry)
            codec = _OBJECT_TYPES.get(object_type, codec)
            channels = config[1] >> 3 & 15 if codec == "aac" and len(config) > 1 and config[1] & 0x78 else channels
        return audio(codec, channels, rate)
    return {"kind": track.kind, "codec": codec}


def _decoder_config(entry: bytes) -> tuple[int, bytes]:
    """Object type and decoder's settings in the `esds` box of a sample entry (ISO/IEC 14496-1, 7.2.6).

    It holds descriptors inside of each other: a tag of 3, 4 or 5, a length of 1 to 4 bytes, and 3 or 13 bytes of fields
    before the next. The settings of AAC begin with 5 bits of kind, 4 of sample rate and 4 of channels.
    """
    at, object_type = entry.find(b"esds") + 8, 0
    for tag, fields in ((3, 3), (4, 13), (5, 0)):
        if at < 8 or entry[at : at + 1] != bytes([tag]):
            return object_type, b""
        at += 1
        while entry[at : at + 1] >= b"\x80":
            at += 1
        at += 1
        object_type = entry[at] if tag == 4 and at < len(entry) else object_type
        at += fields
    return object_type, entry[at : at + 2]


class _Boxes:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._left = _BOXES_MAX

    def within(self, at: int, stop: int) -> Iterator[_Box]:
        """The boxes of a stretch; the last one may reach past the end of the file."""
        while at + 8 <= min(stop, self._source.size) and self._left > 0:
            self._left -= 1
            raw = self._source.read(at, at + 16)
            size, start = int.from_bytes(raw[:4], "big"), at + 8
            if size == 1:
                size, start = int.from_bytes(raw[8:16], "big"), at + 16
            elif size == 0:
                size = stop - at
            if size < start - at:
                return
            yield _Box(raw[4:8], start, at + size)
            at += size

    def named(self, name: bytes, at: int, stop: int) -> Iterator[_Box]:
        """Those of a name."""
        return (box for box in self.within(at, stop) if box.name == name)

    def first(self, path: bytes, at: int, stop: int) -> _Box | None:
        """The first box at a path of names with slashes between them."""
        name, _, rest = path.partition(b"/")
        for box in self.named(name, at, stop):
            return self.first(rest, box.start, box.stop) if rest else box
        return None

    def duration(self, moov: _Box) -> tuple[int, int]:
        """Units a second, and the length in these; of a fragmented file that of its fragments, if it is told."""
        header = self.first(b"mvhd", moov.start, moov.stop)
        timescale, duration = self._times(header)
        fragments = self.first(b"mvex/mehd", moov.start, moov.stop)
        if not duration and fragments is not None:
            raw = self._head(fragments, 12)
            duration = int.from_bytes(raw[4:12] if raw[:1] == b"\x01" else raw[4:8], "big")
        return timescale, duration

    def track(self, trak: _Box) -> _Track:
        """What the boxes of a track say."""
        track = _Track()
        handler = self.first(b"mdia/hdlr", trak.start, trak.stop)
        if handler is not None:
            track.kind = _KINDS.get(self._head(handler, 12)[8:12], "data")
        header = self.first(b"tkhd", trak.start, trak.stop)
        if header is not None:
            raw = self._head(header, header.stop - header.start)
            track.number = int.from_bytes(raw[20:24] if raw[:1] == b"\x01" else raw[12:16], "big")
            size = raw[-8:]
            track.size = int.from_bytes(size[:2], "big"), int.from_bytes(size[4:6], "big")
        track.timescale, track.duration = self._times(self.first(b"mdia/mdhd", trak.start, trak.stop))
        table = self.first(b"mdia/minf/stbl", trak.start, trak.stop)
        if table is None:
            return track
        described = self.first(b"stsd", table.start, table.stop)
        if described is not None:
            track.entry = self._head(described, 8 + _ENTRY_BYTES_MAX)[12:]
        times = self.first(b"stts", table.start, table.stop)
        if times is not None:
            raw = self._head(times, _TABLE_BYTES_MAX)[8:]
            track.samples = sum(int.from_bytes(raw[at : at + 4], "big") for at in range(0, len(raw) - 7, 8))
        return track

    def add_fragments(self, moov: _Box, tracks: dict[int, _Track]) -> None:
        """Add up what the fragments hold: each says how many samples a track has in it, and how long they are."""
        usual = {}
        for box in self.within(moov.start, moov.stop):
            for trex in self.named(b"trex", box.start, box.stop) if box.name == b"mvex" else ():
                raw = self._head(trex, 16)
                usual[int.from_bytes(raw[4:8], "big")] = int.from_bytes(raw[12:16], "big")
        for moof in self.named(b"moof", 0, self._source.size):
            for traf in self.named(b"traf", moof.start, moof.stop):
                header = self.first(b"tfhd", traf.start, traf.stop)
                raw = b"" if header is None else self._head(header, 28)
                track = tracks.get(int.from_bytes(raw[4:8], "big"))
                if track is None:
                    continue
                flags = int.from_bytes(raw[1:4], "big")
                at = 8 + 8 * bool(flags & 1) + 4 * bool(flags & 2)
                each = int.from_bytes(raw[at : at + 4], "big") if flags & 8 else usual.get(track.number, 0)
                for run in self.named(b"trun", traf.start, traf.stop):
                    self._add_run(track, run, each)

    def _add_run(self, track: _Track, run: _Box, usual: int) -> None:
        raw = self._head(run, _TABLE_BYTES_MAX)
        flags, samples = int.from_bytes(raw[1:4], "big"), int.from_bytes(raw[4:8], "big")
        track.samples += samples
        if not flags & 0x100:
            track.duration += samples * usual
            return
        first = 8 + 4 * bool(flags & 1) + 4 * bool(flags & 4)
        width = 4 * (flags >> 8 & 15).bit_count()
        track.duration += sum(int.from_bytes(raw[at : at + 4], "big") for at in range(first, len(raw) - 3, width))

    def _times(self, header: _Box | None) -> tuple[int, int]:
        """Units a second and the duration in a header of a movie or a track, which begin alike."""
        raw = b"" if header is None else self._head(header, 36)
        if raw[:1] == b"\x01":
            timescale, duration, unknown = raw[20:24], raw[24:32], (1 << 64) - 1
        else:
            timescale, duration, unknown = raw[12:16], raw[16:20], (1 << 32) - 1
        told = int.from_bytes(duration, "big")
        return int.from_bytes(timescale, "big"), 0 if told == unknown else told

    def _head(self, box: _Box, size: int) -> bytes:
        return self._source.read(box.start, min(box.stop, box.start + size, box.start + _TABLE_BYTES_MAX))
