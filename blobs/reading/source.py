"""The bytes that a reader reads: random access, never loaded whole unless asked for."""

import io
import mmap
from pathlib import Path
from typing import BinaryIO, Protocol

from blobs.domain.errors import UnreadableError


class Readable(Protocol):
    """Immutable bytes of which any part can be read."""

    size: int

    def read(self, start: int, stop: int) -> bytes:
        """Bytes `start` up to `stop`; fewer past the end."""
        ...


class Source(Readable, Protocol):
    """Immutable bytes with random access."""

    path: str | None
    """A file that holds exactly these bytes, where there is one; in a cell there always is."""

    def open(self) -> BinaryIO:
        """A new seekable binary file over the bytes."""
        ...

    def buffer(self) -> memoryview:
        """All bytes without copying them (a memory map for files)."""
        ...


class BytesSource:
    """Bytes in memory."""

    path: str | None = None

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.size = len(content)

    def read(self, start: int, stop: int) -> bytes:
        return self._content[start:stop]

    def open(self) -> BinaryIO:
        return io.BytesIO(self._content)

    def buffer(self) -> memoryview:
        return memoryview(self._content)


class BufferSource(BytesSource):
    """A piece of a larger buffer, not copied."""

    def __init__(self, data: memoryview) -> None:
        super().__init__(b"")
        self._data = data
        self.size = len(data)

    def read(self, start: int, stop: int) -> bytes:
        return bytes(self._data[start:stop])

    def open(self) -> BinaryIO:
        raise UnreadableError("A piece of a document is no file.")

    def buffer(self) -> memoryview:
        return self._data


class TooMuchReadError(Exception):
    """More was to be read of a `BoundedSource` than it gives; never leaves whoever made the source."""


class BoundedSource:
    """A source of which only so many bytes may be read, and none without being counted: for work that must be short."""

    path: str | None = None

    def __init__(self, inner: Source, bytes_max: int) -> None:
        self._inner = inner
        self._room = bytes_max
        self.size = inner.size

    def read(self, start: int, stop: int) -> bytes:
        self._room -= max(0, min(stop, self.size) - start)
        if self._room < 0:
            raise TooMuchReadError
        return self._inner.read(start, stop)

    def open(self) -> BinaryIO:
        raise TooMuchReadError

    def buffer(self) -> memoryview:
        raise TooMuchReadError


class HeadSource:
    """What is held of a blob that passes by: its beginning. Whoever goes on beyond it gets a `TooMuchReadError`."""

    path: str | None = None

    def __init__(self, head: bytes, size: int) -> None:
        self._head = head
        self.size = size

    def read(self, start: int, stop: int) -> bytes:
        if min(stop, self.size) > len(self._head):
            raise TooMuchReadError
        return self._head[start:stop]

    def open(self) -> BinaryIO:
        raise TooMuchReadError

    def buffer(self) -> memoryview:
        raise TooMuchReadError


class FileSource:
    """A file, memory-mapped at first need."""

    def __init__(self, path: str | Path) -> None:
        self.path: str | None = str(path)
        self._file = Path(path).open("rb")  # noqa: SIM115  # lives as long as the source
        self.size = self._file.seek(0, io.SEEK_END)
        self._map: mmap.mmap | None = None

    def read(self, start: int, stop: int) -> bytes:
        self._file.seek(start)
        return self._file.read(max(0, min(stop, self.size) - start))

    def open(self) -> BinaryIO:
        assert self.path is not None
        return Path(self.path).open("rb")

    def buffer(self) -> memoryview:
        if self.size == 0:
            return memoryview(b"")
        if self._map is None:
            self._map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        return memoryview(self._map)

    def close(self) -> None:
        """Release the file; memory views given out keep the map alive."""
        self._file.close()


class SourceFile(io.RawIOBase):
    """A source as a seekable file that needs no closing; wrap it in `io.BufferedReader`."""

    def __init__(self, source: Source) -> None:
        self._source, self._at = source, 0

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place, also past the end; answers where that is."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._source.size}[whence]
        if base + offset < 0:
            raise OSError("cannot seek before the beginning")
        self._at = base + offset
        return self._at

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # the base class names no buffer type
        """Read on from the place; answers how many bytes."""
        piece = self._source.read(self._at, self._at + len(buffer)) if self._at < self._source.size else b""
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)
