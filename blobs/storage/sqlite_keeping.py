"""Blobs over time in SQLite: the half of the catalog that knows nothing of conversations."""

import functools
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial

from blobs.domain.digest import Digest
from blobs.domain.errors import BlobsError, ConflictError
from blobs.storage import refusals
from blobs.storage.keeping import BlobRecord, Derivation, NewBlob, Pin, Tombstone
from blobs.storage.sqlite_session import Execute, Row, SqliteSession

_BLOB = "select digest, size, key, created_ms, used_ms, is_corrupt from blobs where tenant = ? and digest = ?"


@functools.cache
def _inserted(count: int) -> str:
    """Records of so many blobs that are new, none under a key in the trash; one statement takes one turn at the lock
    of the interpreter, for which many threads wait.
    """
    return f"""insert into blobs (tenant, digest, size, key, created_ms, used_ms, is_corrupt)
        select * from (values {", ".join(["(?, ?, ?, ?, ?, ?, ?)"] * count)})
        where not exists (select 1 from trash where key = column4) on conflict do nothing"""  # noqa: S608  # marks only


@functools.cache
def _unburied(count: int) -> str:
    places = ", ".join(["(?, ?)"] * count)
    return f"delete from tombstones where (tenant, digest) in (values {places})"  # noqa: S608  # marks only


@functools.cache
def _known(count: int) -> str:
    places = ", ".join(["(?, ?)"] * count)
    found = f"select tenant, digest from blobs where (tenant, digest) in (values {places})"  # noqa: S608  # marks only
    return f"{found} and not is_corrupt"


_IS_HELD = """with recursive origins (digest) as (
        select own.digest
        union select source from derived, origins where derived.tenant = ?1 and derived.digest = origins.digest)
    select 1 from origins join blobs as origin on origin.tenant = ?1 and origin.digest = origins.digest
    where origin.used_ms > ?2
    or exists (select 1 from names where names.tenant = ?1 and names.digest = origin.digest)
    or exists (select 1 from turns where turns.tenant = ?1 and turns.record_digest = origin.digest)
    or exists (select 1 from pins where pins.tenant = ?1 and pins.digest = origin.digest
        and (until_ms is null or until_ms > ?3))"""
"""Whether the blob `own`, or what it was derived from at any remove, is in use: `(tenant, since_ms, now_ms, …)`."""

_UNUSED = f"""select digest, size, key, created_ms, used_ms, is_corrupt from blobs as own
    where tenant = ?1 and used_ms <= ?2 and not exists ({_IS_HELD})"""  # noqa: S608  # a constant

_WITH_DERIVED = """with recursive made (digest) as (
        select ?2
        union select derived.digest from derived, made where derived.tenant = ?1 and derived.source = made.digest)
    select digest, size, key, created_ms, used_ms, is_corrupt from blobs where tenant = ?1 and digest in made"""
"""The blob, and what was derived from it at any remove: `(tenant, digest)`."""

_IS_UNRECORDED = "not exists (select 1 from blobs where key = ?1) and not exists (select 1 from trash where key = ?1)"


