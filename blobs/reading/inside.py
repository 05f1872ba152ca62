"""What is inside of a packed blob: its bytes within bounds, opened as what they are.

Archives and compressed blobs hold other blobs. Their readers subclass `InsideReader`, take the bytes inside with
`unpack` or as a `PieceSource`, and open them with the registry that they themselves belong to.
"""

import functools
import io
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import BinaryIO

from blobs.domain.errors import UnreadableError
from blobs.domain.limits import MIB
from blobs.domain.media_type import CSV, JSON, NDJSON, TEXT
from blobs.reading.opening import Opened, recognise
from blobs.reading.registry import Registry
from blobs.reading.source import Source, SourceFile

INSIDE_BYTES_MAX = 256 * MIB
"""The most that is unpacked at once, all levels together: it is held in memory, and a cell has 1 GiB."""

RATIO_MAX = 200
"""What unpacks to more than so many times its size is refused: logs reach 20 to 100, bombs 1,000 and more."""

RATIO_FREE_BYTES = 32 * MIB
"""Up to here any ratio is let through: unpacking that much takes a tenth of a second."""

DEPTH_MAX = 4
"""Packed inside of packed: a file can be made that holds itself."""

_TYPES = {
    ".csv": CSV,
    ".tsv": "text/tab-separated-values",
    ".json": JSON,
    ".ndjson": NDJSON,
    ".jsonl": NDJSON,
    ".txt": TEXT,
    ".log": TEXT,
    ".md": "text/markdown",
    ".html": "text/html",
    ".htm": "text/html",
    ".xml": "application/xml",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".toml": "application/toml",
    ".eml": "message/rfc822",
    ".diff": "text/x-diff",
    ".patch": "text/x-diff",
    ".ipynb": "application/x-ipynb+json",
}
"""What names declare where bytes allow several kinds; every other format has a signature."""


class _InnerSource:
    """Bytes inside of another source. `depth` counts the levels, `held_bytes` what all of them keep in memory."""

    path: str | None = None
    name = ""
    """What the file was called, if it was: its end may say what is inside of it in turn."""

    def __init__(self, size: int, *, depth: int, held_bytes: int) -> None:
        self.size = size
        self.depth = depth
        self.held_bytes = held_bytes

    def read(self, start: int, stop: int) -> bytes:
        """Bytes `start` up to `stop`; fewer past the end."""
        return bytes(self.buffer()[start : min(stop, self.size)])

    def open(self) -> BinaryIO:
        """A new file over the bytes; nothing is copied."""
        return io.BufferedReader(SourceFile(self))

    def buffer(self) -> memoryview:
        """All bytes without copying them."""
        raise NotImplementedError


class UnpackedSource(_InnerSource):
    """Unpacked bytes, in memory."""

    def __init__(self, content: bytearray, *, depth: int, held_bytes: int) -> None:
        super().__init__(len(content), depth=depth, held_bytes=held_bytes)
        self._content = memoryview(content).toreadonly()

    def buffer(self) -> memoryview:
        return self._content


class PieceSource(_InnerSource):
    """A stretch of another source that is stored there as it is: nothing is copied."""

    def __init__(self, outer: Source, start: int, stop: int) -> None:
        start = min(start, outer.size)
        stop = max(start, min(stop, outer.size))
        super().__init__(stop - start, depth=_depth_inside(outer), held_bytes=_held_bytes(outer))
        self._outer, self._start = outer, start

    def read(self, start: int, stop: int) -> bytes:
        return self._outer.read(self._start + start, self._start + max(start, min(stop, self.size)))

    def buffer(self) -> memoryview:
        return self._outer.buffer()[self._start : self._start + self.size]


def unpack(chunks: Iterable[bytes], *, packed_bytes: int, outer: Source, noun: str, advice: str) -> UnpackedSource:
    """Collect unpacked bytes in memory; raises `UnreadableError` as soon as they are a bomb or too many.

    `packed_bytes` is what the chunks come from, `noun` names that ("gzip data"), `advice` says what to do instead.
    """
    room = INSIDE_BYTES_MAX - _held_bytes(outer)
    depth = _depth_inside(outer)
    content = bytearray()
    for chunk in chunks:
        content += chunk
        if len(content) > RATIO_FREE_BYTES and len(content) > RATIO_MAX * packed_bytes:
            raise UnreadableError(
                f"The {noun} is refused as a decompression bomb: {packed_bytes} bytes unpack to more than "
                f"{RATIO_MAX} times their size. {advice}",
                code="bomb",
            )
        if len(content) > room:
            raise UnreadableError(
                f"The {noun} holds more than the {INSIDE_BYTES_MAX // MIB} MiB that are unpacked here. {advice}",
                code="too_large_inside",
            )
    return UnpackedSource(content, depth=depth, held_bytes=INSIDE_BYTES_MAX - room + len(content))


class InsideReader:
    """A reader of blobs that hold others. The registry that loads it sets `registry`."""

    registry: Registry | None = None

    def open_inside(self, source: Source, *, name: str = "") -> Opened:
        """Open bytes inside with the reader that fits them; `name` is what the file was called, if it was.

        The notes of the view say what stopped better readers. Its `bytes_source` is the source, its `text_source`
        where its text lies.
        """
        if name and isinstance(source, _InnerSource):
            source.name = name
        opened = recognise(self.registry or _installed(), source, declared_by_name(name))
        view = opened.view
        view.notes[:0] = opened.notes
        view.bytes_source = source
        if view.text_encoding is not None and view.text_source is None:
            view.text_source = source
        return opened


def declared_by_name(name: str) -> str | None:
    """The type that a file name declares, of those that bytes alone do not always tell."""
    return _TYPES.get(PurePosixPath(name.lower()).suffix)


@functools.cache
def _installed() -> Registry:
    return Registry()


def _held_bytes(source: Source) -> int:
    return int(getattr(source, "held_bytes", 0))


def _depth_inside(outer: Source) -> int:
    depth = int(getattr(outer, "depth", 0)) + 1
    if depth > DEPTH_MAX:
        raise UnreadableError(f"More than {DEPTH_MAX} levels are packed inside of each other.", code="too_deep")
    return depth
