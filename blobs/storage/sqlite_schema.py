"""The tables of the SQLite catalog, as the steps that lead to them."""

from collections.abc import Callable
from typing import Any

from blobs.domain.errors import StoreError

APPLICATION_ID = 0x424C4F42
"""`BLOB` in ASCII; marks the file as a catalog of this project."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """create table blobs (
            tenant text not null, digest blob not null, size integer not null, key text not null,
            created_ms integer not null,
            primary key (tenant, digest)
        ) strict, without rowid""",
        """create table findings (
            tenant text not null, digest blob not null, kind text not null, text text not null,
            primary key (tenant, digest, kind),
            foreign key (tenant, digest) references blobs on delete cascade
        ) strict""",
        """create table conversations (
            tenant text not null, id text not null, version integer not null, service text, tools text,
            created_ms integer not null,
            primary key (tenant, id)
        ) strict""",
        """create table names (
            tenant text not null, conversation text not null, number integer not null,
            digest blob not null, size integer not null, type text not null, turn integer, tool text,
            is_previewed integer not null, previewed_turn integer,
            primary key (tenant, conversation, number),
            foreign key (tenant, conversation) references conversations on delete cascade,
            foreign key (tenant, digest) references blobs
        ) strict, without rowid""",
        "create index names_by_blob on names (tenant, digest)",
        """create table turns (
            tenant text not null, conversation text not null, number integer not null,
            request_digest text not null, answer text not null,
            record_digest blob, record_size integer, record_type text,
            primary key (tenant, conversation, number),
            foreign key (tenant, conversation) references conversations on delete cascade,
            foreign key (tenant, record_digest) references blobs
        ) strict""",
        "create index turns_by_blob on turns (tenant, record_digest) where record_digest is not null",
    ),
    (
        "alter table blobs add column used_ms integer not null default 0",
        "alter table blobs add column is_corrupt integer not null default 0",
        "alter table blobs add column named_type text",
        "alter table blobs add column named_tool text",
        "update blobs set used_ms = created_ms",
        """update blobs set (named_type, named_tool) = (
            select type, tool from names where names.tenant = blobs.tenant and names.digest = blobs.digest
            order by conversation desc, number desc limit 1
        )""",
        "create index blobs_by_key on blobs (key)",
        """create table derived (
            tenant text not null, source blob not null, kind text not null, digest blob not null,
            primary key (tenant, source, kind),
            foreign key (tenant, source) references blobs on delete cascade,
            foreign key (tenant, digest) references blobs on delete cascade
        ) strict, without rowid""",
        "create index derived_by_blob on derived (tenant, digest)",
        # Until now nothing but a finding about its source said what a derived blob was made from.
        """insert into derived
            select tenant, digest, kind, unhex(substr(text ->> '$.digest', 8)) from findings
            where (kind glob 'columnar/*' or kind glob 'index/*')
            and exists (select 1 from blobs where blobs.tenant = findings.tenant
                and blobs.digest = unhex(substr(text ->> '$.digest', 8)))""",
        """create table pins (
            tenant text not null, digest blob not null, name text not null, until_ms integer,
            primary key (tenant, digest, name),
            foreign key (tenant, digest) references blobs on delete cascade
        ) strict, without rowid""",
        "create table trash (key text primary key, since_ms integer not null) strict, without rowid",
        "create index trash_by_age on trash (since_ms, key)",
        """create table tombstones (
            tenant text not null, digest blob not null, size integer not null, type text not null, tool text,
            removed_ms integer not null,
            primary key (tenant, digest)
        ) strict, without rowid""",
        """create table tenants (
            tenant text primary key, blobs integer not null, bytes integer not null
        ) strict, without rowid""",
        "insert into tenants select tenant, count(*), sum(size) from blobs group by tenant",
        """create trigger blob_added after insert on blobs begin
            insert into tenants values (new.tenant, 1, new.size)
                on conflict (tenant) do update set blobs = blobs + 1, bytes = bytes + excluded.bytes;
        end""",
        """create trigger blob_removed after delete on blobs begin
            update tenants set blobs = blobs - 1, bytes = bytes - old.size where tenant = old.tenant;
        end""",
        """create table reservations (
            tenant text not null, name text not null, bytes integer not null, until_ms integer not null,
            primary key (tenant, name)
        ) strict, without rowid""",
    ),
    (
        """create table keys (
            id text primary key, hash blob not null unique, tenant text not null, role text not null,
            created_ms integer not null
        ) strict""",
    ),
)
"""Step n takes a catalog from version n to n + 1. A released step is never changed: a new one is added after it."""


def migrate(execute: Callable[[str], Any]) -> None:
    """Bring a catalog to the newest version, inside the transaction that `execute` runs in.

    Raises `StoreError` where the catalog is newer than this code, or the file is some other program's.
    """
    application, version = (execute(f"pragma {each}").fetchone()[0] for each in ("application_id", "user_version"))
    is_empty = not execute("select exists (select 1 from sqlite_schema)").fetchone()[0]
    if not is_empty and application != APPLICATION_ID:
        raise StoreError("The file is another program's SQLite database.", hint="Choose another path for the catalog.")
    if version > len(MIGRATIONS):
        raise StoreError(
            f"The catalog has version {version}; this agent-blobs knows {len(MIGRATIONS)}.",
            hint="Open it with the version of agent-blobs that wrote it, or a newer one.",
        )
    for step in MIGRATIONS[version:]:
        for statement in step:
            execute(statement)
    if version < len(MIGRATIONS):
        execute(f"pragma application_id = {APPLICATION_ID}")
        execute(f"pragma user_version = {len(MIGRATIONS)}")
