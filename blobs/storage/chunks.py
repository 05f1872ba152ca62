"""Content on its way into a store, chunk by chunk."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO, cast

from blobs.domain.errors import LimitError
from blobs.storage.content import CHUNK_BYTES
from blobs.storage.disk import WRITTEN_BYTES, read_chunks

Content = bytes | bytearray | memoryview | Iterable[bytes] | BinaryIO


def noted(chunks: Iterator[memoryview], hasher: "hashlib._Hash") -> Iterator[memoryview]:
    """The chunks, each hashed as it passes."""
    for chunk in chunks:
        hasher.update(chunk)
        yield chunk


def chunks_of(content: Content) -> Iterator[memoryview]:
    """The content in chunks, none of them copied; what a chunk of a file holds is good until the next one is asked."""
    if isinstance(content, bytes | bytearray | memoryview):
        whole: Iterable[bytes | bytearray | memoryview] = (content,)
    elif hasattr(content, "readinto"):
        whole = read_chunks(cast("BinaryIO", content))
    elif isinstance(content, Iterable) and not hasattr(content, "read"):
        whole = content
    else:
        whole = iter(lambda: content.read(CHUNK_BYTES), b"")
    for each in whole:
        view = memoryview(each).cast("B")
        for start in range(0, len(view), WRITTEN_BYTES):
            yield view[start : start + WRITTEN_BYTES]


def bounded(chunks: Iterator[memoryview], most: int) -> Iterator[memoryview]:
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > most:
            raise LimitError(f"The blob is larger than {most} bytes.", hint="Split it, or raise blob_bytes_max.")
        yield chunk
