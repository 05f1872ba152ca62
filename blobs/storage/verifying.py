"""Whether stored bytes are still the bytes that were put."""

import hashlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from blobs.domain.digest import Digest
from blobs.domain.errors import NotFoundError, StoreError
from blobs.storage.blob_store import now_ms
from blobs.storage.catalog import Catalog
from blobs.storage.content import CHUNK_BYTES, ContentStore
from blobs.storage.keeping import BlobRecord

_PAGE = 256

Fault = Literal["missing", "wrong length", "wrong bytes", "unreadable"]


@dataclass(frozen=True, slots=True)
class Verified:
    """One blob that was looked at; `fault` is what is wrong with its bytes.

    `is_derived`: the damaged blob was made from another, so it was dropped and is made anew when it is needed.
    """

    tenant: str
    digest: Digest
    size: int
    fault: Fault | None = None
    is_derived: bool = False


class Verifier:
    """Hashes stored blobs anew."""

    def __init__(self, content: ContentStore, catalog: Catalog, *, clock: Callable[[], int] = now_ms) -> None:
        """Compare the bytes in `content` with the records in `catalog`."""
        self._content = content
        self._catalog = catalog
        self._clock = clock

    def verify(self, *, share: float = 1.0) -> Iterator[Verified]:
        """Hash every blob of all tenants, or a random share of them, each as it is asked for.

        A damaged blob is marked, so that reads of it fail and a put of the same bytes replaces it; one that is sound
        again loses its mark.
        """
        draw = random.Random()  # noqa: S311  # a sample, not a secret
        for tenant, record in all_records(self._catalog):
            if record.is_purged:
                continue
            if share >= 1 or draw.random() < share:
                checked = self._check(tenant, record)
                if checked is not None:
                    yield checked

    def _check(self, tenant: str, record: BlobRecord) -> Verified | None:
        """What became of one blob; `None` for one that was removed or put anew meanwhile."""
        fault = self._fault(record)
        found = self._catalog.find_blob(tenant, record.digest)
        if found is None or found.key != record.key:
            return None
        verified = Verified(tenant, record.digest, record.size, fault)
        if fault is None:
            if found.is_corrupt:
                self._catalog.mark_blob(tenant, record.digest, record.key, is_corrupt=False)
            return verified
        if fault == "unreadable":
            return verified  # the disk may come back
        self._catalog.mark_blob(tenant, record.digest, record.key, is_corrupt=True)
        if self._catalog.forget_derived(tenant, record.digest):
            # Gone at once, unless somebody named or put it besides.
            self._catalog.remove_unused(tenant, [record.digest], since_ms=0, now_ms=self._clock())
            return Verified(tenant, record.digest, record.size, fault, is_derived=True)
        return verified

    def _fault(self, record: BlobRecord) -> Fault | None:
        hasher = hashlib.sha256()
        try:
            if self._content.size(record.key) != record.size:
                return "wrong length"
            for start in range(0, record.size, CHUNK_BYTES):
                hasher.update(self._content.read(record.key, start, min(start + CHUNK_BYTES, record.size)))
        except NotFoundError:
            return "missing"
        except StoreError:
            return "unreadable"
        return None if hasher.digest() == record.digest.to_bytes() else "wrong bytes"


def all_records(catalog: Catalog) -> Iterator[tuple[str, BlobRecord]]:
    """Every blob of every tenant, by tenant and digest."""
    tenant_after = None
    while tenants := catalog.list_tenants(after=tenant_after, limit=_PAGE):
        for tenant in tenants:
            after = None
            while page := catalog.list_blobs(tenant, after=after, limit=_PAGE):
                yield from ((tenant, each) for each in page)
                after = page[-1].digest
        tenant_after = tenants[-1]
