"""The one writer of bytes and records.

The order below is what durability and honesty rest on: bytes are durable before a record names them, records are
removed before bytes, and whether a blob exists is asked of the catalog each time. A put that finds its bytes there
already uses them in the transaction that finds them, so that no collector takes them for old in between.
"""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import BinaryIO, cast

from blobs.domain.digest import Digest
from blobs.domain.errors import CorruptError, DigestMismatchError, LimitError, NotFoundError, StoreError
from blobs.domain.limits import Limits
from blobs.domain.redaction import Redactor
from blobs.domain.reference import Reference
from blobs.storage import refusals
from blobs.storage.catalog import Catalog
from blobs.storage.checking import Checked
from blobs.storage.content import LEFT_BEHIND_MS, PACKED_BYTES_MAX, ContentStore
from blobs.storage.copies import LocalCopies
from blobs.storage.disk import WRITTEN_BYTES, read_chunks
from blobs.storage.keeping import BlobRecord, Derivation
from blobs.storage.room import Room

CHUNK_BYTES = 1024 * 1024
"""Large enough that a call per chunk costs nothing beside hashing it, small enough for many streams at once."""

_HASHED_BYTES = 256 * 1024
"""What is hashed at a time: it stays in the caches for whatever else looks at it."""

USES_NOTED = 24
"""A blob that is opened counts as used; it is noted so many times within the grace time, not at every call."""

Content = bytes | bytearray | memoryview | Iterable[bytes] | BinaryIO


@dataclass(frozen=True, slots=True)
class Stored:
    """What a put answers; `was_new` is false where this tenant had the bytes already."""

    reference: Reference
    was_new: bool


def now_ms() -> int:
    """Unix time in milliseconds."""
    return time.time_ns() // 1_000_000


