"""Audio and video: duration, streams and tags by the headers; no items, and a refusal that says what is known."""

import io
import struct
import wave

import pytest

from blobs.domain.errors import UnreadableError
from blobs.reading.opening import take_sample
from blobs.reading.registry import Registry
from blobs.reading.source import BytesSource
from blobs.testing.readers import Example, ReaderContract
from previewers.audio_video import AudioVideoReader, AudioVideoView
from tests.material import fixture, manifest, truth


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


RECORDINGS = sorted(file for file in manifest() if file.startswith(("silence.", "clip.")))


class TestAudioVideoReader(ReaderContract):
    reader = AudioVideoReader()
    examples = {file: Example(fixture(file), manifest()[file]["type"], None) for file in RECORDINGS}


@pytest.mark.parametrize("file", RECORDINGS)
def test_the_fixtures_are_as_known(file):
    """Duration, streams and tags are those that the files were made with."""
    facts, known = opened(fixture(file)).facts(), truth(file)
    assert facts["duration_s"] == known["duration_s"]
    assert facts["streams"] == known["streams"]
    assert facts.get("tags", {}) == known.get("tags", {})


@pytest.mark.parametrize("file", RECORDINGS)
def test_known_by_their_bytes(file):
    """No name and no declared type is needed, and a wrong one does no harm."""
    for declared in (None, "text/plain", "application/json", "image/png"):
        choice = Registry().choose(take_sample(BytesSource(fixture(file)), declared))[0]
        assert (choice.plug_in.name, choice.type) == ("audio-video", manifest()[file]["type"])


def test_what_only_looks_like_sound_is_not():
    """UTF-16 begins like a frame of MP3, pictures are in MP4 boxes too, and words can begin with a signature."""
    for content in (
        "\ufeffwords of text".encode("utf-16-le"),
        b"\xff\xfb\x90\x04" + b"no frame follows" * 99,
        b"\0\0\0\x1cftypheic" + bytes(99),
        b"OggThis is text",
        b"ID3 is a kind of tag",
        b"RIFF of a guitar",
        b"FORM and content",
    ):
        assert AudioVideoReader().sniff(take_sample(BytesSource(content), None)).level == 0


def test_mp3_without_tags():
    """Frames alone are enough; tags alone are no sound, and that is said."""
    content = fixture("silence.mp3")
    start = content.find(b"\xff\xfb")
    assert opened(content[start:]).facts()["streams"] == truth("silence.mp3")["streams"]
    view = opened(content[:start])
    assert view.facts()["streams"] == []
    assert view.facts()["tags"]["title"] == "Silence"
    assert any("no sound" in note for note in view.notes)


def test_mp4_with_its_description_at_the_end():
    """As cameras write it: behind the samples, whose size may take 64 bits."""
    content = fixture("clip.mp4")
    moov, mdat = content.find(b"moov") - 4, content.find(b"mdat") - 4
    long = struct.pack(">I4sQ", 1, b"mdat", 16 + 64) + bytes(64)
    assert opened(content[:moov] + long + content[moov:mdat]).facts() == opened(content).facts()
    with pytest.raises(UnreadableError, match="description of its streams is missing"):
        opened(content[:moov] + long)
    assert "cut short: the end of the file is missing" in opened(content[:-9]).notes


def test_mp4_in_fragments():
    """Where the header tells no duration, it is that of the fragments: their samples, as long as each says or all."""

    def box(name: bytes, *parts: bytes) -> bytes:
        return struct.pack(">I", 8 + sum(map(len, parts))) + name + b"".join(parts)

    content = fixture("clip.mov").replace(struct.pack(">II", 1000, 2000), struct.pack(">II", 1000, 0))
    content = content.replace(struct.pack(">II", 12800, 25600), struct.pack(">II", 12800, 0))
    moov = content.find(b"moov") - 4
    mdat = content.find(b"mdat") - 4
    usual = box(b"mvex", box(b"trex", struct.pack(">IIIIII", 0, 1, 1, 512, 0, 0)))
    moov_box = box(b"moov", content[moov + 8 : mdat], usual)
    plain = box(b"moof", box(b"traf", box(b"tfhd", struct.pack(">II", 0, 1)), box(b"trun", struct.pack(">II", 0, 25))))
    told = struct.pack(">IIIIII", 0x301, 2, 99, 6400, 10, 6400) + struct.pack(">I", 10)
    single = box(b"moof", box(b"traf", box(b"tfhd", struct.pack(">II", 0, 1)), box(b"trun", told)))
    assert opened(content[:moov] + moov_box + plain + single).facts()["duration_s"] == 2.0


def test_webm_that_was_recorded_live():
    """Sizes and the duration were not known when it was written: the latest block says how long it is."""
    content = fixture("clip.webm")
    content = content.replace(b"\x44\x89\x10\0\0\x08" + struct.pack(">d", 2000.0), b"\xec\x10\0\0\x0a" + bytes(9))
    segment, cluster = content.find(bytes.fromhex("18538067")), content.find(bytes.fromhex("1f43b675"))
    stop = content.find(bytes.fromhex("1254c367"))
    unknown = b"\x01" + b"\xff" * 7
    block = b"\xa3\x88\x81\x01\xf4\x80" + bytes(4)
    later = bytes.fromhex("1f43b675") + unknown + b"\xe7\x82\x07\xd0" + block
    live = content[: segment + 4] + unknown + content[segment + 8 : cluster + 4] + unknown + content[cluster + 8 : stop]
    facts = opened(live + later).facts()
    assert facts["duration_s"] == 2.5
    assert facts["streams"] == truth("clip.webm")["streams"]


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


def test_reading_is_refused_with_what_is_known(chat):
    """There are no items: the refusal says type, duration and streams, and which calls work."""
    handle = chat.attach(fixture("clip.mp4"))
    assert handle["type"] == "video/mp4"
    assert "items" not in handle
    assert handle["preview"]["facts"]["duration_s"] == 2.0
    assert [stream["codec"] for stream in handle["preview"]["facts"]["streams"]] == ["h264", "aac"]
    refused = chat.call("blob_read", {"blob": "blob1"})
    assert not refused["ok"]
    for known in ("blob1 is video/mp4", "duration_s 2.0", '"width":64', "blob_code", '"bytes"'):
        assert known in refused["message"]
    head = chat.call("blob_read", {"blob": "blob1", "unit": "bytes", "start": 4, "count": 4})["data"]
    assert head["items"] == [b"ftyp".hex()]
    assert not chat.call("blob_code", {"blob": "blob1", "language": "sql", "code": "select 1 from blob1"})["ok"]
