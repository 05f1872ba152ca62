"""Images: pixel size as shown, frames and a few EXIF fields, from the headers alone; nothing is decoded."""

import logging
import re
import threading
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from blobs.domain.errors import UnreadableError
from blobs.reading.base_view import BaseView
from blobs.reading.reader import Confidence, Sample
from blobs.reading.source import Source
from previewers.parsing import parsing

if TYPE_CHECKING:
    from PIL import Image

_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP", "ICO", "AVIF", "JPEG2000", "PSD")
_TYPES = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "GIF": "image/gif",
    "WEBP": "image/webp",
    "TIFF": "image/tiff",
    "BMP": "image/bmp",
    "ICO": "image/x-icon",
    "AVIF": "image/avif",
    "JPEG2000": "image/jp2",
    "PSD": "image/vnd.adobe.photoshop",
}
_SIGNATURES = (
    (0, b"\x89PNG\r\n\x1a\n", "PNG"),
    (0, b"\xff\xd8\xff", "JPEG"),
    (0, b"GIF87a", "GIF"),
    (0, b"GIF89a", "GIF"),
    (0, b"II*\x00", "TIFF"),
    (0, b"MM\x00*", "TIFF"),
    (0, b"II+\x00", "TIFF"),
    (0, b"MM\x00+", "TIFF"),
    (4, b"ftypavif", "AVIF"),
    (4, b"ftypavis", "AVIF"),
    (0, b"\x00\x00\x00\x0cjP  \r\n\x87\n", "JPEG2000"),
    (0, b"\xff\x4f\xff\x51\x00", "JPEG2000"),
    (0, b"8BPS\x00\x01", "PSD"),
)
_BITMAP_HEADER_SIZES = frozenset({12, 40, 52, 56, 64, 108, 124})
_PIXELS_MAX = 178_956_970
"""Over this an image is called out as too large to decode: Pillow's own limit for a decompression bomb."""

_HEADER_BYTES = 6 + 16 * 256
_WEBP_HEAD_BYTES = 30
_WEBP_PIXELS_MAX = 24_000_000
"""Two canvases of four bytes a pixel: 192 MB, well inside of a cell."""

_ORIENTATION = 0x0112
_XMP_ORIENTATION = re.compile(rb"tiff:Orientation(?:=[\"']|>)([1-8])\b")
_TURNED = frozenset({5, 6, 7, 8})
_EXIF_FIELDS = {0x010E: "description", 0x010F: "make", 0x0110: "model", 0x0131: "software", 0x0132: "date"}
_EXIF_CHARS_MAX = 100
_END_MARKS = {"PNG": b"IEND", "JPEG": b"\xff\xd9", "GIF": b"\x3b"}
_TAIL_BYTES = 64 * 1024

_pixel_limit = threading.Lock()


class ImageReader:
    """Raster images."""

    name = "image"
    media_types = tuple(_TYPES.values())
    aliases = ("image/jpg", "image/pjpeg", "image/x-png", "image/vnd.microsoft.icon", "image/x-ms-bmp", "image/x-bmp")

    def sniff(self, sample: Sample) -> Confidence:
        """By signature; BMP and ICO have short ones, so their headers must make sense as well."""
        head = sample.head
        for offset, signature, kind in _SIGNATURES:
            if head[offset : offset + len(signature)] == signature:
                return Confidence(100, _TYPES[kind])
        if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
            return Confidence(100, _TYPES["WEBP"])
        if head[:2] == b"BM" and int.from_bytes(head[14:18], "little") in _BITMAP_HEADER_SIZES:
            return Confidence(90, _TYPES["BMP"])
        icons = int.from_bytes(head[4:6], "little")
        if head[:4] == b"\x00\x00\x01\x00" and 0 < icons <= 256 and len(head) >= 22 and head[9] == 0:
            return Confidence(80, _TYPES["ICO"])
        return Confidence.NO

    def open(self, source: Source) -> "ImageView":
        """What the headers say; raises `UnreadableError` where they are no image's."""
        return ImageView(source)