class BlobStore:
    """Blobs of all tenants. Safe to use from many threads, and from many processes where its two stores are."""

    def __init__(
        self,
        content: ContentStore,
        catalog: Catalog,
        *,
        limits: Limits,
        copies_folder: Path,
        redactor: Redactor | None = None,
        clock: Callable[[], int] = now_ms,
    ) -> None:
        """Put bytes into `content` and records into `catalog`; `copies_folder` takes files for blobs that have none.

        What `redactor` masks is never written.
        """
        self.redactor = redactor or Redactor()
        self._content = content
        self._catalog = catalog
        self._limits = limits
        self._files = _Files(LocalCopies(copies_folder, bytes_max=limits.cached_bytes_max), Checked())
        self._clock = clock

    def put(
        self,
        tenant: str,
        content: Content,
        *,
        media_type: str,
        expected: Digest | None = None,
        size_max: int | None = None,
        derivation: Derivation | None = None,
        room: Room | None = None,
    ) -> Stored:
        """Store content and answer its reference; durable on return. Memory is constant however large it is.

        A tenant's equal contents are stored once. A blob with a `derivation` is kept as long as its source, and no
        longer unless it is used in its own right; it counts for `tenant_bytes_max`, but is never refused for it. `room`
        is what is held for the content already; its caller releases it. Secrets are masked on the way, so that what is
        stored may have another digest than what came. Raises `DigestMismatchError` where the content that came does not
        have the `expected` digest, `NotFoundError` where the source of a derivation is gone, `LimitError` over
        `size_max`, `blob_bytes_max` or `tenant_bytes_max`, `StoreError` where the store fails, and whatever reading the
        content raises; nothing is stored then.
        """
        most = min(self._limits.blob_bytes_max, self._limits.blob_bytes_max if size_max is None else size_max)
        chunks = _bounded(_chunks(content), most)
        came = None
        if self.redactor and derivation is None:  # what is derived is made of what was masked
            came = hashlib.sha256()
            chunks = map(memoryview, self.redactor.chunks(_noted(chunks, came)))
        with self.room(tenant) as own:
            put = _Put(tenant, media_type, expected, came, derivation, room or own)
            head = bytearray()
            for chunk in chunks:
                if len(head) + len(chunk) > PACKED_BYTES_MAX:
                    return self._put_large(put, chain((memoryview(head), chunk) if head else (chunk,), chunks))
                head += chunk
            return self._put_small(put, bytes(head))

    def room(self, tenant: str, *, name: str | None = None) -> Room:
        """Room for bytes of the tenant's, to be held before they come; `name` goes on with what was held under it."""
        return Room(self._catalog, tenant, self._limits, self._clock, name=name)

    def needs_room(self, tenant: str, expected: Digest | None) -> bool:
        """Whether a put would add to the tenant's blobs: not if it is said to be one that is there."""
        record = None if expected is None else self._catalog.find_blob(tenant, expected)
        return record is None or record.is_corrupt

    def open(self, tenant: str, digest: Digest) -> "StoredBlob":
        """A blob of the tenant's, to read. `NotFoundError` where the tenant has none of this digest."""
        blob = self._found(tenant, digest)
        if self._is_use_due(blob):
            with suppress(StoreError):  # a store that cannot be written can be read
                self._catalog.use_blob(tenant, digest, used_ms=self._clock())
        return blob

    def open_at_once(self, tenant: str, digest: Digest) -> "StoredBlob":
        """As `open`, by a look into the catalog and no more; `BlockingIOError` where something is to be noted there."""
        blob = self._found(tenant, digest)
        if self._is_use_due(blob):
            raise BlockingIOError
        return blob

    def purge(self, tenant: str, digest: Digest) -> list[BlobRecord]:
        """Remove a blob, and all that was derived from it, at once and whatever names it; answers what was removed.

        Names of it go on to be taken, and say that it was removed. Raises `StoreError`; then the rest of the bytes goes
        with the next collection.
        """
        purged = self._catalog.purge_blob(tenant, digest, now_ms=self._clock())
        for each in purged:
            self._content.delete(each.key)
            self._files.copies.forget(each.key)
        self._catalog.empty_trash([each.key for each in purged])
        return purged

    def close(self) -> None:
        """Close the content store and the catalog."""
        self._content.close()
        self._catalog.close()

    def _found(self, tenant: str, digest: Digest) -> "StoredBlob":
        record = self._catalog.find_blob(tenant, digest)
        if record is None or record.is_purged:
            raise refusals.no_blob(digest, self._catalog.find_tombstone(tenant, digest))
        return StoredBlob(tenant, record, self._content, self._catalog, self._files)

    def _is_use_due(self, blob: "StoredBlob") -> bool:
        return 0 < blob.used_ms < self._clock() - self._limits.grace_ms // USES_NOTED

    def _put_small(self, put: "_Put", content: bytes) -> Stored:
        digest = Digest.of(content)
        put.check(digest)
        if self._use(put, digest):
            return put.stored(digest, len(content), was_new=False)
        put.hold(len(content))
        written_ms = self._clock()
        key = self._content.put(digest, content)
        return self._record(put, BlobRecord(digest, len(content), key, written_ms))

    def _put_large(self, put: "_Put", chunks: Iterable[memoryview]) -> Stored:
        hasher = hashlib.sha256()
        size = 0
        is_counted = self.needs_room(put.tenant, put.expected)
        with self._content.writer() as writer:
            for chunk in chunks:
                size += len(chunk)
                if is_counted:
                    put.hold(size, is_growing=True)
                for start in range(0, len(chunk), _HASHED_BYTES):
                    hasher.update(chunk[start : start + _HASHED_BYTES])
                writer.write(chunk)
            digest = Digest.from_bytes(hasher.digest())
            put.check(digest)
            if self._use(put, digest):
                return put.stored(digest, size, was_new=False)
            written_ms = self._clock()
            key = writer.commit(digest)
        if (own := self._content.path(key)) is not None:
            self._files.checked.note(own, digest)
        return self._record(put, BlobRecord(digest, size, key, written_ms))

    def _use(self, put: "_Put", digest: Digest) -> bool:
        """Whether the tenant has these bytes, sound; from then on they are as young as if they were put."""
        used_ms = 0 if put.derivation else self._clock()
        return self._catalog.use_blob(put.tenant, digest, used_ms=used_ms, derivation=put.derivation) is not None

    def _record(self, put: "_Put", written: BlobRecord) -> Stored:
        """Name durable bytes, which were written after `created_ms`.

        Where the catalog fails, the bytes stay: it may have kept the record before it failed to say so. Bytes that no
        record names are collected.
        """
        record = replace(written, used_ms=0 if put.derivation else written.created_ms)
        winner = self._catalog.add_blob(
            put.tenant, record, derivation=put.derivation, reservation=put.room.name if put.room.is_bounded else None
        )
        put.room.settle()
        if winner.key != record.key:
            self._content.delete(record.key)
        elif self._clock() - record.created_ms > LEFT_BEHIND_MS:
            self._check_left(put.tenant, record)
        return put.stored(record.digest, record.size, was_new=winner.key == record.key)

    def _check_left(self, tenant: str, record: BlobRecord) -> None:
        """After a halt between bytes and record so long that a collector may have removed the bytes: look."""
        try:
            self._content.size(record.key)
        except NotFoundError:
            self._catalog.mark_blob(tenant, record.digest, record.key, is_corrupt=True)
            raise refusals.given_up(record.digest) from None


