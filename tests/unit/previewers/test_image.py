"""Images: size as shown, frames and EXIF, from the headers alone."""

import io
import struct
import zlib

import pytest
from PIL import Image

from blobs.domain.errors import UnreadableError
from blobs.reading.source import BytesSource
from blobs.testing.readers import Example, ReaderContract
from previewers.image import ImageReader, ImageView, webp_size
from tests.material import fixture, truth


def opened(content: bytes) -> ImageView:
    return ImageReader().open(BytesSource(content))


def saved(kind: str, size: tuple[int, int] = (30, 20)) -> bytes:
    sink = io.BytesIO()
    Image.new("RGB", size, "teal").save(sink, kind)
    return sink.getvalue()


class TestImageReader(ReaderContract):
    reader = ImageReader()
    examples = {
        "png": Example(fixture("halves.png"), "image/png", None),
        "jpeg": Example(fixture("turned.jpg"), "image/jpeg", None),
        "gif": Example(fixture("three-frames.gif"), "image/gif", None),
        "webp": Example(fixture("halves.webp"), "image/webp", None),
        "bmp": Example(fixture("halves.bmp"), "image/bmp", None),
        "tiff": Example(fixture("halves.tiff"), "image/tiff", None),
        "ico": Example(fixture("icon.ico"), "image/x-icon", None),
        "avif": Example(saved("AVIF"), "image/avif", None),
        "jpeg 2000": Example(saved("JPEG2000"), "image/jp2", None),
    }


@pytest.mark.parametrize(
    "file", ["halves.png", "turned.jpg", "halves.webp", "halves.bmp", "halves.tiff", "icon.ico", "three-frames.gif"]
)
def test_size_and_frames(file):
    """Width and height are those shown, frames those of an animation."""
    facts, known = opened(fixture(file)).facts(), truth(file)
    assert [facts["width"], facts["height"], facts["frames"]] == [known["width"], known["height"], known["frames"]]


def test_orientation_is_applied_and_said():
    """A picture stored on its side is told upright, with how it is stored."""
    view = opened(fixture("turned.jpg"))
    assert view.facts()["exif"] == {"make": "Maker", "date": "2024:02:28 10:00:00"}
    assert view.notes == ["stored as 60x40 with orientation 6; told here as shown upright"]


def test_huge_images_are_told_and_not_decoded():
    """A bomb of 3,600 megapixels is reported by its size."""
    view = opened(fixture("huge.png"))
    assert view.facts()["width"] == view.facts()["height"] == 60_000
    assert any("3600000000 pixels" in note for note in view.notes)


def test_limit_of_pillow_is_put_back():
    """Opening a huge header leaves Pillow's own limit as it was, whatever happens."""
    limit = Image.MAX_IMAGE_PIXELS
    opened(fixture("huge.png"))
    with pytest.raises(UnreadableError):
        opened(b"\x89PNG\r\n\x1a\n broken")
    assert limit == Image.MAX_IMAGE_PIXELS


def test_png_is_never_decoded(monkeypatch):
    """The EXIF of a PNG is read from its header: asking Pillow for it would decode the picture."""

    def refuse(_: object) -> None:
        raise AssertionError("decodes")

    monkeypatch.setattr(Image.Image, "getexif", refuse)
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", refuse)
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 8, "Maker"
    sink = io.BytesIO()
    monkeypatch.undo()
    Image.new("RGB", (30, 20)).save(sink, "PNG", exif=exif)
    monkeypatch.setattr(Image.Image, "getexif", refuse)
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", refuse)
    facts = opened(sink.getvalue()).facts()
    assert (facts["width"], facts["height"], facts["exif"]) == (20, 30, {"make": "Maker"})


def test_cut_short_is_noted():
    """A picture whose end is missing keeps its size and is told to be cut short."""
    view = opened(fixture("cut.png"))
    assert view.facts()["width"] == 60
    assert view.notes == ["cut short: the end of the image data is missing"]


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0", b"GIF89a", b"II*\x00" + bytes(20)])
def test_broken_images_are_unreadable(content):
    """Nothing and headers without a picture are unreadable."""
    with pytest.raises(UnreadableError):
        opened(content)


@pytest.mark.parametrize(
    "options", [{"lossless": True}, {"lossless": False}, {"exif": b"Exif\x00\x00II*\x00\x08\x00\x00\x00\x00\x00"}]
)
def test_webp_headers_tell_the_size(options):
    """Each kind of WebP header (lossy, lossless, extended) gives the size that the picture was saved with."""
    sink = io.BytesIO()
    Image.new("RGB", (300, 200), "teal").save(sink, "WEBP", **options)
    assert webp_size(sink.getvalue()[:30]) == (300, 200)


def test_huge_webp_is_told_and_not_opened():
    """A WebP that claims 268 megapixels is told by its header; to open it takes two gigabytes."""
    side = (16_382).to_bytes(3, "little")
    chunk = b"VP8X" + (10).to_bytes(4, "little") + bytes(4) + side + side
    view = opened(b"RIFF" + (4 + len(chunk)).to_bytes(4, "little") + b"WEBP" + chunk)
    assert view.facts() == {"width": 16_383, "height": 16_383, "format": "WEBP"}
    assert "268402689 pixels" in view.notes[0]


def test_headers_are_told_of_damaged_images():
    """Where the rest of a PNG or an icon is damaged or a bomb, its header still says how large it is."""
    text = zlib.compress(bytes(80_000_000))
    bomb = fixture("halves.png")[:33] + chunk(b"zTXt", b"note\0\0" + text) + fixture("halves.png")[33:]
    view = opened(bomb)
    assert (view.facts()["width"], view.facts()["height"]) == (60, 40)
    assert "damaged or not supported behind its header" in view.notes
    icon = b"\0\0\1\0\2\0" + bytes([32, 48, 0, 0, 1, 0, 32, 0]) + struct.pack("<II", 40, 38)
    view = opened(icon + bytes([16, 0, 0, 0, 1, 0, 32, 0]) + struct.pack("<II", 40, 38) + b"(\0\0\0" + bytes(36))
    assert view.facts() == {"width": 32, "height": 48, "format": "ICO", "frames": 1}


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
