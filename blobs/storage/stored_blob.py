"""A blob opened for reading: what is read is what was put, or an error."""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from blobs.domain.digest import Digest
from blobs.domain.errors import CorruptError, NotFoundError, StoreError
from blobs.storage import refusals
from blobs.storage.catalog import Catalog
from blobs.storage.checking import Checked
from blobs.storage.content import CHUNK_BYTES, PACKED_BYTES_MAX, ContentStore
from blobs.storage.copies import LocalCopies
from blobs.storage.keeping import BlobRecord


@dataclass(frozen=True, slots=True)
class Files:
    """Files for those who cannot read a store, verified copies and the store's own; and what is known to be sound."""

    copies: LocalCopies
    checked: Checked


class StoredBlob:
    """One blob, opened for reading by its tenant; costs nothing until it is read.

    Whoever reads it reads the bytes that were put, or gets a `CorruptError` before the last of them. Only parts are not
    checked of what is larger than `CHECKED_BYTES_MAX`, or too large to be packed and in no file of its own.
    """

    def __init__(self, tenant: str, record: BlobRecord, content: ContentStore, catalog: Catalog, files: Files) -> None:
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