class SqliteKeeping:
    """`BlobRecords`, `Retention` and `Quotas` over a session."""

    def __init__(self, session: SqliteSession) -> None:
        self._session = session

    def find_blob(self, tenant: str, digest: Digest) -> BlobRecord | None:
        rows = self._session.read(_BLOB, (tenant, digest.to_bytes()))
        return _blob(rows[0]) if rows else None

    def known_blobs(self, places: Sequence[tuple[str, Digest]]) -> set[tuple[str, Digest]]:
        wanted = [each for tenant, digest in places for each in (tenant, digest.to_bytes())]
        rows = self._session.read(_known(len(places)), wanted) if places else []
        return {(tenant, Digest.from_bytes(digest)) for tenant, digest in rows}

    def use_blob(
        self, tenant: str, digest: Digest, *, used_ms: int, derivation: Derivation | None = None
    ) -> BlobRecord | None:
        def use(execute: Execute) -> BlobRecord | None:
            row = execute(f"{_BLOB} and not is_corrupt", (tenant, digest.to_bytes())).fetchone()
            if row is None:
                return None
            _link(execute, tenant, digest, derivation)
            return _used(execute, tenant, digest, used_ms)

        # Most puts are of new bytes: they find nothing, and need not wait in line to learn it.
        return self._session.write(use) if self.find_blob(tenant, digest) is not None else None

    def add_blob(
        self,
        tenant: str,
        record: BlobRecord,
        *,
        derivation: Derivation | None = None,
        reservation: str | None = None,
    ) -> BlobRecord:
        new = NewBlob(tenant, record, derivation, reservation)
        return self._session.write(partial(record_blob, new))

    def add_blobs(self, blobs: Sequence[NewBlob]) -> list[BlobRecord | BlobsError]:
        if len(blobs) > 1 and not any(each.derivation for each in blobs):
            with suppress(BlobsError):  # one of them is not as most are: then each is recorded by itself
                return self._session.write(partial(_add_together, blobs))
        return self._session.write_all([partial(record_blob, each) for each in blobs])

    def list_blobs(self, tenant: str, *, after: Digest | None = None, limit: int = 1000) -> list[BlobRecord]:
        rows = self._session.read(
            """select digest, size, key, created_ms, used_ms, is_corrupt from blobs
            where tenant = ? and digest > ? order by digest limit ?""",
            (tenant, _start(after), limit),
        )
        return [_blob(row) for row in rows]

    def list_tenants(self, *, after: str | None = None, limit: int = 1000) -> list[str]:
        rows = self._session.read(
            "select tenant from tenants where blobs > 0 and (?1 is null or tenant > ?1) order by tenant limit ?2",
            (after, limit),
        )
        return [row[0] for row in rows]

    def mark_blob(self, tenant: str, digest: Digest, key: str, *, is_corrupt: bool) -> bool:
        statement = "update blobs set is_corrupt = ? where tenant = ? and digest = ? and key = ?"
        values = (is_corrupt, tenant, digest.to_bytes(), key)
        return self._session.write(lambda execute: bool(execute(statement, values).rowcount))

    def find_derived(self, tenant: str, derivation: Derivation) -> Digest | None:
        rows = self._session.read(
            "select digest from derived where tenant = ? and source = ? and kind = ?",
            (tenant, derivation.source.to_bytes(), derivation.kind),
        )
        return Digest.from_bytes(rows[0][0]) if rows else None

    def forget_derived(self, tenant: str, digest: Digest) -> bool:
        statement = "delete from derived where tenant = ? and digest = ?"
        values = (tenant, digest.to_bytes())
        return self._session.write(lambda execute: bool(execute(statement, values).rowcount))

    def pin_blob(self, tenant: str, digest: Digest, pin: Pin) -> None:
        def hold(execute: Execute) -> None:
            require_blobs(execute, tenant, [digest])
            execute("replace into pins values (?, ?, ?, ?)", (tenant, digest.to_bytes(), pin.name, pin.until_ms))

        self._session.write(hold)

    def unpin_blob(self, tenant: str, digest: Digest, name: str) -> bool:
        statement = "delete from pins where tenant = ? and digest = ? and name = ?"
        values = (tenant, digest.to_bytes(), name)
        return self._session.write(lambda execute: bool(execute(statement, values).rowcount))

    def list_pins(self, tenant: str, digest: Digest) -> list[Pin]:
        rows = self._session.read(
            "select name, until_ms from pins where tenant = ? and digest = ? order by name",
            (tenant, digest.to_bytes()),
        )
        return [Pin(*row) for row in rows]

    def list_unused(
        self, tenant: str, *, since_ms: int, now_ms: int, after: Digest | None = None, limit: int = 1000
    ) -> list[BlobRecord]:
        rows = self._session.read(
            f"{_UNUSED} and digest > ?4 order by digest limit ?5", (tenant, since_ms, now_ms, _start(after), limit)
        )
        return [_blob(row) for row in rows]

    def remove_unused(self, tenant: str, digests: Sequence[Digest], *, since_ms: int, now_ms: int) -> list[BlobRecord]:
        def remove(execute: Execute) -> list[BlobRecord]:
            removed = []
            for digest in digests:
                raw = digest.to_bytes()
                row = execute(f"{_UNUSED} and digest = ?4", (tenant, since_ms, now_ms, raw)).fetchone()
                if row is not None:
                    _remove(execute, tenant, raw, now_ms)
                    removed.append(_blob(row))
            return removed

        return self._session.write(remove)

    def purge_blob(self, tenant: str, digest: Digest, *, now_ms: int) -> list[BlobRecord]:
        def purge(execute: Execute) -> list[BlobRecord]:
            rows = execute(f"{_WITH_DERIVED} and key <> '' order by digest", (tenant, digest.to_bytes())).fetchall()
            for row in rows:
                _purge(execute, tenant, row[0], now_ms)
            return [_blob(row) for row in rows]

        return self._session.write(purge)

    def list_unrecorded(self, keys: Sequence[str]) -> list[str]:
        return [key for key in keys if self._session.read(f"select 1 where {_IS_UNRECORDED}", (key,))]

    def trash_unrecorded(self, keys: Sequence[str], *, now_ms: int) -> list[str]:
        statement = f"insert into trash select ?1, ?2 where {_IS_UNRECORDED}"

        def take(execute: Execute) -> list[str]:
            return [key for key in keys if execute(statement, (key, now_ms)).rowcount]

        return self._session.write(take)

    def list_trash(self, *, before_ms: int, limit: int = 1000) -> list[str]:
        statement = "select key from trash where since_ms <= ? order by since_ms, key limit ?"
        return [row[0] for row in self._session.read(statement, (before_ms, limit))]

    def empty_trash(self, keys: Sequence[str]) -> None:
        def forget(execute: Execute) -> None:
            for key in keys:
                execute("delete from trash where key = ?", (key,))

        self._session.write(forget)

    def find_tombstone(self, tenant: str, digest: Digest) -> Tombstone | None:
        return _tombstone(self._session.read(_TOMBSTONE, (tenant, digest.to_bytes())))

    def forget_tombstones(self, *, before_ms: int) -> int:
        statement = "delete from tombstones where removed_ms < ?"
        return self._session.write(lambda execute: int(execute(statement, (before_ms,)).rowcount))

    def tenant_bytes(self, tenant: str) -> int:
        rows = self._session.read("select bytes from tenants where tenant = ?", (tenant,))
        return int(rows[0][0]) if rows else 0

    def reserve(self, tenant: str, reservation: str, size: int, *, bytes_max: int, now_ms: int, until_ms: int) -> None:
        def set_aside(execute: Execute) -> None:
            execute("delete from reservations where until_ms <= ?", (now_ms,))
            (used,) = execute(
                """select coalesce((select bytes from tenants where tenant = ?1), 0)
                + coalesce((select sum(bytes) from reservations where tenant = ?1 and name <> ?2), 0)""",
                (tenant, reservation),
            ).fetchone()
            if used + size > bytes_max:
                raise refusals.over_quota(size, used=used, bytes_max=bytes_max)
            execute("replace into reservations values (?, ?, ?, ?)", (tenant, reservation, size, until_ms))

        self._session.write(set_aside)

    def release(self, tenant: str, reservation: str) -> None:
        statement = "delete from reservations where tenant = ? and name = ?"
        self._session.write(lambda execute: execute(statement, (tenant, reservation)) and None)


