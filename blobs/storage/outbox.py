"""Small contents that wait for the commit which names them."""

import threading
from dataclasses import replace

from blobs.domain.digest import Digest
from blobs.domain.errors import NotFoundError, StoreError
from blobs.domain.media_type import BINARY
from blobs.domain.reference import Reference
from blobs.storage.blob_store import BlobStore
from blobs.storage.catalog import Catalog, Change, Finding
from blobs.storage.content import PACKED_BYTES_MAX
from blobs.storage.keeping import BlobRecord

WAITING_BYTES_MAX = 4 * 1024 * 1024
"""Of one turn's contents in memory; beyond it they are put."""


class Outbox:
    """What a turn stores: one flush of all its bytes, then one transaction with their records, findings and names.

    Nobody else can find a content before it is committed or settled. One that is large, or that takes room from a quota
    or may hold secrets, is put at once. Safe to use from several threads.
    """

    def __init__(self, store: BlobStore, catalog: Catalog, tenant: str) -> None:
        """Nothing waits at first, and whatever waits at the end is forgotten."""
        self._store = store
        self._catalog = catalog
        self._tenant = tenant
        self._lock = threading.RLock()
        self._waiting: dict[Digest, bytes] = {}
        self._written: dict[Digest, BlobRecord] = {}
        """Of what waits, that whose bytes are durable since a commit that did not come about."""
        self._findings: dict[tuple[Digest, str], str] = {}

    def put(self, content: bytes, *, media_type: str) -> Reference:
        """Take a content in; raises as `BlobStore.put` does."""
        if len(content) > min(PACKED_BYTES_MAX, self._store.bytes_max) or not self._store.can_put_all:
            return self._store.put(self._tenant, content, media_type=media_type).reference
        digest = Digest.of(content)
        with self._lock:
            self._waiting[digest] = content
            if sum(map(len, self._waiting.values())) > WAITING_BYTES_MAX:
                self.settle()
        return Reference(digest, len(content), media_type)

    def content(self, digest: Digest) -> bytes | None:
        """The bytes of a content that waits."""
        return self._waiting.get(digest)

    def find_finding(self, digest: Digest, kind: str) -> str | None:
        """What was found out about a blob, one that waits or any other."""
        kept = self._findings.get((digest, kind))
        return self._catalog.find_finding(self._tenant, digest, kind) if kept is None else kept

    def save_finding(self, digest: Digest, kind: str, text: str) -> None:
        """Keep a finding with its blob."""
        with self._lock:
            self._findings[digest, kind] = text
            if digest not in self._waiting:
                self._settle_findings()

    def settle(self) -> None:
        """Put what waits: from then on everybody can find it. Raises as `BlobStore.put` does."""
        with self._lock:
            for digest, content in [*self._waiting.items()]:
                self._store.put(self._tenant, content, media_type=BINARY)
                del self._waiting[digest]
            self._written.clear()
            self._settle_findings()

    def commit(self, conversation: str, expected_version: int, change: Change) -> int:
        """`Catalog.commit` of a change, with all that waits in the same transaction; bytes are durable before it.

        Where it raises, everything waits still.
        """
        with self._lock:
            unwritten = [each for each in self._waiting.items() if each[0] not in self._written]
            self._written |= {each.digest: each for each in self._store.write_small(self._tenant, unwritten)}
            blobs = tuple(self._written.values())
            findings = tuple(Finding(*place, text) for place, text in self._findings.items())
            whole = replace(change, blobs=blobs, findings=findings)
            try:
                version = self._catalog.commit(self._tenant, conversation, expected_version, whole)
            except NotFoundError:
                if not self._waiting:
                    raise
                self.settle()  # one that was there when it was looked for is gone: a put sees to that
                return self.commit(conversation, expected_version, change)
            except StoreError:
                self._written.clear()  # they may have been collected
                raise
            for each in blobs:
                self._store.write_again_if_left(self._tenant, each, self._waiting[each.digest])
            for kept in (self._waiting, self._written, self._findings):
                kept.clear()
        return version

    def _settle_findings(self) -> None:
        for (digest, kind), text in [*self._findings.items()]:
            if digest not in self._waiting:
                self._catalog.save_finding(self._tenant, digest, kind, text)
                del self._findings[digest, kind]
