"""What the book of records promises about keys: who comes with one is its tenant."""

from dataclasses import dataclass, field
from typing import Protocol

from blobs.domain.keys import Role


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A key of a tenant: `id` names it in lists, `hash` is all that is kept of it (`hash_key`)."""

    id: str
    hash: bytes = field(repr=False)
    tenant: str
    role: Role
    created_ms: int


class Access(Protocol):
    """The keys of all tenants."""

    def add_key(self, record: KeyRecord) -> None:
        """Let this key in. Raises `ConflictError` where its id or hash is there already."""
        ...

    def find_key(self, hash_: bytes) -> KeyRecord | None:
        """The key with this hash."""
        ...

    def has_keys(self) -> bool:
        """Whether there is any key; asked for every request to a service that has none."""
        ...

    def list_keys(self, *, after: str | None = None, limit: int = 1000) -> list[KeyRecord]:
        """Keys in the order of their ids (by code point), `limit` at a time."""
        ...

    def remove_key(self, id_: str) -> bool:
        """Let this key in no more, from now on; was it there?"""
        ...