_IS_NAMED = """select 1 where exists (select 1 from names where tenant = ?1 and digest = ?2)
    or exists (select 1 from turns where tenant = ?1 and record_digest = ?2)"""

_TOMBSTONE = "select digest, size, type, tool, removed_ms from tombstones where tenant = ? and digest = ?"


def require_blobs(execute: Execute, tenant: str, digests: Iterable[Digest]) -> None:
    """Raise `NotFoundError` for the first blob that is not recorded."""
    for digest in digests:
        place = (tenant, digest.to_bytes())
        if not execute("select 1 from blobs where tenant = ? and digest = ?", place).fetchone():
            raise refusals.no_blob(digest, _tombstone(execute(_TOMBSTONE, place).fetchall()))


def label(execute: Execute, tenant: str, digest: Digest, media_type: str, tool: str | None) -> None:
    """Note by what type and tool a blob was named last, for its tombstone."""
    execute(
        "update blobs set named_type = ?, named_tool = ? where tenant = ? and digest = ?",
        (media_type, tool, tenant, digest.to_bytes()),
    )


def _link(execute: Execute, tenant: str, digest: Digest, derivation: Derivation | None) -> None:
    if derivation is not None:
        require_blobs(execute, tenant, [derivation.source])
        execute(
            "replace into derived values (?, ?, ?, ?)",
            (tenant, derivation.source.to_bytes(), derivation.kind, digest.to_bytes()),
        )


