"""What the book of records promises about blobs over time: which there are, what keeps them, and how they go.

A blob is kept while a conversation or a turn's record names it, while a pin holds it, while it was used lately, and
while a blob it was derived from is kept. Removal is in two phases: the record goes and its key comes into the trash in
one transaction, and the bytes go later. A key in the trash is never recorded again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from blobs.domain.digest import Digest
from blobs.domain.errors import BlobsError


@dataclass(frozen=True, slots=True)
class BlobRecord:
    """A blob of one tenant: `key` says where its bytes lie, `created_ms` (Unix time) when it was recorded.

    `used_ms` is when it was last put or opened, 0 where it never was in its own right (a derived blob). `is_corrupt`
    says that its bytes were found not to be its bytes. One that was purged while it was named has no key any more.
    """

    digest: Digest
    size: int
    key: str
    created_ms: int
    used_ms: int = 0
    is_corrupt: bool = False

    @property
    def is_purged(self) -> bool:
        """Whether its bytes were removed although something named it."""
        return not self.key


@dataclass(frozen=True, slots=True)
class Derivation:
    """Where a derived blob comes from: which blob, and by what recipe."""

    source: Digest
    kind: str


@dataclass(frozen=True, slots=True)
class NewBlob:
    """A blob to be recorded, whose bytes are durable; `reservation` is the name of what was set aside for it."""

    tenant: str
    record: BlobRecord
    derivation: Derivation | None = None
    reservation: str | None = None


@dataclass(frozen=True, slots=True)
class Pin:
    """What holds a blob by name; `until_ms` (Unix time) is the end of a lease, `None` for as long as it is there."""

    name: str
    until_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What a removed blob was when a conversation named it last; `tool` is whose result it was."""

    digest: Digest
    size: int
    type: str
    tool: str | None
    removed_ms: int


class BlobRecords(Protocol):
    """Which blobs there are. The digest of a tenant's blob names one record; another tenant's is not seen."""

    def find_blob(self, tenant: str, digest: Digest) -> BlobRecord | None:
        """The tenant's blob with this digest."""
        ...

    def known_blobs(self, places: Sequence[tuple[str, Digest]]) -> set[tuple[str, Digest]]:
        """Those of these blobs, each of a tenant, that are recorded and sound."""
        ...

    def use_blob(
        self, tenant: str, digest: Digest, *, used_ms: int, derivation: Derivation | None = None
    ) -> BlobRecord | None:
        """The tenant's blob, used at this time and linked to its source in the transaction that finds it.

        `None`, and nothing is changed, where there is none or it is corrupt: then its bytes are to be put anew. Raises
        `NotFoundError` where the source is not recorded.
        """
        ...

    def add_blob(
        self,
        tenant: str,
        record: BlobRecord,
        *,
        derivation: Derivation | None = None,
        reservation: str | None = None,
    ) -> BlobRecord:
        """Record a blob whose bytes are durable, in place of the reservation for it. Answers the winner.

        A sound record of this digest that was there wins, and is used at the later of both times; a corrupt one gives
        way and its key comes into the trash. Raises `NotFoundError` where the source is not recorded, and a retryable
        `StoreError` where the key is in the trash already.
        """
        ...

    def add_blobs(self, blobs: Sequence[NewBlob]) -> list["BlobRecord | BlobsError"]:
        """Record several blobs, each as `add_blob` does; what that raises for one is the answer for this one.

        Raises `StoreError` where the store fails; nothing was changed then.
        """
        ...

    def list_blobs(self, tenant: str, *, after: Digest | None = None, limit: int = 1000) -> list[BlobRecord]:
        """Blobs of the tenant in the order of their digests, `limit` at a time."""
        ...

    def list_tenants(self, *, after: str | None = None, limit: int = 1000) -> list[str]:
        """Tenants that have blobs, ordered by code point, `limit` at a time."""
        ...

    def mark_blob(self, tenant: str, digest: Digest, key: str, *, is_corrupt: bool) -> bool:
        """Note whether the bytes under this key are what they should be; is this still the blob's key?"""
        ...

    def find_derived(self, tenant: str, derivation: Derivation) -> Digest | None:
        """The blob that was derived from another by this recipe."""
        ...

    def forget_derived(self, tenant: str, digest: Digest) -> bool:
        """Forget that the blob was derived from any; was it? Its record stays until it is removed as unused."""
        ...


class Retention(Protocol):
    """What keeps blobs, and how they go when nothing does."""

    def pin_blob(self, tenant: str, digest: Digest, pin: Pin) -> None:
        """Hold a blob, or replace the pin of this name; `NotFoundError` where the blob is not recorded."""
        ...

    def unpin_blob(self, tenant: str, digest: Digest, name: str) -> bool:
        """Let go of a blob; was it pinned by this name?"""
        ...

    def list_pins(self, tenant: str, digest: Digest) -> list[Pin]:
        """The pins of a blob by name, expired ones too."""
        ...

    def list_unused(
        self, tenant: str, *, since_ms: int, now_ms: int, after: Digest | None = None, limit: int = 1000
    ) -> list[BlobRecord]:
        """Blobs that nothing keeps and that were not used after `since_ms`, in the order of their digests."""
        ...

    def remove_unused(self, tenant: str, digests: Sequence[Digest], *, since_ms: int, now_ms: int) -> list[BlobRecord]:
        """Remove those of the blobs that are unused at this moment, and put their keys into the trash; answers them.

        Their findings, pins and derivations go with them; of one that was named a tombstone stays.
        """
        ...

    def purge_blob(self, tenant: str, digest: Digest, *, now_ms: int) -> list[BlobRecord]:
        """Take the bytes of a blob, and of all that was derived from it, whatever names or pins them.

        Answers the records as they were, in the order of their digests; none where there is none, or it was purged. The
        keys come into the trash; findings, pins and derivations go. A record that something names stays, corrupt and
        without a key, until nothing does; a tombstone says what it was.
        """
        ...

    def list_unrecorded(self, keys: Sequence[str]) -> list[str]:
        """Those of the keys that no record names and that are not in the trash, in their order."""
        ...

    def trash_unrecorded(self, keys: Sequence[str], *, now_ms: int) -> list[str]:
        """Put those of the keys into the trash that no record names at this moment; answers them."""
        ...

    def list_trash(self, *, before_ms: int, limit: int = 1000) -> list[str]:
        """Keys that came into the trash at this time or earlier, oldest first; then by code point."""
        ...

    def empty_trash(self, keys: Sequence[str]) -> None:
        """Forget keys whose bytes are gone."""
        ...

    def find_tombstone(self, tenant: str, digest: Digest) -> Tombstone | None:
        """What a removed or purged blob was; `None` for one that is there, never was, or was never named."""
        ...

    def forget_tombstones(self, *, before_ms: int) -> int:
        """Forget what was removed before this time; answers how many."""
        ...


class Quotas(Protocol):
    """How much a tenant has: each of its blobs counts once, by its size."""

    def tenant_bytes(self, tenant: str) -> int:
        """The size of all blobs of the tenant, without reservations."""
        ...

    def reserve(self, tenant: str, reservation: str, size: int, *, bytes_max: int, now_ms: int, until_ms: int) -> None:
        """Set aside so many bytes, in place of what this reservation held before.

        Raises `LimitError`, and nothing is changed, where blobs and the reservations of others that have not ended
        leave less.
        """
        ...

    def release(self, tenant: str, reservation: str) -> None:
        """Give up a reservation; one that is gone is no error."""
        ...
