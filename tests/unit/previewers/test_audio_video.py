"""Audio and video: duration, streams and tags by the headers; no items, and a refusal that says what is known."""

import io
import struct
import wave

import pytest

from blobs.domain.errors import UnreadableError
from blobs.reading.source import BytesSource
from blobs.testing.readers import Example, ReaderContract
from previewers.audio_video import AudioVideoReader, AudioVideoView
from tests.material import fixture, truth

WAV = "audio/wav"


def chunk(name: bytes, content: bytes, order: str = "<") -> bytes:
    return name + struct.pack(order + "I", len(content)) + content + b"\x00" * (len(content) % 2)


def riff(form: bytes, *chunks: bytes, name: bytes = b"RIFF", order: str = "<") -> bytes:
    content = form + b"".join(chunks)
    return name + struct.pack(order + "I", len(content)) + content


def plain_wav(frames: int = 4000) -> bytes:
    sink = io.BytesIO()
    with wave.open(sink, "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(4 * frames))
    return sink.getvalue()


def opened(content: bytes) -> AudioVideoView:
    return AudioVideoReader().open(BytesSource(content))


class TestAudioVideoReader(ReaderContract):
    reader = AudioVideoReader()
    examples = {"wav": Example(plain_wav(), WAV, None)}


def test_the_wav_fixture_is_as_known():
    """What is known of it from how it was made comes out."""
    facts, known = opened(fixture("silence.wav")).facts(), truth("silence.wav")
    assert facts["duration_s"] == known["duration_s"]
    (stream,) = facts["streams"]
    assert (stream["channels"], stream["sample_rate"]) == (known["channels"], known["sample_rate"])
    assert (facts["format"], stream["kind"], stream["codec"]) == ("WAV", "audio", "pcm_s16le")


def test_other_wavs():
    """Big-endian files, the long header, tags, packed samples, sizes over 4 GiB and sizes never written."""
    big = riff(
        b"WAVE",
        chunk(b"fmt ", struct.pack(">HHIIHH", 1, 1, 1000, 2000, 2, 16), ">"),
        chunk(b"data", bytes(500), ">"),
        name=b"RIFX",
        order=">",
    )
    assert opened(big).facts() == {
        "format": "WAV",
        "duration_s": 0.25,
        "streams": [{"kind": "audio", "codec": "pcm_s16be", "channels": 1, "sample_rate": 1000}],
    }
    form = struct.pack("<HHIIHHHHIH14s", 0xFFFE, 6, 48000, 48000 * 18, 18, 24, 22, 24, 63, 1, bytes(14))
    info = chunk(b"LIST", b"INFO" + chunk(b"INAM", b"A title\x00") + chunk(b"IART", "Björk".encode("latin-1")))
    surround = opened(riff(b"WAVE", chunk(b"fmt ", form), info, chunk(b"data", bytes(18 * 4800)))).facts()
    assert surround["duration_s"] == 0.1
    assert surround["streams"][0]["codec"] == "pcm_s24le"
    assert surround["tags"] == {"title": "A title", "artist": "Björk"}
    packed = struct.pack("<HHIIHH", 0x11, 1, 8000, 4055, 256, 4)
    adpcm = riff(b"WAVE", chunk(b"fmt ", packed), chunk(b"fact", struct.pack("<I", 16000)), chunk(b"data", bytes(8110)))
    assert opened(adpcm).facts()["duration_s"] == 2.0
    streamed = plain_wav()
    streamed = streamed[:40] + b"\xff\xff\xff\xff" + streamed[44:]
    view = opened(streamed)
    assert (view.facts()["duration_s"], view.notes) == (0.5, [])


def test_a_cut_wav_is_as_long_as_what_is_there():
    """The samples that are missing are not counted, and a note says so; without a format it is unreadable."""
    view = opened(plain_wav()[: 44 + 8000])
    assert view.facts()["duration_s"] == 0.25
    assert view.notes == ["cut short: 8000 of 16000 bytes of samples are there"]
    with pytest.raises(UnreadableError, match="cut short"):
        opened(plain_wav()[:20])