def record_blob(new: NewBlob, execute: Execute) -> BlobRecord:
    """Record a blob as `add_blob` does."""
    record = new.record
    added = execute(_inserted(1), _row(new)).rowcount
    if not added:
        _take_place(new, execute)
    execute(_unburied(1), (new.tenant, record.digest.to_bytes()))
    if new.reservation is not None:
        execute("delete from reservations where tenant = ? and name = ?", (new.tenant, new.reservation))
    _link(execute, new.tenant, record.digest, new.derivation)
    return record if added else _used(execute, new.tenant, record.digest, record.used_ms)


def _add_together(news: Sequence[NewBlob], execute: Execute) -> list[BlobRecord | BlobsError]:
    """Record blobs of which none is there already; raises `ConflictError` where that is not so."""
    rows = [_row(each) for each in news]
    if execute(_inserted(len(rows)), [cell for row in rows for cell in row]).rowcount != len(rows):
        raise ConflictError("One of the blobs is recorded already.")
    execute(_unburied(len(rows)), [cell for row in rows for cell in row[:2]])
    for each in news:
        if each.reservation is not None:
            execute("delete from reservations where tenant = ? and name = ?", (each.tenant, each.reservation))
    return [each.record for each in news]


def _row(new: NewBlob) -> tuple[str, bytes, int, str, int, int, bool]:
    record = new.record
    times = (record.created_ms, record.used_ms)
    return (new.tenant, record.digest.to_bytes(), record.size, record.key, *times, record.is_corrupt)


def _take_place(new: NewBlob, execute: Execute) -> None:
    """Record a blob in place of a corrupt one; nothing is changed where there is a sound one."""
    record = new.record
    place = (new.tenant, record.digest.to_bytes())
    if execute("select 1 from trash where key = ?", (record.key,)).fetchone():
        raise refusals.given_up(record.digest)
    execute(
        """insert or ignore into trash select key, ? from blobs
        where tenant = ? and digest = ? and is_corrupt and key <> ''""",
        (record.created_ms, *place),
    )
    execute(
        "update blobs set key = ?, size = ?, is_corrupt = 0 where tenant = ? and digest = ? and is_corrupt",
        (record.key, record.size, *place),
    )


def _used(execute: Execute, tenant: str, digest: Digest, used_ms: int) -> BlobRecord:
    place = (tenant, digest.to_bytes())
    execute("update blobs set used_ms = ?1 where tenant = ?2 and digest = ?3 and used_ms < ?1", (used_ms, *place))
    return _blob(execute(_BLOB, place).fetchone())


def _remove(execute: Execute, tenant: str, raw: bytes, now_ms: int) -> None:
    """Record out, key into the trash, and a tombstone for what was named; the rest goes by cascade."""
    place = (tenant, raw)
    _bury(execute, tenant, raw, now_ms)
    execute("delete from blobs where tenant = ? and digest = ?", place)


def _bury(execute: Execute, tenant: str, raw: bytes, now_ms: int) -> None:
    values = (now_ms, tenant, raw)
    execute(
        "insert or ignore into trash select key, ? from blobs where tenant = ? and digest = ? and key <> ''", values
    )
    execute(
        """replace into tombstones select tenant, digest, size, named_type, named_tool, ? from blobs
        where tenant = ? and digest = ? and named_type is not null""",
        values,
    )


def _purge(execute: Execute, tenant: str, raw: bytes, now_ms: int) -> None:
    """As a removal; but a record that something names stays, without a key and all that was found out."""
    if not execute(_IS_NAMED, (tenant, raw)).fetchone():
        _remove(execute, tenant, raw, now_ms)
        return
    _bury(execute, tenant, raw, now_ms)
    for statement in (
        "delete from findings where tenant = ? and digest = ?",
        "delete from pins where tenant = ? and digest = ?",
        "delete from derived where tenant = ? and source = ?",
        "delete from derived where tenant = ? and digest = ?",
        "update blobs set key = '', is_corrupt = 1 where tenant = ? and digest = ?",
    ):
        execute(statement, (tenant, raw))


def _start(after: Digest | None) -> bytes:
    return b"" if after is None else after.to_bytes()


def _blob(row: Row) -> BlobRecord:
    digest, size, key, created_ms, used_ms, is_corrupt = row
    return BlobRecord(Digest.from_bytes(digest), size, key, created_ms, used_ms, bool(is_corrupt))


def _tombstone(rows: Sequence[Row]) -> Tombstone | None:
    return Tombstone(Digest.from_bytes(rows[0][0]), *rows[0][1:]) if rows else None
