"""WAV and AVI: chunks of a RIFF file, by their headers alone.

Fields are those of the Multimedia Programming Interface and Data Specifications 1.0 and, for files over 4 GiB, of
EBU Tech 3306 (RF64).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from blobs.domain.errors import UnreadableError
from blobs.reading.source import Source
from previewers.media_facts import STREAMS_MAX, Media, audio, video

_CHUNKS_MAX = 10_000
_LIST_BYTES_MAX = 1 << 20
_UNKNOWN_SIZE = 0xFFFF_FFFF
_EXTENSIBLE = 0xFFFE
_AUDIO_CODECS = {
    0x0002: "adpcm_ms",
    0x0006: "pcm_alaw",
    0x0007: "pcm_mulaw",
    0x0011: "adpcm_ima_wav",
    0x0031: "gsm_ms",
    0x0050: "mp2",
    0x0055: "mp3",
    0x00FF: "aac",
    0x0161: "wmav2",
    0x1610: "aac",
    0x2000: "ac3",
    0x2001: "dts",
    0x674F: "vorbis",
    0xF1AC: "flac",
}
_VIDEO_CODECS = {
    b"XVID": "mpeg4",
    b"DIVX": "mpeg4",
    b"DX50": "mpeg4",
    b"FMP4": "mpeg4",
    b"MP4V": "mpeg4",
    b"H264": "h264",
    b"X264": "h264",
    b"AVC1": "h264",
    b"HEVC": "hevc",
    b"MJPG": "mjpeg",
    b"VP80": "vp8",
    b"VP90": "vp9",
    b"AV01": "av1",
    b"DIV3": "msmpeg4v3",
    b"MP43": "msmpeg4v3",
    b"CVID": "cinepak",
    b"FFV1": "ffv1",
    b"\x00\x00\x00\x00": "rawvideo",
}
_INFO_TAGS = {
    b"INAM": "title",
    b"IART": "artist",
    b"IPRD": "album",
    b"ICRD": "date",
    b"IGNR": "genre",
    b"ICMT": "comment",
    b"ITRK": "track",
    b"ICOP": "copyright",
    b"ISFT": "encoder",
}


@dataclass(frozen=True, slots=True)
class _Chunk:
    name: bytes
    start: int
    size: int

    @property
    def stop(self) -> int:
        return self.start + self.size


def read_riff(source: Source) -> Media:
    """The facts of a WAV or AVI file; raises `UnreadableError` where its header says nothing."""
    head = source.read(0, 12)
    riff = _Riff(source, "big" if head[:4] == b"RIFX" else "little")
    return riff.wav() if head[8:12] == b"WAVE" else riff.avi()


class _Riff:
    def __init__(self, source: Source, order: str) -> None:
        self._source = source
        self._is_big = order == "big"
        self._long_sizes: dict[bytes, int] = {}

    def wav(self) -> Media:
        """Samples are counted by the size of the data: by what is there of it, where that is less."""
        media = Media("WAV")
        found: dict[bytes, _Chunk] = {}
        for chunk in self._chunks(12, self._source.size):
            found.setdefault(chunk.name, chunk)
            if chunk.name == b"ds64":
                self._long_sizes[b"data"] = self._number(self._head(chunk, 24), 8, 8)
            elif chunk.name == b"LIST":
                self._add_info(media, chunk)
        form = self._head(found[b"fmt "], 40) if b"fmt " in found else b""
        if len(form) < 16:
            raise UnreadableError("The WAV file is damaged or cut short: it has no format.")
        codec, channels, sample_rate, *_ = self._wave_format(form)
        media.streams.append(audio(codec, channels, sample_rate))
        if b"data" not in found:
            media.notes.append("cut short: it has no samples")
            return media
        data = found[b"data"]
        held = min(data.size, max(0, self._source.size - data.start))
        if held < data.size and data.size != _UNKNOWN_SIZE:
            media.notes.append(f"cut short: {held} of {data.size} bytes of samples are there")
        counted = self._head(found[b"fact"], 4) if b"fact" in found and held == data.size else b""
        media.duration_s = self._wav_duration(form, held, self._number(counted, 0, 4))
        return media

    def _wav_duration(self, form: bytes, held: int, counted: int) -> float | None:
        """By the size of plain samples; of packed ones by their number, if the file tells it, else by the bit rate."""
        codec, _, sample_rate, bytes_a_second, block = self._wave_format(form)
        if codec.startswith("pcm") and block and sample_rate:
            return held // block / sample_rate
        if counted and sample_rate:
            return counted / sample_rate
        return held / bytes_a_second if bytes_a_second else None

    def avi(self) -> Media:
        """Streams by their headers; the duration is that of the longest."""
        media = Media("AVI")
        lasts: list[float] = []
        for chunk in self._chunks(12, self._source.size):
            kind = self._source.read(chunk.start, chunk.start + 4) if chunk.name == b"LIST" else b""
            if kind == b"hdrl":
                for inner in self._chunks(chunk.start + 4, chunk.stop):
                    if inner.name == b"LIST" and self._source.read(inner.start, inner.start + 4) == b"strl":
                        self._add_stream(media, inner, lasts)
            elif kind == b"INFO":
                self._add_info(media, chunk)
            elif kind == b"movi" and chunk.stop > self._source.size:
                media.notes.append("cut short: the end of the file is missing")
        if not media.streams:
            raise UnreadableError("The AVI file is damaged or cut short: it has no streams.")
        media.duration_s = max(lasts, default=None)
        return media

    def _add_stream(self, media: Media, strl: _Chunk, lasts: list[float]) -> None:
        head, form = b"", b""
        for chunk in self._chunks(strl.start + 4, strl.stop):
            if chunk.name == b"strh":
                head = self._head(chunk, 56)
            elif chunk.name == b"strf":
                form = self._head(chunk, 40)
        if len(head) < 36 or len(media.streams) >= STREAMS_MAX:
            return
        scale, rate, length = (self._number(head, at, 4) for at in (20, 24, 32))
        kind = head[:4]
        if kind == b"vids" and len(form) >= 20:
            width, height = self._number(form, 4, 4), abs(int.from_bytes(form[8:12], "little", signed=True))
            codec = _VIDEO_CODECS.get(form[16:20].upper()) or form[16:20].decode("latin-1").strip("\x00 ").lower()
            media.streams.append(video(codec, width, height, rate / scale if scale else 0.0))
        elif kind == b"auds" and len(form) >= 16:
            codec, channels, sample_rate, *_ = self._wave_format(form)
            media.streams.append(audio(codec, channels, sample_rate))
        else:
            media.streams.append({"kind": "subtitle" if kind == b"txts" else "data"})
        if rate and scale and length:
            lasts.append(length * scale / rate)

    def _wave_format(self, form: bytes) -> tuple[str, int, int, int, int]:
        """Codec, channels, samples and bytes a second, bytes of a block (WAVEFORMATEX)."""
        tag, channels = self._number(form, 0, 2), self._number(form, 2, 2)
        sample_rate, bytes_a_second = self._number(form, 4, 4), self._number(form, 8, 4)
        block, bits = self._number(form, 12, 2), self._number(form, 14, 2)
        if tag == _EXTENSIBLE and len(form) >= 26:
            tag = self._number(form, 24, 2)  # the sub-format begins with the tag that it stands for
        end = "be" if self._is_big else "le"
        if tag == 1:
            codec = "pcm_u8" if bits <= 8 else f"pcm_s{bits}{end}"
        elif tag == 3:
            codec = f"pcm_f{bits}{end}"
        else:
            codec = _AUDIO_CODECS.get(tag, f"0x{tag:04x}")
        return codec, channels, sample_rate, bytes_a_second, block

    def _add_info(self, media: Media, chunk: _Chunk) -> None:
        if chunk.size > _LIST_BYTES_MAX or self._source.read(chunk.start, chunk.start + 4) != b"INFO":
            return
        for inner in self._chunks(chunk.start + 4, chunk.stop):
            if inner.name in _INFO_TAGS:
                raw = self._head(inner, 1024).split(b"\x00", 1)[0]
                media.add_tags([(_INFO_TAGS[inner.name], _text(raw))])

    def _chunks(self, at: int, stop: int) -> Iterator[_Chunk]:
        """The chunks of a stretch, each on an even place; the last one may reach past the end."""
        for _ in range(_CHUNKS_MAX):
            raw = self._source.read(at, at + 8)
            if at + 8 > stop or len(raw) < 8:
                return
            name, size = raw[:4], self._number(raw, 4, 4)
            if size == _UNKNOWN_SIZE and name in self._long_sizes:
                size = self._long_sizes[name]
            yield _Chunk(name, at + 8, size)
            at += 8 + size + size % 2

    def _head(self, chunk: _Chunk, size: int) -> bytes:
        return self._source.read(chunk.start, min(chunk.start + size, chunk.stop))

    def _number(self, raw: bytes, at: int, size: int) -> int:
        return int.from_bytes(raw[at : at + size], "big" if self._is_big else "little")


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")
