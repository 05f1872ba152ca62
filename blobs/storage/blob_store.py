"""The one writer of bytes and records.

The order below is what durability and honesty rest on: bytes are durable before a record names them, records are
removed before bytes, and whether a blob exists is asked of the catalog each time.
"""

import hashlib
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from blobs.domain.digest import Digest
from blobs.domain.errors import CorruptError, DigestMismatchError, LimitError, NotFoundError
from blobs.domain.limits import Limits
from blobs.domain.reference import Reference
from blobs.storage import refusals
from blobs.storage.catalog import BlobRecord, Catalog
from blobs.storage.content import PACKED_BYTES_MAX, ContentStore
from blobs.storage.copies import LocalCopies

CHUNK_BYTES = 1024 * 1024
"""Large enough that a call per chunk costs nothing beside hashing it, small enough for many streams at once."""

Content = bytes | bytearray | memoryview | Iterable[bytes] | BinaryIO


@dataclass(frozen=True, slots=True)
class Stored:
    """What a put answers; `was_new` is false where this tenant had the bytes already."""

    reference: Reference
    was_new: bool


class BlobStore:
    """Blobs of all tenants. Safe to use from many threads, and from many processes where its two stores are."""

    def __init__(self, content: ContentStore, catalog: Catalog, *, limits: Limits, copies_folder: Path) -> None:
        """Put bytes into `content` and records into `catalog`; `copies_folder` takes files for blobs that have none."""
        self._content = content
        self._catalog = catalog
        self._limits = limits
        self._copies = LocalCopies(copies_folder, bytes_max=limits.cached_bytes_max)

    def put(
        self,
        tenant: str,
        content: Content,
        *,
        media_type: str,
        expected: Digest | None = None,
        size_max: int | None = None,
    ) -> Stored:
        """Store content and answer its reference; durable on return. Memory is constant however large it is.

        A tenant's equal contents are stored once. Raises `DigestMismatchError` where the content does not have the
        `expected` digest, `LimitError` over `size_max` or `blob_bytes_max`, `StoreError` where the store fails, and
        whatever reading the content raises; nothing is stored then.
        """
        most = min(self._limits.blob_bytes_max, self._limits.blob_bytes_max if size_max is None else size_max)
        chunks = _bounded(_chunks(content), most)
        head = bytearray()
        for chunk in chunks:
            head += chunk
            if len(head) > PACKED_BYTES_MAX:
                digest, size, was_new = self._put_large(tenant, bytes(head), chunks, expected)
                break
        else:
            digest, size, was_new = self._put_small(tenant, bytes(head), expected)
        return Stored(Reference(digest, size, media_type), was_new)

    def open(self, tenant: str, digest: Digest) -> "StoredBlob":
        """A blob of the tenant's, to read. `NotFoundError` where the tenant has none of this digest."""
        record = self._catalog.find_blob(tenant, digest)
        if record is None:
            raise refusals.no_blob(digest)
        return StoredBlob(tenant, record, self._content, self._catalog, self._copies)

    def close(self) -> None:
        """Close the content store and the catalog."""
        self._content.close()
        self._catalog.close()

    def _put_small(self, tenant: str, content: bytes, expected: Digest | None) -> tuple[Digest, int, bool]:
        digest = Digest.of(content)
        _check(digest, expected)
        if self._catalog.find_blob(tenant, digest) is not None:
            return digest, len(content), False
        return digest, len(content), self._record(tenant, digest, len(content), self._content.put(digest, content))

    def _put_large(
        self, tenant: str, head: bytes, rest: Iterator[memoryview], expected: Digest | None
    ) -> tuple[Digest, int, bool]:
        hasher = hashlib.sha256(head)
        size = len(head)
        with self._content.writer() as writer:
            writer.write(head)
            del head
            for chunk in rest:
                hasher.update(chunk)
                writer.write(chunk)
                size += len(chunk)
            digest = Digest.from_bytes(hasher.digest())
            _check(digest, expected)
            if self._catalog.find_blob(tenant, digest) is not None:
                return digest, size, False
            key = writer.commit(digest)
        return digest, size, self._record(tenant, digest, size, key)

    def _record(self, tenant: str, digest: Digest, size: int, key: str) -> bool:
        """Name durable bytes; was the blob new?

        Where the catalog fails, the bytes stay: it may have kept the record before it failed to say so. Bytes that no
        record names are collected.
        """
        record = BlobRecord(digest, size, key, time.time_ns() // 1_000_000)
        winner = self._catalog.add_blob(tenant, record)
        if winner.key == key:
            return True
        self._content.delete(key)
        return False


class StoredBlob:
    """One blob, opened for reading by its tenant; costs nothing until it is read."""

    def __init__(
        self, tenant: str, record: BlobRecord, content: ContentStore, catalog: Catalog, copies: LocalCopies
    ) -> None:
        """Made by `BlobStore.open`."""
        self.digest = record.digest
        self.size = record.size
        self._tenant = tenant
        self._key = record.key
        self._content = content
        self._catalog = catalog
        self._copies = copies

    def read(self, start: int, stop: int) -> bytes:
        """Bytes `start` up to `stop` (`0 <= start <= stop`); fewer past the end.

        `NotFoundError` where the blob was removed meanwhile, `CorruptError` where its bytes are missing or too few.
        """
        stop = min(stop, self.size)
        if start >= stop:
            return b""
        try:
            content = self._content.read(self._key, start, stop)
        except NotFoundError:
            self._look_again()
            content = self._content.read(self._key, start, stop)
        if len(content) != stop - start:
            raise self._corrupt()
        return content

    def chunks(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """Bytes `start` up to `stop`, or to the end, in chunks of at most 1 MiB; errors as of `read`."""
        stop = self.size if stop is None else min(stop, self.size)
        for each in range(start, stop, CHUNK_BYTES):
            yield self.read(each, min(each + CHUNK_BYTES, stop))

    def path(self) -> Path:
        """An ordinary file with exactly these bytes: the store's own, or a verified copy. Not to be changed or kept.

        It is never rewritten, so other processes may open or bind-mount it. Errors as of `read`, and `CorruptError`
        where what was copied does not have the digest.
        """
        own = self._content.path(self._key)
        if own is None:
            return self._copies.path(self._key, self.digest, self.size, self.chunks())
        if self._content.size(self._key) != self.size:
            raise self._corrupt()
        return own

    def _look_again(self) -> None:
        """Find the bytes that a removal and a new put have moved; an error where there are none."""
        record = self._catalog.find_blob(self._tenant, self.digest)
        if record is None:
            raise refusals.no_blob(self.digest)
        if record.key == self._key:
            raise self._corrupt()
        self._key = record.key

    def _corrupt(self) -> CorruptError:
        return CorruptError(f"Bytes of {self.digest} are missing in the store.", hint="Restore them from a backup.")


def _chunks(content: Content) -> Iterator[memoryview]:
    """The content in chunks of at most 1 MiB, none of them copied."""
    if isinstance(content, bytes | bytearray | memoryview):
        whole: Iterable[bytes | bytearray | memoryview] = (content,)
    elif isinstance(content, Iterable) and not hasattr(content, "read"):
        whole = content
    else:
        whole = iter(lambda: content.read(CHUNK_BYTES), b"")
    for each in whole:
        view = memoryview(each).cast("B")
        for start in range(0, len(view), CHUNK_BYTES):
            yield view[start : start + CHUNK_BYTES]


def _bounded(chunks: Iterator[memoryview], most: int) -> Iterator[memoryview]:
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > most:
            raise LimitError(f"The blob is larger than {most} bytes.", hint="Split it, or raise blob_bytes_max.")
        yield chunk


def _check(digest: Digest, expected: Digest | None) -> None:
    if expected is not None and digest != expected:
        raise DigestMismatchError(
            f"The bytes have the digest {digest}, not {expected}.",
            hint="Send them again; they were changed on the way.",
        )
