"""Keys in memory."""

from blobs.storage import refusals
from blobs.storage.access import KeyRecord
from blobs.storage.memory_keeping import MemoryKeeping, require_recordable


class MemoryAccess(MemoryKeeping):
    """`Access` in memory."""

    def __init__(self) -> None:
        super().__init__()
        self._keys: dict[str, KeyRecord] = {}

    def add_key(self, record: KeyRecord) -> None:
        require_recordable(record)
        with self._lock:
            if record.id in self._keys or self._key_of(record.hash) is not None:
                raise refusals.key_exists(record.id)
            self._keys[record.id] = record

    def find_key(self, hash_: bytes) -> KeyRecord | None:
        with self._lock:
            return self._key_of(hash_)

    def has_keys(self) -> bool:
        return bool(self._keys)

    def list_keys(self, *, after: str | None = None, limit: int = 1000) -> list[KeyRecord]:
        with self._lock:
            found = [each for each in self._keys.values() if after is None or each.id > after]
        return sorted(found, key=lambda each: each.id)[:limit]

    def remove_key(self, id_: str) -> bool:
        with self._lock:
            return self._keys.pop(id_, None) is not None

    def _key_of(self, hash_: bytes) -> KeyRecord | None:
        return next((each for each in self._keys.values() if each.hash == hash_), None)
