"""What nothing names any more goes: records first, bytes a grace time later.

Safe beside writers, readers and other collectors at every step, whatever the grace time, because the catalog decides
each removal in one transaction and a key is never used twice.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from blobs.domain.errors import NotFoundError
from blobs.storage.blob_store import now_ms
from blobs.storage.catalog import Catalog
from blobs.storage.content import LEFT_BEHIND_MS, ContentStore
from blobs.storage.keeping import BlobRecord

TOMBSTONES_KEPT_MS = 365 * 24 * 3600 * 1000
"""How long a stale name can say what it was: a conversation that was put aside for longer is not carried on."""

BATCH = 256
"""Blobs or keys in one transaction, so that writers do not wait long for it."""


@dataclass(frozen=True, slots=True)
class Unused:
    """A blob that nothing names, pins or used within the grace time."""

    tenant: str
    record: BlobRecord


@dataclass(frozen=True, slots=True)
class Collected:
    """What a collection did: blobs removed and their size, keys whose bytes are freed, leftovers of dead writers."""

    blobs: int
    size_bytes: int
    keys_freed: int
    left_behind: int
    tidied: int


class Collector:
    """Removes unused blobs of all tenants, bytes that no record names, and what dead writers left."""

    def __init__(
        self, content: ContentStore, catalog: Catalog, *, grace_ms: int, clock: Callable[[], int] = now_ms
    ) -> None:
        """Collect from `content` and `catalog` what is older than the grace time."""
        self._content = content
        self._catalog = catalog
        self._grace_ms = grace_ms
        self._clock = clock

    def unused(self) -> Iterator[Unused]:
        """The blobs that `collect` would remove now, by tenant and digest. Changes nothing."""
        now = self._clock()
        for tenant in self._tenants():
            for page in self._unused(tenant, now):
                yield from (Unused(tenant, each) for each in page)

    def collect(self) -> Collected:
        """Remove what is unused, and free what was removed a grace time ago. Raises `StoreError`; then it can go on."""
        now = self._clock()
        removed = [each for tenant in self._tenants() for each in self._remove(tenant, now)]
        left_behind = self._trash_left_behind(now)
        freed = self._free(now)
        tidied = self._content.tidy()
        self._catalog.forget_tombstones(before_ms=now - TOMBSTONES_KEPT_MS)
        return Collected(len(removed), sum(removed), freed, left_behind, tidied)

    def _tenants(self) -> Iterator[str]:
        after = None
        while page := self._catalog.list_tenants(after=after, limit=BATCH):
            yield from page
            after = page[-1]

    def _unused(self, tenant: str, now: int) -> Iterator[list[BlobRecord]]:
        after = None
        while page := self._catalog.list_unused(
            tenant, since_ms=now - self._grace_ms, now_ms=now, after=after, limit=BATCH
        ):
            yield page
            after = page[-1].digest

    def _remove(self, tenant: str, now: int) -> Iterator[int]:
        """Remove a tenant's unused blobs; the size of each."""
        for page in self._unused(tenant, now):
            digests = [each.digest for each in page]
            removed = self._catalog.remove_unused(tenant, digests, since_ms=now - self._grace_ms, now_ms=now)
            yield from (each.size for each in removed)

    def _trash_left_behind(self, now: int) -> int:
        """Give up bytes whose writer died before it recorded them."""
        count = 0
        keys = self._content.keys()
        while batch := list(itertools.islice(keys, BATCH)):
            old = [each for each in self._catalog.list_unrecorded(batch) if self._is_left_behind(each, now)]
            count += len(self._catalog.trash_unrecorded(old, now_ms=now)) if old else 0
        return count

    def _is_left_behind(self, key: str, now: int) -> bool:
        with suppress(NotFoundError):
            return self._content.written_ms(key) < now - LEFT_BEHIND_MS
        return False

    def _free(self, now: int) -> int:
        """Delete bytes, then forget their keys: a crash in between repeats a deletion and loses nothing."""
        count = 0
        while keys := self._catalog.list_trash(before_ms=now - self._grace_ms, limit=BATCH):
            for key in keys:
                count += self._content.delete(key)
            self._catalog.empty_trash(keys)
        return count