@dataclass(frozen=True, slots=True)
class _Put:
    """What a put is asked for besides the bytes."""

    tenant: str
    media_type: str
    expected: Digest | None
    came: "hashlib._Hash | None"
    """The hash of what came, where that is not what is stored."""
    derivation: Derivation | None
    room: Room

    def hold(self, size: int, *, is_growing: bool = False) -> None:
        """Have room for so many bytes, unless they are derived: those nobody chose to have."""
        if self.derivation is None:
            (self.room.grow if is_growing else self.room.hold)(size)

    def check(self, digest: Digest) -> None:
        """Raise `DigestMismatchError` where the bytes that came are not the expected ones."""
        found = digest if self.came is None else Digest.from_bytes(self.came.digest())
        if self.expected is not None and found != self.expected:
            raise DigestMismatchError(
                f"The bytes have the digest {found}, not {self.expected}.",
                hint="Send them again; they were changed on the way.",
            )

    def stored(self, digest: Digest, size: int, *, was_new: bool) -> Stored:
        """What the put answers."""
        return Stored(Reference(digest, size, self.media_type), was_new)


@dataclass(frozen=True, slots=True)
class _Files:
    """Files for those who cannot read a store, verified copies and the store's own; and what is known to be sound."""

    copies: LocalCopies
    checked: Checked


