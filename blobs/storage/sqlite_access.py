"""Keys in SQLite."""

from blobs.storage import refusals
from blobs.storage.access import KeyRecord
from blobs.storage.sqlite_keeping import SqliteKeeping
from blobs.storage.sqlite_session import Execute

_KEY = "select id, hash, tenant, role, created_ms from keys"


class SqliteAccess(SqliteKeeping):
    """`Access` over a session."""

    def add_key(self, record: KeyRecord) -> None:
        def add(execute: Execute) -> None:
            if execute("select 1 from keys where id = ? or hash = ?", (record.id, record.hash)).fetchone():
                raise refusals.key_exists(record.id)
            values = (record.id, record.hash, record.tenant, record.role, record.created_ms)
            execute("insert into keys values (?, ?, ?, ?, ?)", values)

        self._session.write(add)

    def find_key(self, hash_: bytes) -> KeyRecord | None:
        rows = self._session.read(f"{_KEY} where hash = ?", (hash_,))
        return KeyRecord(*rows[0]) if rows else None

    def has_keys(self) -> bool:
        return bool(self._session.read("select 1 from keys limit 1"))

    def list_keys(self, *, after: str | None = None, limit: int = 1000) -> list[KeyRecord]:
        rows = self._session.read(f"{_KEY} where ?1 is null or id > ?1 order by id limit ?2", (after, limit))
        return [KeyRecord(*row) for row in rows]

    def remove_key(self, id_: str) -> bool:
        return self._session.write(lambda execute: bool(execute("delete from keys where id = ?", (id_,)).rowcount))