class ImageView(BaseView):
    """An image: no items."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        logging.getLogger("PIL").setLevel(logging.CRITICAL)  # it reports what it skips; damage is told in notes
        if source.size == 0:
            raise UnreadableError("The image is empty: 0 bytes.")
        self._facts: dict[str, Any] = {}
        self._kind = ""
        if self._is_huge_webp(source.read(0, _WEBP_HEAD_BYTES)):
            return
        try:
            self._decode(source)
        except UnreadableError:
            if not self._read_header(source.read(0, _HEADER_BYTES)):
                raise
        self._check_end(source)

    def facts(self) -> dict[str, Any]:
        """Width and height in pixels as shown (turned upright), format, mode, frames, and EXIF fields if any."""
        return self._facts

    def _is_huge_webp(self, head: bytes) -> bool:
        """Tell the size of a huge WebP from its header: Pillow asks for two canvases of all pixels just to open it."""
        size = webp_size(head)
        if size is None or size[0] * size[1] <= _WEBP_PIXELS_MAX:
            return False
        self._facts = {"width": size[0], "height": size[1], "format": "WEBP"}
        self.notes.append(f"very large: {size[0] * size[1]} pixels; not decoded, frames and orientation not looked at")
        return True

    def _decode(self, source: Source) -> None:
        from PIL import Image  # heavy: only once a file is opened

        with parsing("image"), source.open() as file, _no_pixel_limit(), Image.open(file, formats=_FORMATS) as image:
            self._read(image)

    def _read_header(self, head: bytes) -> bool:
        """Tell what the first bytes say of an image whose rest is damaged or a bomb, if they say anything."""
        found = png_size(head) or icon_size(head)
        if found is None:
            return False
        self._kind, width, height, frames = found
        self._facts = {"width": width, "height": height, "format": self._kind, "frames": frames}
        self.notes.append("damaged or not supported behind its header")
        return True

    def _read(self, image: "Image.Image") -> None:
        width, height = image.size
        if width <= 0 or height <= 0:
            raise UnreadableError(f"The image has no pixels: {width}x{height}.")
        exif = _exif(image)
        orientation = exif.get(_ORIENTATION) or _xmp_orientation(image)
        if orientation in _TURNED:
            width, height = height, width
        if isinstance(orientation, int) and 2 <= orientation <= 8:
            stored = f"{image.size[0]}x{image.size[1]}"
            self.notes.append(f"stored as {stored} with orientation {orientation}; told here as shown upright")
        self._kind = "JPEG" if image.format == "MPO" else str(image.format)
        self._facts = {"width": width, "height": height, "format": self._kind, "mode": image.mode}
        self._facts["frames"] = self._frames(image)
        fields = {name: _told(exif.get(tag)) for tag, name in _EXIF_FIELDS.items()}
        if told := {name: value for name, value in fields.items() if value}:
            self._facts["exif"] = told
        if width * height > _PIXELS_MAX:
            self.notes.append(f"very large: {width * height} pixels; not decoded")

    def _frames(self, image: "Image.Image") -> int:
        """How many frames there are; those before a damaged place where there is one."""
        try:
            return max(1, int(getattr(image, "n_frames", 1)))
        except Exception:  # noqa: BLE001  # the headers are good; Pillow may raise anything over a damaged later frame
            self.notes.append("damaged: the frames after the first cannot be counted")
            return 1

    def _check_end(self, source: Source) -> None:
        mark = _END_MARKS.get(self._kind)
        if mark is not None and mark not in source.read(max(0, source.size - _TAIL_BYTES), source.size):
            self._facts["truncated"] = True
            self.notes.append("cut short: the end of the image data is missing")


def png_size(head: bytes) -> tuple[str, int, int, int] | None:
    """Format, width, height and frames by the header chunk of a PNG file, or None where it is none."""
    if head[:16] != b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" or zlib.crc32(head[12:29]) != int.from_bytes(head[29:33]):
        return None
    return "PNG", int.from_bytes(head[16:20]), int.from_bytes(head[20:24]), 1


def icon_size(head: bytes) -> tuple[str, int, int, int] | None:
    """Format, largest width and height, and 1 by the directory of an ICO file, or None where it is none."""
    count = int.from_bytes(head[4:6], "little")
    entries = [head[at : at + 16] for at in range(6, 6 + 16 * count, 16)]
    if head[:4] != b"\x00\x00\x01\x00" or not count or any(len(each) < 16 for each in entries):
        return None
    return "ICO", *max((each[0] or 256, each[1] or 256) for each in entries), 1


def webp_size(head: bytes) -> tuple[int, int] | None:
    """Width and height by the first chunk of a WebP file (RFC 9649, section 2), or None where it is none."""
    if head[:4] != b"RIFF" or head[8:12] != b"WEBP" or len(head) < _WEBP_HEAD_BYTES:
        return None
    if head[12:16] == b"VP8X":
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    if head[12:16] == b"VP8L" and head[20] == 0x2F:
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if head[12:16] == b"VP8 " and head[23:26] == b"\x9d\x01\x2a":
        return int.from_bytes(head[26:28], "little") & 0x3FFF, int.from_bytes(head[28:30], "little") & 0x3FFF
    return None


def _exif(image: "Image.Image") -> dict[int, Any]:
    """The main EXIF fields by tag; none where they are damaged.

    Only what the header already holds is read: `getexif()` of a PNG decodes the whole image.
    """
    from PIL import Image

    try:
        if image.format == "TIFF":
            return dict(image.getexif())
        raw = image.info.get("exif")
        if not isinstance(raw, bytes):
            return {}
        exif = Image.Exif()
        exif.load(raw)
        return dict(exif)
    except Exception:  # noqa: BLE001  # Pillow raises anything over damaged EXIF; the picture is none the worse for it
        return {}


def _xmp_orientation(image: "Image.Image") -> int | None:
    """The orientation that XMP gives: PNG files have it there."""
    raw = image.info.get("xmp")
    text = raw if isinstance(raw, bytes) else raw.encode() if isinstance(raw, str) else b""
    found = _XMP_ORIENTATION.search(text)
    return int(found[1]) if found else None


def _told(value: Any) -> str:
    return " ".join(value.replace("\x00", " ").split())[:_EXIF_CHARS_MAX] if isinstance(value, str) else ""


@contextmanager
def _no_pixel_limit() -> Iterator[None]:
    """Let Pillow open headers of any size: it refuses large images even if nothing is decoded."""
    from PIL import Image

    with _pixel_limit, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
        try:
            yield
        finally:
            Image.MAX_IMAGE_PIXELS = limit
