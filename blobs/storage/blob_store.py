"""The one writer of bytes and records.

The order below is what durability and honesty rest on: bytes are durable before a record names them, records are
removed before bytes, and whether a blob exists is asked of the catalog each time. A put that finds its bytes there
already uses them in the transaction that finds them, so that no collector takes them for old in between.
"""

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Protocol

from blobs.domain.digest import Digest
from blobs.domain.errors import BlobsError, DigestMismatchError, NotFoundError, StoreError
from blobs.domain.limits import Limits
from blobs.domain.media_type import BINARY
from blobs.domain.redaction import Redactor
from blobs.domain.reference import Reference
from blobs.storage import refusals
from blobs.storage.catalog import Catalog
from blobs.storage.checking import Checked
from blobs.storage.chunks import Content, bounded, chunks_of, noted
from blobs.storage.content import LEFT_BEHIND_MS, PACKED_BYTES_MAX, ContentStore
from blobs.storage.copies import LocalCopies
from blobs.storage.group_commit import GroupCommit
from blobs.storage.keeping import BlobRecord, Derivation, NewBlob
from blobs.storage.room import Room
from blobs.storage.stored_blob import Files, StoredBlob

_HASHED_BYTES = 256 * 1024
"""What is hashed at a time: it stays in the caches for whatever else looks at it."""

BATCH_MAX = 64
"""Small puts in one flush of the bytes and one of their records; at their largest they are 16 MiB."""

USES_NOTED = 24
"""A blob that is opened counts as used; it is noted so many times within the grace time, not at every call."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What a put answers; `was_new` is false where this tenant had the bytes already."""

    reference: Reference
    was_new: bool


class Onlooker(Protocol):
    """Somebody who looks at large content on its way into the store. Nothing that it does keeps content out of it."""

    def add(self, chunk: memoryview) -> None:
        """See the next bytes, as they are stored; they are gone afterwards."""
        ...

    def stored(self, tenant: str, reference: Reference) -> None:
        """Learn that what was seen is the tenant's now; not called where the put failed or the tenant had it before."""
        ...