class StoredBlob:
    """One blob, opened for reading by its tenant; costs nothing until it is read.

    Whoever reads it reads the bytes that were put, or gets a `CorruptError` before the last of them. Only parts are not
    checked of what is larger than `CHECKED_BYTES_MAX`, or too large to be packed and in no file of its own.
    """

    def __init__(self, tenant: str, record: BlobRecord, content: ContentStore, catalog: Catalog, files: _Files) -> None:
        """Made by `BlobStore.open`."""
        self.digest = record.digest
        self.size = record.size
        self.used_ms = record.used_ms
        self._tenant = tenant
        self._record = record
        self._content = content
        self._catalog = catalog
        self._files = files

    def read(self, start: int, stop: int) -> bytes:
        """Bytes `start` up to `stop` (`0 <= start <= stop`); fewer past the end.

        `NotFoundError` where the blob was removed meanwhile, `CorruptError` where its bytes are missing, too few, or
        not its bytes.
        """
        stop = min(stop, self.size)
        if start >= stop:
            return b""
        if stop - start == self.size or self.size <= PACKED_BYTES_MAX:
            content = self._read(0, self.size)
            if Digest.of(content) != self.digest:
                raise self._corrupt()
            return content[start:stop]
        self._check_file()
        return self._read(start, stop)

    def read_at_once(self, start: int, stop: int) -> bytes:
        """As `read`, of a small blob whose bytes are in memory; `BlockingIOError` for any other, and for any fault.

        What was found sound and has been in memory since is not hashed again as long as nobody writes where it lies.
        """
        if self.size > PACKED_BYTES_MAX or self._record.is_corrupt:
            raise BlockingIOError
        key, stop = self._record.key, min(stop, self.size)
        state = self._content.state(key)
        try:
            if state is not None and self._files.checked.knows(state, self.digest):
                return self._content.read_at_once(key, start, stop)
            content = self._content.read_at_once(key, 0, self.size)
        except NotFoundError:  # it may have moved
            raise BlockingIOError from None
        if Digest.of(content) != self.digest:
            raise BlockingIOError
        if state is not None:
            self._files.checked.remember(state, self.digest)
        return content[start:stop]

    def chunks(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """Bytes `start` up to `stop`, or to the end, in chunks of at most 1 MiB; errors as of `read`."""
        stop = self.size if stop is None else min(stop, self.size)
        if self.size <= CHUNK_BYTES or (start, stop) != (0, self.size):
            for each in range(start, stop, CHUNK_BYTES):
                yield self.read(each, min(each + CHUNK_BYTES, stop))
            return
        hasher = hashlib.sha256()
        for each in range(start, stop, CHUNK_BYTES):
            chunk = self._read(each, min(each + CHUNK_BYTES, stop))
            hasher.update(chunk)
            if each + CHUNK_BYTES >= stop and hasher.digest() != self.digest.to_bytes():
                raise self._corrupt()
            yield chunk

    def path(self) -> Path:
        """An ordinary file with exactly these bytes: the store's own, or a verified copy. Not to be changed or kept.

        It is never rewritten, so other processes may open or bind-mount it. Errors as of `read`.
        """
        self._require_sound()
        own = self._check_file()
        if own is not None:
            return own
        return self._files.copies.path(self._record.key, self.digest, self.size, self.chunks())

    def _check_file(self) -> Path | None:
        """The store's own file of this blob, if it has one; `CorruptError` where that has other bytes."""
        own = self._content.path(self._record.key)
        if own is None:
            return None
        try:
            is_sound = own.stat().st_size == self.size and self._files.checked.is_sound(own, self.digest)
        except FileNotFoundError:
            return None  # removed this moment: whoever reads it learns that
        except OSError as fault:
            raise StoreError(f"A blob cannot be read: {fault.strerror}.", hint="Check the disk.") from fault
        if not is_sound:
            raise self._corrupt()
        return own

    def _read(self, start: int, stop: int) -> bytes:
        self._require_sound()
        try:
            content = self._content.read(self._record.key, start, stop)
        except NotFoundError:
            if not self._has_moved():
                raise self._corrupt() from None
            content = self._content.read(self._record.key, start, stop)
        if len(content) != stop - start:
            raise self._corrupt()
        return content

    def _require_sound(self) -> None:
        if self._record.is_corrupt and not self._has_moved():
            raise self._corrupt()

    def _has_moved(self) -> bool:
        """Look the blob up again, after a removal and a new put; `NotFoundError` where it was removed only."""
        record = self._catalog.find_blob(self._tenant, self.digest)
        if record is None or record.is_purged:
            raise refusals.no_blob(self.digest, self._catalog.find_tombstone(self._tenant, self.digest))
        key, self._record = self._record.key, record
        return record.key != key and not record.is_corrupt

    def _corrupt(self) -> CorruptError:
        """Note that the blob is to be put anew, and say so."""
        with suppress(StoreError):  # what is wrong with the bytes is the news
            self._catalog.mark_blob(self._tenant, self.digest, self._record.key, is_corrupt=True)
        return CorruptError(
            f"The stored bytes of {self.digest} are damaged or missing.",
            hint="Put the same bytes again, or restore them from a backup.",
        )


def _noted(chunks: Iterator[memoryview], hasher: "hashlib._Hash") -> Iterator[memoryview]:
    """The chunks, each hashed as it passes."""
    for chunk in chunks:
        hasher.update(chunk)
        yield chunk


def _chunks(content: Content) -> Iterator[memoryview]:
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


def _bounded(chunks: Iterator[memoryview], most: int) -> Iterator[memoryview]:
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > most:
            raise LimitError(f"The blob is larger than {most} bytes.", hint="Split it, or raise blob_bytes_max.")
        yield chunk