@dataclass(frozen=True, slots=True)
class NewContent:
    """A content to be stored with others by `put_all`: at most `PACKED_BYTES_MAX` and within the caller's limits."""

    tenant: str
    content: bytes
    media_type: str
    expected: Digest | None = None


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
        self._files = Files(LocalCopies(copies_folder, bytes_max=limits.cached_bytes_max), Checked())
        self._clock = clock
        self._small: GroupCommit[_SmallPut, Stored] = GroupCommit(
            self._write_small, then=self._record_small, jobs_max=BATCH_MAX
        )
        self._lookers: Callable[[str], Onlooker] | None = None

    def show(self, lookers: Callable[[str], Onlooker]) -> None:
        """Show large content to somebody as it is put: to what `lookers` gives for its media type."""
        self._lookers = lookers

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
        chunks = bounded(chunks_of(content), most)
        came = None
        if self.redactor and derivation is None:  # what is derived is made of what was masked
            came = hashlib.sha256()
            chunks = map(memoryview, self.redactor.chunks(noted(chunks, came)))
        with self.room(tenant) as own:
            put = _Put(tenant, media_type, expected, came, derivation, room or own)
            if came is None and isinstance(content, bytes) and len(content) <= min(most, PACKED_BYTES_MAX):
                return self._put_small(put, content)
            head = bytearray()
            for chunk in chunks:
                if len(head) + len(chunk) > PACKED_BYTES_MAX:
                    return self._put_large(put, chain((memoryview(head), chunk) if head else (chunk,), chunks))
                head += chunk
            return self._put_small(put, bytes(head))

    @property
    def bytes_max(self) -> int:
        """The most bytes of a blob."""
        return self._limits.blob_bytes_max

    @property
    def can_put_all(self) -> bool:
        """Whether contents are stored as they come, with no secrets or room to look at; else each needs its `put`."""
        return not self.redactor and self._limits.tenant_bytes_max is None

    def put_all(self, contents: "Sequence[NewContent]") -> list[Stored | BlobsError]:
        """Store contents that may be packed, in one flush of bytes and one of records; what `put` answers or raises.

        Raises `StoreError` where the store fails; then none of them is acknowledged.
        """
        outcomes: dict[int, Stored | BlobsError] = {}
        batch: dict[int, _SmallPut] = {}
        for number, each in enumerate(contents):
            put = _Put(each.tenant, each.media_type, each.expected, None, None, self.room(each.tenant))
            digest = Digest.of(each.content)
            try:
                put.check(digest)
            except DigestMismatchError as fault:
                outcomes[number] = fault
            else:
                batch[number] = (put, digest, each.content)
        if batch:
            puts = [*batch.values()]
            outcomes.update(zip(batch, self._record_small(puts, self._write_small(puts)), strict=True))
        return [outcomes[number] for number in range(len(contents))]

    def write_small(self, tenant: str, contents: Sequence[tuple[Digest, bytes]]) -> list[BlobRecord]:
        """Make small contents durable in one flush; answers what is to be recorded of those that the tenant lacks."""
        known = self._catalog.known_blobs([(tenant, digest) for digest, _ in contents])
        written_ms = self._clock()
        news = [each for each in contents if (tenant, each[0]) not in known]
        keys = self._content.put_all(news) if news else []
        return [
            BlobRecord(digest, len(content), key, written_ms, written_ms)
            for (digest, content), key in zip(news, keys, strict=True)
        ]

    def write_again_if_left(self, tenant: str, recorded: BlobRecord, content: bytes) -> None:
        """After a halt between bytes and record so long that a collector may have removed the bytes: put them anew."""
        is_late = self._clock() - recorded.created_ms > LEFT_BEHIND_MS
        if is_late and not self._is_there(tenant, recorded):
            self.put(tenant, content, media_type=BINARY)

    def room(self, tenant: str, *, name: str | None = None) -> Room:
        """Room for bytes of the tenant's, to be held before they come; `name` goes on with what was held under it."""
        return Room(self._catalog, tenant, self._limits, self._clock, name=name)

    def needs_room(self, tenant: str, expected: Digest | None) -> bool:
        """Whether a put would add to the tenant's blobs: not if it is said to be one that is there."""
        record = None if expected is None else self._catalog.find_blob(tenant, expected)
        return record is None or record.is_corrupt

    def open(self, tenant: str, digest: Digest) -> StoredBlob:
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
        if put.room.is_bounded:
            if self._use(put, digest):
                return put.stored(digest, len(content), was_new=False)
            put.hold(len(content))
        return self._small.submit((put, digest, content))

    def _put_large(self, put: "_Put", chunks: Iterable[memoryview]) -> Stored:
        hasher = hashlib.sha256()
        looker = self._lookers(put.media_type) if self._lookers is not None and put.derivation is None else None
        size = 0
        is_counted = self.needs_room(put.tenant, put.expected)
        with self._content.writer() as writer:
            for chunk in chunks:
                size += len(chunk)
                if is_counted:
                    put.hold(size, is_growing=True)
                for start in range(0, len(chunk), _HASHED_BYTES):
                    piece = chunk[start : start + _HASHED_BYTES]
                    hasher.update(piece)
                    if looker is not None:
                        looker.add(piece)
                writer.write(chunk)
            digest = Digest.from_bytes(hasher.digest())
            put.check(digest)
            if self._use(put, digest):
                return put.stored(digest, size, was_new=False)
            written_ms = self._clock()
            key = writer.commit(digest)
        if (own := self._content.path(key)) is not None:
            self._files.checked.note(own, digest)
        (stored,) = self._record([put], [BlobRecord(digest, size, key, written_ms)])
        if isinstance(stored, BlobsError):
            raise stored
        if looker is not None and stored.was_new:
            looker.stored(put.tenant, stored.reference)
        return stored

    def _use(self, put: "_Put", digest: Digest) -> bool:
        """Whether the tenant has these bytes, sound; from then on they are as young as if they were put."""
        used_ms = 0 if put.derivation else self._clock()
        return self._catalog.use_blob(put.tenant, digest, used_ms=used_ms, derivation=put.derivation) is not None

    def _write_small(self, batch: "list[_SmallPut]") -> "list[BlobRecord | None]":
        """Make the bytes of several puts durable in one flush; answers what is to be recorded of those not known."""
        known = self._catalog.known_blobs([(put.tenant, digest) for put, digest, _ in batch])
        written_ms = self._clock()
        news = [(digest, content) for put, digest, content in batch if (put.tenant, digest) not in known]
        keys = iter(self._content.put_all(news) if news else ())
        return [
            None if (put.tenant, digest) in known else BlobRecord(digest, len(content), next(keys), written_ms)
            for put, digest, content in batch
        ]

    def _record_small(
        self, batch: "list[_SmallPut]", written: "Sequence[BlobRecord | None]"
    ) -> list[Stored | BlobsError]:
        outcomes: list[Stored | BlobsError] = []
        news = [(each[0], record) for each, record in zip(batch, written, strict=True) if record is not None]
        recorded = iter(self._record([put for put, _ in news], [record for _, record in news]))
        for each, record in zip(batch, written, strict=True):
            outcomes.append(next(recorded) if record is not None else self._known(*each))
        return outcomes

    def _known(self, put: "_Put", digest: Digest, content: bytes) -> Stored | BlobsError:
        """What a put answers whose bytes were there; if they are not there any more, they are put after all."""
        try:
            if self._use(put, digest):
                return put.stored(digest, len(content), was_new=False)
            written_ms = self._clock()
            written = BlobRecord(digest, len(content), self._content.put(digest, content), written_ms)
        except BlobsError as refusal:
            return refusal
        return self._record([put], [written])[0]

    def _record(self, puts: "list[_Put]", written: Sequence[BlobRecord]) -> list[Stored | BlobsError]:
        """Name durable bytes, which were written after `created_ms`.

        Where the catalog fails, the bytes stay: it may have kept the record before it failed to say so. Bytes that no
        record names are collected.
        """
        news = [put.new(each) for put, each in zip(puts, written, strict=True)]
        winners = self._catalog.add_blobs(news)
        return [self._recorded(*each) for each in zip(puts, news, winners, strict=True)]

    def _recorded(self, put: "_Put", new: NewBlob, winner: BlobRecord | BlobsError) -> Stored | BlobsError:
        """What a put answers whose bytes are recorded, or were refused."""
        if isinstance(winner, BlobsError):
            return winner
        put.room.settle()
        record, is_new = new.record, winner.key == new.record.key
        if not is_new:
            self._content.delete(record.key)
        elif self._clock() - record.created_ms > LEFT_BEHIND_MS and not self._is_there(put.tenant, record):
            return refusals.given_up(record.digest)
        return put.stored(record.digest, record.size, was_new=is_new)

    def _is_there(self, tenant: str, record: BlobRecord) -> bool:
        """Whether recorded bytes are where they were written; if not, they are to be put anew."""
        try:
            self._content.size(record.key)
        except NotFoundError:
            self._catalog.mark_blob(tenant, record.digest, record.key, is_corrupt=True)
            return False
        return True


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

    def new(self, written: BlobRecord) -> NewBlob:
        """What is to be recorded of bytes that were written."""
        record = written if self.derivation else replace(written, used_ms=written.created_ms)
        return NewBlob(self.tenant, record, self.derivation, self.room.name if self.room.is_bounded else None)

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


_SmallPut = tuple[_Put, Digest, bytes]
